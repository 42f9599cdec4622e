"""Transport: vehicles of limited capacity carry packages over a network of roads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import Box, column, equal_frames, flow, words
from sgp.domains.drawing.facts import sorted_out
from sgp.domains.drawing.network import both_ways, network
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import ROBOT, THING, aside, hint, listed, natural, token, whole
from sgp.planning.domain import Domain, Place, Scaling, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain transport)
  (:requirements :strips :typing)
  (:types size location locatable - object
          vehicle package - locatable)
  (:predicates (road ?l1 ?l2 - location) (at ?x - locatable ?v - location) (in ?x - package ?v - vehicle)
               (capacity ?v - vehicle ?s1 - size) (capacity-predecessor ?s1 ?s2 - size))
  (:action drive
    :parameters (?v - vehicle ?l1 ?l2 - location)
    :precondition (and (at ?v ?l1) (road ?l1 ?l2))
    :effect (and (at ?v ?l2) (not (at ?v ?l1))))
  (:action pick-up
    :parameters (?v - vehicle ?l - location ?p - package ?s1 ?s2 - size)
    :precondition (and (at ?v ?l) (at ?p ?l) (capacity-predecessor ?s1 ?s2) (capacity ?v ?s2))
    :effect (and (in ?p ?v) (capacity ?v ?s1) (not (at ?p ?l)) (not (capacity ?v ?s2))))
  (:action drop
    :parameters (?v - vehicle ?l - location ?p - package ?s1 ?s2 - size)
    :precondition (and (at ?v ?l) (in ?p ?v) (capacity-predecessor ?s1 ?s2) (capacity ?v ?s1))
    :effect (and (at ?p ?l) (capacity ?v ?s2) (not (in ?p ?v)) (not (capacity ?v ?s1)))))
"""


def generate(rng: Generator, vehicles: int, packages: int, locations: int, capacity: int) -> str:
    """Vehicles and packages at random locations of a connected map; every package is wanted at another location.

    A vehicle holds 1 to `capacity` packages. Each location but the first has a road to a random earlier one; half as
    many further roads join random pairs.
    """
    cars, boxes, places = (
        [f"{letter}{number}" for number in range(1, count + 1)]
        for letter, count in (("v", vehicles), ("p", packages), ("l", locations))
    )
    sizes = [f"capacity-{number}" for number in range(capacity + 1)]
    roads = {(int(rng.integers(place)), place) for place in range(1, locations)}
    for _ in range(locations // 2):
        first, second = sorted(rng.choice(locations, 2, replace=False).tolist())
        roads.add((first, second))
    init = [f"(capacity-predecessor {less} {more})" for less, more in pairwise(sizes)]
    for first, second in sorted(roads):
        init += [f"(road {places[first]} {places[second]})", f"(road {places[second]} {places[first]})"]
    for car in cars:
        init.append(f"(at {car} {places[int(rng.integers(locations))]})")
        init.append(f"(capacity {car} {sizes[int(rng.integers(1, capacity + 1))]})")
    goal = []
    for box in boxes:
        start, wanted = rng.choice(locations, 2, replace=False).tolist()
        init.append(f"(at {box} {places[start]})")
        goal.append(f"(at {box} {places[wanted]})")
    objects = typed({"location": places, "size": sizes, "vehicle": cars, "package": boxes})
    return problem_pddl(f"transport-{vehicles}-{packages}-{locations}", "transport", objects, init, goal)


def draw(scene: Scene) -> str:
    """Locations with roads between them, vehicles and packages where they are; a vehicle's frame has its cargo."""
    cars, boxes, places, sizes = (scene.typed(kind) for kind in ("vehicle", "package", "location", "size"))
    facts, also = sorted_out(scene, {"at": ([*cars, *boxes], places), "in": (boxes, cars), "capacity": (cars, sizes)})
    shapes = {
        box: token(scene, box, box, THING, hint(scene, box, "at", "in"), height=20, width=28)
        for box in sorted(boxes, key=natural)
    }
    packed, cell = dict(shapes), largest(shapes.values())
    driven = {}
    for car in sorted(cars, key=natural):
        cargo = {box: packed[box] for box, where in facts["in"] if where == car}
        driven[car] = _vehicle(scene, car, cargo, cell, [size for one, size in facts["capacity"] if one == car])
    shapes |= driven
    at = set(facts["at"])

    def standing(place: str, kind: str, those: Mapping[str, Box]) -> Box:
        here = {name: box for name, box in those.items() if (name, place) in at}
        return shelved(scene, here, (kind, place), _PLACE - 16, largest(those.values()))

    there = {
        place: column([standing(place, kind, those) for kind, those in (("vehicles", driven), ("packages", packed))])
        for place in places
    }
    titles = {place: words(place, 11) for place in places}
    hints = {place: f"location {place}" for place in places}
    frames = equal_frames(titles, there, _PLACE, hints=hints, kind="location")
    deep = 60 + (30 * len(cars) + 10 * len(boxes)) / max(1, len(places))
    content = network(frames, both_ways(scene.pairs("road"), "road"), deep)
    placed = {name for name, _ in facts["at"]} | {box for box, _ in facts["in"]}
    lost = [shape for name, shape in shapes.items() if name not in placed]
    sentence = (
        f"Transport with {len(places)} locations, {len(cars)} vehicles and {len(boxes)} packages, "
        f"{len(facts['in'])} of them in vehicles"
    )
    width = max(content.width, 260)
    below = [aside(scene, lost, width), listed("sizes", sizes, width)]
    return whole(scene, sentence, column([content, *below], gap=12), also)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Vehicles and packages keep their slots in locations, packages those in vehicles."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        cars = set(scene.typed("vehicle"))
        for name, place in sorted(scene.pairs("at"), key=lambda pair: natural(pair[0])):
            yield name, ("vehicles" if name in cars else "packages", place)
        yield from ((name, ("in", vehicle)) for name, vehicle in scene.pairs("in"))

    return keep_places(scenes, before, where)


_PLACE = 128  # pixels: the width of a location


def _vehicle(scene: Scene, name: str, cargo: Mapping[str, Box], cell: Box, sizes: Sequence[str]) -> Box:
    """A vehicle on wheels: its name, what it can still take, and what is in it."""
    label = token(scene, name, name, ROBOT, hint(scene, name, "at", "capacity"), height=20, width=34)
    head, room = flow([label, *(words(size, 10) for size in sizes)], _PLACE - 30, gap=4), _PLACE - 30
    load = shelved(scene, cargo, ("in", name), room, cell)
    content = column([head, load], gap=4)

    def at(x: float, y: float) -> str:
        wide, high = content.width + 8, content.height + 8
        frame = drawing.rect(x, y, wide, high, rx=2, fill="none", stroke="currentColor")
        wheels = [drawing.circle(x + dx, y + high + 1, 3.5, fill="currentColor") for dx in (9, wide - 9)]
        return drawing.group(
            f"vehicle {name}", [frame, *wheels, content.at(x + 4, y + 4)], class_="vehicle", data_object=name
        )

    return Box(content.width + 8, content.height + 14, at)


DOMAIN = Domain(
    name="transport",
    title="Transport",
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"vehicles": (1, None), "packages": (1, None), "locations": (2, None), "capacity": (1, None)},
        # The capacities are 0 to the greatest (dynamic validation, section 2).
        count=lambda vehicles, packages, locations, capacity: vehicles + packages + locations + capacity + 1,
    ),
    scaling=Scaling(train=range(8, 16), validation=range(16, 19), bound=33),  # dynamic validation, Tables 2 and 3
    # Vehicles of at most four places, as in the competitions of 2008 to 2014, and no more of them than packages.
    track=Track(
        train=(6, 34),
        validation=(34, 45),
        test=(12, 354),
        only=lambda vehicles, packages, locations, capacity: capacity <= 4 and vehicles <= packages,
    ),
    generator=generate,
    words=Words(
        atoms={
            "road": "{0} is {not}linked to {1} by road",
            "at": "{0} is {not}at {1}",
            "in": "{0} is {not}in {1}",
            "capacity": "the room left in {0} is {not}{1}",
            "capacity-predecessor": "{0} is {not}one less than {1}",
        },
        actions={
            "drive": "drive {0} from {1} to {2}",
            "pick-up": "load {2} into {0} at {1} and lower the room left from {4} to {3}",
            "drop": "unload {2} from {0} at {1} and raise the room left from {3} to {4}",
        },
    ),
    draw=draw,
    arrange=arrange,
)
