"""What went wrong in a recorded rollout that does not solve its problem, and at which step."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgp.errors import StoreError
from sgp.planning.pddl import read_problem
from sgp.planning.recorded import Recorded
from sgp.planning.rollout import Mark, Outcome

LONG = 10
"""Steps without a new least number of open goals that make a plateau, or that make a loss final."""

_SHUT = frozenset(mark.name.lower() for mark in (Mark.VISITED, Mark.COLLAPSED, Mark.REJECTED) if mark.name)


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
    FailureKind.HORIZON: "the limit on the number of actions was reached; the step is the end. Primary only where "
    "nothing else is known: the number of open goals was still falling",
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
    PddlError where its problem cannot be read.
    """
    try:
        ended = kind_of_outcome(recorded.head["outcome"])
        if ended is None:
            return None
        progress = open_goals(recorded)
        found = {ended: len(recorded.steps) + 1, **dict(_of_progress(progress)), **dict(_of_decisions(recorded))}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{recorded.place}: not a record of a rollout ({error!r}); record the rollout again"
        ) from error
    return Failure(tuple(Finding(kind, found[kind]) for kind in FailureKind if kind in found), tuple(progress))


def open_goals(recorded: Recorded) -> list[int]:
    """The number of open goal literals in every state of a rollout [steps + 1]."""
    wanted = _wanted(recorded)
    counts = [sum((atom in set(recorded.head["initial"])) != positive for atom, positive in wanted.items())]
    for step in recorded.steps:
        counts.append(counts[-1] + _opened(wanted, step["candidates"][step["chosen"]]))
    return counts


def _wanted(recorded: Recorded) -> dict[str, bool]:
    """The goal's atoms as texts, with their signs."""
    goal = read_problem(recorded.head["problem_pddl"], f"{recorded.place}, problem_pddl").goal
    return {str(literal.atom): literal.positive for literal in goal}


def _opened(wanted: Mapping[str, bool], candidate: Mapping[str, Any]) -> int:
    """How many goals a candidate opens, less those that it satisfies."""
    satisfied = [wanted[atom] for atom in candidate["add"] if atom in wanted]
    satisfied += [not wanted[atom] for atom in candidate["delete"] if atom in wanted]
    return sum(-1 if each else 1 for each in satisfied)


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
    wanted = _wanted(recorded)
    plan = [str(action).strip() for action in recorded.head.get("expert") or ()]
    with_expert = bool(plan)
    lost = False
    for number, step in enumerate(recorded.steps, start=1):
        chosen = step["candidates"][step["chosen"]]
        if not lost and _lost_tie(step["candidates"], chosen, wanted, plan):
            yield FailureKind.TIE_LOST, number
            lost = True
        if with_expert and chosen["actions"] != plan[: len(chosen["actions"])]:
            yield FailureKind.OFF_EXPERT, number
            with_expert, plan = False, []
        plan = plan[len(chosen["actions"]) :]


def _lost_tie(
    candidates: Iterable[Mapping[str, Any]], chosen: Mapping[str, Any], wanted: Mapping[str, bool], plan: Sequence[str]
) -> bool:
    """Whether a candidate that was tied with the chosen one and open is the expert's or leaves fewer goals open."""
    if "tied" not in chosen["marks"]:
        return False
    others = [
        each
        for each in candidates
        if each is not chosen and "tied" in each["marks"] and _SHUT.isdisjoint(each["marks"])
    ]
    right = bool(plan) and chosen["actions"] == plan[: len(chosen["actions"])]
    return not right and any(
        _opened(wanted, each) < _opened(wanted, chosen) or (plan and each["actions"] == plan[: len(each["actions"])])
        for each in others
    )
