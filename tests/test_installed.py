import importlib.metadata
import re

import pytest

from sgp.datasets.store import home
from sgp.errors import MissingLibrary, StoreError, expected_one_of
from sgp.installed import DISTRIBUTION, bundled, lacking, missing, requirement, version
from tests.conftest import ROOT, python


def test_a_checkout_finds_its_own_folders_and_a_wheel_those_inside_it(tmp_path, monkeypatch):
    assert bundled("data") == ROOT / "data"
    inside = tmp_path / "sgp" / "bundled" / "data"
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path / package)
    with pytest.raises(StoreError, match="folder 'data' of the package is missing"):
        bundled("data")
    inside.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    assert bundled("data") == inside


def test_runs_lie_in_the_users_folder_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.setenv("SGP_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert home() == tmp_path / "share" / "sgp"


def test_a_library_is_asked_for_by_the_smallest_extra_that_brings_it(monkeypatch):
    lines = ["numpy>=1", 'ray>=2; extra == "all"', 'torch; extra == "all"', 'torch; extra == "networks"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    assert requirement("torch") == "sgp-planning[networks]"
    assert requirement("ray") == "sgp-planning[all]"
    assert requirement("PIL") == "pillow"
    assert 'pip install "sgp-planning[networks]"' in lacking("the LSTM", "torch")


def test_no_text_names_the_distribution_of_another_project():
    files = [file for folder in ("sgp", "dashboard", "docs", "notebooks") for file in (ROOT / folder).rglob("*")]
    texts = [file for file in [*files, *ROOT.glob("*.*")] if file.suffix in (".py", ".md", ".toml", ".yml", ".txt")]
    foreign = re.compile(r"(?<![\w.-])sgp\[\w|pip install [\"']?sgp(?![\w-])")
    assert len(texts) > 200
    assert [file for file in texts if foreign.search(file.read_text())] == []


def test_a_missing_library_is_told_and_a_missing_module_of_our_own_is_not():
    assert isinstance(missing("a plot", ModuleNotFoundError(name="plotly.io")), MissingLibrary)
    assert missing("a plot", ModuleNotFoundError(name="sgp.nothing")) is None
    assert missing("a plot", ModuleNotFoundError()) is None


@pytest.mark.parametrize("library", ["torch", pytest.param("plotly", marks=pytest.mark.slow)])
def test_the_facade_and_the_command_line_name_the_extra(library, tmp_path):
    blocked = f"import sys; sys.modules['{library}'] = None\n"
    asked = {"torch": "import sgp; sgp.get_method('gnn-value')", "plotly": "import sgp; sgp.viz.scaling_curves"}[
        library
    ]
    found = python("-c", blocked + asked)
    assert (
        f"MissingLibrary: {'method gnn-value' if library == 'torch' else 'sgp.viz.scaling_curves'} needs"
        in found.stderr
    )
    if library == "plotly":
        words = ["sgp", "table", "--report", str(tmp_path / "report")]
        asked = f"sys.argv = {words}\nfrom sgp.cli import main\nmain()"
        found = python("-c", blocked + asked)
        assert found.returncode == 2
        assert found.stderr.startswith("sgp: sgp table needs the library plotly")


def test_boosted_trees_need_no_torch(tmp_path):
    train = "import sgp; sgp.train('state-centric', 'gripper', 'state-centric', {variant!r}, overrides={settings})"
    trees = train.format(variant="wl-xgboost-delta", settings={"boosting.rounds": 2, "boosting.depth": 2})
    blocked = (
        "from importlib.machinery import PathFinder as Finder; find = Finder.find_spec\n"
        "Finder.find_spec = lambda name, *others: None if name == 'torch' else find(name, *others)\n"
    )
    assert (done := python("-c", blocked + trees, SGP_HOME=tmp_path)).returncode == 0, done.stderr
    done = python("-c", blocked + train.format(variant="wl-lstm-delta", settings={}), SGP_HOME=tmp_path)
    assert "MissingLibrary: the LSTM needs the library torch" in done.stderr


@pytest.mark.slow
def test_planning_with_contrastive_jumps_imports_no_network_and_no_dashboard(tmp_path):
    heavy = ["torch", "xgboost", "wlplan", "pandas", "plotly", "streamlit", "umap", "sklearn"]
    problem = ROOT / "data/benchmarks/state-centric/gripper"
    files = [str(problem / "domain.pddl"), str(sorted((problem / "train").glob("*.pddl"))[0])]
    program = (
        f"import sys\nsys.modules.update(dict.fromkeys({heavy}))\nsys.argv = ['sgp', 'solve', *{files}]\n"
        "from sgp.cli import main\nmain()"
    )
    found = python("-c", program)
    assert found.returncode == 0, found.stderr
    assert "VAL accepts the plan" in found.stderr


def test_the_version_is_that_of_the_distribution(monkeypatch):
    assert version() == importlib.metadata.version(DISTRIBUTION)

    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    assert version() == "unknown"


def test_a_name_that_is_nearly_one_or_the_end_of_one_is_suggested():
    assert expected_one_of(["train", "solve"], "trian").endswith("(did you mean 'train'?)")
    assert expected_one_of(["boosting.rounds", "mode"], "rounds").endswith("(did you mean 'boosting.rounds'?)")
    assert expected_one_of(["train"], "zzz") == "expected one of train"
