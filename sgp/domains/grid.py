"""Grid: a robot carries keys, one at a time, over a map on which some places are locked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sgp.domains import builtin_domain
from sgp.domains.drawing.places import NEIGHBOURS
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed

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
    """Make a map on which the robot can come to every place; `goals` keys (None: drawn) have another place as goal.

    `locks` places are locked (None: drawn, at most a third). One key starts where the robot can walk at once, the
    others anywhere, also behind locks. Opened places stay open and all ways lead back, so that the robot can carry
    every key that it reaches to every place that it reaches. It reaches all of them, because the shapes of locks that
    it could not open are changed.
    """
    cells = [(x, y) for y in range(rows) for x in range(columns)]
    inside = set(cells)
    locks = int(rng.integers(1, len(cells) // 3 + 1)) if locks is None else locks
    goals = int(rng.integers(1, keys + 1)) if goals is None else goals
    robot, *locked = (cells[number] for number in rng.choice(len(cells), locks + 1, replace=False).tolist())
    near, _ = _walk([robot], inside, {*locked}, set())
    starts = [pick(rng, near), *(pick(rng, cells) for _ in range(keys - 1))]
    bits = rng.integers(shapes, size=keys).tolist()
    lock_shapes = _lock_shapes(rng, robot, inside, locked, list(zip(starts, bits, strict=True)))
    moved = sorted(rng.choice(keys, goals, replace=False).tolist())
    ends = {key: pick(rng, [cell for cell in cells if cell != starts[key]]) for key in moved}

    names = {(x, y): f"p{x}-{y}" for x, y in cells}
    forms, ring = numbered("shape", shapes), numbered("key", keys)
    init = ["(arm-empty)", f"(at-robot {names[robot]})"]
    init += [f"(at {key} {names[start]})" for key, start in zip(ring, starts, strict=True)]
    init += [f"(key-shape {key} {forms[bit]})" for key, bit in zip(ring, bits, strict=True)]
    init += [f"({'locked' if cell in lock_shapes else 'open'} {name})" for cell, name in names.items()]
    init += [f"(lock-shape {names[cell]} {forms[lock_shapes[cell]]})" for cell in cells if cell in lock_shapes]
    init += [f"(conn {name} {names[other]})" for cell, name in names.items() for other in _beside(cell, inside)]
    goal = [f"(at {ring[key]} {names[end]})" for key, end in ends.items()]
    objects = typed({"place": list(names.values()), "shape": forms, "key": ring})
    return problem_pddl(f"grid-{rows}x{columns}-{shapes}-{keys}", "grid", objects, init, goal)


def _lock_shapes(
    rng: Generator, robot: _Cell, inside: Collection[_Cell], locked: Sequence[_Cell], keys: Sequence[tuple[_Cell, int]]
) -> dict[_Cell, int]:
    """Draw the shapes of the locks, each that of a random key, such that all can be opened.

    If no lock beside the reached cells fits a reached key, a random one of them gets the shape of such a key.
    """
    shapes = {cell: pick(rng, keys)[1] for cell in locked}
    lying: dict[_Cell, set[int]] = {}
    for cell, bit in keys:
        lying.setdefault(cell, set()).add(bit)
    opened, closed, owned, seen = [robot], list[_Cell](), set[int](), set[_Cell]()
    while opened:
        reached, new = _walk(opened, inside, shapes, seen)
        owned.update(bit for cell in reached for bit in lying.get(cell, ()))
        closed += new
        if closed and not any(shapes[cell] in owned for cell in closed):
            shapes[pick(rng, closed)] = int(rng.choice(sorted(owned)))
        opened = [cell for cell in closed if shapes[cell] in owned]
        closed = [cell for cell in closed if shapes[cell] not in owned]
    return shapes


def _walk(
    starts: Sequence[_Cell], inside: Collection[_Cell], locked: Collection[_Cell], seen: set[_Cell]
) -> tuple[list[_Cell], list[_Cell]]:
    """Return the cells that are reachable from `starts`, and the locked cells beside them; `seen` is updated."""
    reached, locks = list(starts), list[_Cell]()
    seen.update(starts)
    for cell in reached:  # grows during the loop
        new = [other for other in _beside(cell, inside) if other not in seen]
        seen.update(new)
        for other in new:
            (locks if other in locked else reached).append(other)
    return reached, locks


def _beside(cell: _Cell, inside: Collection[_Cell]) -> list[_Cell]:
    return [other for dx, dy in NEIGHBOURS if (other := (cell[0] + dx, cell[1] + dy)) in inside]


def _allowed(
    rows: int, columns: int, shapes: int, keys: int, locks: int | None = None, goals: int | None = None
) -> bool:
    """Whether every shape can have a key, every second place at most a key, and the robot an open place."""
    places = rows * columns
    return shapes <= keys <= places / 2 and (locks is None or locks < places) and (goals is None or goals <= keys)


DOMAIN = builtin_domain(
    "grid",
    generate,
    count=lambda rows, columns, shapes, keys, locks=0, goals=1: rows * columns + shapes + keys,
    allowed=_allowed,
)
