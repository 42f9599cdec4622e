"""Drawing of any domain: its objects as a graph, or as tables if they are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, pi, sin

from sgp import drawing
from sgp.domains.domain import Scene
from sgp.domains.drawing.boxes import Box, breadth, column, flow, framed, paragraph, words
from sgp.domains.drawing.places import edge_point
from sgp.domains.drawing.tokens import PLAIN, WIDEST, hint, token, whole
from sgp.planning.pddl import OBJECT, Atom, DomainText

MOST_NODES = 60  # objects; lines between more objects are indistinguishable
_MOST_STATIC = 12  # listed static atoms of one predicate


def draw_any(text: DomainText, scene: Scene) -> str:
    """Draw a scene of a domain without a drawing of its own.

    Up to 60 objects stand in a circle: atoms of two objects are lines and atoms of one object labels, static ones
    faint; other atoms are listed. With more objects, all atoms are listed by predicate.
    """
    sentence = f"{text.name} with {len(scene.objects)} objects and {len(scene.atoms)} true atoms"
    if len(scene.objects) > MOST_NODES:
        return whole(scene, sentence, _tables(text, scene))
    graph = _graph(text, scene)
    listed = [atom for atom in scene.ordered if len(atom.objects) not in (1, 2)]
    return whole(scene, sentence, column([graph, _atoms(text, scene, listed, graph.width)], gap=10))


def _graph(text: DomainText, scene: Scene) -> Box:
    """Draw objects in a circle, in PDDL order."""
    count = len(scene.names)
    radius = max(110.0, count * 13.0)
    middle_x, middle_y = radius + 150, radius + 40
    spot = {
        name: (middle_x + radius * sin(2 * pi * place / count), middle_y - radius * cos(2 * pi * place / count))
        for name, place in scene.place.items()
    }

    def at(x: float, y: float) -> str:
        moved = {name: (x + left, y + top) for name, (left, top) in spot.items()}
        return _lines(text, scene, moved) + "".join(_node(text, scene, name, moved[name]) for name in scene.names)

    return Box(2 * middle_x, 2 * middle_y, at)


def _lines(text: DomainText, scene: Scene, spot: Mapping[str, tuple[float, float]]) -> str:
    """Draw a line for each pair of objects with atoms, labelled unless all are static."""
    joined: dict[tuple[str, str], list[Atom]] = {}
    for atom in scene.ordered:
        if len(atom.objects) == 2 and set(atom.objects) <= set(spot):
            joined.setdefault((atom.objects[0], atom.objects[1]), []).append(atom)
    parts, labels = [], []
    few = len(joined) <= 24
    for (first, second), atoms in joined.items():
        fluent = [atom.predicate for atom in atoms if atom.predicate in text.fluent_predicates]
        (x1, y1), (x2, y2) = (
            edge_point(spot[name], spot[other], breadth(name, 12) / 2 + 9, 13, 0.4)
            for name, other in ((first, second), (second, first))
        )
        look = {"stroke_width": 2} if fluent else {"stroke_width": 1, "stroke_opacity": 0.3}
        if first == second:
            parts.append(drawing.circle(x1, y1 - 16, 10, fill="none", stroke="currentColor", **look))
        else:
            parts.append(drawing.line(x1, y1, x2, y2, stroke="currentColor", **look))
        shown = fluent or ([atom.predicate for atom in atoms] if few else [])
        if shown:
            # At two fifths of the line, so that its direction is visible.
            left, top = x1 + 0.4 * (x2 - x1), y1 + 0.4 * (y2 - y1)
            arrow = ", ".join(shown) + " \N{RIGHTWARDS ARROW}" * (x2 > x1) + " \N{LEFTWARDS ARROW}" * (x2 <= x1)
            opacity = {} if fluent else {"fill_opacity": 0.65}
            labels.append(drawing.text(arrow, left, top - 3, font_size=10, text_anchor="middle", **opacity))
    return "".join(parts + labels)


def _node(text: DomainText, scene: Scene, name: str, spot: tuple[float, float]) -> str:
    """Draw an object with its types and static labels above and its fluent labels below."""
    x, y = spot
    types = [kind for other, kinds in scene.objects if other == name for kind in kinds if kind != OBJECT]
    single = [atom.predicate for atom in scene.about.get(name, ()) if len(atom.objects) == 1]
    fixed = types + [predicate for predicate in single if predicate not in text.fluent_predicates]
    changing = [predicate for predicate in single if predicate in text.fluent_predicates]
    box = _object(text, scene, name)
    parts = [box.at(x - box.width / 2, y - box.height / 2)]
    for labels, dy, look in ((fixed, -16, {"fill_opacity": 0.65}), (changing, 23, {"font_weight": "bold"})):
        if labels:
            parts.append(drawing.text(", ".join(labels), x, y + dy, font_size=10, text_anchor="middle", **look))
    return "".join(parts)


def _object(text: DomainText, scene: Scene, name: str) -> Box:
    return token(scene, name, name, PLAIN, hint(scene, name, *sorted(text.fluent_predicates)), round_=True)


def _tables(text: DomainText, scene: Scene) -> Box:
    """List the objects by type, then the atoms."""
    by_type: dict[tuple[str, ...], list[str]] = {}
    for name, kinds in scene.objects:
        by_type.setdefault(kinds, []).append(name)
    frames = [
        framed(
            words(" or ".join(types), 12, font_weight="bold"),
            flow([_object(text, scene, name) for name in names], WIDEST - 16),
            WIDEST,
            hint=f"{len(names)} of type {' or '.join(types)}",
        )
        for types, names in by_type.items()
    ]
    return column([*frames, _atoms(text, scene, scene.ordered, WIDEST)], gap=10)


def _atoms(text: DomainText, scene: Scene, atoms: Sequence[Atom], width: float) -> Box:
    """List atoms by predicate, fluent ones first, and only some of the static ones, which never change."""
    by_predicate: dict[str, list[Atom]] = {}
    for atom in sorted(atoms, key=lambda atom: atom.predicate not in text.fluent_predicates):
        by_predicate.setdefault(atom.predicate, []).append(atom)
    frames = []
    for predicate, there in by_predicate.items():
        fluent = predicate in text.fluent_predicates
        shown = [str(atom) for atom in (there if fluent else there[:_MOST_STATIC])]
        rest = [f"and {len(there) - len(shown)} more"] if len(shown) < len(there) else []
        title = f"{predicate}: {len(there)}{'' if fluent else ', never changing'}"
        listed = paragraph([*shown, *rest], width - 16)
        frames.append(framed(words(title, 12, font_weight="bold"), listed, width, hint=title))
    return column(frames)
