"""Pictures of states, graphs, lookahead trees and the input of a network, for notebooks and the dashboard's tour."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from sgp import drawing
from sgp.domains import draw_goal, draw_scene
from sgp.domains.domain import Scene
from sgp.errors import InputError
from sgp.files import write_text

if TYPE_CHECKING:  # the tour needs no planning library
    from sgp.encoders.trees import TreeConfig
    from sgp.encoders.wl_vocabulary import ColouredGraph
    from sgp.planning.states import State
    from sgp.planning.task import Successor, Task

# A white ground, because notebooks can have a dark theme.
_ON_PAPER = "max-width:100%;height:auto;background:#ffffff;color:#000000;fill:currentColor"
_CAPTION, _GAP = 26.0, 20.0


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG text; a notebook displays it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, file: Path | str) -> None:
        """Write an SVG file, or a PNG or PDF file of 300 dots an inch, by the ending of its name."""
        path = Path(file)
        if path.suffix.lower() == ".svg":
            write_text(path, self.svg)
        elif path.suffix.lower() in (".png", ".pdf"):
            from sgp.viewer.export import rasteriser

            with rasteriser() as render:
                render(self.svg, round(drawing.size(self.svg)[0] * 300 / 96)).save(path, resolution=300, dpi=(300, 300))
        else:
            raise InputError(f"{file} ends in '{path.suffix}'; expected .svg, .png or .pdf")


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
    from sgp.encoders.trees import TreeConfig, tree_encoder

    config = config or TreeConfig()
    if config.copied:
        nodes = f"trees' encoding is {config.encoding}, whose candidates are many nodes"
        raise InputError(f"{nodes}; expected changes or actions")
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


WIDTH = 1000
# Okabe and Ito, readable with black on them; each has a number beside it.
FILLS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d3d3d3", "#7fb6ff", "#ffb38a")


def fill_of(colour: int) -> str:
    """The fill of a colour's number, readable with black on it: `FILLS`, then other hues, no two alike."""
    if colour < len(FILLS):
        return FILLS[colour]
    rgb = colorsys.hls_to_rgb(0.618 * colour % 1, (0.62, 0.72, 0.82)[colour % 3], 0.75)
    return "#" + "".join(f"{round(255 * each):02x}" for each in rgb)


def draw_graph(
    nodes: Sequence[str],
    kinds: Sequence[str],
    edges: Sequence[Sequence[int]],
    colours: Sequence[int] | None,
    names: Mapping[int, str],
    style: str,
) -> str:
    """Objects left, atoms right; nodes are filled and numbered by `colours`, those of one round, if given."""
    objects = list(kinds).count("object")
    height = 30 + 35 * max(objects, len(nodes) - objects)
    spot = {}
    for node in range(len(nodes)):
        first, count, x = (0, objects, 150) if node < objects else (objects, len(nodes) - objects, 640)
        spot[node] = (x, 30 + (node - first + 0.5) * (height - 30) / count)
    parts = [
        drawing.text("objects", 112, 18, font_size=15, fill_opacity=0.75),
        drawing.text("atoms; first argument solid, second dashed", 602, 18, font_size=15, fill_opacity=0.75),
    ]
    for atom, object_, position in edges:
        (x1, y1), (x2, y2) = spot[object_], spot[atom]
        dash = {} if position == 1 else {"stroke_dasharray": "7 4"}
        parts.append(drawing.line(x1 + 30, y1, x2 - 40, y2, stroke="currentColor", stroke_opacity=0.55, **dash))
    for node, (name, kind) in enumerate(zip(nodes, kinds, strict=True)):
        colour = None if colours is None else colours[node]
        title = f"{name}: {kind}" + ("" if colour is None else f", {colour_called(names, colour)}")
        parts.append(drawing.group(title, _node(name, kind, colour, *spot[node])))
    return drawing.picture(WIDTH, height, parts, f"Graph of {len(nodes)} nodes and {len(edges)} edges", style=style)


def colour_called(names: Mapping[int, str], colour: int) -> str:
    """The number of a colour and its meaning."""
    return "a colour that training never saw" if colour < 0 else f"colour {colour}: {names[colour]}"


def _node(name: str, kind: str, colour: int | None, x: float, y: float) -> Iterator[str]:
    """An object rounded, an atom angular, an open goal dashed."""
    is_object = kind == "object"
    if colour is None:
        fill, ink, shown = "none", "currentColor", name if is_object else ""
    elif colour < 0:
        fill, ink, shown = "#ffffff", "#000000", "?"
    else:
        fill, ink, shown = fill_of(colour), "#000000", str(colour)
    dash = {"stroke_dasharray": "4 3"} if kind.endswith("open") else {}
    yield drawing.rect(
        x - 38, y - 15, 76, 30, rx=15 if is_object else 4, fill=fill, stroke="currentColor", stroke_width=1.5, **dash
    )
    yield drawing.text(shown, x, y + 6, text_anchor="middle", fill=ink, font_size=17, font_weight=700)
    if not is_object:
        yield drawing.text(f"{name}  {kind}", x + 50, y + 6, font_size=17)
    elif colour is not None:
        yield drawing.text(name, x - 48, y + 6, text_anchor="end", font_size=17)


_ROW, _LETTER, _MARGIN = 30.0, 7.2, 12.0  # pixels: from one leaf to the next, the width of a letter at most
_EDGE = 46.0  # between the columns of a tree
_GOAL = "#f0e442"  # Okabe and Ito's yellow, readable with black on it


class _Box(NamedTuple):
    words: str
    left: float
    y: float  # of its middle
    width: float

    def frame(self, fill: str, rx: float, grow: float = 0) -> str:
        """The rectangle, larger by `grow` on each side."""
        place = (self.left - grow, self.y - 11 - grow, self.width + 2 * grow, 22 + 2 * grow)
        return drawing.rect(*place, rx=rx, fill=fill, stroke="currentColor", stroke_width=1.2)

    def drawn(self, fill: str = "#ffffff", rx: float = 4) -> str:
        """The rectangle with the words in its middle."""
        place = (self.left + self.width / 2, self.y + 4.5)
        return self.frame(fill, rx) + drawing.text(
            self.words, *place, text_anchor="middle", fill="#000000", font_size=13
        )


def _link(one: _Box, other: _Box, **attributes: object) -> str:
    """A curve from one box to the other, bent to the right where they are in one column."""
    one, other = sorted((one, other), key=lambda box: (box.left, box.y))
    start, end = one.left + one.width, other.left
    middle = (start + end) / 2
    if one.left == other.left:
        end, middle = other.left + other.width, start + 2 * _EDGE
    curve = f"M {start:g} {one.y:g} C {middle:g} {one.y:g} {middle:g} {other.y:g} {end:g} {other.y:g}"
    return drawing.path(curve, fill="none", stroke="currentColor", **attributes)


def draw_tree(root: str, names: Sequence[str], parents: Sequence[int], goals: Sequence[bool], style: str) -> str:
    """The root, and each node [n] to the right of its parent (`parents` [n], -1: the root), which precedes it."""
    depths = {-1: 0}
    below: dict[int, list[int]] = {node: [] for node in range(-1, len(parents))}
    for node, above in enumerate(parents):
        depths[node] = depths[above] + 1
        below[above].append(node)
    rows, leaves = dict[int, float](), 0

    def place(node: int) -> None:
        """A leaf below the leaves before it, a parent amid its children."""
        nonlocal leaves
        for child in below[node]:
            place(child)
        if not below[node]:
            rows[node], leaves = float(leaves), leaves + 1
        else:
            rows[node] = fmean(rows[child] for child in below[node])

    place(-1)
    width = _LETTER * max(map(len, (root, *names))) + 18
    words = {-1: root, **dict(enumerate(names))}
    boxes = {
        node: _Box(words[node], _MARGIN + depths[node] * (width + _EDGE), _MARGIN + _ROW * (rows[node] + 0.5), width)
        for node in range(-1, len(parents))
    }
    parts = [_link(boxes[above], boxes[node], stroke_opacity=0.55) for node, above in enumerate(parents)]
    for node, box in boxes.items():
        goal = node >= 0 and goals[node]
        title = f"{words[node]}: depth {depths[node]}" + (", a goal state" if goal else "")
        parts.append(drawing.group(title, [box.frame("none", 5, 3), box.drawn(_GOAL)] if goal else [box.drawn()]))
    across = 2 * _MARGIN + (max(depths.values()) + 1) * (width + _EDGE) - _EDGE
    return drawing.picture(
        across, 2 * _MARGIN + _ROW * leaves, parts, f"Lookahead tree of {len(names)} states", style=style
    )


Tuple = tuple[str, Sequence[int]]  # a relation's name and its nodes

_TOP, _APART = 58.0, 110.0
_HEADINGS = ("state and goal", "objects", "differences", "tree", "depths")


def draw_encoding(
    objects: Sequence[str], candidates: Sequence[str], depths: Sequence[str], tuples: Sequence[Tuple], style: str
) -> str:
    """Tuples over nodes, which are objects, candidates and depths, numbered in this order.

    Five columns: tuples of objects, objects, tuples of a candidate and objects, candidates, depths.
    """
    names, first = (*objects, *candidates, *depths), len(objects)
    of_state = [each for each in tuples if max(each[1]) < first]
    of_tree = [each for each in tuples if len(each[1]) == 2 and min(each[1]) >= first]
    others = (each for each in tuples if each not in of_state and each not in of_tree)
    differences = sorted(others, key=lambda each: each[1][0])  # by candidate, which is the first node

    def words(each: Tuple) -> str:
        relation, row = each
        predicate = relation.replace(":", " ") if row[0] < first else relation.partition(":")[0]
        return " ".join((predicate, *(names[node] for node in row if node < first)))

    def title(each: Tuple) -> str:
        return f"{each[0].lstrip(':')}({', '.join(names[node] for node in each[1])})"

    contents = (list(map(words, of_state)), objects, list(map(words, differences)), candidates, depths)
    bottom = _TOP + 26.0 * max(map(len, contents))
    columns, left = list[list[_Box]](), _MARGIN
    for content in contents:
        width = _LETTER * max(map(len, content), default=0) + 18
        height = (bottom - _TOP) / max(len(content), 1)
        columns.append([_Box(each, left, _TOP + height * (place + 0.5), width) for place, each in enumerate(content)])
        left += width + _APART if content else 0.0
    nodes = [*columns[1], *columns[3], *columns[4]]
    headings = [(text, column[0].left) for text, column in zip(_HEADINGS, columns, strict=True) if column]
    parts = [drawing.text(text, x, 18, font_size=13, font_weight=700) for text, x in headings]
    kinds = sorted({relation.partition(":")[2] for relation, _ in differences})
    fills = {kind: FILLS[place % len(FILLS)] for place, kind in enumerate(kinds)}
    x = columns[2][0].left if columns[2] else 0.0
    for kind, fill in fills.items():  # the legend
        parts.append(drawing.rect(x, 30, 14, 14, fill=fill, stroke="currentColor"))
        parts.append(drawing.text(kind, x + 20, 42, font_size=13))
        x += 40 + _LETTER * len(kind)
    for each in of_tree:
        line = _link(*(nodes[node] for node in each[1]), stroke_opacity=0.7)
        parts.append(drawing.group(title(each), [line]))
    for each, box in (*zip(of_state, columns[0], strict=True), *zip(differences, columns[2], strict=True)):
        relation, row = each
        for position, node in enumerate(node for node in row if node < first):
            dash = {"stroke_dasharray": "7 4"} if position else {}
            parts.append(_link(box, nodes[node], stroke_opacity=0.35, **dash))
        if row[0] >= first:
            parts.append(_link(box, nodes[row[0]], stroke_opacity=0.7))
        fill = fills.get(relation.partition(":")[2], "#ffffff") if row[0] >= first else "#ffffff"
        parts.append(drawing.group(title(each), [box.drawn(fill, 3)]))
    parts += [box.drawn(rx=12 if place < first else 4) for place, box in enumerate(nodes)]
    across = max(box.left + box.width for box in nodes) + 2 * _EDGE
    named = f"Graph of {len(nodes)} nodes and {len(tuples)} tuples"
    return drawing.picture(across, bottom + _MARGIN, parts, named, style=style)
