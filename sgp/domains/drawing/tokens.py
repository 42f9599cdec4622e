"""Objects, marks of satisfied goals, and the frame of a whole scene."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sgp import drawing
from sgp.domains.domain import Scene
from sgp.domains.drawing.boxes import NOTHING, SMALLEST, Box, breadth, column, flow, framed, paragraph, shortened, words
from sgp.planning.pddl import Atom


@dataclass(frozen=True)
class Colour:
    """A fill colour, and an ink that is legible on it (contrast of at least 4.5)."""

    fill: str
    ink: str


# Okabe and Ito's palette, safe for the colour-blind. Lines have the colour of the surrounding text, so that all shapes
# are visible on light and dark backgrounds; a kind of object has a shape or a label besides its colour.
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
    """Return a sort key by which b2 comes before b10."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part)


def hint(scene: Scene, name: str, *predicates: str) -> str:
    """Describe an object: which of these predicates are true of it, and its goals."""
    true = [_words(atom) for atom in scene.about.get(name, ()) if atom.predicate in predicates]
    text = f"{name}: {', '.join(true)}" if true else name
    goals = [
        f"{_words(goal.atom)} ({'holds' if scene.holds(goal) else 'open'})" for goal in scene.goals_of.get(name, ())
    ]
    return f"{text}; goal: {', '.join(goals)}" if goals else text


def _words(atom: Atom) -> str:
    return " ".join((atom.predicate, *atom.objects[1:]))


def check(x: float, y: float, radius: float, goal: str) -> str:
    """Draw the mark of a satisfied goal: a check in a disc around (x, y)."""
    step = radius / 2
    tick = f"M{x - step:.1f} {y:.1f}l{step * 0.7:.1f} {step * 0.8:.1f} {step * 1.3:.1f} {-step * 1.5:.1f}"
    disc = drawing.circle(x, y, radius, fill=DONE, stroke="#ffffff", stroke_width=1)
    mark = drawing.path(tick, fill="none", stroke="#ffffff", stroke_width=max(1.5, radius / 3.5))
    return drawing.group(f"goal holds: {goal}", [disc, mark], class_="goal-holds")


def marks(scene: Scene, name: str, right: float, y: float, radius: float) -> str:
    """Draw a check for each satisfied goal of an object, leftwards from `right`."""
    held = [goal for goal in scene.goals_of.get(name, ()) if scene.holds(goal)]
    return "".join(check(right - number * radius * 1.5, y, radius, str(goal.atom)) for number, goal in enumerate(held))


def token(
    scene: Scene,
    name: str,
    label: str,
    colour: Colour,
    title: str,
    *,
    height: float = 22,
    width: float = 0,
    round_: bool = False,
    letters: float = 12,
) -> Box:
    """Draw an object as a labelled box, or a disc, of at least this width; `title` is shown under the pointer.

    The outline is thick and green if all goals of the object hold. The object's name is an attribute, by which the
    player moves it from one drawing to the next.
    """
    size = max(float(SMALLEST), min(letters, height - 5))
    wide = min(max(width, height, breadth(label, size) + 8), 220)
    goals = scene.goals_of.get(name, ())
    done = bool(goals) and all(map(scene.holds, goals))
    outline = {"stroke": DONE, "stroke_width": 3} if done else {"stroke": "currentColor", "stroke_width": 1}

    def at(x: float, y: float) -> str:
        shape = drawing.rect(x, y, wide, height, rx=height / 2 if round_ else 3, fill=colour.fill, **outline)
        shown = shortened(label, wide - 6, size)
        middle = y + height / 2 + size * 0.36
        line = drawing.text(shown, x + wide / 2, middle, text_anchor="middle", font_size=size, fill=colour.ink)
        radius = min(6.0, height * 0.3)
        return drawing.group(title, [shape, line, marks(scene, name, x + wide - 1, y + 1, radius)], data_object=name)

    return Box(wide, height, at)


def fingers(left: float, right: float, top: float, elbow: float, tip: float, bend: float, stem: str = "") -> str:
    """Draw two fingers that hang from y = `top` and bend outwards (or inwards, if negative) from `elbow` to `tip`."""
    steps = f"M{left - bend:.1f} {tip:.1f}L{left:.1f} {elbow:.1f}V{top:.1f}H{right:.1f}V{elbow:.1f}"
    steps += f"L{right + bend:.1f} {tip:.1f}{stem}"
    return drawing.path(steps, fill="none", stroke="currentColor", stroke_width=3, stroke_linejoin="round")


def aside(scene: Scene, boxes: Sequence[Box], width: float) -> Box:
    """Draw the objects without a place in the atoms."""
    if not boxes:
        return NOTHING
    title = "anywhere" if scene.partial else "nowhere"
    return framed(words(title, 20), flow(boxes, width - 16), width, hint=title, dashed=True)


def notes(scene: Scene, also: Iterable[Atom], width: float, letters: float) -> Box:
    """List atoms that are not drawn, and the goals that belong to no object."""
    lines = [paragraph(["also true:", *map(str, also)], width, letters)] if (also := tuple(also)) else []
    drawn = {goal for goals in scene.goals_of.values() for goal in goals}
    for goal in scene.goal:
        if scene.partial and not goal.positive:
            lines.append(paragraph([f"must not hold: {goal.atom}"], width, letters))
        elif not scene.partial and goal not in drawn:
            words_ = str(goal.atom) if goal.positive else f"not {goal.atom}"
            lines.append(_goal_line(scene.holds(goal), words_, width, letters))
    return column(lines, gap=2)


def _goal_line(holds: bool, goal: str, width: float, letters: float) -> Box:
    line = words(shortened(f"goal: {goal}", width - 20, letters), letters)

    def at(x: float, y: float) -> str:
        disc = drawing.circle(x + 6, y + 8, 6, fill="none", stroke="currentColor", stroke_opacity=0.6)
        return (check(x + 6, y + 8, 6, goal) if holds else disc) + line.at(x + 18, y)

    return Box(line.width + 18, line.height, at)


def whole(scene: Scene, sentence: str, content: Box, also: Iterable[Atom] = (), letters: float = 11) -> str:
    """Return the SVG of a scene: its content, atoms that are not drawn (`also`), and the number of satisfied goals."""
    margin = 12
    width = max(content.width, 260)
    parts = [content, notes(scene, also, width, letters)]
    if scene.goal and not scene.partial:
        held = sum(map(scene.holds, scene.goal))
        count = f"satisfied goals: {held} of {len(scene.goal)}"
        sentence = f"{sentence}; {count}"
        if scene.counted:
            parts.append(words(count, 16))
    stack = column(parts, gap=10)
    return drawing.picture(
        round(max(stack.width, 120 if scene.partial else width) + 2 * margin),
        round(stack.height + 2 * margin),
        [stack.at(margin, margin)],
        f"Goal: {sentence}" if scene.partial else sentence,
        class_="scene",
        fill="currentColor",
    )
