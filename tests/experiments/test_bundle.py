"""Planners that come with the package are measured on larger problems, and only those that solve some are written."""

from __future__ import annotations

import shutil

import pytest

import sgp
from sgp.datasets.runs import open_run
from sgp.datasets.store import data_folder
from sgp.evaluation.scores import select
from sgp.experiments import bundle
from sgp.experiments.bundle import COUNT, MEASURED_ON, ship
from sgp.reports.card import saved_scores


@pytest.mark.slow
def test_a_planner_is_measured_on_distinct_problems_twice_as_large(home, tmp_path, monkeypatch, caplog):
    for part in ("domain.pddl", "train", "validation"):
        source = data_folder() / "benchmarks" / "state-centric" / "gripper" / part
        target = tmp_path / "some" / "gripper" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
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

    monkeypatch.setattr(bundle, "LIMIT", sgp.Limit(decisions=1))
    assert ship(tmp_path / "others", suites=["some"]) == [], "the same training, which now solves nothing"
    assert "gripper: the planner solves none of the problems" in caplog.text
    assert not (tmp_path / "others").exists()
