"""Rollouts: the candidates of every decision, their costs, and the outcome."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from sgp import drawing
from sgp.planning.pddl import Action, Atom
from sgp.wording import counted

if TYPE_CHECKING:  # scores and recorded rollouts use outcomes and marks without a planning library
    import numpy as np
    from numpy.typing import NDArray

    from sgp.planning.states import State
    from sgp.planning.task import Successor, Task


TIE_RELATIVE = 1e-6  # torch's last bits depend on the batch size (2e-8)
TIE_ABSOLUTE = 1e-9  # for costs around zero


def tie_margin(cost: float, relative: float = TIE_RELATIVE) -> float:
    """Return the distance within which other costs count as equal to a finite cost."""
    return max(relative * abs(cost), TIE_ABSOLUTE)


class Outcome(enum.StrEnum):
    """Outcome of an attempt to solve a problem. A crash is never an outcome."""

    SOLVED = "solved"
    HORIZON = "horizon"  # the limit on actions or decisions was reached
    STUCK = "stuck"  # no unvisited successor, or none from which the goal could be reached
    REFUSED = "refused"  # the policy cannot represent the problem, or rejects all candidates
    TIMEOUT = "timeout"
    MEMORY = "memory"


class Mark(enum.IntFlag):
    """The planner's treatment of a candidate."""

    CHOSEN = 1  # on the reported path
    BEAM = 2  # in the beam
    VISITED = 4  # masked: its state was in the beam before
    COLLAPSED = 8  # an earlier candidate has the same key or state
    GOAL = 16  # satisfies the goal
    REJECTED = 32  # the policy gave it an infinite cost, or it is a detected dead end
    TIED = 64  # its cost is within the tolerance of the cheapest open candidate of its node
    FORCED = 128  # given from outside, at any cost

    @property
    def open_to_choice(self) -> bool:
        """Whether the planner could have chosen a candidate with these marks."""
        return not self & SHUT

    @property
    def contends(self) -> bool:
        """Whether the candidate was open to choice and tied with the cheapest; order breaks such ties."""
        return self.open_to_choice and Mark.TIED in self

    @property
    def words(self) -> list[str]:
        """The names of the marks in records."""
        return [mark.name.lower() for mark in self if mark.name]


SHUT = Mark.VISITED | Mark.COLLAPSED | Mark.REJECTED
"""Marks of candidates that were not open to choice."""


@lru_cache(maxsize=1 << 10)
def marks_of(words: tuple[str, ...]) -> Mark:
    """Parse the names of marks in records. Raises KeyError for an unknown name."""
    return reduce(or_, (Mark[word.upper()] for word in words), Mark(0))


def runners_up(costs: Sequence[float], open_to_choice: Sequence[bool], chosen: int) -> list[int]:
    """Return indices of the open candidates of finite cost other than the chosen one, cheapest first, ties in order."""
    places = [place for place, each in enumerate(open_to_choice) if each and place != chosen]
    return sorted((place for place in places if math.isfinite(costs[place])), key=lambda place: costs[place])


Written = Sequence[tuple[str, float]]  # tokens as text, each with its probability


class BeamNode(NamedTuple):
    """A node that a decision kept in the beam: its predecessor's place in the beam before, actions, path cost."""

    before: int
    actions: tuple[Action, ...]
    cost: float


@dataclass(frozen=True, eq=False)
class Step:
    """One decision: the state, its candidates with costs [n], keys and marks [n], and the choice.

    `written` has the tokens of an action generated for the decision, each with its probability. `beam` has the nodes
    that beam search kept, best first, and `lane` is the place of the chosen one in it.
    """

    state: State
    candidates: Sequence[Successor]
    costs: NDArray[np.float64]
    keys: Sequence[Hashable] | None
    marks: NDArray[np.uint8]
    chosen: int
    note: Mapping[str, Any] = field(default_factory=dict)
    written: Written = ()
    beam: Sequence[BeamNode] = ()
    lane: int = 0

    @property
    def successor(self) -> Successor:
        """The chosen candidate."""
        return self.candidates[self.chosen]

    def alone(self) -> Step:
        """Return a copy with only the chosen candidate, without keys, note and beam."""
        alone, only = [self.successor._replace(parent=None)], [self.chosen]  # indexing by a list copies
        return Step(self.state, alone, self.costs[only], None, self.marks[only], 0, written=self.written)

    @property
    def open_to_choice(self) -> NDArray[np.bool_]:
        """Mask [n] of the candidates that the planner could have chosen."""
        mask: NDArray[np.bool_] = (self.marks & SHUT) == 0
        return mask


@dataclass(frozen=True, eq=False, repr=False)
class Rollout:
    """One attempt at one problem.

    The plan of an unsolved problem is the best path at the end. `seconds` is the time spent on this problem; time of
    batched model calls is divided by candidates. `written` has the last generated tokens if no candidate matched them.
    `decisions` counts those of all rollouts that were tried; by default there is one for each step.
    """

    task: Task
    steps: tuple[Step, ...]
    outcome: Outcome
    seconds: float = 0.0
    reason: str = ""
    written: Written = ()
    decisions: int = -1

    def __post_init__(self) -> None:
        if self.decisions < 0:
            object.__setattr__(self, "decisions", len(self.steps))

    @property
    def solved(self) -> bool:
        """Whether the plan reaches the goal (VAL is the final judge)."""
        return self.outcome is Outcome.SOLVED

    @property
    def plan(self) -> tuple[Action, ...]:
        """The actions of the domain's file, jumps unrolled."""
        return tuple(self.task.original(action) for step in self.steps for action in step.successor.actions)

    @cached_property
    def reduced_plan(self) -> tuple[Action, ...]:
        """The plan without redundant actions (`without_redundant_actions`); `plan` itself of an unsolved problem."""
        from sgp.planning.redundant_actions import without_redundant_actions

        if not self.solved:
            return self.plan
        actions = [action for step in self.steps for action in step.successor.actions]
        return tuple(map(self.task.original, without_redundant_actions(self.task, actions)))

    @property
    def end(self) -> State:
        """The last state."""
        return self.steps[-1].successor.state if self.steps else self.task.init

    def without_notes(self) -> Rollout:
        """Return a copy without the policy's notes, but for reasons in words: the others fill most of a file."""
        shown = [{name: value for name, value in step.note.items() if name == "because"} for step in self.steps]
        steps = (replace(step, note=note) for step, note in zip(self.steps, shown, strict=True))
        return replace(self, steps=tuple(steps))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle states as atoms, because native states belong to their process."""
        places: dict[State, int] = {}
        steps = [_with_states(step, lambda state: places.setdefault(state, len(places))) for step in self.steps]
        atoms = [tuple(map(self.task.fluent, self.task.fluents(state))) for state in places]
        others = self.outcome, self.seconds, self.reason, self.written, self.decisions
        return _restored, (self.task, atoms, steps, *others)

    def __repr__(self) -> str:
        """Return the outcome in one line."""
        reason = f" ({self.reason})" if self.reason else ""
        length = counted(len(self.plan), "action")
        return f"<Rollout of {self.task.name}: {self.outcome}{reason}, {length}, {self.seconds:.2f} s>"

    def _repr_html_(self) -> str:
        words = " ".join(map(str, self.plan[:8])) + (" ..." if len(self.plan) > 8 else "")
        outcome = ": ".join(filter(None, (str(self.outcome), self.reason)))
        rows = {"outcome": outcome, "actions": len(self.plan), "decisions": self.decisions, "plan": words}
        return drawing.facts(f"Rollout of {self.task.name}", {**rows, "seconds": f"{self.seconds:.2f}"})

    __hash__ = None  # type: ignore[assignment]  # equal rollouts may differ in their seconds and notes

    def __eq__(self, other: object) -> bool:
        """Compare problem, outcome and steps: atoms, candidates' actions, costs and marks, not seconds."""
        if not isinstance(other, Rollout):
            return NotImplemented
        return (
            self.task.problem == other.task.problem
            and self.outcome is other.outcome
            and len(self.steps) == len(other.steps)
            and all(_equal(self.task, one, other.task, two) for one, two in zip(self.steps, other.steps, strict=True))
        )


def _restored(task: Task, atoms: Sequence[Sequence[Atom]], steps: Sequence[Step], *others: Any) -> Rollout:
    """Rebuild a rollout whose states are indices into `atoms`."""
    states = list(map(task.state_with, atoms))
    return Rollout(task, tuple(_with_states(step, states.__getitem__) for step in steps), *others)


def _with_states(step: Step, convert: Callable[[Any], Any]) -> Step:
    """Convert the states of a step and of its candidates."""
    candidates = [candidate._replace(state=convert(candidate.state)) for candidate in step.candidates]
    return replace(step, state=convert(step.state), candidates=candidates)


def _equal(task: Task, step: Step, other_task: Task, other: Step) -> bool:
    return (
        step.chosen == other.chosen
        and step.costs.tolist() == other.costs.tolist()
        and step.marks.tolist() == other.marks.tolist()
        and sorted(task.atoms(step.state)) == sorted(other_task.atoms(other.state))
        and [(one.actions, one.parent) for one in step.candidates]
        == [(two.actions, two.parent) for two in other.candidates]
    )
