"""How far a policy is from a solution: the least number of its choices that must be overruled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgp.errors import ConfigurationError
from sgp.planning.pddl import Action
from sgp.planning.planner import Limit, Planner, horizon
from sgp.planning.rollout import Rollout, Step
from sgp.planning.task import Task


@dataclass(frozen=True)
class Forcing:
    """What was tried, and what came of it.

    `choices` are the forced ones of the rollout that solved the problem: pairs of a step and the place of the
    candidate in it, both from 0; None where none solved it. `tried` counts continuations by their number of forced
    choices (from 1); a number in `complete` was tried in full: every step, every candidate among the `ranks` best.
    """

    choices: tuple[tuple[int, int], ...] | None
    rollout: Rollout | None
    tried: tuple[int, ...]
    complete: tuple[int, ...]
    ranks: int
    seconds: float

    @property
    def proved(self) -> bool:
        """Whether no smaller number of forced choices among the `ranks` best would do."""
        return self.choices is not None and len(self.complete) >= len(self.choices) - 1


@dataclass(frozen=True)
class _Forced:
    """A rollout, the choices that were forced in it, and from which step on another one may be."""

    rollout: Rollout
    choices: tuple[tuple[int, int], ...]
    free: int


def least_forcing(
    planner: Planner,
    task: Task,
    rollout: Rollout,
    seconds: float,
    free: int = 0,
    ranks: int = 3,
    most: int = 2,
    watch: Callable[[Sequence[int]], None] | None = None,
) -> Forcing:
    """Tries one forced choice, then two, up to `most`, until one solves the problem or the processor's seconds are up.

    At every step of the rollout from `free` on, the open candidates next to the chosen one are tried, up to `ranks` by
    cost, the chosen one counted: first the second best of every step, then the third. Of several forced choices, a
    later one is tried on the continuation of the earlier ones. `watch` hears the counts of what was tried.
    """
    if rollout.solved:
        raise ConfigurationError(f"the rollout of {task.name} is solved; only an unsolved one can be forced")
    planner = replace(planner, keep="steps")  # what was not chosen is tried next
    started = time.process_time()
    level = [_Forced(rollout, (), free)]
    tried: list[int] = []
    complete: list[int] = []
    for number in range(1, most + 1):
        tried.append(0)
        found: list[_Forced] = []
        for before, step, place in _alternatives(level, ranks):
            left = seconds - (time.process_time() - started)
            if left <= 0:
                return Forcing(None, None, tuple(tried), tuple(complete), ranks, time.process_time() - started)
            jumps = (*_jumps(before.rollout, step), before.rollout.steps[step].candidates[place].actions)
            after = planner.resume(task, jumps, Limit(horizon(task.size), left, processor=True))
            tried[-1] += 1
            if watch is not None:
                watch(tried)
            choices = (*before.choices, (step, place))
            if after.solved:
                spent = time.process_time() - started
                return Forcing(choices, after, tuple(tried), tuple(complete), ranks, spent)
            found.append(_Forced(after, choices, step + 1))
        complete.append(number)
        level = found
    return Forcing(None, None, tuple(tried), tuple(complete), ranks, time.process_time() - started)


def _alternatives(level: Sequence[_Forced], ranks: int) -> Iterator[tuple[_Forced, int, int]]:
    """What to force next: the second best of every step of every rollout, then the third, and so on."""
    for rank in range(1, ranks):
        for forced in level:
            for step in range(forced.free, len(forced.rollout.steps)):
                others = open_alternatives(forced.rollout.steps[step])
                if rank <= len(others):
                    yield forced, step, others[rank - 1]


def open_alternatives(step: Step) -> list[int]:
    """The places of the candidates that the planner could have taken instead, cheapest first."""
    possible = step.open_to_choice & np.isfinite(step.costs)
    possible[step.chosen] = False
    return [place for place in np.argsort(step.costs, kind="stable").tolist() if possible[place]]


def _jumps(rollout: Rollout, steps: int) -> tuple[tuple[Action, ...], ...]:
    return tuple(step.successor.actions for step in rollout.steps[:steps])
