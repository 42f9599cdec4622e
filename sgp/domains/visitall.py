"""VisitAll: a robot on a grid visits every cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import ceil

from sgp import drawing
from sgp.domains import builtin_domain
from sgp.domains.domain import Generator, Scene, Slots, pick, problem_pddl
from sgp.domains.drawing.boxes import SMALLEST, Box, breadth
from sgp.domains.drawing.places import NEIGHBOURS, Spots, by_distance, from_names, walls
from sgp.domains.drawing.tokens import DONE, OBJECT_COLOUR, ROBOT, hint, marks, whole
from sgp.domains.maps import reachable
from sgp.planning.pddl import Atom

_NAMED = 5  # columns or rows of a grid whose cells have names


def generate(rng: Generator, width: int, height: int, start: int | None = None, holes: int = 0) -> str:
    """Make a connected grid of `width` x `height` cells without `holes` random ones; the goal is to visit all cells.

    The robot starts at cell `start`, counted row by row (None: a random one).
    """
    there = [(x, y) for y in range(height) for x in range(width)]
    for _ in range(holes):
        there.remove(_removable(rng, there))
    cells = [f"c{x}-{y}" for x, y in there]
    first = pick(rng, cells) if start is None else cells[start]
    inside = set(there)
    connected = [
        f"(connected c{x}-{y} c{x + dx}-{y + dy})"
        for x, y in product(range(width), range(height))
        for dx, dy in NEIGHBOURS
        if {(x, y), (x + dx, y + dy)} <= inside
    ]
    init = [*(f"(place {cell})" for cell in cells), *connected, f"(at-robot {first})", f"(visited {first})"]
    goal = [f"(visited {cell})" for cell in cells]
    return problem_pddl(f"visitall-{width}x{height}-{first}", "visitall", cells, init, goal)


def _removable(rng: Generator, there: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Draw a cell without which the others remain connected."""
    places: list[int] = rng.permutation(len(there)).tolist()
    for place in places:
        rest = set(there) - {there[place]}
        if reachable(rest, min(rest)) == rest:
            return there[place]  # exists, as in every connected graph
    raise AssertionError


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """Return the robot's cell, and 1 for a visited cell (state-centric, Table 6)."""
    return {
        0 if predicate == "at-robot" else number[names[0]]: number[names[0]] if predicate == "at-robot" else 1
        for predicate, names in atoms
        if predicate in ("at-robot", "visited")
    }


def draw(scene: Scene) -> str:
    """Draw the grid by the cells' names (walls between unconnected neighbours), or cells and their links.

    The cells of a large grid have no names; its columns and rows have numbers.
    A visited cell is shaded, a cell that must be visited has a pellet, and satisfied goals are checked.
    """
    robots, visited = scene.unary("at-robot"), set(scene.unary("visited"))
    static = frozenset(atom for atom in scene.atoms if atom.predicate == "connected")
    ground = _ground(Scene(scene.objects, static, ()))
    side = ground.side
    atoms_of: dict[str, list[Atom]] = {cell: [] for cell in ground.centres}
    also: list[Atom] = []
    for atom in (Atom(name, (cell,)) for name, cells in (("at-robot", robots), ("visited", visited)) for cell in cells):
        atoms_of.get(atom.objects[0], also).append(atom)
    drawn = [
        _cell(
            Scene((cell,), frozenset(atoms_of[cell.name]), tuple(scene.goals_of.get(cell.name, ())), scene.partial),
            ground.centres[cell.name],
            side,
            ground.font,
        )
        for cell in scene.objects
    ]
    robot = [
        _robot(x - side * 0.14, y + side * 0.12, side)
        for x, y in (ground.centres[cell] for cell in robots if cell in atoms_of)
    ]

    def at(x: float, y: float) -> str:
        parts = [*drawn, ground.edge] if ground.named else [ground.edge, *drawn]
        return drawing.element("g", [*parts, *robot], transform=f"translate({x} {y})")

    where = f"the robot on {', '.join(robots)}" if robots else "the robot anywhere"
    sentence = (
        f"VisitAll with {len(atoms_of)} cells, {len(visited)} {'to be ' if scene.partial else ''}visited, {where}"
    )
    return whole(scene, sentence, Box(ground.width, ground.height, at), sorted(also))


@dataclass(frozen=True)
class _Ground:
    """The parts that all states of a problem share: positions of cells, and walls or links between them."""

    named: bool  # whether the cells' names determine their positions
    side: int  # of a cell, in pixels
    centres: Mapping[str, tuple[float, float]]
    font: float  # the font size of the cells' names, 0 if there are none
    edge: str
    width: float
    height: float


@lru_cache(maxsize=64)
def _ground(scene: Scene) -> _Ground:
    """Return the ground of a scene that consists of cells and their connections."""
    cells = scene.names
    linked = [pair for pair in scene.pairs("connected") if pair[0] in scene.place and pair[1] in scene.place]
    named = from_names(cells, linked)
    spots = named or by_distance(cells, linked)
    columns, rows = (max((spot[axis] for spot in spots.values()), default=0) + 1 for axis in (0, 1))
    side = 44 if max(columns, rows) <= 12 else 30 if max(columns, rows) <= 24 else 24
    pitch = side if named else max(side, 56)
    centres = {cell: ((x + 0.5) * pitch, (y + 0.5) * pitch) for cell, (x, y) in spots.items()}
    font = min(17.0, (side - 4) / max(breadth(cell, 1) for cell in cells)) if cells else 0.0
    edge = walls(spots, linked, side, side) if named else _links(centres, linked)
    width, height = columns * pitch, rows * pitch
    if named and max(columns, rows) > _NAMED:
        return _Ground(True, side, *_numbered(spots, side, edge, width, height))
    return _Ground(bool(named), side, centres, font if font >= SMALLEST else 0.0, edge, width, height)


def _numbered(
    spots: Spots, side: int, edge: str, width: float, height: float
) -> tuple[Mapping[str, tuple[float, float]], float, str, float, float]:
    """Number columns and rows of a grid, as its cells' names do; return the last fields of its ground."""
    size = max(width, height) * 0.05
    heads = [dict[int, str](), dict[int, str]()]
    for cell, spot in spots.items():
        for axis, number in enumerate(re.findall(r"\d+", cell)[-2:]):
            heads[axis][spot[axis]] = number
    room = max(size, *(breadth(number, size) for axis in heads for number in axis.values())) + 6
    every = ceil(room / side)
    across = [
        drawing.text(number, room + (at + 0.5) * side, room - 6, font_size=size, text_anchor="middle")
        for at, number in heads[0].items()
        if at % every == 0
    ]
    down = [
        drawing.text(number, room - 6, room + (at + 0.5) * side + size * 0.36, font_size=size, text_anchor="end")
        for at, number in heads[1].items()
        if at % every == 0
    ]
    centres = {cell: (room + (x + 0.5) * side, room + (y + 0.5) * side) for cell, (x, y) in spots.items()}
    moved = drawing.element("g", [edge], transform=f"translate({room:.1f} {room:.1f})")
    return centres, 0.0, "".join([moved, *across, *down]), width + room, height + room


@lru_cache(maxsize=4096)
def _cell(scene: Scene, centre: tuple[float, float], side: int, font: float) -> str:
    """Draw the only cell of a scene, with its name if the font size is not 0; most states share most cells."""
    (cell,) = scene.names
    visited = Atom("visited", (cell,)) in scene.atoms
    x, y = centre[0] - side / 2, centre[1] - side / 2
    look = {"fill": DONE, "fill_opacity": 0.28} if visited and not scene.partial else {"fill": "none"}
    parts = [drawing.rect(x, y, side, side, stroke="currentColor", stroke_opacity=0.25, **look)]
    if font:
        parts.append(drawing.text(cell, x + 2, y + font, font_size=font, fill_opacity=0.75))
    required = any(goal.atom.predicate == "visited" for goal in scene.goals_of.get(cell, ()))
    if visited if scene.partial else required and not visited:
        pellet = (centre[0], centre[1] + side * 0.18, side / 9)  # below the name
        parts.append(drawing.circle(*pellet, fill=OBJECT_COLOUR.fill, stroke="currentColor", stroke_width=0.5))
    parts.append(marks(scene, cell, x + side - side / 6, y + side - side / 6, side / 7))
    return drawing.group(hint(scene, cell, "at-robot", "visited"), parts)


def _robot(x: float, y: float, side: int) -> str:
    """Draw the robot: a head with two eyes."""
    eyes = [drawing.circle(x + dx * side / 10, y - side / 14, side / 16, fill=ROBOT.ink) for dx in (-1, 1)]
    mouth = drawing.line(x - side / 9, y + side / 9, x + side / 9, y + side / 9, stroke=ROBOT.ink, stroke_width=1.5)
    half = side * 0.26
    head = drawing.rect(x - half, y - half, 2 * half, 2 * half, rx=half / 2, fill=ROBOT.fill, stroke="currentColor")
    return drawing.group("robot", [head, *eyes, mouth], class_="robot", data_object="robot")


def _links(centres: Mapping[str, tuple[float, float]], linked: Sequence[tuple[str, str]]) -> str:
    """Draw lines between connected cells."""
    return "".join(
        drawing.line(*centres[first], *centres[second], stroke="currentColor", stroke_opacity=0.5)
        for first, second in linked
        if first < second or (second, first) not in linked
    )


DOMAIN = builtin_domain(
    "visitall",
    generate,
    count=lambda width, height, start=None, holes=0: width * height - holes,
    allowed=lambda width, height, start=None, holes=0: (start or 0) + holes < width * height,
    scaled=lambda width, height, **free: width == height,
    slots=Slots(slot_values, has_global=True),
    draw=draw,
)
