"""What the dashboard's tour shows: one decision of one rollout, every number of it recorded."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from sgp.api import train
from sgp.datasets.suite import load_suite
from sgp.encoders.node_colours import coloured_graph
from sgp.encoders.wl import WLEncoder
from sgp.errors import InputError
from sgp.evaluation.subjects import subject_of
from sgp.files import write_json
from sgp.methods.loading import load_planner
from sgp.planning.recording import records
from sgp.planning.rollout import Rollout
from sgp.planning.task import Task
from sgp.policies.nearest_embedding import NearestEmbedding

METHOD, VARIANT, SPLIT = "state-centric", "wl-xgboost-delta", "interpolation"
NAME = "tour.json"
FORMAT = 1


def record_tour(folder: Path | str, suite: str, domain: str, jobs: int = 1) -> Path:
    """Writes the tour of a domain: the first solved rollout of unseen small problems, at its most open decision.

    Raises InputError where the trained model solves none of them.
    """
    run = train(METHOD, domain, suite, VARIANT, jobs=jobs)
    planner = load_planner(str(run.folder))
    policy = planner.policy
    assert isinstance(policy, NearestEmbedding)
    assert isinstance(policy.encoder, WLEncoder)
    for problem in load_suite(suite).problems(domain, SPLIT):
        rollout = planner.solve(Task(problem))
        if rollout.solved:
            about = subject_of(run, split=SPLIT).record()
            return _write(Path(folder) / NAME, rollout, policy, policy.encoder, about)
    raise InputError(f"{METHOD} {VARIANT} solves no problem of {suite}/{domain}/{SPLIT}; choose another domain")


def _write(file: Path, rollout: Rollout, policy: NearestEmbedding, encoder: WLEncoder, about: dict[str, Any]) -> Path:
    task = rollout.task
    number = max(range(len(rollout.steps)), key=lambda place: (_open(rollout, place), -place))
    step = rollout.steps[number]
    graph = coloured_graph(encoder.vocabulary, task, step.state)
    ahead = coloured_graph(encoder.vocabulary, task, step.successor.state)
    names = {str(colour): name for colour, name in (*ahead.names.items(), *graph.names.items())}
    (before,) = encoder.embed(task, [step.state])
    (after,) = encoder.embed(task, [step.successor.state])
    write_json(
        file,
        {
            "format": FORMAT,
            "records": list(records(rollout.without_notes(), about)),
            "step": number + 1,
            "atoms": sorted(map(str, task.atoms(step.state))),
            "graph": {**asdict(graph), "names": names},
            "metric": policy.metric,
            "embedding": _numbers(before),
            "goal": _numbers(encoder.embed_goal(task)),
            "predicted": _numbers(step.note["predicted"]),
            "chosen": _numbers(after),
        },
    )
    return file


def _open(rollout: Rollout, place: int) -> int:
    """How many candidates of a step are open to choice."""
    return int(rollout.steps[place].open_to_choice.sum())


def _numbers(vector: Any) -> list[float]:
    return [round(float(value), 6) for value in vector]
