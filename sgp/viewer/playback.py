"""A recorded rollout as the player's data: drawings, candidates in rank order, and what each step changes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any

from sgp.domains import draw_goal, draw_scene, draw_series, words_of
from sgp.errors import StoreError
from sgp.files import read_json
from sgp.planning.domain import Scene
from sgp.planning.pddl import Action, Atom, DomainText, Literal, parse_plan
from sgp.planning.recorded import Recorded, after, atom_of, map_file
from sgp.planning.regret import read_left, regrets
from sgp.planning.rollout import runners_up, tie_margin
from sgp.planning.words import Words

_BETWEEN_ELEMENTS = re.compile("(?<=>)(?=<)")
_PICTURED = 2  # candidates of a step whose states are drawn besides the chosen one's: the best
_DRAWINGS = 160  # of them in a rollout: each takes a millisecond or two


def playback(recorded: Recorded) -> dict[str, Any]:
    """What `player.js` plays, as JSON holds it.

    Frame i shows the state in which step i is decided, the last frame the end. Atoms, actions and the elements of the
    drawings stand once, in lists, and are named by their places there: most of a drawing is that of the step before.
    `words` has, at the same places, a sentence for each action, each feature and each atom that some candidate adds or
    deletes; it is None where the house does not know the domain. `wanted` has each goal in words, with the frames from
    which it is open, satisfied, open again, and so on. A step's `shut` are the ranks (from 0) of candidates that were
    not open to choice; its `next` is the rank of the runner-up (`runners_up`), with which sentence and reasons compare,
    None where no other was open; its `tie` tells whether several open ones had the least cost and the model could tell
    them apart, so that their order decided; its `why` are `explanations`. Its `expects` are the changes that its
    prediction expects, each [atom, whether it becomes true, score], and the share of `nothing`. A candidate's `twin` is
    the rank of the one that was kept in its place, None where that is a candidate of another state of the beam;
    `picture` is its state's drawing, of the best few alone, as what differs from the frame's: [place, how many elements
    go, those that come].
    `marks` are the steps (from 0) that gave something away, each [step, by how many actions], None where it led into a
    dead end; `least` tells whether they are reckoned from optimal distances, not from the best plans known. Both are
    None where the record does not tell what is left.
    Raises StoreError for a record that is damaged, PddlError for PDDL and PlanError for an action that cannot be read.
    """
    try:
        return _playback(recorded)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{recorded.place}: not a record of a rollout ({error!r}); record the rollout again"
        ) from error


def drawn_state(recorded: Recorded, step: int) -> str:
    """The state in which a step (from 1) is decided as SVG, the last one for a step past the end.

    Raises StoreError for a record that is damaged, PddlError and PlanError for texts that cannot be read.
    """
    try:
        states = list(recorded.states())
        text, problem = recorded.domain, recorded.problem
        objects = (*text.constants, *problem.objects)
        return draw_scene(text, Scene(objects, states[min(step, len(states)) - 1], problem.goal))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{recorded.place}: not a record of a rollout ({error!r}); record the rollout again"
        ) from error


def _playback(recorded: Recorded) -> dict[str, Any]:
    head, about = recorded.head, recorded.about
    text, problem = recorded.domain, recorded.problem
    objects = (*text.constants, *problem.objects)  # the order of `Task.objects`
    atoms, actions, elements, features = _Numbered(), _Numbered(), _Numbered(), _Numbered()
    state = frozenset(map(atom_of, head["initial"]))
    frames: list[dict[str, Any]] = []
    steps, length = list[dict[str, Any]](), 0
    plan = [action for line in head.get("expert") or () for action in parse_plan(line, recorded.place)]
    expert = Expert(expert_states(text, state, plan)) if plan else None
    orders: list[list[int]] = []
    places, furthest = [expert.place(state) if expert else None], 0  # on the expert's way

    fluents = text.fluent_predicates
    words = words_of(text)

    states = list(recorded.states())
    rivals = [
        runners_up(
            [_cost(each) for each in record["candidates"]],
            [each.marks.open_to_choice for each in standings],
            record["chosen"],
        )
        for record, standings in zip(recorded.steps, recorded.standings, strict=True)
    ]
    aside = [
        (at, place)
        for at, others in enumerate(rivals)
        for place in others[: min(_PICTURED, _DRAWINGS // len(recorded.steps))]
    ]
    reached = (after(states[at], recorded.steps[at]["candidates"][place]) for at, place in aside)
    scenes = [Scene(objects, each, problem.goal) for each in (*states, *reached)]

    def cut(drawing: str) -> list[int]:
        return [elements[element] for element in _BETWEEN_ELEMENTS.split(drawing)]

    pictures = list(map(cut, draw_series(text, scenes, [*range(-1, len(states) - 1), *(at for at, _ in aside)])))
    beside = dict(zip(aside, pictures[len(states) :], strict=True))

    def frame() -> dict[str, Any]:
        return {
            "picture": pictures[len(frames)],
            "open": len(recorded.open_goals[len(frames)]),
            "atoms": sum(atom.predicate in fluents for atom in state),
        }

    goal = cut(draw_goal(text, Scene(objects, state, problem.goal)))
    for record, standings in zip(recorded.steps, recorded.standings, strict=True):
        frames.append(frame())
        chosen = record["candidates"][record["chosen"]]
        order = rank_order([_cost(candidate) for candidate in record["candidates"]])
        orders.append(order)
        best = _cost(record["candidates"][order[0]])
        ends = [expert.place(after(state, each)) if expert else None for each in record["candidates"]]
        at, others = len(steps), rivals[len(steps)]
        drawn = {place: _difference(pictures[at], beside[at, place]) for place in others if (at, place) in beside}
        steps.append(
            {
                "chosen": order.index(record["chosen"]),
                "tie": sum(each.contends for each in standings) > 1,
                "next": order.index(others[0]) if others else None,
                "shut": [rank for rank, index in enumerate(order) if not standings[index].marks.open_to_choice],
                "candidates": [
                    {
                        "rank": rank,
                        "actions": [actions[action] for action in candidate["actions"]],
                        "cost": candidate["cost"],
                        "gap": None if candidate["cost"] is None else _gap(candidate["cost"], best),
                        "marks": [*candidate["marks"], *(["expert"] if (ends[index] or 0) > furthest else [])],
                        "add": [atoms[atom] for atom in candidate["add"]],
                        "delete": [atoms[atom] for atom in candidate["delete"]],
                        "open": standings[index].open_goals,
                        **({"twin": _twin(record, order, index)} if "collapsed" in candidate["marks"] else {}),
                        **({"picture": drawn[index]} if index in drawn else {}),
                    }
                    for rank, index in enumerate(order, start=1)
                    for candidate in (record["candidates"][index],)
                ],
                "written": _written(record),
                "why": explanations(record, order, features.__getitem__),
                "expects": _expected(record, atoms),
            }
        )
        state = after(state, chosen)
        places.append(ends[record["chosen"]])
        furthest = max(furthest, places[-1] or 0)
        length += len(chosen["actions"])
    frames.append(frame())
    said = None
    if words.actions:  # before the initial atoms are numbered below, of which the player shows none
        said = {
            "actions": [words.sentence(Action(*atom_of(line))) for line in actions],
            "atoms": [words.sentence(atom_of(line)) for line in atoms],
            "features": [in_english(each, words) for each in features],
        }
    return {
        "id": sha256(f"{head['sha256']} {about} {head['outcome']} {length}".encode()).hexdigest()[:16],
        "problem": head["name"],
        "domain": about.domain or text.name,
        "split": about.split,
        "model": about.model,
        "outcome": head["outcome"],
        "reason": head["reason"],
        "written": _written(head),
        "seconds": head["seconds"],
        "length": length,
        "goals": len(problem.goal),
        "wanted": [
            [words.sentence(literal), turns(place in now for now in recorded.open_goals)]
            for place, literal in enumerate(problem.goal)
        ],
        "initial": [atoms[atom] for atom in head["initial"]],
        "atoms": list(atoms),
        "actions": list(actions),
        "features": list(features),
        "words": said,
        "elements": list(elements),
        "goal": goal,
        "frames": frames,
        "steps": steps,
        "plateau": plateau([each["open"] for each in frames]),
        **_marks(recorded),
        "expert": {"length": expert.length, "divergences": divergences(places)} if expert else None,
        "map": map_of(recorded, orders),
    }


def _marks(recorded: Recorded) -> dict[str, Any]:
    """The steps that gave something away, by how many actions, and whether what was left is known exactly."""
    if "left" not in recorded.head:
        return {"marks": None, "least": None}
    left, least = read_left(recorded.head["left"])
    taken = [len(step["candidates"][step["chosen"]]["actions"]) for step in recorded.steps]
    if len(left) != len(taken) + 1:
        raise ValueError(f"actions left at {len(left)} states of {len(taken)} steps")
    lost = ((step, each) for step, each in enumerate(regrets(left, taken)) if each)
    return {"marks": [[step, None if each == math.inf else int(each)] for step, each in lost], "least": least}


def _expected(record: Mapping[str, Any], atoms: _Numbered) -> dict[str, Any] | None:
    """What the prediction expects to change, atoms by number; None where nothing was predicted or recorded."""
    if "expects" not in record:
        return None
    changes = [[atoms[atom], bool(true), float(score)] for atom, true, score in record["expects"]["changes"]]
    return {"changes": changes, "nothing": float(record["expects"]["nothing"])}


def _written(record: Mapping[str, Any]) -> list[list[str | float]]:
    """The tokens that were written for a record, each with its probability."""
    return [[str(word), float(probability)] for word, probability in record.get("written", ())]


def _twin(record: Mapping[str, Any], order: Sequence[int], index: int) -> int | None:
    """The rank (from 0) of the candidate that was kept in place of one that was collapsed: of its key or its state."""
    own, candidates = record["candidates"][index], record["candidates"]
    kept = [place for place, each in enumerate(candidates) if "collapsed" not in each["marks"]]
    same_key = [place for place in kept if own["key"] is not None and candidates[place]["key"] == own["key"]]
    changes = (own["add"], own["delete"])
    same_state = [place for place in kept if (candidates[place]["add"], candidates[place]["delete"]) == changes]
    return next((order.index(place) for place in (*same_key, *same_state)), None)


def _difference(before: Sequence[int], picture: Sequence[int]) -> list[list[int]]:
    """What turns one drawing's elements into those of another: lists of a place, how many go, and those that come.

    Of drawings of one length place by place, else all between what is equal at their start and end.
    """
    if len(before) == len(picture):
        places = [place for place, (one, other) in enumerate(zip(before, picture, strict=True)) if one != other]
        return [[place, 1, picture[place]] for place in places]
    most = min(len(before), len(picture))
    first = next((place for place in range(most) if before[place] != picture[place]), most)
    last = next((place for place in range(most - first) if before[-1 - place] != picture[-1 - place]), most - first)
    return [[first, len(before) - first - last, *picture[first : len(picture) - last]]]


@dataclass
class _Numbered:
    """Texts, each once, numbered in the order in which they are first asked for."""

    places: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)


def rank_order(costs: Sequence[float]) -> list[int]:
    """Places of the candidates, cheapest first; costs that the planner takes for equal keep the candidates' order."""
    ranked: list[int] = []
    equal: list[int] = []
    for place in sorted(range(len(costs)), key=lambda place: costs[place]):
        if equal and _gap(costs[place], costs[equal[0]]) > 0:
            ranked += sorted(equal)
            equal = []
        equal.append(place)
    return ranked + sorted(equal)


def _gap(cost: float, best: float) -> float:
    """How much more a candidate costs, 0 where the planner takes the costs for equal."""
    if math.isinf(best) or cost - best <= tie_margin(best):
        return 0.0
    return cost - best


def turns(truth: Iterable[bool]) -> list[int]:
    """The places at which a truth value changes that was false before the first."""
    values = [False, *truth]
    return [place for place, (before, now) in enumerate(pairwise(values)) if before != now]


def plateau(open_counts: Sequence[int]) -> tuple[int, int] | None:
    """The longest stretch of frames (first, last) without a new least number of open goals; the first of several.

    None where every step reaches a new least number.
    """
    longest, start, least = (0, 0), 0, math.inf
    for place, count in enumerate(open_counts):
        if count < least:
            start, least = place, count
        elif place - start > longest[1] - longest[0]:
            longest = (start, place)
    return longest if longest[1] > longest[0] else None


def _cost(candidate: Mapping[str, Any]) -> float:
    return math.inf if candidate["cost"] is None else float(candidate["cost"])


_ATOM = re.compile(r"\(([^()\s]+(?: [^()\s]+)*)\)( becomes true| becomes false)?")
_PHRASES = ((", a goal that holds", " (a goal that holds)"), (", an open goal", " (an open goal)"))
_ANY = {"·": "something"}  # an object that a feature does not name
Numbered = Callable[[str], int]


def explanations(record: Mapping[str, Any], order: Sequence[int], numbered: Numbered) -> list[dict[str, Any]]:
    """A step's explanations, that against the runner-up first; none in old records and where nothing was explained.

    `order` has the candidates' places in rank order: the other candidate is told by its rank (from 0). A reason is
    [feature, value of the chosen one, value of the other one, share]; `numbered` gives a feature's number.
    """
    return [
        {
            "against": order.index(each["against"]),
            "measure": each["measure"],
            "reasons": [[numbered(one["feature"]), one["chosen"], one["other"], one["share"]] for one in each["why"]],
        }
        for each in (*([record] if "why" in record else []), *record.get("others", ()))
    ]


def in_english(feature: str, words: Words) -> str:
    """A feature with its atoms as sentences; what no template fits stays as it is."""
    said = _ATOM.sub(lambda found: _sentence(found, words), feature)
    for phrase, better in _PHRASES:
        said = said.replace(phrase, better)
    return said.replace(" with ", " where ") if said != feature else feature


def _sentence(found: re.Match[str], words: Words) -> str:
    predicate, *objects = found[1].split()
    atom = Atom(predicate, tuple(_ANY.get(each, each) for each in objects))
    said = words.sentence(Literal(atom, found[2] != " becomes false"))
    if said.startswith("("):  # PDDL, which no template fits
        return found[0]
    return f"now {said}" if found[2] else said


FORMAT = 1


def map_of(recorded: Recorded, orders: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What the player draws: training points, and of each step its points, candidates by rank (from 0).

    Each step also has the number of the training point nearest to its own and its distance, and `usual` is the distance
    that 99 % of the training points have from another one at most (`sgp.analysis.maps`); older maps have neither.
    `orders` has for each step the candidates' places in rank order. Where there is no map, `missing` says why.
    """
    file = map_file(recorded.source)
    if not file.is_file():
        return {"missing": "No map available; create one with 'sgp map'"}
    data = read_json(file)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StoreError(f"{file} is not a map of format {FORMAT}; make it again with 'sgp map'")
    if "missing" in data:
        return {"missing": str(data["missing"])}
    of_line = {entry["line"]: entry for entry in data["rollouts"]}
    entry = of_line.get(recorded.line, {})
    paired = list(zip(entry.get("steps", ()), orders, strict=False))
    # An expert's plan can take the same actions as the rollout of its line, without the other candidates.
    known = all(int(place) < len(order) for step, order in paired for place in step["candidates"])
    if entry.get("chosen") != recorded.chosen or not known:
        return {"missing": "The map belongs to another rollout; create it again with 'sgp map'"}
    steps = []
    for step, order in paired:
        rank_of = {place: rank for rank, place in enumerate(order)}
        candidates = {rank_of[int(place)]: point for place, point in step["candidates"].items()}
        steps.append({**step, "candidates": [[rank, *point] for rank, point in sorted(candidates.items())]})
    ground = {name: data[name] for name in ("of", "dimensions", "explained", "umap", "context")}
    return {**ground, "usual": data.get("usual"), "steps": steps}


State = frozenset[Atom]


def expert_states(text: DomainText, initial: State, plan: Iterable[Action]) -> list[State]:
    """The states of a plan, the initial one first. Raises KeyError for an action that the domain does not have."""
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
    """Where states stand on the expert's way."""

    def __init__(self, states: Sequence[State]):
        self._places = {state: place for place, state in enumerate(states)}  # the last place of a state
        self._sizes = {len(state) for state in states}
        self.length = len(states) - 1

    def place(self, state: State) -> int | None:
        """After how many actions the expert is in a state; None where it never is."""
        return self._places.get(state) if len(state) in self._sizes else None


def divergences(places: Sequence[int | None]) -> list[int]:
    """The steps that leave the expert's states: in one of them before, in none after."""
    return [step for step in range(len(places) - 1) if places[step] is not None and places[step + 1] is None]
