"""Recorded rollouts as stored in files, readable without a planning library.

`recording` writes the files and replays them; the viewer shows them.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from sgp.datasets.subject import Subject, read_subject
from sgp.errors import PlanError, StoreError
from sgp.files import parse_json
from sgp.planning.pddl import Action, Atom, DomainText, ProblemText, parse_plan, read_both
from sgp.planning.rollout import Mark, marks_of

FORMAT = 1
PACKED = ".gz"  # suffix of compressed files, which take about a fifteenth of the space
_STEP = re.compile(r'\{"record": ?"step"')
_CACHED = 16  # rollouts of a file whose steps are cached
DEAD_END = "dead end"  # recorded number of remaining actions if no plan leads to the goal
Bounds = tuple[float, float]  # lower and upper bound on the number of remaining actions


class Standing(NamedTuple):
    """A candidate's marks, and the number of open goals in its state."""

    marks: Mark
    open_goals: int


@dataclass(frozen=True)
class Recorded:
    """One rollout of a file: its head, on line `line` (from 1), and one record per step.

    The steps are read on request if `loaded` is None, because files may be large. Values derived from a damaged record
    raise KeyError, TypeError, ValueError, IndexError or AttributeError; unreadable PDDL or plan text raises PddlError
    or PlanError.
    """

    source: str
    line: int
    head: Mapping[str, Any]
    loaded: Sequence[Mapping[str, Any]] | None = None

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The records of the steps. Raises StoreError if the file was changed or is gone."""
        return _steps_of(self.source, self.line, self.head["steps"]) if self.loaded is None else self.loaded

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
    def expert(self) -> tuple[Action, ...]:
        """The expert's plan for the problem, empty if none was recorded. Raises PlanError."""
        return parse_plan("\n".join(self.head.get("expert") or ()), f"{self.place}, expert")

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
        goals = [frozenset(place for place, literal in goal if (literal.atom in initial) != literal.positive)]
        for step in self.steps:
            goals.append(self.open_after(goals[-1], step["candidates"][step["chosen"]]))
        return tuple(goals)

    @cached_property
    def standings(self) -> tuple[tuple[Standing, ...], ...]:
        """Marks and open goals of the candidates of every step, in recorded order. Raises PddlError and PlanError."""
        return tuple(
            tuple(Standing(marks_in(each), len(self.open_after(open_now, each))) for each in step["candidates"])
            for step, open_now in zip(self.steps, self.open_goals, strict=False)
        )

    def open_after(self, open_now: frozenset[int], candidate: Mapping[str, Any]) -> frozenset[int]:
        """Return the open goals of a candidate's state, given those of its step. Raises PddlError and PlanError."""
        goals = set(open_now)
        for true, atoms in ((False, candidate["delete"]), (True, candidate["add"])):
            for atom in atoms:
                for place, positive in self._wanted.get(atom_of(atom), ()):
                    (goals.discard if positive is true else goals.add)(place)
        return frozenset(goals)

    @cached_property
    def _wanted(self) -> Mapping[Atom, Sequence[tuple[int, bool]]]:
        """Indices and signs of each atom in the goal."""
        wanted: dict[Atom, list[tuple[int, bool]]] = {}
        for place, literal in enumerate(self.problem.goal):
            wanted.setdefault(literal.atom, []).append((place, literal.positive))
        return wanted

    @property
    def about(self) -> Subject:
        """The model that made the rollout."""
        return read_subject(self.head.get("about") or {})

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise StoreError in place of the errors of a damaged record."""
        try:
            yield
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, PlanError) as error:
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


def marks_in(candidate: Mapping[str, Any]) -> Mark:
    """Return the marks of a candidate."""
    return marks_of(tuple(candidate["marks"]))


def after(state: frozenset[Atom], candidate: Mapping[str, Any]) -> frozenset[Atom]:
    """Return the state of a candidate."""
    return state.difference(map(atom_of, candidate["delete"])).union(map(atom_of, candidate["add"]))


def read_recorded(path: Path | str) -> list[Recorded]:
    """Read the rollouts of a file. Raises StoreError for a truncated file or one that is no record of rollouts."""
    rollouts = []
    for number, head, lines in _rollouts(Path(path)):
        steps = tuple(_parsed(path, place, line) for place, line in enumerate(lines, number + 1))
        rollouts.append(Recorded(str(path), number, head, steps))
    return rollouts


def read_heads(path: Path | str) -> list[Recorded]:
    """As `read_recorded`, but steps are read on request, because files may be large."""
    return [Recorded(str(path), number, head) for number, head, _ in _rollouts(Path(path))]


@lru_cache(maxsize=_CACHED)
def _steps_of(source: str, line: int, length: int) -> Sequence[Mapping[str, Any]]:
    for recorded in read_recorded(source):
        if recorded.line == line and len(recorded.steps) == length:
            return recorded.steps
    raise StoreError(f"{source} has changed since it was listed; list the recorded rollouts again")


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
    """Whether a line is the record of a step; lines in the writer's format are not parsed."""
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


def regrets(left: Sequence[Bounds], taken: Iterable[int]) -> list[float | None]:
    """Regret of each step as far as it is proved: its actions plus the remaining ones after it, minus those before it.

    `left` bounds the remaining actions of every state [steps + 1]; `taken` has the actions of each step. The regret is
    the smallest possible one if that is positive, 0 if no regret is possible, infinite for the step into a dead end,
    and None otherwise (unknown, or within a dead end).
    """
    found: list[float | None] = []
    for (low, high), (low_after, high_after), actions in zip(left, left[1:], taken, strict=False):
        if low == math.inf or (low_after == math.inf and high == math.inf):
            found.append(None)
        elif low_after + actions > high:
            found.append(low_after + actions - high)
        else:
            found.append(0.0 if high_after + actions <= low else None)
    return found


def encode_bounds(bounds: Bounds) -> Any:
    """Bounds as stored in a record: a number if they are equal, else [lower, upper] with None for infinity."""
    low, high = bounds
    if low == high:
        return DEAD_END if low == math.inf else low
    return [low, None if high == math.inf else high]


def decode_bounds(stored: Any) -> Bounds:
    """Decode `encode_bounds`. Raises TypeError and ValueError for other values."""
    if stored == DEAD_END:
        return math.inf, math.inf
    if isinstance(stored, list):
        low, high = stored
        return float(low), math.inf if high is None else float(high)
    return float(stored), float(stored)
