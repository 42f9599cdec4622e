"""Branches of a rollout: what was forced, how each ended, and a drawing of their tree to compare them by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from sgp import drawing
from sgp.errors import InputError

_ROW, _LINE = 30, 18  # heights of a row, and of each further line of words in it
_HEAD, _LEFT, _LINES = 26, 16, 380  # the heading's height, and where the lines of steps begin and how long they are
_COLUMNS = ((416, "start", "forced"), (846, "start", "outcome"), (1010, "end", "actions"), (1090, "end", "open"))
_WIDTH = 1110
_NAME = 56  # characters of a forced action or jump that a line has room for
_SOLVED, _UNSOLVED = "#0072b2", "#d55e00"  # Okabe and Ito's blue and vermillion; symbols say the same


class Choice(NamedTuple):
    """A forced choice: the step and the candidate's rank in it, both from 1."""

    step: int
    rank: int


class Branch(tuple[Choice, ...]):
    """The choices that were forced, in order of their steps; without any it is the rollout itself.

    Written as in an address: `5-2_9-3` forces the candidate of rank 2 at step 5, then that of rank 3 at step 9.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Branch:
        """The branch that a text stands for. Raises InputError for other text."""
        if not text:
            return cls()
        if not re.fullmatch(r"[1-9]\d{0,4}-[1-9]\d{0,5}(_[1-9]\d{0,4}-[1-9]\d{0,5}){0,30}", text):
            raise InputError(
                f"'{text[:40]}' is no branch; expected step and rank of each forced choice, such as 5-2_9-3"
            )
        branch = cls(Choice(*map(int, part.split("-"))) for part in text.split("_"))
        if any(one.step >= two.step for one, two in pairwise(branch)):
            raise InputError(f"the steps of branch '{text[:40]}' do not grow; expected such as 5-2_9-3")
        return branch

    def __str__(self) -> str:
        return "_".join(f"{choice.step}-{choice.rank}" for choice in self)

    @property
    def parent(self) -> Branch:
        """The branch that it leaves; the rollout itself is its own."""
        return Branch(self[:-1])

    def then(self, step: int, rank: int) -> Branch:
        """The branch that leaves this one at a step: choices forced from that step on are given up."""
        return Branch((*(choice for choice in self if choice.step < step), Choice(step, rank)))


@dataclass(frozen=True)
class Compared:
    """What branches are compared by: decisions, actions, goals open at the end, and how it ended."""

    branch: Branch
    forced: str
    outcome: str
    steps: int
    actions: int
    open: int

    @property
    def solved(self) -> bool:
        """Whether it reaches the goal."""
        return self.outcome == "solved"


def compared(branch: Branch, data: Mapping[str, Any]) -> Compared:
    """What a branch is compared by, from the player's data of it."""
    forced = "the rollout itself"
    if branch:
        step = data["steps"][branch[-1].step - 1]
        actions = [data["actions"][number] for number in step["candidates"][step["chosen"]]["actions"]]
        forced = f"step {branch[-1].step}: {' '.join(actions)}"
    return Compared(branch, forced, data["outcome"], len(data["steps"]), data["length"], data["frames"][-1]["open"])


def draw_branches(lines: Sequence[Compared], shown: Branch) -> str:
    """The tree as SVG, a row for each branch below the one it leaves; `data-branch` tells which row is which."""
    rows = sorted(lines, key=lambda line: line.branch)
    said = {line.branch: _wrapped(line.forced) for line in rows}
    high = [_ROW + _LINE * (len(said[line.branch]) - 1) for line in rows]
    tops = list(accumulate(high, initial=_HEAD))
    place = {line.branch: top + _ROW / 2 for line, top in zip(rows, tops, strict=False)}
    longest = max((line.steps for line in rows), default=0) or 1
    height = tops[-1] + 4

    def across(step: int) -> float:
        return _LEFT + _LINES * step / longest

    heads = [drawing.text(f"decisions, 0 to {longest}", _LEFT, 16, fill_opacity=0.7)]
    heads += [drawing.text(word, x, 16, text_anchor=anchor, fill_opacity=0.7) for x, anchor, word in _COLUMNS]
    parts = []
    for line, tall in zip(rows, high, strict=True):
        middle = place[line.branch]
        start = line.branch[-1].step - 1 if line.branch else 0
        colour = _SOLVED if line.solved else _UNSOLVED
        words = f"{line.forced}: {line.outcome}, {line.actions} actions, {line.open} goals open"
        row = [
            drawing.rect(
                4, middle - _ROW / 2 + 1, _WIDTH - 8, tall - 2, rx=6,
                fill="currentColor", fill_opacity=0.12 if line.branch == shown else 0, class_="row",
            )
        ]  # fmt: skip
        if line.branch and line.branch.parent in place:
            above = place[line.branch.parent]
            row.append(drawing.line(across(start), above, across(start), middle, stroke=colour, stroke_width=2))
        row.append(drawing.line(across(start), middle, across(line.steps), middle, stroke=colour, stroke_width=4))
        row.append(drawing.circle(across(start), middle, 4, fill=colour))
        sign = "M-5 0l4 5 7-10" if line.solved else "M-5-5l10 10M5-5l-10 10"
        row.append(
            drawing.path(
                sign, transform=f"translate({across(line.steps):.1f} {middle})", fill="none", stroke=colour,
                stroke_width=3,
            )
        )  # fmt: skip
        first, *more = said[line.branch]
        cells = (first, ("✔ " if line.solved else "✕ ") + _cut(line.outcome), line.actions, line.open)
        bold = 700 if line.branch == shown else 400
        row += [
            drawing.text(str(cell), x, middle + 5, text_anchor=anchor, font_weight=bold)
            for (x, anchor, _), cell in zip(_COLUMNS, cells, strict=True)
        ]
        row += [
            drawing.text(words_, _COLUMNS[0][0], middle + 5 + _LINE * below, font_weight=bold)
            for below, words_ in enumerate(more, start=1)
        ]
        parts.append(
            drawing.group(
                words, row, data_branch=str(line.branch), role="button", tabindex=0, aria_label=words,
                aria_pressed=str(line.branch == shown).lower(), style="cursor:pointer",
            )
        )  # fmt: skip
    title = f"{len(rows)} branches; choose a row to show it"
    return drawing.picture(_WIDTH, height, [*heads, *parts], title, style="width:100%;height:auto;fill:currentColor")


def forcing_words(found: Mapping[str, Any]) -> str:
    """What a search for the least number of forced choices tried and found, exactly, in sentences."""
    counts = [
        f"{count} with {number} forced choice{'s' if number > 1 else ''}"
        + ("" if number in found["complete"] else " (not all)")
        for number, count in enumerate(found["tried"], start=1)
    ]
    tried = (
        f"Tried, each planned to its end: {', '.join(counts)}; candidates up to the {_ordinal(found['ranks'])} best "
        f"open one of every step, the second best of all steps first; {found['seconds']:.1f} s."
    )
    if found["choices"] is None:
        over = len(found["complete"]) == found["most"]
        why = f"at most {found['most']} were to be forced" if over else "the time was up"
        return f"No solution found: {why}. {tried}"
    count = len(found["choices"])
    listed = ", then ".join(f"rank {rank} at step {step}" for step, rank in found["choices"])
    least = "the least there is" if count == 1 or found["proved"] else "perhaps not the least"
    return f"Solved with {count} forced choice{'s' if count > 1 else ''} ({least} among these): {listed}. {tried}"


@cache
def branch_script() -> str:
    """The JavaScript of the tree's rows, an ES module for Streamlit's components v2."""
    return (Path(__file__).parent / "branches.js").read_text(encoding="utf-8")


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def _wrapped(words: str) -> list[str]:
    """Words in lines that a row has room for; an action stays whole as long as it fits."""
    whole = re.sub(r"\([^)]*\)", lambda action: action[0].replace(" ", "\N{NO-BREAK SPACE}"), words)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrap(whole, _NAME, break_on_hyphens=False)]


def _cut(words: str, most: int = 18) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
