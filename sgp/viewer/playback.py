"""A recorded rollout as the player's data: drawings, candidates in rank order, and what each step changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from sgp.domains import draw_goal, draw_scene
from sgp.errors import StoreError
from sgp.planning.domain import Scene
from sgp.planning.pddl import Atom, Literal, parse_plan, read_domain, read_problem
from sgp.planning.recorded import Recorded

_SHUT = frozenset({"visited", "collapsed", "rejected"})  # marks of candidates that were not open to choice


def playback(recorded: Recorded) -> dict[str, Any]:
    """What `player.js` plays, as JSON holds it.

    Frame i shows the state in which step i is decided, the last frame the end. Atoms, actions and drawings stand
    once, in lists, and are named by their places there. Raises StoreError for a record that is damaged, and PddlError
    for PDDL that cannot be read.
    """
    try:
        return _playback(recorded)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{recorded.place}: not a record of a rollout ({error!r}); record the rollout again"
        ) from error


def _playback(recorded: Recorded) -> dict[str, Any]:
    head, about = recorded.head, recorded.about
    text = read_domain(head["domain_pddl"], f"{recorded.place}, domain_pddl")
    problem = read_problem(head["problem_pddl"], f"{recorded.place}, problem_pddl")
    objects = (*problem.objects, *text.constants)
    atoms, actions, pictures = _Numbered(), _Numbered(), _Numbered()
    state = frozenset(map(_atom, head["initial"]))
    frames, steps, length = [], [], 0

    fluents = text.fluent_predicates
    wanted = {literal.atom: literal.positive for literal in problem.goal}

    def frame() -> dict[str, Any]:
        scene = Scene(objects, state, problem.goal)
        drawn = [pictures[draw(text, scene)] for draw in (draw_scene, draw_goal)]
        return {
            "pictures": drawn,
            "open": open_goals(problem.goal, state),
            "atoms": sum(atom.predicate in fluents for atom in state),
        }

    for record in recorded.steps:
        frames.append(frame())
        chosen = record["candidates"][record["chosen"]]
        order = sorted(range(len(record["candidates"])), key=lambda index: (_cost(record["candidates"][index]), index))
        best = _cost(record["candidates"][order[0]])
        still_open = frames[-1]["open"]
        steps.append(
            {
                "chosen": order.index(record["chosen"]),
                "tie": _is_tie(record["candidates"]),
                "candidates": [
                    {
                        "rank": rank,
                        "actions": [actions[action] for action in candidate["actions"]],
                        "cost": candidate["cost"],
                        "gap": None if candidate["cost"] is None else candidate["cost"] - best,
                        "marks": candidate["marks"],
                        "add": [atoms[atom] for atom in candidate["add"]],
                        "delete": [atoms[atom] for atom in candidate["delete"]],
                        "open": still_open + opened(wanted, candidate),
                    }
                    for rank, candidate in enumerate((record["candidates"][index] for index in order), start=1)
                ],
            }
        )
        state = _after(state, chosen)
        length += len(chosen["actions"])
    frames.append(frame())
    return {
        "id": sha256(f"{head['sha256']} {about} {head['outcome']} {length}".encode()).hexdigest()[:16],
        "problem": head["name"],
        "domain": about.domain or text.name,
        "split": about.split,
        "model": about.model,
        "outcome": head["outcome"],
        "reason": head["reason"],
        "seconds": head["seconds"],
        "length": length,
        "goals": len(problem.goal),
        "initial": [atoms[atom] for atom in head["initial"]],
        "atoms": list(atoms),
        "actions": list(actions),
        "pictures": list(pictures),
        "frames": frames,
        "steps": steps,
        "plateau": plateau([each["open"] for each in frames]),
    }


@dataclass
class _Numbered:
    """Texts, each once, numbered in the order in which they are first asked for."""

    places: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)


def open_goals(goal: Iterable[Literal], state: frozenset[Atom]) -> int:
    """How many literals of the goal do not hold."""
    return sum((literal.atom in state) != literal.positive for literal in goal)


def opened(wanted: Mapping[Atom, bool], candidate: Mapping[str, Any]) -> int:
    """How many goal literals (atoms with their signs) a candidate opens, less those that it satisfies."""
    made_true = [wanted[atom] for atom in map(_atom, candidate["add"]) if atom in wanted]
    made_false = [not wanted[atom] for atom in map(_atom, candidate["delete"]) if atom in wanted]
    return sum(-1 if satisfies else 1 for satisfies in made_true + made_false)


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


def _is_tie(candidates: Iterable[Mapping[str, Any]]) -> bool:
    """Whether candidates of equal cost were open that the model could tell apart, so that their order decided."""
    return sum("tied" in each["marks"] and _SHUT.isdisjoint(each["marks"]) for each in candidates) > 1


def _cost(candidate: Mapping[str, Any]) -> float:
    return math.inf if candidate["cost"] is None else float(candidate["cost"])


@lru_cache(maxsize=1 << 16)
def _atom(line: str) -> Atom:
    (action,) = parse_plan(line, "atom")
    return Atom(action.name, action.objects)


def _after(state: frozenset[Atom], candidate: Mapping[str, Any]) -> frozenset[Atom]:
    return state.difference(map(_atom, candidate["delete"])).union(map(_atom, candidate["add"]))
