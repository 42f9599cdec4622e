"""What CONTRIBUTING.md tells is true: its worked example is a domain of the house, and what it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sgp

ROOT = Path(sgp.__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def house(tmp_path):
    """A copy of the package and of its tests of domains, with the worked example in its place."""
    for name in ("sgp", "tests", "data/benchmarks", "data/experts", "pyproject.toml"):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(ROOT / name)
    (tmp_path / "sgp").unlink()
    (tmp_path / "sgp").mkdir()
    for path in (ROOT / "sgp").iterdir():
        if path.name != "domains":
            (tmp_path / "sgp" / path.name).symlink_to(path)
    (tmp_path / "sgp" / "domains").mkdir()
    for path in (ROOT / "sgp" / "domains").iterdir():
        (tmp_path / "sgp" / "domains" / path.name).symlink_to(path)
    (tmp_path / "sgp" / "domains" / "barge.py").write_text(EXAMPLE)
    return tmp_path


def run(house, *command):
    path = {"PYTHONPATH": str(house), "SGP_HOME": str(house / "home"), "PATH": "/usr/bin:/bin", "SGP_PROGRESS": "0"}
    return subprocess.run([sys.executable, *command], cwd=house, env=path, capture_output=True, text=True)


def test_the_worked_domain_passes_the_contract_by_standing_in_its_folder(house):
    done = run(house, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/domains", "-k", "barge")
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= 5


def test_the_worked_domain_is_clean_and_becomes_a_planner(house):
    done = run(house, "-m", "ruff", "check", "sgp/domains/barge.py")
    assert done.returncode == 0, done.stdout
    for words in (
        "generate --domain barge --size 6 --count 5 --out barge",
        "import barge --suite barge",
        "train --suite barge --domain barge --method contrastive-jumps --set labels.states=20 --set labels.space=1000",
    ):
        done = run(house, "-m", "sgp.cli", *words.split())
        assert done.returncode == 0, done.stderr
    problem = next((house / "barge").rglob("*6*.pddl"))
    done = run(
        house,
        "-m",
        "sgp.cli",
        "solve",
        str(house / "barge" / "domain.pddl"),
        str(problem),
        "--run",
        done.stdout.split()[-1],
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_that_are_named_exist():
    named = set(re.findall(r"`((?:sgp|tests|docs)/[\w/.]+)`", TEXT)) - {"sgp/domains/barge.py"}
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]


def test_it_is_one_page():
    assert len(TEXT.replace(EXAMPLE, "").split()) < 900
