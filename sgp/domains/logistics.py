"""Logistics: packages travel by truck within cities and by airplane between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sgp.planning.domain import Domain, Sizes, Slots, problem_pddl
from sgp.planning.pddl import Atom

UNTYPED = """\
(define (domain logistics)
  (:requirements :strips)
  (:predicates (package ?p) (truck ?t) (airplane ?a) (airport ?l) (location ?l) (city ?c)
               (in-city ?l ?c) (at ?x ?l) (in ?p ?v))
  (:action load-truck
    :parameters (?p ?t ?l)
    :precondition (and (package ?p) (truck ?t) (location ?l) (at ?t ?l) (at ?p ?l))
    :effect (and (in ?p ?t) (not (at ?p ?l))))
  (:action load-airplane
    :parameters (?p ?a ?l)
    :precondition (and (package ?p) (airplane ?a) (location ?l) (at ?a ?l) (at ?p ?l))
    :effect (and (in ?p ?a) (not (at ?p ?l))))
  (:action unload-truck
    :parameters (?p ?t ?l)
    :precondition (and (package ?p) (truck ?t) (location ?l) (at ?t ?l) (in ?p ?t))
    :effect (and (at ?p ?l) (not (in ?p ?t))))
  (:action unload-airplane
    :parameters (?p ?a ?l)
    :precondition (and (package ?p) (airplane ?a) (location ?l) (at ?a ?l) (in ?p ?a))
    :effect (and (at ?p ?l) (not (in ?p ?a))))
  (:action drive-truck
    :parameters (?t ?from ?to ?c)
    :precondition (and (truck ?t) (location ?from) (location ?to) (city ?c)
                       (at ?t ?from) (in-city ?from ?c) (in-city ?to ?c))
    :effect (and (at ?t ?to) (not (at ?t ?from))))
  (:action fly-airplane
    :parameters (?a ?from ?to)
    :precondition (and (airplane ?a) (airport ?from) (airport ?to) (at ?a ?from))
    :effect (and (at ?a ?to) (not (at ?a ?from)))))
"""


def generate(
    rng: np.random.Generator, cities: int, locations: int, airplanes: int, packages: int, goals: int | None = None
) -> str:
    """Cities of `locations` places, the last one an airport, one truck each; everything starts somewhere at random.

    The first `goals` packages (None: all) are wanted somewhere else than where they start.
    """
    places = [[f"l{city}-{place}" for place in range(1, locations + 1)] for city in range(1, cities + 1)]
    everywhere = [place for city in places for place in city]
    airports = [city[-1] for city in places]
    trucks = [f"t{city}" for city in range(1, cities + 1)]
    planes = [f"a{number}" for number in range(1, airplanes + 1)]
    boxes = [f"p{number}" for number in range(1, packages + 1)]

    def pick(choices: list[str]) -> str:
        return choices[int(rng.integers(len(choices)))]

    start = {box: pick(everywhere) for box in boxes}
    wanted = {box: pick([place for place in everywhere if place != start[box]]) for box in boxes[:goals]}
    kinds = {"package": boxes, "truck": trucks, "airplane": planes, "airport": airports, "location": everywhere}
    kinds["city"] = [f"c{city}" for city in range(1, cities + 1)]
    init = [f"({kind} {name})" for kind, names in kinds.items() for name in names]
    init += [f"(in-city {place} c{city})" for city, group in enumerate(places, start=1) for place in group]
    init += [f"(at {truck} {pick(group)})" for truck, group in zip(trucks, places, strict=True)]
    init += [f"(at {plane} {pick(airports)})" for plane in planes]
    init += [f"(at {box} {place})" for box, place in start.items()]
    objects = boxes + trucks + planes + everywhere + kinds["city"]
    goal = [f"(at {box} {place})" for box, place in wanted.items()]
    return problem_pddl(f"logistics-{len(objects)}-{len(goal)}", "logistics", objects, init, goal)


def _fits(cities: int, locations: int, airplanes: int, packages: int, goals: int | None = None) -> bool:
    """Packages need somewhere else to go, and not more of them can have goals than there are."""
    return cities * locations >= 2 and (goals is None or goals <= packages)


def _split(*groups: tuple[int, int, int, int]) -> list[dict[str, int]]:
    """Arguments from (cities, packages, goals, problems); two locations a city, one plane per four cities."""
    return [
        {"cities": cities, "locations": 2, "airplanes": (cities + 3) // 4, "packages": packages, "goals": goals}
        for cities, packages, goals, problems in groups
        for _ in range(problems)
    ]


def _larger(cities: int, locations: int, packages: int, problems: int) -> list[dict[str, int]]:
    """Problems in which every package has a goal."""
    airplanes = (cities + 3) // 4
    return [{"cities": cities, "locations": locations, "airplanes": airplanes, "packages": packages}] * problems


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """A package or vehicle is at location j, or -j inside vehicle j (state-centric, Table 6)."""
    return {
        number[names[0]]: number[names[1]] if predicate == "at" else -number[names[1]]
        for predicate, names in atoms
        if predicate in ("at", "in")
    }


DOMAIN = Domain(
    name="logistics",
    title="Logistics",
    models={"untyped": UNTYPED},
    sizes=Sizes(
        bounds={
            "cities": (1, None),
            "locations": (1, None),
            "airplanes": (1, None),
            "packages": (1, None),
            "goals": (1, None),
        },
        # Airplanes, a city with its truck, its locations, packages (dynamic validation, Table 2).
        count=lambda cities, locations, airplanes, packages, goals=None: (
            airplanes + 2 * cities + cities * locations + packages
        ),
        allowed=_fits,
        free=frozenset({"goals"}),
    ),
    generator=generate,
    slots=Slots(slot_values),
    splits={
        # Counts and sizes: state-centric, Table 5, with the object counts of its published problems.
        "state-centric": {
            "train": _split((2, 4, 1, 3), (2, 4, 3, 3), (2, 6, 3, 3), (2, 6, 5, 3)),
            "validation": _split((2, 6, 6, 4)),
            "interpolation": _split((2, 4, 2, 3), (2, 4, 4, 3), (2, 6, 4, 3)),
            "extrapolation": _split(
                *(
                    (cities, packages, goals, 2)
                    for cities, packages, least in ((3, 9, 7), (4, 12, 10), (5, 15, 13))
                    for goals in range(least, least + 3)
                )
            ),
        },
        # More of everything, and cities of another structure than in training.
        "selection": {
            "5-cities": _larger(5, 2, 15, 5),
            "3-locations": _larger(3, 3, 10, 5),
            "5-locations": _larger(3, 5, 20, 5),
            "10-cities": _larger(10, 2, 50, 5),
            "7-locations": _larger(4, 7, 40, 5),
        },
        "harder": {
            "8-cities": _larger(8, 2, 30, 5),
            "12-cities": _larger(12, 2, 60, 5),
            "4-locations": _larger(5, 4, 25, 5),
            "6-locations": _larger(5, 6, 40, 5),
        },
    },
)
