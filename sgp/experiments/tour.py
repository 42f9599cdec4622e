"""Recording of the dashboard's tour: decisions of two methods, their training data, and a failure."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sgp.api import train
from sgp.datasets.runs import Run
from sgp.datasets.suite import Suite, load_suite
from sgp.datasets.training_data import load_training_data
from sgp.encoders.wl import WLEncoder
from sgp.encoders.wl_vocabulary import coloured_graph
from sgp.errors import InputError
from sgp.evaluation.attempts import subject_of
from sgp.files import write_json
from sgp.methods.loading import load_planner
from sgp.planning.pddl import Problem
from sgp.planning.recording import records
from sgp.planning.rollout import Rollout
from sgp.planning.task import State, Task
from sgp.policies.nearest_embedding import NearestEmbedding

METHOD, VARIANT = "state-centric", "wl-xgboost-delta"
OTHER = "contrastive-jumps"
SPLIT, LARGER = "interpolation", "extrapolation"
NAME = "tour.json"
FORMAT = 2


def record_tour(folder: Path | str, suite: str, domain: str, jobs: int = 1) -> Path:
    """Write the tour of a domain: the first solved rollout of unseen small problems, at its most open decision."""
    source = load_suite(suite)
    run = train(METHOD, domain, suite, VARIANT, jobs=jobs)
    planner, (policy, encoder) = load_planner(str(run.folder)), _parts(run)
    for problem in source.problems(domain, SPLIT):
        rollout = planner.solve(Task(problem))
        if rollout.solved:
            break
    else:
        raise InputError(f"{METHOD} {VARIANT} solves no problem of {suite}/{domain}/{SPLIT}; choose another domain")
    file = Path(folder) / NAME
    write_json(
        file,
        {
            "format": FORMAT,
            **_decision(rollout, run, policy, encoder),
            "training": _training(source, run, encoder),
            "contrast": _contrast(train(OTHER, domain, suite, jobs=jobs), problem),
            "failure": _failure(source, jobs),
        },
    )
    return file


def _parts(run: Run) -> tuple[NearestEmbedding, WLEncoder]:
    """The policy of a run and its encoder."""
    policy = load_planner(str(run.folder)).policy
    assert isinstance(policy, NearestEmbedding)
    assert isinstance(policy.encoder, WLEncoder)
    return policy, policy.encoder


def _decision(rollout: Rollout, run: Run, policy: NearestEmbedding, encoder: WLEncoder) -> dict[str, Any]:
    """The most open decision of a rollout with its inputs: graph, embeddings, prediction."""
    task = rollout.task
    number = _most_open(rollout)
    step = rollout.steps[number]
    graph = coloured_graph(encoder.vocabulary, task, step.state)
    before, after = encoder.embed(task, [step.state, step.successor.state])
    return {
        "records": list(records(rollout.without_notes(), subject_of(run, split=SPLIT).record())),
        "step": number + 1,
        "atoms": sorted(map(str, task.atoms(step.state))),
        "graph": {**asdict(graph), "names": _names(encoder, task, step.state, step.successor.state)},
        "metric": policy.metric,
        "embedding": _numbers(before),
        "goal": _numbers(encoder.embed_goal(task)),
        "predicted": _numbers(step.note["predicted"]),
        "chosen": _numbers(after),
    }


def _training(suite: Suite, run: Run, encoder: WLEncoder) -> dict[str, Any]:
    """The amount of training data of a run, and the first step of its first plan as an example."""
    first = load_training_data(suite, run.key.domain).train[0]
    task, (before, after) = first.task, first.states[:2]
    here, there = encoder.embed(task, [before, after])
    return {
        **{name: run.record["data"][name] for name in ("train", "transitions")},
        "problem_pddl": task.problem.problem_pddl,
        "plan": [str(action) for action in first.actions],
        "before": sorted(map(str, task.atoms(before))),
        "after": sorted(map(str, task.atoms(after))),
        "change": {str(column): float((there - here)[column]) for column in np.flatnonzero(there - here).tolist()},
        "names": _names(encoder, task, before, after),
    }


def _contrast(run: Run, problem: Problem) -> dict[str, Any]:
    """The most open decision of the other method in the same problem, and its number of training decisions."""
    rollout = load_planner(str(run.folder)).solve(Task(problem))
    return {
        "records": list(records(rollout.without_notes(), subject_of(run, split=SPLIT).record())),
        "step": _most_open(rollout) + 1,
        "decisions": run.record["facts"]["decisions"],
    }


def _failure(suite: Suite, jobs: int) -> dict[str, Any]:
    """The failure with the largest share of idle steps, at the idle step with the smallest predicted change."""
    worst: tuple[float, Run, Rollout, list[int]] | None = None
    for domain in suite.domains:
        run = train(METHOD, domain, suite.name, VARIANT, jobs=jobs)
        smallest = min(suite.problems(domain, LARGER), key=lambda each: (len(each.read()[1].objects), each.name))
        rollout = load_planner(str(run.folder)).solve(Task(smallest))
        idle = [] if rollout.solved else _idle(rollout)
        share = len(idle) / max(len(rollout.steps), 1)
        if idle and (worst is None or share > worst[0]):
            worst = share, run, rollout, idle
    if worst is None:
        raise InputError(f"{METHOD} {VARIANT} never prefers an action that changes nothing; choose another suite")
    _, run, rollout, idle = worst
    encoder, task = _parts(run)[1], rollout.task
    idle_rows = encoder.embed(task, [rollout.steps[place].state for place in idle])
    ahead = [
        float(np.linalg.norm(rollout.steps[place].note["predicted"] - here))
        for place, here in zip(idle, idle_rows, strict=True)
    ]
    least = int(np.argmin(ahead))
    number, here = idle[least], idle_rows[least]
    step = rollout.steps[number]
    lengths = [
        float(np.linalg.norm(row - here)) for row in encoder.embed(task, [each.state for each in step.candidates])
    ]
    head, *steps = records(rollout.without_notes(), subject_of(run, suite.name, split=LARGER).record())
    return {
        "records": [{**head, "steps": 1}, steps[number]],
        "step": number + 1,
        "steps": len(rollout.steps),
        "idle": len(idle),
        "atoms": sorted(map(str, task.atoms(step.state))),
        "predicted": round(ahead[least], 6),
        "lengths": _numbers(lengths),
    }


def _idle(rollout: Rollout) -> list[int]:
    """The steps (from 0) on which no candidate costs less than one without effect."""
    _, *steps = records(rollout.without_notes())
    cheapest = [min(step["candidates"], key=lambda c: np.inf if c["cost"] is None else c["cost"]) for step in steps]
    return [place for place, candidate in enumerate(cheapest) if not candidate["add"] and not candidate["delete"]]


def _names(encoder: WLEncoder, task: Task, *states: State) -> dict[str, str]:
    """Descriptions of the colours of some states, by their numbers."""
    graphs = [coloured_graph(encoder.vocabulary, task, each) for each in reversed(states)]
    return {str(colour): name for graph in graphs for colour, name in graph.names.items()}


def _most_open(rollout: Rollout) -> int:
    """The first step (from 0) with the most candidates to choose from."""
    return max(range(len(rollout.steps)), key=lambda place: (int(rollout.steps[place].open_to_choice.sum()), -place))


def _numbers(vector: Any) -> list[float]:
    return [round(float(value), 6) for value in vector]
