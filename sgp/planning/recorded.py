"""Recorded rollouts as their files hold them, read without a planning library.

`recording` writes the files and replays them; the viewer shows what is written.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from sgp.errors import StoreError
from sgp.files import parse_json
from sgp.planning.pddl import Atom, DomainText, ProblemText, parse_plan, read_both
from sgp.planning.rollout import Mark, marks_of
from sgp.planning.subject import Subject, read_subject

FORMAT = 1
PACKED = ".gz"  # the ending of files that are compressed, to about a fifteenth
_STEP = re.compile(r'\{"record": ?"step"')
_KEPT = 16  # rollouts of a library whose steps stay in memory


class Standing(NamedTuple):
    """How a candidate stands in its step: its marks, and how many goals are open in its state."""

    marks: Mark
    open_goals: int

    @property
    def contends(self) -> bool:
        """Whether it was open to choice and tied with the cheapest; among several their order decided."""
        return _contends(self.marks)


@dataclass(frozen=True)
class Recorded:
    """One rollout of a file: its head, on line `line` (from 1), and one record for every step.

    Of a library they are read when they are asked for (`read_heads`).
    What is derived from a damaged record raises KeyError, TypeError, ValueError, IndexError or AttributeError,
    PddlError or PlanError for a text that cannot be read.
    """

    source: str
    line: int
    head: Mapping[str, Any]
    steps: Sequence[Mapping[str, Any]]

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

    def open_after(self, step: int, candidate: Mapping[str, Any]) -> int:
        """How many goals are open in the state that a candidate of a step (from 1) leads to.

        Raises PddlError and PlanError for texts that cannot be read.
        """
        return len(self._open_after(self.open_goals[step - 1], candidate))

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


def contends(candidate: Mapping[str, Any]) -> bool:
    """Whether a step's candidate was open to choice and tied with the cheapest; among several their order decided."""
    return _contends(marks_of(tuple(candidate["marks"])))


def _contends(marks: Mark) -> bool:
    return marks.open_to_choice and Mark.TIED in marks


def after(state: frozenset[Atom], candidate: Mapping[str, Any]) -> frozenset[Atom]:
    """The state that a step's candidate leads to."""
    return state.difference(map(atom_of, candidate["delete"])).union(map(atom_of, candidate["add"]))


def read_recorded(path: Path | str) -> list[Recorded]:
    """The rollouts of a file. Raises StoreError for a file that was cut or is no record of rollouts."""
    return [
        Recorded(
            str(path), number, head, tuple(_parsed(path, place, line) for place, line in enumerate(steps, number + 1))
        )
        for number, head, steps in _rollouts(Path(path))
    ]


def read_heads(path: Path | str) -> list[Recorded]:
    """The rollouts of a file, their steps read when they are asked for: a library has many.

    Raises StoreError for a file that was cut or is no record of rollouts; a step that was changed raises it when it is
    read, as does a file that is gone then.
    """
    return [
        Recorded(str(path), number, head, _StepsOnDemand(str(path), place, len(steps)))
        for place, (number, head, steps) in enumerate(_rollouts(Path(path)))
    ]


@dataclass(frozen=True)
class _StepsOnDemand(Sequence[Mapping[str, Any]]):
    """The steps of the rollout at a place (from 0) of a file."""

    source: str
    place: int
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: Any) -> Any:
        return self._read[place]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._read)

    @property
    def _read(self) -> tuple[Mapping[str, Any], ...]:
        return _steps_of(self.source, self.place, self.length)


@lru_cache(maxsize=_KEPT)
def _steps_of(source: str, place: int, length: int) -> tuple[Mapping[str, Any], ...]:
    found = read_recorded(source)
    if place >= len(found) or len(found[place].steps) != length:
        raise StoreError(f"{source} has changed since it was listed; list the recorded rollouts again")
    return tuple(found[place].steps)


def map_file(path: Path | str) -> Path:
    """Where the maps of the rollouts of a file stand; 'sgp map' makes them."""
    return Path(str(path).removesuffix(PACKED)).with_suffix(".map.json")


def _rollouts(path: Path) -> Iterator[tuple[int, Mapping[str, Any], Sequence[str]]]:
    """Of each rollout the line of its head (from 1), the head, and the lines of its steps, which are not parsed."""
    lines = _text(path).splitlines()
    place = 0
    while place < len(lines):
        number, head = place + 1, _parsed(path, place + 1, lines[place])
        if head.get("record") != "rollout" or head.get("format") != FORMAT or not isinstance(head.get("steps"), int):
            raise StoreError(f"{path}, line {number}: expected a rollout of format {FORMAT}; record the rollout again")
        steps = lines[number : number + head["steps"]]
        whole = sum(1 for _ in takewhile(lambda each: _is_step(path, *each), enumerate(steps, number + 1)))
        if whole < head["steps"]:
            raise StoreError(
                f"{path} ends after {whole} of {head['steps']} steps of {head.get('name')}: it was cut; "
                "record the rollout again"
            )
        yield number, head, steps
        place = number + len(steps)


def _is_step(path: Path, number: int, line: str) -> bool:
    """Whether a line is the record of a step; one that begins and ends as those that we write is taken for one."""
    return bool(_STEP.match(line) and line.endswith("}")) or _parsed(path, number, line).get("record") == "step"


def _text(path: Path) -> str:
    ask = "give a file that 'sgp solve --rollout' wrote"
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == PACKED else data).decode()
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; {ask}") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} is no text (byte {error.start}); {ask}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreError(f"{path}: cut or changed ({error}); record the rollout again") from error


def _parsed(path: Path | str, number: int, line: str) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}, line {number}: cut or changed ({error}); record the rollout again") from error
    return record if isinstance(record, dict) else {}
