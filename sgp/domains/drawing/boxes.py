"""Boxes of known size that can be drawn anywhere: rows, columns, frames, text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from sgp import drawing

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
    title: Box,
    content: Box,
    width: float = 0,
    height: float = 0,
    *,
    hint: str,
    dashed: bool = False,
    pad: float = 8,
    **extra: object,
) -> Box:
    """Draw a frame of at least this size around a title and content; `hint` is shown under the pointer."""
    inner = column([title, content])
    wide, high = max(width, inner.width + 2 * pad), max(height, inner.height + 2 * pad)
    look: dict[str, object] = {"fill": "currentColor", "fill_opacity": 0.04, "stroke": "currentColor"}
    look |= {"stroke_opacity": 0.45, **({"stroke_dasharray": "5 4"} if dashed else {})}

    def at(x: float, y: float) -> str:
        frame = drawing.rect(x, y, wide, high, rx=6, **look)
        return drawing.group(hint, [frame, inner.at(x + pad, y + pad)], **extra)

    return Box(wide, high, at)
