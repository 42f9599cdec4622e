"""The dashboard's tour: from a state to the selected successor, training, another method, and a failure."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sgp.datasets.recorded import Recorded, atom_of
from sgp.domains import draw_goal, draw_scene
from sgp.domains.domain import Scene
from sgp.errors import StoreError
from sgp.evaluation.scores import DIAGNOSED, Diagnosis
from sgp.files import read_json
from sgp.planning.pddl import read_both
from sgp.viewer.pictures import draw_graph, fill_of
from sgp.viewer.playback import ranked

_FORMAT = 2
_STYLE = "width:100%;height:auto;fill:currentColor"
_LARGEST_CHANGES = 10
_RANKED = 9  # candidates of a ranking
_MARKS = ("chosen", "visited", "collapsed", "rejected", "goal")
_ARGUMENT = re.compile(r" at argument (\d+)")


class Stop(NamedTuple):
    """A stop: its words, where its numbers come from, pictures of states, and beside them a graph or bars.

    `scenes` are captions and SVGs. A bar is what `tour.js` draws in a row: `label`, `words`, `values` with their texts
    `shown`, `note`, `fill`, and whether it is `chosen`.
    """

    words: str
    source: str
    scenes: Sequence[tuple[str, str]] = ()
    graph: str = ""
    bars: Sequence[Mapping[str, Any]] = ()
    heading: str = ""


@dataclass(frozen=True)
class Tour:
    """A recorded decision with everything that led to it, as `sgp.experiments.bundle` writes it."""

    source: str
    data: Mapping[str, Any]

    @cached_property
    def rollout(self) -> Recorded:
        """The rollout of the decision."""
        return self._recorded("")

    @cached_property
    def failure(self) -> Recorded:
        """The failure's head with the one step that is shown."""
        return self._recorded("failure")

    def _recorded(self, part: str) -> Recorded:
        head, *steps = (self.data[part] if part else self.data)["records"]
        return Recorded(self.source, 1, head, tuple(steps))

    @property
    def step(self) -> int:
        """The number of the decision in its rollout, from 1."""
        return int(self.data["step"])

    @property
    def chosen(self) -> int:
        """The index of the candidate that the planner selected."""
        return int(self._decision["chosen"])

    @property
    def _decision(self) -> Mapping[str, Any]:
        return self.rollout.steps[self.step - 1]

    @property
    def actions(self) -> list[str]:
        """The candidates' actions, in the order of the record."""
        return [" ".join(each["actions"]) for each in self._decision["candidates"]]

    @property
    def order(self) -> list[int]:
        """The candidates' indices, nearest first."""
        return ranked(self._decision)

    @property
    def rounds(self) -> int:
        """Rounds of colour refinement."""
        return len(self.data["graph"]["colours"]) - 1

    def stop(self, place: int, level: int = 0, diagnosis: Diagnosis | None = None) -> Stop:
        """A stop by its index; `level` is the round of refinement that is shown, `diagnosis` that of the failure."""
        title, words = _stops()[place]
        distance = math.dist(self.data["embedding"], self.data["predicted"])  # of the current state to the prediction
        current = {"label": "\u25a0", "words": "the current state", "note": "not a successor", "chosen": False}
        current |= {"values": [distance], "shown": [f"{distance:.3f}"]}
        parts: dict[str, dict[str, Any]] = {
            "State": {"scenes": _scenes(self.rollout, self.data["atoms"])},
            "Graph": {"graph": self._graph(None)},
            "Colours": {"graph": self._graph(level)},
            "Embedding": {"bars": self._embedding()},
            "Training": self._training(),
            "Prediction": {"bars": self._prediction(), "heading": "first bar: predicted; second bar: actual change"},
            "Nearest successor": {
                "scenes": _scenes(self.rollout, self.data["atoms"]),
                "bars": sorted([*_ranking(self._decision), current], key=lambda row: row["values"][0]),
                "heading": "Distance to the prediction",
            },
            "Another method": self._contrast(),
            "A failure": {
                "scenes": _scenes(self.failure, self.data["failure"]["atoms"])[:1],
                "bars": [] if diagnosis is None else _shares(diagnosis),
                "heading": "first bar: smaller problems; second bar: larger problems",
            },
        }
        part = {"Another method": "contrast", "A failure": "failure"}.get(title, "")
        recorded, number = self._recorded(part), (self.data[part] if part else self.data)["step"]
        about = recorded.about
        source = f"Decision {number} of {recorded.head['name']}, {about.domain}, {about.split}: {about.model}"
        return Stop(words.format(**self._facts(level, diagnosis)).strip(), source, **parts.get(title, {}))

    def _facts(self, level: int, diagnosis: Diagnosis | None) -> dict[str, Any]:
        """The numbers in the words of the stops."""
        data, graph = self.data, self.data["graph"]
        goals, open_goals = len(self.rollout.problem.goal), len(self.rollout.open_goals[self.step - 1])
        unseen = graph["colours"][level].count(-1)
        objects = graph["kinds"].count("object")
        other = self._recorded("contrast").about
        return {
            "atoms": len(data["atoms"]),
            "objects": objects,
            "goals": goals,
            "satisfied": goals - open_goals,
            "open": open_goals,
            "atom_nodes": len(graph["nodes"]) - objects,
            "edges": len(graph["edges"]),
            "colours": ", ".join(str(len(set(colours) - {-1})) for colours in graph["colours"]),
            "level": level,
            "unseen": f"Not counted: {unseen} nodes with a colour that training never saw (?)." if unseen else "",
            "dimensions": len(data["embedding"]),
            "inputs": 2 * len(data["embedding"]),
            "nonzero": sum(value != 0 for value in data["embedding"]),
            **{name: data["training"][name] for name in ("train", "transitions")},
            "largest": _LARGEST_CHANGES,
            "metric": str(data["metric"]).capitalize(),
            "contrast_method": f"{other.method.capitalize()} {other.variant}",
            "decisions": data["contrast"]["decisions"],
            "failure_domain": self.failure.about.domain,
            "beam": max(sum("beam" in each["marks"] for each in step["candidates"]) for step in self.rollout.steps),
            "diagnosis": "" if diagnosis is None else diagnosis.sentence,
        }

    def _graph(self, level: int | None) -> str:
        graph = self.data["graph"]
        colours = None if level is None else graph["colours"][level]
        names = {int(colour): name for colour, name in graph["names"].items()}
        return draw_graph(graph["nodes"], graph["kinds"], graph["edges"], colours, names, _STYLE)

    def _embedding(self) -> list[dict[str, Any]]:
        """The colours that occur, with their numbers."""
        names, embedding = self.data["graph"]["names"], self.data["embedding"]
        return [
            {**_colour_row(names, colour, [value]), "shown": [f"{value:g}"], "fill": fill_of(colour)}
            for colour, value in enumerate(embedding)
            if value
        ]

    def _training(self) -> dict[str, Any]:
        """A step of an expert's plan, and the change that the model has to predict."""
        facts, head = self.data["training"], self.rollout.head
        text, problem = read_both((head["domain_pddl"], self.source), (facts["problem_pddl"], self.source))
        objects = (*text.constants, *problem.objects)
        before, after = (
            draw_scene(text, Scene(objects, frozenset(map(atom_of, facts[name])), problem.goal))
            for name in ("before", "after")
        )
        largest = sorted(facts["change"].items(), key=lambda each: (-abs(each[1]), int(each[0])))[:_LARGEST_CHANGES]
        return {
            "scenes": [("Before", before), (f"After {facts['plan'][0]}", after)],
            "bars": [_colour_row(facts["names"], int(colour), [value]) for colour, value in largest],
            "heading": f"{len(largest)} of the {len(facts['change'])} changes that the model has to predict",
        }

    def _prediction(self) -> list[dict[str, Any]]:
        """The largest predicted changes, each above the actual one."""
        before, predicted, after = (self.data[name] for name in ("embedding", "predicted", "chosen"))
        changes = [(p - b, a - b) for b, p, a in zip(before, predicted, after, strict=True)]
        largest = sorted(range(len(changes)), key=lambda colour: (-abs(changes[colour][0]), colour))[:_LARGEST_CHANGES]
        return [_colour_row(self.data["graph"]["names"], colour, changes[colour]) for colour in largest]

    def _contrast(self) -> dict[str, Any]:
        """The same problem by another method."""
        recorded, number = self._recorded("contrast"), self.data["contrast"]["step"]
        step, bars = recorded.steps[number - 1], _ranking(recorded.steps[number - 1])
        state = list(recorded.states())[number - 1]
        heading = f"Cost of {len(bars)} of the {len(step['candidates'])} candidates"
        return {"scenes": _scenes(recorded, map(str, state)), "bars": bars, "heading": heading}


def _scenes(recorded: Recorded, atoms: Iterable[str]) -> list[tuple[str, str]]:
    """A state and the goal of a rollout's problem, drawn."""
    text, problem = recorded.domain, recorded.problem
    scene = Scene((*text.constants, *problem.objects), frozenset(map(atom_of, atoms)), problem.goal)
    return [("State", draw_scene(text, scene)), ("Goal", draw_goal(text, scene))]


def _colour_row(names: Mapping[str, str], colour: int, values: Sequence[float]) -> dict[str, Any]:
    name = names.get(str(colour), "a colour that occurs neither in this state nor in the next one")
    words = _ARGUMENT.sub(r" ·\1", name).replace(" with [", ": ").replace("]", "").replace(";", ",")
    return {"label": str(colour), "words": words, "values": values, "shown": [f"{value:+.3g}" for value in values]}


def _shares(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """The metrics of a diagnosis, smaller problems above larger ones."""
    return [
        {"label": "", "words": DIAGNOSED[metric], "values": values, "shown": [f"{each:.0%}" for each in values]}
        for metric, values in diagnosis.shares.items()
    ]


def _ranking(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cheapest candidates of a step, and the chosen one."""
    candidates, order = step["candidates"], ranked(step)
    listed = order[:_RANKED] if step["chosen"] in order[:_RANKED] else [*order[: _RANKED - 1], step["chosen"]]
    rows = []
    for place in listed:
        cost, marks = candidates[place]["cost"], candidates[place]["marks"]
        idle = not candidates[place]["add"] and not candidates[place]["delete"]
        row: dict[str, Any] = {"label": f"{order.index(place) + 1}.", "words": " ".join(candidates[place]["actions"])}
        row |= {"values": [cost or 0.0], "shown": ["none" if cost is None else f"{cost:.3f}"]}
        note = "changes nothing" if idle else ", ".join(mark for mark in marks if mark in _MARKS)
        rows.append({**row, "note": note, "chosen": place == step["chosen"]})
    return rows


@cache
def _stops() -> list[tuple[str, str]]:
    text = (Path(__file__).parent / "tour.toml").read_text(encoding="utf-8")
    return [(each["title"], each["words"]) for each in tomllib.loads(text)["stop"]]


def tour_titles() -> list[str]:
    """The titles of the stops."""
    return [title for title, _ in _stops()]


def read_tour(path: Path | str) -> Tour:
    """Read a recorded tour. Raises StoreError for one that is missing, damaged or of another format."""
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise StoreError(f"{path} is not a tour of format {_FORMAT}; record it again with sgp.experiments.bundle")
    return Tour(str(path), data)
