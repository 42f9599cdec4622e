"""What went wrong in a recorded rollout that does not solve its problem, and at which step."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgp.errors import StoreError
from sgp.planning.recorded import Recorded, contends
from sgp.planning.rollout import Mark, Outcome, marks_of

LONG = 10
"""Steps without a new least number of open goals that make a plateau, or that make a loss final."""


class FailureKind(enum.StrEnum):
    """Why a problem was not solved. Where several kinds apply, the first in this order is the primary one."""

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
    def definition(self) -> str:
        """When the kind applies, and which step it names."""
        return _DEFINITIONS[self]

    @property
    def words(self) -> str:
        """What happened, for who does not know the kinds."""
        return _WORDS[self]


_DEFINITIONS = {
    FailureKind.ERROR: "the attempt crashed; the step is the end",
    FailureKind.MEMORY: "the limit on memory was reached; the step is the end",
    FailureKind.TIMEOUT: "the limit on seconds was reached; the step is the end",
    FailureKind.REFUSED: "the model cannot represent the problem or rejects every candidate; the step is the end",
    FailureKind.EXHAUSTED: "stuck: every successor had been visited before; the step is the end",
    FailureKind.NEVER_BETTER: "no state has fewer open goals than the initial one; the step is the first",
    FailureKind.REGRESSED: f"the last {LONG} states or more all have more open goals than the best one; "
    "the step is the one that leaves the best number for good",
    FailureKind.PLATEAU: f"the best state lies {LONG} steps or more before the end, and its number of open "
    "goals came back since; the step is the one after the best state",
    FailureKind.TIE_LOST: "a tie was decided by the order of the PDDL, and a tied candidate that was passed over is "
    "the expert's, or leaves fewer goals open than the chosen one; the step is the first such",
    FailureKind.OFF_EXPERT: "the actions leave the expert's plan; the step is the first that does. Another order of "
    "the same actions counts as leaving it",
    FailureKind.HORIZON: "the limit on the number of actions or decisions was reached; the step is the end. Primary "
    "only where nothing else is known: the number of open goals was still falling",
}

_WORDS = {
    FailureKind.ERROR: "crashed",
    FailureKind.MEMORY: "ran out of memory",
    FailureKind.TIMEOUT: "ran out of time",
    FailureKind.REFUSED: "would take no action",
    FailureKind.EXHAUSTED: "had nowhere new to go",
    FailureKind.NEVER_BETTER: "never got closer to the goal",
    FailureKind.REGRESSED: "got closer, then further away for good",
    FailureKind.PLATEAU: "stopped getting closer",
    FailureKind.TIE_LOST: "lost a tie",
    FailureKind.OFF_EXPERT: "left the expert's plan",
    FailureKind.HORIZON: "ran out of steps",
}

_KINDS = {
    Outcome.HORIZON: FailureKind.HORIZON,
    Outcome.STUCK: FailureKind.EXHAUSTED,
    Outcome.REFUSED: FailureKind.REFUSED,
    Outcome.TIMEOUT: FailureKind.TIMEOUT,
    Outcome.MEMORY: FailureKind.MEMORY,
}


@dataclass(frozen=True)
class Finding:
    """A kind of failure and the step where it shows, counted from 1 as in the player; the end is one past the last."""

    kind: FailureKind
    step: int


@dataclass(frozen=True)
class Failure:
    """What is wrong with a rollout: findings, the primary one first, and the open goals of every state [steps + 1]."""

    findings: tuple[Finding, ...]
    open_goals: tuple[int, ...]

    @property
    def primary(self) -> Finding:
        """The finding that counts."""
        return self.findings[0]

    @property
    def kinds(self) -> tuple[FailureKind, ...]:
        """All kinds that apply, the primary one first."""
        return tuple(finding.kind for finding in self.findings)


def kind_of_outcome(outcome: str) -> FailureKind | None:
    """The kind of failure that an outcome alone tells, None for a solved problem; what is no outcome is an error."""
    if outcome == Outcome.SOLVED:
        return None
    return _KINDS[Outcome(outcome)] if outcome in list(Outcome) else FailureKind.ERROR


def failure_of(recorded: Recorded) -> Failure | None:
    """What went wrong, or None where the problem was solved. Needs no planning library.

    The head's `expert`, where there is one, is the expert's plan as a list of action texts. A living rollout is
    classified through its records (`sgp.planning.recording.records`). Raises StoreError for a damaged record, and
    PddlError or PlanError where its problem or its atoms cannot be read.
    """
    try:
        ended = kind_of_outcome(recorded.head["outcome"])
        if ended is None:
            return None
        progress = tuple(map(len, recorded.open_goals))
        found = {ended: len(recorded.steps) + 1, **dict(_of_progress(progress)), **dict(_of_decisions(recorded))}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{recorded.place}: not a record of a rollout ({error!r}); record the rollout again"
        ) from error
    return Failure(tuple(Finding(kind, found[kind]) for kind in FailureKind if kind in found), progress)


def _of_progress(counts: Sequence[int]) -> Iterator[tuple[FailureKind, int]]:
    """What the numbers of open goals tell."""
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
    """What single decisions tell: the first that leaves the expert's plan, and the first tie that was lost."""
    plan = [str(action).strip() for action in recorded.head.get("expert") or ()]
    with_expert = bool(plan)
    lost = False
    for number, step in enumerate(recorded.steps, start=1):
        chosen = step["candidates"][step["chosen"]]
        if not lost and _lost_tie(recorded, number, step, plan):
            yield FailureKind.TIE_LOST, number
            lost = True
        if with_expert and chosen["actions"] != plan[: len(chosen["actions"])]:
            yield FailureKind.OFF_EXPERT, number
            with_expert, plan = False, []
        plan = plan[len(chosen["actions"]) :]


def _lost_tie(recorded: Recorded, number: int, step: Mapping[str, Any], plan: Sequence[str]) -> bool:
    """Whether a candidate that was tied with the chosen one and open is the expert's or leaves fewer goals open."""
    candidates, place = step["candidates"], step["chosen"]
    experts = [bool(plan) and each["actions"] == plan[: len(each["actions"])] for each in candidates]
    if Mark.TIED not in marks_of(tuple(candidates[place]["marks"])) or experts[place]:
        return False
    tied = [other for other, each in enumerate(candidates) if other != place and contends(each)]
    if any(experts[other] for other in tied):
        return True
    left = [recorded.open_after(number, candidates[other]) for other in (place, *tied)]
    return any(each < left[0] for each in left[1:])
