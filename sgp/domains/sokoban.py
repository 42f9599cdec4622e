"""Sokoban: a warehouse keeper pushes each box to its place, and cannot pull."""

from __future__ import annotations

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed

_Cell = tuple[int, int]
_STEPS = {"down": (0, 1), "up": (0, -1), "left": (-1, 0), "right": (1, 0)}
_PULLS = 8  # attempted pulls for each box


def generate(rng: Generator, cells: int, boxes: int) -> str:
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
    near = _reachable(free, pick(rng, sorted(free)))
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
    if not beside <= _reachable(around, keeper):
        return _reachable(free, keeper)
    near.remove(box)
    return _reachable(free, left, near)


def _reachable(free: set[_Cell], start: _Cell, reached: set[_Cell] | None = None) -> set[_Cell]:
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


DOMAIN = builtin_domain(
    "sokoban",
    generate,
    count=lambda cells, boxes: cells + boxes,  # the four directions are constants
    allowed=lambda cells, boxes: cells >= 8 * boxes,  # space to pull every box away from its goal
    # At most one box for each row of a square warehouse; among more boxes, some can soon be pulled no further.
    tracked=lambda cells, boxes: boxes * boxes <= cells,
)
