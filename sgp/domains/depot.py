"""Depot: hoists stack crates on pallets, and trucks carry them between depots and distributors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import Box, breadth, column, equal_frames, flow, shortened, tiled, words
from sgp.domains.drawing.facts import Facts, sorted_out
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import FLYING, PLAIN, ROBOT, THING, aside, hint, listed, natural, token, whole
from sgp.planning.domain import Domain, Place, Scene, Sizes, problem_pddl, typed
from sgp.planning.pddl import Atom
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain depots)
  (:requirements :strips :typing)
  (:types place locatable - object
          depot distributor - place
          truck hoist surface - locatable
          pallet crate - surface)
  (:predicates (at ?x - locatable ?y - place) (on ?x - crate ?y - surface) (in ?x - crate ?y - truck)
               (lifting ?x - hoist ?y - crate) (available ?x - hoist) (clear ?x - surface))
  (:action drive
    :parameters (?x - truck ?y - place ?z - place)
    :precondition (at ?x ?y)
    :effect (and (at ?x ?z) (not (at ?x ?y))))
  (:action lift
    :parameters (?x - hoist ?y - crate ?z - surface ?p - place)
    :precondition (and (at ?x ?p) (available ?x) (at ?y ?p) (on ?y ?z) (clear ?y))
    :effect (and (lifting ?x ?y) (clear ?z) (not (at ?y ?p)) (not (clear ?y)) (not (available ?x)) (not (on ?y ?z))))
  (:action drop
    :parameters (?x - hoist ?y - crate ?z - surface ?p - place)
    :precondition (and (at ?x ?p) (at ?z ?p) (clear ?z) (lifting ?x ?y))
    :effect (and (available ?x) (at ?y ?p) (clear ?y) (on ?y ?z) (not (lifting ?x ?y)) (not (clear ?z))))
  (:action load
    :parameters (?x - hoist ?y - crate ?z - truck ?p - place)
    :precondition (and (at ?x ?p) (at ?z ?p) (lifting ?x ?y))
    :effect (and (in ?y ?z) (available ?x) (not (lifting ?x ?y))))
  (:action unload
    :parameters (?x - hoist ?y - crate ?z - truck ?p - place)
    :precondition (and (at ?x ?p) (at ?z ?p) (available ?x) (in ?y ?z))
    :effect (and (lifting ?x ?y) (not (in ?y ?z)) (not (available ?x)))))
"""


def generate(
    rng: Generator,
    depots: int,
    distributors: int,
    trucks: int,
    pallets: int,
    hoists: int,
    crates: int,
    goals: int | None = None,
) -> str:
    """A pallet and a hoist at every place, further ones and trucks at random places, crates in random piles.

    Another arrangement of the crates is drawn likewise, and what `goals` of them (None: all) stand on there is wanted.
    Every problem has a plan: a truck holds any number of crates and every place has a hoist, so that one truck can
    fetch all crates, then bring each to its place in the other arrangement, the lowest ones first.
    """
    stores, shops, vehicles, bases, cranes, boxes = (
        [f"{word}{number}" for number in range(1, count + 1)]
        for word, count in (
            ("depot", depots),
            ("distributor", distributors),
            ("truck", trucks),
            ("pallet", pallets),
            ("hoist", hoists),
            ("crate", crates),
        )
    )
    places = [*stores, *shops]
    above = _arranged(rng, bases, boxes)
    init = [f"(available {crane})" for crane in cranes]
    init += [f"(at {name} {place})" for name, place in _spread(rng, cranes, places).items()]
    init += [f"(at {name} {places[int(rng.integers(len(places)))]})" for name in vehicles]
    for base, place in _spread(rng, bases, places).items():
        init += [f"(at {name} {place})" for name in _pile(above, base)]
    init += [f"(clear {surface})" for surface in (*bases, *boxes) if surface not in above]
    start = _on(above)
    goal = start
    while set(goal) <= set(start):
        wanted = _on(_arranged(rng, bases, boxes))
        goal = [wanted[number] for number in sorted(rng.choice(crates, goals or crates, replace=False).tolist())]
    objects = typed(
        {"depot": stores, "distributor": shops, "truck": vehicles, "pallet": bases, "hoist": cranes, "crate": boxes}
    )
    name = f"depot-{depots}-{distributors}-{trucks}-{pallets}-{hoists}-{crates}"
    return problem_pddl(name, "depots", objects, init + start, goal)


def _spread(rng: Generator, names: Sequence[str], places: Sequence[str]) -> dict[str, str]:
    """Where things stand: one at each place, the others at random ones."""
    further = rng.integers(len(places), size=len(names) - len(places)).tolist()
    return dict(zip(names, [*places, *(places[number] for number in further)], strict=True))


def _arranged(rng: Generator, pallets: Sequence[str], crates: Sequence[str]) -> dict[str, str]:
    """What stands on each surface that is not clear, uniform over all arrangements of the crates.

    One crate after the other comes between a surface, each as likely as another, and what stands there.
    """
    surfaces, above = list(pallets), dict[str, str]()
    for crate in crates:
        surface = surfaces[int(rng.integers(len(surfaces)))]
        if surface in above:
            above[crate] = above[surface]
        above[surface] = crate
        surfaces.append(crate)
    return above


def _on(above: Mapping[str, str]) -> list[str]:
    """What crates stand on, as facts in the order of the crates."""
    return sorted((f"(on {crate} {surface})" for surface, crate in above.items()), key=natural)


def _pile(above: Mapping[str, str], lowest: str) -> list[str]:
    """A surface and all that stands on it, from bottom to top."""
    pile = [lowest]
    while pile[-1] in above:
        pile.append(above[pile[-1]])
    return pile


def _fits(
    depots: int, distributors: int, trucks: int, pallets: int, hoists: int, crates: int, goals: int | None = None
) -> bool:
    """Every place has a pallet and a hoist, and not more crates can have goals than there are."""
    return min(pallets, hoists) >= depots + distributors and (goals is None or goals <= crates)


def draw(scene: Scene) -> str:
    """Places with their hoists, piles of crates on pallets, and trucks; a crate says where it is wanted.

    A lifted crate hangs from its hoist, an available hoist shows its hook, and what is clear has a knob. In a goal,
    piles stand above the places that it names, and what it leaves open stands below.
    """
    crates, trucks, hoists = (sorted(scene.typed(kind), key=natural) for kind in ("crate", "truck", "hoist"))
    pallets = sorted([*scene.typed("pallet"), *scene.typed("surface")], key=natural)
    places = [name for kind in ("depot", "distributor", "place") for name in scene.typed(kind)]
    surfaces = [*pallets, *crates]
    facts, also = sorted_out(
        scene,
        {
            "at": ([*surfaces, *trucks, *hoists], places),
            "on": (crates, surfaces),
            "in": (crates, trucks),
            "lifting": (hoists, crates),
            "available": (hoists,),
            "clear": (surfaces,),
        },
    )
    above, further = _standing(facts)
    also += further
    wide = min(max((breadth(f"to {name}", 10) + 12 for name in (*surfaces, *hoists)), default=0), 120)
    room = 2 * wide + 6
    carried = set(above.values())
    taken = {crate for _, crate in facts["lifting"]} | {crate for crate, _ in facts["in"]}
    lowest = [surface for surface in surfaces if surface not in carried]
    shapes = {crate: _crate(scene, crate, wide) for crate in crates}
    shapes |= {pallet: _pallet(scene, pallet, wide) for pallet in pallets}
    clear = {surface for (surface,) in facts["clear"]}
    piles = {name: _piled(_pile(above, name), shapes, clear, wide) for name in (*lowest, *taken)}
    cell = largest(shapes[crate] for crate in crates)
    boxes = {name: _with_room(scene, name, piles[name], cell.height) for name in lowest}
    for hoist in hoists:
        loads = [piles[crate] for one, crate in facts["lifting"] if one == hoist]
        boxes[hoist] = _hoist(scene, hoist, wide, loads, (hoist,) in facts["available"])
    driven = {}
    for truck in trucks:
        cargo = {crate: piles[crate] for crate, one in facts["in"] if one == truck}
        driven[truck] = _truck(scene, truck, room, cargo, cell)
    boxes |= driven
    at = set(facts["at"])
    there = {
        place: column(
            [
                flow(_hung(scene, [boxes[name] for name in hoists if (name, place) in at], cell.height), room),
                flow([boxes[name] for name in lowest if (name, place) in at], room),
                shelved(
                    scene,
                    {name: box for name, box in driven.items() if (name, place) in at},
                    ("trucks", place),
                    room,
                    largest(driven.values()),
                    gap=6,
                ),
            ]
        )
        for place in places
    }
    shown = [place for place in places if there[place].height or not scene.partial]
    titles = {place: words(place, 12, font_weight="bold") for place in shown}
    hints = {name: f"{kind} {name}" for kind in ("depot", "distributor", "place") for name in scene.typed(kind)}
    frames = equal_frames(titles, there, room + 16, hints=hints, kind="place")
    ground = tiled(list(frames.values()), 150 + 36 * len(crates) / max(1, len(places)))
    width = max(ground.width, 400 if scene.partial else 260)
    placed = {name for name, _ in at} | taken
    lost = [name for name in boxes if name not in placed]
    wanted = [name for name in lost if scene.partial and name in above]
    unnamed = [place for place in places if place not in titles]
    content = column(
        [
            flow([boxes[name] for name in wanted], width, 14),
            ground,
            aside(scene, [boxes[name] for name in lost if name not in wanted], width),
            *([listed("places", unnamed, width)] if unnamed else []),
        ],
        gap=14,
    )
    sentence = (
        f"Depot with {len(places)} places, {len(trucks)} trucks, {len(hoists)} hoists and {len(crates)} crates, "
        f"{len(facts['on'])} of them {'to be ' if scene.partial else ''}in piles"
    )
    return whole(scene, sentence, content, also)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Trucks keep their slots at places, crates those in trucks, and a pile has room for the highest on its pallet."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        trucks, below = set(scene.typed("truck")), dict(scene.pairs("on"))
        above = {surface: crate for crate, surface in below.items()}
        yield from ((name, ("trucks", place)) for name, place in scene.pairs("at") if name in trucks)
        yield from ((crate, ("in", truck)) for crate, truck in scene.pairs("in"))
        for pallet in scene.typed("pallet"):
            yield from ((crate, ("on", pallet)) for crate in _pile(above, pallet)[1:])

    return keep_places(scenes, before, where)


def _with_room(scene: Scene, name: str, pile: Box, level: float) -> Box:
    """A pile, in a series below room for what comes onto it: so many crates of a height, on a pallet with a knob."""
    if scene.places is None:
        return pile
    height = max(pile.height, 27 + scene.places.rooms.get(("on", name), 0) * level)
    return Box(pile.width, height, lambda x, y: pile.at(x, y + height - pile.height))


def _standing(facts: Facts) -> tuple[dict[str, str], list[Atom]]:
    """What is seen standing on each surface, and the atoms that such piles cannot show.

    Those are of crates that are said to be elsewhere than what they stand on, that stand on several things or share
    one, and that would close a circle.
    """
    spots: dict[str, set[str]] = {}
    for name, place in facts["at"]:
        spots.setdefault(name, set()).add(place)
    above, carried, also = dict[str, str](), set[str](), list[Atom]()
    for crate, surface in facts["on"]:
        alone = crate not in carried and surface not in above
        if alone and spots.get(crate) == spots.get(surface) and surface not in _pile(above, crate):
            above[surface] = crate
            carried.add(crate)
        else:
            also.append(Atom("on", (crate, surface)))
    return above, also


def _piled(pile: Sequence[str], shapes: Mapping[str, Box], clear: set[str], wide: float) -> Box:
    """A pile, with a knob on what is clear."""

    def at(x: float, y: float) -> str:
        return drawing.rect(x + wide / 2 - 6, y, 12, 4, fill="currentColor", fill_opacity=0.75)

    knob = Box(wide, 4, at)
    return column([box for name in reversed(pile) for box in [*[knob] * (name in clear), shapes[name]]], gap=0)


def _crate(scene: Scene, name: str, wide: float) -> Box:
    """A crate: its name, and what it is wanted on, in or at."""
    wishes = [wish.atom for wish in scene.wishes.get(name, ()) if wish.atom.predicate in ("on", "in", "at")]
    ends = [" ".join(wish.objects[1:]) for wish in wishes]
    look = {"text_anchor": "middle", "fill": THING.ink}
    lines = [words(shortened(name, wide - 6, 12), 12, **look)]
    lines += [words(shortened(f"to {', '.join(ends)}", wide - 6, 10), 10, **look)] if ends else []
    inside = column(lines, gap=0)
    height = inside.height + 6
    shape = token(scene, name, "", THING, hint(scene, name, "at", "on", "in", "clear"), height=height, width=wide)
    return Box(wide, height, lambda x, y: shape.at(x, y) + inside.at(x + wide / 2, y + 2))


def _pallet(scene: Scene, name: str, wide: float) -> Box:
    """A pallet on its three feet."""
    board = token(scene, name, name, PLAIN, hint(scene, name, "at", "clear"), height=18, width=wide)

    def at(x: float, y: float) -> str:
        feet = [
            drawing.rect(left, y + 18, 10, 5, fill="currentColor", fill_opacity=0.6)
            for left in (x + 2, x + wide / 2 - 5, x + wide - 12)
        ]
        return "".join([board.at(x, y), *feet])

    return Box(wide, 23, at)


def _hoist(scene: Scene, name: str, wide: float, loads: Sequence[Box], available: bool) -> Box:
    """A hoist: its rope with what it lifts, and its hook where it is available."""
    said = hint(scene, name, "at", "lifting", "available")
    head = token(scene, name, name, FLYING, said, height=22, width=wide)
    look = {"stroke": "currentColor", "stroke_width": 2, "fill": "none", "stroke_linecap": "round"}
    rope = Box(wide, 8, lambda x, y: drawing.line(x + wide / 2, y, x + wide / 2, y + 8, **look))
    hook = Box(wide, 13, lambda x, y: drawing.path(f"M{x + wide / 2:.1f} {y:.1f}a5 5 0 1 1 -5 5", **look))
    hanging = [*loads, *([hook] if available else [])]
    return column([head, *([] if scene.partial and not hanging else [rope]), *hanging], gap=0)


def _hung(scene: Scene, hoists: Sequence[Box], level: float) -> list[Box]:
    """Hoists as high as the highest of them, or as one that lifts a crate, so that they hang side by side."""
    height = max([*(box.height for box in hoists), 30 + level if scene.places else 0])
    return [Box(box.width, height, box.at) for box in hoists]


def _truck(scene: Scene, name: str, room: float, cargo: Mapping[str, Box], cell: Box) -> Box:
    """A truck on wheels: its name, and the crates in it."""
    label = token(scene, name, name, ROBOT, hint(scene, name, "at"), height=20, width=38)
    if scene.places is None:
        content = flow([label, *cargo.values()], room - 8, gap=4)
    else:
        content = column([label, shelved(scene, cargo, ("in", name), room - 8, cell)], gap=4)

    def at(x: float, y: float) -> str:
        across, down = content.width + 8, content.height + 8
        frame = drawing.rect(x, y, across, down, rx=2, fill="none", stroke="currentColor")
        wheels = [drawing.circle(x + dx, y + down + 1, 3.5, fill="currentColor") for dx in (9, across - 9)]
        return drawing.group(
            f"truck {name}", [frame, *wheels, content.at(x + 4, y + 4)], class_="truck", data_object=name
        )

    return Box(content.width + 8, content.height + 14, at)


DOMAIN = Domain(
    name="depot",
    title="Depot",
    aliases=("depots",),
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={
            "depots": (1, None),
            "distributors": (1, None),
            "trucks": (1, None),
            "pallets": (2, None),
            "hoists": (2, None),
            "crates": (1, None),
            "goals": (1, None),
        },
        count=lambda depots, distributors, trucks, pallets, hoists, crates, goals=None: (
            depots + distributors + trucks + pallets + hoists + crates
        ),
        allowed=_fits,
        free=frozenset({"goals"}),
    ),
    generator=generate,
    words=Words(
        atoms={
            "at": "{0} is {not}at {1}",
            "on": "{0} is {not}on {1}",
            "in": "{0} is {not}in {1}",
            "lifting": "{0} is {not}lifting {1}",
            "available": "{0} is {not}available",
            "clear": "{0} is {not}clear",
        },
        actions={
            "drive": "drive {0} from {1} to {2}",
            "lift": "lift {1} off {2} with {0} at {3}",
            "drop": "lower {1} onto {2} with {0} at {3}",
            "load": "load {1} into {2} with {0} at {3}",
            "unload": "unload {1} from {2} with {0} at {3}",
        },
    ),
    draw=draw,
    arrange=arrange,
)
