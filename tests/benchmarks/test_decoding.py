from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sgp
from sgp.evaluation.scores import read_scores

ROOT = Path(sgp.__file__).resolve().parents[1]


@pytest.mark.slow
def test_the_naive_decoder_finds_the_same_plans(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "decoding.py"), "--csv", str(tmp_path / "figures.csv")]
    command += ["--domains", "blocksworld,gripper,logistics", "--splits", "validation,interpolation", "--limit", "2"]
    environment = {**os.environ, "SGP_HOME": str(tmp_path / "home")}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    figures = list(read_scores(tmp_path / "figures.csv").itertuples())
    assert {(each.domain, each.variant, each.metric): each.count for each in figures} == {
        (domain, decoder, metric): 4
        for domain in ("blocksworld", "gripper", "logistics")
        for decoder in ("sgp", "naive")
        for metric in ("seconds", "ms_a_successor")
    }
    assert min(each.value for each in figures) > 0
    assert all("python benchmarks/decoding.py --domains" in each.note and "--csv" not in each.note for each in figures)
    assert "plans the same" in run.stdout
