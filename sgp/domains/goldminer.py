"""Gold-miner: a robot breaks through rock to the gold, with bombs and with a laser that would destroy the gold."""

from __future__ import annotations

from sgp.domains import builtin_domain
from sgp.domains.drawing.places import NEIGHBOURS
from sgp.planning.domain import Generator, problem_pddl, typed


def generate(rng: Generator, rows: int, columns: int) -> str:
    """Make a mine of `rows` x `columns` locations: the first column is clear, the others are soft or hard rock.

    The robot is in the first column, the bombs and the laser in another row of it; the gold is under soft rock in the
    last column. A plan exists: the laser clears the gold's row up to the location before the gold and is put down; a
    bomb, fetched along the cleared row, breaks the last rock.
    """
    names = {(row, place): f"f{row}-{place}f" for row in range(rows) for place in range(columns)}
    start, supply = rng.choice(rows, 2, replace=False).tolist()
    gold = (int(rng.integers(rows)), columns - 1)
    init = ["(arm-empty)", f"(robot-at {names[start, 0]})", f"(gold-at {names[gold]})"]
    init += [f"({tool}-at {names[supply, 0]})" for tool in ("bomb", "laser")]
    for cell, name in names.items():
        rock = "hard" if rng.random() < 0.5 and cell != gold else "soft"
        init.append(f"({rock}-rock-at {name})" if cell[1] else f"(clear {name})")
    for (row, place), name in names.items():
        near = [names.get((row + down, place + right)) for right, down in NEIGHBOURS]
        init += [f"(connected {name} {other})" for other in near if other]
    objects = typed({"loc": list(names.values())})
    return problem_pddl(f"goldminer-{rows}x{columns}", "gold-miner-typed", objects, init, ["(holds-gold)"])


DOMAIN = builtin_domain("goldminer", generate, count=lambda rows, columns: rows * columns)
