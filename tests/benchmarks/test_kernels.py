from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sgp

PROGRAM = Path(sgp.__file__).resolve().parents[1] / "benchmarks" / "kernels.py"


def test_wlplan_and_both_kernels_give_the_same_vectors(tmp_path):
    command = [sys.executable, str(PROGRAM), "--json", str(tmp_path / "figures.json")]
    command += ["--domains", "blocksworld,gripper", "--problems", "2", "--steps", "5", "--passes", "1"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["same_vectors"] is True
    assert "vectors the same" in run.stdout
    assert figures["domains"].keys() == {"blocksworld", "gripper"}
    for found in figures["domains"].values():
        assert found["parents"] == 10
        assert found["states"] > 10
        assert found["ratios"].keys() == {"plain", "incremental", "incremental_by_state"}
        assert min(found["microseconds"].values()) > 0


@pytest.mark.parametrize("option", ["--problems", "--steps", "--passes"])
def test_an_empty_budget_is_refused(option):
    run = subprocess.run([sys.executable, str(PROGRAM), option, "0"], capture_output=True, text=True)
    assert run.returncode == 2
    assert f"{option} is 0; expected at least 1" in run.stderr
