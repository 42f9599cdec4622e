"""The drawing of a state and its lookahead tree as a network of relations sees them: nodes, and tuples over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sgp import drawing
from sgp.viewer.graph import FILLS
from sgp.viewer.trees import LETTER

Tuple = tuple[str, Sequence[int]]  # a relation's name and its nodes

_ROW, _TOP, _GAP, _BEND, _MARGIN = 22.0, 58.0, 110.0, 60.0, 12.0
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
