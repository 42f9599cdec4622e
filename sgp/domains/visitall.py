"""VisitAll: a robot on a grid visits every cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from sgp.planning.domain import Domain, Sizes, Slots, problem_pddl
from sgp.planning.pddl import Atom

UNTYPED = """\
(define (domain visitall)
  (:requirements :strips)
  (:predicates (place ?c) (connected ?a ?b) (at-robot ?c) (visited ?c))
  (:action move
    :parameters (?from ?to)
    :precondition (and (place ?from) (place ?to) (at-robot ?from) (connected ?from ?to))
    :effect (and (at-robot ?to) (visited ?to) (not (at-robot ?from)))))
"""


def generate(rng: np.random.Generator, width: int, height: int, start: int | None = None, holes: int = 0) -> str:
    """A grid of `width` x `height` cells, all to be visited, from cell `start` (row by row; None: a random one).

    `holes` cells, drawn one after the other, are left out; what remains is connected.
    """
    there = [(x, y) for y in range(height) for x in range(width)]
    for _ in range(holes):
        there.remove(_removable(rng, there))
    cells = [f"c{x}-{y}" for x, y in there]
    first = cells[int(rng.integers(len(cells))) if start is None else start]
    inside = set(there)
    connected = [
        f"(connected c{x}-{y} c{x + dx}-{y + dy})"
        for x, y in product(range(width), range(height))
        for dx, dy in _STEPS
        if {(x, y), (x + dx, y + dy)} <= inside
    ]
    init = [*(f"(place {cell})" for cell in cells), *connected, f"(at-robot {first})", f"(visited {first})"]
    goal = [f"(visited {cell})" for cell in cells]
    return problem_pddl(f"visitall-{width}x{height}-{first}", "visitall", cells, init, goal)


_STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


def _removable(rng: np.random.Generator, there: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """A random cell without which the others stay connected."""
    places: list[int] = rng.permutation(len(there)).tolist()
    for place in places:
        rest = set(there) - {there[place]}
        reached = {next(iter(sorted(rest)))}
        border = list(reached)
        while border:
            x, y = border.pop()
            new = {(x + dx, y + dy) for dx, dy in _STEPS} & rest - reached
            reached |= new
            border += new
        if reached == rest:
            return there[place]
    raise AssertionError("a connected grid of two cells or more has a cell that can be left out")


def _inside(width: int, height: int, start: int | None = None, holes: int = 0) -> bool:
    return holes < width * height and (start is None or start < width * height - holes)


_LONGEST_SIDE = 11  # the largest published grid has 11 x 11 cells


def _grids(sizes: Iterable[int], count: int) -> list[dict[str, int]]:
    """`count` problems over all grids of these numbers of cells: as many start cells a grid as evenness allows."""
    sides = range(1, _LONGEST_SIDE + 1)
    grids = [(width, height) for size in sizes for width, height in product(sides, sides) if width * height == size]
    starts = dict.fromkeys(grids, 0)
    while sum(starts.values()) < count:
        grid = min((grid for grid in grids if starts[grid] < grid[0] * grid[1]), key=starts.__getitem__)
        starts[grid] += 1
    return [
        {"width": width, "height": height, "start": place * width * height // number}
        for (width, height), number in starts.items()
        for place in range(number)
    ]


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """The robot's cell; a cell is 1 once visited (state-centric, Table 6)."""
    return {
        0 if predicate == "at-robot" else number[names[0]]: number[names[0]] if predicate == "at-robot" else 1
        for predicate, names in atoms
        if predicate in ("at-robot", "visited")
    }


DOMAIN = Domain(
    name="visitall",
    title="VisitAll",
    aliases=("visitall-from-everywhere",),
    models={"untyped": UNTYPED},
    sizes=Sizes(
        bounds={"width": (1, None), "height": (1, None), "start": (0, None), "holes": (0, None)},
        count=lambda width, height, start=None, holes=0: width * height - holes,
        allowed=_inside,
        free=frozenset({"start", "holes"}),
    ),
    generator=generate,
    slots=Slots(slot_values, has_global=True),
    splits={
        # Counts and sizes: state-centric, Table 5, with the cell counts of its published problems.
        "state-centric": {
            "train": _grids((1, 3, 4, 6, 7, 10, 11, 12, 14, 16), 207),
            "validation": _grids((18, 20), 24),
            "interpolation": _grids((2, 5, 8, 9, 15), 37),
            "extrapolation": _grids(sorted({w * h for w in range(2, 12) for h in range(2, 12) if w * h > 20}), 219),
        },
        "selection": {
            "8x8": [{"width": 8, "height": 8}] * 5,
            "12x12": [{"width": 12, "height": 12}] * 5,
            "12x12-holes": [{"width": 12, "height": 12, "holes": 20}] * 5,
        },
        "harder": {
            "16x16": [{"width": 16, "height": 16}] * 5,
            "22x22": [{"width": 22, "height": 22}] * 5,
            "22x22-holes": [{"width": 22, "height": 22, "holes": 60}] * 5,
            "40x40": [{"width": 40, "height": 40}] * 5,
        },
    },
)
