"""Domains on maps of cells: Floortile, Gold-miner, Grid and Sokoban."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sgp.domains import builtin_domain
from sgp.domains.domain import Generator, numbered, pick, problem_pddl, typed
from sgp.domains.drawing.places import NEIGHBOURS

# Floortile: robots paint the tiles of a floor in two colours and must not step onto painted tiles.
_COLOURS = ["white", "black"]
_SIDES = {"right": (1, 0), "left": (-1, 0), "down": (0, 1), "up": (0, -1)}  # columns and rows from ?y to ?x


def _floortile(rng: Generator, robots: int, rows: int, columns: int) -> str:
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


FLOORTILE = builtin_domain(
    "floortile",
    _floortile,
    count=lambda robots, rows, columns: robots + (rows + 1) * columns + 2,  # one more row of tiles, two colours
    allowed=lambda robots, rows, columns: robots <= columns,
    # Floors at most twice as long as wide, and at most one robot for every second column.
    tracked=lambda robots, rows, columns: columns <= 2 * rows <= 4 * columns and 2 * robots <= columns + 1,
)


# Gold-miner: a robot breaks through rock to the gold, with bombs and with a laser that would destroy the gold.
def _goldminer(rng: Generator, rows: int, columns: int) -> str:
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


GOLDMINER = builtin_domain("goldminer", _goldminer, count=lambda rows, columns: rows * columns)


# Grid: a robot carries keys, one at a time, over a map on which some places are locked.
_Cell = tuple[int, int]


def _grid(
    rng: Generator, rows: int, columns: int, shapes: int, keys: int, locks: int | None = None, goals: int | None = None
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


GRID = builtin_domain(
    "grid",
    _grid,
    count=lambda rows, columns, shapes, keys, locks=0, goals=1: rows * columns + shapes + keys,
    # Every shape can have a key, every second place at most a key, and the robot an open place.
    allowed=lambda rows, columns, shapes, keys, locks=0, goals=0: (
        shapes <= keys <= rows * columns / 2 and locks < rows * columns and goals <= keys
    ),
)


# Sokoban: a warehouse keeper pushes each box to its place, and cannot pull.
_STEPS = {"down": (0, 1), "up": (0, -1), "left": (-1, 0), "right": (1, 0)}
_PULLS = 8  # attempted pulls for each box


def _sokoban(rng: Generator, cells: int, boxes: int) -> str:
    """Make a cave of `cells` cells in which no box starts at its goal.

    The problem is made backwards: boxes are pulled away from their goals at random, so that pushing them back is a
    plan. If a box could not be pulled away, another cave is drawn.
    """
    while True:
        cave = _cave(rng, cells)
        inside = set(cave)
        # Cells from which a box can be pulled if no other is in the way.
        fit = [c for c in cave if any({_moved(c, step), _moved(c, step, 2)} <= inside for step in _STEPS.values())]
        if len(fit) < boxes:
            continue
        ends = [fit[place] for place in rng.choice(len(fit), boxes, replace=False).tolist()]
        pulled = _pull_away(rng, inside, ends)
        if pulled is not None:
            break
    starts, keeper = pulled
    names = {cell: f"l{cell[0]}-{cell[1]}" for cell in sorted(cave, key=lambda cell: (cell[1], cell[0]))}
    crates = numbered("box", boxes)
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
    """Return connected cells, added one by one at a random place of the border; the least coordinates are 0."""
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


def _pull_away(rng: Generator, cave: set[_Cell], ends: list[_Cell]) -> tuple[list[_Cell], _Cell] | None:
    """Return the cells of the boxes after random pulls, and the keeper's; None if some box could not be pulled.

    No pull moves a box to its goal.
    """
    places, free = list(ends), cave - set(ends)
    near = reachable(free, pick(rng, sorted(free)))
    for _ in range(_PULLS * len(ends)):
        box = int(rng.integers(len(places)))
        place = places[box]
        pulls = [
            step
            for step in _STEPS.values()
            if _moved(place, step) in near and _moved(place, step) != ends[box] and _moved(place, step, 2) in free
        ]
        if pulls:
            step = pick(rng, pulls)
            places[box] = _moved(place, step)
            free ^= {place, places[box]}
            near = _reachable_after_pull(near, free, place, step)
    if any(place == end for place, end in zip(places, ends, strict=True)):
        return None
    return places, pick(rng, sorted(near))


def _reachable_after_pull(near: set[_Cell], free: set[_Cell], left: _Cell, step: _Cell) -> set[_Cell]:
    """Return the free cells that the keeper can reach after it pulled a box from the cell `left` by `step`.

    They are searched from scratch, which is slow in a large cave, only if the box may have split the cells `near` that
    were reachable before.
    """
    box, keeper = _moved(left, step), _moved(left, step, 2)
    around = {(box[0] + right, box[1] + down) for right in (-1, 0, 1) for down in (-1, 0, 1)} & free
    beside = {_moved(box, side) for side in _STEPS.values()} & free
    if not beside <= reachable(around, keeper):
        return reachable(free, keeper)
    near.remove(box)
    return reachable(free, left, near)


def reachable(free: set[_Cell], start: _Cell, reached: set[_Cell] | None = None) -> set[_Cell]:
    """Return the free cells reachable from `start`; the set `reached`, if given, is extended."""
    reached = set() if reached is None else reached
    reached.add(start)
    border = [start]
    while border:
        cell = border.pop()
        new = [other for step in _STEPS.values() if (other := _moved(cell, step)) in free and other not in reached]
        reached.update(new)
        border += new
    return reached


SOKOBAN = builtin_domain(
    "sokoban",
    _sokoban,
    count=lambda cells, boxes: cells + boxes,  # the four directions are constants
    allowed=lambda cells, boxes: cells >= 8 * boxes,  # space to pull every box away from its goal
    # At most one box for each row of a square warehouse; among more boxes, some can soon be pulled no further.
    tracked=lambda cells, boxes: boxes * boxes <= cells,
)
