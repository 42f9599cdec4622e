"""How objects look, the marks of goals that hold, and the frame around a whole scene."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, SMALLEST, Box, breadth, column, flow, framed, paragraph, shortened, words
from sgp.planning.domain import Scene
from sgp.planning.pddl import Atom, Literal


@dataclass(frozen=True)
class Colour:
    """A filling, and the ink that can be read on it (a contrast of at least 4.5)."""

    fill: str
    ink: str


# Okabe and Ito's palette, safe for the colour-blind. Lines are drawn in the colour of the surrounding text, so that
# all shapes can be seen on a light and on a dark ground; a kind of object has a shape or a label besides its colour.
OBJECT_COLOUR = Colour("#e69f00", "#000000")
ROBOT = Colour("#0072b2", "#ffffff")
FLYING = Colour("#cc79a7", "#000000")
PLAIN = Colour("none", "currentColor")
DONE = "#009e73"
COLOURS = {
    "orange": OBJECT_COLOUR,
    "blue": ROBOT,
    "pink": FLYING,
    "green": Colour(DONE, "#000000"),
    "plain": PLAIN,
    "place": PLAIN,
    "shaded": PLAIN,
    "white": Colour("#ffffff", "#000000"),
    "black": Colour("#404040", "#ffffff"),
    "brown": Colour("#c49a6c", "#000000"),
    "grey": Colour("#9ca3af", "#000000"),
    "yellow": Colour("#f0e442", "#000000"),
    "sky": Colour("#56b4e9", "#000000"),
}
PALETTE = ("white", "black", "pink", "green", "orange", "sky", "yellow")
WIDEST = 1160  # pixels after which drawings begin another row


def natural(name: str) -> tuple[object, ...]:
    """A sort key by which b2 comes before b10."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part)


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Labels of names: their numbers alone where all are one word, of three letters or more, and a number."""
    prefix = re.sub(r"\d+$", "", names[0]) if len(names) > 1 else ""
    if len(prefix) >= 3 and all(name.startswith(prefix) and name[len(prefix) :].isdecimal() for name in names):
        return {name: name[len(prefix) :] for name in names}
    return {name: name for name in names}


def hint(scene: Scene, name: str, *predicates: str) -> str:
    """An object in words: which of these predicates are true of it, and what its goal asks for."""
    true = [_words(atom) for atom in scene.about.get(name, ()) if atom.predicate in predicates]
    said = f"{name}: {', '.join(true)}" if true else name
    wishes = scene.wishes.get(name, ())
    if not wishes:
        return said
    return f"{said}; goal: " + ", ".join(
        f"{_words(wish.atom)} ({'holds' if scene.holds(wish) else 'open'})" for wish in wishes
    )


def _words(atom: Atom) -> str:
    return " ".join((atom.predicate, *atom.objects[1:]))


def check(x: float, y: float, radius: float, wish: str) -> str:
    """The mark of one part of the goal that holds: a check in a disc around (x, y)."""
    step = radius / 2
    tick = f"M{x - step:.1f} {y:.1f}l{step * 0.7:.1f} {step * 0.8:.1f} {step * 1.3:.1f} {-step * 1.5:.1f}"
    disc = drawing.circle(x, y, radius, fill=DONE, stroke="#ffffff", stroke_width=1)
    mark = drawing.path(tick, fill="none", stroke="#ffffff", stroke_width=max(1.5, radius / 3.5))
    return drawing.group(f"goal holds: {wish}", [disc, mark], class_="goal-holds")


def marks(scene: Scene, name: str, right: float, y: float, radius: float) -> str:
    """A check for each part of an object's goal that holds, leftwards from a right end."""
    held = [wish for wish in scene.wishes.get(name, ()) if scene.holds(wish)]
    return "".join(check(right - number * radius * 1.5, y, radius, str(wish.atom)) for number, wish in enumerate(held))


def outline(scene: Scene, name: str) -> dict[str, object]:
    """An object's outline: thick and green once all of its goal holds."""
    wishes = scene.wishes.get(name, ())
    if wishes and all(map(scene.holds, wishes)):
        return {"stroke": DONE, "stroke_width": 3}
    return {"stroke": "currentColor", "stroke_width": 1}


def token(
    scene: Scene,
    name: str,
    label: str,
    colour: Colour,
    said: str,
    *,
    height: float = 22,
    width: float = 0,
    round_: bool = False,
) -> Box:
    """An object as a labelled box, or a disc, at least of a width; `said` shows where the pointer rests.

    It carries the object's name, by which the player moves it from one drawing to the next.
    """
    size = max(float(SMALLEST), min(12.0, height - 7))
    wide = min(max(width, height, breadth(label, size) + 10), 220)

    def at(x: float, y: float) -> str:
        shape = drawing.rect(
            x, y, wide, height, rx=height / 2 if round_ else 3, fill=colour.fill, **outline(scene, name)
        )
        shown = shortened(label, wide - 6, size)
        middle = y + height / 2 + size * 0.36
        line = drawing.text(shown, x + wide / 2, middle, text_anchor="middle", font_size=size, fill=colour.ink)
        radius = min(6.0, height * 0.3)
        return drawing.group(said, [shape, line, marks(scene, name, x + wide - 1, y + 1, radius)], data_object=name)

    return Box(wide, height, at)


def listed(title: str, names: Sequence[str], width: float) -> Box:
    """Objects that have no place of their own: sizes, modes."""
    return paragraph([f"{title}:", *names], width, 10)


def aside(scene: Scene, boxes: Sequence[Box], width: float) -> Box:
    """Objects of which the atoms do not say where they are."""
    if not boxes:
        return NOTHING
    title = "anywhere" if scene.partial else "nowhere"
    return framed(words(title, 11), flow(boxes, width - 16), width, hint=title, dashed=True)


def notes(scene: Scene, also: Iterable[Atom], width: float) -> Box:
    """What has no shape, in words: further atoms, and the parts of the goal that belong to no object."""
    lines = [paragraph(["also true:", *map(str, also)], width)] if (also := tuple(also)) else []
    drawn = {wish for wishes in scene.wishes.values() for wish in wishes}
    for wish in scene.goal:
        if scene.partial and not wish.positive:
            lines.append(paragraph([f"must not hold: {wish.atom}"], width))
        elif not scene.partial and wish not in drawn:
            said = str(wish.atom) if wish.positive else f"not {wish.atom}"
            lines.append(_wish(scene, wish, said, width))
    return column(lines, gap=2)


def _wish(scene: Scene, wish: Literal, said: str, width: float) -> Box:
    line = words(shortened(f"goal: {said}", width - 20, 11), 11)

    def at(x: float, y: float) -> str:
        done = scene.holds(wish)
        disc = drawing.circle(x + 6, y + 8, 6, fill="none", stroke="currentColor", stroke_opacity=0.6)
        return (check(x + 6, y + 8, 6, said) if done else disc) + line.at(x + 18, y)

    return Box(line.width + 18, line.height, at)


def whole(scene: Scene, sentence: str, content: Box, also: Iterable[Atom] = ()) -> str:
    """The SVG of a scene: its content, what has no shape, and how much of the goal holds."""
    margin = 12
    width = max(content.width, 260)
    parts = [content, notes(scene, also, width)]
    if scene.goal and not scene.partial:
        held = sum(map(scene.holds, scene.goal))
        count = f"goals that hold: {held} of {len(scene.goal)}"
        sentence = f"{sentence}; {count}"
        parts.append(words(count, 12, class_="goal-count"))
    stack = column(parts, gap=10)
    return drawing.picture(
        round(max(stack.width, 120 if scene.partial else width) + 2 * margin),
        round(stack.height + 2 * margin),
        [stack.at(margin, margin)],
        f"Goal: {sentence}" if scene.partial else sentence,
        class_="scene",
        fill="currentColor",
    )
