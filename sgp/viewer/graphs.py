"""Drawings of graphs: a state with the colors of its nodes, a lookahead tree, and both as tuples over nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from sgp import drawing

WIDTH = 1000
# Okabe and Ito, readable with black on them; a number stands beside every one.
FILLS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d3d3d3", "#7fb6ff", "#ffb38a")


def draw_graph(
    nodes: Sequence[str],
    kinds: Sequence[str],
    edges: Sequence[Sequence[int]],
    colours: Sequence[int] | None,
    names: Mapping[int, str],
    style: str,
) -> str:
    """Objects left, atoms right; nodes filled and numbered by their colours where these are given.

    Nodes, kinds, edges and names are those of `sgp.ColouredGraph`, `colours` those of one round.
    """
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
    for atom, thing, position in edges:
        (x1, y1), (x2, y2) = spot[thing], spot[atom]
        dash = {} if position == 1 else {"stroke_dasharray": "7 4"}
        parts.append(drawing.line(x1 + 30, y1, x2 - 40, y2, stroke="currentColor", stroke_opacity=0.55, **dash))
    for node, (name, kind) in enumerate(zip(nodes, kinds, strict=True)):
        colour = None if colours is None else colours[node]
        title = f"{name}: {kind}" + ("" if colour is None else f", {colour_called(names, colour)}")
        parts.append(drawing.group(title, _node(name, kind, colour, *spot[node])))
    return drawing.picture(WIDTH, height, parts, f"Graph of {len(nodes)} nodes and {len(edges)} edges", style=style)


def colour_called(names: Mapping[int, str], colour: int) -> str:
    """A colour by its number, and what it stands for."""
    return "a colour that training never met" if colour < 0 else f"colour {colour}: {names[colour]}"


def _node(name: str, kind: str, colour: int | None, x: float, y: float) -> Iterator[str]:
    """An object rounded, an atom angular, an open goal dashed."""
    thing = kind == "object"
    if colour is None:
        fill, ink, shown = "none", "currentColor", name if thing else ""
    elif colour < 0:
        fill, ink, shown = "#ffffff", "#000000", "?"
    else:
        fill, ink, shown = FILLS[colour % len(FILLS)], "#000000", str(colour)
    dash = {"stroke_dasharray": "4 3"} if kind.endswith("open") else {}
    yield drawing.rect(
        x - 38, y - 15, 76, 30, rx=15 if thing else 4, fill=fill, stroke="currentColor", stroke_width=1.5, **dash
    )
    yield drawing.text(shown, x, y + 6, text_anchor="middle", fill=ink, font_size=17, font_weight=700)
    if not thing:
        yield drawing.text(f"{name}  {kind}", x + 50, y + 6, font_size=17)
    elif colour is not None:
        yield drawing.text(name, x - 48, y + 6, text_anchor="end", font_size=17)


ROW, LETTER = 30.0, 7.2  # from one leaf to the next; what a letter takes at most
_EDGE, _MARGIN = 46.0, 12.0
_GOAL = "#f0e442"  # Okabe and Ito's yellow, readable with black on it


def draw_tree(root: str, names: Sequence[str], parents: Sequence[int], goals: Sequence[bool], style: str) -> str:
    """The root, and each node [n] behind the one that it was reached from (`parents` [n], -1: the root).

    A parent stands before its children. Nodes in `goals` are filled and have a second line around them.
    """
    places, columns = _places(parents), depths(parents)
    width = LETTER * max(map(len, (root, *names))) + 18
    spot = {node: (_MARGIN + columns[node] * (width + _EDGE), _MARGIN + ROW * (place + 0.5)) for node, place in places}
    parts = []
    for node, above in enumerate(parents):
        (x1, y1), (x2, y2) = spot[above], spot[node]
        middle = x2 - _EDGE / 2
        steps = f"M {x1 + width:g} {y1:g} C {middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"
        parts.append(drawing.path(steps, fill="none", stroke="currentColor", stroke_opacity=0.55))
    words = {-1: root, **dict(enumerate(names))}
    for node, (x, y) in spot.items():
        goal = node >= 0 and goals[node]
        title = f"{words[node]}: depth {columns[node]}" + (", a goal state" if goal else "")
        parts.append(drawing.group(title, _box(words[node], x, y, width, goal)))
    across = 2 * _MARGIN + (max(columns.values()) + 1) * (width + _EDGE) - _EDGE
    down = 2 * _MARGIN + ROW * max(1, len(set(range(len(parents))).difference(parents)))
    return drawing.picture(across, down, parts, f"Lookahead tree of {len(names)} states", style=style)


def depths(parents: Sequence[int]) -> dict[int, int]:
    """How many decisions lead to each node; 0 to the root, which is -1."""
    found = {-1: 0}
    for node, above in enumerate(parents):
        found[node] = found[above] + 1
    return found


def _places(parents: Sequence[int]) -> list[tuple[int, float]]:
    """Each node with its place from the top, the root first: a leaf below the other, a parent amid its children."""
    below: dict[int, list[int]] = {node: [] for node in range(-1, len(parents))}
    for node, above in enumerate(parents):
        below[above].append(node)
    order, waiting = list[int](), [-1]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(below[node])
    leaves = [node for node in order if not below[node]]
    places = {node: float(place) for place, node in enumerate(leaves)}
    for node in reversed(order):
        if below[node]:
            places[node] = fmean(places[each] for each in below[node])
    return sorted(places.items())


def _box(words: str, x: float, y: float, width: float, goal: bool) -> list[str]:
    line = {"stroke": "currentColor", "stroke_width": 1.2, "rx": 5}
    outer = [drawing.rect(x - 3, y - 14, width + 6, 28, fill="none", **line)] if goal else []
    return [
        *outer,
        drawing.rect(x, y - 11, width, 22, fill=_GOAL if goal else "#ffffff", **line),
        drawing.text(words, x + width / 2, y + 4.5, text_anchor="middle", fill="#000000", font_size=13),
    ]


Tuple = tuple[str, Sequence[int]]  # a relation's name and its nodes

_ROW, _TOP, _GAP, _BEND = 22.0, 58.0, 110.0, 60.0
_PLAIN = "#ffffff"
_HEADINGS = ("state and goal", "objects", "what differs", "tree", "depths")


@dataclass(frozen=True)
class Drawn:
    """What is drawn: the names of the three kinds of nodes, which are numbered through, and tuples over them."""

    things: Sequence[str]
    candidates: Sequence[str]
    depths: Sequence[str]
    tuples: Sequence[Tuple]

    @property
    def names(self) -> Sequence[str]:
        """Of all nodes."""
        return (*self.things, *self.candidates, *self.depths)

    def of_state(self) -> list[Tuple]:
        """The tuples of objects alone."""
        return [each for each in self.tuples if max(each[1]) < len(self.things)]

    def of_tree(self) -> list[Tuple]:
        """The tuples of candidates and depths alone, which are pairs."""
        return [each for each in self.tuples if self._in_tree(each)]

    def telling(self) -> list[Tuple]:
        """The other tuples, candidate by candidate: each is of a candidate, which stands first, and objects."""
        found = [each for each in self.tuples if each[1][0] >= len(self.things) and not self._in_tree(each)]
        return sorted(found, key=lambda each: each[1][0])

    def _in_tree(self, each: Tuple) -> bool:
        return len(each[1]) == 2 and min(each[1]) >= len(self.things)


class _Box(NamedTuple):
    words: str
    left: float
    width: float
    y: float  # of its middle


def draw_encoding(shown: Drawn, style: str) -> str:
    """Five columns: tuples of objects, objects, tuples of a candidate and objects, candidates, depths.

    A tuple that stands in a column has lines to its nodes, solid to its first object and dashed to others; one of
    candidates and depths alone is a line between the two.
    """
    of_state, telling = shown.of_state(), shown.telling()
    fills = _fills(telling)
    words = [[_words(shown, each) for each in found] for found in (of_state, telling)]
    contents = (words[0], shown.things, words[1], shown.candidates, shown.depths)
    bottom = _TOP + _ROW * max(map(len, contents))
    atoms, things, changes, candidates, depths = columns = list(_columns(contents, bottom))
    nodes = [*things, *candidates, *depths]
    parts = [
        drawing.text(heading, column[0].left, 18, font_size=13, font_weight=700)
        for heading, column in zip(_HEADINGS, columns, strict=True)
        if column
    ]
    parts += _legend(fills, changes)
    for name, row in shown.of_tree():
        line = _line(nodes[row[0]], nodes[row[1]], stroke_opacity=0.7)
        parts.append(drawing.group(_title(shown, (name, row)), [line]))
    for each, box in (*zip(of_state, atoms, strict=True), *zip(telling, changes, strict=True)):
        parts += _tuple(shown, each, box, nodes, fills)
    for place, box in enumerate(nodes):
        parts.append(_boxed(box, _PLAIN, 12 if place < len(things) else 4))
    across = max(box.left + box.width for box in nodes) + _BEND
    title = f"Graph of {len(nodes)} nodes and {len(shown.tuples)} tuples"
    return drawing.picture(across, bottom + _MARGIN, parts, title, style=style)


def _columns(contents: Sequence[Sequence[str]], bottom: float) -> Iterator[list[_Box]]:
    """The boxes of each column, evenly from top to bottom and as wide as its longest words."""
    left = _MARGIN
    for words in contents:
        width = LETTER * max(map(len, words), default=0) + 18
        heights = [_TOP + (bottom - _TOP) * (place + 0.5) / len(words) for place in range(len(words))]
        yield [_Box(each, left, width, y) for each, y in zip(words, heights, strict=True)]
        left += width + _GAP if words else 0.0


def _fills(telling: Sequence[Tuple]) -> Mapping[str, str]:
    """A colour for each kind of tuple."""
    kinds = sorted({_kind(name) for name, _ in telling})
    return {kind: FILLS[place % len(FILLS)] for place, kind in enumerate(kinds)}


def _kind(relation: str) -> str:
    """What stands behind the colon of its name."""
    return relation.partition(":")[2]


def _legend(fills: Mapping[str, str], changes: Sequence[_Box]) -> Iterator[str]:
    left = min((box.left for box in changes), default=0.0)
    for kind, fill in fills.items():
        yield drawing.rect(left, 30, 14, 14, fill=fill, stroke="currentColor")
        yield drawing.text(kind, left + 20, 42, font_size=13)
        left += 40 + LETTER * len(kind)


def _words(shown: Drawn, each: Tuple) -> str:
    """A tuple's relation and its objects; what a candidate stands in is told by the colour's legend."""
    name, row = each
    of_state = row[0] < len(shown.things)
    predicate = name.replace(":", " ") if of_state else name.partition(":")[0]
    return " ".join((predicate, *(shown.names[node] for node in row if node < len(shown.things))))


def _title(shown: Drawn, each: Tuple) -> str:
    """A tuple as it stands in the graph."""
    name, row = each
    return f"{name.lstrip(':')}({', '.join(shown.names[node] for node in row)})"


def _tuple(shown: Drawn, each: Tuple, box: _Box, nodes: Sequence[_Box], fills: Mapping[str, str]) -> Iterator[str]:
    name, row = each
    told = row[0] >= len(shown.things)
    fill = fills[_kind(name)] if told else _PLAIN
    for position, node in enumerate(row[1:] if told else row):
        dash = {"stroke_dasharray": "7 4"} if position else {}
        yield _line(box, nodes[node], stroke_opacity=0.35, **dash)
    if told:
        yield _line(box, nodes[row[0]], stroke_opacity=0.7)
    yield drawing.group(_title(shown, each), [_boxed(box, fill, 3)])


def _line(one: _Box, other: _Box, **attributes: object) -> str:
    """From one box to the other, bent where they stand in one column."""
    one, other = sorted((one, other), key=lambda box: (box.left, box.y))
    x1, x2 = one.left + one.width, other.left
    steps = f"M {x1:g} {one.y:g} L {x2:g} {other.y:g}"
    if one.left == other.left:
        steps = f"M {x1:g} {one.y:g} Q {x1 + _BEND:g} {(one.y + other.y) / 2:g} {x1:g} {other.y:g}"
    return drawing.path(steps, fill="none", stroke="currentColor", **attributes)


def _boxed(box: _Box, fill: str, rx: float) -> str:
    frame = drawing.rect(box.left, box.y - 10, box.width, 20, rx=rx, fill=fill, stroke="currentColor")
    middle = box.left + box.width / 2
    return frame + drawing.text(box.words, middle, box.y + 4.5, text_anchor="middle", fill="#000000", font_size=13)
