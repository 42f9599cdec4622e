"""The notebooks run, their pairs agree, outputs have static pictures, and they use the public API and no methods."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pandas as pd
import pytest

import sgp
from sgp.domains import all_domains

jupytext = pytest.importorskip("jupytext", reason="jupytext is missing; install the extra 'notebooks'")
new_output = pytest.importorskip("nbformat.v4").new_output

ROOT = Path(sgp.__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
HERE = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"sgp"}  # tests, benchmarks, ...: not to be imported
LEARNING = {"backward", "zero_grad", "partial_fit"}  # methods called by a training loop
FORMULA = re.compile(r"\$[^\s$](?:[^$\n]*[^\s$])?\$|\\\(|\\\[")
SPACES = {"analysis", "data", "experiments", "viz"}
DOMAINS = {alias for domain in all_domains() for alias in (domain.name, *domain.aliases)}


def cells(notebook):
    """Kinds, text and tags of the cells."""
    return [(cell.cell_type, cell.source.strip(), cell.metadata.get("tags", [])) for cell in notebook.cells]


def faults(notebook):
    """Return the faults of a notebook of the repository, a sentence each."""
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "the kernel is not python3"
    if "widgets" in notebook.metadata:
        yield "the state of widgets is kept"
    code = [(number, cell) for number, cell in enumerate(notebook.cells, start=1) if cell.cell_type == "code"]
    if not notebook.cells[0].source.startswith("# "):
        yield "the first cell is no title"
    tagged = [cell for _, cell in code if "parameters" in cell.metadata.get("tags", [])]
    if tagged != [code[0][1]]:
        yield "the first code cell, and no other, is to be tagged 'parameters'"
    elif "FAST = True" not in {line.partition("#")[0].strip() for line in tagged[0].source.splitlines()}:
        yield "the cell 'parameters' does not say FAST = True"
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "markdown" and FORMULA.search(cell.source):
            yield f"cell {number} has a formula in TeX, which the site cannot draw without a network: use plain text"
    executed = [cell.execution_count is not None for _, cell in code if cell.source]
    if any(executed) and not all(executed):
        yield f"code cell {1 + executed.index(False)} was changed and not executed"
    for number, cell in code:
        yield from (f"cell {number} {fault}" for output in cell.outputs for fault in unreadable(output))
        try:
            tree = ast.parse(cell.source)
        except SyntaxError:
            yield f"cell {number} is not plain Python"
        else:
            yield from (f"cell {number} {fault}" for fault in misplaced(tree))


def unreadable(output):
    """Return why an output cannot be read where no code runs."""
    formats = output.get("data", {})
    if output.output_type == "error":
        yield "ended with an error"
    if "application/vnd.jupyter.widget-view+json" in formats:
        yield "has a widget in place of a picture"
    if "application/vnd.plotly.v1+json" in formats and "image/png" not in formats:
        yield "has a plot without a picture"


def misplaced(tree):
    """Return code that belongs in the package or bypasses the facade."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (f"imports {alias.name}" for alias in names if outside_the_facade(alias.name))
            case ast.ImportFrom(module="sgp", names=names):
                yield from (f"imports sgp.{alias.name}" for alias in names if alias.name not in sgp.__all__)
            case ast.ImportFrom(module=module) if module is None or outside_the_facade(module):
                yield f"imports from {module}"
            case ast.Attribute(value=ast.Name(id="sgp"), attr=name) if name not in {*sgp.__all__, *SPACES}:
                yield f"uses sgp.{name}, which the facade does not have"
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sgp"), attr=space), attr=name) if (
                space in SPACES and name not in getattr(sgp, space).__all__
            ):
                yield f"uses sgp.{space}.{name}, which the facade does not have"
            case ast.ClassDef(name=name):
                yield f"defines the class {name}"
            case ast.For() | ast.While() if trains(node):
                yield "trains in a loop"
            case ast.If(test=test) | ast.IfExp(test=test) if asks_for_a_domain(test):
                yield "branches on a domain's name"


def outside_the_facade(module):
    top, _, rest = module.partition(".")
    return top in HERE or (top == "sgp" and rest != "")


def trains(loop):
    """Whether a loop runs over epochs, or calls a method that updates a model."""
    head = [loop.target, loop.iter] if isinstance(loop, ast.For) else [loop.test]
    names = [node.id for part in head for node in ast.walk(part) if isinstance(node, ast.Name)]
    called = {node.func.attr for node in ast.walk(loop) if isinstance(node, ast.Call) and hasattr(node.func, "attr")}
    return any("epoch" in name.lower() for name in names) or bool(called & LEARNING)


def asks_for_a_domain(test):
    compared = [part for node in ast.walk(test) if isinstance(node, ast.Compare) for part in ast.walk(node)]
    return bool(DOMAINS & {part.value for part in compared if isinstance(part, ast.Constant)})


@pytest.fixture(scope="session")
def notebooks_home(shared_home):
    """A store shared by all notebooks of a test run, as a reader's notebooks share one."""
    return shared_home.with_name("notebooks-home")


@pytest.mark.notebooks
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_runs_on_the_fast_path(name, notebooks_home, tmp_path, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(notebooks_home))
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from build import executed

    notebook = executed(FOLDER / f"{name}.ipynb", tmp_path, execute=True)
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code" and cell.source)


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_and_its_script_agree_and_keep_the_rules(name):
    script, notebook = (jupytext.read(FOLDER / f"{name}.{ending}") for ending in ("py", "ipynb"))
    assert cells(script) == cells(notebook), f"run 'python docs/notebook_outputs.py {name}'"
    assert not [*faults(notebook)]


def test_every_notebook_has_its_script():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_small(name):
    assert (FOLDER / f"{name}.ipynb").stat().st_size <= 320_000


def listed():
    """Paper, table and notebook of each line of the list in docs/notebooks.md."""
    text = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ([\w-]+) \| ([^|]+) \| [^|]+ \| .*\(\.\./notebooks/(\w+)\.ipynb\)", text, re.MULTILINE)
    return [(paper, number, name) for paper, numbers, name in lines for number in numbers.split(", ")]


def test_the_list_has_every_published_table():
    names = [file.stem for file in (ROOT / "data" / "published").glob("*.csv") if file.stem != "notes"]
    published = pd.concat([sgp.load_scores(f"published/{name}") for name in names])
    assert {(paper, number) for paper, number, _ in listed()} == {*zip(published.paper, published.table, strict=True)}


@pytest.mark.parametrize(("paper", "number", "name"), listed())
def test_a_listed_table_is_shown_in_its_notebook(paper, number, name):
    code = [cell.source for cell in jupytext.read(FOLDER / f"{name}.py").cells if cell.cell_type == "code"]
    tables = set[str]()
    for source in code:
        constants = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
        if "paper_table(" in source and paper in constants:
            ranges = re.findall(r"range\((\d+), (\d+)\)", source)
            tables |= {*map(str, constants)} | {
                str(each) for first, end in ranges for each in range(int(first), int(end))
            }
    assert number in tables


STAND_IN = """\
# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A title

# %% tags=["parameters"]
FAST = True  # two cores

# %%
import numpy as np
import sgp
from sgp import Task

rows = [row for row in sgp.load_scores().itertuples() if row.domain == "gripper"]
for row in rows:
    print(row.value)
"""


@pytest.fixture
def stand_in():
    notebook = jupytext.reads(STAND_IN, fmt="py:percent")
    assert not [*faults(notebook)]
    return notebook


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("import sgp.planning", "cell 3 imports sgp.planning"),
        ("from sgp.planning.task import Task", "cell 3 imports from sgp.planning.task"),
        ("from sgp import planning", "cell 3 imports sgp.planning"),
        ("from . import other", "cell 3 imports from None"),
        ("import tests.conftest", "cell 3 imports tests.conftest"),
        ("sgp.planning.task", "cell 3 uses sgp.planning, which the facade does not have"),
        ("class Planner: pass", "cell 3 defines the class Planner"),
        ("def made():\n    class Inner: pass", "cell 3 defines the class Inner"),
        ("for epoch in range(3): pass", "cell 3 trains in a loop"),
        ("while epochs: epochs -= 1", "cell 3 trains in a loop"),
        ("for batch in data: model(batch).backward()", "cell 3 trains in a loop"),
        ('if domain == "gripper": width = 2', "cell 3 branches on a domain's name"),
        ('width = 2 if row.domain in ("blocks", "logistics") else 1', "cell 3 branches on a domain's name"),
        ("%matplotlib inline", "cell 3 is not plain Python"),
    ],
)
def test_what_belongs_elsewhere_is_found(stand_in, text, fault):
    stand_in.cells[2].source = text
    assert [*faults(stand_in)] == [fault]


WIDGET = "application/vnd.jupyter.widget-view+json"


def shown(*formats):
    """An output of a cell in these formats."""
    return new_output("display_data", dict.fromkeys(formats, ""))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda n: n.cells[2].update(execution_count=1), "code cell 1 was changed and not executed"),
        (lambda n: n.cells[2].update(outputs=[shown("application/vnd.plotly.v1+json")]), "a plot without a picture"),
        (lambda n: n.cells[2].update(outputs=[shown(WIDGET, "text/plain")]), "has a widget in place of a picture"),
        (lambda n: n.cells[2].update(outputs=[new_output("error", ename="E")]), "ended with an error"),
        (lambda n: n.cells[1].metadata.pop("tags"), "tagged"),
        (lambda n: n.cells[1].update(source="FAST = False"), "FAST = True"),
        (lambda n: n.cells[0].update(source="# A title\n\nT is $s_0, \\dots$ long."), "formula"),
        (lambda n: n.metadata.pop("kernelspec"), "kernel"),
    ],
)
def test_outputs_parameters_and_formulas_are_found(stand_in, change, fault):
    change(stand_in)
    (found,) = faults(stand_in)
    assert fault in found
