"""Pictures of scores."""

from __future__ import annotations

from collections.abc import Sequence

from sgp import drawing
from sgp.evaluation.scores import Score
from sgp.evaluation.tables import Cell, columns_of, domains_and_splits, row

# Told apart by shape as well as by colour (Okabe and Ito's palette, safe for the colour-blind).
_STYLES = (("#0072b2", "circle"), ("#7f7f7f", "square"), ("#d55e00", "diamond"), ("#009e73", "triangle"))
_LEFT, _WIDTH, _RIGHT, _TOP, _ROW, _GAP = 220, 420, 30, 20, 13, 12


def coverage_figure(ours: Sequence[Score], theirs: Sequence[Score]) -> str:
    """An SVG of coverage with 95 % intervals: a group of marks for each domain and split, a mark for each column."""
    columns = columns_of(ours, theirs)
    groups = domains_and_splits(ours)
    parts: list[str] = []
    y = _TOP + _ROW * len(columns)
    for number, column in enumerate(columns):
        parts.append(_mark(_LEFT, _TOP + _ROW * number, number))
        parts.append(drawing.text(column.heading.replace("\n", " "), _LEFT + 12, _TOP + 4 + _ROW * number))
    top = y
    for domain, split in groups:
        cells = row([*ours, *theirs], columns, domain, split)
        count = max(cell.count for cell in cells if cell is not None)
        middle = y + _ROW * (len(columns) + 1) / 2
        parts.append(drawing.text(f"{domain} {split} (n={count})", _LEFT - 10, middle + 4, text_anchor="end"))
        for number, cell in enumerate(cells):
            if cell is not None:
                parts.append(_interval(cell, y + _ROW * (number + 1), number))
        y += _ROW * len(columns) + _GAP
        parts.append(drawing.line(_LEFT, y + _GAP / 2, _LEFT + _WIDTH, y + _GAP / 2, stroke="#dddddd"))
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + _WIDTH * tick
        parts.insert(0, drawing.line(x, top, x, y + _GAP, stroke="#eeeeee"))
        parts.append(drawing.text(f"{tick:.2f}", x, y + _GAP + 16, text_anchor="middle"))
    parts.append(
        drawing.text("coverage, with 95 % Wilson interval", _LEFT + _WIDTH / 2, y + _GAP + 34, text_anchor="middle")
    )
    height = y + _GAP + 46
    background = drawing.rect(0, 0, _LEFT + _WIDTH + _RIGHT, height, fill="#ffffff")
    return drawing.picture(_LEFT + _WIDTH + _RIGHT, height, [background, *parts], "Coverage by domain and split")


def _interval(cell: Cell, y: float, number: int) -> str:
    low, high = (_LEFT + _WIDTH * bound for bound in cell.interval)
    colour = _STYLES[number % len(_STYLES)][0]
    return drawing.line(low, y, high, y, stroke=colour, stroke_width=2) + _mark(_LEFT + _WIDTH * cell.value, y, number)


def _mark(x: float, y: float, number: int) -> str:
    colour, shape = _STYLES[number % len(_STYLES)]
    if shape == "circle":
        return drawing.circle(x, y, 4, fill=colour)
    if shape == "square":
        return drawing.rect(x - 4, y - 4, 8, 8, fill=colour)
    points = {"diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)), "triangle": ((0, -5), (5, 4), (-5, 4))}[shape]
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)
    return drawing.element("polygon", "", points=corners, fill=colour)
