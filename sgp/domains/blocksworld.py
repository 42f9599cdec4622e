"""Blocksworld with four operators: blocks are stacked one at a time by one hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from sgp import drawing
from sgp.domains import builtin_domain
from sgp.domains.domain import Generator, Place, Scene, Slots, numbered, problem_pddl
from sgp.domains.drawing.boxes import Box, breadth, column
from sgp.domains.drawing.boxes import row as row_of
from sgp.domains.drawing.layout import keep_places
from sgp.domains.drawing.tokens import OBJECT_COLOUR, WIDEST, aside, fingers, hint, token, whole
from sgp.planning.pddl import Atom

_TABLE, _EMPTY = ("ontable", "on-table"), ("handempty", "arm-empty")  # predicates of the two models
_LETTERS = 16.0  # pixels: the font size of names
_MOST_PLACED = 1000  # blocks that are placed one by one, which takes time and memory quadratic in their number
_TOWERS, _HEIGHT = ("towers",), ("height",)  # places: columns of towers by their lowest blocks, levels of blocks


def generate(rng: Generator, blocks: int, one_tower: int = 1) -> str:
    """Draw initial towers uniformly over all arrangements; the goal is one tower of all blocks in random order.

    If `one_tower` is 0, the goal is another random arrangement.
    """
    names = numbered("b", blocks)
    goal = [rng.permutation(blocks).tolist()] if one_tower else _towers(rng, blocks)  # bottom first
    towers = _towers(rng, blocks)
    while sorted(towers) == sorted(goal):
        towers = _towers(rng, blocks)
    init = ["(handempty)"]
    for tower in towers:
        init += [f"(ontable {names[tower[0]]})", f"(clear {names[tower[-1]]})", *_stacked(tower, names)]
    facts = [] if one_tower else [f"(ontable {names[tower[0]]})" for tower in goal]
    facts += [fact for tower in goal for fact in _stacked(tower, names)]
    return problem_pddl(f"blocksworld-{blocks}", "blocksworld", names, sorted(init), facts)


def _stacked(tower: Sequence[int], names: Sequence[str]) -> list[str]:
    return [f"(on {names[upper]} {names[lower]})" for lower, upper in pairwise(tower)]


def _towers(rng: Generator, blocks: int) -> list[list[int]]:
    """Draw towers of blocks, bottom first, uniformly over all arrangements."""
    return _placed(rng, blocks) if blocks <= _MOST_PLACED else _cut(rng, blocks)


def _cut(rng: Generator, blocks: int) -> list[list[int]]:
    """Draw towers by cutting a random order of n blocks into k towers.

    There are n!/k! C(n - 1, k - 1) arrangements in k towers (Lah numbers).
    """
    logarithms = [
        -math.lgamma(towers + 1) - math.lgamma(towers) - math.lgamma(blocks - towers + 1)
        for towers in range(1, blocks + 1)
    ]
    largest = max(logarithms)
    weights = [math.exp(logarithm - largest) for logarithm in logarithms]
    total = sum(weights)
    towers = 1 + int(rng.choice(blocks, p=[weight / total for weight in weights]))
    ends = sorted(1 + rng.choice(blocks - 1, towers - 1, replace=False))
    order = rng.permutation(blocks).tolist()
    return [order[start:end] for start, end in pairwise([0, *ends, blocks])]


def _placed(rng: Generator, blocks: int) -> list[list[int]]:
    """Draw towers by placing one block after the other (Slaney and Thiebaux 2001, section 2).

    Every block begins as a floating tower. One after the other is placed on the table or on another tower, with
    probabilities from the numbers of arrangements that remain reachable.
    """
    floating = [[int(block)] for block in rng.permutation(blocks)]
    grounded: list[list[int]] = []
    arrangements = _arrangements(blocks)
    while floating:
        tower = floating.pop()
        places = len(floating) + len(grounded)
        on_table = arrangements[len(floating)][len(grounded) + 1] / arrangements[len(floating) + 1][len(grounded)]
        if rng.random() < on_table:
            grounded.append(tower)
        else:
            # Every other tower is equally likely to be below.
            other = int(rng.integers(places))
            (floating + grounded)[other].extend(tower)
    return grounded


@lru_cache(maxsize=2)
def _arrangements(most: int) -> list[list[int]]:
    """Return in row i, column j in how many ways i floating towers can be placed if j towers stand on the table."""
    rows = [[1] * (most + 1)]  # no floating towers left
    for placed in range(1, most + 1):
        last = rows[-1]
        rows.append([(placed - 1 + towers) * last[towers] + last[towers + 1] for towers in range(most + 1 - placed)])
    return rows


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """Return 0 for a block on the table, -1 in the hand, j on block j (state-centric, Table 6)."""
    values = {}
    for predicate, names in atoms:
        if predicate in ("on", "holding", *_TABLE):
            values[number[names[0]]] = number[names[1]] if predicate == "on" else 0 if predicate in _TABLE else -1
    return values


def draw(scene: Scene) -> str:
    """Draw towers on a table, in the PDDL order of their lowest blocks, and the hand above them.

    A clear block has a knob. A tower with unknown ground, as in most goals, has a dashed line below it.
    """
    on, held, onto = scene.pairs("on"), scene.unary("holding"), _on_table(scene)
    size = len(scene.names)
    row = 26 if size <= 24 else 21 if size <= 60 else 16
    font = min(_LETTERS, row - 8)
    width = min(max([row * 1.4, *(breadth(name, font) + 12 for name in scene.names)]), 120)
    blocks = {name: _block(scene, name, width, row) for name in scene.names}
    towers = _towers_of(scene)
    columns_of = _in_columns(scene, towers)
    rows = max([*map(len, towers), scene.places.capacity.get(_HEIGHT, 0) if scene.places else 0])
    across = max(1, int((WIDEST + 12) // (width + 12)))
    columns = min(across, max(len(columns_of), 1))
    tables = [
        _table(columns_of[first : first + across], blocks, onto, columns, width, row, rows)
        for first in range(0, len(columns_of), across)
    ]
    loose = [blocks[name] for name in scene.names if name not in _known(scene)] if scene.partial else []
    hand = [] if scene.partial and not held and not _is_empty(scene) else [_hand(scene, blocks, row)]
    supports = Counter([block for block, _ in on] + held + list(onto))
    loads = Counter(below for _, below in on)
    also = [Atom("on", pair) for pair in on if supports[pair[0]] > 1 or loads[pair[1]] > 1]
    parts = [*hand, *tables]
    if hand and len(tables) == 1 and tables[0].height > 4 * row:  # no higher than the towers
        parts = [row_of([*tables, *hand], gap=10, top=True)]
    content = column([*parts, aside(scene, loose, columns * (width + 12))], gap=10)
    status = f"the hand holds {', '.join(held)}" if held else "the hand is empty" if hand else "the hand is left open"
    sentence = f"Blocksworld with {size} blocks in {len(towers)} {'tower' if len(towers) == 1 else 'towers'}, {status}"
    return whole(scene, sentence, content, also)


def arrange(scenes: Sequence[Scene], before: Sequence[int]) -> list[Scene]:
    """Keep the column of a tower as long as its lowest block stays; all drawings have space for the highest tower."""

    def where(scene: Scene) -> Iterator[tuple[str, Place]]:
        towers = _towers_of(scene)
        yield from ((tower[0], _TOWERS) for tower in towers)
        yield from ((block, _HEIGHT) for block in max(towers, key=len, default=()))

    return keep_places(scenes, before, where)


def _known(scene: Scene) -> set[str]:
    """Return the blocks that some atom mentions."""
    return {block for pair in scene.pairs("on") for block in pair}.union(
        scene.unary("holding"), _on_table(scene), scene.unary("clear")
    )


def _in_columns(scene: Scene, towers: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the tower in each column; in a series, towers keep their columns and some columns are empty."""
    if scene.places is None:
        return list(towers)
    columns: list[tuple[str, ...]] = [()] * scene.places.capacity.get(_TOWERS, 0)
    for tower in towers:
        columns[scene.places.slots[tower[0], _TOWERS]] = tower
    return columns


def _on_table(scene: Scene) -> set[str]:
    return {block for word in _TABLE for block in scene.unary(word)}


def _is_empty(scene: Scene) -> bool:
    return any(Atom(word, ()) in scene.atoms for word in _EMPTY)


def _towers_of(scene: Scene) -> list[tuple[str, ...]]:
    """Return towers, lowest block first, without the held block; those of a goal have only blocks that it mentions.

    In a cycle of blocks, the first in PDDL order counts as the lowest.
    """
    known = _known(scene) if scene.partial else scene.place
    above: dict[str, list[str]] = {}
    for upper, lower in scene.pairs("on"):
        above.setdefault(lower, []).append(upper)
    upper_ones = {upper for upper, _ in scene.pairs("on")} - _on_table(scene)
    blocks = [name for name in scene.names if name in known]
    towers, seen = [], set[str]()
    for lowest in sorted(blocks, key=upper_ones.__contains__):  # blocks on no other block first
        if lowest in seen and lowest in upper_ones:
            continue
        tower, waiting = [], [lowest]
        while waiting:
            block = waiting.pop()
            if block not in tower:
                tower.append(block)
                waiting += reversed(above.get(block, []))
        seen.update(tower)
        towers.append(tuple(tower))
    held = [(block,) for block in scene.unary("holding")]
    return [tower for tower in towers if tower not in held]


def _block(scene: Scene, name: str, width: float, row: float) -> Box:
    """Draw a block, with a knob if it is clear."""
    text = hint(scene, name, "on", *_TABLE, "holding", "clear")
    box = token(scene, name, name, OBJECT_COLOUR, text, height=row - 1, width=width, letters=_LETTERS)
    clear = name in scene.unary("clear")

    def at(x: float, y: float) -> str:
        knob = drawing.path(f"M{x + width / 2 - 6:.1f} {y:.1f}v-4h12v4z", fill="currentColor", fill_opacity=0.75)
        return drawing.element("g", [knob, box.at(x, y)], data_object=name) if clear else box.at(x, y)

    return Box(width, row, at)


def _table(
    towers: Sequence[Sequence[str]],
    blocks: Mapping[str, Box],
    onto: Collection[str],
    columns: int,
    width: float,
    row: float,
    rows: int,
) -> Box:
    """Draw towers on one table in columns of `rows` blocks, some of them empty."""
    height = rows * row + 6

    def at(x: float, y: float) -> str:
        parts = []
        for place, tower in enumerate(towers):
            left = x + place * (width + 12) + 6
            parts += [blocks[name].at(left, y + height - (level + 1) * row) for level, name in enumerate(tower)]
            if tower and tower[0] not in onto:
                dashes = {"stroke": "currentColor", "stroke_dasharray": "4 3", "stroke_width": 2}
                parts.append(drawing.line(left - 4, y + height + 2, left + width + 4, y + height + 2, **dashes))
        if any(tower and tower[0] in onto for tower in towers) or not any(towers):
            table = drawing.rect(x, y + height + 6, columns * (width + 12), 4, fill="currentColor", fill_opacity=0.6)
            feet = [
                drawing.rect(x + place * (width + 12) + 6, y + height, width, 6, fill="currentColor", fill_opacity=0.25)
                for place, tower in enumerate(towers)
                if tower and tower[0] in onto
            ]
            parts += [table, *feet]
        return "".join(parts)

    return Box(columns * (width + 12), height + 10, at)


def _hand(scene: Scene, blocks: Mapping[str, Box], row: float) -> Box:
    """Draw the hand: spread fingers and the word "empty", or closed around the held blocks."""
    held = [blocks[name] for name in scene.unary("holding") if name in blocks]
    empty = _is_empty(scene)
    widest = max((block.width for block in blocks.values()), default=30)
    width = max(widest, sum(block.width + 4 for block in held) - 4) + 16

    def at(x: float, y: float) -> str:
        stem = f"M{x + width / 2:.1f} {y:.1f}v8"
        hand = fingers(x + 4, x + width - 4, y + 8, y + row + 8, y + row + 18, 5 if empty else -5, stem)
        inside = [block.at(x + 8 + place * (block.width + 4), y + 14) for place, block in enumerate(held)]
        status = "empty" if empty else "" if held else "closed"
        label = drawing.text(f"hand {status}".strip(), x, y + row + 38, font_size=_LETTERS)
        return drawing.group("hand", [hand, *inside, label], class_="hand")

    return Box(max(width, 92), row + 44, at)


DOMAIN = builtin_domain(
    "blocksworld", generate, count=lambda blocks, **goal: blocks, slots=Slots(slot_values), draw=draw, arrange=arrange
)
