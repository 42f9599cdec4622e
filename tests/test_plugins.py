import re
import shutil
from pathlib import Path

import pytest

from sgp.domains import all_domains
from sgp.methods import list_methods
from tests.conftest import python

EXAMPLE = Path(__file__).with_name("plugin_example")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which pip installed the example."""
    source = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("source") / "example")
    target = tmp_path_factory.mktemp("installed")
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    done = python("-m", "pip", "install", "-q", *offline, "--target", target, source)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("plugin-home")


def package(folder, name, group, key, code="raise SystemExit('imported')\n"):
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sgp.{group}]\n{key} = {module}:THING\n")


def command(*words, paths, store):
    return python("-m", "sgp", *words, paths=paths, SGP_HOME=store)


@pytest.mark.slow
def test_the_example_passes_its_contracts(installed, store):
    asked = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", EXAMPLE, EXAMPLE / "tests"]
    done = python(*asked, paths=[installed], SGP_HOME=store, cwd=EXAMPLE)
    assert done.returncode == 0, done.stdout
    passed = int(re.search(r"(\d+) passed", done.stdout).group(1))
    assert passed >= 40, "by method, domain and encoder"


@pytest.mark.slow
def test_the_example_is_listed_trained_and_plans(installed, store, tmp_path):
    def run(*words):
        done = command(*words, paths=[installed], store=store)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "open-goals" in run("list", "methods")
    assert "corridor" in run("list", "domains")
    folder = tmp_path / "problems"
    for size in (4, 5, 9):
        run("generate", "--domain", "corridor", "--size", size, "--count", 2, "--out", folder)
    assert "recognised as domain corridor" in run("import", folder, "--suite", "corridors")
    large = next(folder.rglob("*9*.pddl"))
    trained = run("train", "--suite", "corridors", "--domain", "corridor", "--method", "open-goals").split()[-1]
    record = (Path(trained) / "run.json").read_text()
    assert '"sgp-plugin-example": "1.0"' in record, "which version made it"
    assert "(paint room" in run("solve", folder / "domain.pddl", large, "--run", trained)
    quick = ["--set", "encoder=counts", "--set", "boosting.rounds=5"]
    names = ["--suite", "corridors", "--domain", "corridor", "--method", "state-centric"]
    other = run("train", *names, *quick).split()[-1]
    assert '"sgp-plugin-example": "1.0"' in (Path(other) / "run.json").read_text()
    scores = run("evaluate", other, "--suite", "corridors", "--splits", "problems")
    assert "coverage" in scores.lower()


@pytest.mark.slow
def test_without_the_package_its_runs_say_what_is_missing(installed, store):
    train = ["train", "--method", "open-goals", "--domain", "gripper", "--suite", "state-centric"]
    run = command(*train, paths=[installed], store=store).stdout.split()[-1]
    done = command("evaluate", run, "--suite", "state-centric", "--splits", "train", paths=[], store=store)
    assert done.returncode == 2
    assert "unknown method 'open-goals'" in done.stderr


@pytest.mark.slow
def test_help_and_listings_import_nothing_of_a_plugin(tmp_path):
    for group in ("methods", "domains", "encoders"):
        package(tmp_path, group, group, f"heavy-{group}")
    for words in (["--help"], ["list", "methods"], ["list", "domains"]):
        done = command(*words, paths=[tmp_path], store=tmp_path / "home")
        assert done.returncode == 0, done.stderr
        assert "imported" not in done.stdout + done.stderr
    assert "heavy-methods" in command("list", "methods", paths=[tmp_path], store=tmp_path / "home").stdout


TRAIN = ["train", "--suite", "state-centric", "--domain", "gripper", "--method"]
SOLVED = """\
import sgp
from sgp.domains import all_domains
from sgp.methods import _installed
run = sgp.train("zero-change", "gripper", "state-centric")
problem = sgp.load_suite("state-centric").problems("gripper", "train")[0]
print(sgp.solve(problem, run.folder).outcome.value, [each.key for each in _installed()], len(all_domains()))
"""


BROKEN = {
    "import torch_geometric_of_the_future\n": "cannot be imported from broken:THING (ModuleNotFoundError: No module",
    "THING = (\n": "cannot be imported from broken:THING (SyntaxError",
    "OTHER = 1\n": "cannot be imported from broken:THING (AttributeError",
    "THING = 3\n": "names broken:THING, which is not what it should be: expected a",
    "raise RuntimeError('own')\n": "(RuntimeError: own); update or uninstall broken",
}
FIRST, *OTHERS = BROKEN


@pytest.mark.parametrize("code", [FIRST, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)])
def test_a_plugin_that_does_not_work_breaks_itself_alone(code, tmp_path):
    package(tmp_path, "broken", "methods", "mine", code)
    points = "".join(f"[sgp.{kind}]\nmine = broken:THING\n" for kind in ("methods", "domains", "encoders"))
    (tmp_path / "broken-1.0.dist-info" / "entry_points.txt").write_text(points)
    home = tmp_path / "home"
    for asked, kind in (
        ([*TRAIN, "mine"], "method"),
        (["generate", "--domain", "mine", "--size", "4"], "domain"),
        ([*TRAIN, "state-centric", "--set", "encoder=mine"], "encoder"),
    ):
        done = command(*asked, paths=[tmp_path], store=home)
        assert done.returncode == 2
        (line,) = [each for each in done.stderr.splitlines() if each]
        assert line.startswith(f"sgp: {kind} mine of package broken "), line
        assert BROKEN[code] in line
    if code != "THING = 3\n":
        return
    done = python("-c", SOLVED, paths=[tmp_path], SGP_HOME=home)
    assert done.stdout.startswith(f"solved {list(list_methods())} {len(all_domains())}"), done.stderr


def test_a_key_of_something_built_in_is_refused(tmp_path):
    package(tmp_path, "greedy-package", "methods", "zero_change")
    package(tmp_path, "other-package", "domains", "gripper")
    package(tmp_path, "third-package", "encoders", "wl")
    done = command(*TRAIN, "zero-change", paths=[tmp_path], store=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert "method zero-change of package greedy-package is refused: sgp has a method zero-change" in done.stderr
    listed = command("list", "domains", paths=[tmp_path], store=tmp_path / "home")
    assert "domain gripper of package other-package is refused: sgp has a domain gripper" in listed.stderr


def test_a_key_of_two_packages_is_refused_with_both_names(tmp_path):
    for name in ("one-package", "two-package"):
        package(tmp_path, name, "methods", "mine")
    done = command(*TRAIN, "mine", paths=[tmp_path], store=tmp_path / "home")
    assert done.returncode == 2
    assert "method mine is refused: packages one-package and two-package both have one of this key" in done.stderr
    assert "imported" not in done.stderr


@pytest.mark.slow
def test_a_package_that_stands_twice_on_the_path_is_one(tmp_path, installed, store):
    done = command("list", "methods", paths=[installed, shutil.copytree(installed, tmp_path / "again")], store=store)
    assert "open-goals" in done.stdout
    assert "refused" not in done.stderr
