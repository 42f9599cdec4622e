"""Positions of the places of a map: on a grid by their names or directions, or in a graph of linked places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations
from math import dist, hypot
from typing import NamedTuple

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, Box, fitting, largest

Spots = Mapping[str, tuple[int, int]]
NEIGHBOURS = ((1, 0), (-1, 0), (0, 1), (0, -1))  # columns and rows to the four neighbours of a cell


def from_names(cells: Sequence[str], linked: Sequence[tuple[str, str]]) -> Spots | None:
    """Return column and row of each cell from the two numbers that end its name, such as `c3-14`.

    None if a name has no two numbers, two cells share a position, or linked cells are not neighbours.
    """
    spots: dict[str, tuple[int, int]] = {}
    for cell in cells:
        match = re.search(r"(?<!\d)(\d{1,4})\D+(\d{1,4})\D*$", cell)
        if match is None:
            return None
        spots[cell] = int(match.group(1)), int(match.group(2))
    if len(set(spots.values())) < len(spots):
        return None
    if any(abs(spots[a][0] - spots[b][0]) + abs(spots[a][1] - spots[b][1]) != 1 for a, b in linked):
        return None
    left, top = (min((spot[axis] for spot in spots.values()), default=0) for axis in (0, 1))
    return {cell: (x - left, y - top) for cell, (x, y) in spots.items()}


def by_directions(cells: Sequence[str], steps: Mapping[tuple[str, str], tuple[int, int]]) -> Spots | None:
    """Return column and row of each cell from the columns and rows of each step; components are below each other.

    None if steps give a cell two positions, or two cells one position.
    """
    near: dict[str, list[tuple[str, tuple[int, int]]]] = {cell: [] for cell in cells}
    for (first, second), (dx, dy) in steps.items():
        near[first].append((second, (dx, dy)))
        near[second].append((first, (-dx, -dy)))
    spots: dict[str, tuple[int, int]] = {}
    top = 0
    for start in cells:
        if start in spots:
            continue
        placed, waiting = {start: (0, 0)}, [start]
        while waiting:
            cell = waiting.pop()
            x, y = placed[cell]
            for other, (dx, dy) in near[cell]:
                if other not in placed:
                    placed[other] = (x + dx, y + dy)
                    waiting.append(other)
                elif placed[other] != (x + dx, y + dy):
                    return None
        if len(set(placed.values())) < len(placed):
            return None
        left, above = (min(spot[axis] for spot in placed.values()) for axis in (0, 1))
        spots.update((cell, (x - left, y - above + top)) for cell, (x, y) in placed.items())
        top = max(y for _, y in spots.values()) + 1
    return spots


def by_distance(cells: Sequence[str], linked: Sequence[tuple[str, str]]) -> Spots:
    """Return a column for each distance from the first cell; further components begin their own rows below."""
    near: dict[str, list[str]] = {cell: [] for cell in cells}
    for first, second in linked:
        near[first].append(second)
        near[second].append(first)
    spots: dict[str, tuple[int, int]] = {}
    top = 0
    for start in cells:
        layer, distance, lowest = [] if start in spots else [start], 0, top
        while layer:
            spots.update((cell, (distance, top + row)) for row, cell in enumerate(layer))
            lowest = max(lowest, top + len(layer))
            layer = list(dict.fromkeys(other for cell in layer for other in near[cell] if other not in spots))
            distance += 1
        top = lowest
    return spots


def walls(spots: Spots, linked: Iterable[tuple[str, str]], width: float, height: float) -> str:
    """Draw walls between neighbouring cells that are not linked, and around the map; cell sizes are in pixels."""
    inside = {spot: cell for cell, spot in spots.items()}
    open_ = {pair for first, second in linked for pair in ((first, second), (second, first))}
    steps = []
    for cell, (x, y) in spots.items():
        for dx, dy in NEIGHBOURS:
            other = inside.get((x + dx, y + dy))
            if other is None or ((cell, other) not in open_ and (dx, dy) > (0, 0)):
                left, top = (x + (dx > 0)) * width, (y + (dy > 0)) * height
                steps.append(f"M{left:g} {top:g}{f'v{height:g}' if dx else f'h{width:g}'}")
    return drawing.path("".join(steps), stroke="currentColor", stroke_width=2.5, stroke_linecap="square", fill="none")


_TRIED = 20  # places of which every number of columns is tried
_COMPARED = 60_000  # maximum number of compared pairs of places: about a quarter of a second


@dataclass(frozen=True)
class Link:
    """A line between two places, with a hint; a `one_way` line has an arrow to the second place."""

    first: str
    second: str
    hint: str
    one_way: bool = False
    dashed: bool = False


def grid(cells: Mapping[str, Box], spots: Spots, linked: Sequence[tuple[str, str]]) -> Box:
    """Set boxes as the cells of a map, with walls between neighbours that are not linked."""
    width, height = (max((getattr(box, side) for box in cells.values()), default=0) for side in ("width", "height"))
    across, down = (max((spot[axis] for spot in spots.values()), default=-1) + 1 for axis in (0, 1))

    def at(x: float, y: float) -> str:
        parts = [cells[cell].at(column * width, row * height) for cell, (column, row) in spots.items()]
        parts.append(walls(spots, linked, width, height))
        return drawing.element("g", parts, transform=f"translate({x} {y})")

    return Box(across * width, down * height, at)


def network(
    places: Mapping[str, Box], links: Iterable[Link], gap: float = 34, frame: tuple[float, float] | None = None
) -> Box:
    """Set boxes by name on a grid, with links in the gaps between them.

    Without a `frame`, all cells of the grid are equal and it suits a frame of four to three. With one, of a width and a
    height, columns and rows are as large as their largest boxes.
    """
    if not places:
        return NOTHING
    cell = largest(places.values())
    tried = [fitting(len(places), cell.width + gap, cell.height + gap)]
    if frame is not None and len(places) <= _TRIED:
        tried = list(range(1, len(places) + 1))
    known = [link for link in links if link.first in places and link.second in places and link.first != link.second]
    pairs, boxes = tuple((link.first, link.second) for link in known), places
    if frame is None:
        boxes = dict.fromkeys(places, cell)
    grids = [_Grid.of(boxes, _spots(tuple(places), pairs, across), gap) for across in tried]
    most_wide, most_high = frame or (4, 3)
    best = max(grids, key=lambda grid: min(most_wide / grid.width, most_high / grid.height))

    def at(x: float, y: float) -> str:
        moved = {name: (x + left, y + top) for name, (left, top) in best.middle.items()}
        lines = [_line(link, moved, places) for link in known]
        drawn = [
            box.at(moved[name][0] - box.width / 2, moved[name][1] - box.height / 2) for name, box in places.items()
        ]
        return "".join([*lines, *drawn])

    return Box(best.width, best.height, at)


class _Grid(NamedTuple):
    """The middles of boxes on a grid."""

    middle: Mapping[str, tuple[float, float]]
    width: float
    height: float

    @classmethod
    def of(cls, boxes: Mapping[str, Box], spots: Spots, gap: float) -> _Grid:
        """Make columns and rows as large as their largest boxes, with half a gap around them."""
        starts: list[list[float]] = []
        for axis, side in enumerate(("width", "height")):
            sizes = [0.0] * (max(spot[axis] for spot in spots.values()) + 1)
            for name, spot in spots.items():
                sizes[spot[axis]] = max(sizes[spot[axis]], getattr(boxes[name], side) + gap)
            starts.append(list(accumulate(sizes, initial=0.0)))
        across, down = starts
        middle = {
            name: ((across[column] + across[column + 1]) / 2, (down[row] + down[row + 1]) / 2)
            for name, (column, row) in spots.items()
        }
        return cls(middle, across[-1], down[-1])


def _line(link: Link, spots: Mapping[str, tuple[float, float]], places: Mapping[str, Box]) -> str:
    """Draw a link from edge to edge; the head of its arrow is two strokes."""
    first, second = spots[link.first], spots[link.second]
    (x1, y1), (x2, y2) = (
        edge_point(spots[name], other, places[name].width / 2, places[name].height / 2, 1)
        for name, other in ((link.first, second), (link.second, first))
    )
    look = {"stroke": "currentColor", "stroke_opacity": 0.3 if link.dashed else 0.65, "stroke_width": 1.5}
    parts = [drawing.line(x1, y1, x2, y2, **look, **({"stroke_dasharray": "3 4"} if link.dashed else {}))]
    length = hypot(x2 - x1, y2 - y1)
    if link.one_way and length:
        dx, dy = (x2 - x1) / length * 7, (y2 - y1) / length * 7
        head = f"M{x2 - dx - dy * 0.6:.1f} {y2 - dy + dx * 0.6:.1f}L{x2:.1f} {y2:.1f}"
        head += f"L{x2 - dx + dy * 0.6:.1f} {y2 - dy - dx * 0.6:.1f}"
        parts.append(drawing.path(head, fill="none", **look))
    return drawing.group(link.hint, parts, class_="link")


def edge_point(
    start: tuple[float, float], end: tuple[float, float], across: float, down: float, most: float
) -> tuple[float, float]:
    """Return where the line from the middle of a box (half `across` x `down`) leaves it, after a share of `most`."""
    (x1, y1), (x2, y2) = start, end
    part = min(across / max(abs(x2 - x1), 1e-9), down / max(abs(y2 - y1), 1e-9), most)
    return x1 + part * (x2 - x1), y1 + part * (y2 - y1)


def _length(here: tuple[int, int], there: tuple[int, int]) -> float:
    """Return the length of a link; a link that passes behind other places counts twice."""
    far = dist(here, there)
    return far * 2 if far > 1 and (here[0] == there[0] or here[1] == there[1]) else far


@lru_cache(maxsize=64)
def _spots(names: tuple[str, ...], links: tuple[tuple[str, str], ...], across: int) -> Mapping[str, tuple[int, int]]:
    """Return column and row of each place: pairs are exchanged as long as that shortens the links in total.

    The initial order is row by row, alternately to the right and to the left, so that a path is as short as possible.
    """
    rows = [names[first : first + across] for first in range(0, len(names), across)]
    spots = {
        name: (column if row % 2 == 0 else across - 1 - column, row)
        for row, line in enumerate(rows)
        for column, name in enumerate(line)
    }
    near: dict[str, list[str]] = {name: [] for name in names}
    for first, second in links:
        near[first].append(second)
        near[second].append(first)

    def length(name: str) -> float:
        here = spots[name]
        return sum(_length(here, spots[other]) for other in near[name])

    pairs = list(combinations(names, 2))
    for _ in range(_COMPARED // max(len(pairs), 1)):
        better = False
        for first, second in pairs:
            before = length(first) + length(second)
            spots[first], spots[second] = spots[second], spots[first]
            if length(first) + length(second) < before - 1e-9:
                better = True
            else:
                spots[first], spots[second] = spots[second], spots[first]
        if not better:
            break
    return spots
