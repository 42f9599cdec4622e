"""Grid: a robot carries keys, one at a time, over a map on which some places are locked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.domains.drawing.places import NEIGHBOURS
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

_Cell = tuple[int, int]


def generate(
    rng: Generator,
    rows: int,
    columns: int,
    shapes: int,
    keys: int,
    locks: int | None = None,
    goals: int | None = None,
) -> str:
    """A map on which the robot can come to every place, with `goals` keys (None: drawn) wanted elsewhere.

    `locks` of the places are locked (None: drawn, a third of them at most). One key starts where the robot can walk
    at once, the others anywhere, behind locks too. As nothing that was opened closes and all ways lead back, the robot
    can carry every key that it reaches to every place that it reaches; and it reaches all, because locks that it
    could not open are made to fit.
    """
    cells = [(x, y) for y in range(rows) for x in range(columns)]
    inside = set(cells)
    locks = int(rng.integers(1, len(cells) // 3 + 1)) if locks is None else locks
    goals = int(rng.integers(1, keys + 1)) if goals is None else goals
    robot, *locked = (cells[number] for number in rng.choice(len(cells), locks + 1, replace=False).tolist())

    def pick(choices: Sequence[_Cell]) -> _Cell:
        return choices[int(rng.integers(len(choices)))]

    near, _ = _walk([robot], inside, {*locked}, set())
    starts = [pick(near), *(pick(cells) for _ in range(keys - 1))]
    bits = rng.integers(shapes, size=keys).tolist()
    fits = _openable(rng, robot, inside, locked, list(zip(starts, bits, strict=True)))
    wanted = sorted(rng.choice(keys, goals, replace=False).tolist())
    ends = {key: pick([cell for cell in cells if cell != starts[key]]) for key in wanted}

    names = {(x, y): f"p{x}-{y}" for x, y in cells}
    forms = [f"shape{number}" for number in range(1, shapes + 1)]
    ring = [f"key{number}" for number in range(1, keys + 1)]
    init = ["(arm-empty)", f"(at-robot {names[robot]})"]
    init += [f"(at {key} {names[start]})" for key, start in zip(ring, starts, strict=True)]
    init += [f"(key-shape {key} {forms[bit]})" for key, bit in zip(ring, bits, strict=True)]
    init += [f"({'locked' if cell in fits else 'open'} {name})" for cell, name in names.items()]
    init += [f"(lock-shape {names[cell]} {forms[fits[cell]]})" for cell in cells if cell in fits]
    init += [f"(conn {name} {names[other]})" for cell, name in names.items() for other in _beside(cell, inside)]
    goal = [f"(at {ring[key]} {names[end]})" for key, end in ends.items()]
    objects = typed({"place": list(names.values()), "shape": forms, "key": ring})
    return problem_pddl(f"grid-{rows}x{columns}-{shapes}-{keys}", "grid", objects, init, goal)


def _openable(
    rng: Generator, robot: _Cell, inside: Collection[_Cell], locked: Sequence[_Cell], keys: Sequence[tuple[_Cell, int]]
) -> dict[_Cell, int]:
    """The shapes of locks, each that of a random key, such that all can be opened one after the other.

    Where no lock before the robot fits a key that it reaches, a random one of them gets a shape that does.
    """
    fits = {cell: keys[int(rng.integers(len(keys)))][1] for cell in locked}
    lying: dict[_Cell, set[int]] = {}
    for cell, bit in keys:
        lying.setdefault(cell, set()).add(bit)
    opened, before, owned, seen = [robot], list[_Cell](), set[int](), set[_Cell]()
    while opened:
        reached, new = _walk(opened, inside, fits, seen)
        owned.update(bit for cell in reached for bit in lying.get(cell, ()))
        before += new
        if before and not any(fits[cell] in owned for cell in before):
            fits[before[int(rng.integers(len(before)))]] = int(rng.choice(sorted(owned)))
        opened = [cell for cell in before if fits[cell] in owned]
        before = [cell for cell in before if fits[cell] not in owned]
    return fits


def _walk(
    starts: Sequence[_Cell], inside: Collection[_Cell], locked: Collection[_Cell], seen: set[_Cell]
) -> tuple[list[_Cell], list[_Cell]]:
    """The cells to which the robot can walk from some, these included, and locked ones beside them; `seen` grows."""
    reached, locks = list(starts), list[_Cell]()
    seen.update(starts)
    for cell in reached:  # which grows
        new = [other for other in _beside(cell, inside) if other not in seen]
        seen.update(new)
        for other in new:
            (locks if other in locked else reached).append(other)
    return reached, locks


def _beside(cell: _Cell, inside: Collection[_Cell]) -> list[_Cell]:
    return [other for dx, dy in NEIGHBOURS if (other := (cell[0] + dx, cell[1] + dy)) in inside]


def _fits(rows: int, columns: int, shapes: int, keys: int, locks: int | None = None, goals: int | None = None) -> bool:
    """No more shapes than keys, a key for every second place at most, and an open place for the robot."""
    places = rows * columns
    return shapes <= keys <= places / 2 and (locks is None or locks < places) and (goals is None or goals <= keys)


DOMAIN = builtin_domain(
    "grid",
    Sizes(
        bounds={
            "rows": (2, None),
            "columns": (2, None),
            "shapes": (1, None),
            "keys": (1, None),
            "locks": (0, None),
            "goals": (1, None),
        },
        count=lambda rows, columns, shapes, keys, locks=0, goals=1: rows * columns + shapes + keys,
        allowed=_fits,
        free=frozenset({"locks", "goals"}),
    ),
    generate,
)
