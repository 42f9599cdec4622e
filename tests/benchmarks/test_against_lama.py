from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import sgp

PROGRAM = Path(sgp.__file__).resolve().parents[1] / "benchmarks" / "against_lama.py"


def run(home, *words):
    environment = {**os.environ, "SGP_HOME": str(home)}
    return subprocess.run([sys.executable, str(PROGRAM), *words], env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_problems_are_solved_by_both_kept_and_not_tried_again(tmp_path):
    file = tmp_path / "rows.csv"
    words = ("--suites", "state-centric:interpolation", "--domains", "gripper,blocksworld", "--csv", str(file))
    one = run(tmp_path, *words, "--problems", "1")
    assert one.returncode == 0, one.stderr
    first = pd.read_csv(file)
    assert [(row.domain, row.limit) for row in first.itertuples()] == [("gripper", 60.0), ("blocksworld", 60.0)]
    for row in first.itertuples():
        assert row.method == "contrastive-jumps", "the planners that come with the package"
        assert row.length
        assert row.lama_length
        assert 0 < row.seconds < row.start_seconds
        assert row.lama_seconds > 0
        assert "python benchmarks/against_lama.py --suites" in row.note
        assert "--csv" not in row.note
    again = run(tmp_path, *words, "--problems", "2")
    assert again.returncode == 0, again.stderr
    kept = pd.read_csv(file)
    pd.testing.assert_frame_equal(kept[:2], first)
    assert len(kept) == 4
    assert "LAMA solved" in again.stdout


def test_a_domain_without_a_trained_run_is_left_out(tmp_path):
    done = run(tmp_path, "--suites", "track:easy", "--domains", "sokoban", "--problems", "1")
    assert done.returncode == 0, done.stderr
    assert "sokoban of suite track is left out: no trained run plans in domain sokoban" in done.stderr


@pytest.mark.parametrize(("option", "expected"), [("--problems=-1", "at least 0"), ("--seconds=1", "at least 2")])
def test_an_empty_budget_is_refused(tmp_path, option, expected):
    done = run(tmp_path, option)
    assert done.returncode == 2
    assert f"expected {expected}" in done.stderr
