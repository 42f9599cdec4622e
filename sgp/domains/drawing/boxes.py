"""Boxes that know their size and are drawn anywhere: rows, columns, frames, words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from sgp import drawing

SMALLEST = 9  # pixels of the smallest letters
_LETTER = 0.6  # mean width of a letter, in font sizes


@dataclass(frozen=True)
class Box:
    """Something of a size, in pixels, and its markup where its upper left corner is at (x, y)."""

    width: float
    height: float
    at: Callable[[float, float], str]


NOTHING = Box(0, 0, lambda x, y: "")


def breadth(words: str, size: float) -> float:
    """About how wide words are in letters of a size."""
    return len(words) * size * _LETTER


def shortened(words: str, width: float, size: float) -> str:
    """The words, cut to what fits into a width; the cut is shown."""
    fitting = max(1, int(width / (size * _LETTER)))
    return words if len(words) <= fitting else words[: fitting - 1] + "\N{HORIZONTAL ELLIPSIS}"


def words(line: str, size: float = 12, **attributes: object) -> Box:
    """One line of text."""
    return Box(
        breadth(line, size),
        size + 4,
        lambda x, y: drawing.text(line, x, y + size, font_size=size, **attributes),
    )


def paragraph(pieces: Sequence[str], width: float, size: float = 11) -> Box:
    """Pieces of text in lines of at most a width; a piece is not broken, only cut where it is too long alone."""
    lines: list[str] = []
    for piece in (shortened(piece, width, size) for piece in pieces):
        joined = f"{lines[-1]} {piece}" if lines else piece
        if lines and breadth(joined, size) <= width:
            lines[-1] = joined
        else:
            lines.append(piece)
    return column([words(line, size) for line in lines], gap=0)


def flow(boxes: Sequence[Box], width: float, gap: float = 6) -> Box:
    """Boxes side by side, in as many rows as a width needs; in a row they stand on one line."""
    rows: list[list[Box]] = []
    room = -1.0
    for box in boxes:
        if not rows or box.width > room:
            rows.append([])
            room = width
        rows[-1].append(box)
        room -= box.width + gap
    return column([_row(row, gap) for row in rows], gap)


def fitting(count: int, width: float, height: float) -> int:
    """How many of `count` equal boxes to set in a row, to be largest in a frame of four to three with a line below."""

    def scale(across: int) -> float:
        return min(4 / (across * width), 3 / (ceil(count / across) * height + 50))

    return max(range(1, count + 1), key=scale)


def _row(boxes: Sequence[Box], gap: float) -> Box:
    height = max(box.height for box in boxes)

    def at(x: float, y: float) -> str:
        parts = []
        for box in boxes:
            parts.append(box.at(x, y + height - box.height))
            x += box.width + gap
        return "".join(parts)

    return Box(sum(box.width + gap for box in boxes) - gap, height, at)


def column(boxes: Sequence[Box], gap: float = 6) -> Box:
    """Boxes one below the other; those without height take no gap."""
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
    """A place: a frame with a title, at least of a width and height, and a hint where the pointer rests."""
    pad = 8
    inner = column([title, content])
    wide = max(width, inner.width + 2 * pad)
    high = max(height, inner.height + 2 * pad)

    def at(x: float, y: float) -> str:
        frame = drawing.rect(
            x,
            y,
            wide,
            high,
            rx=6,
            fill="currentColor",
            fill_opacity=0.04,
            stroke="currentColor",
            stroke_opacity=0.45,
            **({"stroke_dasharray": "5 4"} if dashed else {}),
        )
        return drawing.group(hint, [frame, inner.at(x + pad, y + pad)], **extra)

    return Box(wide, high, at)
