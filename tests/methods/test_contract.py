"""Contract tests of every built-in method."""

import json
import shutil
from hashlib import sha256
from multiprocessing.reduction import ForkingPickler
from typing import ClassVar
from unittest.mock import Mock

import pytest

import sgp
from sgp.contracts import MethodContract
from sgp.datasets.runs import list_runs, open_run
from sgp.errors import ConfigurationError, InputError, StoreError
from sgp.methods import built_in_keys, get_method
from sgp.methods.configuration import configure
from sgp.methods.contract import PlanningMethod
from tests.conftest import QUICK_OF

SUITE = sgp.load_suite("state-centric")


class TestBuiltIn(MethodContract):
    """Runs the contract that methods of other packages share."""

    keys = tuple(key for key in built_in_keys() if isinstance(get_method(key), PlanningMethod))
    settings = QUICK_OF
    variants: ClassVar = {"embedplan": ["hashed-atoms"]}  # the same code reads vectors that need weights
    beyond_sample: ClassVar = (pytest.mark.slow,)

    @pytest.fixture
    def trained(self, quick_run):
        return quick_run


def test_a_run_of_four_gripper_problems_records_their_transitions(quick_run):
    record = quick_run("state-centric", "gripper").record
    assert (record["data"]["train"], record["data"]["transitions"]) == (4, 5 + 11 + 17 + 23)


@pytest.mark.parametrize("method", ["state-centric", "contrastive-jumps"])
def test_a_planner_that_has_planned_goes_to_another_process(quick_run, method):
    planner = sgp.load_planner(quick_run(method, "gripper"))
    problem = SUITE.problems("gripper", "validation")[0]
    plan = planner.solve(sgp.Task(problem)).plan
    again = ForkingPickler.loads(ForkingPickler.dumps(planner))
    assert again.solve(sgp.Task(problem)).plan == plan


DAMAGED = [
    (lambda folder: (folder / "model.ubj").unlink(), r"incomplete: model\.ubj is missing; train the run again"),
    (lambda folder: (folder / "model.ubj").write_bytes(b""), r"model\.ubj was cut or changed"),
    (lambda folder: (folder / "run.json").write_text('{"format": 1'), r"run\.json is no complete JSON"),
    (lambda folder: (folder / "run.json").unlink(), r"holds no run\.json"),
    (lambda folder: (folder / "run.json").write_text('{"format": 1}'), r"run\.json is not of format 2; train the run"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGED)
def test_a_cut_or_incomplete_run_is_refused(damage, words, quick_run, tmp_path):
    folder = shutil.copytree(quick_run("state-centric", "gripper").folder, tmp_path / "copy")
    damage(folder)
    with pytest.raises(StoreError, match=words):
        open_run(folder)


def rewritten(folder, change):
    record = json.loads((folder / "run.json").read_text())
    change(record)
    (folder / "run.json").write_text(json.dumps(record))


@pytest.mark.parametrize("key", ["state-centric", "zero-change"])
def test_a_run_of_another_wlplan_is_refused(key, quick_run, tmp_path):
    folder = shutil.copytree(quick_run(key, "gripper").folder, tmp_path / "copy")
    file = folder / "encoder.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"package_version": "1.0"}))
    digest = sha256(file.read_bytes()).hexdigest()
    rewritten(folder, lambda record: record["files"].update({"encoder.json": digest}))
    words = r"written by wlplan 1\.0, this package reads that of 2\.1\.0; train the run again"
    with pytest.raises(StoreError, match=words):
        sgp.load_planner(str(folder))


def test_a_run_is_not_trained_twice_unless_damaged_and_an_interrupted_training_leaves_the_old_one(home, monkeypatch):
    run = sgp.train("zero-change", "gripper", "state-centric")
    again = sgp.train("zero-change", "gripper", "state-centric")
    assert (again.record["trained"], again.sha256) == (run.record["trained"], run.sha256)
    other = sgp.train("zero-change", "gripper", "state-centric", overrides={"wl.iterations": "1"})
    assert other.folder != run.folder
    assert other.training["wl"]["iterations"] == 1
    assert {each.folder for each in list_runs()} == {run.folder, other.folder}
    file = run.folder / "encoder.json"
    file.write_text(file.read_text() + " ")
    with pytest.raises(StoreError, match="was cut or changed"):
        open_run(run.folder)
    assert sgp.train("zero-change", "gripper", "state-centric").record["files"] == run.record["files"]
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    monkeypatch.setattr("sgp.encoders.wl.WLEncoder.save", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sgp.train("zero-change", "gripper", "state-centric", again=True)
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before
    assert [path.name for path in run.folder.parent.glob("[!.]*")] == ["seed13"]


def test_variants_and_settings_are_named():
    method = get_method("state-centric")
    name, config = configure(method, None, {"boosting.rounds": "7", "wl.iterations": "1", "mode": "state"})
    assert (config.boosting.rounds, config.wl.iterations, config.mode) == (7, 1, "state")
    assert name == "wl-xgboost-delta+boosting.rounds=7+mode=state+wl.iterations=1"
    assert configure(method, "wl-xgboost-state")[1].mode == "state"
    with pytest.raises(ConfigurationError, match="no variant 'wl-quantum'; expected one of wl-xgboost-delta"):
        configure(method, "wl-quantum")
    with pytest.raises(InputError, match="unknown method 'magic'; expected one of aiw-ad, contrastive-delta, contr"):
        get_method("magic")


def test_a_run_trained_anew_is_the_one_that_plans(home, tmp_path):
    """The planner cached in memory must not outlive the run in its folder."""
    run = sgp.train("zero-change", "gripper", "state-centric")
    before = sgp.load_planner(str(run.folder))
    assert sgp.load_planner(str(run.folder)) is before
    rewritten(run.folder, lambda record: record.update(trained="2030-01-01T00:00:00+00:00"))
    assert sgp.load_planner(str(run.folder)) is not before
