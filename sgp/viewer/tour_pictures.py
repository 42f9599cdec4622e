"""The tour's drawings: numbers as bars, with words large enough for a projector."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from sgp import drawing
from sgp.viewer.graphs import FILLS, colour_called

WIDTH, HEIGHT = 1240, 450  # what a screen of 1366 x 768 has room for, so that a pixel here is at least one there
BESIDE = 740  # the width of what stands beside a state
STYLE = "fill:currentColor"
_UP, _DOWN, _OTHER = "#0072b2", "#d55e00", "#8a8f98"
_SIZE, _LINE = 15, 17  # of words, and from line to line
_AT = re.compile(r" at argument (\d+)")


def histogram(values: Sequence[float], names: Mapping[int, str]) -> str:
    """The colours that occur, by how often, in two columns."""
    present = [colour for colour, value in enumerate(values) if value]
    most = max(values, default=1.0) or 1.0
    half = max(1, -(-len(present) // 2))
    row = min(44.0, (HEIGHT - 10) / half)
    parts = []
    for place, colour in enumerate(present):
        x, y = 630 * (place // half), row * (place % half) + 4
        length = 90 * values[colour] / most
        inside = [
            drawing.text(str(colour), x + 44, y + row / 2 + 5, text_anchor="end", font_size=17, font_weight=700),
            drawing.rect(x + 54, y + 4, length, row - 12, fill=FILLS[colour % len(FILLS)], stroke="currentColor"),
            drawing.text(f"{values[colour]:g}", x + 62 + length, y + row / 2 + 5, font_size=16),
            *_lines(_short(_name(names, colour)), x + 182, y + row / 2, 58),
        ]
        parts.append(drawing.group(f"{colour_called(names, colour)}, {values[colour]:g} times", inside))
    return picture(parts, f"{len(present)} colours of {len(values)} occur")


def changes(
    pairs: Sequence[tuple[int, Sequence[float]]],
    names: Mapping[int, str],
    labels: Sequence[str],
    width: float = WIDTH,
) -> str:
    """Changes of colours, about ten: for each a bar of every value, and what the values are called."""
    middle, begin = 0.24 * width, 0.42 * width
    scale = 0.11 * width / max((abs(value) for _, values in pairs for value in values), default=1.0)
    row = min(44.0, (HEIGHT - 30) / max(len(pairs), 1))
    heads = [
        drawing.text("colour", 66, 16, text_anchor="end", font_size=_SIZE, fill_opacity=0.8),
        drawing.text("fewer  |  more", middle, 16, text_anchor="middle", font_size=_SIZE, fill_opacity=0.8),
        drawing.text("; ".join(labels), begin, 16, font_size=_SIZE, fill_opacity=0.8),
    ]
    parts = []
    for place, (colour, values) in enumerate(pairs):
        y, bar = 26 + row * place, (row - 4) / len(values)
        inside = [drawing.text(str(colour), 66, y + row / 2 + 3, text_anchor="end", font_size=17, font_weight=700)]
        for number, value in enumerate(values):
            length, top = abs(value) * scale, y + bar * number
            left = middle - length if value < 0 else middle
            look = {"fill": _UP if value >= 0 else _DOWN, "fill_opacity": 1 if number == 0 else 0.35}
            inside.append(drawing.rect(left, top, max(length, 0.5), bar - 2, **look))
            at, anchor = (left - 6, "end") if value < 0 else (left + length + 6, "start")
            inside.append(drawing.text(f"{value:+.3g}", at, top + bar / 2 + 4, text_anchor=anchor, font_size=14))
        inside += _lines(_short(_name(names, colour)), begin, y + row / 2, int((width - begin) / 7.6))
        said = ", ".join(f"{value:+.3f} {label}" for value, label in zip(values, labels, strict=True))
        parts.append(drawing.group(f"colour {colour}: {said}", inside))
    return picture([*heads, *parts], "; ".join(labels), width, 30 + row * len(pairs))


def ranking(candidates: Sequence[tuple[str, float | None, bool, str]], title: str, unit: str = "distance") -> str:
    """Candidates with costs as bars, cheapest first: what each does, its cost, whether it was taken, its marks."""
    width = BESIDE
    row = min(46.0, HEIGHT / max(len(candidates), 1))
    known = [cost for _, cost, _, _ in candidates if cost is not None]
    least, most = min([*known, 0.0]), max([*known, 0.0])
    begin, room = 0.44 * width, 0.27 * width
    scale = room / ((most - least) or 1.0)
    zero = begin - least * scale
    parts = []
    for place, (action, cost, taken, marks) in enumerate(candidates):
        y = row * place + 2
        length = 0.0 if cost is None else abs(cost) * scale
        left = zero - length if cost is not None and cost < 0 else zero
        inside = [
            drawing.text(f"{place + 1}.", 26, y + row / 2 + 4, text_anchor="end", font_size=17),
            *_lines(action, 36, y + row / 2, int((begin - 44) / 8.2), 16, 700 if taken else 400),
            drawing.rect(left, y + 6, max(length, 1), row - 14, fill=_UP if taken else _OTHER),
            drawing.text("none" if cost is None else f"{cost:.3f}", begin + room + 10, y + row / 2 + 4, font_size=16),
            drawing.text(marks, begin + room + 74, y + row / 2 + 4, font_size=16),
        ]
        parts.append(drawing.group(f"{place + 1}. {action}, {unit} {cost}, {marks}", inside))
    return picture(parts, title, width, row * len(candidates) + 6)


def picture(parts: Sequence[str], title: str, width: float = WIDTH, height: float = HEIGHT) -> str:
    """A drawing that fits below a stop's words."""
    return drawing.picture(width, height, parts, title, style=STYLE)


def _name(names: Mapping[int, str], colour: int) -> str:
    return str(names.get(colour, "a colour that neither this state has nor the next"))


def _short(name: str) -> str:
    """What a colour stands for, the number of an argument behind what stands there."""
    return _AT.sub(r" ·\1", name).replace(" with [", ": ").replace("]", "").replace(";", ",")


def _lines(words: str, x: float, middle: float, most: int, size: int = _SIZE, weight: int = 400) -> list[str]:
    """Words on as many lines as they need, of so many characters at most, around a height."""
    lines = textwrap.wrap(words, most) or [""]
    top = middle + 5 - _LINE * (len(lines) - 1) / 2
    look: dict[str, Any] = {"font_size": size, "font_weight": weight}
    return [drawing.text(line, x, top + _LINE * number, **look) for number, line in enumerate(lines)]
