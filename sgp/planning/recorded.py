"""Recorded rollouts as stored in files, readable without a planning library.

`recording` writes the files and replays them; the viewer shows them.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
PACKED = ".gz"  # suffix of compressed files, which take about a fifteenth of the space
_STEP = re.compile(r'\{"record": ?"step"')
_KEPT = 16  # rollouts of a file whose steps are cached


class Standing(NamedTuple):
    """A candidate's marks, and the number of open goals in its state."""

    marks: Mark
    open_goals: int

    @property
    def contends(self) -> bool:
        """Whether the candidate was open to choice and tied with the cheapest; order breaks such ties."""
        return _contends(self.marks)


@dataclass(frozen=True)
class Recorded:
    """One rollout of a file: its head, on line `line` (from 1), and one record per step.

    `read_heads` reads the steps on request. Values derived from a damaged record raise KeyError, TypeError, ValueError,
    IndexError or AttributeError; unreadable PDDL or plan text raises PddlError or PlanError.
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
        """A hash of the problem and of the chosen candidates, which links a map to its rollout."""
        chosen = [step["candidates"][step["chosen"]]["actions"] for step in self.steps]
        return sha256(json.dumps([self.head["sha256"], chosen]).encode()).hexdigest()[:16]

    def states(self) -> Iterator[frozenset[Atom]]:
        """Yield the states of the rollout with their static atoms: the initial state, then one per step."""
        state = frozenset(map(atom_of, self.head["initial"]))
        yield state
        for step in self.steps:
            state = after(state, step["candidates"][step["chosen"]])
            yield state

    @property
    def problem(self) -> ProblemText:
        """The problem's declarations. Raises PddlError."""
        return self._texts[1]

    @property
    def domain(self) -> DomainText:
        """The domain's declarations. Raises PddlError."""
        return self._texts[0]

    @cached_property
    def _texts(self) -> tuple[DomainText, ProblemText]:
        domain = (self.head["domain_pddl"], f"{self.place}, domain_pddl")
        return read_both(domain, (self.head["problem_pddl"], f"{self.place}, problem_pddl"), self.head.get("goal"))

    @cached_property
    def open_goals(self) -> tuple[frozenset[int], ...]:
        """Indices of the open goal literals in every state [steps + 1]. Raises PddlError and PlanError."""
        initial = frozenset(map(atom_of, self.head["initial"]))
        goal = enumerate(self.problem.goal)
        found = [frozenset(place for place, each in goal if (each.atom in initial) != each.positive)]
        for step in self.steps:
            found.append(self._open_after(found[-1], step["candidates"][step["chosen"]]))
        return tuple(found)

    @cached_property
    def standings(self) -> tuple[tuple[Standing, ...], ...]:
        """Marks and open goals of the candidates of every step, in recorded order. Raises PddlError and PlanError."""
        return tuple(
            tuple(
                Standing(marks_of(tuple(each["marks"])), len(self._open_after(open_now, each)))
                for each in step["candidates"]
            )
            for step, open_now in zip(self.steps, self.open_goals, strict=False)
        )

    def open_after(self, step: int, candidate: Mapping[str, Any]) -> int:
        """Count the open goals in the state of a candidate of a step (from 1). Raises PddlError and PlanError."""
        return len(self._open_after(self.open_goals[step - 1], candidate))

    def _open_after(self, open_now: frozenset[int], candidate: Mapping[str, Any]) -> frozenset[int]:
        """Return the open goal literals in a candidate's state."""
        found = set(open_now)
        for true, atoms in ((False, candidate["delete"]), (True, candidate["add"])):
            for atom in atoms:
                for place, positive in self._wanted.get(atom_of(atom), ()):
                    (found.discard if positive is true else found.add)(place)
        return frozenset(found)

    @cached_property
    def _wanted(self) -> Mapping[Atom, Sequence[tuple[int, bool]]]:
        """Indices and signs of each atom in the goal."""
        found: dict[Atom, list[tuple[int, bool]]] = {}
        for place, literal in enumerate(self.problem.goal):
            found.setdefault(literal.atom, []).append((place, literal.positive))
        return found

    @property
    def about(self) -> Subject:
        """The model that made the rollout."""
        return read_subject(self.head.get("about") or {})

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise StoreError in place of the errors of a damaged record."""
        try:
            yield
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise StoreError(
                f"{self.place}: not a record of a rollout ({error!r}); record the rollout again"
            ) from error


@lru_cache(maxsize=1 << 16)
def atom_of(line: str) -> Atom:
    """Parse an atom such as "(on a b)". Raises PlanError."""
    (action,) = parse_plan(line, "atom")
    return Atom(action.name, action.objects)


def cost_of(candidate: Mapping[str, Any]) -> float:
    """Return the cost of a candidate, infinite if it was rejected."""
    return math.inf if candidate["cost"] is None else float(candidate["cost"])


def contends(candidate: Mapping[str, Any]) -> bool:
    """Whether a candidate was open to choice and tied with the cheapest; order breaks such ties."""
    return _contends(marks_of(tuple(candidate["marks"])))


def _contends(marks: Mark) -> bool:
    return marks.open_to_choice and Mark.TIED in marks


def after(state: frozenset[Atom], candidate: Mapping[str, Any]) -> frozenset[Atom]:
    """Return the state of a candidate."""
    return state.difference(map(atom_of, candidate["delete"])).union(map(atom_of, candidate["add"]))


def read_recorded(path: Path | str) -> list[Recorded]:
    """Read the rollouts of a file. Raises StoreError for a truncated file or one that is no record of rollouts."""
    return [
        Recorded(
            str(path), number, head, tuple(_parsed(path, place, line) for place, line in enumerate(steps, number + 1))
        )
        for number, head, steps in _rollouts(Path(path))
    ]


def read_heads(path: Path | str) -> list[Recorded]:
    """Read the heads of a file's rollouts; steps are read on request, because files may be large.

    Raises StoreError for a truncated file or one that is no record of rollouts. Reading a step raises it if the step
    was changed or the file is gone.
    """
    return [
        Recorded(str(path), number, head, _StepsOnDemand(str(path), place, len(steps)))
        for place, (number, head, steps) in enumerate(_rollouts(Path(path)))
    ]


@dataclass(frozen=True)
class _StepsOnDemand(Sequence[Mapping[str, Any]]):
    """The steps of the rollout at an index (from 0) of a file, read on request."""

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
    """Return the path of the maps of a file's rollouts, made by 'sgp map'."""
    return Path(str(path).removesuffix(PACKED)).with_suffix(".map.json")


def _rollouts(path: Path) -> Iterator[tuple[int, Mapping[str, Any], Sequence[str]]]:
    """Yield the head's line number (from 1), the head, and the unparsed step lines of each rollout."""
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
    """Whether a line is the record of a step; a line with the start and end of the writer's format is not parsed."""
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
