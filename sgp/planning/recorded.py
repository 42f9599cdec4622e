"""Recorded rollouts as their files hold them, read without a planning library.

`recording` writes the files and replays them; the viewer shows what is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from sgp.errors import StoreError
from sgp.files import parse_json
from sgp.planning.pddl import Atom, DomainText, ProblemText, parse_plan, read_both
from sgp.planning.rollout import Mark, marks_of
from sgp.planning.subject import Subject, read_subject

FORMAT = 1


class Standing(NamedTuple):
    """How a candidate stands in its step: its marks, and how many goals are open in its state."""

    marks: Mark
    open_goals: int

    @property
    def contends(self) -> bool:
        """Whether it was open to choice and tied with the cheapest; among several their order decided."""
        return self.marks.open_to_choice and Mark.TIED in self.marks


@dataclass(frozen=True)
class Recorded:
    """One rollout of a file: its head, on line `line` (from 1), and one record for every step.

    What is derived from a damaged record raises KeyError, TypeError, ValueError, IndexError or AttributeError,
    PddlError or PlanError for a text that cannot be read.
    """

    source: str
    line: int
    head: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.source}, line {self.line}"

    @property
    def chosen(self) -> str:
        """A hash of the problem and of what was chosen, by which a map knows the rollout that it was made for."""
        chosen = [step["candidates"][step["chosen"]]["actions"] for step in self.steps]
        return sha256(json.dumps([self.head["sha256"], chosen]).encode()).hexdigest()[:16]

    def states(self) -> Iterator[frozenset[Atom]]:
        """The states that the rollout passes through, with their static atoms: the initial one, and one a step."""
        state = frozenset(map(atom_of, self.head["initial"]))
        yield state
        for step in self.steps:
            state = after(state, step["candidates"][step["chosen"]])
            yield state

    @property
    def problem(self) -> ProblemText:
        """What the problem declares. Raises PddlError where a text cannot be read."""
        return self._texts[1]

    @property
    def domain(self) -> DomainText:
        """What the domain declares. Raises PddlError where a text cannot be read."""
        return self._texts[0]

    @cached_property
    def _texts(self) -> tuple[DomainText, ProblemText]:
        domain = (self.head["domain_pddl"], f"{self.place}, domain_pddl")
        return read_both(domain, (self.head["problem_pddl"], f"{self.place}, problem_pddl"), self.head.get("goal"))

    @cached_property
    def open_goals(self) -> tuple[frozenset[int], ...]:
        """The goal's literals that are open in every state [steps + 1], by their places in the problem's goal.

        Raises PddlError and PlanError for texts that cannot be read.
        """
        initial = frozenset(map(atom_of, self.head["initial"]))
        goal = enumerate(self.problem.goal)
        found = [frozenset(place for place, each in goal if (each.atom in initial) != each.positive)]
        for step in self.steps:
            found.append(self._open_after(found[-1], step["candidates"][step["chosen"]]))
        return tuple(found)

    @cached_property
    def standings(self) -> tuple[tuple[Standing, ...], ...]:
        """How the candidates of every step stand, in the order of the record.

        Raises PddlError and PlanError for texts that cannot be read.
        """
        return tuple(
            tuple(
                Standing(marks_of(tuple(each["marks"])), len(self._open_after(open_now, each)))
                for each in step["candidates"]
            )
            for step, open_now in zip(self.steps, self.open_goals, strict=False)
        )

    def _open_after(self, open_now: frozenset[int], candidate: Mapping[str, Any]) -> frozenset[int]:
        """The open literals of the goal in a candidate's state."""
        found = set(open_now)
        for true, atoms in ((False, candidate["delete"]), (True, candidate["add"])):
            for atom in atoms:
                for place, positive in self._wanted.get(atom_of(atom), ()):
                    (found.discard if positive is true else found.add)(place)
        return frozenset(found)

    @cached_property
    def _wanted(self) -> Mapping[Atom, Sequence[tuple[int, bool]]]:
        """Where each atom stands in the goal, and with which sign."""
        found: dict[Atom, list[tuple[int, bool]]] = {}
        for place, literal in enumerate(self.problem.goal):
            found.setdefault(literal.atom, []).append((place, literal.positive))
        return found

    @property
    def about(self) -> Subject:
        """Which model made it."""
        return read_subject(self.head.get("about") or {})


@lru_cache(maxsize=1 << 16)
def atom_of(line: str) -> Atom:
    """The atom that a text such as "(on a b)" stands for. Raises PlanError for other text."""
    (action,) = parse_plan(line, "atom")
    return Atom(action.name, action.objects)


def after(state: frozenset[Atom], candidate: Mapping[str, Any]) -> frozenset[Atom]:
    """The state that a step's candidate leads to."""
    return state.difference(map(atom_of, candidate["delete"])).union(map(atom_of, candidate["add"]))


def read_recorded(path: Path | str) -> list[Recorded]:
    """The rollouts of a file. Raises StoreError for a file that was cut or is no record of rollouts."""
    lines = iter(_lines(Path(path)))
    found = []
    for number, head in lines:
        if head.get("record") != "rollout" or head.get("format") != FORMAT or not isinstance(head.get("steps"), int):
            raise StoreError(f"{path}, line {number}: expected a rollout of format {FORMAT}; record the rollout again")
        steps: list[dict[str, Any]] = []
        for _ in range(head["steps"]):
            _, record = next(lines, (number, {}))
            if record.get("record") != "step":
                raise StoreError(
                    f"{path} ends after {len(steps)} of {head['steps']} steps of {head.get('name')}: it was cut; "
                    "record the rollout again"
                )
            steps.append(record)
        found.append(Recorded(str(path), number, head, tuple(steps)))
    return found


def map_file(path: Path | str) -> Path:
    """Where the maps of the rollouts of a file stand; 'sgp map' makes them."""
    return Path(path).with_suffix(".map.json")


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; give a file that 'sgp solve --rollout' wrote") from error
    except UnicodeDecodeError as error:
        raise StoreError(
            f"{path} is no text (byte {error.start}); give a file that 'sgp solve --rollout' wrote"
        ) from error
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            record = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{path}, line {number}: cut or changed ({error}); record the rollout again") from error
        yield number, record if isinstance(record, dict) else {}
