"""Satellite: satellites turn their instruments to directions and take images in several modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains.drawing.boxes import Box, column, equal_frames, flow, framed, paragraph, tiled, words
from sgp.domains.drawing.facts import Facts, sorted_out
from sgp.domains.drawing.series import keep_places, largest, shelved
from sgp.domains.drawing.tokens import FLYING, PLAIN, ROBOT, THING, Colour, aside, hint, listed, token, whole
from sgp.planning.domain import Domain, Place, Scaling, Scene, Sizes, Track, problem_pddl, typed
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

TYPED = """\
(define (domain satellite)
  (:requirements :strips :typing :negative-preconditions)
  (:types satellite direction instrument mode - object)
  (:predicates (on_board ?i - instrument ?s - satellite) (supports ?i - instrument ?m - mode)
               (pointing ?s - satellite ?d - direction) (power_avail ?s - satellite) (power_on ?i - instrument)
               (calibrated ?i - instrument) (have_image ?d - direction ?m - mode)
               (calibration_target ?i - instrument ?d - direction))
  (:action turn_to
    :parameters (?s - satellite ?d_new - direction ?d_prev - direction)
    :precondition (and (pointing ?s ?d_prev) (not (pointing ?s ?d_new)))
    :effect (and (pointing ?s ?d_new) (not (pointing ?s ?d_prev))))
  (:action switch_on
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on_board ?i ?s) (power_avail ?s))
    :effect (and (power_on ?i) (not (calibrated ?i)) (not (power_avail ?s))))
  (:action switch_off
    :parameters (?i - instrument ?s - satellite)
    :precondition (and (on_board ?i ?s) (power_on ?i))
    :effect (and (power_avail ?s) (not (power_on ?i))))
  (:action calibrate
    :parameters (?s - satellite ?i - instrument ?d - direction)
    :precondition (and (on_board ?i ?s) (calibration_target ?i ?d) (pointing ?s ?d) (power_on ?i))
    :effect (calibrated ?i))
  (:action take_image
    :parameters (?s - satellite ?d - direction ?i - instrument ?m - mode)
    :precondition (and (calibrated ?i) (on_board ?i ?s) (supports ?i ?m) (power_on ?i) (pointing ?s ?d))
    :effect (have_image ?d ?m)))
"""


def generate(rng: Generator, satellites: int, instruments: int, modes: int, directions: int) -> str:
    """Every satellite has an instrument, every mode an instrument that supports it; all instruments are off.

    Each direction is wanted in one random mode with probability one half (at least one is), and each satellite is
    wanted pointing to a random direction with probability one quarter.
    """
    crafts, devices, kinds, skies = (
        [f"{word}{number}" for number in range(1, count + 1)]
        for word, count in (
            ("satellite", satellites),
            ("instrument", instruments),
            ("mode", modes),
            ("direction", directions),
        )
    )
    carriers = [*range(satellites), *rng.integers(satellites, size=instruments - satellites).tolist()]
    supported = [{int(rng.integers(modes))} for _ in devices]
    for mode, device in enumerate(rng.integers(instruments, size=modes).tolist()):
        supported[device].add(mode)
    init = []
    for device, carrier, able in zip(devices, carriers, supported, strict=True):
        init += [f"(supports {device} {kinds[mode]})" for mode in sorted(able)]
        init.append(f"(calibration_target {device} {skies[int(rng.integers(directions))]})")
        init.append(f"(on_board {device} {crafts[carrier]})")
    for craft in crafts:
        init += [f"(power_avail {craft})", f"(pointing {craft} {skies[int(rng.integers(directions))]})"]
    wanted = [sky for sky in skies if rng.random() < 0.5] or [skies[int(rng.integers(directions))]]
    goal = [f"(have_image {sky} {kinds[int(rng.integers(modes))]})" for sky in wanted]
    goal += [f"(pointing {craft} {skies[int(rng.integers(directions))]})" for craft in crafts if rng.random() < 0.25]
    objects = typed({"satellite": crafts, "instrument": devices, "mode": kinds, "direction": skies})
    return problem_pddl(f"satellite-{satellites}-{directions}", "satellite", objects, init, goal)


def draw(scene: Scene) -> str:
    """Satellites with their instruments, and directions with the images taken or wanted and who points there.

    An instrument that is on is coloured, one that is calibrated says so; an image that is wanted and not taken is a
    dashed box.
    """
    crafts, devices, kinds, skies = (scene.typed(kind) for kind in ("satellite", "instrument", "mode", "direction"))
    facts, also = sorted_out(
        scene,
        {
            "pointing": (crafts, skies),
            "power_avail": (crafts,),
            "power_on": (devices,),
            "calibrated": (devices,),
            "have_image": (skies, kinds),
        },
    )
    aboard = scene.pairs("on_board")
    boxes = {device: _instrument(scene, device, facts) for device in devices}
    carried = {device for device, craft in aboard if craft in crafts}
    fleet = []
    for craft in crafts:
        inside = [boxes[device] for device, where in aboard if where == craft and device in boxes]
        power = words("power available" if (craft,) in facts["power_avail"] else "", 10)
        name = token(scene, craft, craft, FLYING, hint(scene, craft, "pointing", "power_avail"))
        content = column([power, flow(inside, 360)], gap=4)
        fleet.append(framed(name, content, 110, hint=f"satellite {craft}", class_="satellite"))
    there = {sky: _sights(scene, sky, facts) for sky in skies}
    titles = {sky: token(scene, sky, sky, PLAIN, hint(scene, sky, "have_image")) for sky in skies}
    hints = {sky: f"direction {sky}" for sky in skies}
    frames = equal_frames(titles, there, 112, hints=hints, kind="direction")
    sky = tiled(list(frames.values()), 90)
    width = max(sky.width, 500)
    lost = [boxes[device] for device in devices if device not in carried]
    content = column(
        [flow(fleet, width, 10), sky, aside(scene, lost, width), listed("modes", kinds, width)],
        gap=14,
    )
    sentence = (
        f"Satellite with {len(crafts)} satellites, {len(devices)} instruments, {len(skies)} directions and "
        f"{len(facts['have_image'])} images {'wanted' if scene.partial else 'taken'}"
    )
    return whole(scene, sentence, content, also)


def _instrument(scene: Scene, device: str, facts: Facts) -> Box:
    """An instrument, the modes it supports and its calibration target."""
    on, sharp = (device,) in facts["power_on"], (device,) in facts["calibrated"]
    colour = ROBOT if on else PLAIN
    name = token(scene, device, device, colour, hint(scene, device, "power_on", "calibrated"), width=110)
    left_open = scene.partial and not (on or sharp)
    state = words("" if left_open else ", ".join(["on"] * on + ["calibrated"] * sharp) or "off", 10, font_weight="bold")
    modes = [mode for one, mode in scene.pairs("supports") if one == device]
    targets = [sky for one, sky in scene.pairs("calibration_target") if one == device]
    said = paragraph([*modes, *(f"target {sky}" for sky in targets)], 110, 10)
    return column([name, state, said], gap=2)


def _sights(scene: Scene, sky: str, facts: Facts) -> Box:
    """The satellites that point to a direction, and its images."""
    pointing = {craft: _small(craft, FLYING) for craft, where in facts["pointing"] if where == sky}
    taken = [mode for where, mode in facts["have_image"] if where == sky]
    images = {mode: _small(mode, THING) for mode in taken}
    images |= {mode: _small(mode, PLAIN, dashed=True) for mode in _wished(scene, sky) if mode not in taken}
    crafts, modes = (largest(_small(name, PLAIN) for name in scene.typed(kind)) for kind in ("satellite", "mode"))
    shelves = [(pointing, "pointing", crafts), (images, "images", modes)]
    return column([shelved(scene, boxes, (kind, sky), 96, cell) for boxes, kind, cell in shelves], gap=4)


def _wished(scene: Scene, sky: str) -> list[str]:
    """The modes of the images that are wanted of a direction."""
    wishes = (wish.atom for wish in scene.wishes.get(sky, ()))
    return [wish.objects[1] for wish in wishes if wish.predicate == "have_image"]


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Satellites keep their slots in the directions that they point to, and so do the images of each direction."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        yield from ((craft, ("pointing", sky)) for craft, sky in scene.pairs("pointing"))
        images = [*scene.pairs("have_image"), *((sky, mode) for sky in scene.place for mode in _wished(scene, sky))]
        yield from ((mode, ("images", sky)) for sky, mode in dict.fromkeys(images))

    return keep_places(scenes, before, where)


def _small(label: str, colour: Colour, dashed: bool = False) -> Box:
    """A label in a small box: a satellite that points here, or an image."""
    box = words(label, 10, text_anchor="middle", fill=colour.ink)
    width = box.width + 8

    def at(x: float, y: float) -> str:
        dashes = {"stroke_dasharray": "3 3"} if dashed else {}
        frame = drawing.rect(x, y, width, 18, rx=3, fill=colour.fill, stroke="currentColor", **dashes)
        return drawing.group(f"{label}, wanted" if dashed else label, [frame, box.at(x + width / 2, y + 3)])

    return Box(width, 18, at)


DOMAIN = Domain(
    name="satellite",
    title="Satellite",
    models={"typed": TYPED},
    sizes=Sizes(
        bounds={"satellites": (1, None), "instruments": (1, None), "modes": (1, None), "directions": (2, None)},
        # Satellites, instruments, modes and directions (dynamic validation, section 2).
        count=lambda satellites, instruments, modes, directions: satellites + instruments + modes + directions,
        allowed=lambda satellites, instruments, modes, directions: instruments >= satellites,
    ),
    scaling=Scaling(train=range(8, 16), validation=range(16, 19), bound=39),  # dynamic validation, Tables 2 and 3
    # No more modes than instruments, and no more instruments than directions to look in.
    track=Track(
        train=(5, 32),
        validation=(34, 43),
        test=(11, 402),
        only=lambda satellites, instruments, modes, directions: modes <= instruments <= directions,
    ),
    generator=generate,
    words=Words(
        atoms={
            "on_board": "{0} is {not}on board {1}",
            "supports": "{0} can {not}take images in {1}",
            "pointing": "{0} is {not}pointing at {1}",
            "power_avail": "power is {not}available on {0}",
            "power_on": "{0} is {not}switched on",
            "calibrated": "{0} is {not}calibrated",
            "have_image": "an image of {0} in {1} has {not}been taken",
            "calibration_target": "{1} is {not}a calibration target of {0}",
        },
        actions={
            "turn_to": "turn {0} to {1} from {2}",
            "switch_on": "switch {0} of {1} on",
            "switch_off": "switch {0} of {1} off",
            "calibrate": "calibrate {1} of {0} on {2}",
            "take_image": "take an image of {1} in {3} with {2} of {0}",
        },
    ),
    draw=draw,
    arrange=arrange,
)
