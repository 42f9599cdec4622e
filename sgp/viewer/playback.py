"""A recorded rollout as the player's data: drawings, candidates in rank order, and the changes of each step."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any

from sgp.datasets.recorded import (
    Bounds,
    Recorded,
    Standing,
    after,
    atom_of,
    cost_of,
    decode_bounds,
    encode_bounds,
    map_file,
    regrets,
)
from sgp.domains import draw_goal, draw_scene, draw_series, words_of
from sgp.domains.domain import Scene, Words
from sgp.errors import StoreError
from sgp.files import read_json
from sgp.planning.pddl import Action, Atom, DomainText, Literal
from sgp.planning.rollout import runners_up, tie_margin
from sgp.viewer.library import model_name, outcome_words

_BETWEEN_ELEMENTS = re.compile("(?<=>)(?=<)")
_PICTURED = 2  # other candidates of a step whose states are drawn
_DRAWINGS = 160  # of them in a rollout


def playback(recorded: Recorded, projected: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The data of `player.js`, as JSON; `projected` is the map if it is not in the file beside the record.

    Frame i shows the state in which step i is decided, the last frame the end. Atoms, actions, features and the SVG
    elements of drawings are stored once, in lists, and referred to by index. `words` has at the same indices a sentence
    for each action, feature, and atom that a candidate adds or deletes; None if the domain has no words. `named` has at
    the indices of features the objects that each names, None for a WL feature, whose objects depend on the state; if
    there is one, `initial` has the initial state's atoms. `wanted` has each goal in words, with the frames from which
    it is open, satisfied, open again, and so on, and the literal.

    Ranks count from 0, but the `rank` of a candidate from 1. Of a step: `unavailable`, the ranks of such candidates;
    `next`, the rank of the runner-up (None if no other was available); `tie`, whether the order of candidates decided
    between equal costs; `greedy`, the rank that greedy search would choose; `path`, with a beam, the cost of the path
    so far; `beam`, the nodes that beam search kept [place of the predecessor in the beam before, actions, path cost],
    best first, and `lane`, the place of the chosen one (neither if the beam was not recorded); `why`, see
    `explanations`; `because`, the policy's reason in words, if it gives any; `best`, the ranks of candidates that are
    proved to be on a shortest plan; `expects`, the predicted changes [atom, becomes true, score] and the share of
    `nothing`. Of a candidate: `same_as`, the rank of the equivalent one that remained (None if it belongs to another
    beam state); `picture`, for the best few only, the difference of its state's drawing from the frame (`_difference`).
    `marks` are the steps that are proved to waste actions, [step, actions lost, whether this is exact], with None
    actions lost for a dead end; None if distances were not recorded. `left` of frames and candidates is the number of
    actions left as recorded (`encode_bounds`).
    Raises StoreError for a damaged record, PddlError and PlanError for texts that cannot be read.
    """
    with recorded.reading():
        return _Playback(recorded).data(projected)


def drawn_state(recorded: Recorded, step: int) -> str:
    """The state in which a step (from 1) is decided as SVG, the last state for a step past the end."""
    with recorded.reading():
        states = list(recorded.states())
        text, problem = recorded.domain, recorded.problem
        objects = (*text.constants, *problem.objects)
        return draw_scene(text, Scene(objects, states[min(step, len(states)) - 1], problem.goal))


class _Playback:
    """The parts of a rollout's data; texts are numbered in order of first use."""

    def __init__(self, recorded: Recorded):
        self.recorded, self.text, self.problem = recorded, recorded.domain, recorded.problem
        self.states = list(recorded.states())
        self.atoms, self.actions, self.elements, self.features = _Numbered(), _Numbered(), _Numbered(), _Numbered()
        self.orders = list(map(ranked, recorded.steps))
        self.rivals = list(map(_runners_up, recorded.steps, recorded.standings))
        self.left = list(map(decode_bounds, recorded.head["left"])) if "left" in recorded.head else None
        if self.left is not None and len(self.left) != len(self.states):
            raise ValueError(f"actions left at {len(self.left)} states of {len(recorded.steps)} steps")
        plan = recorded.expert
        self.expert = Expert(expert_states(self.text, self.states[0], plan)) if plan else None
        self.places = [self.expert.place(state) if self.expert else None for state in self.states]
        self.furthest = self._furthest()
        self.pictures, self.others = self._drawings()
        objects = (*self.text.constants, *self.problem.objects)
        self.names = frozenset(each.name for each in objects)
        self.goal = self._cut(draw_goal(self.text, Scene(objects, self.states[0], self.problem.goal)))

    def data(self, projected: Mapping[str, Any] | None) -> dict[str, Any]:
        """All parts; see `playback`."""
        recorded, head, about = self.recorded, self.recorded.head, self.recorded.about
        frames, steps = self.frames(), self.steps()
        length = sum(len(_taken(record)["actions"]) for record in recorded.steps)
        words, named = words_of(self.text), [objects_of(each, self.names) for each in self.features]
        return {
            "id": sha256(f"{head['sha256']} {about} {head['outcome']} {length}".encode()).hexdigest()[:16],
            "problem": head["name"],
            "domain": about.domain or self.text.name,
            "split": about.split,
            "model": about.model,
            "planner": model_name(about),
            "outcome": head["outcome"],
            "ending": outcome_words(head["outcome"]),
            "reason": head["reason"],
            "written": _written(head),
            "length": length,
            "goals": len(self.problem.goal),
            "wanted": [
                [words.sentence(literal), turns(place in now for now in recorded.open_goals), str(literal)]
                for place, literal in enumerate(self.problem.goal)
            ],
            "atoms": list(self.atoms),
            "actions": list(self.actions),
            "features": list(self.features),
            "named": named,
            "initial": list(head["initial"]) if None in named else [],
            "words": self.sentences(words) if words.actions else None,
            "elements": list(self.elements),
            "goal": self.goal,
            "frames": frames,
            "steps": steps,
            "plateau": plateau([frame["open"] for frame in frames]),
            "marks": _marks(recorded, self.left),
            "expert": {
                "length": self.expert.length,
                "divergences": divergences(self.places),
                "passes": [place is not None for place in self.places],
            }
            if self.expert
            else None,
            "map": map_of(recorded, self.orders, projected),
        }

    def frames(self) -> list[dict[str, Any]]:
        """The state in which each step is decided, and the last one."""
        return [
            {
                "picture": self.pictures[number],
                "open": len(self.recorded.open_goals[number]),
                **({} if self.left is None else {"left": encode_bounds(self.left[number])}),
            }
            for number in range(len(self.states))
        ]

    def steps(self) -> list[dict[str, Any]]:
        """The decisions, with the path cost before each one if a beam was recorded."""
        records = self.recorded.steps
        beam = any(sum("beam" in each["marks"] for each in record["candidates"]) > 1 for record in records)
        spent = accumulate((_taken(record)["cost"] or 0.0 for record in records), initial=0.0)
        return [
            {**self._step(number), **({"path": cost} if beam else {})}
            for number, cost in zip(range(len(records)), spent, strict=False)
        ]

    def sentences(self, words: Words) -> dict[str, list[str]]:
        """The numbered texts in words."""
        return {
            "actions": [words.sentence(Action(*atom_of(line))) for line in self.actions],
            "atoms": [words.sentence(atom_of(line)) for line in self.atoms],
            "features": [in_english(each, words) for each in self.features],
        }

    def _step(self, number: int) -> dict[str, Any]:
        record, order, rivals = self.recorded.steps[number], self.orders[number], self.rivals[number]
        marks = [self.recorded.standings[number][index].marks for index in order]
        candidates = [self._candidate(number, rank) for rank in range(len(order))]
        return {
            "chosen": order.index(record["chosen"]),
            "tie": sum(each.contends for each in marks) > 1,
            "next": order.index(rivals[0]) if rivals else None,
            "unavailable": [rank for rank, each in enumerate(marks) if not each.open_to_choice],
            "greedy": next((rank for rank, each in enumerate(marks) if each.open_to_choice), None),
            **_beam(record, self.actions),
            "candidates": candidates,
            "written": _written(record),
            "why": explanations(record, order, self.features.__getitem__),
            **({"because": record["note"]["because"][record["chosen"]]} if "because" in record["note"] else {}),
            **({} if self.left is None else {"best": _best(record, order, self.left[number])}),
            "expects": self._expected(record),
            **({"state_cost": record["state_cost"]} if "state_cost" in record else {}),
        }

    def _candidate(self, number: int, rank: int) -> dict[str, Any]:
        record, order = self.recorded.steps[number], self.orders[number]
        index = order[rank]
        candidate, best = record["candidates"][index], cost_of(record["candidates"][order[0]])
        place = self.expert.place(after(self.states[number], candidate)) if self.expert else None
        advances = (place or 0) > self.furthest[number]  # on the expert's path
        picture = self.others.get((number, index))
        return {
            "rank": rank + 1,
            "actions": [self.actions[action] for action in candidate["actions"]],
            "cost": candidate["cost"],
            "gap": None if candidate["cost"] is None else _gap(candidate["cost"], best),
            "marks": [*candidate["marks"], *(["expert"] if advances else [])],
            "add": [self.atoms[atom] for atom in candidate["add"]],
            "delete": [self.atoms[atom] for atom in candidate["delete"]],
            "open": self.recorded.standings[number][index].open_goals,
            **({"left": candidate["left"]} if "left" in candidate else {}),
            **({"same_as": _same_as(record, order, index)} if "collapsed" in candidate["marks"] else {}),
            **({} if picture is None else {"picture": _difference(self.pictures[number], picture)}),
        }

    def _expected(self, record: Mapping[str, Any]) -> dict[str, Any] | None:
        """The predicted changes."""
        if "expects" not in record:
            return None
        changes = [[self.atoms[atom], bool(true), float(score)] for atom, true, score in record["expects"]["changes"]]
        return {"changes": changes, "nothing": float(record["expects"]["nothing"])}

    def _furthest(self) -> list[int]:
        """The furthest place on the expert's path before each step, states within jumps included."""
        within = [
            self.expert.furthest(self.text, state, _taken(record)["actions"][:-1]) if self.expert else 0
            for state, record in zip(self.states, self.recorded.steps, strict=False)
        ]
        ends = (max(place or 0, inner) for place, inner in zip(self.places[1:], within, strict=True))
        return list(accumulate(ends, max, initial=0))

    def _drawings(self) -> tuple[list[list[int]], dict[tuple[int, int], list[int]]]:
        """The drawings of the states, and of those of the first other candidates, by step and candidate."""
        steps = self.recorded.steps
        others = [
            (number, index)
            for number, rivals in enumerate(self.rivals)
            for index in rivals[: min(_PICTURED, _DRAWINGS // len(steps))]
        ]
        reached = (after(self.states[number], steps[number]["candidates"][index]) for number, index in others)
        objects = (*self.text.constants, *self.problem.objects)  # the order of `Task.objects`
        scenes = [Scene(objects, each, self.problem.goal, counted=False) for each in (*self.states, *reached)]
        before = [*range(-1, len(self.states) - 1), *(number for number, _ in others)]
        pictures = list(map(self._cut, draw_series(self.text, scenes, before)))
        return pictures[: len(self.states)], dict(zip(others, pictures[len(self.states) :], strict=True))

    def _cut(self, drawing: str) -> list[int]:
        return [self.elements[element] for element in _BETWEEN_ELEMENTS.split(drawing)]


def _taken(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The chosen candidate of a step."""
    candidate: Mapping[str, Any] = record["candidates"][record["chosen"]]
    return candidate


def _runners_up(record: Mapping[str, Any], standings: Sequence[Standing]) -> list[int]:
    """The indices of a step's other candidates that were available, best first."""
    costs = [cost_of(each) for each in record["candidates"]]
    return runners_up(costs, [each.marks.open_to_choice for each in standings], record["chosen"])


def _marks(recorded: Recorded, left: Sequence[Bounds] | None) -> list[list[Any]] | None:
    """The steps that are proved to waste actions, how many, and whether this is exact."""
    if left is None:
        return None
    taken = [len(_taken(record)["actions"]) for record in recorded.steps]
    exact = [low == high for low, high in left]
    lost = ((step, each) for step, each in enumerate(regrets(left, taken)) if each)
    return [[step, None if each == math.inf else int(each), exact[step] and exact[step + 1]] for step, each in lost]


def _beam(record: Mapping[str, Any], numbered: Mapping[str, int]) -> dict[str, Any]:
    """The recorded beam of a step and the place of the chosen node in it, which must be one of the beam."""
    if not record.get("beam"):
        return {}
    kept = [
        [int(before), [numbered[action] for action in actions], float(cost)] for before, actions, cost in record["beam"]
    ]
    return {"beam": kept, "lane": range(len(kept)).index(record["lane"])}


def _best(record: Mapping[str, Any], order: Sequence[int], here: Bounds) -> list[int]:
    """The ranks of the candidates that are proved to be on a shortest plan from a state."""
    candidates = [record["candidates"][index] for index in order]
    known = [(rank, each) for rank, each in enumerate(candidates) if "left" in each]
    most = [(rank, len(each["actions"]) + decode_bounds(each["left"])[1]) for rank, each in known]
    return [rank for rank, length in most if length <= here[0] < math.inf]


def _written(record: Mapping[str, Any]) -> list[list[str | float]]:
    """The generated tokens of a record, each with its probability."""
    return [[str(word), float(probability)] for word, probability in record.get("written", ())]


def _same_as(record: Mapping[str, Any], order: Sequence[int], index: int) -> int | None:
    """The rank of the candidate that represents a collapsed one: one of the same key or state."""
    own, candidates = record["candidates"][index], record["candidates"]
    shown = [place for place, each in enumerate(candidates) if "collapsed" not in each["marks"]]
    same_key = [place for place in shown if own["key"] is not None and candidates[place]["key"] == own["key"]]
    changes = (own["add"], own["delete"])
    same_state = [place for place in shown if (candidates[place]["add"], candidates[place]["delete"]) == changes]
    return next((order.index(place) for place in (*same_key, *same_state)), None)


def _difference(before: Sequence[int], picture: Sequence[int]) -> list[list[int]]:
    """The edits from one drawing's elements to another's: [index, number of elements removed, *elements inserted]."""
    if len(before) == len(picture):
        places = [place for place, (one, other) in enumerate(zip(before, picture, strict=True)) if one != other]
        return [[place, 1, picture[place]] for place in places]
    most = min(len(before), len(picture))
    first = next((place for place in range(most) if before[place] != picture[place]), most)
    last = next((place for place in range(most - first) if before[-1 - place] != picture[-1 - place]), most - first)
    return [[first, len(before) - first - last, *picture[first : len(picture) - last]]]


class _Numbered(dict[str, int]):
    """Distinct texts, numbered in order of first use."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def ranked(step: Mapping[str, Any]) -> list[int]:
    """Indices of a step's candidates in rank order (`rank_order`)."""
    return rank_order([cost_of(each) for each in step["candidates"]])


def rank_order(costs: Sequence[float]) -> list[int]:
    """Indices of the candidates, cheapest first; costs that the planner treats as equal keep the candidates' order."""
    ranked: list[int] = []
    equal: list[int] = []
    for place in sorted(range(len(costs)), key=lambda place: costs[place]):
        if equal and _gap(costs[place], costs[equal[0]]) > 0:
            ranked += sorted(equal)
            equal = []
        equal.append(place)
    return ranked + sorted(equal)


def _gap(cost: float, best: float) -> float:
    """The difference in cost, 0 if the planner treats the costs as equal."""
    if math.isinf(best) or cost - best <= tie_margin(best):
        return 0.0
    return cost - best


def turns(truth: Iterable[bool]) -> list[int]:
    """The indices at which a truth value changes; it is false before the first."""
    values = [False, *truth]
    return [place for place, (before, now) in enumerate(pairwise(values)) if before != now]


def plateau(open_counts: Sequence[int]) -> tuple[int, int] | None:
    """The first longest run of frames (first, last) without a new minimum of open goals."""
    longest, start, least = (0, 0), 0, math.inf
    for place, count in enumerate(open_counts):
        if count < least:
            start, least = place, count
        elif place - start > longest[1] - longest[0]:
            longest = (start, place)
    return longest if longest[1] > longest[0] else None


_ATOM = re.compile(r"\(([^()\s]+(?: [^()\s]+)*)\)( becomes true| becomes false)?")
_PHRASES = (
    (", a goal that holds", " (a goal that is satisfied)"),
    (", an open goal", " (a goal that is not satisfied)"),
)
_COUNTED_ATOM = re.compile(r"^atoms (.+?)(?= \(a goal|;|$)")
_SEVERAL = re.compile(r"(\d+) of (\([^()]*\))")  # atoms of the same kind
_OF_ANY_OBJECT = re.compile(r"(atoms|objects)\b")  # WL features, with variables x and y
_SLOT = re.compile(r"^the slot of (\S+)$")
_ANY = {"·": "something"}  # an unnamed object of a feature
Numbered = Callable[[str], int]


def explanations(record: Mapping[str, Any], order: Sequence[int], numbered: Numbered) -> list[dict[str, Any]]:
    """A step's explanations, that against the runner-up first; `against` is the rank of the other candidate.

    A reason is [feature, value of the chosen candidate, value of the other one, share]; `numbered` numbers features.
    """
    return [
        {
            "against": order.index(each["against"]),
            "measure": each["measure"],
            "reasons": [[numbered(one["feature"]), one["chosen"], one["other"], one["share"]] for one in each["why"]],
        }
        for each in (*([record] if "why" in record else []), *record.get("others", ()))
    ]


def objects_of(feature: str, names: Container[str]) -> list[str] | None:
    """The objects that a feature names: arguments of its atoms, or that of an FSF slot; None for a WL feature."""
    if _OF_ANY_OBJECT.match(feature):
        return None
    words = [each for atom in _ATOM.finditer(feature) for each in atom[1].split()[1:]]
    return [each for each in dict.fromkeys([*words, *_SLOT.findall(feature)]) if each in names]


def in_english(feature: str, words: Words) -> str:
    """A feature with its atoms as sentences; a text that fits no template is unchanged."""
    text = _ATOM.sub(lambda found: _sentence(found, words), _SEVERAL.sub(r"\2 (\1 times)", feature))
    for phrase, better in _PHRASES:
        text = text.replace(phrase, better)
    if text == feature:
        return feature
    text = _COUNTED_ATOM.sub(r"number of atoms '\1'", text.replace(" with ", " where "))
    return f"number of {text}" if text.startswith("objects ") else text


def _sentence(found: re.Match[str], words: Words) -> str:
    predicate, *objects = found[1].split()
    atom = Atom(predicate, tuple(_ANY.get(each, each) for each in objects))
    text = words.sentence(Literal(atom, found[2] != " becomes false"))
    if text.startswith("("):  # PDDL, which no template fits
        return found[0]
    return f"afterwards {text}" if found[2] else text


FORMAT = 1


def map_of(
    recorded: Recorded, orders: Sequence[Sequence[int]], data: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The map of a rollout: training points, and the points of each step, candidates by rank.

    Each step also has its nearest training point and the distance to it; `usual` is the 99th percentile of such
    distances in training. If there is no map, or a damaged one, `missing` gives the reason.
    """
    if data is not None:
        return _placed(recorded, orders, data)
    file = map_file(recorded.source)
    if not file.is_file():
        return {"missing": "No map available; create one with 'sgp map'"}
    try:
        return _placed(recorded, orders, read_json(file))
    except (StoreError, AttributeError, KeyError, TypeError, ValueError):
        return {"missing": f"The map {file.name} is damaged or of another version; create it again with 'sgp map'"}


def _placed(recorded: Recorded, orders: Sequence[Sequence[int]], data: Mapping[str, Any]) -> dict[str, Any]:
    """The map of a rollout from the content of its file. Raises StoreError for another format."""
    if data.get("format") != FORMAT:
        raise StoreError(f"the map has format {data.get('format')}; expected {FORMAT}")
    if "missing" in data:
        return {"missing": str(data["missing"])}
    of_line = {entry["line"]: entry for entry in data["rollouts"]}
    entry = of_line.get(recorded.line, {})
    paired = list(zip(entry.get("steps", ()), orders, strict=False))
    # An expert's plan can have the actions of the rollout of its line without its other candidates.
    known = all(int(place) < len(order) for step, order in paired for place in step["candidates"])
    if entry.get("chosen") != recorded.chosen or not known:
        return {"missing": "The map belongs to another rollout; create it again with 'sgp map'"}
    steps = []
    for step, order in paired:
        rank_of = {place: rank for rank, place in enumerate(order)}
        candidates = {rank_of[int(place)]: point for place, point in step["candidates"].items()}
        steps.append({**step, "candidates": [[rank, *point] for rank, point in sorted(candidates.items())]})
    ground = {name: data[name] for name in ("of", "dimensions", "explained", "umap", "context")}
    return {**ground, "usual": data.get("usual"), "steps": steps, "training": data.get("training")}


State = frozenset[Atom]


def expert_states(text: DomainText, initial: State, plan: Iterable[Action]) -> list[State]:
    """The states of a plan, the initial one first. Raises KeyError for an unknown action."""
    states = [initial]
    for action in plan:
        schema = text.schemas[action.name]
        names = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
        deleted, added = (
            {
                Atom(literal.atom.predicate, tuple(names.get(each, each) for each in literal.atom.objects))
                for literal in schema.effect
                if literal.positive is sign
            }
            for sign in (False, True)
        )
        states.append((states[-1] - deleted) | added)
    return states


class Expert:
    """The indices of states on the expert's path."""

    def __init__(self, states: Sequence[State]):
        self._places = {state: place for place, state in enumerate(states)}  # the last place of a state
        self._sizes = {len(state) for state in states}
        self.length = len(states) - 1

    def place(self, state: State) -> int | None:
        """The number of the expert's actions before a state; None if the expert never reaches it."""
        return self._places.get(state) if len(state) in self._sizes else None

    def furthest(self, text: DomainText, state: State, lines: Iterable[str]) -> int:
        """The most actions of the expert before a state that recorded actions pass through; 0 if it reaches none."""
        actions = [Action(*atom_of(line)) for line in lines]
        if not all(action.name in text.schemas for action in actions):  # compiled cases of an action
            return 0
        return max(self.place(each) or 0 for each in expert_states(text, state, actions))


def divergences(places: Sequence[int | None]) -> list[int]:
    """The steps from a state on the expert's path to one that is not."""
    return [step for step in range(len(places) - 1) if places[step] is not None and places[step + 1] is None]
