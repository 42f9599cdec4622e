"""Regression test of plans and predictions of all methods.

`plans_before.csv` has the plans of methods of default size on small problems (seed 13). `frozen.csv` has the results of
every method, variant and decoding after the quick trainings of `tests.conftest.QUICK_OF` (seed 13): outcome, length and
hash of the plans for the validation and interpolation problems of two domains, or of the states that a model retrieves.
After an intended change of a method, write the file anew:

PYTHONPATH=. python -m tests.methods.test_unchanged
"""

import csv
import os
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.methods import built_in_keys
from sgp.methods.contract import PlanningMethod, PredictingMethod
from sgp.methods.loading import load_model, load_planner
from sgp.planning.planner import Limit
from sgp.planning.task import Task
from tests.conftest import QUICK_OF

SUITE, DOMAINS, SPLITS = "state-centric", ("blocksworld", "gripper"), ("validation", "interpolation")
FROZEN = Path(__file__).parent / "frozen.csv"
FIELDS = ("method", "variant", "decoding", "domain", "split", "problem", "outcome", "length", "sha256")
ROWS = list(csv.DictReader((Path(__file__).parent / "plans_before.csv").read_text().splitlines()))
KEYS = ("method", "variant", "decoding", "domain")
PLANNED = list(dict.fromkeys(tuple(row[key] for key in KEYS) for row in ROWS))
LIMIT = Limit(actions=40)

# Training settings other than those of the variants, evaluated in gripper with the default decoding.
SETTINGS: dict[str, list[dict[str, str]]] = {
    "contrastive-jumps": [
        *({"labels.source": source} for source in ("optimal-only", "expert", "dagger", "dagger-optimal")),
        {"representatives": "true", "labels.longest": "true", "delta": "progress"},
        {"loss.kind": "squared", "candidates": "base-aiw"},
    ],
    "contrastive-delta": [{"labels.source": source} for source in ("optimal", "dagger", "dagger-optimal")],
    "nameless": [{"labels.source": "expert"}],
    "aiw-ad": [{"trees.encoding": "external"}, {"trees.encoding": "actions", "candidates": "one-step"}],
    "state-centric": [{"encoder": "text", "text.sentences": "hashed"}],
    "embedplan": [{"text.sentences": "hashed", "text.mode": "sentence"}],
    "displacements": [{"text.sentences": "hashed"}],
    "symt": [{"training.rename": "one", "training.reduction": "sum"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("planner", PLANNED, ids=" ".join)
def test_plans_are_those_of_before(planner, home):
    method, variant, decoding, domain = planner
    run = sgp.train(method, domain, "state-centric", variant, device="cpu")
    found = sgp.evaluate([run.folder], "state-centric", ("validation", "interpolation"), decodings=[decoding])
    now = [
        (split, each.problem, each.outcome.value, str(len(each.plan)), _digest(each.plan))
        for (_, _, split), tried in found.attempts.items()
        for each in tried
    ]
    names = ("split", "problem", "outcome", "length", "plan_sha256")
    before = [tuple(row[name] for name in names) for row in ROWS if tuple(row[key] for key in KEYS) == planner]
    assert sorted(now) == sorted(before)


@pytest.mark.slow
@pytest.mark.parametrize("method", built_in_keys())
def test_quickly_trained_methods_do_what_they_did(method, home):
    before = [row for row in csv.DictReader(FROZEN.read_text().splitlines()) if row["method"] == method]
    now = [dict(zip(FIELDS, map(str, row), strict=True)) for row in frozen_rows(method)]
    assert before
    assert now == before


def frozen_rows(key: str) -> Iterator[tuple[str | int, ...]]:
    """Results of a method, one row of `frozen.csv` each; runs are saved in the store."""
    method = sgp.get_method(key)
    quick, varied = QUICK_OF.get(key, {}), SETTINGS.get(key, [])
    for variant in method.variants:
        for domain in DOMAINS:
            if domain == "blocksworld" and variant != next(iter(method.variants)):
                continue
            try:
                run = sgp.train(key, domain, SUITE, variant, device="cpu", overrides=quick)
            except ConfigurationError as error:
                if "has no weights here" not in str(error):
                    raise
                continue  # of a sentence encoder
            yield from _rows_of(run, variant, domain, getattr(method, "decodings", ()))
    for settings in varied:
        run = sgp.train(key, "gripper", SUITE, None, device="cpu", overrides={**quick, **settings})
        named = "+".join(f"{path}={value}" for path, value in settings.items())
        yield from _rows_of(run, f"+{named}", "gripper", ("default",))


def _rows_of(run, variant, domain, decodings):
    method = sgp.get_method(run.key.method)
    problems = [(split, each) for split in SPLITS for each in sgp.load_suite(SUITE).problems(domain, split)]
    if isinstance(method, PredictingMethod):
        model = load_model(run)
        for split, problem in problems:
            yield (method.key, variant, "", domain, split, problem.name, *_retrieved(model, Task(problem)))
    for decoding in decodings if isinstance(method, PlanningMethod) else ():
        try:
            planner = load_planner(run, decoding)
        except ConfigurationError:  # a portfolio of one run; a decoding of another kind of model
            continue
        rollouts = planner.solve_many([Task(each) for _, each in problems], LIMIT)
        for (split, problem), rollout in zip(problems, rollouts, strict=True):
            plan = [str(action) for action in rollout.plan]
            yield (
                *(method.key, variant, decoding, domain, split, problem.name),
                *(rollout.outcome.value, len(plan), _digest(plan)),
            )


def _retrieved(model, task):
    """Return a digest of the successors nearest to the predictions of each action of the initial state."""
    choice = list(task.successors(task.init))
    predicted = np.asarray(model.predict(task, [task.init] * len(choice), [each.actions[0] for each in choice]))
    states = np.asarray(model.embed(task, [each.state for each in choice]))
    distances = np.linalg.norm(predicted[:, None].astype(float) - states[None], axis=2).round(3)
    return "predicted", predicted.shape[1], _digest([str(row.argmin()) for row in distances])


def _digest(plan):
    return sha256("\n".join(plan).encode()).hexdigest()[:16] if plan else ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as store:
        os.environ["SGP_HOME"] = store
        with FROZEN.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            for each in sys.argv[1:] or built_in_keys():
                writer.writerows(frozen_rows(each))
