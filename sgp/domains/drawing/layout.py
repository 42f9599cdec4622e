"""Drawings that a domain describes as data: which objects stand in which, and their labels.

The table `[drawing]` of `domain.toml` has these fields:

- `kinds`: types, the outermost first, each with its looks (`Kind`); objects stand in objects of earlier kinds.
- `inside`: by predicate, what stands where: "0 in 1" (first argument in second), "ferry in 0", "0 in ferry";
  "0 in 1 if served" requires that another predicate is true of what stands there.
- `pile`: the predicate by which its first argument stands on its second, both of kinds with the look "pile".
- `labels`: by predicate, an object and its label: "0: {1}", "ferry: empty".
- `styles`: by predicate, an object and its colour: "0: green"; "0: by last" has a colour for each last argument, and
  "0: round" makes a disc.
- `goals`: as `labels`, for goals that do not hold.
- `layout`: "rows", "floors" (ordered by the predicate `order`, whose second argument is higher), "graph", or "cells",
  whose positions follow from `steps` along the `links` or from their names. `links` join places, dashed if no atom of
  `ways` does.
- `hidden`: predicates that are not drawn. All other atoms that are not drawn are listed below the drawing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import ceil
from typing import Any, NamedTuple

from sgp import drawing
from sgp.domains.domain import Place, Places, Scene
from sgp.domains.drawing.boxes import NOTHING, Box, column, fitting, flow, largest, paragraph, row, words
from sgp.domains.drawing.places import Link, Spots, by_directions, by_distance, from_names, grid, network
from sgp.domains.drawing.tokens import COLOURS, PALETTE, aside, hint, marks, natural, token, whole
from sgp.planning.pddl import Atom

_NOWHERE = ""  # the place of objects without a place in the atoms
_FILLS: Mapping[str, Mapping[str, object]] = {
    "place": {"fill": "currentColor", "fill_opacity": 0.04},
    "shaded": {"fill": "currentColor", "fill_opacity": 0.16},
}


@dataclass(frozen=True)
class Kind:
    """The drawing of the objects of a type.

    `look` is "place" (a frame of the layout), "apart" (a frame in a row of its own, and a small token where it stands),
    "frame" (a token with others below it), "pile" (others stand on it) or "token". A `figure` is no object but a part
    of every problem, such as a ferry; `fixed` is the object in which it always stands, too. `shaded` places are grey
    unless a style applies.
    """

    name: str
    look: str = "token"
    colour: str = "plain"
    figure: bool = False
    fixed: str = ""
    shaded: bool = False
    plural: str = ""


class Rule(NamedTuple):
    """The meaning of an atom: `who` and `where` are numbers of arguments, or names of figures."""

    who: str
    where: str = ""
    condition: str = ""
    label: str = ""

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Parse "0 in 1", "0 in 1 if served" or "0: label"."""
        place, _, label = text.partition(": ")
        who, _, where, _, condition = [*place.split(), "", "", "", ""][:5]
        return cls(who, where, condition, label)

    def read(self, objects: Sequence[str]) -> tuple[str, str, str] | None:
        """Return who, where and label for an atom's objects; None if there are too few."""
        try:
            who, where = (objects[int(part)] if part.isdigit() else part for part in (self.who, self.where))
            return who, where, self.label.format(*objects)
        except IndexError:
            return None


@dataclass(frozen=True)
class Layout:
    """A drawing as described in `domain.toml`; the module's docstring explains the fields."""

    title: str
    kinds: Mapping[str, Kind]
    layout: str
    inside: Mapping[str, Rule]
    labels: Mapping[str, Rule]
    styles: Mapping[str, Rule]
    goals: Mapping[str, Rule]
    pile: str = ""
    links: Sequence[str] = ()
    ways: str = ""
    order: str = ""
    steps: Mapping[str, Sequence[int]] = field(default_factory=dict)
    transposed: bool = False
    hidden: Sequence[str] = ()
    letters: float = 10  # of labels
    gap: float = 34  # between linked places, in which their links are visible
    frame: tuple[float, float] | None = None  # as in `network`; with one, only places keep their sizes in a series
    legend: bool = False  # of the colours of kinds
    notes: Sequence[str] = ()

    @classmethod
    def from_toml(cls, title: str, table: Mapping[str, Any]) -> Layout:
        """Read a table `[drawing]`."""
        rules = {
            part: {predicate: Rule.parse(rule) for predicate, rule in table.get(part, {}).items()}
            for part in ("inside", "labels", "styles", "goals")
        }
        kinds = {name: Kind(name, **looks) for name, looks in table["kinds"].items()}
        return cls(title, **{**table, "kinds": kinds, **rules})

    def draw(self, scene: Scene) -> str:
        """Return the SVG of a scene."""
        if scene.places is None:
            (scene,) = self.arrange([scene], [-1])
        return _Drawing(self, scene).svg()

    def arrange(self, scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
        """Assign places in a series of scenes: objects keep their slots, and every kind keeps its size."""
        arranged = keep_places(scenes, before, lambda scene: _Drawing(self, scene).standing())
        drawings = [_Drawing(self, scene) for scene in arranged]
        for kind in reversed(list(self.kinds.values())):
            if self.frame and kind.look != "place":
                continue
            for each in drawings if not self.frame else ():
                each.measure_labels(kind)
            for each in drawings:
                each.measure(kind)
        return arranged


class _Drawing:
    """One scene, drawn by a layout."""

    def __init__(self, layout: Layout, scene: Scene):
        self.layout, self.scene = layout, scene
        self.sizes, self.capacity = (scene.places.sizes, scene.places.capacity) if scene.places else ({}, {})
        self.kinds: dict[str, Kind] = {}  # of objects and figures
        for name, types in scene.objects:
            if kind := next((kind for kind in layout.kinds.values() if kind.name in types), None):
                self.kinds[name] = kind
        self.kinds |= {name: kind for name, kind in layout.kinds.items() if kind.figure}
        self.labels: dict[str, list[str]] = {}
        self.styles: dict[str, list[str]] = {}
        self.held: dict[str, list[str]] = {}  # places of each object
        self.above: dict[str, str] = {}  # the object that stands on each object
        self.also: list[Atom] = []
        ignored = {*layout.hidden, *layout.links, layout.ways, layout.order, layout.pile}
        for atom in scene.ordered:
            drawn = [self._stands(atom), self._styled(atom), self._labelled(layout.labels, atom)]
            if not any(drawn) and atom.predicate not in ignored:
                self.also.append(atom)
        self.also += [Atom(layout.pile, pair) for pair in scene.pairs(layout.pile) if not self._piled(*pair)]
        for goal in (goal for goals in scene.goals_of.values() for goal in goals if not scene.holds(goal)):
            self._labelled(layout.goals, goal.atom)
        if scene.partial:  # figures that a goal does not mention are omitted
            mentioned = {*self.labels, *self.held, *(where for places in self.held.values() for where in places)}
            self.kinds = {name: kind for name, kind in self.kinds.items() if not kind.figure or name in mentioned}
        for name, kind in self.kinds.items():
            if kind.fixed in self.kinds:
                self.held.setdefault(name, []).append(kind.fixed)
        self.shelved: dict[Place, list[str]] = {}  # by place and kind
        for name, place in self.standing():
            self.shelved.setdefault(place, []).append(name)

    def _read(self, rules: Mapping[str, Rule], atom: Atom) -> tuple[str, str, str] | None:
        rule = rules.get(atom.predicate)
        read = rule.read(atom.objects) if rule else None
        return read if read and read[0] in self.kinds else None

    def _stands(self, atom: Atom) -> bool:
        read = self._read(self.layout.inside, atom)
        if read is None or read[1] not in self.kinds:
            return False
        who, where, _ = read
        condition, levels = self.layout.inside[atom.predicate].condition, list(self.layout.kinds)
        outer, inner = (levels.index(self.kinds[name].name) for name in (where, who))
        missing = condition and Atom(condition, (who,)) not in self.scene.atoms
        if missing or outer >= inner or self.kinds[who].look == "place":
            return False
        self.held.setdefault(who, []).append(where)
        return True

    def _styled(self, atom: Atom) -> bool:
        read = self._read(self.layout.styles, atom)
        if read is None:
            return False
        who, _, style = read
        self.styles.setdefault(who, []).append(self._colour(atom.objects[-1]) if style == "by last" else style)
        if self.scene.partial and style == "place":  # the look of every place in a goal
            self.labels.setdefault(who, []).append(re.sub("[-_]", " ", atom.predicate))
        return True

    def _colour(self, name: str) -> str:
        """Return the colour that is the name of an object, or else one by its number within its type."""
        if name in COLOURS:
            return name
        types = next((types for other, types in self.scene.objects if other == name), ())
        same_type = [other for other, others_types in self.scene.objects if others_types == types]
        return PALETTE[same_type.index(name) % len(PALETTE)] if name in same_type else "plain"

    def _labelled(self, rules: Mapping[str, Rule], atom: Atom) -> bool:
        read = self._read(rules, atom)
        if read is None:
            return False
        self.labels.setdefault(read[0], []).append(read[2])
        return True

    def _piled(self, upper: str, lower: str) -> bool:
        """Put an object onto another one, unless their places differ or one of them is in another pile."""
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
        """Yield every object that stands somewhere, with its place and kind."""
        upper = {*self.above.values()}
        for name in sorted(self.kinds, key=natural):
            kind = self.kinds[name]
            if name not in upper and kind.look != "place":
                for where in self.held.get(name, [] if kind.look == "apart" else [_NOWHERE]):
                    yield name, (where, kind.name)

    def measure_labels(self, kind: Kind) -> None:
        """Reserve space for the largest number of labels of an object of a kind in the series."""
        lines = [len(self.labels.get(name, ())) for name in self._of(kind)]
        self.sizes[kind.name, "labels"] = (0, max([*lines, *self.sizes.get((kind.name, "labels"), (0, 0))]))

    def measure(self, kind: Kind) -> None:
        """Make objects of a kind as large as the largest of them in the series."""
        for name in self._of(kind):
            box, key = self._box(name), self._key(name)
            width, height = self.sizes.get(key, (0, 0))
            self.sizes[key] = max(width, box.width), max(height, box.height)

    def _key(self, name: str) -> tuple[str, str]:
        layout = self.layout
        fixed = any(kind.fixed for kind in layout.kinds.values())
        single = self.kinds[name].look == "place" and (fixed or (layout.frame and layout.layout != "cells"))
        return self.kinds[name].name, name if single else ""

    def _of(self, kind: Kind) -> list[str]:
        return sorted((name for name, other in self.kinds.items() if other == kind), key=natural)

    def _box(self, name: str) -> Box:
        """Draw an object with its labels and all that stands in it or on it."""
        look = self.kinds[name].look
        if look == "place":
            return self._place(name)
        if look in ("frame", "apart"):
            return self._frame(name)
        box = self._token(name, "  ".join([name, *self.labels.get(name, ())]))
        return column([self._box(self.above[name]), box], gap=0) if name in self.above else box

    def _token(self, name: str, label: str) -> Box:
        styles = self.styles.get(name, [])
        *_, colour = self.kinds[name].colour, *(style for style in styles if style != "round")
        return token(self.scene, name, label, COLOURS[colour], self._hint(name), height=20, round_="round" in styles)

    def _hint(self, name: str) -> str:
        layout = self.layout
        return hint(self.scene, name, *layout.inside, *layout.labels, *layout.styles, layout.pile)

    def _inside(self, name: str) -> list[Box]:
        """Draw the labels of an object, and a shelf for each kind that stands in it."""
        label = column([words(line, self.layout.letters) for line in self.labels.get(name, ())], gap=0)
        most = int(self.sizes.get((self.kinds[name].name, "labels"), (0, 0))[1])
        return [Box(label.width, max(label.height, most * (self.layout.letters + 4)), label.at), *self._shelves(name)]

    def _shelves(self, where: str) -> list[Box]:
        """Draw the contents of a place, each kind on its own shelf."""
        shelves, floors = [], self.layout.layout == "floors"
        for kind in self.layout.kinds.values():
            small, names = kind.look == "apart", self.shelved.get((where, kind.name), ())
            boxes = {name: self._token(name, name) if small else self._box(name) for name in names}
            if self.layout.frame:
                shelves += [_packed(list(boxes.values()))] if boxes else []
                continue
            room = self.capacity.get((where, kind.name), 0)
            if kind.figure and floors and where:
                room = 1  # on every floor, so that the shelves of the floors are aligned
            if not room:
                continue
            if small:
                cell = largest(self._token(name, name) for name in self._of(kind))
            else:
                cell = Box(*self.sizes.get((kind.name, ""), (0, 0)), NOTHING.at)
            width = cell.width + 4
            across = max(2, int(560 / width)) if floors else fitting(room, width, cell.height + 4)
            shelves.append(shelf(self.scene, boxes, (where, kind.name), across * width, cell))
        return shelves

    def _frame(self, name: str) -> Box:
        """Draw a frame around an object's token, its labels and its contents."""
        own, inside = self._token(name, name), self._inside(name)
        if self.layout.frame and not any(box.height for box in inside):  # nothing to put a frame around
            return own
        content = column([own, *inside], gap=3)
        width, height = self.sizes.get(self._key(name), (0, 0))
        width, height = max(content.width + 8, width), max(content.height + 8, height)

        def at(x: float, y: float) -> str:
            frame = drawing.rect(x, y, width, height, rx=4, fill="none", stroke="currentColor", stroke_opacity=0.6)
            return drawing.group(self._hint(name), [frame, content.at(x + 4, y + 4)], data_object=name)

        return Box(width, height, at)

    def _place(self, name: str) -> Box:
        """Draw a place of the layout in the colours of its styles."""
        kind, cells = self.kinds[name], self.layout.layout == "cells"
        parts = [words(name, max(11, self.layout.letters)), *self._inside(name)]
        content = row(parts, 10, top=True) if self.layout.layout == "floors" else column(parts, gap=4)
        width, height = self.sizes.get(self._key(name), (0, 0))
        width, height = max(content.width + 16, width, 48 if cells else 100), max(content.height + 12, height, 48)
        styles = self.styles.get(name) or (["shaded"] if kind.shaded and not self.scene.partial else ["place"])
        look: dict[str, object] = {"rx": 0 if cells else 6, "stroke": "currentColor", "stroke_opacity": 0.4}

        def at(x: float, y: float) -> str:
            part = height / len(styles)
            fills = [
                drawing.rect(
                    x, y + number * part, width, part, **_FILLS.get(style, {"fill": COLOURS[style].fill}), **look
                )
                for number, style in enumerate(styles)
            ]
            done = marks(self.scene, name, x + width - 8, y + 8, 6)
            inside = drawing.element("g", content.at(x + 8, y + 6), fill=COLOURS[styles[0]].ink)
            return drawing.group(self._hint(name), [*fills, inside, done], class_=kind.name)

        return Box(width, height, at)

    def _ground(self, places: Mapping[str, Box]) -> Box:
        """Set all places by the layout."""
        layout = self.layout
        linked = (atom.objects[:2] for atom in self.scene.ordered if atom.predicate in layout.links)
        pairs = [(first, second) for first, second in linked if {first, second} <= self.kinds.keys()]
        if layout.layout == "floors":
            below = {name: sum(1 for _, upper in self.scene.pairs(layout.order) if upper == name) for name in places}
            return column([places[name] for name in sorted(places, key=lambda name: -below[name])], gap=2)
        if layout.layout == "cells":
            spots = self._spots(list(places), pairs)
            if spots is not None:
                return grid(places, spots, pairs)
        if layout.links:
            return network(places, self._links(pairs), layout.gap, layout.frame)
        cell = largest(places.values())
        across = fitting(len(places), cell.width + 10, cell.height + 10)
        return flow(list(places.values()), across * (cell.width + 10), 10)

    def _links(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Link]:
        ways = [atom.objects for atom in self.scene.ordered if atom.predicate == self.layout.ways]
        there = set(pairs)
        for first, second in pairs:
            back = (second, first) in there
            if first < second or not back:
                who = [objects[0] for objects in ways if {*objects[1:]} == {first, second}]
                users = f": {', '.join(dict.fromkeys(who)) or 'nobody'}" if self.layout.ways else ""
                dashed = bool(self.layout.ways) and not who
                yield Link(first, second, f"from {first} to {second}{users}", not back, dashed)

    def _spots(self, cells: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Spots | None:
        """Return the positions of cells; None if neither steps nor names determine them."""
        layout = self.layout
        if not layout.steps:
            spots = from_names(cells, pairs)
            return {cell: (y, x) for cell, (x, y) in spots.items()} if spots and layout.transposed else spots
        steps: dict[tuple[str, str], tuple[int, int]] = {}
        for predicate, objects in self.scene.ordered:
            word = objects[2] if len(objects) > 2 else predicate
            if predicate in layout.links and word in layout.steps and {*objects[:2]} <= self.kinds.keys():
                right, down = layout.steps[word]
                steps[objects[0], objects[1]] = right, down
        return by_directions(cells, steps) or by_distance(cells, pairs)

    def svg(self) -> str:
        """Return the whole drawing."""
        scene, layout, kinds = self.scene, self.layout, self.layout.kinds.values()
        places = {name: self._box(name) for name, kind in self.kinds.items() if kind.look == "place"}
        ground = self._ground(places) if places else NOTHING
        width = max(ground.width, 250 if layout.frame else 480)
        rows = [flow(list(map(self._box, self._of(kind))), width, 10) for kind in kinds if kind.look == "apart"]
        shelves = self._shelves(_NOWHERE)
        lost = aside(scene, shelves, width) if places else flow(shelves, width)
        other: dict[str, list[str]] = {}  # objects without a kind, such as sizes and modes
        for name, types in scene.objects:
            if name not in self.kinds:
                other.setdefault(types[0] if types else "others", []).append(name)
        lists = [paragraph([f"{kind}:", *names], width, 10) for kind, names in other.items()]
        lists += [words(line, layout.letters) for line in layout.notes]
        coloured = [kind for kind in kinds if layout.legend and kind.look != "place" and self._of(kind)]
        lists += [flow([_swatch(kind) for kind in coloured], width, 14)] if coloured else []
        counts = [f"{len(self._of(kind))} {kind.plural or kind.name + 's'}" for kind in kinds if not kind.figure]
        title = f"{self.layout.title} with {', '.join(counts)}"
        return whole(scene, title, column([ground, *rows, lost, *lists], gap=12), self.also, max(11, layout.letters))


def _packed(boxes: Sequence[Box], gap: float = 4) -> Box:
    """Set boxes side by side, in rows that suit a frame of four to three."""
    cell = largest(boxes)
    return flow(boxes, fitting(len(boxes), cell.width + gap, cell.height + gap) * (cell.width + gap), gap)


def _swatch(kind: Kind) -> Box:
    """Draw a colour with the name of its kind."""
    label = words(kind.name, 12)

    def at(x: float, y: float) -> str:
        square = drawing.rect(x, y + 3, 10, 10, rx=2, fill=COLOURS[kind.colour].fill, stroke="currentColor")
        return square + label.at(x + 15, y)

    return Box(label.width + 15, label.height, at)


def keep_places(
    scenes: Sequence[Scene], before: Sequence[int], where: Callable[[Scene], Iterable[tuple[str, Place]]]
) -> list[Scene]:
    """Return scenes with their `places`; `before` has the index of the scene that each one follows (-1: none).

    `where` yields the objects of a scene with their places. An object keeps its slot in a place as long as it stays,
    and takes the first free slot when it comes.
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


def shelf(scene: Scene, boxes: Mapping[str, Box], place: Place, width: float, cell: Box, gap: float = 4) -> Box:
    """Draw the objects of a place in rows, each in its slot, which has the size of `cell`.

    The shelf is as large as the series requires. In a scene without a series, boxes are side by side.
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
