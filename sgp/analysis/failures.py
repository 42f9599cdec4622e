"""Failure analysis of a recorded rollout: the kind of failure with its step, and findings that count steps."""

from __future__ import annotations

import enum
import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from sgp.datasets.recorded import Recorded, atom_of, cost_of, marks_in
from sgp.domains import words_of
from sgp.planning.pddl import Action
from sgp.planning.rollout import Mark, Outcome, tie_margin

RANDOM = "random-successor"  # the method that draws its costs
LONG = 10  # steps without a new minimum of open goals that make a plateau, or that make a loss final
_ORDER = "in the order of the PDDL files"
_TEXTS = tomllib.loads((Path(__file__).parent / "failures.toml").read_text(encoding="utf-8"))


class FailureKind(enum.StrEnum):
    """Why a problem was not solved. If several kinds apply, the first in this order is the primary one."""

    ERROR = "error"
    MEMORY = "memory"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    EXHAUSTED = "exhausted"
    NEVER_BETTER = "never better"
    REGRESSED = "regressed"
    PLATEAU = "plateau"
    TIE_LOST = "tie lost"
    OFF_EXPERT = "off the expert"
    HORIZON = "horizon"

    @property
    def words(self) -> str:
        """What happened."""
        return str(_TEXTS[self]["words"])

    @property
    def definition(self) -> str:
        """When the kind applies, and which step it names."""
        return str(_TEXTS[self]["definition"]).format(long=LONG)


_KINDS = {
    Outcome.HORIZON: FailureKind.HORIZON,
    Outcome.STUCK: FailureKind.EXHAUSTED,
    Outcome.REFUSED: FailureKind.REFUSED,
    Outcome.TIMEOUT: FailureKind.TIMEOUT,
    Outcome.MEMORY: FailureKind.MEMORY,
}


@dataclass(frozen=True)
class Finding:
    """A kind of failure and its step, from 1; the end is one past the last step."""

    kind: FailureKind
    step: int


@dataclass(frozen=True)
class Failure:
    """The findings on a rollout, the primary one first, and the number of open goals in every state [steps + 1]."""

    findings: tuple[Finding, ...]
    open_goals: tuple[int, ...]

    @property
    def primary(self) -> Finding:
        """The primary finding."""
        return self.findings[0]

    @property
    def kinds(self) -> tuple[FailureKind, ...]:
        """All kinds that apply, the primary one first."""
        return tuple(finding.kind for finding in self.findings)


def kind_of_outcome(outcome: str) -> FailureKind | None:
    """The kind of failure of an outcome, None for a solved problem; unknown outcomes are errors."""
    if outcome == Outcome.SOLVED:
        return None
    return _KINDS[Outcome(outcome)] if outcome in list(Outcome) else FailureKind.ERROR


def failure_of(recorded: Recorded) -> Failure | None:
    """The failure of a rollout, or None if it solved the problem."""
    with recorded.reading():
        ended = kind_of_outcome(recorded.head["outcome"])
        if ended is None:
            return None
        progress = tuple(map(len, recorded.open_goals))
        found = {ended: len(recorded.steps) + 1, **dict(_of_progress(progress)), **dict(_of_decisions(recorded))}
    return Failure(tuple(Finding(kind, found[kind]) for kind in FailureKind if kind in found), progress)


def _of_progress(counts: Sequence[int]) -> Iterator[tuple[FailureKind, int]]:
    """The kinds that follow from the numbers of open goals."""
    last, best = len(counts) - 1, min(counts)
    if last == 0:
        return
    if best == counts[0]:
        yield FailureKind.NEVER_BETTER, 1
        return
    first = counts.index(best)
    left = last - counts[::-1].index(best)
    if last - left >= LONG:
        yield FailureKind.REGRESSED, left + 1
    elif last - first >= LONG:
        yield FailureKind.PLATEAU, first + 1


def _of_decisions(recorded: Recorded) -> Iterator[tuple[FailureKind, int]]:
    """The first step that leaves the expert's plan, and the first tie that was lost."""
    with_expert, lost = bool(recorded.head.get("expert")), False
    for number, step, plan, follows in _beside_expert(recorded):
        if not lost and _lost_tie(recorded, number, step, plan):
            yield FailureKind.TIE_LOST, number
            lost = True
        if with_expert and not follows:
            yield FailureKind.OFF_EXPERT, number
            with_expert = False


def _beside_expert(recorded: Recorded) -> Iterator[tuple[int, Mapping[str, Any], list[str], bool]]:
    """Each step with the rest of the expert's plan (empty once it was left), and whether the choice follows it."""
    plan = [str(action).strip() for action in recorded.head.get("expert") or ()]
    for number, step in enumerate(recorded.steps, start=1):
        actions = step["candidates"][step["chosen"]]["actions"]
        follows = actions == plan[: len(actions)]
        yield number, step, plan, follows
        plan = plan[len(actions) :] if follows else []


def _lost_tie(recorded: Recorded, number: int, step: Mapping[str, Any], plan: Sequence[str]) -> bool:
    """Whether an available candidate, tied with the chosen one, is the expert's or leaves fewer goals open."""
    candidates, place = step["candidates"], step["chosen"]
    experts = [bool(plan) and each["actions"] == plan[: len(each["actions"])] for each in candidates]
    if Mark.TIED not in marks_in(candidates[place]) or experts[place]:
        return False
    tied = [other for other, each in enumerate(candidates) if other != place and marks_in(each).contends]
    if any(experts[other] for other in tied):
        return True
    now = recorded.open_goals[number - 1]
    left = [len(recorded.open_after(now, candidates[other])) for other in (place, *tied)]
    return min(left) < left[0]


class Remark(NamedTuple):
    """A sentence on a rollout, and its evidence: the steps that it counts, from 1, or the end."""

    sentence: str
    steps: tuple[int, ...]


def diagnosis(recorded: Recorded) -> tuple[Remark, ...]:
    """Findings on a rollout, the most informative first; errors as of `failure_of`."""
    with recorded.reading():
        return tuple(_remarks(recorded))


def _remarks(recorded: Recorded) -> Iterator[Remark]:
    reason, at_limit = recorded.head.get("reason"), recorded.head["outcome"] == Outcome.HORIZON
    end = [Remark(f"Reason of the end: {reason}", (len(recorded.steps) + 1,))] if reason else []
    if not at_limit:
        yield from end
    if recorded.steps:
        of_ranks = (_idle, _shut, _ties) if _is_ranked(recorded) else ()
        for remarks in (*of_ranks, _circles, _goals, _off):
            yield from remarks(recorded)
    if at_limit:  # which limit was reached explains less than what was chosen
        yield from end


def _is_ranked(recorded: Recorded) -> bool:
    """Whether the costs of candidates come from a model."""
    return recorded.about.method != RANDOM


def _idle(recorded: Recorded) -> Iterator[Remark]:
    """Steps on which an action that changes nothing ranks first."""
    found, taken = dict[int, str](), list[int]()
    for number, step in enumerate(recorded.steps, start=1):
        least = min(map(cost_of, step["candidates"]))
        cheapest = (each for each in step["candidates"] if cost_of(each) <= least + tie_margin(least))
        still = [each for each in cheapest if not each["add"] and not each["delete"]]
        if still and math.isfinite(least):
            found[number] = still[0]["actions"][-1]
            if step["candidates"][step["chosen"]] in still:
                taken.append(number)
    if found:
        (common, _), *_ = Counter(found.values()).most_common(1)
        example = words_of(recorded.domain).sentence(Action(*atom_of(common)))
        what = f"an action that changes nothing ranks first, such as '{example}'"
        choice = f"it is chosen on {len(taken)} of them" if taken else "it is never chosen"
        yield Remark(f"On {_of(found, recorded)} {what}; {choice}", tuple(found))


def _circles(recorded: Recorded) -> Iterator[Remark]:
    """Steps that lead back to a visited state."""
    met, back = set[Any](), list[int]()
    for place, state in enumerate(recorded.states()):
        if state in met:
            back.append(place)
        met.add(state)
    if back:
        yield Remark(f"{_of(back, recorded, 'steps lead', 'step leads')} back to a visited state", tuple(back))


def _shut(recorded: Recorded) -> Iterator[Remark]:
    """Steps on which all better-ranked successors, at least one besides the current state, had been visited."""
    found, ranks = list[int](), list[int]()
    for number, step in enumerate(recorded.steps, start=1):
        chosen = step["candidates"][step["chosen"]]
        before = [each for each in step["candidates"] if cost_of(each) < cost_of(chosen) - tie_margin(cost_of(chosen))]
        changing = [each for each in before if each["add"] or each["delete"]]
        if changing and all("visited" in each["marks"] for each in before):
            found.append(number)
            ranks.append(len(before) + 1)
    if found:
        what = "all better-ranked successors had been visited, not only the current state"
        what += f"; the median rank of the chosen one was {median(ranks):g}"
        yield Remark(f"On {_of(found, recorded)} {what}", tuple(found))


def _ties(recorded: Recorded) -> Iterator[Remark]:
    """Steps on which the first of several available candidates of the lowest cost was chosen."""
    found = dict[int, int]()
    for number, step in enumerate(recorded.steps, start=1):
        cheapest = [place for place, each in enumerate(step["candidates"]) if marks_in(each).contends]
        if len(cheapest) > 1 and step["chosen"] == cheapest[0]:
            found[number] = len(cheapest)
    if found:
        most = max(found.values())
        many = "two" if most == 2 else f"2 to {most}"
        what = f"{many} unvisited candidates that the model can tell apart had the lowest cost"
        yield Remark(f"On {_of(found, recorded)} {what}, and the first {_ORDER} was chosen", tuple(found))


def _goals(recorded: Recorded) -> Iterator[Remark]:
    """Goals that were lost, never satisfied, or satisfied only for a time."""
    words, goals, course = words_of(recorded.domain), recorded.problem.goal, recorded.open_goals
    given_up = {number: then - now for number, (now, then) in enumerate(pairwise(course), start=1) if then - now}
    if given_up:
        lost = Counter(place for places in given_up.values() for place in places)
        (place, times), *_ = lost.most_common(1)
        undone = f"'{words.sentence(goals[place])}'"
        which = f": {undone}" if len(given_up) == 1 else f", such as {undone}"
        which = f", most often {undone} ({times} times)" if times > 1 else which
        what = f"a satisfied goal was undone{which}"
        yield Remark(f"On {_of(given_up, recorded)} {what}", tuple(given_up))
    never = sorted(frozenset.intersection(*course))
    if never:
        some = ", ".join(f"'{words.sentence(goals[place])}'" for place in never[:3])
        which = f", such as {some}" if len(never) > 3 else f": {some}"
        verb = "was" if len(never) == 1 else "were"
        yield Remark(f"{len(never)} of {len(goals)} goals {verb} never satisfied{which}", (len(recorded.steps) + 1,))
    counts = [len(each) for each in course]
    best, last = counts.index(min(counts)), len(counts) - 1 - counts[::-1].index(min(counts))
    if 0 < best < len(counts) - 1 and counts[-1] > counts[best]:
        when = f"after step {best}" if best == last else f"first after step {best}, last after step {last}"
        yield Remark(
            f"The fewest open goals are {counts[best]} of {len(goals)}, {when}; at the end {counts[-1]} are open",
            (best,),
        )


def _off(recorded: Recorded) -> Iterator[Remark]:
    """Where it leaves the expert's plan, and how the model ranks the expert's action there."""
    for number, rank, expert, step in _first_departure(recorded):
        what = "the expert's action is not among the candidates"
        if expert is not None and not _is_ranked(recorded):
            what = "its actions are random"
        elif expert is not None:
            cost, chosen = cost_of(expert), cost_of(step["candidates"][step["chosen"]])
            what = f"the expert's action has rank {rank} of {len(step['candidates'])} there"
            visited = "its state had been visited"
            why = visited if "visited" in expert["marks"] else "the final path of the beam does not contain it"
            if cost < math.inf and abs(cost - chosen) <= tie_margin(cost):
                what = _tied_with_expert(step, expert, why)
            elif cost < chosen:
                what += f"; it costs less than the chosen one, but {why}"
        yield Remark(f"The rollout leaves the expert's plan at step {number}; {what}", (number,))


def _tied_with_expert(step: Mapping[str, Any], expert: Mapping[str, Any], why: str) -> str:
    """Why a candidate was chosen that costs as much as the expert's; `why` is the reason if it is not their order."""
    candidates, place = step["candidates"], step["chosen"]
    equivalent = expert.get("key") is not None and expert["key"] == candidates[place].get("key")
    what = "the expert's action costs as much as the chosen one"
    what = "the model cannot tell the expert's action from the chosen one" if equivalent else what
    if place < candidates.index(expert) and (equivalent or marks_in(expert).open_to_choice):
        return f"{what}, which comes first {_ORDER}"
    return what if equivalent else f"{what}, but {why}"


def _first_departure(
    recorded: Recorded,
) -> Iterator[tuple[int, int, Mapping[str, Any] | None, Mapping[str, Any]]]:
    """The step that leaves the expert's plan, if one does, with rank and candidate of the expert's action there."""
    for number, step, plan, follows in _beside_expert(recorded):
        if not plan:
            return
        if not follows:
            theirs = [each for each in step["candidates"] if each["actions"] == plan[: len(each["actions"])]]
            expert = min(theirs, key=cost_of, default=None)
            better = [each for each in step["candidates"] if expert is not None and cost_of(each) < cost_of(expert)]
            yield number, 1 + len(better), expert, step
            return


def headline(recorded: Recorded, failure: Failure) -> Finding | Remark:
    """What explains a failure best: an expert's action that is ranked in the worse half, else the primary finding."""
    with recorded.reading():
        for number, rank, expert, step in _first_departure(recorded):
            if _is_ranked(recorded) and expert is not None and 2 * rank > len(step["candidates"]) > 3:
                return Remark(f"the expert's action has rank {rank} of {len(step['candidates'])}", (number,))
    return failure.primary


def _of(steps: Sequence[int] | Mapping[int, Any], recorded: Recorded, many: str = "steps", one: str = "step") -> str:
    """A number of steps of all, in words."""
    count = len(recorded.steps)
    return f"{len(steps)} of {count} {one if count == 1 else many}"
