"""Hindsight: what a trajectory reached becomes what it should have reached, with the goal's shape kept.

Source: lifted hindsight of Stahlberg and Geffner, "First-Order Representation Languages for Goal-Conditioned RL" (AAAI
2026), as AIW-AD uses it (section 6), here over jumps. A goal is a pattern whose objects are variables: other objects
of the same types take their places, a different one for each, so that the new goal is one that problems could have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sgp.planning.pddl import Atom, Literal, Problem, format_problem
from sgp.planning.task import State, Task

_TRIES = 5  # goals drawn for a state, until one does not hold at the start


def hindsight_goal(task: Task, state: State, rng: np.random.Generator) -> tuple[Atom, ...] | None:
    """A goal like the task's that `state` satisfies and the initial state does not; None where none was drawn."""
    at_first, here = set(task.atoms(task.init)), task.atoms(state)
    for _ in range(_TRIES):
        goal = matched(task, here, rng, at_first)
        if not at_first.issuperset(goal):
            return goal
    return None


def matched(
    task: Task, atoms: Collection[Atom], rng: np.random.Generator, known: Collection[Atom] = ()
) -> tuple[Atom, ...]:
    """As many of the goal's atoms as fit, in a random order, each with the objects of one of `atoms`.

    One that is not `known` is taken where one fits, for what always held teaches nothing. An object of the goal
    becomes the same one wherever it stands, no two become one, and constants stay.
    """
    kinds = {thing.name: thing.types for thing in task.objects}
    taken = {thing.name: thing.name for thing in task.domain_text.constants}  # by what the goal calls it
    at_hand: dict[str, list[Atom]] = {}
    for atom in atoms:
        at_hand.setdefault(atom.predicate, []).append(atom)
    found = []
    for place in rng.permutation(len(task.goal_atoms)):
        wanted, used = task.goal_atoms[place], set(taken.values())
        fitting = [atom for atom in at_hand.get(wanted.predicate, ()) if _fits(wanted, atom, taken, used, kinds)]
        fitting = [atom for atom in fitting if atom not in known] or fitting
        if fitting:
            found.append(fitting[rng.integers(len(fitting))])
            taken |= zip(wanted.objects, found[-1].objects, strict=True)
    return tuple(found)


def _fits(
    wanted: Atom, atom: Atom, taken: Mapping[str, str], used: Collection[str], kinds: Mapping[str, tuple[str, ...]]
) -> bool:
    """Whether a goal's atom can become `atom`, given what stands for its objects."""
    new: dict[str, str] = {}
    for name, other in zip(wanted.objects, atom.objects, strict=True):
        known = taken.get(name) or new.get(name)
        if known is None:
            if other in used or other in new.values() or kinds[name] != kinds[other]:
                return False
            new[name] = other
        elif known != other:
            return False
    return True


def aimed(task: Task, goal: Sequence[Atom]) -> Problem:
    """The task's problem with another goal."""
    text = replace(task.text, goal=tuple(Literal(atom, True) for atom in goal))
    return replace(task.problem, problem_pddl=format_problem(text))
