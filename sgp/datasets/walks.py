"""Plans through instances ("walks"): distinct plans from several initial states, whose transitions are replayed.

A split of a suite may be an instance: its problems have the same objects and goal and differ in their initial states
("starts"). Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3: up to 100 optimal plans
of each problem. Ours: if the starts have fewer, plans from random states follow.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, cycle, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sgp.datasets.experts import plans_of, saved_plans
from sgp.datasets.store import cache_folder
from sgp.datasets.suite import Suite
from sgp.datasets.training_data import Transition, steps_of
from sgp.errors import PddlError, PlanError, SgpError, StoreError, SuiteError, UnsolvableProblem
from sgp.files import read_json, write_json
from sgp.planning.experts import QUICK
from sgp.planning.pddl import Action, Atom, Problem, parse_plan
from sgp.planning.state_space import StateSpace
from sgp.planning.states import State
from sgp.planning.task import Task, Trajectory
from sgp.progress import track

logger = logging.getLogger(__name__)

MOST_PLANS = 100  # of an instance (embedplan, section 3)
MOST_TRANSITIONS = 1_000  # of an instance; ours: the paper has millions in all
MOST_STATES = 200_000  # of a state space from which optimal plans are drawn; ours
SAMPLED = 1_000  # states of an instance, as a sample of all; ours
_FRUITLESS = 10  # draws in a row without a new result

Atoms = tuple[Atom, ...]  # the fluent atoms of a state


class Walk(NamedTuple):
    """A plan and the state that it starts in."""

    start: Atoms
    plan: tuple[Action, ...]


@dataclass(frozen=True)
class Walks:
    """Plans and a sample of states: random `optimal` ones, else an expert's for each start and random steps."""

    optimal: bool
    plans: tuple[Walk, ...]
    states: tuple[Atoms, ...]


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance with its plans. All its states belong to one task, whatever the start."""

    domain: str
    task: Task
    walks: tuple[Trajectory, ...]
    sampled: tuple[State, ...]
    optimal: bool
    sha256: str = ""  # of the file of its walks

    @property
    def name(self) -> str:
        """The instance's name within its domain."""
        return self.task.name

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        """The distinct transitions of all walks, each where it occurs first."""
        return distinct_transitions(self.walks)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The distinct states of all walks, then the sampled ones."""
        return tuple(dict.fromkeys([*(state for walk in self.walks for state in walk.states), *self.sampled]))


def distinct_transitions(walks: Iterable[Trajectory]) -> tuple[Transition, ...]:
    """The distinct transitions of walks, each where it occurs first."""
    found: dict[tuple[Task, State, Action], Transition] = {}
    for walk in walks:
        for step in steps_of(walk):
            found.setdefault((step.task, step.before, step.action), step)
    return tuple(found.values())


def instances(suite: Suite, domain: str) -> tuple[Instance, ...]:
    """The instances of a domain in the order of the suite's splits; their plans are searched for once and cached."""
    name = suite.domain(domain).name
    splits = suite.domain(name).splits
    return tuple(instance(suite, name, split) for split in track(splits, f"plans {name}", len(splits)))


def instance(suite: Suite, domain: str, split: str) -> Instance:
    """The instance of a split."""
    starts = suite.problems(domain, split)
    task = Task(replace(starts[0], name=split), mode="lifted")  # also of states that the first start cannot reach
    _require_one_instance(task, starts)
    file = cache_folder() / "walks" / f"{_identity(starts)}.json"
    if not file.is_file():
        write_json(file, _to_record(_found(suite, domain, split, starts)))
    found = _read(file)
    if not found.plans:
        raise SuiteError(
            f"instance {split} of {domain} in suite {suite.name} has no start with a plan of at least one action; "
            "expected one that can be solved: leave its folder out"
        )
    try:
        sampled = tuple(task.state_with(atoms) for atoms in found.states)
        walks = tuple(_replayed(task, walk) for walk in found.plans)
    except (PlanError, PddlError) as error:
        raise StoreError(f"{file} does not fit its instance ({error}); remove it, and it is made again") from error
    return Instance(domain, task, walks, sampled, found.optimal, sha256(file.read_bytes()).hexdigest())


def _found(suite: Suite, domain: str, split: str, starts: Sequence[Problem]) -> Walks:
    rng = np.random.default_rng(int(_identity(starts)[:15], 16))
    tasks = [Task(start) for start in starts]
    spaces = _spaces(tasks)
    if spaces is not None:
        given = [(space, place) for each in tasks if (found := _located(each, spaces)) for space, place in [found]]
        return Walks(True, tuple(_optimal_plans(given, spaces, rng)), tuple(_uniform(spaces, rng)))
    experts = _experts(suite, domain, split, starts)
    walks = tuple(
        Walk(_fluent_atoms(each, each.init), plan) for each in tasks if (plan := experts.get(each.problem.sha256))
    )
    if len(walks) < len(starts):
        lacking = f"{len(starts) - len(walks)} of {len(starts)} starts"
        logger.warning("%s %s: %s are left out, of which no plan with an action was found", domain, split, lacking)
    task = Task(starts[0], mode="lifted")
    return Walks(False, walks, tuple(_met(task, [_replayed(task, walk) for walk in walks], rng)))


def _experts(suite: Suite, domain: str, split: str, starts: Sequence[Problem]) -> dict[str, tuple[Action, ...]]:
    """Experts' plans by SHA-256 of the start; starts from which the goal cannot be reached have none."""
    saved = saved_plans(suite, domain, split)
    missing = [start for start in starts if start.sha256 not in saved]
    made, errors = plans_of(missing, QUICK, 1, f"expert plans {domain} {split}")
    for error in errors.values():
        if not isinstance(error, UnsolvableProblem):
            raise error
    return {sha256: found.plan for sha256, found in {**saved, **made}.items() if found.plan}


def _spaces(tasks: Sequence[Task]) -> list[StateSpace] | None:
    """State spaces that contain the tasks' initial states; None if one is too large."""
    spaces: list[StateSpace] = []
    for task in tasks:
        if _located(task, spaces) is None:
            space = StateSpace.expand(task, MOST_STATES)
            if space is None:
                return None
            spaces = [each for each in spaces if _located(each.task, [space]) is None]  # without its parts
            spaces.append(space)
    return spaces


def _located(task: Task, spaces: Sequence[StateSpace]) -> tuple[StateSpace, int] | None:
    """The state space that contains a task's initial state, and the state's place in it."""
    atoms = _fluent_atoms(task, task.init)
    for space in spaces:
        place = space.place(space.task.state_with(atoms))
        if place is not None:
            return space, place
    return None


def _optimal_plans(
    starts: Sequence[tuple[StateSpace, int]], spaces: Sequence[StateSpace], rng: np.random.Generator
) -> Iterator[Walk]:
    """Distinct optimal plans from the starts in turn, then from random states from which the goal can be reached."""
    solvable = [(space, place) for space, place in starts if 0 < space.distances[place] < np.inf]
    others = [
        (space, place)
        for space in spaces
        for place in np.flatnonzero((space.distances > 0) & np.isfinite(space.distances)).tolist()
    ]
    found, steps = set[Walk](), set[tuple[Atoms, Action]]()
    for drawn in (cycle(solvable), (others[int(rng.integers(len(others)))] for _ in repeat(None))):
        fruitless = 0
        patience = _FRUITLESS * max(len(solvable), 1)
        for space, place in drawn if others else ():
            walk, taken = _descent(space, place, rng)
            fruitless = fruitless + 1 if walk in found or len(steps | taken) > MOST_TRANSITIONS else 0
            if fruitless == patience or len(found) == MOST_PLANS:
                break
            if not fruitless:
                found.add(walk)
                steps |= taken
                yield walk


def _descent(space: StateSpace, place: int, rng: np.random.Generator) -> tuple[Walk, set[tuple[Atoms, Action]]]:
    """A random optimal plan from a state, and its steps; in each state all optimal actions are equally probable."""
    task, state, left = space.task, space.state(place), space.distances[place]
    plan, taken, start = list[Action](), set[tuple[Atoms, Action]](), _fluent_atoms(task, state)
    while left:
        left -= 1
        candidates = task.successors(state)
        nearer = np.flatnonzero(space.distance([each.state for each in candidates]) == left)
        chosen = candidates[int(rng.choice(nearer))]
        taken.add((_fluent_atoms(task, state), chosen.actions[0]))
        plan += chosen.actions
        state = chosen.state
    return Walk(start, tuple(plan)), taken


def _uniform(spaces: Sequence[StateSpace], rng: np.random.Generator) -> Iterator[Atoms]:
    """States drawn uniformly from spaces, or all if they are few."""
    states = [(space, place) for space in spaces for place in range(len(space))]
    drawn: dict[frozenset[Atom], Atoms] = {}  # spaces may have states in common
    for number in rng.permutation(len(states)).tolist():
        space, place = states[number]
        atoms = _fluent_atoms(space.task, space.state(place))
        drawn.setdefault(frozenset(atoms), atoms)
        if len(drawn) == SAMPLED:
            break
    return iter(drawn.values())


def _met(task: Task, walks: Sequence[Trajectory], rng: np.random.Generator) -> Iterator[Atoms]:
    """States reached by random steps from those of walks, as long as there are new ones."""
    met = list(dict.fromkeys(state for walk in walks for state in walk.states))
    known, fruitless = set(met), 0
    while met and len(known) < SAMPLED and fruitless < _FRUITLESS * _FRUITLESS:
        candidates = [each.state for each in task.successors(met[int(rng.integers(len(met)))])]
        new = candidates[int(rng.integers(len(candidates)))] if candidates else met[0]
        fruitless = fruitless + 1 if new in known else 0
        if new not in known:
            known.add(new)
            met.append(new)
    return (_fluent_atoms(task, state) for state in met)


def _replayed(task: Task, walk: Walk) -> Trajectory:
    return Trajectory(task, walk.plan, tuple(accumulate(walk.plan, task.apply, initial=task.state_with(walk.start))))


def _fluent_atoms(task: Task, state: State) -> Atoms:
    return tuple(map(task.fluent, task.fluents(state)))


def _require_one_instance(task: Task, starts: Sequence[Problem]) -> None:
    expected = (set(task.text.objects), set(task.goal), set(task.static_atoms))
    for start in starts:
        text = start.read()[1]
        static = {atom for atom in text.init if atom.predicate not in task.changing}
        if (set(text.objects), set(text.goal), static) != expected:
            raise SuiteError(
                f"{start.problem_source} has other objects, static facts or another goal than the first problem of "
                f"split {task.name}; expected a split whose problems are starts of one instance"
            )


def _to_record(found: Walks) -> dict[str, Any]:
    """The walks as a file holds them: each atom once, states as numbers of atoms."""
    numbers: dict[Atom, int] = {}

    def numbered(atoms: Atoms) -> list[int]:
        return [numbers.setdefault(atom, len(numbers)) for atom in atoms]

    plans = [[numbered(walk.start), [str(action) for action in walk.plan]] for walk in found.plans]
    states = [numbered(atoms) for atoms in found.states]
    return {"optimal": found.optimal, "plans": plans, "states": states, "atoms": [str(atom) for atom in numbers]}


def _read(file: Path) -> Walks:
    record = read_json(file)
    try:
        atoms = [Atom(*action) for action in parse_plan("\n".join(record["atoms"]))]

        def named(numbers: list[int]) -> Atoms:
            return tuple(atoms[number] for number in numbers)

        plans = [Walk(named(start), parse_plan("\n".join(plan))) for start, plan in record["plans"]]
        return Walks(bool(record["optimal"]), tuple(plans), tuple(map(named, record["states"])))
    except (SgpError, KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise StoreError(f"{file} holds no plans ({error!r}); remove it, and they are made again") from error


def _identity(starts: Sequence[Problem]) -> str:
    bounds = f"{MOST_PLANS} {MOST_TRANSITIONS} {MOST_STATES} {SAMPLED}"
    return sha256(" ".join([bounds, *(start.sha256 for start in starts)]).encode()).hexdigest()
