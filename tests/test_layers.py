"""Packages import downward only, and a domain's name occurs in its own file alone."""

import ast
from pathlib import Path

import pytest

import sgp
from sgp.cli.commands import app
from sgp.domains import all_domains
from sgp.methods import list_methods
from sgp.reports.papers import all_papers
from tests.conftest import python

ROOT = Path(sgp.__file__).parent

# Lowest layer first; packages of one layer do not import each other.
LAYERS = [
    {"errors", "drawing", "files", "installed", "lazy", "plugins", "wording"}
    | {"progress", "compilation", "ahead_of_time", "workers"},
    {"planning"},
    {"domains"},
    {"encoders", "models"},
    {"datasets"},
    {"policies"},
    {"training"},
    {"methods", "evaluation"},
    {"analysis", "viewer", "solving"},
    {"reports"},
    {"api"},
    {"experiments", "service"},
    {"cli", "engine", "contracts", "data", "viz"},
    {"__main__"},
]
LAYER_OF = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}
SAME_LAYER = {
    "files": {"errors"},
    "installed": {"errors"},
    "lazy": {"installed"},
    "plugins": {"errors"},
    "progress": set(),
    "workers": {"errors", "installed", "progress"},
    "ahead_of_time": {"errors", "compilation"},
}  # order within the lowest layer
NO_TORCH_OR_LEARNING = {"planning", "domains"}


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield path, parts[0], ast.parse(path.read_text())


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_package_has_a_layer():
    packages = {package for _, package, _ in modules()} - {"__init__"}
    assert packages == set(LAYER_OF)


def test_imports_run_downward_only():
    wrong = []
    for path, package, tree in modules():
        if package == "__init__":
            continue
        for name in imported(tree):
            parts = name.split(".")
            if parts[0] != "sgp" or len(parts) < 2 or parts[1] not in LAYER_OF or parts[1] == package:
                continue
            below = LAYER_OF[parts[1]] < LAYER_OF[package] or parts[1] in SAME_LAYER.get(package, ())
            if not below:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong


def test_one_method_does_not_import_another():
    methods = {key.replace("-", "_") for key in list_methods()}
    for path, package, tree in modules():
        if package == "methods":
            others = {f"sgp.methods.{name}" for name in methods - {path.stem}}
            assert not others & set(imported(tree)), path


def test_a_papers_key_stands_in_its_own_file_alone():
    """Other allowed places: the paper of a method, and experts named after their first users.

    A key that also names a suite or a method may occur where a command selects one of these.
    """
    keys = {paper.key for paper in all_papers()}
    other_things = {*sgp.list_suites(), *list_methods()}
    dashboard = [
        (path, "views", ast.parse(path.read_text())) for path in (ROOT.parent / "dashboard/views").glob("*.py")
    ]
    sources = ROOT.parent / "dashboard" / "sources.py"
    for path, package, tree in [*modules(), *dashboard, (sources, "sources", ast.parse(sources.read_text()))]:
        if package in ("methods", "domains") or path.parent.name == "papers" or path.name == "experts.py":
            continue
        chooses = package in ("cli", "contracts", "experiments", "views")
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in keys:
                allowed = chooses and node.value in other_things
                assert allowed, f"{path}:{node.lineno}"


def test_planning_and_domains_need_no_learning_library():
    for path, package, tree in modules():
        if package in NO_TORCH_OR_LEARNING:
            found = {name.split(".")[0] for name in imported(tree)}
            found -= {"pandas"} if path.name == "episode.py" else set()  # its table is made on request
            assert not found & {"torch", "xgboost", "wlplan", "pandas", "umap"}, path


def is_verb(package, node):
    """Whether a constant names one of the commands; `grid`, for example, is also a domain."""
    return package in ("cli", "experiments") and node.value in {each.name for each in app.registered_commands}


def test_a_domains_name_stands_in_its_own_file_alone():
    names = {alias for domain in all_domains() for alias in (domain.name, *domain.aliases)}
    scripts = {path.stem for path in ROOT.rglob("*.js")}  # `transport` is also the script of the player's buttons
    for path, package, tree in modules():
        if package == "domains":
            continue
        help_texts = {id(node) for node in ast.walk(tree) if isinstance(node, ast.Call) for node in node.args[1:]}
        constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        for node in constants:
            script = package == "viewer" and node.value in scripts
            allowed = script or id(node) in help_texts or is_verb(package, node)
            assert node.value not in names or allowed, f"{path}:{node.lineno}"


def test_no_pickle_anywhere():
    for path, _, tree in modules():
        assert not {"pickle", "dill", "shelve", "marshal"} & {name.split(".")[0] for name in imported(tree)}, path
        text = path.read_text()
        assert "torch.load(" not in text
        assert "joblib.dump" not in text


def test_the_facade_is_lazy():
    code = "import sgp, sys; print({'torch', 'pandas', 'pymimir', 'wlplan', 'xgboost'} & set(sys.modules))"
    assert python("-c", code).stdout == "set()\n"
    assert set(sgp.__all__) <= set(dir(sgp))


def test_every_public_name_can_be_imported_and_there_are_few():
    spaces = [sgp, sgp.analysis, sgp.data, sgp.experiments, sgp.viz]
    names = [(space, name) for space in spaces for name in space.__all__]
    assert all(hasattr(space, name) for space, name in names)
    assert len(names) == len({name for _, name in names}) <= 110, "a name is in one namespace alone"
    assert len(sgp.__all__) <= 60
    with pytest.raises(AttributeError, match=r"'sgp.viz' has no attribute 'nothing'"):
        _ = sgp.viz.nothing
