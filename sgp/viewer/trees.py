"""The drawing of a lookahead tree, from left to right, one column for each depth."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from sgp import drawing

ROW, LETTER = 30.0, 7.2  # from one leaf to the next; what a letter takes at most
_EDGE, _MARGIN = 46.0, 12.0
_GOAL = "#f0e442"  # Okabe and Ito's yellow, readable with black on it


def draw_tree(root: str, names: Sequence[str], parents: Sequence[int], goals: Sequence[bool], style: str) -> str:
    """The root, and each node [n] behind the one that it was reached from (`parents` [n], -1: the root).

    A parent stands before its children. Nodes in `goals` are filled and have a second line around them.
    """
    places, columns = _places(parents), depths(parents)
    width = LETTER * max(map(len, (root, *names))) + 18
    spot = {node: (_MARGIN + columns[node] * (width + _EDGE), _MARGIN + ROW * (place + 0.5)) for node, place in places}
    parts = []
    for node, above in enumerate(parents):
        (x1, y1), (x2, y2) = spot[above], spot[node]
        middle = x2 - _EDGE / 2
        steps = f"M {x1 + width:g} {y1:g} C {middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"
        parts.append(drawing.path(steps, fill="none", stroke="currentColor", stroke_opacity=0.55))
    words = {-1: root, **dict(enumerate(names))}
    for node, (x, y) in spot.items():
        goal = node >= 0 and goals[node]
        title = f"{words[node]}: depth {columns[node]}" + (", a goal state" if goal else "")
        parts.append(drawing.group(title, _box(words[node], x, y, width, goal)))
    across = 2 * _MARGIN + (max(columns.values()) + 1) * (width + _EDGE) - _EDGE
    down = 2 * _MARGIN + ROW * max(1, len(set(range(len(parents))).difference(parents)))
    return drawing.picture(across, down, parts, f"Lookahead tree of {len(names)} states", style=style)


def depths(parents: Sequence[int]) -> dict[int, int]:
    """How many decisions lead to each node; 0 to the root, which is -1."""
    found = {-1: 0}
    for node, above in enumerate(parents):
        found[node] = found[above] + 1
    return found


def _places(parents: Sequence[int]) -> list[tuple[int, float]]:
    """Each node with its place from the top, the root first: a leaf below the other, a parent amid its children."""
    below: dict[int, list[int]] = {node: [] for node in range(-1, len(parents))}
    for node, above in enumerate(parents):
        below[above].append(node)
    order, waiting = list[int](), [-1]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(below[node])
    leaves = [node for node in order if not below[node]]
    places = {node: float(place) for place, node in enumerate(leaves)}
    for node in reversed(order):
        if below[node]:
            places[node] = fmean(places[each] for each in below[node])
    return sorted(places.items())


def _box(words: str, x: float, y: float, width: float, goal: bool) -> list[str]:
    line = {"stroke": "currentColor", "stroke_width": 1.2, "rx": 5}
    outer = [drawing.rect(x - 3, y - 14, width + 6, 28, fill="none", **line)] if goal else []
    return [
        *outer,
        drawing.rect(x, y - 11, width, 22, fill=_GOAL if goal else "#ffffff", **line),
        drawing.text(words, x + width / 2, y + 4.5, text_anchor="middle", fill="#000000", font_size=13),
    ]
