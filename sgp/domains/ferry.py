"""Ferry: a ferry that holds one car brings cars from location to location."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, Box, column, equal_frames, flow, tiled, words
from sgp.domains.drawing.facts import sorted_out
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import ROBOT, THING, aside, hint, natural, token, whole
from sgp.planning.domain import Domain, Place, Scaling, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain ferry)
  (:requirements :strips :typing :negative-preconditions)
  (:types car location - object)
  (:predicates (at-ferry ?l - location) (at ?c - car ?l - location) (empty-ferry) (on ?c - car))
  (:action sail
    :parameters (?from - location ?to - location)
    :precondition (and (at-ferry ?from) (not (at-ferry ?to)))
    :effect (and (at-ferry ?to) (not (at-ferry ?from))))
  (:action board
    :parameters (?car - car ?loc - location)
    :precondition (and (at ?car ?loc) (at-ferry ?loc) (empty-ferry))
    :effect (and (on ?car) (not (at ?car ?loc)) (not (empty-ferry))))
  (:action debark
    :parameters (?car - car ?loc - location)
    :precondition (and (on ?car) (at-ferry ?loc))
    :effect (and (at ?car ?loc) (empty-ferry) (not (on ?car)))))
"""


def generate(rng: Generator, cars: int, locations: int) -> str:
    """Cars and the empty ferry at random locations; every car is wanted at another one."""
    places = [f"l{number}" for number in range(1, locations + 1)]
    init = [f"(at-ferry {places[int(rng.integers(locations))]})", "(empty-ferry)"]
    names, goal = [f"c{number}" for number in range(1, cars + 1)], []
    for name in names:
        start, wanted = rng.choice(locations, 2, replace=False).tolist()
        init.append(f"(at {name} {places[start]})")
        goal.append(f"(at {name} {places[wanted]})")
    objects = typed({"car": names, "location": places})
    return problem_pddl(f"ferry-{cars}-{locations}", "ferry", objects, init, goal)


def draw(scene: Scene) -> str:
    """Locations with their cars, and the ferry where it is; what is on board stands on its deck."""
    cars, places = scene.typed("car"), scene.typed("location")
    facts, also = sorted_out(scene, {"at": (cars, places), "on": (cars,), "at-ferry": (places,), "empty-ferry": ()})
    tokens = {
        car: token(scene, car, car, THING, hint(scene, car, "at", "on"), height=20, width=26)
        for car in sorted(cars, key=natural)
    }
    aboard, moored = [car for (car,) in facts["on"]], [place for (place,) in facts["at-ferry"]]
    empty = bool(facts["empty-ferry"])
    ferry = _ferry([tokens[car] for car in aboard], empty)
    # In a series its place stays free where it is not, so that it moves nothing.
    berth = NOTHING if scene.places is None else Box(ferry.width, ferry.height, NOTHING.at)
    at = set(facts["at"])
    parked = {place: {car: box for car, box in tokens.items() if (car, place) in at} for place in places}
    there = {
        place: column(
            [
                ferry if place in moored else berth,
                shelved(scene, parked[place], ("at", place), _PLACE - 16, largest(tokens.values())),
            ]
        )
        for place in places
    }
    titles = {place: words(place, 11) for place in places}
    hints = {place: f"location {place}" for place in places}
    frames = equal_frames(titles, there, _PLACE, hints=hints, kind="location")
    content = tiled(list(frames.values()), 80 + 24 * len(cars) / max(1, 3 * len(places)))
    placed = {*aboard, *(car for car, _ in facts["at"])}
    adrift = [ferry] if not moored and (aboard or empty or not scene.partial) else []
    lost = [*adrift, *(box for car, box in tokens.items() if car not in placed)]
    where = f"the ferry at {', '.join(moored)}" if moored else "the ferry anywhere"
    carrying = f"with {', '.join(aboard)} on board" if aboard else "empty" if empty else "its deck left open"
    sentence = f"Ferry with {len(cars)} cars and {len(places)} locations, {where}, {carrying}"
    return whole(scene, sentence, column([content, aside(scene, lost, content.width)], gap=12), also)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Cars keep their slots in locations."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        for car, place in sorted(scene.pairs("at"), key=lambda pair: natural(pair[0])):
            yield car, ("at", place)

    return keep_places(scenes, before, where)


_PLACE = 112  # pixels: the width of a location


def _ferry(aboard: Sequence[Box], empty: bool) -> Box:
    """The ferry's hull with its name, what stands on its deck, and the word "empty" where that is said."""
    load = flow([*aboard, *([words("empty", 10)] if empty else [])], _PLACE - 36, gap=2)
    width, deck = max(load.width + 28, 84), max(load.height, 20)

    def at(x: float, y: float) -> str:
        hull = drawing.path(
            f"M{x:.1f} {y + deck + 2:.1f}h{width:.1f}l-10 20h{20 - width:.1f}z",
            fill=ROBOT.fill,
            stroke="currentColor",
        )
        name = drawing.text("ferry", x + width / 2, y + deck + 16, text_anchor="middle", font_size=11, fill=ROBOT.ink)
        inside = load.at(x + (width - load.width) / 2, y + deck - load.height)
        return drawing.group("ferry", [hull, name, inside], class_="ferry", data_object="ferry")

    return Box(width, deck + 24, at)


DOMAIN = Domain(
    name="ferry",
    title="Ferry",
    models={"typed": TYPED},
    # Cars and locations (dynamic validation, section 2).
    sizes=Sizes(bounds={"cars": (1, None), "locations": (2, None)}, count=lambda cars, locations: cars + locations),
    scaling=Scaling(train=range(8, 16), validation=range(16, 19), bound=78),  # dynamic validation, Tables 2 and 3
    track=Track(train=(3, 25), validation=(26, 35), test=(7, 1461)),
    generator=generate,
    words=Words(
        atoms={
            "at-ferry": "the ferry is {not}at {0}",
            "at": "{0} is {not}at {1}",
            "empty-ferry": "the ferry is {not}empty",
            "on": "{0} is {not}on the ferry",
        },
        actions={
            "sail": "sail from {0} to {1}",
            "board": "board {0} at {1}",
            "debark": "debark {0} at {1}",
        },
    ),
    others_words=Words(atoms={"not-eq": "{0} and {1} are {not}two places"}),
    draw=draw,
    arrange=arrange,
)
