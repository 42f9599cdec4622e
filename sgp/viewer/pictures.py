"""Pictures of states for a notebook's cell."""

from __future__ import annotations

from dataclasses import dataclass

from sgp.domains import draw_goal, draw_scene
from sgp.planning.domain import Scene
from sgp.planning.task import State, Task


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG text; the last line of a cell shows it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def picture(task: Task, state: State | None = None) -> Picture:
    """A state of a task, the initial one where none is given, drawn as its domain draws it."""
    return Picture(draw_scene(task.domain_text, _scene(task, state)))


def goal_picture(task: Task) -> Picture:
    """The goal of a task, drawn like a state that leaves everything else open."""
    return Picture(draw_goal(task.domain_text, _scene(task)))


def _scene(task: Task, state: State | None = None) -> Scene:
    return Scene(task.objects, frozenset(task.atoms(task.init if state is None else state)), task.goal)
