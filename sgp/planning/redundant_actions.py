"""Action elimination: remove the redundant actions of a plan.

Source: Nakhost and Müller, Action Elimination and Plan Neighborhood Graph Search: Two Algorithms for Plan Improvement
(ICAPS 2010), Section 3.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sgp.planning.pddl import Action, Atom

if TYPE_CHECKING:
    from sgp.planning.task import Task

MOST_VISITS = 500_000  # of actions, in all trials; about 2 s


def without_redundant_actions(task: Task, plan: Sequence[Action], most_visits: int = MOST_VISITS) -> tuple[Action, ...]:
    """Return a plan without redundant actions.

    In the order of the plan, each action is removed on trial, and with it the later ones that are no longer applicable;
    they are left out for good if the others still reach the goal. `plan` has actions of the task (compiled ones, see
    `Task.own`) and reaches the goal. The trials end after `most_visits` visits of an action.
    """
    trials = _Trials(task, plan)
    for place in range(len(plan)):
        if trials.visits >= most_visits:
            break
        if trials.left[place]:
            trials.remove(place)
    return tuple(action for action, left in zip(plan, trials.left, strict=True) if left)


class _Trials:
    """Removal of actions on trial, which visits only those that use an atom whose truth value differs.

    `left` [n] marks the actions left in the plan; lists of users and writers of an atom have only these. Those needs
    and effects of an action are listed whose truth values change in some state; `effects` maps them to whether the
    action changes their value in the present plan.
    """

    def __init__(self, task: Task, plan: Sequence[Action]):
        self.left, self.visits = [True] * len(plan), 0
        self._needs, self._effects = list[frozenset[Atom]](), list[dict[Atom, bool]]()
        self._users, self._writers = defaultdict[Atom, list[int]](list), defaultdict[Atom, list[int]](list)
        self._goal = {literal.atom for literal, _ in task.fluent_goal}
        true = set(map(task.fluent, task.fluents(task.init)))
        for place, action in enumerate(plan):
            schema = task.domain_text.schemas[action.name]
            objects = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
            needs = (literal.renamed(objects).atom for literal in schema.precondition)
            self._needs.append(frozenset(atom for atom in needs if atom.predicate in task.changing))
            values = dict[Atom, bool]()
            for atom, positive in (literal.renamed(objects) for literal in schema.effect):
                values[atom] = positive or values.get(atom, False)  # what is added and deleted is true afterwards
            self._effects.append({atom: (atom in true) != value for atom, value in values.items()})
            true.difference_update(values)
            true.update(atom for atom, value in values.items() if value)
            for atom in self._needs[-1] | values.keys():
                self._users[atom].append(place)
            for atom in values:
                self._writers[atom].append(place)

    def remove(self, first: int) -> bool:
        """Remove an action and the later ones that depend on it, if the others reach the goal; whether they do."""
        different = set[Atom]()  # atoms whose truth values differ from those in the present plan
        removed, other_effects = list[int](), list[tuple[int, Atom]]()
        waiting, seen = [first], {first}
        while waiting:
            place = heapq.heappop(waiting)
            self.visits += 1
            needs, effects = self._needs[place], self._effects[place]
            if place == first or not different.isdisjoint(needs):
                removed.append(place)
                different ^= {atom for atom, changes in effects.items() if changes}
            else:
                overwritten = different & effects.keys()
                other_effects += [(place, atom) for atom in overwritten]
                different -= overwritten
            for atom in different & (needs | effects.keys()):
                if atom in self._goal and _next(self._writers[atom], place) is None:
                    return False
                user = _next(self._users[atom], place)
                if user is not None and user not in seen:
                    seen.add(user)
                    heapq.heappush(waiting, user)
        for place in removed:
            self.left[place] = False
            for atom in self._needs[place] | self._effects[place].keys():
                _drop(self._users[atom], place)
            for atom in self._effects[place]:
                _drop(self._writers[atom], place)
        for place, atom in other_effects:
            self._effects[place][atom] ^= True
        return True


def _next(places: Sequence[int], after: int) -> int | None:
    """Return the next of ascending places; None if there is none."""
    index = bisect_right(places, after)
    return places[index] if index < len(places) else None


def _drop(places: list[int], place: int) -> None:
    """Remove one of ascending places."""
    del places[bisect_left(places, place)]
