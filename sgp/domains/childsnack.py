"""Childsnack: sandwiches are made, put on trays and served to children, some of whom must not eat gluten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import Box, column, equal_frames, flow, framed, words
from sgp.domains.drawing.facts import Facts, sorted_out
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import DONE, PLAIN, ROBOT, THING, Colour, aside, hint, natural, token, whole
from sgp.planning.domain import Domain, Place, Scaling, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.pddl import Atom
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain childsnack)
  (:requirements :strips :typing :negative-preconditions)
  (:types child bread-portion content-portion sandwich tray place - object)
  (:constants kitchen - place)
  (:predicates (at_kitchen_bread ?b - bread-portion) (at_kitchen_content ?c - content-portion)
               (at_kitchen_sandwich ?s - sandwich) (no_gluten_bread ?b - bread-portion)
               (no_gluten_content ?c - content-portion) (ontray ?s - sandwich ?t - tray)
               (no_gluten_sandwich ?s - sandwich) (allergic_gluten ?c - child) (not_allergic_gluten ?c - child)
               (served ?c - child) (waiting ?c - child ?p - place) (at ?t - tray ?p - place)
               (notexist ?s - sandwich))
  (:action make_sandwich_no_gluten
    :parameters (?s - sandwich ?b - bread-portion ?c - content-portion)
    :precondition (and (at_kitchen_bread ?b) (at_kitchen_content ?c) (no_gluten_bread ?b) (no_gluten_content ?c)
                       (notexist ?s))
    :effect (and (at_kitchen_sandwich ?s) (no_gluten_sandwich ?s) (not (at_kitchen_bread ?b))
                 (not (at_kitchen_content ?c)) (not (notexist ?s))))
  (:action make_sandwich
    :parameters (?s - sandwich ?b - bread-portion ?c - content-portion)
    :precondition (and (at_kitchen_bread ?b) (at_kitchen_content ?c) (notexist ?s))
    :effect (and (at_kitchen_sandwich ?s) (not (at_kitchen_bread ?b)) (not (at_kitchen_content ?c))
                 (not (notexist ?s))))
  (:action put_on_tray
    :parameters (?s - sandwich ?t - tray)
    :precondition (and (at_kitchen_sandwich ?s) (at ?t kitchen))
    :effect (and (ontray ?s ?t) (not (at_kitchen_sandwich ?s))))
  (:action serve_sandwich_no_gluten
    :parameters (?s - sandwich ?c - child ?t - tray ?p - place)
    :precondition (and (allergic_gluten ?c) (ontray ?s ?t) (waiting ?c ?p) (no_gluten_sandwich ?s) (at ?t ?p))
    :effect (and (served ?c) (not (ontray ?s ?t))))
  (:action serve_sandwich
    :parameters (?s - sandwich ?c - child ?t - tray ?p - place)
    :precondition (and (not_allergic_gluten ?c) (waiting ?c ?p) (ontray ?s ?t) (at ?t ?p))
    :effect (and (served ?c) (not (ontray ?s ?t))))
  (:action move_tray
    :parameters (?t - tray ?p1 ?p2 - place)
    :precondition (and (at ?t ?p1) (not (at ?t ?p2)))
    :effect (and (at ?t ?p2) (not (at ?t ?p1)))))
"""

_TABLES = ["table1", "table2", "table3"]


def generate(rng: Generator, children: int, trays: int, sandwiches: int, allergic: int | None = None) -> str:
    """Children at three tables and trays in the kitchen, with one portion of bread and of content for each child.

    `allergic` children (None: drawn uniformly) must not eat gluten; just as many portions are free of it, so that a
    sandwich wasted on another child cannot be replaced.
    """
    if allergic is None:
        allergic = int(rng.integers(children + 1))
    eaters, breads, contents = (
        [f"{word}{number}" for number in range(1, children + 1)] for word in ("child", "bread", "content")
    )
    plates = [f"tray{number}" for number in range(1, trays + 1)]
    snacks = [f"sandw{number}" for number in range(1, sandwiches + 1)]
    init = [f"(at {tray} kitchen)" for tray in plates]
    for portions, kind in ((breads, "bread"), (contents, "content")):
        free = set(rng.choice(children, allergic, replace=False).tolist())
        init += [f"(at_kitchen_{kind} {portion})" for portion in portions]
        init += [f"(no_gluten_{kind} {portion})" for number, portion in enumerate(portions) if number in free]
    careful = set(rng.choice(children, allergic, replace=False).tolist())
    for number, child in enumerate(eaters):
        init.append(f"({'allergic_gluten' if number in careful else 'not_allergic_gluten'} {child})")
        init.append(f"(waiting {child} {_TABLES[int(rng.integers(len(_TABLES)))]})")
    init += [f"(notexist {snack})" for snack in snacks]
    objects = typed(
        {
            "child": eaters,
            "bread-portion": breads,
            "content-portion": contents,
            "tray": plates,
            "place": _TABLES,
            "sandwich": snacks,
        }
    )
    goal = [f"(served {child})" for child in eaters]
    return problem_pddl(f"childsnack-{children}-{allergic}", "childsnack", objects, init, goal)


def _fits(children: int, trays: int, sandwiches: int, allergic: int | None = None) -> bool:
    """Every child gets a sandwich of its own."""
    return sandwiches >= children and (allergic is None or allergic <= children)


def draw(scene: Scene) -> str:
    """The kitchen with its portions and sandwiches, tables with the children who wait there, trays where they are.

    What is free of gluten, and the children who need it so, are discs; a child who is served is green.
    """
    children, trays, places = (scene.typed(kind) for kind in ("child", "tray", "place"))
    snacks, breads, contents = (scene.typed(kind) for kind in ("sandwich", "bread-portion", "content-portion"))
    facts, also = _facts(scene)
    boxes = {snack: _food(scene, snack, "no_gluten_sandwich") for snack in sorted(snacks, key=natural)}
    boxes |= {bread: _food(scene, bread, "no_gluten_bread") for bread in breads}
    boxes |= {content: _food(scene, content, "no_gluten_content") for content in contents}
    cell = largest(boxes.values())
    shelves = [
        _shelf(title, shelved(scene, {name: boxes[name] for (name,) in facts[predicate]}, (predicate,), _ROOM, cell))
        for predicate, title in _SHELVES.items()
        if facts[predicate] or not scene.partial
    ]
    carried = {}
    for tray in trays:
        load = {snack: boxes[snack] for snack, where in facts["ontray"] if where == tray}
        carried[tray] = _tray(scene, tray, load, cell)
    at, tray_cell = set(facts["at"]), largest(carried.values())
    seated = {child: _child(scene, child, facts) for child in sorted(children, key=natural)}
    there = {
        place: column(
            [
                flow([seated[child] for child in seated if (child, place) in facts["waiting"]], _ROOM, 4),
                shelved(
                    scene,
                    {tray: carried[tray] for tray in trays if (tray, place) in at},
                    ("trays", place),
                    _ROOM,
                    tray_cell,
                ),
                *(shelves if place == _KITCHEN else []),
            ],
            gap=8,
        )
        for place in places
    }
    tables = [place for place in places if place != _KITCHEN]
    titles = {place: words(place, 12, font_weight="bold") for place in tables}
    frames = equal_frames(titles, there, _ROOM + 16, hints={place: f"table {place}" for place in tables}, kind="table")
    kinds = (breads, contents, snacks, ())
    full = column([_shelf("all", flow([boxes[name] for name in kind], _ROOM, 4)) for kind in kinds])
    kitchen = framed(
        words(_KITCHEN, 12, font_weight="bold"),
        there.get(_KITCHEN, column(shelves)),
        _ROOM + 16,
        # As if nothing were used up, so that steps do not move the tables; a series tells itself.
        0 if scene.partial or scene.places else full.height + 100,
        hint="the kitchen",
    )
    content = flow([kitchen, column(list(frames.values()), gap=10)], 4 * _ROOM, gap=14)
    lost = {name: box for name, box in {**seated, **carried, **boxes}.items() if name in _lost(scene, facts)}
    spent = shelved(scene, lost, _LOST, content.width - 16, largest([cell, *lost.values()]), gap=6)
    sentence = (
        f"Childsnack with {len(children)} children, {len(facts['served'])} of them "
        f"{'to be ' if scene.partial else ''}served, {len(trays)} trays, {len(facts['ontray'])} sandwiches on trays"
    )
    below = aside(scene, [spent] if spent.height else [], content.width)
    return whole(scene, sentence, column([content, below], gap=12), also)


def _facts(scene: Scene) -> tuple[Facts, list[Atom]]:
    """What is true of whom in the drawing, and what it must say in words."""
    children, trays, places = (scene.typed(kind) for kind in ("child", "tray", "place"))
    snacks, breads, contents = (scene.typed(kind) for kind in ("sandwich", "bread-portion", "content-portion"))
    return sorted_out(
        scene,
        {
            "at": (trays, places),
            "at_kitchen_bread": (breads,),
            "at_kitchen_content": (contents,),
            "at_kitchen_sandwich": (snacks,),
            "no_gluten_sandwich": (snacks,),
            "notexist": (snacks,),
            "ontray": (snacks, trays),
            "served": (children,),
            "waiting": (children, places),
        },
    )


def _lost(scene: Scene, facts: Facts) -> list[str]:
    """What stands nowhere: portions that are used up, and sandwiches that are eaten."""
    somewhere = ("at", "ontray", "waiting", *_SHELVES)
    placed = {objects[0] for predicate in somewhere for objects in facts[predicate]}
    kinds = ("child", "tray", "sandwich", "bread-portion", "content-portion")
    return [name for kind in kinds for name in scene.typed(kind) if name not in placed]


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Portions and sandwiches keep their slots on shelves and trays, trays those at places."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        facts, _ = _facts(scene)
        for predicate in _SHELVES:
            yield from ((name, (predicate,)) for (name,) in facts[predicate])
        yield from ((tray, ("trays", place)) for tray, place in facts["at"])
        yield from ((snack, ("ontray", tray)) for snack, tray in facts["ontray"])
        yield from ((name, _LOST) for name in _lost(scene, facts))

    return keep_places(scenes, before, where)


_SHELVES = {
    "at_kitchen_bread": "bread",
    "at_kitchen_content": "content",
    "at_kitchen_sandwich": "sandwiches",
    "notexist": "sandwiches not yet made",
}
_LOST: Place = ("lost",)
_KITCHEN = "kitchen"
_ROOM = 260  # pixels: the width of the kitchen and of a table
_SERVED = Colour(DONE, "#000000")


def _food(scene: Scene, name: str, without: str) -> Box:
    """A sandwich or portion; a disc where it is free of gluten."""
    said = hint(scene, name, without, "at_kitchen_sandwich", "notexist", "ontray")
    return token(scene, name, name, THING, said, height=20, round_=name in scene.unary(without))


def _child(scene: Scene, name: str, facts: Facts) -> Box:
    """A child: green once served, a disc where it must not eat gluten."""
    said = hint(scene, name, "served", "waiting", "allergic_gluten", "not_allergic_gluten")
    colour = _SERVED if (name,) in facts["served"] else PLAIN
    return token(scene, name, name, colour, said, height=24, round_=name in scene.unary("allergic_gluten"))


def _shelf(title: str, shelf: Box) -> Box:
    return column([words(title, 10), shelf], gap=2)


def _tray(scene: Scene, name: str, sandwiches: Mapping[str, Box], cell: Box) -> Box:
    """A tray: its name, and the sandwiches on it."""
    label = token(scene, name, name, ROBOT, hint(scene, name, "at"), height=20)
    room = _ROOM - 16
    if scene.places is None:
        content = flow([label, *sandwiches.values()], room, gap=4)
    else:
        content = column([label, shelved(scene, sandwiches, ("ontray", name), room, cell)], gap=4)

    def at(x: float, y: float) -> str:
        plate = drawing.path(
            f"M{x:.1f} {y + content.height + 2:.1f}l6 6h{content.width - 4:.1f}l6 -6",
            fill="none",
            stroke="currentColor",
            stroke_width=2,
        )
        return drawing.group(f"tray {name}", [plate, content.at(x + 4, y)], class_="tray", data_object=name)

    return Box(content.width + 8, content.height + 10, at)


DOMAIN = Domain(
    name="childsnack",
    title="Childsnack",
    aliases=("child-snack",),
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"children": (1, None), "trays": (1, None), "sandwiches": (1, None), "allergic": (0, None)},
        # A child has a portion of bread and one of content; three tables, the kitchen is the domain's (dynamic
        # validation, section 2).
        count=lambda children, trays, sandwiches, allergic=None: 3 * children + trays + sandwiches + 3,
        allowed=_fits,
        free=frozenset({"allergic"}),
    ),
    scaling=Scaling(train=range(8, 16), validation=range(16, 19), bound=15),  # dynamic validation, Tables 2 and 3
    # Children are many and trays few, as where snacks are served; half as many sandwiches more than are needed at most.
    track=Track(
        train=(7, 41),
        validation=(41, 52),
        test=(21, 1327),
        only=lambda children, trays, sandwiches, **free: trays <= children and 2 * sandwiches <= 3 * children,
    ),
    generator=generate,
    words=Words(
        atoms={
            "at_kitchen_bread": "{0} is {not}in the kitchen",
            "at_kitchen_content": "{0} is {not}in the kitchen",
            "at_kitchen_sandwich": "{0} is {not}in the kitchen",
            "no_gluten_bread": "{0} is {not}free of gluten",
            "no_gluten_content": "{0} is {not}free of gluten",
            "no_gluten_sandwich": "{0} is {not}free of gluten",
            "ontray": "{0} is {not}on {1}",
            "allergic_gluten": "{0} is {not}allergic to gluten",
            "not_allergic_gluten": "{0} can {not}eat gluten",
            "served": "{0} is {not}served",
            "waiting": "{0} is {not}waiting at {1}",
            "at": "{0} is {not}at {1}",
            "notexist": "{0} is {not}still to be made",
        },
        actions={
            "make_sandwich_no_gluten": "make {0} without gluten from {1} and {2}",
            "make_sandwich": "make {0} from {1} and {2}",
            "put_on_tray": "put {0} on {1}",
            "serve_sandwich_no_gluten": "serve {0} without gluten from {2} to {1} at {3}",
            "serve_sandwich": "serve {0} from {2} to {1} at {3}",
            "move_tray": "move {0} from {1} to {2}",
        },
    ),
    draw=draw,
    arrange=arrange,
)
