"""Drawings of one series, such as a rollout's: what no step moves stays where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import ceil

from sgp.domains.drawing.boxes import NOTHING, Box, flow
from sgp.planning.domain import Place, Places, Scene


def keep_places(
    scenes: Sequence[Scene], before: Sequence[int], where: Callable[[Scene], Iterable[tuple[str, Place]]]
) -> list[Scene]:
    """Scenes with their `places`; each follows an earlier one, the number of which `before` tells, or -1.

    `where` gives the objects of a scene with the place that each stands in. An object keeps its slot there as long as
    it stays, and takes the first free one when it comes; those that come together, in their order.
    """
    rooms, found = dict[Place, int](), list[dict[tuple[str, Place], int]]()
    for scene, follows in zip(scenes, before, strict=True):
        here, kept = list(where(scene)), found[follows] if follows >= 0 else {}
        slots = {pair: kept[pair] for pair in here if pair in kept}
        taken: dict[Place, set[int]] = {}
        for (_, place), slot in slots.items():
            taken.setdefault(place, set()).add(slot)
        for pair in here:
            if pair not in slots:
                full = taken.setdefault(pair[1], set())
                slots[pair] = next(slot for slot in count() if slot not in full)
                full.add(slots[pair])
        for place, full in taken.items():
            rooms[place] = max(rooms.get(place, 0), *(slot + 1 for slot in full))
        found.append(slots)
    return [replace(scene, places=Places(each, rooms)) for scene, each in zip(scenes, found, strict=True)]


def shelved(scene: Scene, boxes: Mapping[str, Box], place: Place, width: float, cell: Box, gap: float = 4) -> Box:
    """Objects of one place by their names, in rows as wide as told: each in its slot, of the size of `cell`.

    The shelf is as large as the series needs. In a scene of no series they stand side by side.
    """
    if scene.places is None:
        return flow(list(boxes.values()), width, gap)
    slots, room = scene.places.slots, scene.places.rooms.get(place, 0)
    if not room:
        return NOTHING
    across, right, down = max(1, int((width + gap) // (cell.width + gap))), cell.width + gap, cell.height + gap

    def at(x: float, y: float) -> str:
        placed = ((slots[name, place], box) for name, box in boxes.items())
        return "".join(box.at(x + slot % across * right, y + slot // across * down) for slot, box in placed)

    return Box(min(across, room) * right - gap, ceil(room / across) * down - gap, at)


def largest(boxes: Iterable[Box]) -> Box:
    """A cell that has room for each of some boxes."""
    there = list(boxes)
    return Box(max((box.width for box in there), default=0), max((box.height for box in there), default=0), NOTHING.at)
