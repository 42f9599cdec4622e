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
DOMAIN, METHOD = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
EXAMPLES = {"domains/barge.py": DOMAIN, "methods/goal_count.py": METHOD}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the package and of its tests, with the worked examples in their places."""
    tmp_path = tmp_path_factory.mktemp("house")
    for name in ("sgp", "tests", "data", "pyproject.toml"):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(ROOT / name)
    (tmp_path / "sgp").unlink()
    (tmp_path / "sgp").mkdir()
    rooms = {Path(name).parent.name for name in EXAMPLES}
    for path in (ROOT / "sgp").iterdir():
        if path.name not in rooms:
            (tmp_path / "sgp" / path.name).symlink_to(path)
    for room in rooms:
        (tmp_path / "sgp" / room).mkdir()
        for path in (ROOT / "sgp" / room).iterdir():
            (tmp_path / "sgp" / room / path.name).symlink_to(path)
    for name, example in EXAMPLES.items():
        (tmp_path / "sgp" / name).write_text(example)
    return tmp_path


def run(house, *command):
    names = {"PYTHONPATH": str(house), "SGP_HOME": str(house / "home"), "PATH": "/usr/bin:/bin", "SGP_PROGRESS": "0"}
    names["NUMBA_CACHE_DIR"] = str(house / "kernels")  # those of the house's own sources are kept where links lead to
    return subprocess.run([sys.executable, *command], cwd=house, env=names, capture_output=True, text=True)


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


def test_the_worked_method_passes_the_contract_by_standing_in_its_folder(house):
    done = run(
        house, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/methods/test_contract.py", "-k", "goal-count"
    )
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= 8


def test_the_worked_method_is_clean_and_plans_by_two_decodings_of_one_training(house):
    done = run(house, "-m", "ruff", "check", "sgp/methods/goal_count.py")
    assert done.returncode == 0, done.stdout
    train = ["train", "--method", "goal-count", "--domain", "gripper", "--suite", "state-centric"]
    done = run(house, "-m", "sgp.cli", *train)
    assert done.returncode == 0, done.stderr
    scores = house / "scores.csv"
    words = f"evaluate {done.stdout.split()[-1]} --suite state-centric --splits interpolation --decoding default,wide"
    done = run(house, "-m", "sgp.cli", *words.split(), "--csv", str(scores))
    assert done.returncode == 0, done.stderr
    decodings = [score.decoding for score in sgp.read_scores(scores) if score.metric == "coverage" and not score.size]
    assert decodings == ["", "wide"]


def test_files_that_are_named_exist():
    named = set(re.findall(r"`((?:sgp|tests|docs)/[\w/.]+)`", TEXT)) - {f"sgp/{name}" for name in EXAMPLES}
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]
