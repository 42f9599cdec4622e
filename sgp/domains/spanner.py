"""Spanner: a man walks one way from the shed to the gate and must pick up spanners for the nuts there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sgp.domains.drawing.boxes import Box, column, equal_frames, framed, words
from sgp.domains.drawing.facts import sorted_out
from sgp.domains.drawing.network import both_ways, network
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import DONE, PLAIN, ROBOT, THING, Colour, aside, hint, natural, token, whole
from sgp.planning.domain import Domain, Place, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain spanner)
  (:requirements :strips :typing)
  (:types location locatable - object
          man nut spanner - locatable)
  (:predicates (at ?m - locatable ?l - location) (carrying ?m - man ?s - spanner) (usable ?s - spanner)
               (link ?l1 - location ?l2 - location) (tightened ?n - nut) (loose ?n - nut))
  (:action walk
    :parameters (?start - location ?end - location ?m - man)
    :precondition (and (at ?m ?start) (link ?start ?end))
    :effect (and (at ?m ?end) (not (at ?m ?start))))
  (:action pickup_spanner
    :parameters (?l - location ?s - spanner ?m - man)
    :precondition (and (at ?m ?l) (at ?s ?l))
    :effect (and (carrying ?m ?s) (not (at ?s ?l))))
  (:action tighten_nut
    :parameters (?l - location ?s - spanner ?m - man ?n - nut)
    :precondition (and (at ?m ?l) (at ?n ?l) (carrying ?m ?s) (usable ?s) (loose ?n))
    :effect (and (tightened ?n) (not (loose ?n)) (not (usable ?s)))))
"""


def generate(rng: Generator, spanners: int, nuts: int, locations: int) -> str:
    """The man in the shed, spanners at random ones of `locations` places on the way, all nuts at the gate at its end.

    A spanner tightens one nut, and nobody walks back: who leaves too many spanners behind is in a dead end.
    """
    tools, screws, places = (
        [f"{word}{number}" for number in range(1, count + 1)]
        for word, count in (("spanner", spanners), ("nut", nuts), ("location", locations))
    )
    way = ["shed", *places, "gate"]
    init = ["(at bob shed)"]
    for tool in tools:
        init += [f"(at {tool} {places[int(rng.integers(locations))]})", f"(usable {tool})"]
    for screw in screws:
        init += [f"(loose {screw})", f"(at {screw} gate)"]
    init += [f"(link {here} {there})" for here, there in pairwise(way)]
    objects = typed({"man": ["bob"], "spanner": tools, "nut": screws, "location": way})
    goal = [f"(tightened {screw})" for screw in screws]
    return problem_pddl(f"spanner-{spanners}-{nuts}-{locations}", "spanner", objects, init, goal)


def draw(scene: Scene) -> str:
    """Locations with the ways between them, and what is there; a man's frame has the spanners that he carries.

    A spanner that is no longer usable is struck out by brackets and loses its colour; a tightened nut is green.
    """
    men, tools, screws, places = (scene.typed(kind) for kind in ("man", "spanner", "nut", "location"))
    facts, also = sorted_out(
        scene,
        {
            "at": ([*men, *tools, *screws], places),
            "carrying": (men, tools),
            "loose": (screws,),
            "tightened": (screws,),
            "usable": (tools,),
        },
    )
    usable, tight, loose = ({name for (name,) in facts[kind]} for kind in ("usable", "tightened", "loose"))
    spanners = {tool: _spanner(scene, tool, tool in usable) for tool in sorted(tools, key=natural)}
    nuts = {screw: _nut(scene, screw, screw in tight, screw in loose) for screw in sorted(screws, key=natural)}
    cell = largest(_spanner(scene, tool, usable=False) for tool in tools)  # with the brackets that may come
    wide = max(_PLACE, 2 * cell.width + 40) if scene.places else _PLACE  # in a man's frame two side by side
    crew = {}
    for man in men:
        carried = {tool: spanners[tool] for tool in tools if (man, tool) in facts["carrying"]}
        crew[man] = _man(scene, man, shelved(scene, carried, ("carrying", man), wide - 36, cell))
    shapes, at = {**spanners, **nuts, **crew}, set(facts["at"])
    cells = {"men": largest(crew.values()), "nuts": largest(_nut(scene, screw, False, True) for screw in screws)}

    def standing(place: str, kind: str, those: Mapping[str, Box]) -> Box:
        here = {name: box for name, box in those.items() if (name, place) in at}
        return shelved(scene, here, (kind, place), wide - 16, cells.get(kind, cell))

    kinds = {"men": crew, "spanners": spanners, "nuts": nuts}
    there = {place: column([standing(place, kind, those) for kind, those in kinds.items()]) for place in places}
    titles = {place: words(place, 11) for place in places}
    hints = {place: f"location {place}" for place in places}
    frames = equal_frames(titles, there, wide, hints=hints, kind="location")
    content = network(frames, both_ways(scene.pairs("link"), "way"), 110)
    placed = {name for name, _ in facts["at"]} | {tool for _, tool in facts["carrying"]}
    lost = aside(scene, [box for name, box in shapes.items() if name not in placed], max(content.width, 260))
    sentence = (
        f"Spanner with {len(places)} locations, {len(tools)} spanners, {len(facts['carrying'])} of them carried, and "
        f"{len(screws)} nuts, {len(facts['tightened'])} of them {'to be ' if scene.partial else ''}tightened"
    )
    return whole(scene, sentence, column([content, lost], gap=12), also)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Men, spanners and nuts keep their slots in locations, spanners those in a man's hands."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        kinds = {name: f"{kind}s" for kind in ("spanner", "nut") for name in scene.typed(kind)}
        for name, place in sorted(scene.pairs("at"), key=lambda pair: natural(pair[0])):
            yield name, (kinds.get(name, "men"), place)
        yield from ((tool, ("carrying", man)) for man, tool in scene.pairs("carrying"))

    return keep_places(scenes, before, where)


_PLACE = 170  # pixels: the least width of a location
_TIGHT = Colour(DONE, "#000000")


def _spanner(scene: Scene, name: str, usable: bool) -> Box:
    said = hint(scene, name, "at", "usable")
    used_up = not usable and not scene.partial
    return token(scene, name, f"({name})" if used_up else name, THING if usable else PLAIN, said, height=20)


def _nut(scene: Scene, name: str, tight: bool, loose: bool) -> Box:
    """A nut: a disc, green where it is tightened; what is said besides stands in its label."""
    said = hint(scene, name, "at", "loose", "tightened")
    label = f"{name} loose" if loose else name
    return token(scene, name, label, _TIGHT if tight else PLAIN, said, height=20, round_=True)


def _man(scene: Scene, name: str, carried: Box) -> Box:
    """A man with the spanners that he carries."""
    label = token(scene, name, name, ROBOT, hint(scene, name, "at", "carrying"), height=22)
    return framed(label, carried, hint=f"man {name}", class_="man", data_object=name)


DOMAIN = Domain(
    name="spanner",
    title="Spanner",
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"spanners": (1, None), "nuts": (1, None), "locations": (1, None)},
        # A man, the shed and the gate are always there.
        count=lambda spanners, nuts, locations: spanners + nuts + locations + 3,
        allowed=lambda spanners, nuts, locations: spanners >= nuts,
    ),
    track=Track(train=(6, 22), validation=(22, 28), test=(9, 833)),
    generator=generate,
    words=Words(
        atoms={
            "at": "{0} is {not}at {1}",
            "carrying": "{0} is {not}carrying {1}",
            "usable": "{0} is {not}usable",
            "link": "{0} is {not}linked to {1}",
            "tightened": "{0} is {not}tightened",
            "loose": "{0} is {not}loose",
        },
        actions={
            "walk": "let {2} walk from {0} to {1}",
            "pickup_spanner": "let {2} pick {1} up at {0}",
            "tighten_nut": "let {2} tighten {3} with {1} at {0}",
        },
    ),
    draw=draw,
    arrange=arrange,
)
