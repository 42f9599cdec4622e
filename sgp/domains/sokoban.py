"""Sokoban: a warehouse keeper pushes each box to its place, and cannot pull."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import Box, breadth, column
from sgp.domains.drawing.cells import Spots, by_directions, by_distance, walls
from sgp.domains.drawing.facts import sorted_out
from sgp.domains.drawing.tokens import ROBOT, THING, aside, hint, listed, natural, token, whole
from sgp.planning.domain import Domain, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain sokoban)
  (:requirements :strips :typing)
  (:types location direction box - object)
  (:constants down up left right - direction)
  (:predicates (at-robot ?l - location) (at ?o - box ?l - location)
               (adjacent ?l1 - location ?l2 - location ?d - direction) (clear ?l - location))
  (:action move
    :parameters (?from - location ?to - location ?dir - direction)
    :precondition (and (clear ?to) (at-robot ?from) (adjacent ?from ?to ?dir))
    :effect (and (at-robot ?to) (not (at-robot ?from))))
  (:action push
    :parameters (?rloc - location ?bloc - location ?floc - location ?dir - direction ?b - box)
    :precondition (and (at-robot ?rloc) (at ?b ?bloc) (clear ?floc) (adjacent ?rloc ?bloc ?dir)
                       (adjacent ?bloc ?floc ?dir))
    :effect (and (at-robot ?bloc) (at ?b ?floc) (clear ?bloc) (not (at-robot ?rloc)) (not (at ?b ?bloc))
                 (not (clear ?floc)))))
"""

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


def draw(scene: Scene) -> str:
    """The cave with boxes, the keeper, and a ring where a box is wanted; a shaded cell is not clear."""
    cells, crates, words_ = scene.typed("location"), scene.typed("box"), scene.typed("direction")
    facts, also = sorted_out(scene, {"at-robot": (cells,), "at": (crates, cells), "clear": (cells,)})
    links = [(first, second) for first, second, _ in scene.tuples("adjacent", 3)]
    spots = _spots(scene, cells)
    side = max(36, round(max((breadth(crate, 11) + 16 for crate in crates), default=0)))
    clear = {cell for (cell,) in facts["clear"]}
    wanted: dict[str, list[str]] = {}
    for wish in (wish for crate in crates for wish in scene.wishes.get(crate, ()) if wish.atom.predicate == "at"):
        wanted.setdefault(wish.atom.objects[1], []).append(wish.atom.objects[0])
    boxes = {
        crate: token(scene, crate, crate, THING, hint(scene, crate, "at"), height=22)
        for crate in sorted(crates, key=natural)
    }
    ground = [_cell(scene, cell, spots[cell], side, cell in clear, wanted.get(cell, [])) for cell in cells]
    ground.append(walls(spots, links, side))

    def at(x: float, y: float) -> str:
        parts = list(ground)
        for crate, cell in facts["at"]:
            left, top = (spots[cell][axis] * side for axis in (0, 1))
            parts.append(boxes[crate].at(left + (side - boxes[crate].width) / 2, top + (side - 22) / 2))
        for (cell,) in facts["at-robot"]:
            parts.append(_keeper((spots[cell][0] + 0.5) * side, (spots[cell][1] + 0.5) * side))
        return drawing.element("g", parts, transform=f"translate({x} {y})")

    across, down = (max((spot[axis] for spot in spots.values()), default=-1) + 1 for axis in (0, 1))
    width = max(across * side, 260)
    placed = {crate for crate, _ in facts["at"]}
    lost = aside(scene, [box for crate, box in boxes.items() if crate not in placed], width)
    content = column([Box(across * side, down * side, at), lost, listed("directions", words_, width)], gap=12)
    keepers = [cell for (cell,) in facts["at-robot"]]
    where = f"the keeper on {', '.join(keepers)}" if keepers else "the keeper anywhere"
    return whole(scene, f"Sokoban with {len(cells)} cells and {len(crates)} boxes, {where}", content, also)


def _spots(scene: Scene, cells: list[str]) -> Spots:
    """Where cells stand: as the static relation tells, or by their distances where it contradicts itself."""
    known = set(cells)
    linked = [each for each in scene.tuples("adjacent", 3) if set(each[:2]) <= known]
    steps = {(first, second): _STEPS[word] for first, second, word in linked if word in _STEPS}
    return by_directions(cells, steps) or by_distance(cells, [(first, second) for first, second, _ in linked])


def _cell(scene: Scene, cell: str, spot: tuple[int, int], side: int, clear: bool, wanted: list[str]) -> str:
    """A cell, with a ring where a box is wanted."""
    x, y = spot[0] * side, spot[1] * side
    shade = 0.0 if clear or scene.partial else 0.16
    edge = {"stroke": "currentColor", "stroke_opacity": 0.25}
    parts = [drawing.rect(x, y, side, side, fill="currentColor", fill_opacity=shade, **edge)]
    if wanted:
        ring = {"fill": "none", "stroke": "currentColor", "stroke_dasharray": "3 3"}
        parts.append(drawing.circle(x + side / 2, y + side / 2, side / 2 - 3, **ring))
        name = {"text_anchor": "middle", "font_size": 9, "fill_opacity": 0.75}
        parts.append(drawing.text(wanted[0], x + side / 2, y + side / 2 + 3, **name))
    if clear and scene.partial:
        parts.append(drawing.text("clear", x + 3, y + 10, font_size=9))
    said = [*(f"wanted for {crate}" for crate in wanted), *(["clear"] if clear else [])]
    return drawing.group(": ".join([cell, *([", ".join(said)] if said else [])]), parts)


def _keeper(x: float, y: float) -> str:
    """The keeper: a head and shoulders."""
    head = drawing.circle(x, y - 5, 6, fill=ROBOT.fill, stroke="currentColor")
    body = drawing.path(f"M{x - 10:.1f} {y + 13:.1f}a10 10 0 0 1 20 0z", fill=ROBOT.fill, stroke="currentColor")
    return drawing.group("robot", [body, head], class_="robot", data_object="robot")


DOMAIN = Domain(
    name="sokoban",
    title="Sokoban",
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"cells": (8, None), "boxes": (1, None)},
        # The four directions are the domain's.
        count=lambda cells, boxes: cells + boxes,
        allowed=lambda cells, boxes: cells >= 8 * boxes,  # with room to pull every box away from its place
    ),
    # With one box for each row of a square warehouse at most: of more, one is soon where no pull reaches it.
    track=Track(
        train=(54, 128),
        validation=(128, 177),
        test=(69, 9884),
        only=lambda cells, boxes: boxes * boxes <= cells,
    ),
    generator=generate,
    words=Words(
        atoms={
            "at-robot": "the robot is {not}at {0}",
            "at": "{0} is {not}at {1}",
            "adjacent": "{1} is {not}one step {2} from {0}",
            "clear": "{0} is {not}clear",
        },
        actions={
            "move": "move {2} from {0} to {1}",
            "push": "from {0}, push {4} {3} from {1} to {2}",
        },
    ),
    draw=draw,
)
