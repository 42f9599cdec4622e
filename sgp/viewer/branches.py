"""Branches of a rollout: action overrides, and the data of the tree by which branches are compared (branches.js)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from sgp.errors import InputError


class Override(NamedTuple):
    """An action override: the step and the rank of the candidate taken there, both from 1."""

    step: int
    rank: int


class Branch(tuple[Override, ...]):
    """The overrides of a branch in order of their steps; the original rollout has none.

    Written as in an address: `5-2_9-3` takes the candidate of rank 2 at step 5, then that of rank 3 at step 9.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Branch:
        """Parse a branch. Raises InputError."""
        if not text:
            return cls()
        branch = cls()
        if re.fullmatch(r"[1-9]\d{0,4}-[1-9]\d{0,5}(_[1-9]\d{0,4}-[1-9]\d{0,5}){0,30}", text):
            branch = cls(Override(*map(int, part.split("-"))) for part in text.split("_"))
        if not branch or any(one.step >= two.step for one, two in pairwise(branch)):
            raise InputError(
                f"'{text[:40]}' is not a branch; expected increasing steps, each with a rank, such as 5-2_9-3"
            )
        return branch

    def __str__(self) -> str:
        return "_".join(f"{each.step}-{each.rank}" for each in self)

    @property
    def parent(self) -> Branch:
        """The branch without its last override; the original rollout is its own parent."""
        return Branch(self[:-1])

    def then(self, step: int, rank: int) -> Branch:
        """The branch with an override at a step instead of those from that step on."""
        return Branch((*(each for each in self if each.step < step), Override(step, rank)))


def branch_rows(rollouts: Mapping[Branch, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row of the tree for each branch below its parent, from the player's data of the branches."""
    return [_row(branch, rollouts[branch]) for branch in sorted(rollouts)]


def _row(branch: Branch, data: Mapping[str, Any]) -> dict[str, Any]:
    words = "original rollout"
    if branch:
        step = data["steps"][branch[-1].step - 1]
        actions = [data["actions"][number] for number in step["candidates"][step["chosen"]]["actions"]]
        words = f"step {branch[-1].step}: {' '.join(actions)}"
    return {
        "branch": str(branch),
        "parent": str(branch.parent) if branch else None,
        "start": branch[-1].step - 1 if branch else 0,
        "words": words,
        "outcome": data["outcome"],
        "steps": len(data["steps"]),
        "actions": data["length"],
        "open": data["frames"][-1]["open"],
    }


def override_words(search: Mapping[str, Any]) -> str:
    """The result of a search for the fewest overrides (the job `override`), in sentences."""
    counts = " and ".join(
        f"{count} rollouts with {_overrides(number)}{'' if number in search['complete'] else ' (not all)'}"
        for number, count in enumerate(search["counts"], start=1)
    )
    ordinal = {2: "second", 3: "third"}.get(search["ranks"], f"{search['ranks']}th")
    planned = (
        f"Planned in {search['seconds']:.1f} s: {counts}; at each step the unvisited candidates up to the "
        f"{ordinal} best, the second best of all steps first."
    )
    if search["overrides"] is None:
        over = len(search["complete"]) == search["most"]
        why = f"no {_overrides(search['most'])} or fewer solve it" if over else "the time limit was reached"
        return f"No solution found: {why}. {planned}"
    count = len(search["overrides"])
    steps = ", then ".join(f"rank {rank} at step {step}" for step, rank in search["overrides"])
    fewest = "the fewest" if count == 1 or search["proved"] else "perhaps not the fewest"
    return f"Solved with {_overrides(count)} ({fewest} among these candidates): {steps}. {planned}"


def _overrides(number: int) -> str:
    return f"{number} override{'' if number == 1 else 's'}"
