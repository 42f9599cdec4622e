"""A problem with other names for its objects."""

from __future__ import annotations

from dataclasses import replace

from sgp.planning.pddl import Atom, Problem, format_problem
from sgp.planning.task import Task


def renamed(task: Task, reverse: bool = False) -> Problem:
    """The problem with new names for all objects that are no constants, in their order, or the reverse one."""
    text = task.text
    names = {thing.name: f"thing-{place}-x" for place, thing in enumerate(text.objects)}

    def other(atom: Atom) -> Atom:
        return Atom(atom.predicate, tuple(names.get(name, name) for name in atom.objects))

    objects = tuple(thing._replace(name=names[thing.name]) for thing in text.objects)
    changed = replace(
        text,
        objects=objects[::-1] if reverse else objects,
        init=tuple(map(other, text.init)),
        goal=tuple(literal._replace(atom=other(literal.atom)) for literal in text.goal),
    )
    return Problem("renamed", task.problem.domain_pddl, format_problem(changed))
