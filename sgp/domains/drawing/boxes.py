"""Boxes of known size that can be drawn anywhere: text, objects, marks, rows, frames, and the frame of a scene."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from sgp import drawing
from sgp.planning.domain import Scene
from sgp.planning.pddl import Atom

SMALLEST = 9  # pixels of the smallest letters
_LETTER = 0.6  # mean width of a letter, in font sizes


@dataclass(frozen=True)
class Box:
    """A drawing of a size in pixels; `at` returns its markup with its upper left corner at (x, y)."""

    width: float
    height: float
    at: Callable[[float, float], str]


NOTHING = Box(0, 0, lambda x, y: "")


def breadth(text: str, size: float) -> float:
    """Estimate the width of text in a font size."""
    return len(text) * size * _LETTER


def shortened(text: str, width: float, size: float) -> str:
    """Cut text that is wider than `width`, with an ellipsis."""
    length = max(1, int(width / (size * _LETTER)))
    return text if len(text) <= length else text[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"


def words(line: str, size: float = 12, **attributes: object) -> Box:
    """Make a box of one line of text."""
    return Box(
        breadth(line, size), size + 4, lambda x, y: drawing.text(line, x, y + size, font_size=size, **attributes)
    )


def paragraph(pieces: Sequence[str], width: float, size: float = 11) -> Box:
    """Set pieces of text in lines of at most `width`; a piece that is too long alone is cut."""
    lines: list[str] = []
    for piece in (shortened(piece, width, size) for piece in pieces):
        joined = f"{lines[-1]} {piece}" if lines else piece
        if lines and breadth(joined, size) <= width:
            lines[-1] = joined
        else:
            lines.append(piece)
    return column([words(line, size) for line in lines], gap=0)


def largest(boxes: Iterable[Box]) -> Box:
    """Return an empty box as wide as the widest and as high as the highest of some boxes."""
    there = list(boxes)
    return Box(max((box.width for box in there), default=0), max((box.height for box in there), default=0), NOTHING.at)


def fitting(count: int, width: float, height: float) -> int:
    """Return the number of columns with which `count` equal boxes are largest in a frame of four to three."""

    def scale(across: int) -> float:
        return min(4 / (across * width), 3 / (ceil(count / across) * height + 50))  # 50: a line below

    return max(range(1, count + 1), key=scale)


def flow(boxes: Sequence[Box], width: float, gap: float = 6) -> Box:
    """Set boxes side by side, in as many rows as the width requires."""
    rows: list[list[Box]] = []
    room = -1.0
    for box in boxes:
        if not rows or box.width > room:
            rows.append([])
            room = width
        rows[-1].append(box)
        room -= box.width + gap
    return column([row(boxes, gap) for boxes in rows], gap)


def row(boxes: Sequence[Box], gap: float, top: bool = False) -> Box:
    """Set boxes side by side with their lower edges, or upper edges if `top`, on one line."""
    height = max(box.height for box in boxes)

    def at(x: float, y: float) -> str:
        parts = []
        for box in boxes:
            parts.append(box.at(x, y if top else y + height - box.height))
            x += box.width + gap
        return "".join(parts)

    return Box(sum(box.width + gap for box in boxes) - gap, height, at)


def column(boxes: Sequence[Box], gap: float = 6) -> Box:
    """Set boxes below each other; boxes without height take no gap."""
    there = [box for box in boxes if box.height]
    if not there:
        return NOTHING

    def at(x: float, y: float) -> str:
        parts = []
        for box in there:
            parts.append(box.at(x, y))
            y += box.height + gap
        return "".join(parts)

    return Box(max(box.width for box in there), sum(box.height + gap for box in there) - gap, at)


def framed(
    title: Box, content: Box, width: float = 0, height: float = 0, *, hint: str, dashed: bool = False, **extra: object
) -> Box:
    """Draw a frame of at least this size around a title and content; `hint` is shown under the pointer."""
    pad = 8
    inner = column([title, content])
    wide, high = max(width, inner.width + 2 * pad), max(height, inner.height + 2 * pad)
    look: dict[str, object] = {"fill": "currentColor", "fill_opacity": 0.04, "stroke": "currentColor"}
    look |= {"stroke_opacity": 0.45, **({"stroke_dasharray": "5 4"} if dashed else {})}

    def at(x: float, y: float) -> str:
        frame = drawing.rect(x, y, wide, high, rx=6, **look)
        return drawing.group(hint, [frame, inner.at(x + pad, y + pad)], **extra)

    return Box(wide, high, at)


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


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Shorten names to their numbers if all are the same word of at least three letters and a number."""
    prefix = re.sub(r"\d+$", "", names[0]) if len(names) > 1 else ""
    if len(prefix) >= 3 and all(name.startswith(prefix) and name[len(prefix) :].isdecimal() for name in names):
        return {name: name[len(prefix) :] for name in names}
    return {name: name for name in names}


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
) -> Box:
    """Draw an object as a labelled box, or a disc, of at least this width; `title` is shown under the pointer.

    The outline is thick and green if all goals of the object hold. The object's name is an attribute, by which the
    player moves it from one drawing to the next.
    """
    size = max(float(SMALLEST), min(12.0, height - 7))
    wide = min(max(width, height, breadth(label, size) + 10), 220)
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
    return framed(words(title, 11), flow(boxes, width - 16), width, hint=title, dashed=True)


def notes(scene: Scene, also: Iterable[Atom], width: float) -> Box:
    """List atoms that are not drawn, and the goals that belong to no object."""
    lines = [paragraph(["also true:", *map(str, also)], width)] if (also := tuple(also)) else []
    drawn = {goal for goals in scene.goals_of.values() for goal in goals}
    for goal in scene.goal:
        if scene.partial and not goal.positive:
            lines.append(paragraph([f"must not hold: {goal.atom}"], width))
        elif not scene.partial and goal not in drawn:
            lines.append(_goal_line(scene.holds(goal), str(goal.atom) if goal.positive else f"not {goal.atom}", width))
    return column(lines, gap=2)


def _goal_line(holds: bool, goal: str, width: float) -> Box:
    line = words(shortened(f"goal: {goal}", width - 20, 11), 11)

    def at(x: float, y: float) -> str:
        disc = drawing.circle(x + 6, y + 8, 6, fill="none", stroke="currentColor", stroke_opacity=0.6)
        return (check(x + 6, y + 8, 6, goal) if holds else disc) + line.at(x + 18, y)

    return Box(line.width + 18, line.height, at)


def whole(scene: Scene, sentence: str, content: Box, also: Iterable[Atom] = ()) -> str:
    """Return the SVG of a scene: its content, atoms that are not drawn (`also`), and the number of satisfied goals."""
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
