"""Floortile: robots paint the tiles of a floor in two colours and must not step onto painted tiles."""

from __future__ import annotations

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed

_COLOURS = ["white", "black"]
_SIDES = {"right": (1, 0), "left": (-1, 0), "down": (0, 1), "up": (0, -1)}  # columns and rows from ?y to ?x


def generate(rng: Generator, robots: int, rows: int, columns: int) -> str:
    """Make a chequerboard of `rows` x `columns` tiles the goal, above one more row that stays unpainted.

    Robots start on random tiles. There are at most as many as columns: then all find a place in the lowest row, and
    every problem has a plan, which paints one column after the other from top to bottom.
    """
    tiles = {(row, place): f"tile{row}-{place}" for row in range(rows + 1) for place in range(1, columns + 1)}
    painters = numbered("robot", robots)
    starts = rng.choice(len(tiles), robots, replace=False).tolist()
    init = [f"(available-color {colour})" for colour in _COLOURS]
    for painter, start in zip(painters, starts, strict=True):
        init += [f"(robot-at {painter} {list(tiles.values())[start]})", f"(robot-has {painter} {pick(rng, _COLOURS)})"]
    init += [f"(clear {tile})" for number, tile in enumerate(tiles.values()) if number not in starts]
    for (row, place), tile in tiles.items():
        for word, (right, down) in _SIDES.items():
            other = tiles.get((row + down, place - right))
            init += [f"({word} {tile} {other})"] if other else []
    first = int(rng.integers(len(_COLOURS)))
    colours = {tile: _COLOURS[(row + place + first) % 2] for (row, place), tile in tiles.items() if row > 0}
    goal = [f"(painted {tile} {colour})" for tile, colour in colours.items()]
    objects = typed({"tile": list(tiles.values()), "robot": painters, "color": _COLOURS})
    return problem_pddl(f"floortile-{robots}-{rows}x{columns}", "floortile", objects, init, goal)


DOMAIN = builtin_domain(
    "floortile",
    generate,
    count=lambda robots, rows, columns: robots + (rows + 1) * columns + 2,  # one more row of tiles, two colours
    allowed=lambda robots, rows, columns: robots <= columns,
    # Floors at most twice as long as wide, and at most one robot for every second column.
    tracked=lambda robots, rows, columns: columns <= 2 * rows <= 4 * columns and 2 * robots <= columns + 1,
)
