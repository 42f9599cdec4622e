"""Drawings that a domain describes as data: what stands in what, and what is said of each object.

`domain.toml` has it under `[drawing]`:

- `kinds`: types, the outermost first, each with its looks (`Kind`); an object stands in objects of earlier kinds only.
- `inside`: by predicate, what stands where: "0 in 1" for its first argument in its second, "ferry in 0", "0 in ferry";
  "0 in 1 if served" asks that another predicate be true of what stands there.
- `pile`: the predicate by which its first argument stands on its second, both of kinds with the look "pile".
- `labels`: by predicate, who is described in which words: "0: {1}", "ferry: empty".
- `styles`: by predicate, who gets which colour: "0: green"; "0: by last" has a colour for each last argument, and
  "0: round" makes a disc.
- `wishes`: like `labels`, for parts of the goal that do not hold.
- `layout`: "rows", "floors" (by the predicate `order` its second argument is higher), "graph", or "cells", which stand
  where `steps` along the `links` lead or their names tell. `links` join places, dashed where no atom of `ways` does.
- `hidden`: predicates that are not drawn. Atoms that have no place in the drawing are listed below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import ceil
from typing import Any

from sgp import drawing
from sgp.domains.drawing.boxes import NOTHING, Box, column, fitting, flow, words
from sgp.domains.drawing.places import Link, Spots, by_directions, by_distance, from_names, grid, network
from sgp.domains.drawing.tokens import (
    COLOURS,
    PALETTE,
    aside,
    hint,
    listed,
    marks,
    natural,
    token,
    whole,
)
from sgp.planning.domain import Place, Places, Scene
from sgp.planning.pddl import Atom

_NOWHERE = ""  # the place of objects of which the atoms do not say where they are


@dataclass(frozen=True)
class Kind:
    """How objects of a type are drawn.

    `look` is "place" (a frame of the layout), "apart" (a frame in a row of its own, and a small token where it stands),
    "frame" (a token with others below it), "pile" (others stand on it) or "token". A `figure` is no object of the
    problem but something that each problem has once, such as a ferry; one that is `fixed` stands in that object.
    `shaded` places are grey where no style says otherwise.
    """

    name: str
    look: str = "token"
    colour: str = "plain"
    figure: bool = False
    fixed: str = ""
    shaded: bool = False
    plural: str = ""


@dataclass(frozen=True)
class _Rule:
    """What an atom of a predicate means: `who` and `where` are numbers of arguments, or names of figures."""

    who: str
    where: str = ""
    condition: str = ""
    words: str = ""

    @classmethod
    def inside(cls, rule: str) -> _Rule:
        who, _, where, *condition = rule.split()
        return cls(who, where, condition[-1] if condition else "")

    @classmethod
    def label(cls, rule: str) -> _Rule:
        who, _, said = rule.partition(": ")
        return cls(who, words=said)

    def read(self, objects: Sequence[str]) -> tuple[str, str, str] | None:
        """Who, where and the words for an atom's objects; None where it has fewer than the rule names."""
        try:
            who, where = (objects[int(part)] if part.isdigit() else part for part in (self.who, self.where))
            return who, where, self.words.format(*objects)
        except IndexError:
            return None


@dataclass(frozen=True)
class Layout:
    """A drawing as `domain.toml` describes it; the module's docstring explains the fields."""

    title: str
    kinds: Mapping[str, Kind]
    layout: str
    inside: Mapping[str, _Rule]
    labels: Mapping[str, _Rule]
    styles: Mapping[str, _Rule]
    wishes: Mapping[str, _Rule]
    pile: str = ""
    links: Sequence[str] = ()
    ways: str = ""
    order: str = ""
    steps: Mapping[str, Sequence[int]] = field(default_factory=dict)
    transposed: bool = False
    hidden: Sequence[str] = ()

    @classmethod
    def from_toml(cls, title: str, table: Mapping[str, Any]) -> Layout:
        """The drawing that a table `[drawing]` describes."""
        kinds = {name: Kind(name, **looks) for name, looks in table["kinds"].items()}
        parsers = {"inside": _Rule.inside, "labels": _Rule.label, "styles": _Rule.label, "wishes": _Rule.label}
        rules: dict[str, Any] = {
            part: {predicate: parse(rule) for predicate, rule in table.get(part, {}).items()}
            for part, parse in parsers.items()
        }
        rest = {key: value for key, value in table.items() if key not in ("kinds", *parsers)}
        return cls(title, kinds, **rules, **rest)

    def draw(self, scene: Scene) -> str:
        """The SVG of a scene."""
        if scene.places is None:
            (scene,) = self.arrange([scene], [-1])
        return _Drawing(self, scene).svg()

    def arrange(self, scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
        """Scenes of a series with their places: objects keep their slots, and every kind keeps its size."""
        arranged = keep_places(scenes, before, lambda scene: _Drawing(self, scene).standing())
        drawings = [_Drawing(self, scene) for scene in arranged]
        for kind in reversed(list(self.kinds.values())):
            for each in drawings:
                each.measure_labels(kind)
            for each in drawings:
                each.measure(kind)
        return arranged


class _Drawing:
    """One scene, drawn by a layout."""

    def __init__(self, layout: Layout, scene: Scene):
        self.layout, self.scene = layout, scene
        self.sizes = scene.places.sizes if scene.places else {}
        self.kinds: dict[str, Kind] = {}  # of objects and figures
        for each in scene.objects:
            kind = next((layout.kinds[kind] for kind in layout.kinds if kind in each.types), None)
            if kind:
                self.kinds[each.name] = kind
        self.kinds |= {name: kind for name, kind in layout.kinds.items() if kind.figure}
        self.labels: dict[str, list[str]] = {}
        self.styles: dict[str, list[str]] = {}
        self.held: dict[str, list[str]] = {}  # by what stands there: where
        self.above: dict[str, str] = {}  # by what another stands on: the other
        self.also: list[Atom] = []
        ignored = {*layout.hidden, *layout.links, layout.ways, layout.order, layout.pile}
        for atom in scene.ordered:
            drawn = [self._stands(atom), self._styled(atom), self._labelled(layout.labels, atom)]
            if not any(drawn) and atom.predicate not in ignored:
                self.also.append(atom)
        for upper, lower in scene.pairs(layout.pile):
            if not self._piled(upper, lower):
                self.also.append(Atom(layout.pile, (upper, lower)))
        for wish in (wish for wishes in scene.wishes.values() for wish in wishes if not scene.holds(wish)):
            self._labelled(layout.wishes, wish.atom)
        if scene.partial:  # a goal that says nothing of a figure leaves it out
            holding = {where for places in self.held.values() for where in places}
            mentioned = {*self.labels, *self.held, *holding}
            self.kinds = {name: kind for name, kind in self.kinds.items() if not kind.figure or name in mentioned}
        for name, kind in self.kinds.items():
            if kind.fixed in self.kinds:
                self.held[name] = [kind.fixed]
        self.shelved: dict[Place, list[str]] = {}  # by place and kind
        for name, place in self.standing():
            self.shelved.setdefault(place, []).append(name)

    def _read(self, rules: Mapping[str, _Rule], atom: Atom) -> tuple[str, str, str] | None:
        rule = rules.get(atom.predicate)
        read = rule.read(atom.objects) if rule else None
        return read if read and read[0] in self.kinds else None

    def _stands(self, atom: Atom) -> bool:
        read = self._read(self.layout.inside, atom)
        if read is None or read[1] not in self.kinds:
            return False
        who, where, _ = read
        condition, levels = self.layout.inside[atom.predicate].condition, list(self.layout.kinds)
        if condition and Atom(condition, (who,)) not in self.scene.atoms:
            return False
        outer, inner = (levels.index(self.kinds[name].name) for name in (where, who))
        if outer >= inner or self.kinds[who].look == "place":
            return False
        self.held.setdefault(who, []).append(where)
        return True

    def _styled(self, atom: Atom) -> bool:
        read = self._read(self.layout.styles, atom)
        if read is None:
            return False
        who, _, style = read
        self.styles.setdefault(who, []).append(self._colour(atom.objects[-1]) if style == "by last" else style)
        if self.scene.partial and style == "place":  # as everything looks in a goal
            self.labels.setdefault(who, []).append(re.sub("[-_]", " ", atom.predicate))
        return True

    def _colour(self, name: str) -> str:
        """The colour that an object is called by, or one for each object of its type."""
        if name in COLOURS:
            return name
        types = next((each.types for each in self.scene.objects if each.name == name), ())
        same_type = [each.name for each in self.scene.objects if each.types == types]
        return PALETTE[same_type.index(name) % len(PALETTE)] if name in same_type else "plain"

    def _labelled(self, rules: Mapping[str, _Rule], atom: Atom) -> bool:
        read = self._read(rules, atom)
        if read is None:
            return False
        self.labels.setdefault(read[0], []).append(read[2])
        return True

    def _piled(self, upper: str, lower: str) -> bool:
        """Puts an object onto another one, unless they are in different places or one of them is in another pile."""
        below = {top: base for base, top in self.above.items()}
        looks = [self.kinds[name].look for name in (upper, lower) if name in self.kinds]
        if upper in below or lower in self.above or looks != ["pile", "pile"]:
            return False
        base = lower
        while base in below:
            base = below[base]
        if base == upper or self.held.get(upper) != self.held.get(lower):
            return False
        self.above[lower] = upper
        return True

    def standing(self) -> Iterator[tuple[str, Place]]:
        """Every object that stands somewhere, with the place, and within it the shelf of its kind."""
        upper = {*self.above.values()}
        for name in sorted(self.kinds, key=natural):
            kind = self.kinds[name]
            if name not in upper and kind.look != "place":
                for where in self.held.get(name, [] if kind.look == "apart" else [_NOWHERE]):
                    yield name, (where, kind.name)

    def measure_labels(self, kind: Kind) -> None:
        """Has objects of a kind reserve room for the most labels that one of them has in the series."""
        lines = [len(self.labels.get(name, ())) for name in self._of(kind)]
        self.sizes[kind.name, "labels"] = (0, max([*lines, *self.sizes.get((kind.name, "labels"), (0, 0))]))

    def measure(self, kind: Kind) -> None:
        """Has objects of a kind be as large as the largest of them in the series."""
        for name in self._of(kind):
            box, key = self._box(name), self._key(name)
            width, height = self.sizes.get(key, (0, 0))
            self.sizes[key] = max(width, box.width), max(height, box.height)

    def _key(self, name: str) -> tuple[str, str]:
        fixtures = self.kinds[name].look == "place" and any(kind.fixed for kind in self.layout.kinds.values())
        return self.kinds[name].name, name if fixtures else ""

    def _of(self, kind: Kind) -> list[str]:
        return sorted((name for name, other in self.kinds.items() if other == kind), key=natural)

    def _box(self, name: str) -> Box:
        """An object with its labels and all that stands in it or on it."""
        kind = self.kinds[name]
        if kind.look == "place":
            return self._place(name)
        if kind.look in ("frame", "apart"):
            return self._frame(name)
        labels = "  ".join([name, *self.labels.get(name, ())])
        box = self._token(name, labels)
        return column([self._box(self.above[name]), box], gap=0) if name in self.above else box

    def _token(self, name: str, label: str) -> Box:
        styles = self.styles.get(name, [])
        *_, colour = self.kinds[name].colour, *(style for style in styles if style != "round")
        disc = "round" in styles
        return token(self.scene, name, label, COLOURS[colour], self._hint(name), height=20, round_=disc)

    def _hint(self, name: str) -> str:
        layout = self.layout
        return hint(self.scene, name, *layout.inside, *layout.labels, *layout.styles, layout.pile)

    def _inside(self, name: str) -> list[Box]:
        """The labels of an object, and a shelf for each kind that stands in it."""
        kind, lines = self.kinds[name], [words(line, 10) for line in self.labels.get(name, ())]
        most = int(self.sizes.get((kind.name, "labels"), (0, 0))[1])
        label = column(lines, gap=0)
        return [Box(label.width, max(label.height, most * 14), label.at), *self._shelves(name)]

    def _shelves(self, where: str) -> list[Box]:
        """What stands in a place, each kind on its own shelf."""
        capacity = self.scene.places.capacity if self.scene.places else {}
        shelves = []
        for kind in self.layout.kinds.values():
            room = capacity.get((where, kind.name), 0)
            if kind.figure and self.layout.layout == "floors" and where:
                room = 1  # in every floor, so that the others stand below each other
            if not room:
                continue
            small = kind.look == "apart"
            boxes = {
                name: self._token(name, name) if small else self._box(name)
                for name in self.shelved.get((where, kind.name), ())
            }
            width, height = self.sizes.get((kind.name, ""), (0, 0))
            cell = (
                largest(self._token(name, name) for name in self._of(kind)) if small else Box(width, height, NOTHING.at)
            )
            wide = self.layout.layout == "floors"
            across = max(2, int(560 / (cell.width + 4))) if wide else fitting(room, cell.width + 4, cell.height + 4)
            shelves.append(shelved(self.scene, boxes, (where, kind.name), across * (cell.width + 4), cell))
        return shelves

    def _frame(self, name: str) -> Box:
        """An object with room for others: a frame around its token, its labels and what stands in it."""
        content = column([self._token(name, name), *self._inside(name)], gap=3)
        width, height = self.sizes.get(self._key(name), (0, 0))
        width, height = max(content.width + 8, width), max(content.height + 8, height)

        def at(x: float, y: float) -> str:
            frame = drawing.rect(x, y, width, height, rx=4, fill="none", stroke="currentColor", stroke_opacity=0.6)
            return drawing.group(self._hint(name), [frame, content.at(x + 4, y + 4)], data_object=name)

        return Box(width, height, at)

    def _place(self, name: str) -> Box:
        """A place of the layout, in the colours of its styles."""
        kind, layout = self.kinds[name], self.layout
        title = words(name, 11)
        parts = [title, *self._inside(name)]
        content = _row(parts, 10) if layout.layout == "floors" else column(parts, gap=4)
        width, height = self.sizes.get(self._key(name), (0, 0))
        least = 48 if layout.layout == "cells" else 100
        width, height = max(content.width + 16, width, least), max(content.height + 12, height, 48)
        styles = self.styles.get(name) or (["shaded"] if kind.shaded and not self.scene.partial else ["place"])
        ink = COLOURS[styles[0]].ink
        radius = 0 if layout.layout == "cells" else 6

        def at(x: float, y: float) -> str:
            look = {"rx": radius, "stroke": "currentColor", "stroke_opacity": 0.4}
            part = height / len(styles)
            fills = [
                drawing.rect(
                    x, y + number * part, width, part, **_FILLS.get(style, {"fill": COLOURS[style].fill}), **look
                )
                for number, style in enumerate(styles)
            ]
            done = marks(self.scene, name, x + width - 8, y + 8, 6)
            inside = drawing.element("g", content.at(x + 8, y + 6), fill=ink)
            return drawing.group(self._hint(name), [*fills, inside, done], class_=kind.name)

        return Box(width, height, at)

    def _ground(self, places: Mapping[str, Box]) -> Box:
        """All places, as the layout sets them."""
        layout, pairs = self.layout, self._pairs()
        if layout.layout == "floors":
            below = {name: sum(1 for _, upper in self.scene.pairs(layout.order) if upper == name) for name in places}
            return column([places[name] for name in sorted(places, key=lambda name: -below[name])], gap=2)
        if layout.layout == "cells":
            spots = self._spots(list(places), pairs)
            if spots is not None:
                return grid(places, spots, pairs)
        if layout.links:
            return network(places, self._links(pairs))
        boxes = list(places.values())
        wide, high = max(box.width for box in boxes) + 10, max(box.height for box in boxes) + 10
        return flow(boxes, fitting(len(boxes), wide, high) * wide, 10)

    def _pairs(self) -> list[tuple[str, str]]:
        """The places that the predicates of links join."""
        linked = (atom.objects[:2] for atom in self.scene.ordered if atom.predicate in self.layout.links)
        return [(first, second) for first, second in linked if {first, second} <= self.kinds.keys()]

    def _links(self, pairs: Sequence[tuple[str, str]]) -> list[Link]:
        ways = [atom.objects for atom in self.scene.ordered if atom.predicate == self.layout.ways]
        there, links = set(pairs), []
        for first, second in pairs:
            back = (second, first) in there
            if first < second or not back:
                who = [objects[0] for objects in ways if {*objects[1:]} == {first, second}]
                said = f": {', '.join(dict.fromkeys(who)) or 'nobody'}" if self.layout.ways else ""
                dashed = bool(self.layout.ways) and not who
                links.append(Link(first, second, f"from {first} to {second}{said}", not back, dashed))
        return links

    def _spots(self, cells: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Spots | None:
        """Where cells stand; None where neither steps nor names tell."""
        layout = self.layout
        if not layout.steps:
            spots = from_names(cells, pairs)
            return {cell: (y, x) for cell, (x, y) in spots.items()} if spots and layout.transposed else spots
        steps: dict[tuple[str, str], tuple[int, int]] = {}
        for atom in self.scene.ordered:
            word = atom.objects[2] if len(atom.objects) > 2 else atom.predicate
            if atom.predicate in layout.links and word in layout.steps and {*atom.objects[:2]} <= self.kinds.keys():
                right, down = layout.steps[word]
                steps[atom.objects[0], atom.objects[1]] = right, down
        return by_directions(cells, steps) or by_distance(cells, pairs)

    def svg(self) -> str:
        """The whole drawing."""
        scene, layout = self.scene, self.layout
        places = {name: self._box(name) for name, kind in self.kinds.items() if kind.look == "place"}
        ground = self._ground(places) if places else NOTHING
        width = max(ground.width, 480)
        rows = [
            flow([self._box(name) for name in self._of(kind)], width, 10)
            for kind in layout.kinds.values()
            if kind.look == "apart"
        ]
        lost = aside(scene, self._shelves(_NOWHERE), width)
        other: dict[str, list[str]] = {}
        for each in scene.objects:
            if each.name not in self.kinds:
                other.setdefault(each.types[0] if each.types else "others", []).append(each.name)
        lists = [listed(kind, names, width) for kind, names in other.items()]
        counts = [
            f"{len(self._of(kind))} {kind.plural or kind.name + 's'}"
            for kind in layout.kinds.values()
            if not kind.figure
        ]
        sentence = f"{layout.title} with {', '.join(counts)}"
        return whole(scene, sentence, column([ground, *rows, lost, *lists], gap=12), self.also)


_FILLS: Mapping[str, Mapping[str, object]] = {
    "place": {"fill": "currentColor", "fill_opacity": 0.04},
    "shaded": {"fill": "currentColor", "fill_opacity": 0.16},
}


def _row(boxes: Sequence[Box], gap: float) -> Box:
    """Boxes side by side, their upper edges on one line."""

    def at(x: float, y: float) -> str:
        parts = []
        for box in boxes:
            parts.append(box.at(x, y))
            x += box.width + gap
        return "".join(parts)

    return Box(sum(box.width + gap for box in boxes) - gap, max(box.height for box in boxes), at)


def keep_places(
    scenes: Sequence[Scene], before: Sequence[int], where: Callable[[Scene], Iterable[tuple[str, Place]]]
) -> list[Scene]:
    """Scenes with their `places`; each follows an earlier one, whose number is in `before` (-1: none).

    `where` gives the objects of a scene with the place that each stands in. An object keeps its slot there as long as
    it stays, and takes the first free one when it comes; those that come together, in their order.
    """
    capacity, slots_of = dict[Place, int](), list[dict[tuple[str, Place], int]]()
    for scene, follows in zip(scenes, before, strict=True):
        here, old = list(where(scene)), slots_of[follows] if follows >= 0 else {}
        slots = {pair: old[pair] for pair in here if pair in old}
        taken: dict[Place, set[int]] = {}
        for (_, place), slot in slots.items():
            taken.setdefault(place, set()).add(slot)
        for pair in here:
            if pair not in slots:
                full = taken.setdefault(pair[1], set())
                slots[pair] = next(slot for slot in count() if slot not in full)
                full.add(slots[pair])
        for place, full in taken.items():
            capacity[place] = max(capacity.get(place, 0), *(slot + 1 for slot in full))
        slots_of.append(slots)
    sizes: dict[Place, tuple[float, float]] = {}
    return [
        replace(scene, places=Places(slots, capacity, sizes)) for scene, slots in zip(scenes, slots_of, strict=True)
    ]


def shelved(scene: Scene, boxes: Mapping[str, Box], place: Place, width: float, cell: Box, gap: float = 4) -> Box:
    """Objects of one place by their names, in rows of a width: each in its slot, of the size of `cell`.

    The shelf is as large as the series needs. In a scene of no series they stand side by side.
    """
    if scene.places is None:
        return flow(list(boxes.values()), width, gap)
    slots, room = scene.places.slots, scene.places.capacity.get(place, 0)
    if not room:
        return NOTHING
    across, right, down = max(1, int((width + gap) // (cell.width + gap))), cell.width + gap, cell.height + gap

    def at(x: float, y: float) -> str:
        placed = ((slots[name, place], box) for name, box in boxes.items())
        return "".join(
            box.at(x + slot % across * right, y + slot // across * down + cell.height - box.height)
            for slot, box in placed
        )

    return Box(min(across, room) * right - gap, ceil(room / across) * down - gap, at)


def largest(boxes: Iterable[Box]) -> Box:
    """A cell that has room for each of some boxes."""
    there = list(boxes)
    return Box(max((box.width for box in there), default=0), max((box.height for box in there), default=0), NOTHING.at)
