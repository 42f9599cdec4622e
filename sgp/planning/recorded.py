"""Recorded rollouts as their files hold them, read without a planning library.

`recording` writes the files and replays them; the viewer shows what is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from sgp.errors import StoreError
from sgp.planning.pddl import Atom, parse_plan
from sgp.planning.subject import Subject, read_subject

FORMAT = 1


@dataclass(frozen=True)
class Recorded:
    """One rollout of a file: its head, on line `line` (from 1), and one record for every step."""

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
            record = json.loads(line)
        except ValueError as error:
            raise StoreError(f"{path}, line {number}: cut or changed ({error}); record the rollout again") from error
        yield number, record if isinstance(record, dict) else {}
