"""Where the cells of a map stand: as their names tell, or by their distances from the first one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sgp import drawing

Spots = Mapping[str, tuple[int, int]]
NEIGHBOURS = ((1, 0), (-1, 0), (0, 1), (0, -1))  # columns and rows to the four neighbours of a cell


def from_names(cells: Sequence[str], linked: Sequence[tuple[str, str]]) -> Spots | None:
    """Column and row of each cell, from the two numbers that end its name (`c3-14`), or None.

    None where a name has no two numbers, where two cells would share a place, and where linked cells would not be
    neighbours: then the names tell something else.
    """
    found: dict[str, tuple[int, int]] = {}
    for cell in cells:
        match = re.search(r"(?<!\d)(\d{1,4})\D+(\d{1,4})\D*$", cell)
        if match is None:
            return None
        found[cell] = int(match.group(1)), int(match.group(2))
    if len(set(found.values())) < len(found):
        return None
    if any(abs(found[a][0] - found[b][0]) + abs(found[a][1] - found[b][1]) != 1 for a, b in linked):
        return None
    left, top = (min((spot[axis] for spot in found.values()), default=0) for axis in (0, 1))
    return {cell: (x - left, y - top) for cell, (x, y) in found.items()}


def by_directions(cells: Sequence[str], steps: Mapping[tuple[str, str], tuple[int, int]]) -> Spots | None:
    """Column and row of each cell, from how far right and down each step leads; components stand below each other.

    None where two ways lead a cell to two places or two cells to one.
    """
    near: dict[str, list[tuple[str, tuple[int, int]]]] = {cell: [] for cell in cells}
    for (first, second), (dx, dy) in steps.items():
        near[first].append((second, (dx, dy)))
        near[second].append((first, (-dx, -dy)))
    found: dict[str, tuple[int, int]] = {}
    top = 0
    for start in cells:
        if start in found:
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
        found.update((cell, (x - left, y - above + top)) for cell, (x, y) in placed.items())
        top = max(y for _, y in found.values()) + 1
    return found


def by_distance(cells: Sequence[str], linked: Sequence[tuple[str, str]]) -> Spots:
    """A column for each distance from the first cell; every further component begins its own rows below."""
    near: dict[str, list[str]] = {cell: [] for cell in cells}
    for first, second in linked:
        near[first].append(second)
        near[second].append(first)
    found: dict[str, tuple[int, int]] = {}
    top = 0
    for start in cells:
        layer, distance, lowest = [] if start in found else [start], 0, top
        while layer:
            found.update((cell, (distance, top + row)) for row, cell in enumerate(layer))
            lowest = max(lowest, top + len(layer))
            layer = list(dict.fromkeys(other for cell in layer for other in near[cell] if other not in found))
            distance += 1
        top = lowest
    return found


def walls(spots: Spots, linked: Iterable[tuple[str, str]], side: int) -> str:
    """Lines between neighbouring cells that are not linked, and around the map; a cell is `side` pixels wide."""
    inside = {spot: cell for cell, spot in spots.items()}
    open_ = {pair for first, second in linked for pair in ((first, second), (second, first))}
    steps = []
    for cell, (x, y) in spots.items():
        for dx, dy in NEIGHBOURS:
            other = inside.get((x + dx, y + dy))
            if other is None or ((cell, other) not in open_ and (dx, dy) > (0, 0)):
                left, top = (x + (dx > 0)) * side, (y + (dy > 0)) * side
                steps.append(f"M{left} {top}{'v' if dx else 'h'}{side}")
    return drawing.path("".join(steps), stroke="currentColor", stroke_width=2.5, stroke_linecap="square", fill="none")
