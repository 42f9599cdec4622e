"""A problem with other names for its objects: the same problem, to whoever knows that names say nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sgp.planning.pddl import Atom, Problem, format_problem
from sgp.planning.task import Task


def with_names(task: Task, names: Mapping[str, str], order: Sequence[int] | None = None) -> Problem:
    """The problem with new names, by the old ones, for all objects that are no constants.

    Objects stand in the same order, or in that of `order`, which has each one's place once.
    """
    text = task.text

    def other(atom: Atom) -> Atom:
        return Atom(atom.predicate, tuple(names.get(name, name) for name in atom.objects))

    objects = [thing._replace(name=names[thing.name]) for thing in text.objects]
    changed = replace(
        text,
        objects=tuple(objects if order is None else (objects[place] for place in order)),
        init=tuple(map(other, text.init)),
        goal=tuple(literal._replace(atom=other(literal.atom)) for literal in text.goal),
    )
    return Problem("renamed", task.problem.domain_pddl, format_problem(changed))
