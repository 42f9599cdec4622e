"""Floortile: robots paint the tiles of a floor in two colours, and may not step onto what is painted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import Box, column, shortened
from sgp.domains.drawing.cells import Spots, by_directions, by_distance, walls
from sgp.domains.drawing.facts import Facts, sorted_out
from sgp.domains.drawing.tokens import ROBOT, aside, hint, listed, marks, token, whole
from sgp.planning.domain import Domain, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain floortile)
  (:requirements :strips :typing)
  (:types robot tile color - object)
  (:predicates (robot-at ?r - robot ?x - tile) (up ?x - tile ?y - tile) (down ?x - tile ?y - tile)
               (right ?x - tile ?y - tile) (left ?x - tile ?y - tile) (clear ?x - tile)
               (painted ?x - tile ?c - color) (robot-has ?r - robot ?c - color) (available-color ?c - color)
               (free-color ?r - robot))
  (:action change_color
    :parameters (?r - robot ?c - color ?c2 - color)
    :precondition (and (robot-has ?r ?c) (available-color ?c2))
    :effect (and (robot-has ?r ?c2) (not (robot-has ?r ?c))))
  (:action paint_up
    :parameters (?r - robot ?y - tile ?x - tile ?c - color)
    :precondition (and (robot-has ?r ?c) (robot-at ?r ?x) (up ?y ?x) (clear ?y))
    :effect (and (painted ?y ?c) (not (clear ?y))))
  (:action paint_down
    :parameters (?r - robot ?y - tile ?x - tile ?c - color)
    :precondition (and (robot-has ?r ?c) (robot-at ?r ?x) (down ?y ?x) (clear ?y))
    :effect (and (painted ?y ?c) (not (clear ?y))))
  (:action move_up
    :parameters (?r - robot ?x - tile ?y - tile)
    :precondition (and (robot-at ?r ?x) (up ?y ?x) (clear ?y))
    :effect (and (robot-at ?r ?y) (clear ?x) (not (robot-at ?r ?x)) (not (clear ?y))))
  (:action move_down
    :parameters (?r - robot ?x - tile ?y - tile)
    :precondition (and (robot-at ?r ?x) (down ?y ?x) (clear ?y))
    :effect (and (robot-at ?r ?y) (clear ?x) (not (robot-at ?r ?x)) (not (clear ?y))))
  (:action move_right
    :parameters (?r - robot ?x - tile ?y - tile)
    :precondition (and (robot-at ?r ?x) (right ?y ?x) (clear ?y))
    :effect (and (robot-at ?r ?y) (clear ?x) (not (robot-at ?r ?x)) (not (clear ?y))))
  (:action move_left
    :parameters (?r - robot ?x - tile ?y - tile)
    :precondition (and (robot-at ?r ?x) (left ?y ?x) (clear ?y))
    :effect (and (robot-at ?r ?y) (clear ?x) (not (robot-at ?r ?x)) (not (clear ?y)))))
"""

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


def draw(scene: Scene) -> str:
    """The floor with its painted tiles, a small square in the wanted colour where one is not painted yet, and robots.

    A crossed tile is not clear.
    """
    painters, tiles, colours = scene.typed("robot"), scene.typed("tile"), scene.typed("color")
    facts, also = sorted_out(
        scene,
        {
            "clear": (tiles,),
            "painted": (tiles, colours),
            "robot-at": (painters, tiles),
            "robot-has": (painters, colours),
        },
    )
    spots = _spots(scene, tiles)
    fills = {colour: _FILLS[place % len(_FILLS)] for place, colour in enumerate(colours)}
    robots = {painter: _robot(scene, painter, facts) for painter in painters}
    floor = [_tile(scene, tile, spots[tile], facts, fills) for tile in tiles]
    floor.append(walls(spots, ((first, second) for word in _SIDES for first, second in scene.pairs(word)), _SIDE))
    standing: dict[str, int] = {}

    def at(x: float, y: float) -> str:
        parts = list(floor)
        standing.clear()
        for painter, tile in facts["robot-at"]:
            level = standing[tile] = standing.get(tile, -1) + 1
            left, top = (spots[tile][axis] * _SIDE for axis in (0, 1))
            parts.append(robots[painter].at(left + (_SIDE - robots[painter].width) / 2, top + 30 + 8 * level))
        return drawing.element("g", parts, transform=f"translate({x} {y})")

    across, down = (max((spot[axis] for spot in spots.values()), default=-1) + 1 for axis in (0, 1))
    placed = {painter for painter, _ in facts["robot-at"]}
    width = max(across * _SIDE, 260)
    lost = aside(scene, [box for painter, box in robots.items() if painter not in placed], width)
    content = column([Box(across * _SIDE, down * _SIDE, at), lost, listed("colours", colours, width)], gap=12)
    sentence = (
        f"Floortile with {len(tiles)} tiles, {len({tile for tile, _ in facts['painted']})} of them "
        f"{'to be ' if scene.partial else ''}painted, and {len(painters)} robots"
    )
    return whole(scene, sentence, content, also)


_SIDE = 76  # pixels: the width of a tile
_FILLS = ("#ffffff", "#404040", "#cc79a7", "#009e73")


def _spots(scene: Scene, tiles: list[str]) -> Spots:
    """Where tiles stand: as the static relations tell, or by their distances where they contradict each other."""
    known = set(tiles)
    steps = {
        (second, first): step
        for word, step in _SIDES.items()
        for first, second in scene.pairs(word)
        if {first, second} <= known
    }
    return by_directions(tiles, steps) or by_distance(tiles, list(steps))


def _tile(scene: Scene, tile: str, spot: tuple[int, int], facts: Facts, fills: dict[str, str]) -> str:
    """A tile in its colours, with its name."""
    x, y = spot[0] * _SIDE, spot[1] * _SIDE
    inks = [colour for one, colour in facts["painted"] if one == tile]
    wished = [wish.atom.objects[1] for wish in scene.wishes.get(tile, ()) if wish.atom.predicate == "painted"]
    edge = {"stroke": "currentColor", "stroke_opacity": 0.35}
    parts = [drawing.rect(x, y, _SIDE, _SIDE, fill="none", **edge)]
    for place, colour in enumerate(inks):
        high = (_SIDE - 24) / len(inks)
        parts.append(drawing.rect(x + 5, y + 17 + place * high, _SIDE - 10, high, fill=fills[colour], **edge))
    for place, colour in enumerate(colour for colour in wished if colour in fills and colour not in inks):
        parts.append(drawing.rect(x + 6 + 14 * place, y + _SIDE - 17, 11, 11, fill=fills[colour], **edge))
    clear = (tile,) in facts["clear"]
    if not clear and not scene.partial:
        parts.append(drawing.path(f"M{x + 5} {y + _SIDE - 5}l10 -10m0 10l-10 -10", **edge))
    said = [shortened(tile, _SIDE - 8, 9), *(["clear"] if clear and scene.partial else [])]
    parts.append(drawing.text(" ".join(said), x + 4, y + 11, font_size=9, fill_opacity=0.8))
    parts.append(marks(scene, tile, x + _SIDE - 9, y + _SIDE - 9, 6))
    return drawing.group(hint(scene, tile, "painted", "clear"), parts)


def _robot(scene: Scene, painter: str, facts: Facts) -> Box:
    """A robot, labelled with its name and what it paints with."""
    said = hint(scene, painter, "robot-at", "robot-has")
    colours = [colour for one, colour in facts["robot-has"] if one == painter]
    name = token(scene, painter, painter, ROBOT, said, height=18)
    inks = [token(scene, colour, colour, ROBOT, colour, height=16) for colour in colours]
    return column([name, *inks], gap=0)


DOMAIN = Domain(
    name="floortile",
    title="Floortile",
    aliases=("floor-tile",),
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"robots": (1, None), "rows": (1, None), "columns": (1, None)},
        # One more row of tiles, and two colours.
        count=lambda robots, rows, columns: robots + (rows + 1) * columns + 2,
        allowed=lambda robots, rows, columns: robots <= columns,
    ),
    # Floors at most twice as long as they are wide, and a robot for every second column at most.
    track=Track(
        train=(5, 40),
        validation=(37, 45),
        test=(15, 1022),
        only=lambda robots, rows, columns: columns <= 2 * rows <= 4 * columns and 2 * robots <= columns + 1,
    ),
    generator=generate,
    words=Words(
        atoms={
            "robot-at": "{0} is {not}on {1}",
            "up": "{0} is {not}above {1}",
            "down": "{0} is {not}below {1}",
            "right": "{0} is {not}right of {1}",
            "left": "{0} is {not}left of {1}",
            "clear": "{0} is {not}clear",
            "painted": "{0} is {not}painted {1}",
            "robot-has": "{0} is {not}loaded with {1}",
            "available-color": "{0} is {not}available",
            "free-color": "{0} is {not}without a colour",
        },
        actions={
            "change_color": "change {0} from {1} to {2}",
            "paint_up": "let {0} on {2} paint {1} above it {3}",
            "paint_down": "let {0} on {2} paint {1} below it {3}",
            "move_up": "move {0} up from {1} to {2}",
            "move_down": "move {0} down from {1} to {2}",
            "move_right": "move {0} right from {1} to {2}",
            "move_left": "move {0} left from {1} to {2}",
        },
    ),
    others_words=Words(
        actions={
            "change-color": "change {0} from {1} to {2}",
            "paint-up": "let {0} on {2} paint {1} above it {3}",
            "paint-down": "let {0} on {2} paint {1} below it {3}",
            "up": "move {0} up from {1} to {2}",
            "down": "move {0} down from {1} to {2}",
            "right": "move {0} right from {1} to {2}",
            "left": "move {0} left from {1} to {2}",
        },
    ),
    draw=draw,
)
