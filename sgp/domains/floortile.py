"""Floortile: robots paint the tiles of a floor in two colours, and may not step onto what is painted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

_COLOURS = ["white", "black"]
_SIDES = {"right": (1, 0), "left": (-1, 0), "down": (0, 1), "up": (0, -1)}  # columns and rows from ?y to ?x


def generate(rng: Generator, robots: int, rows: int, columns: int) -> str:
    """A chequerboard of `rows` x `columns` tiles is wanted, above one more row that stays as it is.

    Robots start on random tiles. Not more of them than columns: all of them must find a place in the lowest row, and
    then every problem has a plan: columns are painted from top to bottom, one after the other.
    """
    tiles = {(row, place): f"tile{row}-{place}" for row in range(rows + 1) for place in range(1, columns + 1)}
    painters = [f"robot{number}" for number in range(1, robots + 1)]
    starts = rng.choice(len(tiles), robots, replace=False).tolist()
    init = [f"(available-color {colour})" for colour in _COLOURS]
    for painter, start in zip(painters, starts, strict=True):
        init.append(f"(robot-at {painter} {list(tiles.values())[start]})")
        init.append(f"(robot-has {painter} {_COLOURS[int(rng.integers(len(_COLOURS)))]})")
    init += [f"(clear {tile})" for number, tile in enumerate(tiles.values()) if number not in starts]
    for (row, place), tile in tiles.items():
        for word, (right, down) in _SIDES.items():
            other = tiles.get((row + down, place - right))
            init += [f"({word} {tile} {other})"] if other else []
    first = int(rng.integers(len(_COLOURS)))
    goal = [
        f"(painted {tile} {_COLOURS[(row + place + first) % len(_COLOURS)]})"
        for (row, place), tile in tiles.items()
        if row > 0
    ]
    objects = typed({"tile": list(tiles.values()), "robot": painters, "color": _COLOURS})
    return problem_pddl(f"floortile-{robots}-{rows}x{columns}", "floortile", objects, init, goal)


DOMAIN = builtin_domain(
    "floortile",
    Sizes(
        bounds={"robots": (1, None), "rows": (1, None), "columns": (1, None)},
        # One more row of tiles, and two colours.
        count=lambda robots, rows, columns: robots + (rows + 1) * columns + 2,
        allowed=lambda robots, rows, columns: robots <= columns,
    ),
    generate,
    # Floors at most twice as long as wide, and at most one robot for every second column.
    tracked=lambda robots, rows, columns: columns <= 2 * rows <= 4 * columns and 2 * robots <= columns + 1,
)
