"""Problems and runs shared by many tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import pytest

import sgp
from sgp.compilation import loaded_extension
from sgp.datasets.runs import Origin
from sgp.datasets.store import locked
from sgp.methods import REGISTERED
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from sgp.workers import ONE_THREAD
from tests.browsing import ARGUMENTS, serving

os.environ["SGP_CHECK_KERNELS"] = "1"
os.environ.update({**ONE_THREAD, **os.environ})  # other processes compute beside the tests; threads would wait


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels before the test processes start, unless they are compiled."""
    if not hasattr(config, "workerinput") and loaded_extension() is None:
        print("compiling kernels, once for these sources, which takes a minute", flush=True)
        subprocess.run([sys.executable, "-m", "sgp.ahead_of_time"], check=True)


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


MODULES = {"browser": ["playwright"], "cluster": ["ray"], "oracle": ["unified_planning"]}
MODULES["notebooks"] = ["ipykernel", "jupytext", "nbclient"]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker's requirements are missing, or fail it where the variable CI is set."""
    for marker, modules in MODULES.items():
        if item.get_closest_marker(marker) is None:
            continue
        lack = [f"module '{each}' (pip install -e '.[dev]')" for each in modules if find_spec(each) is None]
        if marker == "browser" and CHROMIUM is None:
            lack.append("chromium on the path (Debian's package 'chromium')")
        if lack:
            reason = f"tests marked '{marker}' cannot run; missing: {', '.join(lack)}"
            if os.environ.get("CI"):
                pytest.fail(reason, pytrace=False)
            pytest.skip(reason)


ROOT = Path(sgp.__file__).resolve().parents[1]
BLOCKS = sgp.get_domain("blocksworld").models["untyped"]

# Types with a hierarchy, a constant, a negative precondition and an inequality.
COURIER = """\
(define (domain courier)
  (:requirements :strips :typing :negative-preconditions :equality)
  (:types vehicle parcel - thing place - object van bike - vehicle)
  (:constants depot - place)
  (:predicates (at ?x - thing ?p - place) (in ?q - parcel ?v - vehicle) (closed ?p - place) (road ?a ?b - place))
  (:action drive
    :parameters (?v - vehicle ?a ?b - place)
    :precondition (and (at ?v ?a) (road ?a ?b) (not (closed ?b)) (not (= ?b depot)))
    :effect (and (at ?v ?b) (not (at ?v ?a))))
  (:action load
    :parameters (?q - parcel ?v - van ?p - place)
    :precondition (and (at ?q ?p) (at ?v ?p))
    :effect (and (in ?q ?v) (not (at ?q ?p))))
  (:action unload
    :parameters (?q - parcel ?v - vehicle ?p - place)
    :precondition (and (in ?q ?v) (at ?v ?p))
    :effect (and (at ?q ?p) (not (in ?q ?v)))))
"""
COURIER_PROBLEM = """\
(define (problem courier-1) (:domain courier)
  (:objects v1 - van b1 - bike q1 - parcel shop mill - place)
  (:init (at v1 depot) (at b1 shop) (at q1 depot) (closed mill)
         (road depot shop) (road shop depot) (road depot mill) (road shop mill))
  (:goal (and (at q1 shop) (not (in q1 v1)))))
"""


@pytest.fixture
def registered():
    """Forget the policies that a test registers in this process."""
    yield
    REGISTERED.clear()


def pddl_problem(domain: str, objects: str, init: str, goal: str) -> Problem:
    """Return a problem of the domain with this text."""
    name = domain.split()[2].rstrip(")")
    text = f"(define (problem p) (:domain {name}) (:objects {objects}) (:init {init}) (:goal {goal}))"
    return Problem("p", domain, text)


# Its objects occur in no atom.
LONE_DOMAIN = """(define (domain lone) (:predicates (done) (used ?x))
  (:action take :parameters (?x) :precondition () :effect (done)))"""
LONE = pddl_problem(LONE_DOMAIN, "a b", "", "(done)")


def blocks_problem(blocks: str, init: str, goal: str) -> Problem:
    text = (
        f"(define (problem p) (:domain blocksworld)\n (:objects {blocks})\n"
        f" (:init (handempty) {init})\n (:goal (and {goal})))"
    )
    return Problem("p", BLOCKS, text)


@pytest.fixture
def two_blocks() -> Task:
    """a and b on the table, goal a on b: two actions, pick-up a and stack a b."""
    return Task(blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)"))


@pytest.fixture
def three_blocks() -> Task:
    """c on a, b on the table; goal a on b, b on c: Sussman's anomaly, six actions."""
    return Task(blocks_problem("a b c", "(ontable a) (on c a) (clear c) (ontable b) (clear b)", "(on a b) (on b c)"))


@pytest.fixture
def courier() -> Task:
    return Task(Problem("courier-1", COURIER, COURIER_PROBLEM))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store."""
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store for the whole test run, shared by all of its worker processes."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-home"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="module")
def in_shared_home(shared_home: Path) -> Iterator[Path]:
    """Use the shared store, for modules whose tests may find the runs of other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGP_HOME", str(shared_home))
        yield shared_home


def python(*words, paths=(), **options) -> subprocess.CompletedProcess:
    """Run Python on the package and other folders; options of upper case are variables of its environment."""
    own = {name: str(value) for name, value in options.items() if name.isupper()}
    path = os.pathsep.join(map(str, [*paths, ROOT]))
    given = {**os.environ, "PYTHONPATH": path, "SGP_PROGRESS": "0", **own}
    others = {name: value for name, value in options.items() if name not in own}
    return subprocess.run([sys.executable, *map(str, words)], env=given, capture_output=True, text=True, **others)


# Small enough to train within a second.
QUICK = {"boosting.rounds": "12", "boosting.depth": "4", "lstm.training.epochs": "3", "lstm.shape.hidden": "32"}
QUICK_LABELS = {"labels.states": "60", "labels.space": "3000"}
QUICK_GNN = {"shape.layers": "2", "shape.hidden": "8", "training.epochs": "2", "training.learning_rate": "0.01"}
QUICK_TREES = {
    **{"shape.layers": "2", "shape.hidden": "8", "labels.states": "40", "labels.space": "3000"},
    **{"training.epochs": "2", "training.steps": "3", "training.batch": "8", "training.learning_rate": "0.01"},
    **{"training.compared": "8", "learning.trajectories": "2", "learning.jumps": "4"},
}
QUICK_ACTIONS = {
    **{"shape.layers": "2", "shape.hidden": "16", "shape.heads": "2", "labels.states": "60"},
    **{"labels.space": "3000", "training.epochs": "2", "training.steps": "3", "training.batch": "8"},
}
QUICK_VIEWS = {
    **{"shape.layers": "2", "shape.hidden": "16", "shape.heads": "2", "training.epochs": "2", "training.steps": "2"},
    **{"training.batch": "4", "training.compared": "4", "training.space": "3000", "training.alone": "0"},
}
QUICK_OF = {
    "state-centric": QUICK,
    "contrastive-delta": {"loss.iterations": "20"},
    "contrastive-jumps": QUICK_LABELS,
    "gnn-value": QUICK_GNN,
    "aiw-ad": QUICK_TREES,
    "nameless": QUICK_ACTIONS,
    "symt": QUICK_VIEWS,
    "embedplan": {"training.epochs": "3"},
}


def origin_of(method, training, data) -> Origin:
    """Return the origin of a run that is saved without the facade."""
    return Origin(asdict(training), data.domains, data.facts, "cpu", method.libraries)


@pytest.fixture(scope="session")
def quick_run(shared_home: Path):
    """Train a method on a bundled domain with few rounds; each run is trained once for all worker processes."""

    def train(method: str, domain: str, variant: str | None = None) -> sgp.Run:
        lock = shared_home / f".{method}-{domain}-{variant}"
        lock.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch, locked(lock):
            patch.setenv("SGP_HOME", str(shared_home))
            overrides = QUICK_OF.get(method, {})
            return sgp.train(method, domain, "state-centric", variant, device="cpu", overrides=overrides)

    return train


@pytest.fixture(scope="module")
def browser():
    """Headless chromium, one per module, because its driver occupies the thread's event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory):
    """Address of a dashboard that runs with an empty user store."""
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found
