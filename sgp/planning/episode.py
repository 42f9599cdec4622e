"""One problem, decision by decision."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from sgp.errors import InputError, expected_one_of
from sgp.planning.pddl import Action
from sgp.planning.planner import Limit, Planner, Search, clock_of
from sgp.planning.rollout import Mark, Outcome, Rollout
from sgp.planning.task import Task
from sgp.wording import counted

if TYPE_CHECKING:
    import pandas as pd

_UNLIMITED = Limit(decisions=2**62)
_COLUMNS = ["action", "cost", "node", "visited", "goal", "rejected", "collapsed", "selected"]


class Episode:
    """A planner on one problem, one decision at a time, each by the planner or by the caller.

    It has neither limits nor the planner's fallbacks, such as restarts.

        episode = planner.start(problem)
        while not episode.done:
            print(episode.candidates().head())
            episode.step()
    """

    def __init__(self, planner: Planner, task: Task):
        self.planner, self.task = planner, task
        self._search = Search(0, task, _UNLIMITED, planner.policy)
        self._rank()

    @property
    def done(self) -> bool:
        """Whether the goal is reached, or the search ended without a plan (stuck or refused)."""
        return self._search.outcome is not None

    @property
    def outcome(self) -> Outcome | None:
        """The outcome; None before the end."""
        return self._search.outcome

    @property
    def plan(self) -> Sequence[Action]:
        """The actions of the path of the first beam node."""
        return tuple(map(self.task.original, self._actions()))

    def rollout(self) -> Rollout:
        """Return the decisions made, once the episode is done."""
        if not self.done:
            raise InputError("the episode is not done; call 'step' until it is")
        return self._search.rollout()

    def candidates(self) -> pd.DataFrame:
        """Return the candidates of the next decision, cheapest first.

        Columns: `action` (or the actions of a jump), `cost`, `node` (index in the beam), `visited`, `goal`, `rejected`
        (infinite cost, or a detected dead end), `collapsed` (the model cannot distinguish it from an earlier one), and
        `selected` (the planner's choice: as many candidates as its beam is wide, or one goal state, which ends it).
        """
        import pandas as pd

        pool = self._next.pool
        if self.done or pool is None:
            return pd.DataFrame(columns=_COLUMNS)
        marks, selected_marks = pool.marks, Mark.BEAM | Mark.GOAL
        columns = (
            self._names(),
            pool.costs,
            np.repeat(np.arange(len(pool.nodes)), [len(choice) for choice in pool.choices]),
            (marks & Mark.VISITED) > 0,
            np.concatenate([choice.goals for choice in pool.choices]),
            (marks & Mark.REJECTED) > 0,
            (marks & Mark.COLLAPSED) > 0,
            (marks & selected_marks) > 0,
        )
        frame = pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))
        return frame.sort_values("cost", kind="stable", ignore_index=True)

    def step(self, action: str | Action | None = None) -> None:
        """Make the planner's decision, or take the first candidate with this text in the column `action`.

        An action given by the caller replaces the beam by the resulting node.
        """
        if self.done:
            raise InputError(f"the episode is done ({self.outcome}); start another one")
        if action is None:
            self._search = self._next
        else:
            pool, names = self._next.pool, self._names()
            if pool is None or str(action) not in names:
                raise InputError(f"'{action}' is no candidate; {expected_one_of(names, str(action))}")
            self._search.take(pool, names.index(str(action)))
        self._rank()

    def _rank(self) -> None:
        """Rank the candidates, and make the planner's choice in a copy of the search."""
        self._next = search = copy(self._search)
        if self.done:
            return
        search.visited = set(search.visited)
        with clock_of(_UNLIMITED) as clock:
            self.planner.advance([search], clock)

    def _names(self) -> list[str]:
        """Return the actions of every candidate as text."""
        choices = [] if self._next.pool is None else self._next.pool.choices
        return [" ".join(map(str, candidate.actions)) for choice in choices for candidate in choice]

    def _actions(self) -> list[Action]:
        return [action for step in self._search.beam[0].steps() for action in step.successor.actions]

    def __repr__(self) -> str:
        status = self.outcome or "running"
        return f"<Episode of {self.task.name}: {status}, {counted(len(self._actions()), 'action')}>"
