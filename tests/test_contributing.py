"""The worked examples for contributors run, and the files that their pages name exist."""

import re
from pathlib import Path

import pytest

from sgp.evaluation.scores import read_scores, select
from tests.conftest import ROOT, python

TEXTS = [(ROOT / name).read_text() for name in ("CONTRIBUTING.md", "docs/own_domain.md", "docs/own_method.md")]
(DOMAIN,) = re.findall(r"```python\n(.*?)```", "".join(TEXTS), re.DOTALL)
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


def run(examples, *words):
    """Run Python with the examples in their places."""
    return python(*words, paths=[examples], cwd=examples, SGP_HOME=examples / "home")


def output_of(examples, words):
    done = run(examples, "-c", "import examples; from sgp.cli import main; main()", *words.split())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_worked_examples_are_clean(name):
    done = python("-m", "ruff", "check", "--stdin-filename", f"sgp/{name}", "-", cwd=ROOT, input=EXAMPLES[name])
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "key", "tests"), [("domains", "barge", 5), ("methods", "my-method", 8)])
def test_the_worked_examples_pass_the_contracts_by_standing_in_their_folders(examples, folder, key, tests):
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "examples", "--rootdir", ROOT]
    done = run(examples, *words, ROOT / "tests" / folder / "test_contract.py", "-k", key)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= tests


@pytest.mark.slow
def test_the_worked_domain_becomes_a_planner(examples):
    output_of(examples, "generate --domain barge --size 6 --count 5 --out barge")
    output_of(examples, "import barge --suite barge")
    quick = "--set labels.states=20 --set labels.space=1000"
    out = output_of(examples, f"train --suite barge --domain barge --method contrastive-jumps {quick}")
    problem = next((examples / "barge").rglob("*6*.pddl"))
    output_of(examples, f"solve barge/domain.pddl {problem} --run {out.split()[-1]}")


@pytest.mark.slow
def test_the_worked_method_plans_by_two_decodings_of_one_training(examples):
    run = output_of(examples, "train --method my-method --domain gripper --suite state-centric").split()[-1]
    words = "--suite state-centric --splits interpolation --decoding default,greedy --csv scores.csv --jobs 1"
    output_of(examples, f"evaluate {run} {words}")
    scores = read_scores(examples / "scores.csv")
    assert list(select(scores, metric="coverage", size=None).decoding) == ["default", "greedy"]


def test_files_that_are_named_exist():
    found = {name for text in TEXTS for name in re.findall(r"`((?:sgp|tests|docs)/[\w/.]+)`", text)}
    named = found - {f"sgp/{name}" for name in EXAMPLES}
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / name).exists()]
