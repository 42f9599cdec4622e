"""Gripper: a robot with two grippers carries balls from one room to another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, sqrt

from sgp import drawing
from sgp.domains import builtin_domain
from sgp.domains.domain import Generator, Scene, Slots, problem_pddl
from sgp.domains.drawing.boxes import Box, breadth, column, flow, framed, words
from sgp.domains.drawing.tokens import OBJECT_COLOUR, ROBOT, WIDEST, aside, fingers, hint, natural, token, whole
from sgp.planning.pddl import Atom


def generate(rng: Generator, balls: int, delivered: int = 0) -> str:
    """Place the robot and all but `delivered` balls, in random order, in a room; the goal is the other room."""
    names = [f"ball{number + 1}" for number in rng.permutation(balls)]
    init = ["(room rooma)", "(room roomb)", "(gripper left)", "(gripper right)"]
    init += [f"(ball {name})" for name in names]
    init += ["(at-robby rooma)", "(free left)", "(free right)"]
    init += [f"(at {name} {'roomb' if place < delivered else 'rooma'})" for place, name in enumerate(names)]
    goal = [f"(at {name} roomb)" for name in names]
    return problem_pddl(f"gripper-{balls}", "gripper", ["rooma", "roomb", "left", "right", *names], init, goal)


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """Return the robot's room; a ball's room, or -j in gripper j; a gripper's ball j or 0 (state-centric, Table 6)."""
    values = {}
    for predicate, names in atoms:
        if predicate == "at-robby":
            values[0] = number[names[0]]
        elif predicate == "at":
            values[number[names[0]]] = number[names[1]]
        elif predicate == "carry":
            ball, gripper = (number[name] for name in names)
            values[ball], values[gripper] = -gripper, ball
        elif predicate == "free":
            values[number[names[0]]] = 0
    return values


_LETTERS = 20  # pixels: the font size of names


def draw(scene: Scene) -> str:
    """Draw rooms side by side, each with a place for every ball, and the robot in its room.

    Objects without a place are below. Balls named by a word and a number show the number.
    """
    rooms, grippers, robots = scene.unary("room"), scene.unary("gripper"), scene.unary("at-robby")
    balls = sorted((name for name in scene.names if name not in {*rooms, *grippers}), key=natural)
    labels = _short_names(balls)
    widest = max((breadth(label, _LETTERS) + 8 for label in labels.values()), default=0)
    discs = {
        ball: token(
            scene,
            ball,
            label,
            OBJECT_COLOUR,
            hint(scene, ball, "at", "carry"),
            height=26,
            width=widest,
            round_=True,
            letters=_LETTERS,
        )
        for ball, label in labels.items()
    }
    at, carry = scene.pairs("at"), scene.pairs("carry")
    robot = _robot(scene, grippers, discs)
    frames, there = [], set(at)
    for room in rooms:
        inside = [ball if (ball, room) in there else "" for ball in balls]
        strip = Box(robot.width, robot.height, robot.at if room in robots else lambda x, y: "")
        content = column([_shelf(inside, discs), strip], gap=10)
        frames.append(framed(words(room, _LETTERS, font_weight="bold"), content, hint=hint(scene, room), class_="room"))
    content = flow(frames, max([WIDEST, *(frame.width for frame in frames)]), gap=14)
    placed = {ball for ball, room in at if room in rooms} | {ball for ball, gripper in carry if gripper in grippers}
    lost = [discs[ball] for ball in balls if ball not in placed]
    below = aside(scene, [*([] if set(robots) & set(rooms) else [robot]), *lost], content.width)
    also = [Atom("at", pair) for pair in at if pair[0] not in discs or pair[1] not in rooms]
    also += [Atom("carry", pair) for pair in carry if pair[0] not in discs or pair[1] not in grippers]
    also += [Atom("at-robby", (room,)) for room in robots if room not in rooms]
    also += [Atom("free", (name,)) for name in scene.unary("free") if name not in grippers]
    where = f"the robot in {', '.join(robots)}" if robots else "the robot anywhere"
    sentence = f"Gripper with {len(rooms)} rooms, {len(balls)} balls, {len(carry)} of them carried, {where}"
    return whole(scene, sentence, column([content, below], gap=10), also)


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Shorten names to their numbers if all are the same word of at least three letters and a number."""
    prefix = re.sub(r"\d+$", "", names[0]) if len(names) > 1 else ""
    if len(prefix) >= 3 and all(name.startswith(prefix) and name[len(prefix) :].isdecimal() for name in names):
        return {name: name[len(prefix) :] for name in names}
    return {name: name for name in names}


def _shelf(inside: Sequence[str], discs: Mapping[str, Box]) -> Box:
    """Draw the places of all balls; an empty place is ""."""
    pitch = max((disc.width for disc in discs.values()), default=26) + 4
    columns = max(5, ceil(sqrt(len(inside) * 1.5)))

    def at(x: float, y: float) -> str:
        return "".join(
            discs[ball].at(x + place % columns * pitch, y + place // columns * 30)
            for place, ball in enumerate(inside)
            if ball
        )

    return Box(columns * pitch - 4, max(1, ceil(len(inside) / columns)) * 30, at)


def _robot(scene: Scene, grippers: Sequence[str], discs: Mapping[str, Box]) -> Box:
    """Draw the robot and its grippers."""
    claws = [_claw(scene, gripper, discs) for gripper in grippers]

    def body(x: float, y: float) -> str:
        plate = drawing.rect(x, y, 66, 34, rx=8, fill=ROBOT.fill, stroke="currentColor")
        wheels = [drawing.circle(x + dx, y + 38, 5, fill="currentColor") for dx in (14, 52)]
        label = drawing.text("robot", x + 33, y + 23, text_anchor="middle", font_size=_LETTERS, fill=ROBOT.ink)
        return drawing.group("robot", [plate, *wheels, label], class_="robot", data_object="robot")

    return flow([Box(66, 44, body), *claws], WIDEST / 2, gap=6)


def _claw(scene: Scene, gripper: str, discs: Mapping[str, Box]) -> Box:
    """Draw a gripper: spread fingers if it is free, or closed around the held balls."""
    held = [ball for ball, where in scene.pairs("carry") if where == gripper and ball in discs]
    free = gripper in scene.unary("free")
    content = flow([discs[ball] for ball in held], WIDEST / 2, gap=2)
    widest = max((disc.width for disc in discs.values()), default=0)  # the width is the same with and without a ball
    width = max(content.width, breadth(gripper, _LETTERS), breadth("free", _LETTERS), widest) + 14

    def at(x: float, y: float) -> str:
        claw = fingers(x + 4, x + width - 4, y + 20, y + 44, y + 52, 4 if free else -5)
        name = drawing.text(gripper, x + width / 2, y + 13, text_anchor="middle", font_size=_LETTERS)
        status = " and ".join([*(["free"] if free else []), *(f"holds {ball}" for ball in held)])
        said = drawing.text("free", x + width / 2, y + 24 + 0.8 * _LETTERS, text_anchor="middle", font_size=_LETTERS)
        inner = content.at(x + (width - content.width) / 2, y + 24) if held else said if free else ""
        return drawing.group(f"{gripper}: {status or 'closed'}", [claw, name, inner])

    return Box(width, 54, at)


DOMAIN = builtin_domain(
    "gripper",
    generate,
    count=lambda balls, delivered=0: balls + 4,
    allowed=lambda balls, delivered=0: delivered < balls,
    slots=Slots(slot_values, has_global=True),
    draw=draw,
)
