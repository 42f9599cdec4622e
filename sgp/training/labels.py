"""Where a ranking policy's labels come from: which candidates of a training state are right.

Experts' trajectories tell one right way from the states of one plan. Expanding the whole state space of a small
problem tells all of them, and the dead ends. Letting the policy act and planning anew from where it goes tells what
to do off the expert's way (the idea of dataset aggregation; Ross, Gordon and Bagnell 2011); where the state space is
known, that tells it, and no planner is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.experts import plan_of
from sgp.errors import ConfigurationError
from sgp.planning.candidates import identities, lengths, names
from sgp.planning.experts import OPTIMAL, SATISFICING
from sgp.planning.planner import Planner
from sgp.planning.policy import Node, Policy, Successors
from sgp.planning.state_space import StateSpace
from sgp.planning.symmetry import represented
from sgp.planning.task import State, Successor, Task
from sgp.planning.trajectory import Trajectory

Source = Literal["experts", "optimal", "exact", "visited", "joined"]


@dataclass(frozen=True)
class LabelConfig:
    """Which labels are made.

    Problems whose state space is too large keep their experts' labels with `optimal`, and are left out with `exact`,
    where any is small enough: an expert's choice is one of several optimal ones, which then are wrong.
    """

    # Trajectories; all optimal choices; these alone; those from states that the policy visits, too; all three.
    source: Source = "optimal"
    space: int = 20_000  # most states of a state space that is expanded
    states: int = 3000  # random states of all state spaces together, beside those of the experts' trajectories
    longest: bool = False  # right are of the right candidates those of the most actions alone
    visits: int = 100  # states that the policy visits on all problems together, each problem at least one

    def __post_init__(self) -> None:
        if self.source not in get_args(Source):
            raise ConfigurationError(
                f"labels' source is '{self.source}'; expected one of {', '.join(get_args(Source))}"
            )
        for name, least in (("space", 1), ("states", 0), ("visits", 1)):
            if getattr(self, name) < least:
                raise ConfigurationError(f"labels' {name} is {getattr(self, name)}; expected at least {least}")

    @property
    def deterministic(self) -> bool:
        """Whether no states are drawn."""
        return self.source in ("experts", "visited")


class Labelled(NamedTuple):
    """A state, its candidates, which of them are right, and the decision's weight."""

    task: Task
    state: State
    choice: Sequence[Successor]
    positive: NDArray[np.bool_]
    weight: float


def label(
    config: LabelConfig,
    trajectories: Sequence[Trajectory],
    successors: Successors,
    fit: Callable[[Sequence[Labelled]], Planner],
    rng: np.random.Generator,
    up_to_symmetry: bool = False,
) -> list[Labelled]:
    """The decisions to learn from, those of each problem weighing the same together.

    With `up_to_symmetry` candidates are one of each kind of interchangeable actions, as then trajectories are.
    `fit` makes the planner that visits states, from the other labels. Plans from visited states are kept in the cache.
    """
    decisions: list[Labelled] = []
    weighed = partial(_weighed, longest=config.longest)
    spaces = {}
    if up_to_symmetry:
        trajectories = [represented(each) for each in trajectories]
    if config.source != "experts":
        spaces = {each.task: StateSpace.expand(each.task, config.space, up_to_symmetry) for each in trajectories}
    if config.source == "exact":
        trajectories = [each for each in trajectories if spaces[each.task] is not None] or trajectories
    states, visits = (-(-total // len(trajectories)) for total in (config.states, config.visits))
    for trajectory in trajectories:
        if config.source not in ("optimal", "exact"):
            decisions += weighed(_followed(trajectory, successors))
        if config.source in ("optimal", "exact", "joined"):
            space = spaces[trajectory.task]
            if space is not None:
                drawn = [*trajectory.states[:-1], *_drawn(space, states, rng)]
                decisions += weighed(_optimal(space, drawn, successors))
            elif config.source != "joined":
                decisions += weighed(_followed(trajectory, successors))
    if config.source in ("visited", "joined"):
        planner = fit(decisions)
        for trajectory in trajectories:
            off, space = _visited(planner, trajectory, visits), spaces[trajectory.task]
            if space is not None:
                decisions += weighed(_optimal(space, off, successors))
                continue
            plans = _replanned(trajectory.task, off)
            found = map(represented, plans) if up_to_symmetry else plans
            decisions += weighed(chain.from_iterable(_followed(each, successors) for each in found))
    return decisions


def no_fit(decisions: Sequence[Labelled]) -> Planner:
    """For `label`, of methods without labels from visited states."""
    raise AssertionError("no states are visited")


def followed(
    trajectories: Sequence[Trajectory], successors: Successors, up_to_symmetry: bool = False
) -> Iterator[Labelled]:
    """The decisions of trajectories, those of each problem weighing the same together; see `label`."""
    for trajectory in trajectories:
        yield from _weighed(_followed(represented(trajectory) if up_to_symmetry else trajectory, successors))


def candidate_costs(policy: Policy, decisions: Sequence[Labelled]) -> list[NDArray[np.float64]]:
    """What the candidates of each decision cost by a policy that starts there."""
    return [policy.rank([Node(each.task, each.state)], [each.choice])[0].costs for each in decisions]


def contrastive_loss(decisions: Sequence[Labelled], costs: Sequence[NDArray[np.float64]]) -> float:
    """The mean, by weight, of -log of the probability of the right candidates, each as probable as exp(-cost)."""
    losses = [
        each.weight * float(np.logaddexp.reduce(-found) - np.logaddexp.reduce(-found[each.positive]))
        for each, found in zip(decisions, costs, strict=True)
    ]
    return sum(losses) / sum(each.weight for each in decisions)


def _weighed(found: Iterable[Labelled], longest: bool = False) -> list[Labelled]:
    decisions = [decision for decision in found if decision.positive.any()]
    if longest:
        decisions = [decision._replace(positive=_longest(decision)) for decision in decisions]
    return [decision._replace(weight=1 / len(decisions)) for decision in decisions]


def _longest(decision: Labelled) -> NDArray[np.bool_]:
    """Which of the right candidates [n] are of the most actions: those that come farthest."""
    actions = lengths(decision.choice)
    return np.asarray(decision.positive & (actions == actions[decision.positive].max()))


def _followed(trajectory: Trajectory, successors: Successors) -> Iterator[Labelled]:
    """The states of a trajectory; right is whatever the trajectory reaches later."""
    task, states = trajectory.task, trajectory.states
    called = [names(task, state) for state in states]
    for step, state in enumerate(states[:-1]):
        choice = successors(task, state)
        later = set(chain.from_iterable(called[step + 1 :])).difference(called[step])
        yield Labelled(task, state, choice, np.array([each in later for each in identities(choice)], np.bool_), 1.0)


def _drawn(space: StateSpace, count: int, rng: np.random.Generator) -> list[State]:
    """Random states from which the goal can be reached and does not hold."""
    open_places = np.flatnonzero((space.distances > 0) & (space.distances < np.inf))
    return [space.state(place) for place in rng.choice(open_places, min(count, len(open_places)), replace=False)]


def _optimal(space: StateSpace, states: Sequence[State], successors: Successors) -> Iterator[Labelled]:
    """States of a state space; right is whatever lies on a shortest way to the goal, from a dead end nothing."""
    for state in dict.fromkeys(states):
        (best,) = space.distance([state])
        if 0 < best < np.inf:
            choice = successors(space.task, state)
            yield Labelled(space.task, state, choice, lengths(choice) + space.distance_beyond(choice) == best, 1.0)


def _visited(planner: Planner, trajectory: Trajectory, count: int) -> list[State]:
    """Up to `count` states that the planner visits and the expert does not, evenly along the rollout."""
    expert = set(trajectory.states)
    visited = [step.state for step in planner.solve(trajectory.task).steps]
    off = [state for state in dict.fromkeys(visited) if state not in expert]
    return [off[place] for place in np.unique(np.linspace(0, len(off) - 1, min(count, len(off))).round().astype(int))]


def _replanned(task: Task, states: Sequence[State]) -> Iterator[Trajectory]:
    """New plans from states."""
    for state in states:
        problem = task.restarted(state)
        plan = plan_of(problem, (OPTIMAL, SATISFICING)).plan
        if plan is not None:
            yield Trajectory.of(Task(problem), plan)
