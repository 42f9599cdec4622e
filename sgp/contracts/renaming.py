"""Problems with renamed objects."""

from __future__ import annotations

from sgp.planning.pddl import Problem, with_names
from sgp.planning.task import Task


def renamed(task: Task, reverse: bool = False) -> Problem:
    """Rename all objects of a problem except constants; `reverse` also reverses their order."""
    things = task.text.objects
    names = {thing.name: f"thing-{place}-x" for place, thing in enumerate(things)}
    return with_names(task, names, range(len(things))[::-1] if reverse else None)
