"""What every method of the house must keep."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.datasets.runs import RunKey, new_run, open_run
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.errors import ConfigurationError, DomainMismatch, InputError, StoreError
from sgp.methods import all_methods, get_method
from sgp.methods.configuration import configure, configure_decoding
from sgp.methods.contract import PlanningMethod, Selectable
from sgp.methods.loading import load_planner, planner_of
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.planning.task import Task
from tests.conftest import QUICK_OF, origin_of

SUITE = sgp.load_suite("state-centric")
PLANNING = [method for method in all_methods() if isinstance(method, PlanningMethod)]
EVERY = [(method, variant) for method in PLANNING for variant in method.variants]
every_variant = pytest.mark.parametrize(
    ("method", "variant"), EVERY, ids=[f"{method.key}-{variant}" for method, variant in EVERY]
)


def rollouts(planner, domain):
    return planner.solve_many(map(Task, SUITE.problems(domain, "validation")[:3]), Limit(actions=25))


@every_variant
@pytest.mark.parametrize("domain", ["blocksworld", "gripper", "logistics", "visitall"])
def test_a_run_saved_and_loaded_gives_identical_rollouts(method, variant, domain, quick_run):
    run = quick_run(method.key, domain, variant)
    first, second = (planner_of(open_run(run.folder)) for _ in range(2))
    found = rollouts(first, domain)
    assert found == rollouts(second, domain)
    assert any(rollout.steps for rollout in found)


@every_variant
def test_a_trained_planner_is_the_one_that_is_saved(method, variant, home):
    trained = {}

    class Watched:
        def __getattr__(self, name):
            return getattr(method, name)

        def train(self, config, data, draft):
            trained["planner"] = method.train(config, data, draft)
            return trained["planner"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgp.api.get_method", lambda key: Watched())
        overrides = QUICK_OF.get(method.key, {})
        run = sgp.train(method.key, "gripper", "state-centric", variant, overrides=overrides)
    assert rollouts(trained["planner"], "gripper") == rollouts(planner_of(run), "gripper")


@pytest.mark.parametrize("method", [each for each in PLANNING if isinstance(each, Selectable)], ids=lambda m: m.key)
def test_a_snapshot_saved_and_loaded_gives_identical_rollouts(method, tmp_path):
    name, config = configure(method, None, QUICK_OF.get(method.key))
    data = load_training_data(SUITE, "gripper")
    snapshot = next(method.snapshots(config, data, tmp_path / "training", 13, "cpu"))
    assert np.isfinite(snapshot.loss)
    key = RunKey(method.key, name, "state-centric", "gripper", 13)
    with new_run(key, origin_of(method, snapshot.training, data), tmp_path / "run") as draft:
        snapshot.save(draft)
    found = rollouts(planner_of(open_run(tmp_path / "run")), "gripper")
    assert found == rollouts(planner_of(open_run(tmp_path / "run")), "gripper")
    assert any(rollout.steps for rollout in found)


@every_variant
def test_rollouts_do_not_depend_on_what_is_solved_beside_them(method, variant, quick_run):
    planner = planner_of(quick_run(method.key, "blocksworld", variant))
    alone = [planner.solve(Task(problem), Limit(actions=25)) for problem in SUITE.problems("blocksworld", "validation")]
    small = replace(planner, batch=2)
    for together in (rollouts(planner, "blocksworld"), rollouts(small, "blocksworld")):
        for one, two in zip(alone, together, strict=True):
            assert (one.plan, one.outcome) == (two.plan, two.outcome)
            for step, other in zip(one.steps, two.steps, strict=True):
                # A network's results depend on the batch in their last bits.
                assert np.allclose(step.costs, other.costs, rtol=1e-5, atol=1e-6)


@every_variant
def test_renaming_objects_changes_no_multiset_of_costs(method, variant, quick_run):
    if not method.invariant(method.variants[variant]):
        pytest.skip("claims no invariance")
    planner = planner_of(quick_run(method.key, "logistics", variant))
    problem = SUITE.problems("logistics", "interpolation")[0]
    renamed = Problem("renamed", problem.domain_pddl, problem.problem_pddl.replace("p1", "q9").replace("l1-", "z-"))
    one, two = (planner.solve(Task(each), Limit(actions=1)).steps[0] for each in (problem, renamed))
    assert np.allclose(sorted(one.costs), sorted(two.costs), rtol=1e-6)
    assert len(one.candidates) == len(two.candidates)


@every_variant
def test_a_run_records_what_it_is(method, variant, quick_run):
    run = quick_run(method.key, "gripper", variant)
    record = json.loads((run.folder / "run.json").read_text())
    assert (record["method"], record["suite"], record["domain"], record["seed"]) == (
        method.key,
        "state-centric",
        "gripper",
        13,
    )
    assert record["variant"].split("+")[0] == variant
    assert record["data"]["train"] == 4
    if method.learns_from is Demonstrations:
        assert record["data"]["transitions"] == 5 + 11 + 17 + 23
    assert {"python", "sgp", *method.libraries} <= record["versions"].keys()
    parts = (record["method"], record["variant"], "state-centric", "gripper", "seed13")
    assert run.folder.parts[-5:] == parts
    assert not [path for path in run.folder.rglob("*") if path.suffix in {".pkl", ".pickle", ".pt", ".joblib"}]


def copy_run(run, target):
    shutil.copytree(run.folder, target)
    return target


def test_a_cut_or_incomplete_run_is_refused(quick_run, tmp_path):
    run = quick_run("state-centric", "gripper")
    for damage, words in (
        (lambda folder: (folder / "model.ubj").unlink(), r"incomplete: model\.ubj is missing; train the run again"),
        (lambda folder: (folder / "model.ubj").write_bytes(b""), r"model\.ubj was cut or changed"),
        (lambda folder: (folder / "run.json").write_text('{"format": 1'), r"run\.json is no complete JSON"),
        (lambda folder: (folder / "run.json").unlink(), r"holds no run\.json"),
        (lambda folder: (folder / "run.json").write_text('{"format": 99}'), "not of format 2"),
    ):
        folder = copy_run(run, tmp_path / "copy")
        damage(folder)
        with pytest.raises(StoreError, match=words):
            open_run(folder)
        shutil.rmtree(folder)


def rewritten(folder, change):
    record = json.loads((folder / "run.json").read_text())
    change(record)
    (folder / "run.json").write_text(json.dumps(record))
    return folder


@pytest.mark.parametrize("key", ["state-centric", "zero-change"])
def test_a_run_of_another_wlplan_is_refused(key, quick_run, tmp_path):
    folder = rewritten(
        copy_run(quick_run(key, "gripper"), tmp_path / "copy"), lambda r: r["versions"].update(wlplan="1.0")
    )
    with pytest.raises(
        StoreError, match=r"saved with wlplan 1\.0, here is wlplan 2\.1\.0.*install wlplan==1\.0 or train"
    ):
        load_planner(str(folder))


@pytest.mark.parametrize("vector", ["embedding", "goal", "prediction"])
def test_a_run_that_gives_other_vectors_is_refused(vector, quick_run, tmp_path):
    def change(record):
        record["check"]["vectors"][vector][0] += 0.5

    folder = rewritten(copy_run(quick_run("state-centric", "gripper"), tmp_path / "copy"), change)
    with pytest.raises(StoreError, match=f"gives another {vector} than when it was trained"):
        load_planner(str(folder))


def test_an_interrupted_training_leaves_the_old_run(home, monkeypatch):
    run = sgp.train("zero-change", "gripper", "state-centric")
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sgp.encoders.wl.WLEncoder.save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sgp.train("zero-change", "gripper", "state-centric", again=True)
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before
    assert [path.name for path in run.folder.parent.iterdir()] == ["seed13"]


def test_the_same_run_is_not_trained_twice(home, monkeypatch):
    run = sgp.train("zero-change", "gripper", "state-centric")
    again = sgp.train("zero-change", "gripper", "state-centric")
    assert again.record["trained"] == run.record["trained"]
    assert again.sha256 == run.sha256
    other = sgp.train("zero-change", "gripper", "state-centric", overrides={"wl.iterations": "1"})
    assert other.folder != run.folder
    assert other.training["wl"]["iterations"] == 1
    assert {each.folder for each in sgp.list_runs()} == {run.folder, other.folder}


def test_a_problem_of_another_domain_is_refused_with_the_difference(quick_run):
    for key in ("state-centric", "random-successor"):
        run = quick_run(key, "gripper")
        with pytest.raises(DomainMismatch, match=r"was trained on gripper; .*lacks the predicates at/2, at-robby/1"):
            sgp.solve(SUITE.problems("visitall", "validation")[0], run.folder)


def test_variants_and_settings_are_checked():
    method = get_method("state-centric")
    name, config = configure(method, None, {"boosting.rounds": "7", "wl.iterations": "1", "mode": "state"})
    assert (config.boosting.rounds, config.wl.iterations, config.mode) == (7, 1, "state")
    assert name == "wl-xgboost-delta+boosting.rounds=7+mode=state+wl.iterations=1"
    assert configure(method, "wl-xgboost-state")[1].mode == "state"
    for overrides, words in (
        ({"boosting.rounds": "many"}, "setting boosting.rounds is 'many'|expected int|is 'many'; expected int"),
        ({"boosting.trees": "7"}, "unknown setting 'trees'; expected one of depth, learning_rate, patience, rounds"),
        ({"colour": "red"}, "unknown setting 'colour'; expected one of boosting, decoding, encoder, lstm"),
        ({"mode": "sideways"}, "mode is 'sideways'; expected one of state, delta"),
        ({"parts": "0"}, "parts is 0; expected at least 1"),
        ({"mode.x": "1"}, "setting 'mode.x' is wrong at 'mode', which has no further field"),
        ({"lstm": "3"}, "setting 'lstm' is wrong at 'lstm', which has shape, training, state_head, delta_head"),
        ({"lstm.state_head": "../../x"}, "setting lstm.state_head is '../../x'; expected letters, digits"),
        ({"lstm.state_head": "deep"}, "LSTM state_head is 'deep'; expected one of linear, two-layer"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            configure(method, None, overrides)
    with pytest.raises(ConfigurationError, match="no variant 'wl-quantum'; expected one of wl-xgboost-delta"):
        configure(method, "wl-quantum")
    with pytest.raises(
        InputError, match="unknown method 'magic'; expected one of contrastive-delta, contrastive-jumps, gnn"
    ):
        get_method("magic")


def test_a_run_trained_anew_is_the_one_that_plans(home, tmp_path):
    """The planner kept in memory must not outlive the run in its folder."""
    run = sgp.train("zero-change", "gripper", "state-centric")
    before = load_planner(str(run.folder))
    assert load_planner(str(run.folder)) is before
    record = json.loads((run.folder / "run.json").read_text())
    record["trained"] = "2030-01-01T00:00:00+00:00"
    (run.folder / "run.json").write_text(json.dumps(record))
    assert load_planner(str(run.folder)) is not before


def test_a_damaged_run_is_trained_anew(home):
    run = sgp.train("zero-change", "gripper", "state-centric")
    file = run.folder / "encoder.json"
    file.write_text(file.read_text() + " ")
    with pytest.raises(StoreError, match="was cut or changed"):
        open_run(run.folder)
    assert sgp.train("zero-change", "gripper", "state-centric").record["files"] == run.record["files"]


def test_the_defaults_are_those_of_the_paper():
    config = configure(get_method("state-centric"), None)[1]
    assert configure_decoding(get_method("state-centric"))[1].beam == 3
    assert (config.wl.iterations, config.wl.hash, config.wl.pruning) == (2, "multiset", "none")
    assert (config.boosting.depth, config.boosting.learning_rate, config.boosting.rounds) == (8, 0.1, 1000)


def test_seeds_matter_only_to_methods_that_say_so(home):
    for method in PLANNING:
        variant = next(iter(method.variants))
        overrides = QUICK_OF.get(method.key, {})
        runs = [
            sgp.train(method.key, "gripper", "state-centric", variant, seed=seed, overrides=overrides)
            for seed in (1, 2)
        ]
        one, two = (rollouts(planner_of(run), "gripper") for run in runs)
        assert (one == two) is method.deterministic(method.variants[variant])
