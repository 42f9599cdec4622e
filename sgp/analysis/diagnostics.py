"""Diagnostics of a planner on the states of expert plans, and of rollouts: distances to the goal, regret of steps."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.analysis.explanations import comparable
from sgp.datasets.generation import form_of, with_names
from sgp.datasets.recorded import Bounds, encode_bounds
from sgp.datasets.recording import Distances
from sgp.errors import ConfigurationError, InputError, UnsolvableProblem
from sgp.evaluation.scores import Measurement, Score
from sgp.planning.clock import LimitReached
from sgp.planning.experts import QUICK, Stage, find_plan
from sgp.planning.pddl import Action
from sgp.planning.planner import Limit, Planner, clock_of
from sgp.planning.policy import Node, Ranking
from sgp.planning.rollout import Rollout, tie_margin
from sgp.planning.state_space import StateSpace
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, Trajectory
from sgp.policies.nearest_embedding import NearestEmbedding
from sgp.policies.nearest_transition import NearestTransition
from sgp.progress import track

OVER_SIZE = ("expert_top1", "unseen")


@dataclass(frozen=True)
class ExpertDecision:
    """One expert decision as ranked by a policy.

    `rank` is that of the expert's successor among the candidates that the policy can distinguish, from 1; within a tie,
    the mean rank. `top1` and `top3` are probabilities if ties are broken at random. `candidates` counts different
    successor states, `distinguishable` those that the policy can distinguish.
    """

    problem: str
    size: int
    step: int
    rank: float
    top1: float
    top3: float
    candidates: int
    distinguishable: int


def decisions(planner: Planner, trajectories: Sequence[Trajectory]) -> list[ExpertDecision]:
    """Every decision of the trajectories, as the planner would see it on the expert's path.

    States that the path visited are not candidates, and the policy's memory is passed on.
    """
    tie = planner.policy.rules.tie
    return [_decision(met, tie) for met in along_experts(planner, trajectories)]


@dataclass(frozen=True, eq=False)
class Met:
    """A decision on an expert's path: the node, its candidates, their ranking, and the index of the expert's choice."""

    trajectory: Trajectory
    node: Node
    choice: Sequence[Successor]
    ranking: Ranking
    expert: int


def along_experts(planner: Planner, trajectories: Sequence[Trajectory]) -> Iterator[Met]:
    """Every decision on the experts' paths, as in `decisions`; trajectories advance together, in batches."""
    waiting = [each for each in trajectories if len(each) and planner.policy.refuses(each.task) is None]
    for start in range(0, len(waiting), planner.batch):
        paths = [(each, Node(each.task, each.task.init)) for each in waiting[start : start + planner.batch]]
        while paths:
            choices = []
            for trajectory, node in paths:  # unvisited candidates, and the expert's, whose plan can have loops
                visited = set(trajectory.states[: node.length + 1]) - {trajectory.states[node.length + 1]}
                found = planner.successors(node.task, node.state)
                choices.append([each for each in found if each.state not in visited])
            rankings = planner.policy.rank([node for _, node in paths], choices)
            following = []
            for (trajectory, node), choice, ranking in zip(paths, choices, rankings, strict=True):
                after = trajectory.states[node.length + 1]
                place = [candidate.state for candidate in choice].index(after)
                yield Met(trajectory, node, choice, ranking, place)
                memory = None if ranking.memories is None else ranking.memories[place]
                cost, length = node.cost + float(ranking.costs[place]), node.length + 1
                if length < len(trajectory):
                    child = Node(node.task, after, memory, cost, arrived=choice[place], before=node, length=length)
                    following.append((trajectory, child))
            paths = following


def _decision(met: Met, tie: float) -> ExpertDecision:
    node, choice, ranking, expert = met.node, met.choice, met.ranking, met.expert
    keys: Sequence[Hashable] = [each.state for each in choice] if ranking.keys is None else ranking.keys
    cheapest: dict[Hashable, float] = {}
    for key, cost in zip(keys, ranking.costs.tolist(), strict=True):
        cheapest[key] = min(cost, cheapest.get(key, np.inf))
    costs, own = np.array(list(cheapest.values())), cheapest[keys[expert]]
    margin = tie_margin(own, tie) if np.isfinite(own) else 0.0
    better = int((costs < own - margin).sum())
    tied = int((costs <= own + margin).sum()) - better
    return ExpertDecision(
        problem=node.task.name,
        size=node.task.size,
        step=node.length,
        rank=better + (tied + 1) / 2,
        top1=float(np.clip((1 - better) / tied, 0.0, 1.0)),
        top3=float(np.clip((3 - better) / tied, 0.0, 1.0)),
        candidates=len({each.state for each in choice}),
        distinguishable=len(cheapest),
    )


def perfect_prediction(planner: Planner, trajectories: Iterable[Trajectory]) -> dict[str, bool]:
    """Which problems (by SHA-256) are solved greedily when every prediction is the expert's next embedding.

    Failures here are due to features and decoding, further failures due to the prediction.
    """
    policy = predicting_policy(planner)

    def solved(trajectory: Trajectory) -> bool:
        embeddings = policy.encoder.embed(trajectory.task, trajectory.states)  # [T + 1, D]

        def perfect(
            states: NDArray[np.float32], goals: NDArray[np.float32], carried: Sequence[Any]
        ) -> tuple[NDArray[np.float32], Sequence[Any]]:
            steps = [1 if each is None else each + 1 for each in carried]
            return embeddings[np.minimum(steps, len(trajectory))], steps

        return Planner(replace(policy, predictor=perfect), planner.successors).solve(trajectory.task).solved

    return {each.task.problem.sha256: policy.refuses(each.task) is None and solved(each) for each in trajectories}


def predicting_policy(planner: Planner) -> NearestEmbedding:
    """The planner's policy, which predicts embeddings. Raises InputError for one that does not."""
    if isinstance(planner.policy, NearestEmbedding):
        return planner.policy
    raise InputError(
        f"the planner's policy is a {type(planner.policy).__name__}, which predicts no embedding of a state; expected "
        "one of a method that does, such as state-centric"
    )


def unseen_features(planner: Planner, trajectories: Iterable[Trajectory]) -> dict[str, float] | None:
    """For each problem (by SHA-256) the mean share of features that training never saw; None without a vocabulary.

    The mean is over states or, for embeddings of transitions, over decisions.
    """
    policy, found = planner.policy, {}
    for trajectory in trajectories:
        task, states = trajectory.task, trajectory.states
        shares: Sequence[float] | NDArray[np.float64] | None = None
        if isinstance(policy, NearestEmbedding):
            shares = policy.unseen(task, states)
        elif isinstance(policy, NearestTransition):
            decided = states[:-1] or states  # the last state of a plan is a goal: nothing is chosen there
            shares = [policy.encoder.unseen(task, state, planner.successors(task, state)) for state in decided]
        if shares is None:
            return None
        found[task.problem.sha256] = float(np.mean(shares))
    return found


def diagnose(planner: Planner, subject: Measurement, trajectories: Sequence[Trajectory]) -> list[Score]:
    """The metrics of DIAGNOSTICS for a split, and OVER_SIZE by size; `count` is of decisions or of problems."""
    sizes = {trajectory.task.problem.sha256: trajectory.task.size for trajectory in trajectories}
    made = decisions(planner, trajectories)
    unseen = unseen_features(planner, trajectories)
    predicts = isinstance(planner.policy, NearestEmbedding)
    perfect = perfect_prediction(planner, trajectories) if predicts else None
    scores: list[Score] = []
    for size in (None, *sorted(set(sizes.values()))):

        def add(metric: str, values: Sequence[float], size: int | None = size) -> None:
            if values and (size is None or metric in OVER_SIZE):
                value = float(np.mean(values))
                scores.append(Score(**vars(subject), size=size, metric=metric, value=value, n=len(values)))

        of_size = [each for each in made if size in (None, each.size)]
        add("expert_rank", [each.rank for each in of_size])
        add("expert_top1", [each.top1 for each in of_size])
        add("expert_top3", [each.top3 for each in of_size])
        if of_size and size is None:
            states = sum(each.candidates for each in of_size)
            share = 1 - sum(each.distinguishable for each in of_size) / states
            scores.append(Score(**vars(subject), size=size, metric="indistinguishable", value=share, n=len(of_size)))
        for metric, found in (("unseen", unseen), ("perfect_coverage", perfect)):
            if found is not None:
                add(metric, [float(value) for sha256, value in found.items() if size in (None, sizes[sha256])])
    return scores


@dataclass(frozen=True)
class Prediction:
    """A prediction on an expert's path, in the space in which candidates are compared.

    Distances are Euclidean; if a policy compares angles, all vectors are scaled to length one first, which preserves
    the order of candidates. `action` and `before` are the names of the expert's action and of the previous one ("" at
    the start). `gap` is the distance from the expert's next state to the nearest candidate with a different vector,
    infinite if there is none.
    """

    problem: str
    size: int
    step: int
    action: str
    before: str
    error: float  # from the predicted vector to that of the expert's next state
    gap: float
    change: float  # from the state's vector to that of the expert's next state
    predicted_change: float  # from the state's vector to the predicted one

    @property
    def sure(self) -> bool:
        """Whether the error is below half of the gap, so that no other candidate is nearer (triangle inequality)."""
        return self.error < self.gap / 2


def predictions(planner: Planner, trajectories: Sequence[Trajectory]) -> list[Prediction]:
    """A prediction for every decision of the trajectories, as in `decisions`."""
    policy = predicting_policy(planner)
    return [_prediction(policy, met) for met in along_experts(planner, trajectories)]


def _prediction(policy: NearestEmbedding, met: Met) -> Prediction:
    node, trajectory = met.node, met.trajectory
    rows = policy.encoder.embed(node.task, [node.state, *(each.state for each in met.choice)])
    here, *candidates, predicted = comparable(policy.metric, np.vstack([rows, met.ranking.note["predicted"]]))
    expert = candidates[met.expert]
    distances = [_distance(expert, each) for each in candidates]
    return Prediction(
        problem=node.task.name,
        size=node.task.size,
        step=node.length,
        action=trajectory.actions[node.length].name,
        before=trajectory.actions[node.length - 1].name if node.length else "",
        error=_distance(predicted, expert),
        gap=min((each for each in distances if each > 0), default=math.inf),
        change=_distance(expert, here),
        predicted_change=_distance(predicted, here),
    )


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(one - other))


NAMING_SEED = 20261123


def by_name(planner: Planner, subject: Measurement, trajectories: Sequence[Trajectory], renamings: int) -> list[Score]:
    """The mean of `name_sensitivity` as a score; no score without decisions. `count` is of decisions."""
    changed = name_sensitivity(planner, trajectories, renamings)
    if not changed:
        return []
    value = float(np.mean(changed))
    return [Score(**vars(subject), size=None, metric="name_sensitivity", value=value, n=len(changed))]


def name_sensitivity(
    planner: Planner, trajectories: Sequence[Trajectory], renamings: int = 10, seed: int = NAMING_SEED
) -> list[float]:
    """For each decision on the experts' paths the share of renamings that change it.

    A renaming gives all objects but constants new names and another order. A decision is the set of problems that the
    cheapest candidates lead to, up to the names of objects: choosing another one of two interchangeable balls is the
    same decision.
    """
    if renamings < 1:
        raise ConfigurationError(f"renamings is {renamings}; expected at least 1")
    found = list[float]()
    for trajectory in trajectories:
        # Seeded by problem, so that other trajectories have no influence.
        random = np.random.default_rng((seed, int(trajectory.task.problem.sha256[:15], 16)))
        own = [_decided(planner, met) for met in along_experts(planner, [trajectory])]
        changed = np.zeros(len(own))
        for _ in range(renamings if own else 0):  # a problem that is refused has no decisions
            met = along_experts(planner, [_renamed(trajectory, random)])
            changed += [decided != _decided(planner, each) for decided, each in zip(own, met, strict=True)]
        found += (changed / renamings).tolist()
    return found


def _decided(planner: Planner, met: Met) -> frozenset[str]:
    """The canonical forms of the problems that the cheapest candidates lead to."""
    costs, task = met.ranking.costs, met.node.task
    least = float(costs.min())
    if not np.isfinite(least):
        return frozenset()
    cheapest = np.flatnonzero(costs <= least + tie_margin(least, planner.policy.rules.tie)).tolist()
    left = (replace(task.text, init=task.atoms(met.choice[place].state)) for place in cheapest)
    return frozenset(form_of(task.domain_text, text) for text in left)


def _renamed(trajectory: Trajectory, random: np.random.Generator) -> Trajectory:
    """The trajectory with new names and another order of objects."""
    objects = [each.name for each in trajectory.task.text.objects]
    prefix = "thing-"
    while any(constant.name.startswith(prefix) for constant in trajectory.task.domain_text.constants):
        prefix = f"no-{prefix}"
    names = {name: f"{prefix}{number}" for name, number in zip(objects, random.permutation(len(objects)), strict=True)}
    task = Task(with_names(trajectory.task, names, random.permutation(len(objects)).tolist()))
    plan = (Action(each.name, tuple(names.get(name, name) for name in each.objects)) for each in trajectory.actions)
    return Trajectory.of(task, tuple(plan))


SPACE = 100_000  # states of a state space that is expanded
_CHEAP = 20_000  # of one that is expanded within a fraction of a second
_IN_PASSING = Limit(seconds=10.0)  # for problems in which even few states take long
SAMPLES = 24  # states from which plans are searched otherwise
Edge = tuple[State, State, int]  # from a state to another one by so many actions


@dataclass(frozen=True)
class Remaining:
    """Bounds on the number of actions to the goal: from each state of a rollout, the last included, and each candidate.

    Equal bounds are exact; both are infinite in a dead end, the upper one is infinite if no plan is known.
    """

    states: tuple[Bounds, ...]
    candidates: tuple[tuple[Bounds, ...], ...]

    def record(self) -> Distances:
        """The bounds as stored in a rollout's record (`with_distances`)."""
        return list(map(encode_bounds, self.states)), [list(map(encode_bounds, some)) for some in self.candidates]


def exact_distances(rollout: Rollout, space: int = SPACE) -> Remaining | None:
    """The exact distances by expanding the whole state space, up to symmetry; None beyond `space` states."""
    return next(exact_distances_of(rollout.task, [rollout], space), None)


def exact_distances_of(task: Task, rollouts: Sequence[Rollout], space: int) -> Iterator[Remaining]:
    """Yield the exact distances of rollouts of one task by one expansion; nothing beyond `space` states."""
    for up_to_symmetry in (True, False):  # a state can be symmetric to none of the representatives by its names
        whole = StateSpace.expand(task, space, up_to_symmetry)
        if whole is None:
            return
        states = list({state for rollout in rollouts for state in _all_states(rollout)})
        known = {state: (each, each) for state, each in whole.find_distances(states).items()}
        if len(known) == len(states):
            yield from (_remaining(rollout, known) for rollout in rollouts)
            return


def remaining_in_passing(rollout: Rollout) -> Remaining | None:
    """`exact_distances` for a small state space; None if it is large or takes long."""
    try:
        with clock_of(_IN_PASSING) as clock, clock.within(_IN_PASSING.seconds or math.inf):
            return exact_distances(rollout, _CHEAP)
    except (LimitReached, MemoryError):
        return None


def remaining(
    rollout: Rollout,
    expert: Sequence[Action] = (),
    space: int = SPACE,
    samples: int = SAMPLES,
    optimal: Sequence[Stage] = QUICK[:1],
    satisficing: Sequence[Stage] = QUICK[1:],
    known: dict[State, Bounds] | None = None,
    first: int = 0,
    seconds: float = math.inf,
) -> Remaining:
    """The distances of a rollout's states, exact if the state space has at most `space` states.

    Otherwise bounds: optimal plans of Fast Downward from up to `samples` evenly chosen states are exact, those of the
    `satisficing` stages and of the expert are upper bounds, and all of them are passed on along actions. `known` has
    bounds of states of the same task, and is extended. Plans are searched only from the states of steps from `first`
    on, and no further one after so many `seconds`.
    """
    exact = exact_distances(rollout, space) if space else None
    if exact is not None:
        return exact
    task, known = rollout.task, {} if known is None else known
    different = list(dict.fromkeys(_states(rollout)[first:]))
    if expert:
        _learn(known, task, task.init, expert, exact=False)
    places = np.unique(np.linspace(0, len(different) - 1, min(samples, len(different))).round().astype(int))
    due = time.monotonic() + seconds
    for place in track(places.tolist(), f"plans from states of {task.name}", len(places)):
        if time.monotonic() >= due:
            break
        state = different[place]
        low, high = known.get(state, (0.0, math.inf))
        if low == high:
            continue
        if task.is_goal(state):
            known[state] = (0.0, 0.0)
            continue
        try:
            plan = find_plan(task.restarted(state), optimal).plan
            exactly = plan is not None
            if plan is None and satisficing:
                plan = find_plan(task.restarted(state), satisficing).plan
        except UnsolvableProblem:
            known[state] = (math.inf, math.inf)
            continue
        if plan is not None:
            _learn(known, task, state, plan, exactly)
    for state in dict.fromkeys(_all_states(rollout)):
        known.setdefault(state, (0.0, 0.0) if task.is_goal(state) else (1.0, math.inf))
    _relax(known, _edges(rollout))
    return _remaining(rollout, known)


def _learn(known: dict[State, Bounds], task: Task, state: State, plan: Sequence[Action], exact: bool) -> None:
    """Extend the bounds by a plan from a state: every rest of an optimal plan is optimal."""
    for length in range(len(plan), -1, -1):
        low, high = known.get(state, (float(length > 0), math.inf))
        known[state] = (float(length) if exact else low, min(high, float(length)))
        if length:
            state = task.apply(state, plan[len(plan) - length])


def _remaining(rollout: Rollout, known: Mapping[State, Bounds]) -> Remaining:
    candidates = (tuple(known[each.state] for each in step.candidates) for step in rollout.steps)
    return Remaining(tuple(known[state] for state in _states(rollout)), tuple(candidates))


def _states(rollout: Rollout) -> list[State]:
    """The states of a rollout, the last one included."""
    return [*(step.state for step in rollout.steps), rollout.end]


def _all_states(rollout: Rollout) -> list[State]:
    """The states of a rollout, then those of its candidates."""
    return [*_states(rollout), *(each.state for step in rollout.steps for each in step.candidates)]


def _edges(rollout: Rollout) -> list[Edge]:
    """From states to candidates and, where one action undoes another, back."""
    forth = {(step.state, each.state, len(each.actions)) for step in rollout.steps for each in step.candidates}
    after = {state: {each.state for each in rollout.task.successors(state)} for _, state, taken in forth if taken == 1}
    return [*forth, *((state, before, 1) for before, state, taken in forth if taken == 1 and before in after[state])]


def _relax(known: dict[State, Bounds], edges: Sequence[Edge]) -> None:
    """Tighten bounds along the edges until nothing changes (Bellman-Ford)."""
    changed = True
    while changed:
        changed = False
        for before, after, taken in edges:
            (low, high), (low_after, high_after) = known[before], known[after]
            if high_after + taken < high:
                known[before], changed = (low, high_after + taken), True
            if low - taken > low_after:
                known[after], changed = (low - taken, high_after), True
