"""Sokoban: a warehouse keeper pushes each box to its place, and cannot pull."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

_Cell = tuple[int, int]
_STEPS = {"down": (0, 1), "up": (0, -1), "left": (-1, 0), "right": (1, 0)}
_PULLS = 8  # tries to pull a box that a problem of one box makes; more boxes make more


def generate(rng: Generator, cells: int, boxes: int) -> str:
    """A cave of `cells` cells in which every box starts elsewhere than it is wanted.

    The problem is made from its end: boxes begin where they are wanted and are pulled away at random, so that pushing
    them back is a plan. Where a box could not be pulled away, another cave is drawn.
    """
    while True:
        cave = _cave(rng, cells)
        inside = set(cave)
        # From where a box can be pulled if no other is in the way.
        fit = [c for c in cave if any({_moved(c, step), _moved(c, step, 2)} <= inside for step in _STEPS.values())]
        if len(fit) < boxes:
            continue
        ends = [fit[place] for place in rng.choice(len(fit), boxes, replace=False).tolist()]
        found = _pulled_away(rng, inside, ends)
        if found is not None:
            break
    starts, keeper = found
    names = {cell: f"l{cell[0]}-{cell[1]}" for cell in sorted(cave, key=lambda cell: (cell[1], cell[0]))}
    crates = [f"box{number}" for number in range(1, boxes + 1)]
    init = [f"(at-robot {names[keeper]})"]
    init += [f"(at {crate} {names[start]})" for crate, start in zip(crates, starts, strict=True)]
    init += [f"(clear {name})" for cell, name in names.items() if cell not in starts]
    for cell, name in names.items():
        for word, step in _STEPS.items():
            other = names.get(_moved(cell, step))
            init += [f"(adjacent {name} {other} {word})"] if other else []
    goal = [f"(at {crate} {names[end]})" for crate, end in zip(crates, ends, strict=True)]
    objects = typed({"location": list(names.values()), "box": crates})
    return problem_pddl(f"sokoban-{cells}-{boxes}", "sokoban", objects, init, goal)


def _moved(cell: _Cell, step: _Cell, times: int = 1) -> _Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1]


def _cave(rng: Generator, cells: int) -> list[_Cell]:
    """Connected cells: one after the other is added at a random place of the border; the least coordinates are 0."""
    cave, border = [(0, 0)], [*_STEPS.values()]
    known = {*cave, *border}
    while len(cave) < cells:
        cell = border.pop(int(rng.integers(len(border))))
        cave.append(cell)
        new = [other for other in (_moved(cell, step) for step in _STEPS.values()) if other not in known]
        border += new
        known.update(new)
    left, top = (min(cell[axis] for cell in cave) for axis in (0, 1))
    return [(x - left, y - top) for x, y in cave]


def _pulled_away(rng: Generator, cave: set[_Cell], ends: list[_Cell]) -> tuple[list[_Cell], _Cell] | None:
    """Where boxes stand after random pulls, none of which brings a box back to where it began, and the keeper.

    None where a box could not be pulled.
    """
    places, free = list(ends), cave - set(ends)
    outside = sorted(free)
    near = _reached(free, outside[int(rng.integers(len(outside)))])
    for _ in range(_PULLS * len(ends)):
        box = int(rng.integers(len(places)))
        place = places[box]
        pulls = [
            step
            for step in _STEPS.values()
            if _moved(place, step) in near and _moved(place, step) != ends[box] and _moved(place, step, 2) in free
        ]
        if pulls:
            step = pulls[int(rng.integers(len(pulls)))]
            places[box] = _moved(place, step)
            free ^= {place, places[box]}
            near = _after_pull(near, free, place, step)
    if any(place == end for place, end in zip(places, ends, strict=True)):
        return None
    inside = sorted(near)
    return places, inside[int(rng.integers(len(inside)))]


def _after_pull(near: set[_Cell], free: set[_Cell], left: _Cell, step: _Cell) -> set[_Cell]:
    """What the keeper, two steps from the cell that a box was pulled from, reaches of the free cells now.

    Looked for anew, which takes long in a large cave, only where the box may have parted what was reached before.
    """
    box, keeper = _moved(left, step), _moved(left, step, 2)
    around = {(box[0] + right, box[1] + down) for right in (-1, 0, 1) for down in (-1, 0, 1)} & free
    beside = {_moved(box, side) for side in _STEPS.values()} & free
    if not beside <= _reached(around, keeper):
        return _reached(free, keeper)
    near.remove(box)
    return _reached(free, left, near)


def _reached(free: set[_Cell], start: _Cell, near: set[_Cell] | None = None) -> set[_Cell]:
    """The free cells to which the keeper can walk from one of them, and those `near`, to which it takes them."""
    reached = set() if near is None else near
    reached.add(start)
    border = [start]
    while border:
        cell = border.pop()
        new = [other for step in _STEPS.values() if (other := _moved(cell, step)) in free and other not in reached]
        reached.update(new)
        border += new
    return reached


DOMAIN = builtin_domain(
    "sokoban",
    Sizes(
        bounds={"cells": (8, None), "boxes": (1, None)},
        # The four directions are the domain's.
        count=lambda cells, boxes: cells + boxes,
        allowed=lambda cells, boxes: cells >= 8 * boxes,  # with room to pull every box away from its place
    ),
    generate,
    # At most one box for each row of a square warehouse: with more, some can soon be pulled no further.
    tracked=lambda cells, boxes: boxes * boxes <= cells,
)
