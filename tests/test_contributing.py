"""The worked examples of CONTRIBUTING.md run, and the files that it names exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sgp
from sgp.evaluation.scores import read_scores, select

ROOT = Path(sgp.__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
DOMAIN = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
METHOD = (ROOT / "sgp/methods/goal_count.py").read_text().replace('"goal-count"', '"my-method"')
EXAMPLES = {"domains/barge.py": DOMAIN, "methods/my_method.py": METHOD}


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """A folder with the worked examples, and a module `examples` that adds them to the package's folders."""
    folder = tmp_path_factory.mktemp("examples")
    lines = ["import sgp.domains", "import sgp.methods"]
    for name, example in EXAMPLES.items():
        (folder / name).parent.mkdir()
        (folder / name).write_text(example)
        package = Path(name).parent.name
        lines.append(f"sgp.{package}.__path__.append({str(folder / package)!r})")
    (folder / "examples.py").write_text("\n".join(lines))
    return folder


def run(examples, *command):
    """Run Python on the package with the examples in their places, and with the compiled kernels of the package."""
    own = {"PYTHONPATH": os.pathsep.join([str(examples), str(ROOT)]), "SGP_HOME": str(examples / "home")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=examples,
        env={**os.environ, **own, "SGP_PROGRESS": "0"},
        capture_output=True,
        text=True,
    )


def sgp_command(examples, words):
    return run(examples, "-c", "import examples; from sgp.cli import main; main()", *words.split())


def contract(examples, file, key):
    """Run the contract tests of one domain or method, and return how many passed."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "examples", "--rootdir", str(ROOT)]
    done = run(examples, "-m", "pytest", *options, str(ROOT / "tests" / file), "-k", key)
    assert done.returncode == 0, done.stdout
    return int(re.search(r"(\d+) passed", done.stdout).group(1))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_worked_examples_are_clean(name):
    command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", f"sgp/{name}", "-"]
    done = subprocess.run(command, cwd=ROOT, input=EXAMPLES[name], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_worked_domain_passes_the_contract_by_standing_in_its_folder(examples):
    assert contract(examples, "domains/test_contract.py", "barge") >= 5


@pytest.mark.slow
def test_the_worked_domain_becomes_a_planner(examples):
    for words in (
        "generate --domain barge --size 6 --count 5 --out barge",
        "import barge --suite barge",
        "train --suite barge --domain barge --method contrastive-jumps --set labels.states=20 --set labels.space=1000",
    ):
        done = sgp_command(examples, words)
        assert done.returncode == 0, done.stderr
    problem = next((examples / "barge").rglob("*6*.pddl"))
    solved = sgp_command(examples, f"solve barge/domain.pddl {problem} --run {done.stdout.split()[-1]}")
    assert solved.returncode == 0, solved.stdout + solved.stderr


@pytest.mark.slow
def test_the_worked_method_passes_the_contract_by_standing_in_its_folder(examples):
    assert contract(examples, "methods/test_contract.py", "my-method") >= 8


@pytest.mark.slow
def test_the_worked_method_plans_by_two_decodings_of_one_training(examples):
    done = sgp_command(examples, "train --method my-method --domain gripper --suite state-centric")
    assert done.returncode == 0, done.stderr
    words = f"evaluate {done.stdout.split()[-1]} --suite state-centric --splits interpolation --decoding default,greedy"
    done = sgp_command(examples, f"{words} --csv scores.csv --jobs 1")
    assert done.returncode == 0, done.stderr
    scores = read_scores(examples / "scores.csv")
    assert list(select(scores, metric="coverage", size=None).decoding) == ["", "greedy"]


def test_files_that_are_named_exist():
    named = set(re.findall(r"`((?:sgp|tests|docs)/[\w/.]+)`", TEXT)) - {f"sgp/{name}" for name in EXAMPLES}
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]
