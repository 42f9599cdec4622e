from __future__ import annotations

import shutil

import pytest

import sgp
from sgp.datasets.runs import open_run
from sgp.datasets.store import data_folder
from sgp.evaluation.scores import select
from sgp.experiments import shipping
from sgp.experiments.shipping import COUNT, MEASURED_ON, ship
from sgp.reports.card import saved_scores


@pytest.mark.slow
def test_a_shipped_run_is_measured_on_distinct_problems_twice_as_large(home, tmp_path):
    source = tmp_path / "some" / "gripper"
    shutil.copytree(data_folder() / "benchmarks" / "state-centric" / "gripper", source)
    for split in ("interpolation", "extrapolation"):
        shutil.rmtree(source / split)
    suite = sgp.import_folder(tmp_path / "some", "some")
    (folder,) = ship(tmp_path / "planners", suites=["some"])
    assert folder == tmp_path / "planners" / "gripper"
    run = open_run(folder)
    assert (run.key.method, run.key.suite) == ("contrastive-jumps", "some")
    (whole,) = select(saved_scores(run), metric="coverage", size=None).itertuples()
    problems = sgp.load_suite(MEASURED_ON).problems("gripper", MEASURED_ON)
    assert whole.count == len(problems) == len({sgp.canonical_form(sgp.Task(each)) for each in problems}) == COUNT
    largest = max(entry.size for entry in suite.domain("gripper").splits["train"])
    assert {sgp.Task(problem).size for problem in problems} == {2 * largest}
    assert f"of {COUNT} |" in (folder / "card.md").read_text()


@pytest.mark.slow
def test_a_planner_that_solves_nothing_is_not_shipped(home, tmp_path, monkeypatch, caplog):
    source = tmp_path / "some" / "gripper"
    shutil.copytree(data_folder() / "benchmarks" / "state-centric" / "gripper", source)
    for split in ("interpolation", "extrapolation"):
        shutil.rmtree(source / split)
    sgp.import_folder(tmp_path / "some", "some")
    monkeypatch.setattr(shipping, "LIMIT", sgp.Limit(decisions=1))
    assert shipping.ship(tmp_path / "planners", suites=["some"]) == []
    assert "gripper: the planner solves none of the problems" in caplog.text
    assert not (tmp_path / "planners").exists()
