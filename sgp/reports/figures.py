"""Coverage with intervals as a static SVG picture (state-centric, Figures 2 to 4)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sgp import drawing
from sgp.evaluation.scores import select
from sgp.reports.tables import CoverageCells, pool_seeds, splits_by_domain

if TYPE_CHECKING:
    import pandas as pd

# Measured and published numbers differ by shape and colour (Okabe and Ito's palette, safe for the colour-blind).
_OURS, _THEIRS = "#0072b2", "#d55e00"
_LEFT, _PANEL, _GAP, _RIGHT, _LINE, _TOP = 220, 170, 22, 20, 16, 30  # pixels


def coverage_figure(scores: pd.DataFrame, splits: Collection[str] = ()) -> str:
    """Coverage with 95 % intervals: a section for each split, a panel for each domain, a line for each planner."""
    whole = select(scores, metric="coverage", size=None)
    ours = whole[whole["paper"] == ""]
    places, cells = splits_by_domain(ours), CoverageCells(whole)
    names = dict.fromkeys(split for known in places.values() for split in known if not splits or split in splits)
    planners = list(dict.fromkeys([*cells.ours, *(planner for _, planner in cells.theirs)]))
    papers = list(dict.fromkeys(paper for paper, _ in cells.theirs))
    n_of = {(row.domain, row.split): row.n for row in pool_seeds(ours, ("domain", "split")).itertuples()}
    width = _LEFT + len(places) * (_PANEL + _GAP) + _RIGHT
    parts = [
        drawing.circle(_LEFT, 16, 4, fill=_OURS),
        drawing.text("measured here", _LEFT + 10, 20),
        _diamond(_LEFT + 120, 16),
        drawing.text("published, on other instances", _LEFT + 130, 20),
        drawing.text("coverage, 95 % Wilson interval", width - _RIGHT, 20, text_anchor="end"),
    ]
    top = float(_TOP)
    for split in names:
        top += 30
        lines = [top + 14 + _LINE * number for number in range(len(planners) + 1)]  # centres; then the end
        parts.append(drawing.text(split, 10, top, font_weight="bold"))
        for place, domain in enumerate(places):
            x = _LEFT + place * (_PANEL + _GAP)
            parts += _panel(x, top, lines[-1] - _LINE / 2, f"{domain}, n = {n_of.get((domain, split), 0)}")
            for planner, y in zip(planners, lines, strict=False):
                for paper in ("", *papers):
                    (cell,) = cells.of(paper, planner, [(domain, split)])
                    if cell is not None:
                        parts.append(_interval(cell, x, y + (3 if paper else -3), bool(paper)))
        for planner, y in zip(planners, lines, strict=False):
            parts.append(drawing.text(planner, _LEFT - 10, y + 4, text_anchor="end", font_size=11))
        top = lines[-1] + 14
    background = drawing.rect(0, 0, width, top + 10, fill="#ffffff")
    return drawing.picture(width, top + 10, [background, *parts], "Coverage by split, domain and planner")


def _panel(x: float, top: float, bottom: float, title: str) -> list[str]:
    parts = [drawing.text(title, x + _PANEL / 2, top, text_anchor="middle")]
    for tick in (0.0, 0.5, 1.0):
        at = x + _PANEL * tick
        parts.append(drawing.line(at, top + 6, at, bottom, stroke="#dddddd"))
        parts.append(drawing.text(f"{tick:g}", at, bottom + 12, text_anchor="middle", font_size=10, fill="#666666"))
    return parts


def _interval(cell: Any, x: float, y: float, published: bool) -> str:
    low, high, at = (x + _PANEL * float(value) for value in (cell.low, cell.high, cell.value))
    colour = _THEIRS if published else _OURS
    mark = _diamond(at, y) if published else drawing.circle(at, y, 3.5, fill=colour)
    return drawing.line(low, y, high, y, stroke=colour, stroke_width=1.5, stroke_opacity=0.6) + mark


def _diamond(x: float, y: float) -> str:
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in ((0, -4.5), (4.5, 0), (0, 4.5), (-4.5, 0)))
    return drawing.element("polygon", "", points=corners, fill=_THEIRS)
