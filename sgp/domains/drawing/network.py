"""Places with roads between them: a grid on which linked places stand near each other, and the lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import ceil, dist, hypot

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, Box, fitting

_GAP = 34  # pixels between places, in which their links are seen
_COMPARED = 60_000  # pairs of places that are compared at most, about a quarter of a second


@dataclass(frozen=True)
class Link:
    """A line between two places, with a hint; one with an arrow can only be used from the first to the second."""

    first: str
    second: str
    hint: str
    one_way: bool = False
    dashed: bool = False


def both_ways(pairs: Sequence[tuple[str, str]], word: str) -> list[Link]:
    """One link for each two places of a relation, with an arrow where it does not hold the other way round."""
    there = set(pairs)
    return [
        Link(first, second, f"{word} from {first} to {second}", one_way=(second, first) not in there)
        for first, second in pairs
        if first < second or (second, first) not in there
    ]


def network(places: Mapping[str, Box], links: Sequence[Link], deep: float) -> Box:
    """Boxes of one size, by name, with links between them, on a grid that suits a frame of four to three.

    As if they were `deep` high: of all states alike, so that no step moves them.
    """
    if not places:
        return NOTHING
    width, height = (max(getattr(box, side) for box in places.values()) + _GAP for side in ("width", "height"))
    across = fitting(len(places), width, deep + _GAP)
    known = [link for link in links if link.first in places and link.second in places and link.first != link.second]
    spots = _spots(tuple(places), tuple((link.first, link.second) for link in known), across)
    middle = {name: (column * width + width / 2, row * height + height / 2) for name, (column, row) in spots.items()}

    def at(x: float, y: float) -> str:
        moved = {name: (x + left, y + top) for name, (left, top) in middle.items()}
        lines = [_line(link, moved, places) for link in known]
        boxes = [
            box.at(moved[name][0] - box.width / 2, moved[name][1] - box.height / 2) for name, box in places.items()
        ]
        return "".join([*lines, *boxes])

    return Box(across * width, ceil(len(places) / across) * height, at)


def _line(link: Link, spots: Mapping[str, tuple[float, float]], places: Mapping[str, Box]) -> str:
    """A link from edge to edge; the arrow's head is two strokes."""
    (x1, y1), (x2, y2) = _edge(link.first, link.second, spots, places), _edge(link.second, link.first, spots, places)
    look = {"stroke": "currentColor", "stroke_opacity": 0.3 if link.dashed else 0.65, "stroke_width": 1.5}
    parts = [drawing.line(x1, y1, x2, y2, **look, **({"stroke_dasharray": "3 4"} if link.dashed else {}))]
    length = hypot(x2 - x1, y2 - y1)
    if link.one_way and length:
        dx, dy = (x2 - x1) / length * 7, (y2 - y1) / length * 7
        head = f"M{x2 - dx - dy * 0.6:.1f} {y2 - dy + dx * 0.6:.1f}L{x2:.1f} {y2:.1f}"
        head += f"L{x2 - dx + dy * 0.6:.1f} {y2 - dy - dx * 0.6:.1f}"
        parts.append(drawing.path(head, fill="none", **look))
    return drawing.group(link.hint, parts, class_="link")


def _edge(
    name: str, other: str, spots: Mapping[str, tuple[float, float]], places: Mapping[str, Box]
) -> tuple[float, float]:
    """Where the line to another place leaves a place's box."""
    (x1, y1), (x2, y2) = spots[name], spots[other]
    box = places[name]
    part = min(box.width / 2 / max(abs(x2 - x1), 1e-9), box.height / 2 / max(abs(y2 - y1), 1e-9), 0.5)
    return x1 + part * (x2 - x1), y1 + part * (y2 - y1)


def _length(here: tuple[int, int], there: tuple[int, int]) -> float:
    """A link's length; one that runs behind the places between its ends counts twice."""
    far = dist(here, there)
    return far * 2 if far > 1 and (here[0] == there[0] or here[1] == there[1]) else far


@lru_cache(maxsize=64)
def _spots(names: tuple[str, ...], links: tuple[tuple[str, str], ...], across: int) -> Mapping[str, tuple[int, int]]:
    """Column and row of each place: two of them change places as long as that makes the links shorter in all.

    They begin row by row, one to the right, the next to the left, so that a path is as short as can be.
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
