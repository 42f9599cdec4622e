"""Pictures of states, graphs and lookahead trees for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sgp import drawing
from sgp.domains import draw_goal, draw_scene
from sgp.encoders.trees import TreeConfig, tree_encoder
from sgp.encoders.wl_vocabulary import ColouredGraph
from sgp.errors import InputError
from sgp.planning.domain import Scene
from sgp.planning.task import State, Successor, Task
from sgp.viewer.graphs import draw_encoding, draw_graph, draw_tree

# A white ground, because notebooks can have a dark theme.
_ON_PAPER = "max-width:100%;height:auto;background:#ffffff;color:#000000;fill:currentColor"
_CAPTION, _GAP = 26.0, 20.0


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG text; a notebook displays it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def picture(task: Task, state: State | None = None) -> Picture:
    """A state of a task (the initial one if none is given), drawn by its domain."""
    return Picture(draw_scene(task.domain_text, _scene(task, state)))


def goal_picture(task: Task) -> Picture:
    """The goal of a task, drawn like a state."""
    return Picture(draw_goal(task.domain_text, _scene(task)))


def graph_picture(graph: ColouredGraph, level: int | None = None) -> Picture:
    """A state's graph: plain, or with its nodes filled and numbered by their colours after `level` rounds."""
    rounds = len(graph.colours) - 1
    if level is not None and not 0 <= level <= rounds:
        raise InputError(f"there are no colours of round {level}; choose one from 0 to {rounds}")
    colours = None if level is None else graph.colours[level]
    return Picture(draw_graph(graph.nodes, graph.kinds, graph.edges, colours, graph.names, _ON_PAPER))


def lookahead_picture(task: Task, candidates: Sequence[Successor]) -> Picture:
    """The tree of a state's candidates, each with its number and its last action; goal states are filled."""
    above = [-1 if each.parent is None else each.parent for each in candidates]
    goal = [task.is_goal(each.state) for each in candidates]
    return Picture(draw_tree("the state", _numbered(candidates), above, goal, _ON_PAPER))


def encoding_picture(
    task: Task, state: State, candidates: Sequence[Successor], config: TreeConfig | None = None
) -> Picture:
    """The graph of a state and its candidates that is the input of a relational network (AD if no `config` is given).

    A tuple with objects is a box, a pair of candidates or depths a line.
    """
    config = config or TreeConfig()
    if config.copied:
        raise InputError(
            f"trees' encoding is {config.encoding}, whose candidates are many nodes; expected changes or actions"
        )
    encoder = tree_encoder(task.domain_text, config)
    refusal = encoder.refuses(task)
    if refusal is not None:
        raise InputError(f"{task.name} has no graph to draw: {refusal}; draw another problem")
    trees = encoder.encode(task, state, candidates)
    tuples = [(name, row) for name, found in trees.graphs.relations.items() for row in found.arguments.tolist()]
    levels = [f"depth {depth}" for depth in range(1, int(trees.depths[0]) + 1)]
    objects = [each.name for each in task.objects]
    return Picture(draw_encoding(objects, _numbered(candidates), levels, tuples, _ON_PAPER))


def _numbered(candidates: Sequence[Successor]) -> list[str]:
    return [f"{place} {each.actions[-1]}" for place, each in enumerate(candidates, start=1)]


def side_by_side(pictures: Sequence[tuple[str, Picture]], columns: int = 4) -> Picture:
    """Pictures in rows of at most `columns`, each below its caption; all columns are equally wide."""
    sizes = [drawing.size(shown.svg) for _, shown in pictures]
    width = max([width for width, _ in sizes] + [7.0 * len(caption) for caption, _ in pictures], default=0) + _GAP
    parts, top = [], 0.0
    for start in range(0, len(pictures), columns):
        row = range(start, min(start + columns, len(pictures)))
        for column, place in enumerate(row):
            caption, each = pictures[place]
            left = column * width
            parts.append(drawing.text(caption, left, top + _CAPTION - 8, font_size=13, font_weight=700))
            parts.append(each.svg.replace("<svg ", f'<svg x="{left:g}" y="{top + _CAPTION:g}" ', 1))
        top += _CAPTION + max(sizes[place][1] for place in row) + _GAP
    across = width * min(columns, len(pictures))
    return Picture(drawing.picture(across, top, parts, f"{len(pictures)} pictures", style=_ON_PAPER))


def _scene(task: Task, state: State | None = None) -> Scene:
    return Scene(task.objects, frozenset(task.atoms(task.init if state is None else state)), task.goal)
