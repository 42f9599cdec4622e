"""Logistics: packages travel by truck within cities and by airplane between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains import builtin_domain
from sgp.domains.drawing.boxes import Box, column, fitting, flow, framed, words
from sgp.domains.drawing.layout import keep_places, largest, shelved
from sgp.domains.drawing.tokens import FLYING, OBJECT_COLOUR, ROBOT, aside, hint, natural, token, whole
from sgp.planning.domain import Place, Scene, Sizes, Slots, problem_pddl
from sgp.planning.pddl import Atom

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


def generate(
    rng: Generator, cities: int, locations: int, airplanes: int, packages: int, goals: int | None = None
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


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """A package or vehicle is at location j, or -j inside vehicle j (state-centric, Table 6)."""
    return {
        number[names[0]]: number[names[1]] if predicate == "at" else -number[names[1]]
        for predicate, names in atoms
        if predicate in ("at", "in")
    }


def draw(scene: Scene) -> str:
    """Cities with their locations, and vehicles and packages where they are; airports bear an airplane.

    Packages in a vehicle stand in its frame. What the atoms place nowhere stands below.
    """
    packages, planes = set(scene.unary("package")), set(scene.unary("airplane"))
    cities, locations = scene.unary("city"), scene.unary("location")
    places = {*cities, *locations}
    movables = sorted((name for name in scene.names if name not in places), key=natural)
    at, inside = scene.pairs("at"), scene.pairs("in")
    at_once, inside_at_once = set(at), set(inside)
    loads = {name: _package(scene, name) for name in movables}
    boxes = {name: loads[name] for name in movables if name in packages}
    vehicles = {
        vehicle: _vehicle(
            scene,
            vehicle,
            vehicle in planes,
            {name: box for name, box in loads.items() if (name, vehicle) in inside_at_once},
            largest(loads.values()),
        )
        for vehicle in movables
        if vehicle not in packages
    }
    shapes = boxes | vehicles

    def standing(place: str, kind: str, those: Mapping[str, Box]) -> Box:
        here = {name: box for name, box in those.items() if (name, place) in at_once}
        return shelved(scene, here, (kind, place), _LOCATION - 16, largest(those.values()))

    kinds = {
        "airplanes": {name: box for name, box in vehicles.items() if name in planes},
        "trucks": {name: box for name, box in vehicles.items() if name not in planes},
        "packages": boxes,
    }
    there = {place: column([standing(place, kind, those) for kind, those in kinds.items()]) for place in locations}
    home = dict(scene.pairs("in-city"))
    groups = {city: [place for place in locations if home.get(place) == city] for city in cities}
    groups[""] = [place for place in locations if home.get(place) not in groups]
    across = min(3, max(map(len, groups.values())))
    frames = []
    listed = [city for city in groups if city or groups[city]]
    wide = across * (_LOCATION + 6) + 34
    deep = _expected_height(len(movables) / max(len(locations), 1))
    if scene.places:
        deep = max((box.height for box in there.values()), default=0) + 40
    deep = ceil(max(map(len, groups.values())) / across) * deep + 66
    per_line = fitting(len(listed), wide, deep)
    for first in range(0, len(listed), per_line):
        line = listed[first : first + per_line]
        tallest = max((there[place].height for city in line for place in groups[city]), default=0)
        high = ceil((tallest + 40) / 26) * 26  # grows by steps, so that the picture seldom changes its size
        frames += [_city(scene, city, groups[city], there, across, high) for city in line]
    content = flow(frames, per_line * wide, gap=12)
    placed = {name for name, place in at if place in there} | {name for name, vehicle in inside if vehicle in shapes}
    lost = aside(scene, [shapes[name] for name in movables if name not in placed], content.width)
    also = [Atom("at", pair) for pair in at if pair[0] not in shapes or pair[1] not in there]
    also += [Atom("in", pair) for pair in inside if pair[0] not in shapes or pair[1] not in shapes]
    also += [Atom("in", pair) for pair in inside if pair[1] in packages]
    sentence = (
        f"Logistics with {len(cities)} cities, {len(locations)} locations, {len(movables) - len(packages)} vehicles "
        f"and {len(packages)} packages, {len({name for name, _ in inside})} of them in vehicles"
    )
    return whole(scene, sentence, column([content, lost], gap=12), also)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Vehicles and packages keep their slots in locations, packages those in vehicles."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        packages, planes = set(scene.unary("package")), set(scene.unary("airplane"))
        for name, place in sorted(scene.pairs("at"), key=lambda pair: natural(pair[0])):
            yield name, ("packages" if name in packages else "airplanes" if name in planes else "trucks", place)
        yield from ((name, ("in", vehicle)) for name, vehicle in scene.pairs("in"))

    return keep_places(scenes, before, where)


_LOCATION = 152  # pixels: the width of a location


def _expected_height(movables: float) -> float:
    """About how high a location is with so many movables: of all states alike, so that no step moves the cities."""
    return 74 + 24 * ceil(1.5 * movables / 4)


def _package(scene: Scene, name: str) -> Box:
    return token(scene, name, name, OBJECT_COLOUR, hint(scene, name, "at", "in"), height=20, width=28)


def _vehicle(scene: Scene, name: str, flies: bool, cargo: Mapping[str, Box], cell: Box) -> Box:
    """A truck on wheels or an airplane with its sign: its name, and what is in it."""
    label = token(scene, name, name, FLYING if flies else ROBOT, hint(scene, name, "at"), height=20, width=38)
    sign = [Box(16, 20, lambda x, y: drawing.path(_airplane(x + 8, y + 10), **_DRAWN))] if flies else []
    head, room = flow([*sign, label], _LOCATION, gap=4), _LOCATION - 32
    load = shelved(scene, cargo, ("in", name), room - head.width - 4, cell)
    if load.height > cell.height:  # beside the name it would stand on several shelves
        content = column([head, shelved(scene, cargo, ("in", name), room, cell)], gap=4)
    else:
        content = flow([head, load], room, gap=4) if load.height else head

    def at(x: float, y: float) -> str:
        wide, high = content.width + 8, content.height + 8
        frame = drawing.rect(x, y, wide, high, rx=8 if flies else 2, fill="none", stroke="currentColor")
        wheels = [drawing.circle(x + dx, y + high + 1, 3.5, fill="currentColor") for dx in (9, wide - 9)]
        under = "" if flies else "".join(wheels)
        said = f"{'airplane' if flies else 'truck'} {name}"
        return drawing.group(said, [frame, under, content.at(x + 4, y + 4)], class_="vehicle", data_object=name)

    return Box(content.width + 8, content.height + 14, at)


def _airplane(x: float, y: float) -> str:
    """The lines of an airplane seen from above, around (x, y): fuselage, wings and tail."""
    return f"M{x:.1f} {y - 7:.1f}v13M{x - 8:.1f} {y + 1:.1f}l8 -5 8 5M{x - 4:.1f} {y + 7:.1f}l4 -3 4 3"


_DRAWN = {"fill": "none", "stroke": "currentColor", "stroke_width": 2, "stroke_linecap": "round"}


def _city(scene: Scene, city: str, places: Sequence[str], there: Mapping[str, Box], across: int, high: float) -> Box:
    """A city and its locations, all equally high."""
    airports = set(scene.unary("airport"))
    frames = []
    for place in places:
        title = _airport(place) if place in airports else words(place, 11)
        said = f"{'airport' if place in airports else 'location'} {place}"
        frames.append(framed(title, there[place], _LOCATION, high, hint=said, class_="location"))
    content = flow(frames, across * (_LOCATION + 6))
    title = words(city or "in no city", 12, font_weight="bold")
    return framed(title, content, across * (_LOCATION + 6) + 10, hint=f"city {city}" if city else "in no city")


def _airport(place: str) -> Box:
    """The name of a location that is an airport."""
    name = words(f"{place}, airport", 11)
    return Box(
        name.width + 22,
        name.height,
        lambda x, y: drawing.path(_airplane(x + 8, y + 8), **_DRAWN) + name.at(x + 22, y),
    )


DOMAIN = builtin_domain(
    "logistics",
    Sizes(
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
    generate,
    slots=Slots(slot_values),
    draw=draw,
    arrange=arrange,
)
