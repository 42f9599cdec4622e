"""Recording of retrievals for the dashboard: a few steps of a domain, with the states that models rank highest."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.analysis.maps import FEWEST, project_linearly, project_neighbours
from sgp.api import configured, measured_here, train_split
from sgp.datasets.protocols import ProtocolSplit, domain_instances, protocol_splits
from sgp.datasets.runs import Run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Transition
from sgp.datasets.walks import Instance
from sgp.errors import InputError, TextTooLong
from sgp.evaluation.retrieval import Candidate, Pools, Query, by_task, evenly, predictions, queries, rank, similarities
from sgp.experiments.retrieval import Learner, RetrievalConfig
from sgp.files import write_text
from sgp.methods.loading import load_model
from sgp.planning.policy import SeenFromAction, TransitionModel
from sgp.planning.task import Task
from sgp.progress import track
from sgp.viewer.retrieved import FORMAT

logger = logging.getLogger(__name__)

MOST = 12  # steps in a file
NEAREST = 10  # candidates of a step
_RANKED = 100  # steps from which these are chosen
_GROUND = 300  # known states on a map


def record_retrievals(
    folder: Path,
    suite: str,
    protocols: Sequence[str],
    learners: Sequence[Learner],
    domains: Sequence[str] = (),
    seed: int = 42,
    config: RetrievalConfig | None = None,
    most: int | None = None,
    device: str = "auto",
    shots: Sequence[int] = (0,),
) -> list[Path]:
    """Write a file of steps for each split and domain of the protocols; missing runs are trained."""
    config = config or RetrievalConfig()
    if set(config.pools) <= {"all"}:
        raise InputError(f"pools are {', '.join(config.pools)}; expected paper, batch or hard, to record some of")
    works = [
        (split, name)
        for protocol in protocols
        for few in shots
        for split in protocol_splits(suite, protocol, domains, seed, most, few)
        for name in split.test_domains
    ]
    found = []
    for split, name in track(works, f"record retrieval on {suite}", len(works)):
        recorded = _recorded(split, name, learners, config, device)
        if recorded is not None:
            file = folder / f"{_stem(split, name)}.json"
            write_text(file, json.dumps(recorded) + "\n")
            found.append(file)
    return found


def _stem(split: ProtocolSplit, domain: str) -> str:
    """A file's name, from everything that distinguishes recordings."""
    parts = [split.suite, domain, split.protocol, str(split.seed)]
    parts += [f"most{split.max_transitions}"] if split.max_transitions else []
    parts += [f"shots{split.shots}"] if split.shots else []
    if domain not in split.train_domains:
        parts.append(f"from-{'several' if len(split.train_domains) > 1 else split.domain}")
    return "-".join(parts)


def _models(
    split: ProtocolSplit,
    learners: Sequence[Learner],
    pools: Mapping[Pools, Sequence[Query]],
    of: Sequence[Instance],
    device: str,
) -> Iterator[tuple[Learner, Run, TransitionModel, dict[Pools, list[NDArray[np.float64]]]]]:
    """The models that can read these instances, with their runs and their similarities in all pools."""
    for learner in learners:
        try:
            run = train_split(learner.method, split, learner.variant, dict(learner.settings), device)
            model = load_model(run.folder)
            reason = next(filter(None, (model.refuses(each.task) for each in of)), None)
            if reason is None:
                yield learner, run, model, {kind: similarities(model, pool) for kind, pool in pools.items()}
                continue
        except TextTooLong as error:
            reason = str(error)
        logger.warning("%s %s is not recorded in %s: %s", learner.method, learner.variant, of[0].domain, reason)


def _recorded(
    split: ProtocolSplit, domain: str, learners: Sequence[Learner], config: RetrievalConfig, device: str
) -> dict[str, Any] | None:
    """Content of a file; None if no model can read these instances."""
    part, of = split.held_out(domain), domain_instances(split.suite, domain)
    looked_at = evenly(part.transitions, _RANKED, split.seed)
    across = split.protocol == "interpolation"
    kinds = [kind for kind in config.pools if kind != "all"]
    pools: dict[Pools, list[Query]] = {
        kind: queries(kind, looked_at, of, across, split.seed, config.size, part.transitions) for kind in kinds
    }
    models = list(_models(split, learners, pools, of, device))
    if not models:
        return None
    (_, first, _, near), *_ = models
    missed = [any(rank(near[kind][place]).better for kind in kinds) for place in range(len(looked_at))]
    places = _some(missed)
    steps = [looked_at[place] for place in places]
    table = _Table([instance.task for instance in of])
    ground = _evenly([Candidate(each.task, state) for each in of for state in each.states], _GROUND)
    listed = []
    for learner, _, model, similar in models:
        found: list[dict[Pools, list[tuple[Candidate, float]]]] = [
            {kind: _nearest(pools[kind][place], similar[kind][place]) for kind in kinds} for place in places
        ]
        points, predicted, explained = _charted(model, ground, steps, found)
        listed.append(
            {
                "method": learner.method,
                "variant": configured(learner.method, learner.variant, dict(learner.settings))[1],
                "ground": [[table.number(each), points[each]] for each in ground if points],
                "explained": list(explained),
                "steps": [
                    {
                        "points": {
                            "state": points[Candidate(step.task, step.before)],
                            "predicted": predicted[number],
                            "true": points[Candidate(step.task, step.after)],
                        }
                        if points
                        else {},
                        "pools": {
                            kind: {
                                **rank(similar[kind][place])._asdict(),
                                "nearest": [
                                    [table.number(each), round(value, 4), points.get(each)]
                                    for each, value in found[number][kind]
                                ],
                            }
                            for kind in kinds
                        },
                    }
                    for number, (place, step) in enumerate(zip(places, steps, strict=True))
                ],
            }
        )
    step_records = [
        {
            "before": table.number(Candidate(step.task, step.before)),
            "action": str(step.action),
            "after": table.number(Candidate(step.task, step.after)),
        }
        for step in steps
    ]
    shown = sum(missed[place] for place in places)
    return {
        "format": FORMAT,
        "suite": split.suite,
        "protocol": split.protocol,
        "seed": split.seed,
        "domain": domain,
        "learned_from": split.domain,
        "most": split.max_transitions,
        "shots": split.shots,
        "about": f"Of {len(looked_at)} steps that were looked at, the first model missed {sum(missed)} in some pool; "
        f"{shown} of these are among the {len(places)} that are shown. {measured_here(first, 1)}",
        "domain_pddl": load_suite(split.suite).domain_pddl(domain),
        **table.record(),
        "pools": kinds,
        "steps": step_records,
        "models": listed,
    }


def _some(missed: Sequence[bool]) -> list[int]:
    """Places of at most `MOST` steps in their order, about half of them misses if there are enough."""
    misses = [place for place, each in enumerate(missed) if each]
    hits = [place for place, each in enumerate(missed) if not each]
    count = min(len(misses), max(MOST // 2, MOST - len(hits)))
    return sorted([*_evenly(misses, count), *_evenly(hits, MOST - count)])


def _evenly(some: Sequence[Any], most: int) -> list[Any]:
    taken = min(len(some), most)
    return [some[place * len(some) // taken] for place in range(taken)]


def _nearest(query: Query, similar: NDArray[np.float64]) -> list[tuple[Candidate, float]]:
    """The candidates most similar to the prediction; equal ones in the order of the pool."""
    order = np.argsort(-similar, kind="stable")[:NEAREST]
    return [(query.pool[place], float(similar[place])) for place in order]


class _Table:
    """States and atoms of a file, each once, numbered in order of request."""

    def __init__(self, tasks: Sequence[Task]):
        self._tasks = {task: number for number, task in enumerate(tasks)}
        self._states: dict[Candidate, int] = {}
        self._atoms: dict[str, int] = {}

    def number(self, candidate: Candidate) -> int:
        """A state's number."""
        return self._states.setdefault(candidate, len(self._states))

    def record(self) -> dict[str, Any]:
        """Problems, states and atoms as JSON."""
        states = [
            [
                self._tasks[task],
                [self._atoms.setdefault(str(task.fluent(each)), len(self._atoms)) for each in task.fluents(state)],
            ]
            for task, state in self._states
        ]
        problems = [{"name": task.name, "pddl": task.problem.problem_pddl} for task in self._tasks]
        return {"problems": problems, "states": states, "atoms": list(self._atoms)}


def _charted(
    model: TransitionModel,
    ground: Sequence[Candidate],
    steps: Sequence[Transition],
    found: Sequence[Mapping[Pools, list[tuple[Candidate, float]]]],
) -> tuple[dict[Candidate, list[int]], list[list[int]], tuple[float, float]]:
    """Coordinates on a model's map: of all states that are shown, and of the predictions; shares of variance by PCA."""
    if isinstance(model, SeenFromAction):
        return {}, [], (0.0, 0.0)
    near = (each for pools in found for pool in pools.values() for each, _ in pool)
    ends = (Candidate(each.task, state) for each in steps for state in (each.before, each.after))
    shown = list(dict.fromkeys([*ground, *ends, *near]))
    embedded = by_task(
        [each.task for each in shown], lambda task, places: model.embed(task, [shown[place].state for place in places])
    )
    rows = np.vstack([embedded, predictions(model, steps)]).astype(np.float32)
    linear, explained = project_linearly(rows[: len(ground)], rows)
    points = np.hstack([linear, project_neighbours(rows)]) if len(rows) >= FEWEST else linear
    return dict(zip(shown, points.tolist(), strict=False)), points[len(shown) :].tolist(), explained
