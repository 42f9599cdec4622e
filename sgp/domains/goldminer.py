"""Gold-miner: a robot breaks through rock to the gold, with bombs and with a laser that would destroy the gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import dist
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, Box, breadth, column, flow, shortened, words
from sgp.domains.drawing.cells import NEIGHBOURS, Spots, by_distance, from_names, walls
from sgp.domains.drawing.facts import Facts, sorted_out
from sgp.domains.drawing.network import both_ways, network
from sgp.domains.drawing.tokens import DONE, FLYING, ROBOT, THING, WIDEST, aside, hint, marks, whole
from sgp.planning.domain import Domain, Scene, Sizes, problem_pddl, typed
from sgp.planning.pddl import Atom, Literal
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain gold-miner-typed)
  (:requirements :strips :typing)
  (:types loc - object)
  (:predicates (arm-empty) (bomb-at ?x - loc) (clear ?x - loc) (connected ?x - loc ?y - loc) (gold-at ?x - loc)
               (hard-rock-at ?x - loc) (holds-bomb) (holds-gold) (holds-laser) (laser-at ?x - loc)
               (robot-at ?x - loc) (soft-rock-at ?x - loc))
  (:action detonate-bomb
    :parameters (?x - loc ?y - loc)
    :precondition (and (robot-at ?x) (holds-bomb) (connected ?x ?y) (soft-rock-at ?y))
    :effect (and (arm-empty) (clear ?y) (not (holds-bomb)) (not (soft-rock-at ?y))))
  (:action fire-laser
    :parameters (?x - loc ?y - loc)
    :precondition (and (robot-at ?x) (holds-laser) (connected ?x ?y))
    :effect (and (clear ?y) (not (soft-rock-at ?y)) (not (gold-at ?y)) (not (hard-rock-at ?y))))
  (:action move
    :parameters (?x - loc ?y - loc)
    :precondition (and (robot-at ?x) (connected ?x ?y) (clear ?y))
    :effect (and (robot-at ?y) (not (robot-at ?x))))
  (:action pick-gold
    :parameters (?x - loc)
    :precondition (and (robot-at ?x) (arm-empty) (gold-at ?x))
    :effect (and (holds-gold) (not (arm-empty))))
  (:action pickup-bomb
    :parameters (?x - loc)
    :precondition (and (robot-at ?x) (bomb-at ?x) (arm-empty))
    :effect (and (holds-bomb) (not (arm-empty))))
  (:action pickup-laser
    :parameters (?x - loc)
    :precondition (and (robot-at ?x) (laser-at ?x) (arm-empty))
    :effect (and (holds-laser) (not (arm-empty)) (not (laser-at ?x))))
  (:action putdown-laser
    :parameters (?x - loc)
    :precondition (and (robot-at ?x) (holds-laser))
    :effect (and (arm-empty) (laser-at ?x) (not (holds-laser)))))
"""


def generate(rng: Generator, rows: int, columns: int) -> str:
    """A mine of `rows` x `columns` locations, its first column clear, the others full of rock, soft or hard alike.

    The robot and, in another row, the bombs and the laser are in the first column, the gold is under soft rock in the
    last. There is a plan: the laser clears the gold's row up to the location before the gold, and is put down; a bomb,
    fetched along the cleared way, breaks the last rock, which is soft.
    """
    names = {(row, place): f"f{row}-{place}f" for row in range(rows) for place in range(columns)}
    start, supply = rng.choice(rows, 2, replace=False).tolist()
    gold = (int(rng.integers(rows)), columns - 1)
    init = ["(arm-empty)", f"(robot-at {names[start, 0]})", f"(gold-at {names[gold]})"]
    init += [f"({thing}-at {names[supply, 0]})" for thing in ("bomb", "laser")]
    for spot, name in names.items():
        rock = "hard" if rng.random() < 0.5 and spot != gold else "soft"
        init.append(f"({rock}-rock-at {name})" if spot[1] else f"(clear {name})")
    for (row, place), name in names.items():
        near = [names.get((row + down, place + right)) for right, down in NEIGHBOURS]
        init += [f"(connected {name} {other})" for other in near if other]
    objects = typed({"loc": list(names.values())})
    return problem_pddl(f"goldminer-{rows}x{columns}", "gold-miner-typed", objects, init, ["(holds-gold)"])


_SIDE = 68  # pixels: the width of a location
_ICON = 27  # pixels: the width of a thing
_UNITS = 24  # the width of the square in which each look is drawn
_EDGE = {"stroke": "currentColor", "stroke_width": 1.2}
_LOOKS = {
    "robot": drawing.rect(3, 3, 18, 18, rx=5, fill=ROBOT.fill, **_EDGE)
    + drawing.circle(9, 10, 2, fill=ROBOT.ink)
    + drawing.circle(15, 10, 2, fill=ROBOT.ink)
    + drawing.path("M8 16h8", stroke=ROBOT.ink, stroke_width=1.5),
    "gold": drawing.path("M2 16L6 8L12 4L19 7L22 15L17 20H7z", fill="#f0e442", stroke_linejoin="round", **_EDGE)
    + drawing.path("M6 8L11 12L19 7M11 12L10 20M11 12L22 15", fill="none", stroke="#000000", stroke_width=0.8),
    "bomb": drawing.path("M14 9Q17 3 21 5", fill="none", stroke="currentColor", stroke_width=1.6)
    + drawing.circle(10, 14, 7.5, fill="#404040", **_EDGE)
    + drawing.circle(21, 5, 2.4, fill=THING.fill),
    "laser": drawing.path("M1 8H15V14H10L8 21H3L5 14H1z", fill=FLYING.fill, stroke_linejoin="round", **_EDGE)
    + drawing.path("M16 11H23M17 8L22 5M17 14L22 17", stroke="#d55e00", stroke_width=1.8),
    "soft rock": drawing.rect(0.5, 0.5, 23, 23, rx=7, fill="#c49a6c", stroke="currentColor", stroke_width=0.4)
    + "".join(
        drawing.circle(x, y, 0.9, fill="#5c3d1e") for x, y in ((5, 5), (12, 8), (19, 5), (4, 14), (19, 15), (11, 19))
    ),
    "hard rock": drawing.path("M6 .5H17L23.5 8V18L18 23.5H5L.5 16V6z", fill="#6b7280", **_EDGE)
    + drawing.path("M6 .5L9 9L17 .5M9 9L.5 16M9 9L18 15L23.5 8M18 15L18 23.5", fill="none", stroke="#d1d5db"),
}
_THINGS = {"robot": (4, 12), "gold": (37, 12), "bomb": (4, 40), "laser": (37, 40)}  # where each is in a location
_ROCKS = ("soft rock", "hard rock")
_AT = {name: f"{name.replace(' ', '-')}-at" for name in (*_THINGS, *_ROCKS)}
_HOLDS = {name: f"holds-{name}" for name in ("bomb", "gold", "laser")}


def draw(scene: Scene) -> str:
    """The mine with its rocks and all that is in it, and the robot's arm; a ring is around what is still to be held.

    A shaded location is not clear.
    """
    cells = scene.typed("loc")
    of_one = dict.fromkeys(("clear", *_AT.values()), (cells,))
    facts, also = sorted_out(scene, {**of_one, **dict.fromkeys(("arm-empty", *_HOLDS.values()), ())})
    known = set(cells)
    linked = [pair for pair in scene.pairs("connected") if known.issuperset(pair)]
    mine = _mine({cell: _location(scene, cell) for cell in cells}, linked)
    width = max(mine.width, 260)
    robot = flow([_look("robot"), _arm(scene, facts)], width)
    below = robot if facts["robot-at"] else aside(scene, [robot], width)
    content = column([mine, below, NOTHING if scene.partial else _legend(width)], gap=12)
    rocks = {cell for rock in _ROCKS for (cell,) in facts[_AT[rock]]}
    there = ", ".join(cell for (cell,) in facts["robot-at"])
    held = " and the ".join(name for name, predicate in _HOLDS.items() if facts[predicate])
    sentence = (
        f"Gold-miner with {len(cells)} locations, {len(rocks)} of them rock, "
        f"the robot {f'at {there}' if there else 'anywhere'}{f', holding the {held}' if held else ''}"
    )
    return whole(scene, sentence, content, also)


def _mine(places: Mapping[str, Box], linked: Sequence[tuple[str, str]]) -> Box:
    """Locations on their grid, with walls between those not connected, or as a graph where there is no grid."""
    spots = _spots(tuple(places), tuple(linked))
    if spots is None:
        return network(places, both_ways(linked, "connected"), _SIDE)
    edge = walls(spots, linked, _SIDE)

    def at(x: float, y: float) -> str:
        parts = [places[cell].at(across * _SIDE, down * _SIDE) for cell, (across, down) in spots.items()]
        return drawing.element("g", [*parts, edge], transform=f"translate({x} {y})")

    width, height = ((max((spot[axis] for spot in spots.values()), default=-1) + 1) * _SIDE for axis in (0, 1))
    return Box(width, height, at)


@lru_cache(maxsize=64)  # all states of a problem have one grid
def _spots(cells: tuple[str, ...], linked: tuple[tuple[str, str], ...]) -> Spots | None:
    """Where locations are: as their names tell row and column, or their distances from two corners, or None.

    A grid's corners have the fewest neighbours. How far a location is from two corners of one side tells where along
    that side it is, and how far from it.
    """
    named = from_names(cells, linked)
    if named is not None:
        return {cell: (across, down) for cell, (down, across) in named.items()}
    neighbours = Counter(first for first, _ in linked)
    corner, *others = sorted(cells, key=neighbours.__getitem__)[:4]
    far = {cell: steps for cell, (steps, _) in by_distance([corner, *cells], linked).items()}
    for other in sorted(others, key=far.__getitem__, reverse=True):  # rather wide than high
        near = {cell: steps for cell, (steps, _) in by_distance([other, *cells], linked).items()}
        across = {cell: (far[cell] - near[cell] + far[other]) // 2 for cell in cells}
        spots = {cell: (across[cell], far[cell] - across[cell]) for cell in cells}
        if _is_grid(spots, linked):
            return spots
    return None


def _is_grid(spots: Spots, linked: Sequence[tuple[str, str]]) -> bool:
    """Whether no two locations share a place and all that are connected are neighbours."""
    apart = len(set(spots.values())) == len(spots) and min(map(min, spots.values())) >= 0
    return apart and all(dist(spots[first], spots[second]) == 1 for first, second in linked)


def _location(scene: Scene, cell: str) -> Box:
    """A location with its name, its rock and what is there; dashed inside where a goal about it is open."""
    true = {atom.predicate for atom in scene.about.get(cell, ()) if len(atom.objects) == 1}
    shade = 0.0 if "clear" in true or scene.partial else 0.14
    note = " clear" if "clear" in true and scene.partial else ""
    label = shortened(cell, _SIDE - 8 - breadth(note, 9), 9) + note
    open_ = not all(map(scene.holds, scene.wishes.get(cell, ())))

    def at(x: float, y: float) -> str:
        edge = {"stroke": "currentColor", "stroke_opacity": 0.3}
        parts = [drawing.rect(x, y, _SIDE, _SIDE, fill="currentColor", fill_opacity=shade, **edge)]
        parts.append(drawing.text(label, x + 4, y + 11, font_size=9, fill_opacity=0.8))
        parts += [_drawn(rock, x + 9, y + 14, 51) for rock in _ROCKS if _AT[rock] in true]
        parts += [
            _drawn(thing, x + right, y + down, _ICON, ring=_wanted(scene, thing))
            for thing, (right, down) in _THINGS.items()
            if _AT[thing] in true
        ]
        if open_:
            dashes = {"fill": "none", "stroke": DONE, "stroke_width": 2, "stroke_dasharray": "4 3"}
            parts.append(drawing.rect(x + 1, y + 1, _SIDE - 2, _SIDE - 2, **dashes))
        parts.append(marks(scene, cell, x + _SIDE - 8, y + 8, 6))
        return drawing.group(hint(scene, cell, "clear", *_AT.values()), parts)

    return Box(_SIDE, _SIDE, at)


def _wanted(scene: Scene, thing: str) -> bool:
    """Whether the goal asks for a thing to be held that is not."""
    wish = Literal(Atom(_HOLDS.get(thing, ""), ()), True)
    return not scene.partial and wish in scene.goal and not scene.holds(wish)


def _arm(scene: Scene, facts: Facts) -> Box:
    """The robot's arm: fingers spread and the word "empty" where it is, else closed, around what it holds."""
    held = flow([_look(thing) for thing, predicate in _HOLDS.items() if facts[predicate]], WIDEST)
    empty = bool(facts["arm-empty"])
    if scene.partial and not held.width and not empty:
        return NOTHING
    width = max(held.width, _ICON) + 16
    bend = -5 if empty else 5
    said = words("arm empty" if empty else "arm" if held.width else "arm closed")

    def at(x: float, y: float) -> str:
        fingers = drawing.path(
            f"M{x + 6 + bend:.1f} {y + 44:.1f}L{x + 6:.1f} {y + 36:.1f}V{y + 6:.1f}H{x + 6 + width:.1f}V{y + 36:.1f}"
            f"L{x + 6 + width - bend:.1f} {y + 44:.1f}M{x + 6 + width / 2:.1f} {y:.1f}v6",
            fill="none",
            stroke="currentColor",
            stroke_width=3,
            stroke_linejoin="round",
        )
        return drawing.group("arm", [fingers, held.at(x + 14, y + 12), said.at(x + width + 18, y + 16)])

    return Box(width + 18 + said.width, 46, at)


def _legend(width: float) -> Box:
    """What everything looks like."""
    return flow([_entry(name) for name in _LOOKS], width, 14)


def _entry(name: str) -> Box:
    label = words(name, 10)
    return Box(20 + label.width, 16, lambda x, y: _drawn(name, x, y, 16) + label.at(x + 20, y))


def _look(name: str) -> Box:
    """A thing of the usual size."""
    return Box(_ICON, _ICON, lambda x, y: _drawn(name, x, y, _ICON))


def _drawn(name: str, x: float, y: float, side: float, ring: bool = False) -> str:
    """A thing or a rock, `side` pixels wide, with a ring around it where it is wanted."""
    dashes = {"fill": "none", "stroke": "currentColor", "stroke_dasharray": "3 3"}
    around = [drawing.circle(_UNITS / 2, _UNITS / 2, _UNITS / 2 + 1.5, **dashes)] if ring else []
    place = f"translate({x:.1f} {y:.1f}) scale({side / _UNITS:.3f})"
    return drawing.group(f"{name}, wanted" if ring else name, [_LOOKS[name], *around], transform=place)


DOMAIN = Domain(
    name="goldminer",
    title="Gold-miner",
    aliases=("gold-miner", "gold-miner-typed"),
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"rows": (2, None), "columns": (2, None)},
        count=lambda rows, columns: rows * columns,
    ),
    generator=generate,
    words=Words(
        atoms={
            "arm-empty": "the arm is {not}empty",
            "bomb-at": "bombs are {not}at {0}",
            "clear": "{0} is {not}clear",
            "connected": "{0} is {not}connected to {1}",
            "gold-at": "the gold is {not}at {0}",
            "hard-rock-at": "{0} is {not}blocked by hard rock",
            "holds-bomb": "the robot is {not}holding a bomb",
            "holds-gold": "the robot is {not}holding the gold",
            "holds-laser": "the robot is {not}holding the laser",
            "laser-at": "the laser is {not}at {0}",
            "robot-at": "the robot is {not}at {0}",
            "soft-rock-at": "{0} is {not}blocked by soft rock",
        },
        actions={
            "detonate-bomb": "from {0}, break the soft rock at {1} with the bomb",
            "fire-laser": "from {0}, fire the laser at {1}",
            "move": "move from {0} to {1}",
            "pick-gold": "pick the gold up at {0}",
            "pickup-bomb": "pick a bomb up at {0}",
            "pickup-laser": "pick the laser up at {0}",
            "putdown-laser": "put the laser down at {0}",
        },
    ),
    draw=draw,
)
