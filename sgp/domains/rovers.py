"""Rovers: rovers sample soil and rock, take images, and send what they found to a lander."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sgp.domains.drawing.boxes import NOTHING, Box, column, equal_frames, flow, paragraph, words
from sgp.domains.drawing.facts import Facts, sorted_out
from sgp.domains.drawing.network import Link, network
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import FLYING, PLAIN, ROBOT, THING, aside, hint, listed, token, whole
from sgp.planning.domain import Domain, Place, Scaling, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.pddl import Atom
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain rover)
  (:requirements :strips :typing)
  (:types rover waypoint store camera mode lander objective - object)
  (:predicates (at ?x - rover ?y - waypoint) (at_lander ?x - lander ?y - waypoint)
               (can_traverse ?r - rover ?x - waypoint ?y - waypoint) (equipped_for_soil_analysis ?r - rover)
               (equipped_for_rock_analysis ?r - rover) (equipped_for_imaging ?r - rover) (empty ?s - store)
               (have_rock_analysis ?r - rover ?w - waypoint) (have_soil_analysis ?r - rover ?w - waypoint)
               (full ?s - store) (calibrated ?c - camera ?r - rover) (supports ?c - camera ?m - mode)
               (visible ?w - waypoint ?p - waypoint) (have_image ?r - rover ?o - objective ?m - mode)
               (communicated_soil_data ?w - waypoint) (communicated_rock_data ?w - waypoint)
               (communicated_image_data ?o - objective ?m - mode) (at_soil_sample ?w - waypoint)
               (at_rock_sample ?w - waypoint) (visible_from ?o - objective ?w - waypoint)
               (store_of ?s - store ?r - rover) (calibration_target ?i - camera ?o - objective)
               (on_board ?i - camera ?r - rover))
  (:action navigate
    :parameters (?x - rover ?y - waypoint ?z - waypoint)
    :precondition (and (can_traverse ?x ?y ?z) (at ?x ?y) (visible ?y ?z))
    :effect (and (at ?x ?z) (not (at ?x ?y))))
  (:action sample_soil
    :parameters (?x - rover ?s - store ?p - waypoint)
    :precondition (and (at ?x ?p) (at_soil_sample ?p) (equipped_for_soil_analysis ?x) (store_of ?s ?x) (empty ?s))
    :effect (and (full ?s) (have_soil_analysis ?x ?p) (not (empty ?s)) (not (at_soil_sample ?p))))
  (:action sample_rock
    :parameters (?x - rover ?s - store ?p - waypoint)
    :precondition (and (at ?x ?p) (at_rock_sample ?p) (equipped_for_rock_analysis ?x) (store_of ?s ?x) (empty ?s))
    :effect (and (full ?s) (have_rock_analysis ?x ?p) (not (empty ?s)) (not (at_rock_sample ?p))))
  (:action drop
    :parameters (?x - rover ?y - store)
    :precondition (and (store_of ?y ?x) (full ?y))
    :effect (and (empty ?y) (not (full ?y))))
  (:action calibrate
    :parameters (?r - rover ?i - camera ?t - objective ?w - waypoint)
    :precondition (and (equipped_for_imaging ?r) (calibration_target ?i ?t) (at ?r ?w) (visible_from ?t ?w)
                       (on_board ?i ?r))
    :effect (calibrated ?i ?r))
  (:action take_image
    :parameters (?r - rover ?p - waypoint ?o - objective ?i - camera ?m - mode)
    :precondition (and (calibrated ?i ?r) (on_board ?i ?r) (equipped_for_imaging ?r) (supports ?i ?m)
                       (visible_from ?o ?p) (at ?r ?p))
    :effect (and (have_image ?r ?o ?m) (not (calibrated ?i ?r))))
  (:action communicate_soil_data
    :parameters (?r - rover ?l - lander ?p - waypoint ?x - waypoint ?y - waypoint)
    :precondition (and (at ?r ?x) (at_lander ?l ?y) (have_soil_analysis ?r ?p) (visible ?x ?y))
    :effect (communicated_soil_data ?p))
  (:action communicate_rock_data
    :parameters (?r - rover ?l - lander ?p - waypoint ?x - waypoint ?y - waypoint)
    :precondition (and (at ?r ?x) (at_lander ?l ?y) (have_rock_analysis ?r ?p) (visible ?x ?y))
    :effect (communicated_rock_data ?p))
  (:action communicate_image_data
    :parameters (?r - rover ?l - lander ?o - objective ?m - mode ?x - waypoint ?y - waypoint)
    :precondition (and (at ?r ?x) (at_lander ?l ?y) (have_image ?r ?o ?m) (visible ?x ?y))
    :effect (communicated_image_data ?o ?m)))
"""

_MODES = ["colour", "high_res", "low_res"]


def generate(rng: Generator, rovers: int, waypoints: int, cameras: int, objectives: int) -> str:
    """A mission of which at least one goal can be reached; all goals are drawn from those that can.

    Each waypoint but the first sees a random earlier one, and half as many further pairs see each other. A rover can
    traverse a tree of half of the waypoints or more, one beside the lander among them, and starts somewhere on it.
    Samples lie at a third of the waypoints; half of what can be communicated is wanted.
    """
    while True:
        text = _mission(rng, rovers, waypoints, cameras, objectives)
        if text is not None:
            return text


def _mission(rng: Generator, rovers: int, waypoints: int, cameras: int, objectives: int) -> str | None:
    """A drawn problem, or None where it has no goal."""
    crafts, places, devices, aims, stores = (
        [f"{word}{number}" for number in range(1, count + 1)]
        for word, count in (
            ("rover", rovers),
            ("waypoint", waypoints),
            ("camera", cameras),
            ("objective", objectives),
            ("store", rovers),
        )
    )
    near = _visibility(rng, waypoints)
    lander = int(rng.integers(waypoints))
    init = [f"(at_lander general {places[lander]})"]
    init += [f"(visible {places[here]} {places[there]})" for here in near for there in sorted(near[here])]
    reach: list[list[int]] = []
    carrier = rng.integers(rovers, size=cameras).tolist()
    equipped = {kind: set(_some(rng, rovers, 0.5)) for kind in ("soil", "rock")}
    for rover, craft in enumerate(crafts):
        tree = _tree(rng, near, lander)
        reach.append(sorted({place for edge in tree for place in edge}))
        for here, there in tree:
            for pair in ((here, there), (there, here)):
                init.append(f"(can_traverse {craft} {places[pair[0]]} {places[pair[1]]})")
        init.append(f"(at {craft} {places[reach[rover][int(rng.integers(len(reach[rover])))]]})")
        init += [f"(equipped_for_{kind}_analysis {craft})" for kind in equipped if rover in equipped[kind]]
        init += [f"(equipped_for_imaging {craft})"] if rover in carrier else []
        init += [f"(store_of {stores[rover]} {craft})", f"(empty {stores[rover]})"]
    goals = []
    for kind in ("soil", "rock"):
        samples = _some(rng, waypoints, 1 / 3)
        init += [f"(at_{kind}_sample {places[place]})" for place in samples]
        reached = {place for rover in equipped[kind] for place in reach[rover]}
        goals += [f"(communicated_{kind}_data {places[place]})" for place in samples if place in reached]
    views = [_some(rng, waypoints, 1 / 3) or [int(rng.integers(waypoints))] for _ in aims]
    init += [f"(visible_from {aim} {places[place]})" for aim, seen in zip(aims, views, strict=True) for place in seen]
    possible: dict[int, set[str]] = {aim: set() for aim in range(objectives)}
    for device, rover in zip(devices, carrier, strict=True):
        modes = [_MODES[mode] for mode in _some(rng, len(_MODES), 0.5) or [int(rng.integers(len(_MODES)))]]
        target = int(rng.integers(objectives))
        init += [f"(on_board {device} {crafts[rover]})", f"(calibration_target {device} {aims[target]})"]
        init += [f"(supports {device} {mode})" for mode in modes]
        if set(views[target]) & set(reach[rover]):
            for aim, seen in enumerate(views):
                possible[aim] |= set(modes) if set(seen) & set(reach[rover]) else set()
    for aim, modes_of in possible.items():
        if modes_of:
            mode = sorted(modes_of)[int(rng.integers(len(modes_of)))]
            goals.append(f"(communicated_image_data {aims[aim]} {mode})")
    if not goals:
        return None
    wanted = [goals[number] for number in _some(rng, len(goals), 0.5)] or [goals[int(rng.integers(len(goals)))]]
    objects = typed(
        {
            "lander": ["general"],
            "mode": _MODES,
            "rover": crafts,
            "store": stores,
            "waypoint": places,
            "camera": devices,
            "objective": aims,
        }
    )
    return problem_pddl(f"rovers-{rovers}-{waypoints}", "rover", objects, init, wanted)


def _some(rng: Generator, count: int, share: float) -> list[int]:
    """The numbers below `count` that were drawn, each with probability `share`."""
    return [number for number in range(count) if rng.random() < share]


def _visibility(rng: Generator, waypoints: int) -> dict[int, set[int]]:
    """Which waypoints each waypoint sees; all are connected, and who sees is seen."""
    near: dict[int, set[int]] = {place: set() for place in range(waypoints)}
    pairs = [(int(rng.integers(place)), place) for place in range(1, waypoints)]
    pairs += [tuple(rng.choice(waypoints, 2, replace=False).tolist()) for _ in range(waypoints // 2)]
    for first, second in pairs:
        near[first].add(second)
        near[second].add(first)
    return near


def _tree(rng: Generator, near: Mapping[int, Collection[int]], lander: int) -> list[tuple[int, int]]:
    """Edges of a random tree of half of the waypoints or more (two at least), grown from one that sees the lander's."""
    first = sorted(near[lander])[int(rng.integers(len(near[lander])))]
    size = int(rng.integers(max(2, (len(near) + 1) // 2), len(near) + 1))
    reached, tree = {first}, list[tuple[int, int]]()
    while len(reached) < size:
        border = [(here, there) for here in sorted(reached) for there in sorted(near[here]) if there not in reached]
        edge = border[int(rng.integers(len(border)))]
        tree.append(edge)
        reached.add(edge[1])
    return tree


def draw(scene: Scene) -> str:
    """Waypoints with their samples and who stands there, rovers with what they carry, objectives with their images.

    Lines join waypoints that see each other, faint ones where no rover can go.
    """
    crafts, places, devices, stores = (scene.typed(kind) for kind in ("rover", "waypoint", "camera", "store"))
    aims, modes, landers = (scene.typed(kind) for kind in ("objective", "mode", "lander"))
    facts, also = sorted_out(
        scene,
        {
            "at": (crafts, places),
            "at_rock_sample": (places,),
            "at_soil_sample": (places,),
            "calibrated": (devices, crafts),
            "communicated_image_data": (aims, modes),
            "communicated_rock_data": (places,),
            "communicated_soil_data": (places,),
            "empty": (stores,),
            "full": (stores,),
            "have_image": (crafts, aims, modes),
            "have_rock_analysis": (crafts, places),
            "have_soil_analysis": (crafts, places),
        },
    )
    there = {place: _waypoint(scene, place, facts) for place in places}
    titles = {
        place: token(scene, place, place, PLAIN, hint(scene, place, "at_soil_sample", "at_rock_sample"), height=20)
        for place in places
    }
    hints = {place: f"waypoint {place}" for place in places}
    frames = equal_frames(titles, there, 116, hints=hints, kind="waypoint")
    ground = network(frames, _links(scene), 80 + 22 * len(crafts) / max(1, len(places)))
    width = max(ground.width, 680)
    fleet = equal_frames(
        {craft: token(scene, craft, craft, ROBOT, hint(scene, craft, "at")) for craft in crafts},
        {craft: _rover(scene, craft, facts) for craft in crafts},
        216,
        hints={craft: f"rover {craft}" for craft in crafts},
        kind="rover",
    )
    sights = equal_frames(
        {aim: token(scene, aim, aim, THING, hint(scene, aim, "communicated_image_data")) for aim in aims},
        {aim: _objective(scene, aim, facts) for aim in aims},
        216,
        hints={aim: f"objective {aim}" for aim in aims},
        kind="objective",
    )
    boarded = {device for device, craft in scene.pairs("on_board") if craft in crafts}
    kept = {store for store, craft in scene.pairs("store_of") if craft in crafts}
    landed = {lander for lander, place in scene.pairs("at_lander") if place in places}
    loose = [
        token(scene, name, name, PLAIN, hint(scene, name, "calibrated", "empty", "full"))
        for group, placed in ((devices, boarded), (stores, kept), (landers, landed))
        for name in group
        if name not in placed
    ]
    also += [Atom("calibrated", pair) for pair in facts["calibrated"] if pair not in scene.pairs("on_board")]
    also += [Atom(kind, store) for kind in ("empty", "full") for store in facts[kind] if store[0] not in kept]
    also += [Atom(kind, (name,)) for kind in ("available", "channel_free") for name in scene.unary(kind)]  # of others
    sent = sum(len(facts[f"communicated_{kind}_data"]) for kind in ("soil", "rock", "image"))
    sentence = (
        f"Rovers with {len(crafts)} rovers, {len(places)} waypoints and {len(aims)} objectives, "
        f"{sent} findings {'to be ' if scene.partial else ''}communicated"
    )
    rows = [ground, *(flow(list(group.values()), width) for group in (fleet, sights)), aside(scene, loose, width)]
    content = column([*rows, listed("modes", modes, width)], gap=14)
    return whole(scene, sentence, content, also)


def _links(scene: Scene) -> list[Link]:
    """Lines between waypoints that see each other, with the rovers that can go there."""
    ways: dict[frozenset[str], list[str]] = {}
    for craft, first, second in scene.tuples("can_traverse", 3):
        names = ways.setdefault(frozenset((first, second)), [])
        names += [craft] if craft not in names else []
    seen = {frozenset(pair): pair for pair in scene.pairs("visible")}
    return [
        Link(*pair, f"{pair[0]} and {pair[1]}: {', '.join(ways.get(both, ['no rover']))}", dashed=both not in ways)
        for both, pair in seen.items()
    ]


def _waypoint(scene: Scene, place: str, facts: Facts) -> Box:
    """Who stands at a waypoint, its samples, and what of it was communicated."""
    crafts = {craft: token(scene, craft, craft, ROBOT, craft, height=18) for craft in scene.typed("rover")}
    landed = [lander for lander, where in scene.pairs("at_lander") if where == place]
    landers = {name: token(scene, name, name, FLYING, f"lander {name}", height=18) for name in landed}
    standing = {craft: crafts[craft] for craft, where in facts["at"] if where == place} | landers
    cell = largest([*crafts.values(), *landers.values()])
    lines = {kind: words(line, 10) for kind, line in _SAID.items() if (place,) in facts[kind]}
    return column([shelved(scene, standing, ("standing", place), 100, cell), _lines(scene, lines, place, 2)], gap=2)


_SAID = {
    "at_soil_sample": "\N{BLACK DIAMOND} soil sample",
    "at_rock_sample": "\N{BLACK DIAMOND} rock sample",
    "communicated_soil_data": "soil data sent",
    "communicated_rock_data": "rock data sent",
}


def _lines(scene: Scene, lines: Mapping[str, Box], about: str, gap: float) -> Box:
    """Lines of words about something, one below the other; in a series each keeps its place."""
    if scene.places is None:
        return column(list(lines.values()), gap)
    return shelved(scene, lines, ("lines", about), 1, Box(96, 14, NOTHING.at), gap)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Rovers keep their slots at waypoints, and what is said of samples, findings and images its lines."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        for predicate in ("at_lander", "at"):
            yield from ((name, ("standing", place)) for name, place in scene.pairs(predicate))
        for kind in _SAID:
            yield from ((kind, ("lines", place)) for place in scene.unary(kind))
        for kind in ("soil", "rock"):
            yield from ((f"{kind} of {of}", ("lines", who)) for who, of in scene.pairs(f"have_{kind}_analysis"))
        yield from ((f"image of {aim} {mode}", ("lines", who)) for who, aim, mode in scene.tuples("have_image", 3))
        yield from ((mode, ("lines", aim)) for aim, mode in scene.pairs("communicated_image_data"))

    return keep_places(scenes, before, where)


def _rover(scene: Scene, craft: str, facts: Facts) -> Box:
    """What a rover can do, its stores and cameras, and its findings."""
    abilities = [kind for kind in ("soil", "rock") if craft in scene.unary(f"equipped_for_{kind}_analysis")]
    abilities += ["images"] if craft in scene.unary("equipped_for_imaging") else []
    lines = [f"for {', '.join(abilities)}"] if abilities else []
    for store in (store for store, owner in scene.pairs("store_of") if owner == craft):
        states = [kind for kind in ("empty", "full") if (store,) in facts[kind]]
        lines.append(" ".join([store, *states]))
    for device in (device for device, owner in scene.pairs("on_board") if owner == craft):
        kinds = [mode for one, mode in scene.pairs("supports") if one == device]
        sharp = ["calibrated"] if (device, craft) in facts["calibrated"] else []
        lines.append(" ".join([device, *kinds, *sharp]))
    found = [
        f"{kind} of {place}"
        for kind in ("soil", "rock")
        for who, place in facts[f"have_{kind}_analysis"]
        if who == craft
    ]
    found += [f"image of {aim} {mode}" for who, aim, mode in facts["have_image"] if who == craft]
    said = [paragraph([line], 200, 10) for line in lines]
    findings = {line: paragraph([f"has {line}"], 200, 10) for line in found}
    return column([*said, _lines(scene, findings, craft, 1)], gap=1)


def _objective(scene: Scene, aim: str, facts: Facts) -> Box:
    """The images of an objective that were sent, and from where it is seen."""
    views: Sequence[str] = [place for one, place in scene.pairs("visible_from") if one == aim]
    lines = {mode: words(f"{mode} image sent", 10) for one, mode in facts["communicated_image_data"] if one == aim}
    seen = [paragraph(["seen from", *views], 200, 10)] if views else []
    return column([_lines(scene, lines, aim, 1), *seen], gap=1)


DOMAIN = Domain(
    name="rovers",
    title="Rovers",
    aliases=("rover",),
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"rovers": (1, None), "waypoints": (2, None), "cameras": (1, None), "objectives": (1, None)},
        # A rover has a store; a lander and three modes are always there (dynamic validation, section 2).
        count=lambda rovers, waypoints, cameras, objectives: 2 * rovers + waypoints + cameras + objectives + 4,
    ),
    scaling=Scaling(train=range(10, 18), validation=range(18, 21), bound=60),  # dynamic validation, Tables 2 and 3
    track=Track(train=(10, 28), validation=(28, 36), test=(12, 596)),
    generator=generate,
    words=Words(
        atoms={
            "at": "{0} is {not}at {1}",
            "at_lander": "{0} is {not}at {1}",
            "can_traverse": "{0} can {not}drive from {1} to {2}",
            "equipped_for_soil_analysis": "{0} is {not}equipped to analyse soil",
            "equipped_for_rock_analysis": "{0} is {not}equipped to analyse rock",
            "equipped_for_imaging": "{0} is {not}equipped to take images",
            "empty": "{0} is {not}empty",
            "have_rock_analysis": "{0} has {not}analysed the rock of {1}",
            "have_soil_analysis": "{0} has {not}analysed the soil of {1}",
            "full": "{0} is {not}full",
            "calibrated": "{0} of {1} is {not}calibrated",
            "supports": "{0} can {not}take images in {1}",
            "visible": "{1} is {not}visible from {0}",
            "have_image": "{0} has {not}taken an image of {1} in {2}",
            "communicated_soil_data": "the soil data of {0} have {not}been sent",
            "communicated_rock_data": "the rock data of {0} have {not}been sent",
            "communicated_image_data": "an image of {0} in {1} has {not}been sent",
            "at_soil_sample": "a sample of soil is {not}at {0}",
            "at_rock_sample": "a sample of rock is {not}at {0}",
            "visible_from": "{0} is {not}visible from {1}",
            "store_of": "{0} is {not}the store of {1}",
            "calibration_target": "{1} is {not}a calibration target of {0}",
            "on_board": "{0} is {not}on board {1}",
        },
        actions={
            "navigate": "drive {0} from {1} to {2}",
            "sample_soil": "sample soil with {0} into {1} at {2}",
            "sample_rock": "sample rock with {0} into {1} at {2}",
            "drop": "empty {1} of {0}",
            "calibrate": "calibrate {1} of {0} on {2} from {3}",
            "take_image": "take an image of {2} in {4} with {3} of {0} from {1}",
            "communicate_soil_data": "send the soil data of {2} from {0} at {3} to {1} at {4}",
            "communicate_rock_data": "send the rock data of {2} from {0} at {3} to {1} at {4}",
            "communicate_image_data": "send the image of {2} in {3} from {0} at {4} to {1} at {5}",
        },
    ),
    others_words=Words(
        atoms={"available": "{0} is {not}available", "channel_free": "the channel of {0} is {not}free"},
    ),
    draw=draw,
    arrange=arrange,
)
