"""Gold-miner: a robot breaks through rock to the gold, with bombs and with a laser that would destroy the gold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.domains.drawing.places import NEIGHBOURS
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


def generate(rng: Generator, rows: int, columns: int) -> str:
    """A mine of `rows` x `columns` locations, its first column clear, the others full of soft or hard rock.

    The robot and, in another row, the bombs and the laser are in the first column, the gold is under soft rock in the
    last. There is a plan: the laser clears the gold's row up to the location before the gold, and is put down; a bomb,
    fetched along the cleared way, breaks the last rock, which is soft.
    """
    names = {(row, place): f"f{row}-{place}f" for row in range(rows) for place in range(columns)}
    start, supply = rng.choice(rows, 2, replace=False).tolist()
    gold = (int(rng.integers(rows)), columns - 1)
    init = ["(arm-empty)", f"(robot-at {names[start, 0]})", f"(gold-at {names[gold]})"]
    init += [f"({tool}-at {names[supply, 0]})" for tool in ("bomb", "laser")]
    for spot, name in names.items():
        rock = "hard" if rng.random() < 0.5 and spot != gold else "soft"
        init.append(f"({rock}-rock-at {name})" if spot[1] else f"(clear {name})")
    for (row, place), name in names.items():
        near = [names.get((row + down, place + right)) for right, down in NEIGHBOURS]
        init += [f"(connected {name} {other})" for other in near if other]
    objects = typed({"loc": list(names.values())})
    return problem_pddl(f"goldminer-{rows}x{columns}", "gold-miner-typed", objects, init, ["(holds-gold)"])


DOMAIN = builtin_domain(
    "goldminer",
    Sizes(
        bounds={"rows": (2, None), "columns": (2, None)},
        count=lambda rows, columns: rows * columns,
    ),
    generate,
)
