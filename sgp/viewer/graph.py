"""The drawing of a state's graph with the colours of its nodes, as the tour and notebooks show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sgp import drawing

WIDTH = 1000
# Okabe and Ito, readable with black on them; a number stands beside every one.
FILLS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d3d3d3", "#7fb6ff", "#ffb38a")


def draw_graph(
    nodes: Sequence[str],
    kinds: Sequence[str],
    edges: Sequence[Sequence[int]],
    colours: Sequence[int] | None,
    names: Mapping[int, str],
    style: str,
) -> str:
    """Objects left, atoms right; nodes filled and numbered by their colours where these are given.

    Nodes, kinds, edges and names are those of `sgp.ColouredGraph`, `colours` those of one round.
    """
    objects = list(kinds).count("object")
    height = 30 + 35 * max(objects, len(nodes) - objects)
    spot = {}
    for node in range(len(nodes)):
        first, count, x = (0, objects, 150) if node < objects else (objects, len(nodes) - objects, 640)
        spot[node] = (x, 30 + (node - first + 0.5) * (height - 30) / count)
    parts = [
        drawing.text("objects", 112, 18, font_size=15, fill_opacity=0.75),
        drawing.text("atoms; first argument solid, second dashed", 602, 18, font_size=15, fill_opacity=0.75),
    ]
    for atom, thing, position in edges:
        (x1, y1), (x2, y2) = spot[thing], spot[atom]
        dash = {} if position == 1 else {"stroke_dasharray": "7 4"}
        parts.append(drawing.line(x1 + 30, y1, x2 - 40, y2, stroke="currentColor", stroke_opacity=0.55, **dash))
    for node, (name, kind) in enumerate(zip(nodes, kinds, strict=True)):
        colour = None if colours is None else colours[node]
        title = f"{name}: {kind}" + ("" if colour is None else f", {colour_called(names, colour)}")
        parts.append(drawing.group(title, _node(name, kind, colour, *spot[node])))
    return drawing.picture(WIDTH, height, parts, f"Graph of {len(nodes)} nodes and {len(edges)} edges", style=style)


def colour_called(names: Mapping[int, str], colour: int) -> str:
    """A colour by its number, and what it stands for."""
    return "a colour that training never met" if colour < 0 else f"colour {colour}: {names[colour]}"


def _node(name: str, kind: str, colour: int | None, x: float, y: float) -> Iterator[str]:
    """An object rounded, an atom angular, an open goal dashed."""
    thing = kind == "object"
    if colour is None:
        fill, ink, shown = "none", "currentColor", name if thing else ""
    elif colour < 0:
        fill, ink, shown = "#ffffff", "#000000", "?"
    else:
        fill, ink, shown = FILLS[colour % len(FILLS)], "#000000", str(colour)
    dash = {"stroke_dasharray": "4 3"} if kind.endswith("open") else {}
    yield drawing.rect(
        x - 38, y - 15, 76, 30, rx=15 if thing else 4, fill=fill, stroke="currentColor", stroke_width=1.5, **dash
    )
    yield drawing.text(shown, x, y + 6, text_anchor="middle", fill=ink, font_size=17, font_weight=700)
    if not thing:
        yield drawing.text(f"{name}  {kind}", x + 50, y + 6, font_size=17)
    elif colour is not None:
        yield drawing.text(name, x - 48, y + 6, text_anchor="end", font_size=17)
