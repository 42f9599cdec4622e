"""The dashboard's tour: six stops from a state to the nearest successor, drawn from one recorded decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sgp import drawing
from sgp.domains import draw_goal, draw_scene
from sgp.errors import StoreError
from sgp.files import read_json
from sgp.planning.domain import Scene
from sgp.planning.recorded import Recorded, atom_of
from sgp.planning.subject import Subject
from sgp.viewer.graph import FILLS, WIDTH, colour_called, draw_graph
from sgp.viewer.playback import rank_order

_TITLES = ("State", "Graph", "Colours", "Embedding", "Prediction", "Nearest successor")
_FORMAT = 1
_ROW = 34
_STYLE = "width:100%;height:auto;fill:currentColor"
_LARGEST_CHANGES = 12
_UP, _DOWN = "#0072b2", "#d55e00"


@dataclass(frozen=True)
class Tour:
    """A recorded decision with everything that led to it, as `sgp record` writes it."""

    source: str
    data: Mapping[str, Any]

    @property
    def about(self) -> Subject:
        """Which model decided."""
        return self._rollout.about

    @property
    def step(self) -> int:
        """The number of the decision in its rollout, from 1."""
        return int(self.data["step"])

    @property
    def problem(self) -> str:
        """The problem's name."""
        return str(self._rollout.head["name"])

    @cached_property
    def candidates(self) -> list[dict[str, Any]]:
        """The decision's candidates in the order of the PDDL."""
        return list(self._rollout.steps[self.step - 1]["candidates"])

    @cached_property
    def order(self) -> list[int]:
        """The places of the candidates, nearest first."""
        return rank_order([float("inf") if each["cost"] is None else each["cost"] for each in self.candidates])

    @property
    def chosen(self) -> int:
        """The place of the candidate that the planner took."""
        return int(self._rollout.steps[self.step - 1]["chosen"])

    def action(self, place: int) -> str:
        """A candidate's actions."""
        return " ".join(self.candidates[place]["actions"])

    @property
    def rounds(self) -> int:
        """Rounds of colour refinement."""
        return len(self.data["graph"]["colours"]) - 1

    @cached_property
    def _rollout(self) -> Recorded:
        head, *steps = self.data["records"]
        return Recorded(self.source, 1, head, tuple(steps))

    @cached_property
    def _scene(self) -> tuple[Any, Scene]:
        text, problem = self._rollout.domain, self._rollout.problem
        atoms = frozenset(map(atom_of, self.data["atoms"]))
        return text, Scene((*text.constants, *problem.objects), atoms, problem.goal)

    def words(self, stop: int, level: int = 0) -> str:
        """What a stop says, with its numbers."""
        graph, scene = self.data["graph"], self._scene[1]
        kinds = Counter(graph["kinds"])
        open_goals = len(self._rollout.open_goals[self.step - 1])
        size = len(self.data["embedding"])
        if stop == 0:
            return (
                f"A state is the set of atoms that are true: {len(scene.atoms)} here, of {len(scene.objects)} objects. "
                f"The goal asks for {len(scene.goal)}: {len(scene.goal) - open_goals} hold, {open_goals} are open."
            )
        if stop == 1:
            return (
                f"Every object is a node, and so is every atom that is true or wanted: {kinds['object']} objects, "
                f"{len(graph['nodes']) - kinds['object']} atoms. An edge joins an atom to each of its arguments and "
                f"knows which one it is: {len(graph['edges'])} edges. Names are forgotten from here on."
            )
        if stop == 2:
            counts = [len(set(colours) - {-1}) for colours in graph["colours"]]
            unseen = graph["colours"][level].count(-1)
            never = f" {unseen} have one that training never met (?): it is not counted." if unseen else ""
            return (
                "A node's colour is at first what it is. In each round it becomes its colour and those around it. "
                f"Different colours after each round: {', '.join(map(str, counts))}. Shown: after round {level}.{never}"
            )
        if stop == 3:
            present = sum(value != 0 for value in self.data["embedding"])
            return (
                f"How often each colour occurs, after all rounds together, is the state's embedding: {size} numbers, "
                f"one for each colour met in training, {present} of them not zero here. The goal, taken as a state, "
                "gets such a vector too."
            )
        if stop == 4:
            return (
                f"From the two vectors, {2 * size} numbers, the model predicts the vector of the next state. The "
                f"{_LARGEST_CHANGES} largest predicted changes are drawn, each beside what the chosen action changes "
                "in truth."
            )
        return (
            "Every action that can be taken leads to a state with a vector of its own. The planner takes the one that "
            f"is nearest to the prediction ({self.data['metric']} distance), unless it was there before."
        )

    def pictures(self, stop: int, level: int = 0) -> list[tuple[str, str]]:
        """A stop's drawings: what each is called, and its SVG."""
        if stop == 0:
            text, scene = self._scene
            return [("The state", draw_scene(text, scene)), ("The goal", draw_goal(text, scene))]
        if stop in (1, 2):
            return [("", self._graph(None if stop == 1 else level))]
        return [("", (self._histogram, self._changes, self._ranking)[stop - 3]())]

    def _graph(self, level: int | None) -> str:
        graph = self.data["graph"]
        colours = None if level is None else graph["colours"][level]
        return draw_graph(graph["nodes"], graph["kinds"], graph["edges"], colours, self._names, _STYLE)

    @cached_property
    def _names(self) -> dict[int, str]:
        """What each colour stands for."""
        return {int(colour): name for colour, name in self.data["graph"]["names"].items()}

    def _histogram(self) -> str:
        """The colours that occur, by how often."""
        values = self.data["embedding"]
        present = [colour for colour, value in enumerate(values) if value]
        most = max(values, default=1.0) or 1.0
        parts = []
        for place, colour in enumerate(present):
            y = _ROW * place + 8
            bar = drawing.rect(
                70, y, 240 * values[colour] / most, _ROW - 10, fill=FILLS[colour % len(FILLS)], stroke="currentColor"
            )
            inside = [
                bar,
                drawing.text(str(colour), 56, y + 18, text_anchor="end", font_size=16, font_weight=700),
                drawing.text(f"{values[colour]:g}", 80 + 240 * values[colour] / most, y + 18, font_size=16),
                drawing.text(_cut(self._name(colour), 78), 350, y + 18, font_size=14),
            ]
            parts.append(drawing.group(f"{colour_called(self._names, colour)}, {values[colour]:g} times", inside))
        return _picture(_ROW * len(present) + 10, parts, f"{len(present)} colours of {len(values)} occur")

    def _name(self, colour: int) -> str:
        return str(self._names.get(colour, "a colour that neither this state has nor the next"))

    def _changes(self) -> str:
        """The largest predicted changes, each above the true one."""
        before, predicted, after = (self.data[name] for name in ("embedding", "predicted", "chosen"))
        ahead = [one - two for one, two in zip(predicted, before, strict=True)]
        truth = [one - two for one, two in zip(after, before, strict=True)]
        largest = sorted(range(len(ahead)), key=lambda colour: (-abs(ahead[colour]), colour))[:_LARGEST_CHANGES]
        scale = 150 / max((max(abs(ahead[each]), abs(truth[each])) for each in largest), default=1.0)
        middle = 320
        parts = []
        for place, colour in enumerate(largest):
            y = 30 + 44 * place
            inside = [drawing.text(str(colour), 56, y + 22, text_anchor="end", font_size=16, font_weight=700)]
            for value, top, opacity in ((ahead[colour], y, 1.0), (truth[colour], y + 18, 0.35)):
                length = abs(value) * scale
                left = middle - length if value < 0 else middle
                bar = {"fill": _UP if value >= 0 else _DOWN, "fill_opacity": opacity}
                inside.append(drawing.rect(left, top, max(length, 0.5), 15, **bar))
                at, anchor = (left - 6, "end") if value < 0 else (left + length + 6, "start")
                words = f"{value:+.2f}" if opacity == 1.0 else f"{value:+g} in truth"
                inside.append(drawing.text(words, at, top + 13, text_anchor=anchor, font_size=14))
            inside.append(drawing.text(_cut(self._name(colour), 54), 600, y + 22, font_size=14))
            parts.append(drawing.group(f"colour {colour}: predicted {ahead[colour]:+.3f}, {truth[colour]:+g}", inside))
        heads = [drawing.text("colour", 56, 16, text_anchor="end", font_size=15, fill_opacity=0.75)]
        heads.append(drawing.text("fewer  |  more", middle, 16, text_anchor="middle", font_size=15, fill_opacity=0.75))
        return _picture(36 + 44 * len(largest), [*heads, *parts], "The largest predicted changes")

    def _ranking(self) -> str:
        """The candidates by distance; those that were there before are marked."""
        costs = [each["cost"] for each in self.candidates]
        most = max((cost for cost in costs if cost is not None), default=1.0) or 1.0
        parts = []
        for rank, place in enumerate(self.order, start=1):
            y = 46 * (rank - 1) + 8
            candidate, cost = self.candidates[place], costs[place]
            length = 330 if cost is None else 330 * cost / most
            taken = place == self.chosen
            marks = [
                mark for mark in candidate["marks"] if mark in ("chosen", "visited", "collapsed", "rejected", "goal")
            ]
            inside = [
                drawing.text(f"{rank}.", 30, y + 24, text_anchor="end", font_size=18),
                drawing.text(self.action(place), 44, y + 24, font_size=18, font_weight=700 if taken else 400),
                drawing.rect(380, y + 4, max(length, 1), 28, fill=_UP if taken else "#8a8f98"),
                drawing.text("no distance" if cost is None else f"{cost:.3f}", 390 + length, y + 24, font_size=17),
                drawing.text(", ".join(marks), 820, y + 24, font_size=17),
            ]
            parts.append(drawing.group(f"rank {rank}: {self.action(place)}, distance {cost}", inside))
        return _picture(46 * len(self.order) + 12, parts, "The candidates by their distance from the prediction")


@cache
def tour_script() -> str:
    """The JavaScript of a stop, an ES module for Streamlit's components v2."""
    return (Path(__file__).parent / "tour.js").read_text(encoding="utf-8")


def tour_titles() -> tuple[str, ...]:
    """What the stops are called."""
    return _TITLES


def read_tour(path: Path | str) -> Tour:
    """The tour that `sgp record` wrote. Raises StoreError where it is missing, cut or of another version."""
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise StoreError(f"{path} is no tour of format {_FORMAT}; make it again with 'sgp record'")
    return Tour(str(path), data)


def _picture(height: float, parts: Sequence[str], title: str) -> str:
    return drawing.picture(WIDTH, height, parts, title, style=_STYLE)


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
