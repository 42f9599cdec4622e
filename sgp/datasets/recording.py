"""Rollouts in JSONL: one line for the problem and the outcome, then one line per step.

A file can be shown without a planning library: it has the PDDL, the initial atoms, and for each candidate its actions,
added and deleted atoms, cost, key and marks. Reading `Rollout`s replays the actions and checks the atoms.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from sgp.datasets.recorded import FORMAT, PACKED, Recorded, cost_of, marks_in, read_recorded
from sgp.errors import PlanError, StoreError
from sgp.files import whole_file, write_text
from sgp.planning.pddl import Action, Problem, parse_plan
from sgp.planning.rollout import BeamNode, Mark, Outcome, Rollout, Step, Written
from sgp.planning.states import State
from sgp.planning.task import Successor, Task

Distances = tuple[list[Any], list[list[Any]]]  # of the states [steps + 1] and of each step's candidates


def write_rollouts(path: Path | str, rollouts: Iterable[Rollout], about: Mapping[str, Any] | None = None) -> None:
    """Write rollouts to one JSONL file atomically; `about` describes the model (`Subject`)."""
    write_records(path, (record for rollout in rollouts for record in records(rollout, about)))


def write_records(path: Path | str, found: Iterable[Mapping[str, Any]]) -> None:
    """Write records of rollouts to one JSONL file atomically; a path that ends in `.gz` is compressed."""
    text = "".join(f"{json.dumps(record, allow_nan=False)}\n" for record in found)
    if Path(path).suffix == PACKED:
        with whole_file(path) as temporary:
            temporary.write_bytes(gzip.compress(text.encode(), mtime=0))  # equal rollouts give equal files
    else:
        write_text(path, text)


def records(
    rollout: Rollout,
    about: Mapping[str, Any] | None = None,
    expert: Sequence[Action] = (),
    why: Sequence[Mapping[str, Any]] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the records of one rollout in file format.

    `expert` is an expert's plan for the same problem. `why` explains the choice of each step: the other candidate
    (`against`), the compared quantity (`measure`), a list of features with values and shares (`why`), and the same
    against further candidates (`others`).
    """
    task, problem = rollout.task, rollout.task.problem.in_model
    yield {
        "record": "rollout",
        "format": FORMAT,
        "name": task.name,
        "sha256": problem.sha256,
        "domain_pddl": problem.domain_pddl,
        "problem_pddl": problem.problem_pddl,
        **({} if problem.alternative is None else {"goal": problem.alternative}),
        "initial": _texts(task.atoms(task.init)),
        "outcome": rollout.outcome.value,
        "reason": rollout.reason,
        **_written(rollout.written),
        "seconds": rollout.seconds,
        "steps": len(rollout.steps),
        "about": dict(about or {}),
        "expert": [str(action) for action in expert],
    }
    for step, because in zip(rollout.steps, why or repeat({}, len(rollout.steps)), strict=True):
        yield {
            "record": "step",
            "chosen": step.chosen,
            "candidates": list(_candidates(task, step)),
            "note": {name: _plain(value) for name, value in step.note.items()},
            **_written(step.written),
            **_beam(step),
            **because,
        }


def with_distances(found: Iterable[Mapping[str, Any]], left: Distances) -> Iterator[dict[str, Any]]:
    """Yield the records of a rollout with the number of actions left (`encode_bounds`) at its states and candidates."""
    head, *steps = found
    states, candidates = left
    yield {**head, "left": states}
    for step, distances in zip(steps, candidates, strict=True):
        pairs = zip(step["candidates"], distances, strict=True)
        yield {**step, "candidates": [{**each, "left": one} for each, one in pairs]}


def _candidates(task: Task, step: Step) -> Iterator[dict[str, Any]]:
    here = set(task.fluents(step.state))
    groups: dict[Any, int] = {}
    for index, successor in enumerate(step.candidates):
        there = set(task.fluents(successor.state))
        cost = float(step.costs[index])
        yield {
            "actions": [str(action) for action in successor.actions],
            "parent": successor.parent,
            "add": _texts(map(task.fluent, there - here)),
            "delete": _texts(map(task.fluent, here - there)),
            "cost": cost if math.isfinite(cost) else None,
            "key": None if step.keys is None else groups.setdefault(step.keys[index], len(groups)),
            "marks": Mark(int(step.marks[index])).words,
        }


def read_rollouts(path: Path | str) -> list[Rollout]:
    """Read and replay the rollouts of a file. Raises StoreError for a damaged file."""
    return [replayed(recorded) for recorded in read_recorded(path)]


def replayed(recorded: Recorded, task: Task | None = None) -> Rollout:
    """Replay a recorded rollout, in its problem's `task` if given. Raises StoreError if its atoms differ."""
    head = recorded.head
    with recorded.reading():
        problem = Problem(head["name"], head["domain_pddl"], head["problem_pddl"], alternative=head.get("goal"))
        task = task or Task(problem)
        steps = []
        state = task.init
        if _texts(task.atoms(state)) != head["initial"]:
            raise StoreError(
                f"{recorded.place}: the initial atoms are not those of the problem; record the rollout again"
            )
        for number, record in enumerate(recorded.steps, start=recorded.line + 1):
            step = _step(task, state, record, f"{recorded.source}, line {number}")
            steps.append(step)
            state = step.successor.state
        outcome, written = Outcome(head["outcome"]), _read_written(head)
        return Rollout(task, tuple(steps), outcome, head["seconds"], head["reason"], written)


def _step(task: Task, state: State, record: Mapping[str, Any], place: str) -> Step:
    reached = {successor.actions: successor.state for successor in task.successors(state)}
    here = set(task.fluents(state))
    candidates = []
    for entry in record["candidates"]:
        actions = tuple(action for line in entry["actions"] for action in parse_plan(line, place))
        end = _reach(task, state, actions, reached, place)
        there = set(task.fluents(end))
        added, deleted = _texts(map(task.fluent, there - here)), _texts(map(task.fluent, here - there))
        if added != entry["add"] or deleted != entry["delete"]:
            raise StoreError(f"{place}: the atoms of candidate {entry['actions']} are not what its actions lead to")
        candidates.append(Successor(actions, end, entry["parent"]))
    keys = [entry["key"] for entry in record["candidates"]]
    return Step(
        state=state,
        candidates=candidates,
        costs=np.array(list(map(cost_of, record["candidates"]))),
        keys=None if all(key is None for key in keys) else keys,
        marks=np.array(list(map(marks_in, record["candidates"])), np.uint8),
        chosen=record["chosen"],
        note=record["note"],
        written=_read_written(record),
        beam=[
            BeamNode(before, parse_plan("\n".join(lines), place), cost)
            for before, lines, cost in record.get("beam", ())
        ],
        lane=record.get("lane", 0),
    )


def _beam(step: Step) -> dict[str, Any]:
    """The nodes that beam search kept, each with its predecessor's place, actions and path cost; `lane`: the chosen."""
    beam = [[each.before, list(map(str, each.actions)), each.cost] for each in step.beam]
    return {"beam": beam, "lane": step.lane} if beam else {}


def _written(tokens: Written) -> dict[str, Any]:
    return {"written": [list(each) for each in tokens]} if tokens else {}


def _read_written(record: Mapping[str, Any]) -> Written:
    return tuple((str(word), float(probability)) for word, probability in record.get("written", ()))


def _reach(
    task: Task, state: State, actions: tuple[Action, ...], reached: dict[tuple[Action, ...], State], place: str
) -> State:
    """Return the state after `actions`; `reached` caches intermediate states, which lookahead candidates share."""
    for length in range(1, len(actions) + 1):
        if actions[:length] not in reached:
            before = reached.get(actions[: length - 1], state)
            try:
                reached[actions[:length]] = task.apply(before, actions[length - 1])
            except PlanError as error:
                raise StoreError(f"{place}: {error}") from error
    return reached[actions] if actions else state


def _texts(atoms: Iterable[Any]) -> list[str]:
    return sorted(map(str, atoms))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
