"""Two rollouts of one problem as the data of `compare.js`: side by side, by the number of actions taken."""

from __future__ import annotations

from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any

from sgp.errors import InputError, StoreError
from sgp.planning.pddl import Atom, parse_plan
from sgp.planning.recorded import Recorded
from sgp.planning.rollout import Outcome
from sgp.viewer.playback import expert_states, playback

EXPERT = "expert's plan"  # stands where a method does


def expert_rollout(recorded: Recorded) -> Recorded | None:
    """The expert's plan of the same problem as a rollout of its own; None where the record has no expert's plan.

    Each step has the expert's action as its only candidate, without a cost. Raises StoreError where the plan does not
    fit the domain, PddlError and PlanError where its texts cannot be read.
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
    """What `compare.js` plays, as JSON holds it.

    Position i is the state after i actions, so that a jump of several actions lines up with as many steps; inside of a
    jump its start is shown. `divergence` is the first position whose next actions differ, None where one plan begins
    with all of the other; `equal` are the positions at which both sides are in the same state.
    Raises InputError for rollouts of two problems, and StoreError for a damaged record.
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
    """One side's frames, candidates and map; actions are numbers, with their texts and, of a known domain, in words."""
    data = playback(recorded)
    told = ("rank", "actions", "cost", "gap", "marks", "open", "twin")
    steps = [
        {
            **{name: step[name] for name in ("chosen", "tie", "shut")},
            "candidates": [{name: each[name] for name in told if name in each} for each in step["candidates"]],
        }
        for step in data["steps"]
    ]
    kept = ("problem", "domain", "model", "outcome", "goals", "elements", "goal", "actions")
    frames = [{"picture": frame["picture"], "open": frame["open"]} for frame in data["frames"]]
    words = data["words"]["actions"] if data["words"] else None
    drawn = {"missing": "The expert's plan has no map"} if recorded.about.method == EXPERT else data["map"]
    return {**{name: data[name] for name in kept}, "frames": frames, "steps": steps, "words": words, "map": drawn}


def _plan(side: dict[str, Any]) -> list[str]:
    """The actions that a side takes."""
    chosen = (step["candidates"][step["chosen"]] for step in side["steps"])
    return [side["actions"][action] for candidate in chosen for action in candidate["actions"]]


def _states(recorded: Recorded) -> dict[int, frozenset[Atom]]:
    """The state after each number of actions at which a step ends."""
    lengths = [len(step["candidates"][step["chosen"]]["actions"]) for step in recorded.steps]
    return dict(zip(accumulate(lengths, initial=0), recorded.states(), strict=True))
