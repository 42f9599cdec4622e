"""Why a recorded rollout failed, in sentences that count steps and name them as evidence. Needs no planning library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from sgp.domains import words_of
from sgp.errors import StoreError
from sgp.planning.pddl import Action
from sgp.planning.recorded import Recorded, atom_of, contends
from sgp.planning.rollout import tie_margin


class Remark(NamedTuple):
    """A sentence on a rollout, and its evidence: the steps that it counts, from 1 as in the player, or the end."""

    sentence: str
    steps: tuple[int, ...]


def diagnosis(recorded: Recorded) -> tuple[Remark, ...]:
    """What counts tell of a rollout, the most telling first.

    Raises StoreError for a damaged record, and PddlError or PlanError where its problem or its atoms cannot be read.
    """
    try:
        return tuple(_remarks(recorded))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{recorded.place}: not a record of a rollout ({error!r}); record the rollout again"
        ) from error


def _remarks(recorded: Recorded) -> Iterator[Remark]:
    count = len(recorded.steps)
    if recorded.head.get("reason"):
        yield Remark(f"It ended because of this: {recorded.head['reason']}", (count + 1,))
    if not count:
        return
    yield from _idle(recorded)
    yield from _circles(recorded)
    yield from _shut(recorded)
    yield from _ties(recorded)
    yield from _goals(recorded)
    yield from _off(recorded)


def _idle(recorded: Recorded) -> Iterator[Remark]:
    """Steps on which what changes nothing costs least."""
    found = dict[int, str]()
    for number, step in enumerate(recorded.steps, start=1):
        still = [each for each in _cheapest(step) if not each["add"] and not each["delete"]]
        if still:
            found[number] = still[0]["actions"][-1]
    if found:
        (common, _), *_ = Counter(found.values()).most_common(1)
        what = f"an action that changes nothing costs least, such as '{_said(recorded, common)}'"
        yield Remark(f"On {_of(found, recorded)} {what}: to the model the state as it is looks best", tuple(found))


def _circles(recorded: Recorded) -> Iterator[Remark]:
    """Steps that lead back to a state that was there before."""
    met, back = set[Any](), list[int]()
    for place, state in enumerate(recorded.states()):
        if state in met:
            back.append(place)
        met.add(state)
    if back:
        what = "back to a state that was there before: it goes in circles"
        yield Remark(f"{_of(back, recorded, 'steps lead', 'step leads')} {what}", tuple(back))


def _shut(recorded: Recorded) -> Iterator[Remark]:
    """Steps on which what costs least had been visited, so that something else was taken."""
    found, ranks = list[int](), list[int]()
    for number, step in enumerate(recorded.steps, start=1):
        chosen = step["candidates"][step["chosen"]]
        before = [each for each in step["candidates"] if _cost(each) < _cost(chosen) - tie_margin(_cost(chosen))]
        changing = [each for each in before if each["add"] or each["delete"]]
        if changing and all("visited" in each["marks"] for each in before):
            found.append(number)
            ranks.append(len(before) + 1)
    if found:
        what = f"everything cheaper had been visited before, so that it took its number {median(ranks):g} in the median"
        yield Remark(f"On {_of(found, recorded)} {what}", tuple(found))


def _ties(recorded: Recorded) -> Iterator[Remark]:
    """Steps that the order of the PDDL decided."""
    contending = [sum(map(contends, step["candidates"])) for step in recorded.steps]
    found = [number for number, many in enumerate(contending, start=1) if many > 1]
    if found:
        what = f"several actions cost the same, up to {max(contending)} of them, and their order in the PDDL decided"
        yield Remark(f"On {_of(found, recorded)} {what}", tuple(found))


def _goals(recorded: Recorded) -> Iterator[Remark]:
    """What became of single goals."""
    words, goals, course = words_of(recorded.domain), recorded.problem.goal, recorded.open_goals
    given_up = {number: then - now for number, (now, then) in enumerate(pairwise(course), start=1) if then - now}
    if given_up:
        lost = Counter(place for places in given_up.values() for place in places)
        (place, times), *_ = lost.most_common(1)
        often = "once" if times == 1 else f"{times} times"
        what = f"a goal that held was given up again, most often '{words.sentence(goals[place])}' ({often})"
        yield Remark(f"On {_of(given_up, recorded)} {what}", tuple(given_up))
    never = sorted(frozenset.intersection(*course))
    if never:
        some = ", ".join(f"'{words.sentence(goals[place])}'" for place in never[:3])
        which = f", such as {some}" if len(never) > 3 else f": {some}"
        yield Remark(f"{len(never)} of {len(goals)} goals never held{which}", (len(recorded.steps) + 1,))
    counts = [len(each) for each in course]
    best = counts.index(min(counts))
    if 0 < best < len(counts) - 1 and counts[-1] > counts[best]:
        yield Remark(
            f"Closest to the goal it was after step {best}, with {counts[best]} of {len(goals)} goals open; at the end "
            f"{counts[-1]} are",
            (best,),
        )


def _off(recorded: Recorded) -> Iterator[Remark]:
    """Where it leaves the expert's plan, and what the model thought of the expert's action there."""
    plan = [str(action).strip() for action in recorded.head.get("expert") or ()]
    for number, step in enumerate(recorded.steps, start=1):
        chosen = step["candidates"][step["chosen"]]["actions"]
        if not plan or chosen == plan[: len(chosen)]:
            plan = plan[len(chosen) :]
            if not plan:
                return
            continue
        theirs = [each for each in step["candidates"] if each["actions"] == plan[: len(each["actions"])]]
        if theirs:
            cost = min(map(_cost, theirs))
            rank = 1 + sum(_cost(each) < cost for each in step["candidates"])
            taken = _cost(step["candidates"][step["chosen"]])
            alike = cost < math.inf and abs(cost - taken) <= tie_margin(cost)
            what = f"the expert's action there is number {rank} of {len(step['candidates'])} to the model"
            what += ", and costs as much as what it took" if alike else ""
        else:
            what = "the expert's action is not among its candidates there"
        yield Remark(f"It leaves the expert's plan at step {number}; {what}", (number,))
        return


def _cheapest(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidates of least cost, whether or not they were open to choice; none where all are rejected."""
    least = min(map(_cost, step["candidates"]))
    if not math.isfinite(least):
        return []
    return [each for each in step["candidates"] if _cost(each) <= least + tie_margin(least)]


def _cost(candidate: Mapping[str, Any]) -> float:
    return math.inf if candidate["cost"] is None else float(candidate["cost"])


def _of(steps: Sequence[int] | Mapping[int, Any], recorded: Recorded, many: str = "steps", one: str = "step") -> str:
    """So many of all steps, in words."""
    count = len(recorded.steps)
    return f"{len(steps)} of {count} {one if count == 1 else many}"


def _said(recorded: Recorded, action: str) -> str:
    """An action in English where its domain has words."""
    atom = atom_of(action)
    return words_of(recorded.domain).sentence(Action(atom.predicate, atom.objects))
