from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sgp
from sgp.evaluation.scores import read_scores

PROGRAM = Path(sgp.__file__).resolve().parents[1] / "benchmarks" / "kernels.py"


def test_wlplan_and_both_kernels_give_the_same_vectors(tmp_path):
    command = [sys.executable, str(PROGRAM), "--csv", str(tmp_path / "figures.csv")]
    command += ["--domains", "blocksworld,gripper", "--problems", "2", "--steps", "5", "--passes", "1"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    figures = list(read_scores(tmp_path / "figures.csv").itertuples())
    assert "vectors the same" in run.stdout
    kinds = {"wlplan", "plain", "incremental", "incremental_by_state"}
    for domain in ("blocksworld", "gripper"):
        of = [each for each in figures if each.domain == domain]
        assert {each.variant for each in of if each.metric == "microseconds"} == kinds
        assert {each.variant for each in of if each.metric == "wlplan_ratio"} == kinds - {"wlplan"}
        assert min(each.value for each in of) > 0
        assert {each.count > 10 for each in of} == {True}


@pytest.mark.parametrize("option", ["--problems", "--steps", "--passes"])
def test_an_empty_budget_is_refused(option):
    run = subprocess.run([sys.executable, str(PROGRAM), option, "0"], capture_output=True, text=True)
    assert run.returncode == 2
    assert f"{option} is 0; expected at least 1" in run.stderr
