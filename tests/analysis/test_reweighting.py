"""A planner with a changed feature weight equals the planner of a run saved with that weight."""

from __future__ import annotations

import math
import shutil
from hashlib import sha256
from json import dumps, loads

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import sgp
from sgp.analysis.explanations import columns_of, explain, reweighted
from sgp.errors import ConfigurationError, InputError
from sgp.methods.loading import load_planner


@pytest.fixture(scope="module")
def problem():
    return sgp.load_suite("state-centric").problems("blocksworld", "interpolation")[0]


@pytest.fixture(scope="module")
def explained(quick_run, in_shared_home, problem):
    """Return a run, a rollout of it, and a step explained against another candidate."""
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    rollout = load_planner(run.folder).solve(sgp.Task(problem))
    explanations = explain(rollout, load_planner(run.folder).policy)
    place, why = next((place, each[0]) for place, each in enumerate(explanations) if each)
    return run, rollout, place, why


def by_hand(run, folder, columns, factor, task):
    """Return a copy of a run with changed weights of some columns in its file, and its record with them."""
    shutil.copytree(run.folder, folder)
    file = folder / "delta.safetensors"
    weights = load_file(file)["weights"].copy()
    weights[:, columns] *= factor
    save_file({"weights": weights}, file)
    record = loads((folder / "run.json").read_text())
    record["files"][file.name] = sha256(file.read_bytes()).hexdigest()
    record["check"]["vectors"] = {}  # recorded with the unchanged weights
    (folder / "run.json").write_text(dumps(record))
    return load_planner(folder)


@pytest.mark.parametrize("factor", [0.0, -1.0, 3.0])
def test_it_plans_as_a_run_whose_weights_were_changed_by_hand(explained, problem, tmp_path, factor):
    run, rollout, place, why = explained
    planner = load_planner(run.folder)
    columns = columns_of(planner.policy, rollout, place, why.other, why.reasons[0].feature)
    copy = by_hand(run, tmp_path / "copy", columns, factor, rollout.task)
    assert np.any(copy.policy.weights != planner.policy.weights)
    changed = reweighted(planner, rollout, place, why.other, why.reasons[0].feature, factor)
    one, other = (each.solve(sgp.Task(problem)) for each in (changed, copy))
    assert (one.outcome, one.plan) == (other.outcome, other.plan)
    costs = zip(one.steps, other.steps, strict=True)
    assert all(np.array_equal(mine.costs, its.costs) for mine, its in costs)


def test_once_its_weight_is_what_it_was_and_the_runs_own_planner_stays(explained, problem):
    run, rollout, place, why = explained
    planner = load_planner(run.folder)
    before = planner.policy.weights.copy()
    reweighted(planner, rollout, place, why.other, why.reasons[0].feature, -1.0)
    assert np.array_equal(planner.policy.weights, before)
    same = reweighted(planner, rollout, place, why.other, why.reasons[0].feature, 1.0).solve(sgp.Task(problem))
    assert (same.outcome, same.plan) == (rollout.outcome, rollout.plan)


def test_what_has_no_weight_is_told(explained, quick_run):
    run, rollout, place, why = explained
    planner = load_planner(run.folder)
    with pytest.raises(InputError, match="'the moon' does not distinguish these candidates"):
        reweighted(planner, rollout, place, why.other, "the moon", 0.0)
    with pytest.raises(ConfigurationError, match="the factor is nan; expected a finite number"):
        reweighted(planner, rollout, place, why.other, why.reasons[0].feature, math.nan)
    other = load_planner(quick_run("state-centric", "blocksworld", "wl-xgboost-delta").folder)
    with pytest.raises(ConfigurationError, match="have no weights; expected a run of contrastive-jumps"):
        reweighted(other, rollout, place, why.other, why.reasons[0].feature, 0.0)
