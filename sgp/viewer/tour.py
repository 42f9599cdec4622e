"""The dashboard's tour: from a state to the chosen successor, training, another method, and a failure."""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sgp.datasets.recorded import Recorded, atom_of, decode_bounds, marks_in, read_recorded
from sgp.datasets.subject import Subject
from sgp.datasets.suite import Entry, load_suite
from sgp.domains import draw_goal, draw_scene, draw_series
from sgp.domains.domain import Scene
from sgp.errors import StoreError
from sgp.evaluation.attempts import load_attempts
from sgp.evaluation.scores import DIAGNOSED, Diagnosis, percent, select
from sgp.files import read_json
from sgp.planning.pddl import read_both
from sgp.planning.rollout import Mark
from sgp.viewer.library import method_name, model_name
from sgp.viewer.pictures import draw_graph, fill_of
from sgp.viewer.playback import playback, ranked

if TYPE_CHECKING:
    import pandas as pd

_FORMAT = 3
_STYLE = "width:100%;height:auto;fill:currentColor"
_LARGEST_CHANGES = 10
_OF_SIZES = ("Larger problems", "Next steps")
_ARGUMENT = re.compile(r" at argument (\d+)")


class Stop(NamedTuple):
    """A stop: words, a question and its answer, the numbers' source, pictures of states, beside them one of the others.

    `scenes` are captions and SVGs. A bar is what `tour.js` draws in a row: `label`, `words`, `values` with their texts
    `shown`, and `fill`. A decision is drawn by the player's parts: `rollout`, step `at` (from 0), and whether `mapped`.
    """

    words: str
    question: str
    answer: str
    source: str
    scenes: Sequence[tuple[str, str]] = ()
    graph: str = ""
    bars: Sequence[Mapping[str, Any]] = ()
    decision: Mapping[str, Any] | None = None
    heading: str = ""


@dataclass(frozen=True)
class Tour:
    """A recorded decision with everything that led to it, as `sgp.experiments.bundle` writes it."""

    source: str
    data: Mapping[str, Any]

    @cached_property
    def rollout(self) -> Recorded:
        """The rollout of the decision, whose file lies beside the tour's."""
        return read_recorded(Path(self.source).parent / self.data["rollout"])[0]

    @cached_property
    def failure(self) -> Recorded:
        """The failure's head with the one step that is shown."""
        return self._recorded("failure")

    @cached_property
    def contrast(self) -> Recorded:
        """The rollout of the other method in the same problem."""
        return self._recorded("contrast")

    def _recorded(self, part: str) -> Recorded:
        head, *steps = self.data[part]["records"]
        return Recorded(self.source, 1, head, tuple(steps))

    @property
    def step(self) -> int:
        """The number of the decision in its rollout, from 1."""
        return int(self.data["step"])

    @property
    def chosen(self) -> int:
        """The index of the candidate that the planner chose."""
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

    @cached_property
    def sizes(self) -> list[int]:
        """The numbers of objects of the problems that both methods attempted, ascending."""
        first, other = (set(each["size"]) for each in self._attempts)
        return sorted(int(size) for size in first & other)

    @cached_property
    def opening_size(self) -> int:
        """The smallest of `sizes`, larger than those of training, at which the other method solves more problems."""
        larger = [size for size in self.sizes if size > self._largest_trained]
        return next((size for size in larger if self._solved[size][0][0] < self._solved[size][1][0]), self.sizes[0])

    @cached_property
    def _attempts(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The measured attempts of the first method and of the other one in the domain of the tour."""
        attempts = load_attempts()

        def of(about: Subject) -> pd.DataFrame:
            names = {name: getattr(about, name) for name in ("suite", "domain", "seed")}
            return select(attempts, **names, planner=about.planner.title)

        return of(self.rollout.about), of(self.contrast.about)

    @cached_property
    def _solved(self) -> dict[int, list[tuple[int, int]]]:
        """The solved problems of each size by each method, and the attempted ones."""
        there = {size: [each[each["size"] == size] for each in self._attempts] for size in self.sizes}
        return {size: [(int(each["solved"].sum()), len(each)) for each in pair] for size, pair in there.items()}

    def stop(self, place: int, level: int = 0, diagnosis: Diagnosis | None = None, size: int | None = None) -> Stop:
        """A stop by its index.

        `level` is the round of refinement that is shown, `diagnosis` that of the failure, `size` one of `sizes`.
        """
        title, *texts = _stops()[place]
        parts: dict[str, dict[str, Any]] = {
            "State": {"scenes": _scenes(self.rollout, self.data["atoms"])},
            "Graph": {"graph": self._graph(None)},
            "Colours": {"graph": self._graph(level)},
            "Embedding": {"bars": self._embedding()},
            "Training": self._training(),
            "Prediction": {"bars": self._prediction(), "heading": "first bar: predicted; second bar: actual change"},
            "Nearest successor": {
                "scenes": _scenes(self.rollout, self.data["atoms"]),
                "decision": _drawn(self._played, self.step),
            },
            "Map": {"decision": _drawn(self._played, self.step, mapped=True)},
            "Whole plan": {"scenes": self._plan() if title == "Whole plan" else ()},
            "Larger problems": self._larger(size or self.opening_size) if title == "Larger problems" else {},
            "Another method": self._contrast(),
            "A failure": {
                "scenes": _scenes(self.failure, self.data["failure"]["atoms"]),
                "bars": [] if diagnosis is None else _shares(diagnosis),
                "heading": "first bar: problems as large as in training; second bar: larger ones",
            },
        }
        source = self._source(title)
        facts = self._facts(level, diagnosis)
        if title in _OF_SIZES:  # the attempts of all planners are read for these alone
            facts |= self._facts_of_sizes(size or self.opening_size)
        words, question, answer = (each.format(**facts).strip() for each in texts)
        return Stop(words, question, answer, source, **parts.get(title, {}))

    def _source(self, title: str) -> str:
        """Where the numbers of a stop come from."""
        about = self.rollout.about
        if title in _OF_SIZES:
            picture = "; the picture shows one problem" if title == "Larger problems" else ""
            return f"Attempts of suite {about.suite}, {about.domain}, seed {about.seed}{picture}"
        if title == "Whole plan":
            return (
                f"All decisions of {self.rollout.head['name']}, {about.domain}, {about.split}, by {model_name(about)}"
            )
        if title == "Training":
            return f"One step of an expert plan for a training problem of {about.domain}"
        recorded, number = {
            "Another method": (self.contrast, self.data["contrast"]["step"]),
            "A failure": (self.failure, self.data["failure"]["step"]),
        }.get(title, (self.rollout, self.step))
        about = recorded.about
        return f"Decision {number} of {recorded.head['name']}, {about.domain}, {about.split}, by {model_name(about)}"

    def _facts(self, level: int, diagnosis: Diagnosis | None) -> dict[str, Any]:
        """The numbers in the words of the stops."""
        data, graph = self.data, self.data["graph"]
        goals, open_goals = self.rollout.problem.goal, self.rollout.open_goals[self.step - 1]
        unseen = graph["colours"][level].count(-1)
        objects = graph["kinds"].count("object")
        return {
            "atoms": len(data["atoms"]),
            "objects": objects,
            "goals": len(goals),
            "open": len(open_goals),
            "open_names": ", ".join(str(goals[place]) for place in sorted(open_goals)),
            "atom_nodes": len(graph["nodes"]) - objects,
            "edges": len(graph["edges"]),
            "kinds": len(set(graph["colours"][0])),
            "colours": ", ".join(str(len(set(colours) - {-1})) for colours in graph["colours"]),
            "level": level,
            "unseen": f"Not counted (?): {unseen} of the nodes, whose colour training never saw." if unseen else "",
            "unseen_last": graph["colours"][-1].count(-1),
            "dimensions": len(data["embedding"]),
            "inputs": 2 * len(data["embedding"]),
            "nonzero": sum(value != 0 for value in data["embedding"]),
            "changed": len(data["training"]["change"]),
            "fractional": sum(not float(value).is_integer() for value in data["predicted"]),
            "nearest": f"{self._decision['candidates'][self.order[0]]['cost']:.3f}",
            "chosen": self.actions[self.chosen],
            "rank": self.order.index(self.chosen) + 1,
            "candidates": len(self.actions),
            **{name: data["training"][name] for name in ("train", "transitions")},
            "largest": _LARGEST_CHANGES,
            "metric": str(data["metric"]).capitalize(),
            "projection": "UMAP" if self._map["umap"] else "PCA",
            "first_method": method_name(self.rollout.about),
            "other_method": method_name(self.contrast.about),
            "decisions": data["contrast"]["decisions"],
            "decisions_here": len(self.rollout.steps),
            "contrast_decisions": len(self.contrast.steps),
            "contrast_actions": sum(len(step["candidates"][step["chosen"]]["actions"]) for step in self.contrast.steps),
            "failure_domain": self.failure.about.domain,
            "failure_shown": self._failure_shown(),
            "beam": max(sum("beam" in each["marks"] for each in step["candidates"]) for step in self.rollout.steps),
            "compared": "" if diagnosis is None else "The bars compare these problems with smaller ones.",
            **self._answers(diagnosis),
        }

    def _facts_of_sizes(self, size: int) -> dict[str, Any]:
        """The numbers of measured problems by size."""
        unsolved = [each for each, ((solved, _), _) in self._solved.items() if not solved]
        beyond = [each for each in unsolved if set(self.sizes[self.sizes.index(each) :]) <= set(unsolved)]
        tested = [select(each, split="extrapolation")["solved"] for each in self._attempts]
        totals = [(int(each.sum()), len(each)) for each in tested]
        here, beyond_training = ([f"{some} of {all_}" for some, all_ in pair] for pair in (self._solved[size], totals))
        return {
            "size": size,
            "trained": self._largest_trained,
            "first_solved": here[0],
            "other_solved": here[1],
            "limit_answer": f"From {beyond[0]} objects on, of the measured sizes."
            if beyond
            else "There is no such size among the measured ones.",
            "first_beyond": beyond_training[0],
            "other_beyond": beyond_training[1],
        }

    def _failure_shown(self) -> str:
        """The action that the planner chooses in the state that is shown, and the rank of the expert's action."""
        (step,) = self.failure.steps
        order, candidates = ranked(step), step["candidates"]
        rank = order.index(step["chosen"]) + 1
        experts = [place for place, number in enumerate(order, start=1) if "expert" in candidates[number]["marks"]]
        expert = f"; the expert's action is ranked {experts[0]}" if experts else ""
        chosen = " ".join(candidates[step["chosen"]]["actions"])
        before = [candidates[number] for number in order[: rank - 1]]
        parts = [f"{count} {words}" for words, count in Counter(map(_why_passed, before)).items()]
        why = f" Not chosen, although ranked before it: {', '.join(parts)}." if parts else ""
        return (
            f"Shown: the state before decision {self.data['failure']['step']}. The planner chooses {chosen}, ranked "
            f"{rank} of {len(candidates)}{expert}.{why}"
        )

    def _answers(self, diagnosis: Diagnosis | None) -> dict[str, str]:
        """Answers whose words depend on the recorded numbers."""
        graph, rollout = self.data["graph"], self.rollout
        last = defaultdict[int, list[str]](list)
        for name, kind, colour in zip(graph["nodes"], graph["kinds"], graph["colours"][-1], strict=True):
            if kind == "object" and colour >= 0:
                last[colour].append(name)
        groups = [f"{', '.join(names[:-1])} and {names[-1]}" for names in last.values() if len(names) > 1]
        near, drawn = self._nearest_on_map()
        agreeing = sum(map(operator.eq, near, drawn))
        this = near[self.step - 1] == drawn[self.step - 1]
        nearest = sum(
            step["chosen"] == next(place for place in ranked(step) if standings[place].marks.open_to_choice)
            for step, standings in zip(rollout.steps, rollout.standings, strict=True)
        )
        steps, (shortest, _) = len(rollout.steps), decode_bounds(rollout.head["left"][0])
        return {
            "equal_objects": f"{'; '.join(groups)}. In this state they count alike; successors in which one of them "
            "has changed can have different embeddings (stop 7)."
            if groups
            else "None: each object has a colour of its own.",
            "map_answer": f"{'Yes' if this else 'No'}; in {agreeing} of the {steps} decisions of this plan it is.",
            "plan_answer": f"In {steps - nearest} of {steps} decisions; {'elsewhere, ' if nearest < steps else ''}"
            "a rank above 1 means that the successors ranked before were not available: visited before, or equivalent "
            f"to another one. The plan has {steps} actions, a shortest one {shortest:g}.",
            "perfect": "This was not measured."
            if diagnosis is None
            else f"{'Yes' if diagnosis.shares['perfect_coverage'][1] == 1 else 'No'}: with perfect predictions, greedy "
            f"decoding would solve {percent(diagnosis.shares['perfect_coverage'][1])} of the larger problems. The "
            f"planner itself, with its beam, solves {percent(diagnosis.shares['coverage'][1])}. What perfect "
            "predictions would not solve is due to the features or to the decoding.",
        }

    @property
    def visited(self) -> list[str]:
        """The actions that lead to visited states, which are excluded."""
        candidates = zip(self.actions, self._decision["candidates"], strict=True)
        return [action for action, each in candidates if "visited" in each["marks"]]

    @cached_property
    def _largest_trained(self) -> int:
        """The size of the largest training problem."""
        return max(entry.size for entry in self._suite_splits["train"])

    @property
    def _suite_splits(self) -> Mapping[str, tuple[Entry, ...]]:
        about = self.rollout.about
        return load_suite(about.suite).domain(about.domain).splits

    @cached_property
    def _played(self) -> Mapping[str, Any]:
        """The rollout as the player's data."""
        return playback(self.rollout)

    @cached_property
    def _contrast_played(self) -> Mapping[str, Any]:
        return playback(self.contrast)

    @property
    def _map(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._played["map"]
        return found

    def _nearest_on_map(self) -> tuple[list[int], list[int]]:
        """The rank of the candidate nearest to the prediction on the map, and that in truth, of every decision."""
        first = 2 if self._map["umap"] else 0
        seen, true = [], []
        for step in self._map["steps"]:
            away = {
                rank: math.dist(point[first : first + 2], step["predicted"][first : first + 2])
                for rank, *point in step["candidates"]
            }
            seen.append(min(away, key=away.__getitem__))
            true.append(min(away))
        return seen, true

    def _plan(self) -> list[tuple[str, str]]:
        """Every state of the plan, under the action that led to it."""
        text, problem = self.rollout.domain, self.rollout.problem
        objects = (*text.constants, *problem.objects)
        scenes = [Scene(objects, state, problem.goal, counted=False) for state in self.rollout.states()]
        pictures = draw_series(text, scenes)
        taken = [
            f"{' '.join(step['candidates'][step['chosen']]['actions'])}, rank {ranked(step).index(step['chosen']) + 1}"
            for step in self.rollout.steps
        ]
        return list(zip(["Initial state", *taken], pictures, strict=True))

    def _larger(self, size: int) -> dict[str, Any]:
        """A problem of a size, and the shares of such problems that both methods solve."""
        about = self.rollout.about
        place = next(
            (split, entry.name)
            for split in ("interpolation", "validation", "extrapolation")
            for entry in self._suite_splits[split]
            if entry.size == size
        )
        problems = load_suite(about.suite).problems(about.domain, place[0])
        text, problem = next(each for each in problems if each.name == place[1]).read()
        scene = Scene((*text.constants, *problem.objects), frozenset(problem.init), problem.goal)
        bars = [
            {
                "label": "",
                "words": method_name(of),
                "values": [solved / tried],
                "shown": [f"{solved} of {tried}"],
            }
            for of, (solved, tried) in zip((about, self.contrast.about), self._solved[size], strict=True)
        ]
        scenes = [("Initial state", draw_scene(text, scene)), ("Goal", draw_goal(text, scene))]
        return {"scenes": scenes, "bars": bars, "heading": "Problems solved"}

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
            "heading": f"The {len(largest)} largest changes",
        }

    def _prediction(self) -> list[dict[str, Any]]:
        """The largest predicted changes, each above the actual one."""
        before, predicted, after = (self.data[name] for name in ("embedding", "predicted", "chosen"))
        changes = [(p - b, a - b) for b, p, a in zip(before, predicted, after, strict=True)]
        largest = sorted(range(len(changes)), key=lambda colour: (-abs(changes[colour][0]), colour))[:_LARGEST_CHANGES]
        return [_colour_row(self.data["graph"]["names"], colour, changes[colour]) for colour in largest]

    def _contrast(self) -> dict[str, Any]:
        """The same problem by another method."""
        number, states = self.data["contrast"]["step"], list(self.contrast.states())
        return {
            "scenes": _scenes(self.contrast, map(str, states[number - 1])),
            "decision": _drawn(self._contrast_played, number),
        }


def _drawn(played: Mapping[str, Any], number: int, mapped: bool = False) -> dict[str, Any]:
    """A decision (from 1) of a rollout (`playback`) for `tour.js`."""
    rollout = {name: played[name] for name in ("actions", "steps", *["map"] * mapped)}
    return {"rollout": rollout, "at": number - 1, "mapped": mapped}


def _why_passed(candidate: Mapping[str, Any]) -> str:
    """Why a candidate was not chosen although it is nearer than the chosen one."""
    marks = marks_in(candidate)
    if not candidate["add"] and not candidate["delete"]:
        return "without an effect"
    if Mark.VISITED in marks:
        return "leading to a visited state"
    if Mark.COLLAPSED in marks:
        return "equivalent to one in the beam"
    return "also kept in the beam but not on the final path" if Mark.BEAM in marks else "not kept in the beam"


def _scenes(recorded: Recorded, atoms: Iterable[str]) -> list[tuple[str, str]]:
    """A state and the goal of a rollout's problem, drawn."""
    text, problem = recorded.domain, recorded.problem
    scene = Scene((*text.constants, *problem.objects), frozenset(map(atom_of, atoms)), problem.goal, counted=False)
    return [("State", draw_scene(text, scene)), ("Goal", draw_goal(text, scene))]


def _colour_row(names: Mapping[str, str], colour: int, values: Sequence[float]) -> dict[str, Any]:
    name = names.get(str(colour), "a colour that occurs neither in this state nor in the next one")
    words = _ARGUMENT.sub(r" ·\1", name).replace(" with [", ": ").replace("]", "").replace(";", ",")
    return {"label": str(colour), "words": words, "values": values, "shown": [f"{value:+.3g}" for value in values]}


def _shares(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """The metrics of a diagnosis, smaller problems above larger ones."""
    return [
        {"label": "", "words": DIAGNOSED[metric], "values": values, "shown": [percent(each) for each in values]}
        for metric, values in diagnosis.shares.items()
    ]


@cache
def _stops() -> list[tuple[str, str, str, str]]:
    text = (Path(__file__).parent / "tour.toml").read_text(encoding="utf-8")
    stops = tomllib.loads(text)["stop"]
    return [(each["title"], each["words"], each["question"], each["answer"]) for each in stops]


def tour_titles() -> list[str]:
    """The titles of the stops."""
    return [title for title, *_ in _stops()]


def read_tour(path: Path | str) -> Tour:
    """Read a recorded tour. Raises StoreError for one that is missing, damaged or of another format."""
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise StoreError(f"{path} is not a tour of format {_FORMAT}; record it again with sgp.experiments.bundle")
    return Tour(str(path), data)
