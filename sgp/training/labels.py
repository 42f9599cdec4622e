"""Labels of ranking policies: which candidates of a training state are correct.

In the states of an expert's plan, the candidates that the plan visits later are correct. Expanding the whole state
space of a small problem gives all correct choices, and the dead ends. Letting the policy act and planning from the
states it visits gives correct choices off the expert's trajectory (dataset aggregation; Ross, Gordon and Bagnell
2011). Where the state space is known it provides these labels, and no classical planner is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError, check_fields
from sgp.planning.experts import OPTIMAL, SATISFICING
from sgp.planning.hash_table import Ints
from sgp.planning.pddl import Action
from sgp.planning.planner import Planner
from sgp.planning.policy import Node, Policy, Successors
from sgp.planning.state_space import StateSpace
from sgp.planning.states import State
from sgp.planning.symmetry import Symmetry, signatures_in
from sgp.planning.task import Candidates, Task, Trajectory

Item = TypeVar("Item")
Source = Literal["expert", "optimal", "optimal-only", "dagger", "dagger-optimal"]


@dataclass(frozen=True)
class LabelConfig:
    """Source and amount of labels; `optimal-only` omits problems with large spaces if there are others."""

    RENAMED: ClassVar[Mapping[str, Mapping[str, str]]] = {  # values in the records of older runs
        "source": {"experts": "expert", "exact": "optimal-only", "visited": "dagger", "joined": "dagger-optimal"}
    }

    # expert: the states of the expert's trajectories. optimal: sampled states of complete state spaces with all optimal
    # choices; for problems with larger spaces, as `expert`. optimal-only: without these larger problems. dagger: as
    # `expert`, and states that a trained planner visits (DAgger). dagger-optimal: as `optimal` and `dagger` together.
    source: Source = "optimal"
    space: int = 20_000  # maximum number of states of a state space that is expanded
    states: int = 3000  # random states of all state spaces together, in addition to those of the experts' trajectories
    longest: bool = False  # only the correct candidates with the most actions count as correct
    visits: int = 100  # states visited by the policy on all problems together, at least one per problem

    def __post_init__(self) -> None:
        check_fields(self, "labels'", space=1, states=0, visits=1)

    @property
    def deterministic(self) -> bool:
        """Whether no states are sampled."""
        return self.source in ("expert", "dagger")

    @property
    def visits_states(self) -> bool:
        """Whether a planner trained on the other labels visits states (DAgger)."""
        return self.source in ("dagger", "dagger-optimal")

    def refuse_dagger(self) -> None:
        """Raise ConfigurationError for DAgger labels, for methods that train a single model once."""
        if self.visits_states:
            raise ConfigurationError(
                f"labels.source is {self.source}; expected optimal-only, optimal or expert, because this method "
                "fits no planner that could visit states before it has all labels"
            )


class Labelled(NamedTuple):
    """A decision: a state, its candidates, the mask of correct ones, and the decision's weight."""

    task: Task
    state: State
    choice: Candidates
    positive: NDArray[np.bool_]
    weight: float


def label(
    config: LabelConfig,
    trajectories: Sequence[Trajectory],
    successors: Successors,
    rng: np.random.Generator,
    fit: Callable[[Sequence[Labelled]], Planner] | None = None,
    up_to_symmetry: bool = False,
) -> list[Labelled]:
    """Return the labelled decisions, equally weighted by source; `fit` makes the planner that visits states."""
    decisions: list[Labelled] = []
    weighed = partial(_weighed, longest=config.longest)
    spaces = {}
    if up_to_symmetry:
        trajectories = [represented(each) for each in trajectories]
    if config.source != "expert":
        spaces = {each.task: StateSpace.expand(each.task, config.space, up_to_symmetry) for each in trajectories}
    if config.source == "optimal-only":
        trajectories = [each for each in trajectories if spaces[each.task] is not None] or trajectories
    states, visits = (-(-total // len(trajectories)) for total in (config.states, config.visits))  # rounded up
    for trajectory in trajectories:
        if config.source not in ("optimal", "optimal-only"):
            decisions += weighed(_followed(trajectory, successors))
        if config.source in ("optimal", "optimal-only", "dagger-optimal"):
            space = spaces[trajectory.task]
            if space is not None:
                drawn = [*trajectory.states[:-1], *_drawn(space, states, rng)]
                decisions += weighed(_optimal(space, drawn, successors))
            elif config.source != "dagger-optimal":
                decisions += weighed(_followed(trajectory, successors))
    if config.visits_states:
        assert fit is not None, "a method without it refuses such labels"
        planner = fit(decisions)
        for trajectory in trajectories:
            expert = set(trajectory.states)
            visited = dict.fromkeys(step.state for step in planner.solve(trajectory.task).steps)
            off, space = spread([state for state in visited if state not in expert], visits), spaces[trajectory.task]
            if space is not None:
                decisions += weighed(_optimal(space, off, successors))
                continue
            plans = _replanned(trajectory.task, off)
            found = map(represented, plans) if up_to_symmetry else plans
            decisions += weighed(chain.from_iterable(_followed(each, successors) for each in found))
    return decisions


def followed(
    trajectories: Sequence[Trajectory], successors: Successors, up_to_symmetry: bool = False
) -> Iterator[Labelled]:
    """Return the decisions of trajectories; every problem has the same total weight. See `label`."""
    for trajectory in trajectories:
        yield from _weighed(_followed(represented(trajectory) if up_to_symmetry else trajectory, successors))


def candidate_costs(policy: Policy, decisions: Sequence[Labelled]) -> list[NDArray[np.float64]]:
    """Return the costs of each decision's candidates by a policy that starts in the decision's state."""
    return [policy.rank([Node(each.task, each.state)], [each.choice])[0].costs for each in decisions]


def contrastive_loss(decisions: Sequence[Labelled], costs: Sequence[NDArray[np.float64]]) -> float:
    """Return the weighted mean of -log probability of the correct candidates, with probabilities from exp(-cost)."""
    losses = [
        each.weight * float(np.logaddexp.reduce(-found) - np.logaddexp.reduce(-found[each.positive]))
        for each, found in zip(decisions, costs, strict=True)
    ]
    return sum(losses) / sum(each.weight for each in decisions)


def _weighed(found: Iterable[Labelled], longest: bool = False) -> list[Labelled]:
    decisions = [decision for decision in found if decision.positive.any()]
    if longest:
        lengths = [np.where(decision.positive, decision.choice.lengths, 0) for decision in decisions]
        decisions = [each._replace(positive=most == most.max()) for each, most in zip(decisions, lengths, strict=True)]
    return [decision._replace(weight=1 / len(decisions)) for decision in decisions]


def _followed(trajectory: Trajectory, successors: Successors) -> Iterator[Labelled]:
    """Yield the states of a trajectory; candidates that the trajectory reaches later are correct."""
    task, states = trajectory.task, trajectory.states
    for step, state in enumerate(states[:-1]):
        choice = successors(task, state)
        later = {after.key for after in states[step + 1 :]} - {state.key}
        yield Labelled(task, state, choice, np.array([key in later for key in choice.keys], np.bool_), 1.0)


def _drawn(space: StateSpace, count: int, rng: np.random.Generator) -> list[State]:
    """Sample states from which the goal is reachable and not yet satisfied."""
    open_places = np.flatnonzero((space.distances > 0) & (space.distances < np.inf))
    return [space.state(place) for place in rng.choice(open_places, min(count, len(open_places)), replace=False)]


def _optimal(space: StateSpace, states: Sequence[State], successors: Successors) -> Iterator[Labelled]:
    """Yield states of a state space; candidates on a shortest path to the goal are correct; dead ends are skipped."""
    for state in dict.fromkeys(states):
        (best,) = space.distance([state])
        if 0 < best < np.inf:
            choice = successors(space.task, state)
            yield Labelled(space.task, state, choice, choice.lengths + space.distance_beyond(choice) == best, 1.0)


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most `most` of the items, evenly spaced."""
    return [items[place] for place in np.linspace(0, len(items) - 1, min(len(items), most)).round().astype(int)]


def _replanned(task: Task, states: Sequence[State]) -> Iterator[Trajectory]:
    """Yield new plans from states."""
    from sgp.datasets.experts import plan_of  # here, because planning needs no experts

    for state in states:
        problem = task.restarted(state)
        plan = plan_of(problem, (OPTIMAL, SATISFICING)).plan
        if plan is not None:
            yield Trajectory.of(Task(problem), plan)


def represented(trajectory: Trajectory) -> Trajectory:
    """Rename interchangeable objects so that each action of the plan is a representative."""
    task = trajectory.task
    if task.model is None:
        raise ConfigurationError(
            f"{task.name} has too many actions to rename its plan by interchangeable objects; leave it out, or train "
            "without representatives"
        )
    symmetry, names = task.model.arrays(symmetric=True).symmetry, [parameter.name for parameter in task.objects]
    if not symmetry.symmetric.any():
        return trajectory
    numbers = {name: number for number, name in enumerate(names)}
    renamed = {name: name for name in names}  # current names of the plan's objects
    state, states, actions = task.init, [task.init], list[Action]()
    for action in trajectory.actions:
        used = [numbers[renamed[name]] for name in dict.fromkeys(action.objects)]
        swapped = _to_representative(symmetry, np.array(task.fluents(state), np.int32), used)
        renamed = {name: names[swapped[numbers[other]]] for name, other in renamed.items()}
        actions.append(Action(action.name, tuple([renamed[name] for name in action.objects])))
        state = task.apply(state, actions[-1])
        states.append(state)
    return Trajectory(task, tuple(actions), tuple(states))


def _to_representative(symmetry: Symmetry, fluents: Ints, used: Sequence[int]) -> list[int]:
    """Return the permutation [n] of objects by which an action with the `used` objects becomes a representative."""
    signatures = signatures_in(symmetry, fluents).tolist()
    members: dict[int, list[int]] = {}
    for number in np.flatnonzero(symmetry.symmetric).tolist():
        members.setdefault(signatures[number], []).append(number)
    becomes, taken = list(range(len(signatures))), Counter[int]()
    for number in used:
        if symmetry.symmetric[number]:
            wanted = members[signatures[number]][taken[signatures[number]]]
            taken[signatures[number]] += 1
            holder = becomes.index(wanted)
            becomes[number], becomes[holder] = becomes[holder], becomes[number]
    return becomes
