"""Serialised goals: one goal after the other, while the objects of the other goals keep their places.

Where goals can be satisfied in some order without undoing earlier ones (Korf 1987, "Planning as Search"), each takes a
small search, in which the objects of the other goals, such as the other boxes of Sokoban, are obstacles that do not
move.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from sgp.errors import PlanError
from sgp.planning.clock import LimitReached, check_limits, stop_flag
from sgp.planning.declarations import Action, Atom, Literal
from sgp.planning.exploration import greedy_path_to, path_to
from sgp.planning.instantiation import GroundModel
from sgp.planning.operators import CSR, watchers_of, words_of
from sgp.planning.pddl_writing import format_problem
from sgp.planning.planner import Budget, Fallback, Limit, Planner, clock_of, outcome_of
from sgp.planning.rollout import Outcome, Rollout
from sgp.planning.states import State
from sgp.planning.strategies import SHARE, forced_steps, with_shared_seconds
from sgp.planning.task import Successor, Task, missing_goal_atoms

FEWEST_REACHED, MOST_REACHED = 2_000, 128_000  # states of a search for one goal
# With up to so many actions, a greedy search may reach as many states as a breadth-first one, with k times as many
# actions a k-th of them. It is left out if these are too few.
GREEDY_ACTIONS, FEWEST_GREEDY = 4_000, 500
FAILED_BEFORE_GREEDY = 20  # goals in a row without a path, before greedy searches are tried first
MOST_ORDERS = 100  # of goals


@dataclass(frozen=True)
class SerialisedGoals(Fallback):
    """Satisfy the goals one by one, in the problem's order and then in random ones, with half of the remaining limit.

    In a search for one goal, the movable objects of the other goals keep their places. Objects of static atoms of two
    arguments or more, such as the cells of a map, are not movable, nor are kinds of objects of which some have several
    goals, such as destinations. Searches are breadth-first. If no goal has a path, or many in a row have none, they
    are greedy best-first; then the objects of the goal that was satisfied last may also move, such as a shot that a
    hand of Barman still holds; then searches become larger.
    """

    seed: int
    first_share = SHARE

    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """Return the rollout of the plan that is found, or the failed one."""
        left = None if failed.outcome is Outcome.MEMORY else budget.left()
        if left is None:
            return budget.ended(failed)
        rollout = budget.spend(self.search(failed.task, with_shared_seconds(left, failed.task)))
        return budget.solved(rollout, "goal by goal") if rollout.solved else budget.ended(failed)

    def search(self, task: Task, limit: Limit) -> Rollout:
        """Search from the initial state. The steps of the rollout have one forced candidate each."""
        outcome, path, rng = Outcome.STUCK, list[Successor](), np.random.default_rng(self.seed)
        with clock_of(limit) as clock:
            started = clock.now()
            try:
                with clock.within(math.inf if limit.seconds is None else limit.seconds - task.seconds):
                    goals, search = [goal for goal in task.goal if goal.positive], _Search(task, limit)
                    for _ in range(MOST_ORDERS):
                        path, state = search.satisfy(goals)
                        if task.is_goal(state):
                            outcome = Outcome.SOLVED
                        if outcome is Outcome.SOLVED or not path:
                            break
                        goals = [goals[place] for place in rng.permutation(len(goals)).tolist()]
            except (LimitReached, MemoryError) as error:
                outcome = outcome_of(error)
            seconds = clock.now() - started
        steps = forced_steps(task.init, path if outcome is Outcome.SOLVED else [])
        return Rollout(task, steps, outcome, seconds)


class _Found(NamedTuple):
    """A path, the state after it, the goals missing there, and whether the search was greedy."""

    actions: list[Action]
    state: State
    missing: set[Literal]
    greedy: bool


class _Search:
    """The searches for goals of a task, one by one or with the one satisfied last."""

    def __init__(self, task: Task, limit: Limit):
        self._task, self._horizon = task, limit.horizon(task.size)
        unary: dict[str, set[str]] = {}
        for atom in task.static_atoms:
            if len(atom.objects) == 1:
                unary.setdefault(atom.objects[0], set()).add(atom.predicate)
        self._kind = {name: (types, frozenset(unary.get(name, ()))) for name, types in task.text.objects}
        fixed = {name for atom in task.static_atoms if len(atom.objects) > 1 for name in atom.objects}
        goals = Counter(name for atom in task.goal_atoms for name in set(atom.objects))
        shared = {self._kind.get(name) for name, count in goals.items() if count > 1}
        self._movable = {name for name in goals if self._kind.get(name) not in {None, *shared}} - fixed
        self._templates: dict[object, _Template] = {}

    def satisfy(self, goals: Sequence[Literal]) -> tuple[list[Successor], State]:
        """Satisfy goals in the given order, within the horizon; return the jumps and the state after them."""
        task, state, path, length = self._task, self._task.init, list[Successor](), 0
        missing, last = set(missing_goal_atoms(task, state)), list[Literal]()
        most, greedy, with_last, failed = FEWEST_REACHED, False, False, 0
        while missing:
            before, was_greedy = len(missing), greedy
            for goal in goals:
                check_limits()
                if goal not in missing:
                    continue
                same, kinds = len(missing) == before, (True, False) if greedy else (False,)
                # What failed in the pass before is not tried again in the same state.
                tries = (
                    product([[goal]], kinds[:1] if same and was_greedy else kinds) if not (same and with_last) else ()
                )
                found = self._first(state, missing, [*tries, *product([[goal, *last]] * with_last, kinds)], most)
                if found is None or length + len(found.actions) > self._horizon:
                    failed += 1
                    greedy = greedy or failed >= FAILED_BEFORE_GREEDY
                    continue
                state, missing, greedy, failed, last = found.state, found.missing, found.greedy, 0, [goal]
                length += len(found.actions)
                path.append(Successor(tuple(found.actions), state))
            if len(missing) < before:
                with_last = False
            elif not was_greedy:
                greedy = True
            elif last and not with_last:
                with_last = True
            elif most < MOST_REACHED:
                most, greedy, with_last, failed = 8 * most, False, False, 0
            else:
                break
        return path, state

    def _first(
        self, state: State, missing: set[Literal], tries: Sequence[tuple[list[Literal], bool]], most: int
    ) -> _Found | None:
        """Return the first path that leaves fewer goals missing, among searches for goals, each greedy or not."""
        for goals, greedy in tries:
            if not (actions := self._path(state, goals, most, greedy)):
                continue
            try:
                after = self._task.after_all(state, actions)
            except PlanError:  # with fewer objects, an action can have fewer conditions
                continue
            left = set(missing_goal_atoms(self._task, after))
            if len(left) < len(missing):
                return _Found(actions, after, left, greedy)
        return None

    def _path(self, state: State, goals: Sequence[Literal], most: int, greedy: bool) -> list[Action]:
        """Return the actions of a path to a state with some goals; none if none is found."""
        own = tuple(dict.fromkeys(name for goal in goals for name in goal.atom.objects if name in self._movable))
        kinds = tuple(self._kind[name] for name in own)
        if kinds not in self._templates:
            renamings = [
                {name: one for name in self._movable if self._kind[name] == kind} | {name: name for name in own}
                for one, kind in zip(own, kinds, strict=True)
            ]
            self._templates[kinds] = _Template(self._task, self._movable, own, renamings or [{}], goals)
        return self._templates[kinds].path(state, own, goals, most, greedy)


class _Template:
    """The problem with the movable objects of some goals alone, which stand for those of all goals of equal kinds.

    Each of the `renamings` gives the names of movable objects whose atoms are initially true of these ones, too.
    """

    def __init__(
        self,
        task: Task,
        movable: set[str],
        own: tuple[str, ...],
        renamings: Sequence[Mapping[str, str]],
        goals: Sequence[Literal],
    ):
        self._task, self._movable, self._own = task, movable, own
        init = [
            _renamed(atom, names)
            for names in renamings
            for atom in task.text.init
            if all(name not in movable or name in names for name in atom.objects)
        ]
        objects = tuple(each for each in task.text.objects if each.name not in movable or each.name in own)
        text = replace(task.text, objects=objects, init=tuple(dict.fromkeys(init)), goal=tuple(goals))
        self._model = Task(replace(task.problem.in_model, problem_pddl=format_problem(text))).model
        self._numbers: dict[int, int | None] = {}  # of the task's fluents, -1 for none; None with movable objects
        self._watchers: CSR | None = None
        self._users: CSR | None = None

    def path(
        self, state: State, own: tuple[str, ...], goals: Sequence[Literal], most: int, greedy: bool
    ) -> list[Action]:
        """Return the actions of a path to a state with the goals, a shortest one unless `greedy`; or none."""
        model, names = self._model, dict(zip(own, self._own, strict=True))
        if model is None:
            return []
        operators = model.operators
        targets = np.array([model.fluents.get(_renamed(goal.atom, names), -1) for goal in goals], np.int32)
        reached = most * GREEDY_ACTIONS // max(len(operators.needs.indptr), GREEDY_ACTIONS)
        if targets.min() < 0 or (greedy and reached < FEWEST_GREEDY):
            return []
        fluents = np.array(sorted(self._fluents(model, state, names)), np.int32)
        start = words_of(fluents, model.atoms)
        if greedy:
            users = self._users = self._users or operators.needs.transposed(model.atoms)
            found = greedy_path_to(operators, users, start, targets, reached, stop_flag())
        else:
            if self._watchers is None:  # by the predicate that is true of the fewest objects
                counts = np.bincount(model.predicates[fluents], minlength=int(model.predicates.max(initial=0)) + 1)
                self._watchers = watchers_of(operators.needs, counts[model.predicates])
            watched = fluents[np.diff(self._watchers.indptr)[fluents] > 0]
            found = path_to(operators, self._watchers, start, watched, targets, most, stop_flag())
        check_limits()
        back = {theirs: ours for ours, theirs in names.items()}
        actions = map(model.action, found.tolist())
        return [Action(action.name, tuple(back.get(name, name) for name in action.objects)) for action in actions]

    def _fluents(self, model: GroundModel, state: State, names: Mapping[str, str]) -> list[int]:
        """The numbers of a state's fluents without other movable objects."""
        task, known, fluents = self._task, model.fluents, list[int]()
        for number in task.fluents(state):
            if number not in self._numbers:
                atom = task.fluent(number)
                moves = any(name in self._movable for name in atom.objects)
                self._numbers[number] = None if moves else known.get(atom, -1)
            place = self._numbers[number]
            if place is None:
                atom = task.fluent(number)
                own = all(name not in self._movable or name in names for name in atom.objects)
                place = known.get(_renamed(atom, names), -1) if own else -1
            if place >= 0:
                fluents.append(place)
        return fluents


def _renamed(atom: Atom, names: Mapping[str, str]) -> Atom:
    return Atom(atom.predicate, tuple(names.get(name, name) for name in atom.objects))
