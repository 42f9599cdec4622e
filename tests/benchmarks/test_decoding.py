from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import sgp

ROOT = Path(sgp.__file__).resolve().parents[1]


def test_the_naive_decoder_finds_the_same_plans(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "decoding.py"), "--json", str(tmp_path / "figures.json")]
    command += ["--domains", "blocksworld,gripper,logistics", "--splits", "validation,interpolation", "--limit", "2"]
    environment = {**os.environ, "SGP_HOME": str(tmp_path / "home")}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["same_plans"] is True
    assert figures["ratio"] > 0
    assert {name: each["problems"] for name, each in figures["domains"].items()} == {
        "blocksworld": 4,
        "gripper": 4,
        "logistics": 4,
    }
    assert "plans the same" in run.stdout
