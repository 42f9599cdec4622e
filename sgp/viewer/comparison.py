"""Two rollouts of one problem as the data of `compare.js`, aligned by the number of actions."""

from __future__ import annotations

from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any

from sgp.errors import InputError, StoreError
from sgp.planning.pddl import Atom, parse_plan
from sgp.planning.recorded import Recorded
from sgp.planning.rollout import Outcome
from sgp.viewer.playback import expert_states, playback

EXPERT = "expert's plan"  # in place of a method


def expert_rollout(recorded: Recorded) -> Recorded | None:
    """The expert's plan of the same problem as a rollout; None if the record has none.

    Each step has the expert's action as its only candidate, without a cost.
    """
    lines = recorded.head.get("expert")
    if not lines:
        return None
    try:
        plan = parse_plan("\n".join(map(str, lines)), f"{recorded.place}, expert")
        text = recorded.domain
        states = expert_states(text, next(recorded.states()), plan)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{recorded.place}: the expert's plan does not fit the domain ({error!r}); record the rollout again"
        ) from error
    steps = []
    for action, (before, after) in zip(plan, pairwise(states), strict=True):
        candidate = {
            "actions": [str(action)],
            "parent": None,
            "add": sorted(map(str, after - before)),
            "delete": sorted(map(str, before - after)),
            "cost": None,
            "key": None,
            "marks": ["chosen"],
        }
        steps.append({"record": "step", "chosen": 0, "candidates": [candidate], "note": {}})
    about = {"method": EXPERT, "domain": recorded.about.domain, "split": recorded.about.split}
    head = {
        **{name: value for name, value in recorded.head.items() if name != "left"},
        "outcome": Outcome.SOLVED.value,
        "reason": "",
        "seconds": 0.0,
        "steps": len(steps),
        "about": about,
    }
    return Recorded(recorded.source, recorded.line, head, tuple(steps))


def comparison(left: Recorded, right: Recorded) -> dict[str, Any]:
    """The data of `compare.js`, as JSON.

    Position i is the state after i actions; within a jump its start is shown. `divergence` is the first position whose
    next actions differ, None if one plan is a prefix of the other; `equal` are the positions at which both sides are in
    the same state.
    """
    if left.head.get("sha256") != right.head.get("sha256"):
        raise InputError(
            f"{left.head.get('name')} and {right.head.get('name')} are two problems; choose two rollouts of one problem"
        )
    sides = [_side(each) for each in (left, right)]
    plans = list(map(_plan, sides))
    common = next(
        (place for place, (one, two) in enumerate(zip(*plans, strict=False)) if one != two), min(map(len, plans))
    )
    states = [_states(each) for each in (left, right)]
    return {
        "id": sha256(f"{left.place} {left.about} {right.place} {right.about} {common}".encode()).hexdigest()[:16],
        "problem": sides[0]["problem"],
        "domain": sides[0]["domain"],
        "goals": sides[0]["goals"],
        "length": max(map(len, plans)),
        "divergence": common if common < min(map(len, plans)) else None,
        "equal": sorted(place for place, state in states[0].items() if states[1].get(place) == state),
        "sides": sides,
    }


def _side(recorded: Recorded) -> dict[str, Any]:
    """One side's frames, candidates and map; actions are indices into texts and, if possible, sentences."""
    data = playback(recorded)
    fields = ("rank", "actions", "cost", "gap", "marks", "open", "twin")
    steps = [
        {
            **{name: step[name] for name in ("chosen", "tie", "shut")},
            "candidates": [{name: each[name] for name in fields if name in each} for each in step["candidates"]],
        }
        for step in data["steps"]
    ]
    copied = ("problem", "domain", "model", "outcome", "goals", "elements", "goal", "actions")
    frames = [{"picture": frame["picture"], "open": frame["open"]} for frame in data["frames"]]
    words = data["words"]["actions"] if data["words"] else None
    drawn = {"missing": "The expert's plan has no map"} if recorded.about.method == EXPERT else data["map"]
    return {**{name: data[name] for name in copied}, "frames": frames, "steps": steps, "words": words, "map": drawn}


def _plan(side: dict[str, Any]) -> list[str]:
    """The actions that a side takes."""
    chosen = (step["candidates"][step["chosen"]] for step in side["steps"])
    return [side["actions"][action] for candidate in chosen for action in candidate["actions"]]


def _states(recorded: Recorded) -> dict[int, frozenset[Atom]]:
    """The states at the ends of steps, by number of actions."""
    lengths = [len(step["candidates"][step["chosen"]]["actions"]) for step in recorded.steps]
    return dict(zip(accumulate(lengths, initial=0), recorded.states(), strict=True))
