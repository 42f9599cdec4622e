"""Action overrides: the fewest policy choices to replace until a problem is solved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sgp.errors import ConfigurationError
from sgp.planning.planner import Limit, Planner, horizon
from sgp.planning.rollout import Rollout, runners_up
from sgp.planning.task import Task

Override = tuple[int, int]  # step and index of the candidate taken there, both from 0


@dataclass(frozen=True)
class OverrideSearch:
    """The result of a search for the fewest overrides.

    `overrides` and `rollout` solve the problem; they are None if none was found. `counts` has the number of rollouts
    with one override, two, and so on. Each number of overrides in `complete` was searched exhaustively: every step,
    every candidate among the `ranks` best.
    """

    overrides: tuple[Override, ...] | None
    rollout: Rollout | None
    counts: tuple[int, ...]
    complete: tuple[int, ...]
    ranks: int
    seconds: float

    @property
    def proved(self) -> bool:
        """Whether fewer overrides among the `ranks` best cannot solve the problem."""
        return self.overrides is not None and len(self.complete) >= len(self.overrides) - 1


# A rollout with overrides, and the first step at which another override is allowed.
_Node = tuple[Rollout, tuple[Override, ...], int]


def fewest_overrides(
    planner: Planner,
    task: Task,
    rollout: Rollout,
    seconds: float,
    free: int = 0,
    ranks: int = 3,
    most: int = 2,
    watch: Callable[[Sequence[int]], None] | None = None,
) -> OverrideSearch:
    """Search for one override, then two, up to `most`, that solve the problem within `seconds` of CPU time.

    At every step from `free` on, open candidates other than the chosen one are taken, up to `ranks` by cost with the
    chosen one included: first the second best of every step, then the third. A second override is searched on the
    continuation of the first. `watch` receives the counts.
    """
    if rollout.solved:
        raise ConfigurationError(f"the rollout of {task.name} is solved; expected an unsolved one")
    planner = replace(planner, keep="steps")  # the next override needs all candidates of a step
    started = time.process_time()
    counts, complete = list[int](), list[int]()

    def result(overrides: tuple[Override, ...] | None = None, solved: Rollout | None = None) -> OverrideSearch:
        spent = time.process_time() - started
        return OverrideSearch(overrides, solved, tuple(counts), tuple(complete), ranks, spent)

    level: list[_Node] = [(rollout, (), free)]
    for number in range(1, most + 1):
        counts.append(0)
        next_level = list[_Node]()
        for (before, made, _), step, index in _alternatives(level, ranks):
            left = seconds - (time.process_time() - started)
            if left <= 0:
                return result()
            taken = [each.successor.actions for each in before.steps[:step]]
            actions = before.steps[step].candidates[index].actions
            after = planner.resume(task, (*taken, actions), Limit(horizon(task.size), left, processor=True))
            counts[-1] += 1
            if watch is not None:
                watch(counts)
            overrides = (*made, (step, index))
            if after.solved:
                return result(overrides, after)
            next_level.append((after, overrides, step + 1))
        complete.append(number)
        level = next_level
    return result()


def _alternatives(level: Sequence[_Node], ranks: int) -> Iterator[tuple[_Node, int, int]]:
    """Yield alternative candidates: the second best of every step of every rollout, then the third, and so on."""
    for rank in range(1, ranks):
        for node in level:
            rollout, _, free = node
            for step, decision in enumerate(rollout.steps[free:], start=free):
                others = runners_up(decision.costs.tolist(), decision.open_to_choice.tolist(), decision.chosen)
                if rank <= len(others):
                    yield node, step, others[rank - 1]
