"""The dashboard's tour: from a state to the nearest successor, training, the other method, and a failure.

Every number of it was recorded (`python -m sgp.experiments.bundle rollouts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sgp.domains import draw_goal, draw_scene
from sgp.errors import StoreError
from sgp.files import read_json
from sgp.planning.domain import Scene
from sgp.planning.pddl import read_both
from sgp.planning.recorded import Recorded, atom_of
from sgp.planning.subject import Subject
from sgp.viewer import tour_pictures
from sgp.viewer.graphs import draw_graph
from sgp.viewer.playback import rank_order

_TITLES = (
    *("State", "Graph", "Colours", "Embedding", "Training", "Prediction", "Nearest successor"),
    *("Another method", "A failure", "Go on"),
)
_FORMAT = 2
_STYLE = "width:100%;height:auto;fill:currentColor"
_LARGEST_CHANGES = 10
_SHOWN = 9  # candidates of a ranking
_MARKS = ("chosen", "visited", "collapsed", "rejected", "goal")


class Shown(NamedTuple):
    """What a stop draws: pictures of states with what they are called, and beside them a chart with its heading."""

    scenes: Sequence[tuple[str, str]] = ()
    chart: str = ""
    heading: str = ""


@dataclass(frozen=True)
class Tour:
    """A recorded decision with everything that led to it, as `python -m sgp.experiments.bundle rollouts` writes it."""

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
        return self._recorded(self.data)

    @cached_property
    def failure(self) -> Recorded:
        """The failure's head with the one step that is shown."""
        return self._recorded(self.data["failure"])

    def _recorded(self, part: Mapping[str, Any]) -> Recorded:
        head, *steps = part["records"]
        return Recorded(self.source, 1, head, tuple(steps))

    @cached_property
    def _scene(self) -> tuple[Any, Scene]:
        return _scene_of(self._rollout, self.data["atoms"])

    def words(self, stop: int, level: int = 0) -> str:
        """What a stop says, with its numbers."""
        return (
            *(self._of_state, self._of_graph, lambda: self._of_colours(level), self._of_embedding, self._of_training),
            *(self._of_prediction, self._of_ranking, self._of_contrast, self._of_failure, self._of_end),
        )[stop]()

    def pictures(self, stop: int, level: int = 0) -> Shown:
        """A stop's drawings, as SVG."""
        return (
            *(self.board, lambda: self._graph(None), lambda: self._graph(level), self._histogram, self._example),
            *(self._changes, self._ranked, self._contrast, self._failed, Shown),
        )[stop]()

    def asks(self, stop: int) -> bool:
        """Whether a stop lets the next action be guessed before it is shown."""
        return _TITLES[stop] == "Nearest successor"

    def source_of(self, stop: int) -> str:
        """Where a stop's numbers come from: which decision, of which problem, by which model."""
        part = {"Another method": self.data["contrast"], "A failure": self.data["failure"]}.get(
            _TITLES[stop], self.data
        )
        recorded = self._recorded(part)
        about = recorded.about
        return f"Decision {part['step']} of {recorded.head['name']}, {about.domain}, {about.split}: {about.model}"

    def board(self) -> Shown:
        """State and goal of the decision."""
        text, scene = self._scene
        return Shown([("The state", draw_scene(text, scene)), ("The goal", draw_goal(text, scene))])

    def _of_state(self) -> str:
        scene = self._scene[1]
        open_goals = len(self._rollout.open_goals[self.step - 1])
        return (
            f"A state is the set of atoms that are true: {len(scene.atoms)} here, of {len(scene.objects)} objects. "
            f"The goal asks for {len(scene.goal)}: {len(scene.goal) - open_goals} hold, {open_goals} are open."
        )

    def _of_graph(self) -> str:
        graph = self.data["graph"]
        objects = Counter(graph["kinds"])["object"]
        return (
            f"Every object is a node, and so is every atom that is true or wanted: {objects} objects, "
            f"{len(graph['nodes']) - objects} atoms. An edge joins an atom to each of its arguments and "
            f"knows which one it is: {len(graph['edges'])} edges. Names are forgotten from here on."
        )

    def _of_colours(self, level: int) -> str:
        graph = self.data["graph"]
        counts = [len(set(colours) - {-1}) for colours in graph["colours"]]
        unseen = graph["colours"][level].count(-1)
        never = f" {unseen} have one that training never met (?): it is not counted." if unseen else ""
        return (
            "A node's colour is at first what it is. In each round it becomes its colour and those around it. "
            f"Different colours after each round: {', '.join(map(str, counts))}. Shown: after round {level}.{never}"
        )

    def _of_embedding(self) -> str:
        present = sum(value != 0 for value in self.data["embedding"])
        return (
            f"How often each colour occurs, after all rounds together, is the state's embedding: "
            f"{len(self.data['embedding'])} numbers, one for each colour met in training, {present} of them not zero "
            "here. The goal, taken as a state, gets such a vector too. (·1: as first argument.)"
        )

    def _of_training(self) -> str:
        facts = self.data["training"]
        return (
            f"Experts solved {facts['train']} small problems, and each of the {facts['transitions']} steps of their "
            "plans is an example: given are the vectors of state and goal, wanted is how the vector changes. The loss "
            "is the squared difference of predicted and true change; what else could have been done is not looked at."
        )

    def _of_prediction(self) -> str:
        return (
            f"From the two vectors, {2 * len(self.data['embedding'])} numbers, the model predicts how the state's "
            f"vector changes. The {_LARGEST_CHANGES} largest predicted changes are drawn, each beside what the chosen "
            "action changes in truth."
        )

    def _of_ranking(self) -> str:
        return (
            "Every action that can be taken leads to a state with a vector of its own. The planner takes the one that "
            f"is nearest to the prediction ({self.data['metric']} distance), unless it was there before."
        )

    def _of_contrast(self) -> str:
        facts = self.data["contrast"]
        return (
            f"{_method(self._recorded(facts).about)} learns by comparing: in {facts['decisions']} decisions of the "
            "same small problems, what is on the way of a shortest plan is to cost less than all else that could have "
            "been done. The loss falls with its share among them. A candidate may be several actions long: a jump."
        )

    def _of_failure(self) -> str:
        facts, about = self.data["failure"], self.failure.about
        least = min((length for length in facts["lengths"] if length), default=0.0)
        return (
            f"In {about.domain} the first method fails. On {facts['idle']} of {facts['steps']} steps an action that "
            f"changes nothing is nearest. At step {facts['step']}, where the model predicts least, its change has "
            f"length {facts['predicted']:.2f}, the smallest that any action makes {least:.2f}: too little change."
        )

    def _of_end(self) -> str:
        return "You have seen a decision from state to action, how two methods learn, and why one of them fails."

    def _graph(self, level: int | None) -> Shown:
        graph = self.data["graph"]
        colours = None if level is None else graph["colours"][level]
        return Shown(chart=draw_graph(graph["nodes"], graph["kinds"], graph["edges"], colours, self._names, _STYLE))

    @cached_property
    def _names(self) -> dict[int, str]:
        """What each colour stands for."""
        return _numbered(self.data["graph"]["names"])

    def _histogram(self) -> Shown:
        return Shown(chart=tour_pictures.histogram(self.data["embedding"], self._names))

    def _example(self) -> Shown:
        """A step of an expert's plan, and the change that the model is to predict."""
        facts, head = self.data["training"], self._rollout.head
        text, problem = read_both((head["domain_pddl"], self.source), (facts["problem_pddl"], self.source))
        before, after = (
            draw_scene(text, Scene((*text.constants, *problem.objects), frozenset(map(atom_of, atoms)), problem.goal))
            for atoms in (facts["before"], facts["after"])
        )
        wanted = sorted(facts["change"].items(), key=lambda each: (-abs(each[1]), int(each[0])))[:_LARGEST_CHANGES]
        pairs = [(int(colour), (value,)) for colour, value in wanted]
        chart = tour_pictures.changes(pairs, _numbered(facts["names"]), ["what it stands for"], tour_pictures.BESIDE)
        heading = f"{len(pairs)} of the {len(facts['change'])} changes that the model is to predict"
        return Shown([("Before", before), (f"After {facts['plan'][0]}", after)], chart, heading)

    def _changes(self) -> Shown:
        """The largest predicted changes, each above the true one."""
        before, predicted, after = (self.data[name] for name in ("embedding", "predicted", "chosen"))
        ahead = [one - two for one, two in zip(predicted, before, strict=True)]
        truth = [one - two for one, two in zip(after, before, strict=True)]
        largest = sorted(range(len(ahead)), key=lambda colour: (-abs(ahead[colour]), colour))[:_LARGEST_CHANGES]
        pairs = [(colour, (ahead[colour], truth[colour])) for colour in largest]
        return Shown(chart=tour_pictures.changes(pairs, self._names, ["predicted: strong", "in truth: pale"]))

    def _ranked(self) -> Shown:
        chart = tour_pictures.ranking(_bars(self._rollout.steps[self.step - 1]), "The candidates by distance")
        return Shown(self.board().scenes, chart, "Distance from the prediction")

    def _contrast(self) -> Shown:
        facts = self.data["contrast"]
        recorded = self._recorded(facts)
        step = recorded.steps[facts["step"] - 1]
        state = list(recorded.states())[facts["step"] - 1]
        text, scene = _scene_of(recorded, map(str, state))
        shown = _bars(step)
        heading = f"Cost of {len(shown)} of the {len(step['candidates'])} candidates"
        chart = tour_pictures.ranking(shown, "The candidates by cost", "cost")
        return Shown([("The state", draw_scene(text, scene)), ("The goal", draw_goal(text, scene))], chart, heading)

    def _failed(self) -> Shown:
        text, scene = _scene_of(self.failure, self.data["failure"]["atoms"])
        chart = tour_pictures.ranking(_bars(self.failure.steps[0]), "The candidates by distance")
        heading = f"Distance from the prediction, step {self.data['failure']['step']}"
        return Shown([("The state", draw_scene(text, scene))], chart, heading)


def _bars(step: Mapping[str, Any]) -> list[tuple[str, float | None, bool, str]]:
    """The cheapest candidates of a step, the chosen one among them, as a ranking draws them."""
    candidates = step["candidates"]
    order = rank_order([float("inf") if each["cost"] is None else each["cost"] for each in candidates])
    shown = [*order[: _SHOWN - 1], step["chosen"]] if step["chosen"] not in order[:_SHOWN] else order[:_SHOWN]
    found = []
    for place in shown:
        each = candidates[place]
        still = [] if each["add"] or each["delete"] else ["changes nothing"]
        marks = ", ".join(still or [mark for mark in each["marks"] if mark in _MARKS])
        found.append((" ".join(each["actions"]), each["cost"], place == step["chosen"], marks))
    return found


def _scene_of(recorded: Recorded, atoms: Iterable[str]) -> tuple[Any, Scene]:
    text, problem = recorded.domain, recorded.problem
    return text, Scene((*text.constants, *problem.objects), frozenset(map(atom_of, atoms)), problem.goal)


def _numbered(names: Mapping[str, str]) -> dict[int, str]:
    return {int(colour): name for colour, name in names.items()}


def _method(about: Subject) -> str:
    return f"{about.method.capitalize()} {about.variant}"


def tour_titles() -> tuple[str, ...]:
    """What the stops are called."""
    return _TITLES


def read_tour(path: Path | str) -> Tour:
    """The recorded tour. Raises StoreError where it is missing, cut or of another version."""
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise StoreError(f"{path} is no tour of format {_FORMAT}; make it again with sgp.experiments.bundle")
    return Tour(str(path), data)
