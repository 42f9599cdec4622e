"""Grid: a robot carries keys, one at a time, over a map on which some places are locked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, Box, breadth, column, flow, shortened, words
from sgp.domains.drawing.cells import NEIGHBOURS, Spots, from_names, walls
from sgp.domains.drawing.facts import Facts, sorted_out
from sgp.domains.drawing.network import both_ways, network
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import FLYING, PLAIN, ROBOT, THING, Colour, aside, hint, marks, natural, token, whole
from sgp.planning.domain import Domain, Place, Scene, Sizes, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain grid)
  (:requirements :strips :typing)
  (:types key place shape - object)
  (:predicates (arm-empty) (at ?r - key ?x - place) (at-robot ?x - place) (conn ?x - place ?y - place)
               (holding ?k - key) (key-shape ?k - key ?s - shape) (lock-shape ?x - place ?s - shape)
               (locked ?x - place) (open ?x - place))
  (:action move
    :parameters (?curpos - place ?nextpos - place)
    :precondition (and (at-robot ?curpos) (conn ?curpos ?nextpos) (open ?nextpos))
    :effect (and (at-robot ?nextpos) (not (at-robot ?curpos))))
  (:action pickup
    :parameters (?curpos - place ?key - key)
    :precondition (and (at-robot ?curpos) (at ?key ?curpos) (arm-empty))
    :effect (and (holding ?key) (not (at ?key ?curpos)) (not (arm-empty))))
  (:action pickup-and-loose
    :parameters (?curpos - place ?newkey - key ?oldkey - key)
    :precondition (and (at-robot ?curpos) (holding ?oldkey) (at ?newkey ?curpos))
    :effect (and (holding ?newkey) (at ?oldkey ?curpos) (not (holding ?oldkey)) (not (at ?newkey ?curpos))))
  (:action putdown
    :parameters (?curpos - place ?key - key)
    :precondition (and (at-robot ?curpos) (holding ?key))
    :effect (and (arm-empty) (at ?key ?curpos) (not (holding ?key))))
  (:action unlock
    :parameters (?curpos - place ?lockpos - place ?key - key ?shape - shape)
    :precondition (and (conn ?curpos ?lockpos) (key-shape ?key ?shape) (lock-shape ?lockpos ?shape)
                       (at-robot ?curpos) (locked ?lockpos) (holding ?key))
    :effect (and (open ?lockpos) (not (locked ?lockpos)))))
"""

_Cell = tuple[int, int]


def generate(
    rng: Generator,
    rows: int,
    columns: int,
    shapes: int,
    keys: int,
    locks: int | None = None,
    goals: int | None = None,
) -> str:
    """A map on which the robot can come to every place, with `goals` keys (None: drawn) wanted elsewhere.

    `locks` of the places are locked (None: drawn, a third of them at most). One key starts where the robot can walk
    at once, the others anywhere, behind locks too. As nothing that was opened closes and all ways lead back, the robot
    can carry every key that it reaches to every place that it reaches; and it reaches all, because locks that it
    could not open are made to fit.
    """
    cells = [(x, y) for y in range(rows) for x in range(columns)]
    inside = set(cells)
    locks = int(rng.integers(1, len(cells) // 3 + 1)) if locks is None else locks
    goals = int(rng.integers(1, keys + 1)) if goals is None else goals
    robot, *locked = (cells[number] for number in rng.choice(len(cells), locks + 1, replace=False).tolist())

    def pick(choices: Sequence[_Cell]) -> _Cell:
        return choices[int(rng.integers(len(choices)))]

    near, _ = _walk([robot], inside, {*locked}, set())
    starts = [pick(near), *(pick(cells) for _ in range(keys - 1))]
    bits = rng.integers(shapes, size=keys).tolist()
    fits = _openable(rng, robot, inside, locked, list(zip(starts, bits, strict=True)))
    wanted = sorted(rng.choice(keys, goals, replace=False).tolist())
    ends = {key: pick([cell for cell in cells if cell != starts[key]]) for key in wanted}

    names = {(x, y): f"p{x}-{y}" for x, y in cells}
    forms = [f"shape{number}" for number in range(1, shapes + 1)]
    ring = [f"key{number}" for number in range(1, keys + 1)]
    init = ["(arm-empty)", f"(at-robot {names[robot]})"]
    init += [f"(at {key} {names[start]})" for key, start in zip(ring, starts, strict=True)]
    init += [f"(key-shape {key} {forms[bit]})" for key, bit in zip(ring, bits, strict=True)]
    init += [f"({'locked' if cell in fits else 'open'} {name})" for cell, name in names.items()]
    init += [f"(lock-shape {names[cell]} {forms[fits[cell]]})" for cell in cells if cell in fits]
    init += [f"(conn {name} {names[other]})" for cell, name in names.items() for other in _beside(cell, inside)]
    goal = [f"(at {ring[key]} {names[end]})" for key, end in ends.items()]
    objects = typed({"place": list(names.values()), "shape": forms, "key": ring})
    return problem_pddl(f"grid-{rows}x{columns}-{shapes}-{keys}", "grid", objects, init, goal)


def _openable(
    rng: Generator, robot: _Cell, inside: Collection[_Cell], locked: Sequence[_Cell], keys: Sequence[tuple[_Cell, int]]
) -> dict[_Cell, int]:
    """The shapes of locks, each that of a random key, such that all can be opened one after the other.

    Where no lock before the robot fits a key that it reaches, a random one of them gets a shape that does.
    """
    fits = {cell: keys[int(rng.integers(len(keys)))][1] for cell in locked}
    lying: dict[_Cell, set[int]] = {}
    for cell, bit in keys:
        lying.setdefault(cell, set()).add(bit)
    opened, before, owned, seen = [robot], list[_Cell](), set[int](), set[_Cell]()
    while opened:
        reached, new = _walk(opened, inside, fits, seen)
        owned.update(bit for cell in reached for bit in lying.get(cell, ()))
        before += new
        if before and not any(fits[cell] in owned for cell in before):
            fits[before[int(rng.integers(len(before)))]] = int(rng.choice(sorted(owned)))
        opened = [cell for cell in before if fits[cell] in owned]
        before = [cell for cell in before if fits[cell] not in owned]
    return fits


def _walk(
    starts: Sequence[_Cell], inside: Collection[_Cell], locked: Collection[_Cell], seen: set[_Cell]
) -> tuple[list[_Cell], list[_Cell]]:
    """The cells to which the robot can walk from some, these included, and locked ones beside them; `seen` grows."""
    reached, locks = list(starts), list[_Cell]()
    seen.update(starts)
    for cell in reached:  # which grows
        new = [other for other in _beside(cell, inside) if other not in seen]
        seen.update(new)
        for other in new:
            (locks if other in locked else reached).append(other)
    return reached, locks


def _beside(cell: _Cell, inside: Collection[_Cell]) -> list[_Cell]:
    return [other for dx, dy in NEIGHBOURS if (other := (cell[0] + dx, cell[1] + dy)) in inside]


def draw(scene: Scene) -> str:
    """The map with its locks, keys where they lie, dashed ones where they are wanted, and the robot with what it holds.

    Every shape has a letter and a colour, which its keys and locks bear; a shaded place is not open.
    """
    places, keys, forms = scene.typed("place"), scene.typed("key"), scene.typed("shape")
    facts, also = sorted_out(
        scene,
        {
            "arm-empty": (),
            "at": (keys, places),
            "at-robot": (places,),
            "holding": (keys,),
            "locked": (places,),
            "open": (places,),
        },
    )
    shapes = {form: _Shape(_letter(place), _COLOURS[place % len(_COLOURS)]) for place, form in enumerate(forms)}
    boxes = {key: _key(scene, key, _shape(scene, "key-shape", key, shapes)) for key in sorted(keys, key=natural)}
    held = [key for (key,) in facts["holding"]]
    wanted = {key: _wanted(key, _shape(scene, "key-shape", key, shapes)) for key in keys}
    lying = _lying(scene, facts, boxes, wanted)
    most = largest(box for each in ([boxes, wanted] if scene.places else lying.values()) for box in each.values())

    def shelf(place: str, room: float) -> Box:
        return shelved(scene, lying[place], ("keys", place), room, most, 3)

    side = next(  # in which the most keys that are in one place have room between its name and the robot
        side
        for side in count(_LEAST, _STEP)
        if most.width <= side - 8 and all(shelf(place, side - 8).height <= side - 52 for place in places)
    )
    room = side - 8
    robot = flow([_robot(), *(_disc(_shape(scene, "key-shape", key, shapes)) for key in held[:2])], room, 2)
    cells = {place: _cell(scene, place, facts, side, shapes, shelf(place, room), robot) for place in places}
    links = [pair for pair in scene.pairs("conn") if set(pair) <= cells.keys()]
    spots = from_names(places, links)
    ground = network(cells, both_ways(links, "way"), side) if spots is None else _map(cells, spots, links, side)
    width = max(ground.width, 260)
    placed = {key for key, _ in facts["at"]} | set(held)
    lost = aside(scene, [box for key, box in boxes.items() if key not in placed], width)
    arm = _arm(scene, bool(facts["arm-empty"]), [boxes[key] for key in held], width)
    legend = [flow([_disc(shape), words(form, 10)], width) for form, shape in shapes.items()]
    content = column([ground, arm, lost, flow([words("shapes:", 10), *legend], width, 10)], gap=12)
    robots = [place for (place,) in facts["at-robot"]]
    sentence = (
        f"Grid with {len(places)} places, {len(facts['locked'])} {'to be ' if scene.partial else ''}locked, "
        f"and {len(keys)} keys, the robot at {', '.join(robots) or 'any place'}, holding {', '.join(held) or 'no key'}"
    )
    return whole(scene, sentence, content, also)


@dataclass(frozen=True)
class _Shape:
    """What the keys and locks of one shape look like."""

    letter: str
    colour: Colour


_COLOURS = (THING, Colour("#56b4e9", "#000000"), FLYING, Colour("#f0e442", "#000000"), Colour("#d55e00", "#000000"))
_LEAST, _STEP = 92, 32  # pixels of a cell's side: with room for two keys and the robot, and growing by steps


def _letter(place: int) -> str:
    """A to Z, then A1 to Z1 and so on."""
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def _shape(scene: Scene, predicate: str, name: str, shapes: Mapping[str, _Shape]) -> _Shape:
    """The shape of a key or a lock; of several the letters of all, of none no letter."""
    said = [atom.objects[-1] for atom in scene.about.get(name, ()) if atom.predicate == predicate]
    own = [shapes[form] for form in said if form in shapes]
    return _Shape("".join(shape.letter for shape in own), own[0].colour) if own else _Shape("", PLAIN)


def _lying(scene: Scene, facts: Facts, keys: Mapping[str, Box], wanted: Mapping[str, Box]) -> dict[str, dict[str, Box]]:
    """The keys at each place, and outlines of those that are wanted there and are not."""
    found: dict[str, dict[str, Box]] = {place: {} for place in scene.typed("place")}
    for key, place in facts["at"]:
        found[place][key] = keys[key]
    for key in keys:
        for place in _wishes(scene, key):
            if place in found and key not in found[place]:
                found[place][key] = wanted[key]
    return found


def _wishes(scene: Scene, key: str) -> list[str]:
    """The places that a key is wanted at."""
    return sorted({wish.atom.objects[1] for wish in scene.wishes.get(key, ()) if wish.atom.predicate == "at"})


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Keys keep their slots at places; where one is wanted, it comes into its outline."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        wanted = [(key, place) for key in scene.typed("key") for place in _wishes(scene, key)]
        yield from ((key, ("keys", place)) for key, place in dict.fromkeys([*scene.pairs("at"), *wanted]))

    return keep_places(scenes, before, where)


def _key(scene: Scene, key: str, shape: _Shape) -> Box:
    """A key: its bow with the shape's letter, and its name."""
    said = hint(scene, key, "at", "holding", "key-shape")
    return flow([_disc(shape), token(scene, key, _label(key), shape.colour, said, height=18)], 200, -5)


def _wanted(key: str, shape: _Shape) -> Box:
    """The outline of a key where it is wanted."""
    label = _label(key)
    width = breadth(label, 11) + 10

    def at(x: float, y: float) -> str:
        frame = drawing.rect(x, y, width, 18, rx=3, fill="none", stroke="currentColor", stroke_dasharray="3 3")
        name = drawing.text(label, x + width / 2, y + 13, text_anchor="middle", font_size=11)
        return drawing.group(f"{key}, wanted here", [frame, name])

    return flow([_disc(shape, dashed=True), Box(width, 18, at)], 200, 0)


def _label(key: str) -> str:
    return shortened(key, 80, 11)


def _disc(shape: _Shape, dashed: bool = False) -> Box:
    """The bow of a key: a disc in the shape's colour with its letter."""
    look = {"fill": "none", "stroke_dasharray": "3 3"} if dashed else {"fill": shape.colour.fill}
    ink = "currentColor" if dashed else shape.colour.ink

    def at(x: float, y: float) -> str:
        disc = drawing.circle(x + 9, y + 9, 9, stroke="currentColor", **look)
        return disc + _lettered(shape, x + 8, y + 12.5, ink)

    return Box(18, 18, at)


def _lettered(shape: _Shape, x: float, y: float, ink: str) -> str:
    return drawing.text(shape.letter, x, y, text_anchor="middle", font_size=10, font_weight="bold", fill=ink)


def _cell(
    scene: Scene, place: str, facts: Facts, side: int, shapes: Mapping[str, _Shape], keys: Box, robot: Box
) -> Box:
    """A place with its name, its lock, what lies there, and the robot; shaded in the lock's colour if not open."""
    locked, open_, here = ((place,) in facts[predicate] for predicate in ("locked", "open", "at-robot"))
    shape = _shape(scene, "lock-shape", place, shapes)
    lock = _padlock(shape, locked, scene.partial) if locked or shape.letter else NOTHING
    said = f"{place} open" if open_ and scene.partial else place
    shade = "none" if open_ or scene.partial else "currentColor" if shape.colour == PLAIN else shape.colour.fill

    def at(x: float, y: float) -> str:
        frame = drawing.rect(
            x, y, side, side, fill=shade, fill_opacity=0.35, stroke="currentColor", stroke_opacity=0.25
        )
        name = drawing.text(shortened(said, side - 10 - lock.width, 9), x + 4, y + 12, font_size=9, fill_opacity=0.8)
        parts = [frame, name, lock.at(x + side - lock.width, y + 2), keys.at(x + 4, y + 22)]
        parts += [robot.at(x + 4, y + side - 26)] if here else []
        parts.append(marks(scene, place, x + side - 9, y + side - 9, 6))
        return drawing.group(hint(scene, place, "at-robot", "lock-shape", "locked", "open"), parts)

    return Box(side, side, at)


def _padlock(shape: _Shape, locked: bool, partial: bool) -> Box:
    """A lock with the shape's letter, its shackle closed, swung open, or left out where it may be either."""
    shackle = "M{} {}v-2a4 4 0 0 1 8 0v2" if locked else "" if partial else "M{} {}v-3a4 4 0 0 1 8 0v2"

    def at(x: float, y: float) -> str:
        look = {"stroke": "currentColor", "stroke_width": 1.5}
        bow = drawing.path(shackle.format(x + (4 if locked else 11), y + 7), fill="none", **look)
        body = drawing.rect(x, y + 7, 16, 12, rx=2, fill=shape.colour.fill, stroke="currentColor")
        return "".join([bow if shackle else "", body, _lettered(shape, x + 8, y + 16.5, shape.colour.ink)])

    return Box(22, 19, at)


def _robot() -> Box:
    """The robot: a head with two eyes."""

    def at(x: float, y: float) -> str:
        head = drawing.rect(x, y, 24, 22, rx=6, fill=ROBOT.fill, stroke="currentColor")
        eyes = [drawing.circle(x + dx, y + 9, 2, fill=ROBOT.ink) for dx in (8, 16)]
        mouth = drawing.line(x + 8, y + 16, x + 16, y + 16, stroke=ROBOT.ink, stroke_width=1.5)
        return drawing.group("robot", [head, *eyes, mouth], class_="robot", data_object="robot")

    return Box(24, 22, at)


def _map(cells: Mapping[str, Box], spots: Spots, links: Sequence[tuple[str, str]], side: int) -> Box:
    """The cells where their names tell, with walls between neighbours that are not connected."""
    across, down = (max((spot[axis] for spot in spots.values()), default=-1) + 1 for axis in (0, 1))

    def at(x: float, y: float) -> str:
        parts = [cells[place].at(spot[0] * side, spot[1] * side) for place, spot in spots.items()]
        return drawing.element("g", [*parts, walls(spots, links, side)], transform=f"translate({x} {y})")

    return Box(across * side, down * side, at)


def _arm(scene: Scene, empty: bool, held: Sequence[Box], width: float) -> Box:
    """What the robot holds."""
    if scene.partial and not (empty or held):
        return NOTHING
    said = "arm empty" if empty else "arm:" if held else "arm not empty"
    return flow([_robot(), words(said, 12), *held], width)


def _fits(rows: int, columns: int, shapes: int, keys: int, locks: int | None = None, goals: int | None = None) -> bool:
    """No more shapes than keys, a key for every second place at most, and an open place for the robot."""
    places = rows * columns
    return shapes <= keys <= places / 2 and (locks is None or locks < places) and (goals is None or goals <= keys)


DOMAIN = Domain(
    name="grid",
    title="Grid",
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={
            "rows": (2, None),
            "columns": (2, None),
            "shapes": (1, None),
            "keys": (1, None),
            "locks": (0, None),
            "goals": (1, None),
        },
        count=lambda rows, columns, shapes, keys, locks=0, goals=1: rows * columns + shapes + keys,
        allowed=_fits,
        free=frozenset({"locks", "goals"}),
    ),
    generator=generate,
    words=Words(
        atoms={
            "arm-empty": "the robot's arm is {not}empty",
            "at": "{0} is {not}at {1}",
            "at-robot": "the robot is {not}at {0}",
            "conn": "{0} is {not}connected to {1}",
            "holding": "the robot is {not}holding {0}",
            "key-shape": "the shape of {0} is {not}{1}",
            "lock-shape": "the shape of the lock at {0} is {not}{1}",
            "locked": "{0} is {not}locked",
            "open": "{0} is {not}open",
        },
        actions={
            "move": "move from {0} to {1}",
            "pickup": "pick {1} up at {0}",
            "pickup-and-loose": "at {0}, pick {1} up and put {2} down in its place",
            "putdown": "put {1} down at {0}",
            "unlock": "from {0}, unlock {1} with {2}, whose shape is {3}",
        },
    ),
    draw=draw,
    arrange=arrange,
)
