"""A problem with other names for its objects."""

from __future__ import annotations

from sgp.planning.pddl import Problem
from sgp.planning.renaming import with_names
from sgp.planning.task import Task


def renamed(task: Task, reverse: bool = False) -> Problem:
    """The problem with new names for all objects that are no constants, in their order, or the reverse one."""
    things = task.text.objects
    names = {thing.name: f"thing-{place}-x" for place, thing in enumerate(things)}
    return with_names(task, names, range(len(things))[::-1] if reverse else None)
