"""Where the cells of a map stand: as their names tell, or by their distances from the first one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Spots = Mapping[str, tuple[int, int]]


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
