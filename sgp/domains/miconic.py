"""Miconic: a lift brings passengers from floor to floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, Box, column, framed, words
from sgp.domains.drawing.facts import sorted_out
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import DONE, ROBOT, THING, Colour, aside, hint, natural, token, whole
from sgp.planning.domain import Domain, Place, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain miconic)
  (:requirements :strips :typing)
  (:types passenger floor - object)
  (:predicates (origin ?person - passenger ?floor - floor) (destin ?person - passenger ?floor - floor)
               (above ?floor1 - floor ?floor2 - floor) (boarded ?person - passenger) (served ?person - passenger)
               (lift-at ?floor - floor))
  (:action board
    :parameters (?f - floor ?p - passenger)
    :precondition (and (lift-at ?f) (origin ?p ?f))
    :effect (and (boarded ?p) (not (origin ?p ?f))))
  (:action depart
    :parameters (?f - floor ?p - passenger)
    :precondition (and (lift-at ?f) (destin ?p ?f) (boarded ?p))
    :effect (and (served ?p) (not (boarded ?p))))
  (:action up
    :parameters (?f1 - floor ?f2 - floor)
    :precondition (and (lift-at ?f1) (above ?f1 ?f2))
    :effect (and (lift-at ?f2) (not (lift-at ?f1))))
  (:action down
    :parameters (?f1 - floor ?f2 - floor)
    :precondition (and (lift-at ?f1) (above ?f2 ?f1))
    :effect (and (lift-at ?f2) (not (lift-at ?f1)))))
"""


def generate(rng: Generator, passengers: int, floors: int) -> str:
    """Passengers and the lift on random floors; every passenger wants to another one. `(above f1 f2)`: f2 is higher."""
    people = [f"p{number}" for number in range(1, passengers + 1)]
    levels = [f"f{number}" for number in range(1, floors + 1)]
    init = [f"(above {lower} {upper})" for lower, upper in combinations(levels, 2)]
    for person in people:
        start, wanted = rng.choice(floors, 2, replace=False).tolist()
        init += [f"(origin {person} {levels[start]})", f"(destin {person} {levels[wanted]})"]
    init.append(f"(lift-at {levels[int(rng.integers(floors))]})")
    objects = typed({"passenger": people, "floor": levels})
    goal = [f"(served {person})" for person in people]
    return problem_pddl(f"miconic-{passengers}-{floors}", "miconic", objects, init, goal)


def draw(scene: Scene) -> str:
    """Floors, the highest on top, with the lift on the left and who waits; each passenger's label says where to.

    A passenger on board stands in the lift, one who is served (green) on the floor of the destination.
    """
    people, levels = scene.typed("passenger"), scene.typed("floor")
    facts, also = sorted_out(
        scene, {"boarded": (people,), "lift-at": (levels,), "origin": (people, levels), "served": (people,)}
    )
    served, aboard = ({person for (person,) in facts[kind]} for kind in ("served", "boarded"))
    wanted = scene.pairs("destin")
    target = dict(wanted)
    riders = {
        person: _passenger(scene, person, target.get(person, ""), person in served)
        for person in sorted(people, key=natural)
    }
    waiting = set(facts["origin"])
    cell = largest(_passenger(scene, person, target.get(person, ""), served=False) for person in people)
    riding = {person: box for person, box in riders.items() if person in aboard}
    most = scene.places.rooms.get(_LIFT, 0) if scene.places else 0
    wide = max(_CABIN, ceil(most / 2) * (cell.width + 4) + 12)  # in a series two rows at most: all floors are so high
    cabin = _cabin(shelved(scene, riding, _LIFT, wide - 16, cell), wide)
    here = {level for (level,) in facts["lift-at"]}
    room = min(560, 90 * max(2, len(people)))  # for everybody, so that no step changes the floors' width
    below = dict.fromkeys(levels, 0)
    for _, upper in scene.pairs("above"):
        below[upper] = below.get(upper, 0) + 1
    frames = []
    for level in sorted(levels, key=lambda level: -below[level]):
        standing = {
            person: box
            for person, box in riders.items()
            if (person, level) in waiting or (person in served and target.get(person) == level)
        }
        shaft = cabin if level in here else Box(wide, cabin.height if scene.places else 0, NOTHING.at)
        hall = shelved(scene, standing, ("floor", level), room, cell)
        inside = _side_by_side(words(level, 11), shaft, Box(room, hall.height, hall.at))
        frames.append(framed(NOTHING, inside, height=52, hint=f"floor {level}", class_="floor"))
    shown = column(frames, gap=2)
    placed = {person for person, _ in waiting} | aboard | {person for person in served if target.get(person) in levels}
    lost = [box for person, box in riders.items() if person not in placed]
    adrift = [cabin] if not here and (aboard or not scene.partial) else []
    where = f"the lift on {', '.join(sorted(here, key=natural))}" if here else "the lift anywhere"
    sentence = (
        f"Miconic with {len(levels)} floors and {len(people)} passengers, {len(served)} of them "
        f"{'to be ' if scene.partial else ''}served, {len(aboard)} on board, {where}"
    )
    return whole(scene, sentence, column([shown, aside(scene, [*adrift, *lost], max(shown.width, 260))], gap=12), also)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Passengers keep their slots on floors and in the lift."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        target, served = dict(scene.pairs("destin")), scene.unary("served")
        yield from ((person, _LIFT) for person in sorted(scene.unary("boarded"), key=natural))
        found = [*scene.pairs("origin"), *((person, target[person]) for person in served if person in target)]
        yield from ((person, ("floor", level)) for person, level in sorted(found, key=lambda pair: natural(pair[0])))

    return keep_places(scenes, before, where)


_LIFT: Place = ("lift",)
_CABIN = 180  # pixels: the least width of the lift
_NAME = 48  # pixels: the width of a floor's name
_SERVED = Colour(DONE, "#000000")


def _passenger(scene: Scene, person: str, target: str, served: bool) -> Box:
    """A passenger, labelled with the floor wanted, or green once served."""
    label = person if served or not target else f"{person} \N{RIGHTWARDS ARROW} {target}"
    said = hint(scene, person, "origin", "destin", "boarded", "served")
    return token(scene, person, label, _SERVED if served else THING, said, height=20, round_=True)


def _cabin(load: Box, wide: float) -> Box:
    """The lift: a cabin with its name and who is in it."""
    height = max(load.height, 4) + 24

    def at(x: float, y: float) -> str:
        walls = drawing.rect(x, y, wide, height, rx=3, fill="none", stroke="currentColor", stroke_width=2)
        sign = drawing.rect(x, y, wide, 16, rx=3, fill=ROBOT.fill)
        name = drawing.text("lift", x + wide / 2, y + 12, text_anchor="middle", font_size=11, fill=ROBOT.ink)
        return drawing.group("lift", [sign, walls, name, load.at(x + 8, y + 20)], class_="lift", data_object="lift")

    return Box(wide, height, at)


def _side_by_side(name: Box, shaft: Box, hall: Box) -> Box:
    """A floor's name, the lift's shaft and the hall, their upper edges on one line."""

    def at(x: float, y: float) -> str:
        left = x + _NAME + 8
        return name.at(x, y) + shaft.at(left, y) + hall.at(left + shaft.width + 10, y)

    return Box(_NAME + shaft.width + hall.width + 18, max(name.height, shaft.height, hall.height), at)


DOMAIN = Domain(
    name="miconic",
    title="Miconic",
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"passengers": (1, None), "floors": (2, None)}, count=lambda passengers, floors: passengers + floors
    ),
    track=Track(train=(3, 21), validation=(22, 30), test=(5, 681)),
    generator=generate,
    words=Words(
        atoms={
            "origin": "{0} is {not}waiting at {1}",
            "destin": "{0} is {not}bound for {1}",
            "above": "{1} is {not}above {0}",
            "boarded": "{0} is {not}in the lift",
            "served": "{0} is {not}served",
            "lift-at": "the lift is {not}at {0}",
        },
        actions={
            "board": "let {1} board at {0}",
            "depart": "let {1} leave at {0}",
            "up": "go up from {0} to {1}",
            "down": "go down from {0} to {1}",
        },
    ),
    draw=draw,
    arrange=arrange,
)
