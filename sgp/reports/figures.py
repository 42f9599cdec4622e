"""Pictures of scores as SVG; what is interactive stands in plots.py."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sgp import drawing
from sgp.evaluation.scores import Score
from sgp.planning.subject import PlannerName
from sgp.reports.tables import Coverage, Line, cell, domains_and_splits, lines_of, select

# Told apart by shape as well as by colour (Okabe and Ito's palette, safe for the colour-blind).
_OURS, _THEIRS = "#0072b2", "#d55e00"
_LEFT, _PANEL, _GAP, _RIGHT, _LINE, _TOP = 220, 170, 22, 20, 16, 30


def coverage_figure(ours: Sequence[Score], theirs: Sequence[Score], splits: Collection[str] = ()) -> str:
    """Coverage with 95 % intervals as SVG (state-centric, Figures 2 to 4).

    A section for each split, a panel for each domain, a line for each planner: ours as a dot, the published number as
    a diamond.
    """
    places = domains_and_splits(ours)
    names = list(dict.fromkeys(split for found in places.values() for split in found))
    names = [split for split in names if not splits or split in splits]
    planners = list(dict.fromkeys(line.planner for line in lines_of([*ours, *theirs])))
    width = _LEFT + len(places) * (_PANEL + _GAP) + _RIGHT
    parts = _legend(width)
    y = float(_TOP)
    for split in names:
        y += 30
        parts.append(drawing.text(split, 10, y, font_weight="bold"))
        for place, domain in enumerate(places):
            parts += _panel(_LEFT + place * (_PANEL + _GAP), y, domain, split, planners, ours, theirs)
        for number, planner in enumerate(planners):
            parts.append(
                drawing.text(planner.title, _LEFT - 10, _centre(y, number) + 4, text_anchor="end", font_size=11)
            )
        y = _centre(y, len(planners)) + 14
    height = y + 10
    background = drawing.rect(0, 0, width, height, fill="#ffffff")
    return drawing.picture(width, height, [background, *parts], "Coverage by split, domain and planner")


def _legend(width: float) -> list[str]:
    return [
        drawing.circle(_LEFT, 16, 4, fill=_OURS),
        drawing.text("measured here", _LEFT + 10, 20),
        _diamond(_LEFT + 120, 16),
        drawing.text("published, on other instances", _LEFT + 130, 20),
        drawing.text("coverage, 95 % Wilson interval", width - _RIGHT, 20, text_anchor="end"),
    ]


def _centre(top: float, number: int) -> float:
    return top + 14 + _LINE * number


def _panel(
    x: float,
    top: float,
    domain: str,
    split: str,
    planners: Sequence[PlannerName],
    ours: Sequence[Score],
    theirs: Sequence[Score],
) -> list[str]:
    papers = list(dict.fromkeys(score.paper for score in theirs))
    bottom = _centre(top, len(planners)) - _LINE / 2
    parts, n = [], "0"
    for tick in (0.0, 0.5, 1.0):
        at = x + _PANEL * tick
        parts.append(drawing.line(at, top + 6, at, bottom, stroke="#dddddd"))
        parts.append(drawing.text(f"{tick:g}", at, bottom + 12, text_anchor="middle", font_size=10, fill="#666666"))
    for number, planner in enumerate(planners):
        y = _centre(top, number)
        for paper, scores in (("", ours), *((paper, theirs) for paper in papers)):
            found = cell(select(scores, Line(paper, planner), domain, split))
            if found is not None:
                parts.append(_interval(found, x, y + (3 if paper else -3), bool(paper)))
                n = n if paper else found.n
    parts.append(drawing.text(f"{domain}, n = {n}", x + _PANEL / 2, top, text_anchor="middle"))
    return parts


def _interval(shown: Coverage, x: float, y: float, published: bool) -> str:
    low, high = (x + _PANEL * bound for bound in shown.interval)
    at, colour = x + _PANEL * shown.value, _THEIRS if published else _OURS
    mark = _diamond(at, y) if published else drawing.circle(at, y, 3.5, fill=colour)
    return drawing.line(low, y, high, y, stroke=colour, stroke_width=1.5, stroke_opacity=0.6) + mark


def _diamond(x: float, y: float) -> str:
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in ((0, -4.5), (4.5, 0), (0, 4.5), (-4.5, 0)))
    return drawing.element("polygon", "", points=corners, fill=_THEIRS)
