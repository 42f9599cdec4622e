"""Logistics: packages travel by truck within cities and by airplane between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

from sgp import drawing
from sgp.domains import builtin_domain
from sgp.domains.domain import Generator, Place, Scene, Slots, numbered, pick, problem_pddl
from sgp.domains.drawing.boxes import Box, column, fitting, flow, framed, largest, words
from sgp.domains.drawing.layout import keep_places, shelf
from sgp.domains.drawing.tokens import FLYING, OBJECT_COLOUR, ROBOT, aside, hint, natural, token, whole
from sgp.planning.pddl import Atom


def generate(
    rng: Generator, cities: int, locations: int, airplanes: int, packages: int, goals: int | None = None
) -> str:
    """Make cities with a truck and `locations` places each, the last one an airport; all starts are random.

    The first `goals` packages (None: all) have another location than their start as goal.
    """
    places = [[f"l{city}-{place}" for place in range(1, locations + 1)] for city in range(1, cities + 1)]
    everywhere = [place for city in places for place in city]
    airports = [city[-1] for city in places]
    trucks, planes, boxes = numbered("t", cities), numbered("a", airplanes), numbered("p", packages)
    start = {box: pick(rng, everywhere) for box in boxes}
    end = {box: pick(rng, [place for place in everywhere if place != start[box]]) for box in boxes[:goals]}
    kinds = {"package": boxes, "truck": trucks, "airplane": planes, "airport": airports, "location": everywhere}
    kinds["city"] = numbered("c", cities)
    init = [f"({kind} {name})" for kind, names in kinds.items() for name in names]
    init += [f"(in-city {place} c{city})" for city, group in enumerate(places, start=1) for place in group]
    init += [f"(at {truck} {pick(rng, group)})" for truck, group in zip(trucks, places, strict=True)]
    init += [f"(at {plane} {pick(rng, airports)})" for plane in planes]
    init += [f"(at {box} {place})" for box, place in start.items()]
    objects = boxes + trucks + planes + everywhere + kinds["city"]
    goal = [f"(at {box} {place})" for box, place in end.items()]
    return problem_pddl(f"logistics-{len(objects)}-{len(goal)}", "logistics", objects, init, goal)


_LOCATION, _PAD, _LETTERS = 100, 4, 20  # pixels: the width of a location, the margin in frames, the font size of names
_GAP = 4  # between frames
_LINES = {"fill": "none", "stroke": "currentColor", "stroke_width": 2, "stroke_linecap": "round"}


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """Return location j of a package or vehicle, or -j inside vehicle j (state-centric, Table 6)."""
    return {
        number[names[0]]: number[names[1]] if predicate == "at" else -number[names[1]]
        for predicate, names in atoms
        if predicate in ("at", "in")
    }


def draw(scene: Scene) -> str:
    """Draw cities with their locations, and vehicles and packages where they are; airports show an airplane.

    Packages in a vehicle are in its frame. Objects without a place are below; a goal names them in its
    title alone.
    """
    packages, planes = set(scene.unary("package")), set(scene.unary("airplane"))
    cities, locations = scene.unary("city"), scene.unary("location")
    places = {*cities, *locations}
    movables = sorted((name for name in scene.names if name not in places), key=natural)
    at, inside = scene.pairs("at"), scene.pairs("in")
    at_set, inside_set = set(at), set(inside)
    tokens = {
        name: token(scene, name, name, OBJECT_COLOUR, hint(scene, name, "at", "in"), height=25, letters=_LETTERS)
        for name in movables
    }
    boxes = {name: tokens[name] for name in movables if name in packages}
    cell = largest(tokens.values())
    vehicles = {}
    for vehicle in (name for name in movables if name not in packages):
        cargo = {name: box for name, box in tokens.items() if (name, vehicle) in inside_set}
        vehicles[vehicle] = _vehicle(scene, vehicle, vehicle in planes, cargo, cell)
    kinds = {
        "airplanes": {name: box for name, box in vehicles.items() if name in planes},
        "trucks": {name: box for name, box in vehicles.items() if name not in planes},
        "packages": boxes,
    }
    there = {}
    for place in locations:
        shelves = []
        for kind, those in kinds.items():
            here = {name: box for name, box in those.items() if (name, place) in at_set}
            shelves.append(shelf(scene, here, (kind, place), _LOCATION - 2 * _PAD, largest(those.values())))
        there[place] = column(shelves)
    city_of = dict(scene.pairs("in-city"))
    groups = {city: [place for place in locations if city_of.get(place) == city] for city in cities}
    if rest := [place for place in locations if city_of.get(place) not in groups]:
        groups[""] = rest
    content = _cities(scene, groups, there, len(movables))
    shapes = boxes | vehicles
    placed = {name for name, place in at if place in there} | {name for name, vehicle in inside if vehicle in shapes}
    unplaced = [name for name in movables if name not in placed]
    lost = aside(scene, [] if scene.partial else [shapes[name] for name in unplaced], content.width)
    also = [Atom("at", pair) for pair in at if pair[0] not in shapes or pair[1] not in there]
    also += [Atom("in", pair) for pair in inside if pair[0] not in shapes or pair[1] not in shapes]
    also += [Atom("in", pair) for pair in inside if pair[1] in packages]
    sentence = (
        f"Logistics with {len(cities)} cities, {len(locations)} locations, {len(movables) - len(packages)} vehicles "
        f"and {len(packages)} packages, {len({name for name, _ in inside})} of them in vehicles"
    )
    if scene.partial and unplaced:
        sentence = f"{sentence}; anywhere: {', '.join(unplaced)}"
    return whole(scene, sentence, column([content, lost], gap=12), also)


def _cities(scene: Scene, groups: Mapping[str, Sequence[str]], there: Mapping[str, Box], movables: int) -> Box:
    """Set the cities, with their groups of locations, in rows; `there` has the contents of each location."""
    most = max([1, *map(len, groups.values())])
    across = min(3, most)
    wide = across * (_LOCATION + _GAP) + 2 * _PAD
    if scene.places:
        deep = max((box.height for box in there.values()), default=0) + _LETTERS + 18
    else:  # an estimate that is the same for all states, so that no step moves the cities
        deep = 74 + 24 * ceil(1.5 * movables / max(len(there), 1) / 4)
    per_line = fitting(max(len(groups), 1), wide, ceil(most / across) * deep + 42)
    cities, frames = list(groups), []
    for first in range(0, len(cities), per_line):
        line = cities[first : first + per_line]
        tallest = max((there[place].height for city in line for place in groups[city]), default=0)
        high = tallest + _LETTERS + 18
        high = high if scene.places else ceil(high / 26) * 26  # in steps, so that the picture's size seldom changes
        frames += [_city(scene, city, groups[city], there, across, high) for city in line]
    return flow(frames, per_line * wide, gap=_GAP)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Assign slots to vehicles and packages in locations, and to packages in vehicles."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        packages, planes = set(scene.unary("package")), set(scene.unary("airplane"))
        for name, place in sorted(scene.pairs("at"), key=lambda pair: natural(pair[0])):
            yield name, ("packages" if name in packages else "airplanes" if name in planes else "trucks", place)
        yield from ((name, ("in", vehicle)) for name, vehicle in scene.pairs("in"))

    return keep_places(scenes, before, where)


def _vehicle(scene: Scene, name: str, flies: bool, cargo: Mapping[str, Box], cell: Box) -> Box:
    """Draw a truck on wheels or an airplane with its symbol, its name and its cargo."""
    label = token(scene, name, name, FLYING if flies else ROBOT, hint(scene, name, "at"), height=25, letters=_LETTERS)
    sign = [Box(16, 25, lambda x, y: drawing.path(_airplane(x + 8, y + 10), **_LINES))] if flies else []
    head, room = flow([*sign, label], _LOCATION, gap=4), _LOCATION - 32
    load = shelf(scene, cargo, ("in", name), room - head.width - 4, cell)
    if load.height > cell.height:  # several rows beside the name
        content = column([head, shelf(scene, cargo, ("in", name), room, cell)], gap=4)
    else:
        content = flow([head, load], room, gap=4) if load.height else head

    def at(x: float, y: float) -> str:
        wide, high = content.width + 8, content.height + 8
        frame = drawing.rect(x, y, wide, high, rx=8 if flies else 2, fill="none", stroke="currentColor")
        wheels = [drawing.circle(x + dx, y + high + 1, 3.5, fill="currentColor") for dx in (9, wide - 9)]
        title = f"{'airplane' if flies else 'truck'} {name}"
        parts = [frame, *([] if flies else wheels), content.at(x + 4, y + 4)]
        return drawing.group(title, parts, class_="vehicle", data_object=name)

    return Box(content.width + 8, content.height + 14, at)


def _airplane(x: float, y: float) -> str:
    """Return the path of an airplane around (x, y): fuselage, wings and tail."""
    return f"M{x:.1f} {y - 7:.1f}v13M{x - 8:.1f} {y + 1:.1f}l8 -5 8 5M{x - 4:.1f} {y + 7:.1f}l4 -3 4 3"


def _city(scene: Scene, city: str, places: Sequence[str], there: Mapping[str, Box], across: int, high: float) -> Box:
    """Draw a city and its locations, all of the same height."""
    airports = set(scene.unary("airport"))
    frames = []
    for place in places:
        title = _airport(place) if place in airports else words(place, _LETTERS)
        kind = f"{'airport' if place in airports else 'location'} {place}"
        frames.append(framed(title, there[place], _LOCATION, high, hint=kind, pad=_PAD, class_="location"))
    wide = across * (_LOCATION + _GAP) - _GAP
    content = flow(frames, wide, gap=_GAP)
    title = words(city or "in no city", _LETTERS, font_weight="bold")
    return framed(title, content, wide + 2 * _PAD, hint=f"city {city}" if city else "in no city", pad=_PAD)


def _airport(place: str) -> Box:
    """Draw the name of an airport."""
    name = words(place, _LETTERS)
    return Box(
        name.width + 22, name.height, lambda x, y: drawing.path(_airplane(x + 8, y + 8), **_LINES) + name.at(x + 22, y)
    )


DOMAIN = builtin_domain(
    "logistics",
    generate,
    # Airplanes, a city with its truck, its locations, packages (dynamic validation, Table 2).
    count=lambda cities, locations, airplanes, packages, goals=None: (
        airplanes + 2 * cities + cities * locations + packages
    ),
    # Packages have another location to go to, and every goal has a package.
    allowed=lambda cities, locations, packages, goals=0, **others: cities * locations >= 2 and goals <= packages,
    slots=Slots(slot_values),
    draw=draw,
    arrange=arrange,
)
