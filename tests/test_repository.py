import re
import subprocess
import tomllib
from itertools import product
from pathlib import Path
from statistics import mean

import pandas as pd
import pytest
from packaging.requirements import Requirement

import sgp
from sgp.evaluation.attempts import read_attempts
from sgp.evaluation.scores import read_scores, select
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
}
FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMED = ["jupyterlab", "streamlit", "plotly", "wlplan", "pyperplan", "xgboost", "torch", "umap-learn", "pandas"]


def names(requirements):
    return {re.match(r"[A-Za-z0-9._-]+", requirement).group().lower() for requirement in requirements}


def requirements_of(*extras):
    """Return the requirements of the package and some extras, nested extras included."""
    found = [] if extras else list(PYPROJECT["project"]["dependencies"])
    for extra in extras:
        for line in PYPROJECT["project"]["optional-dependencies"][extra]:
            inner = re.fullmatch(r"sgp-planning\[(.*)\]", line)
            found += requirements_of(*inner.group(1).split(",")) if inner else [line]
    return found


def test_environment_yml_installs_what_pyproject_lists():
    lines = (ROOT / "environment.yml").read_text().splitlines()
    (install,) = [line.strip() for line in lines if "-e ." in line]
    extras = re.search(r"\[(.*)\]", install).group(1).split(",")
    assert set(NAMED) <= names(requirements_of() + requirements_of(*extras))
    (python,) = [re.search(r"python=(\S+)", line).group(1) for line in lines if "python=" in line]
    assert python in ("3.11", "3.12")
    assert PYPROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    others = [line.strip("- ") for line in lines if re.match("  - (?!.*(python|pip))", line)]
    assert others == ["conda-forge"], "nothing is installed beside pip, so nothing can drift"


def test_versions_and_licence_agree():
    assert PYPROJECT["project"]["license"] == "GPL-3.0-or-later"
    assert "GNU GENERAL PUBLIC LICENSE" in (ROOT / "LICENSE").read_text()
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {PYPROJECT['project']['version']}" in citation
    assert "license: GPL-3.0-or-later" in citation
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert f"## {PYPROJECT['project']['version']}, " in changes
    assert any(line.startswith("torch") and "<2.14" in line for line in requirements_of("networks"))


def test_the_core_is_light_and_all_has_every_extra_of_a_user():
    heavy = {"torch", "xgboost", "wlplan", "streamlit", "jupyterlab", "plotly", "ray", "sentence-transformers"}
    assert not heavy & names(requirements_of())
    assert heavy <= names(requirements_of("all"))
    extras = set(PYPROJECT["project"]["optional-dependencies"]) - {"all", "dev", "site"}
    for extra in extras:
        assert set(requirements_of(extra)) <= set(requirements_of("all")), extra


def test_the_wheel_brings_what_the_package_looks_for():
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"dashboard": "sgp/bundled/dashboard", "data": "sgp/bundled/data"}


def test_the_constraints_name_every_library_in_a_version_that_is_asked_for():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    extras = PYPROJECT["project"]["optional-dependencies"]
    for requirement in map(Requirement, requirements_of() + requirements_of(*extras)):
        assert requirement.specifier.contains(pinned[requirement.name.lower()]), requirement


def test_what_is_installed_before_a_commit_are_tools_of_the_extra_dev():
    hooks = re.findall(r"entry: (\S+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert hooks
    assert set(hooks) <= names(requirements_of("dev"))


def test_the_readme_marks_its_two_command_lines():
    for what in ("demo", "test"):
        block = re.search(rf"<!-- newcomer: {what} -->\n```sh\n(.*?)```", README, re.DOTALL)
        assert block, what
        assert len(block.group(1).strip().splitlines()) == 1


def test_the_repository_layout_is_complete():
    (block,) = re.findall(r"## Repository layout\n.*?```\n(.*?)```", README, re.DOTALL)
    listed, folders = set(), {}
    for spaces, name in re.findall(r"^( *)(\S+)", block, re.MULTILINE):
        folders = {indent: folder for indent, folder in folders.items() if indent < len(spaces)} | {len(spaces): name}
        listed.add("".join(folders.values()).rstrip("/"))
    assert [name for name in listed if not (ROOT / name).exists()] == []
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    tops = {name.split("/")[0] for name in tracked} - {".gitignore", "LICENSE", "CITATION.cff"}
    assert tops <= {name.split("/")[0] for name in listed}, "every file and folder at the top is on the map"
    packages = {f"sgp/{name.split('/')[1]}" for name in tracked if name.startswith("sgp/")}
    packages -= {"sgp/py.typed", *(name for name in packages if name.endswith(".pyi"))}
    assert packages == {name for name in listed if name.startswith("sgp/") and name.count("/") == 1}


def anchors(text):
    """Return the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_pictures_and_pages_that_are_linked_exist(page):
    for link in re.findall(r"\]\(([^)]+)\)", FENCED.sub("", PAGES[page])):
        path, _, heading = link.partition("#")
        if path.startswith("reference/"):
            continue  # made with the site, whose build fails if one is missing
        found = (ROOT / page).parent.joinpath(path).resolve()
        assert found.is_file(), link
        if heading:
            assert heading in anchors(found.read_text()), link


def test_the_readme_leads_to_every_page():
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)", README))
    assert linked == {name for name in PAGES if name.startswith("docs/")} - {"docs/index.md"}


def test_every_page_of_the_dashboard_stands_in_its_docs_with_its_pictures():
    text = (ROOT / "docs" / "dashboard.md").read_text()
    pages = re.findall(r'VIEWS / "(\w+)\.py", title="([^"]+)"', (ROOT / "dashboard" / "app.py").read_text())
    assert len(pages) == len(list((ROOT / "dashboard" / "views").glob("*.py")))
    for name, title in pages:
        for size, theme in product(("1366x768", "1920x1080"), ("light", "dark")):
            picture = f"pictures/{name}-{size.partition('x')[0]}-{theme}.webp"
            assert f"![{title}, {size}, {theme}]({picture})" in text
            assert (ROOT / "docs" / picture).is_file()


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import measured

    return measured


def test_pages_whose_tables_differ_are_named_and_mended(measured, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(measured.SOURCES, "stand-in", lambda: "| .94 |\n")
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: stand-in -->\n| .93 |\n\n<!-- end -->\n")
    assert measured.main(True, [page]) == 1
    assert "page.md" in capsys.readouterr().err
    assert "| .93 |" in page.read_text(), "a check writes nothing"
    assert measured.main(False, [page]) == 0
    assert "| .94 |" in page.read_text()
    assert measured.main(True, [page]) == 0


def test_every_table_is_shown_and_every_block_ends(measured):
    texts = [path.read_text() for path in measured.PAGES]
    shown = [match["name"] for text in texts for match in measured.BLOCK.finditer(text)]
    assert sorted(shown) == sorted(measured.SOURCES)
    assert sum(text.count("<!-- measured:") for text in texts) == len(shown)


def test_every_measured_file_has_date_and_cores():
    tracked = subprocess.run(["git", "ls-files", "data/measured"], cwd=ROOT, capture_output=True, text=True).stdout
    for name in tracked.split():
        if not name.endswith(".csv") or Path(name).name.startswith(("attempts-", "selection-")):
            continue  # these have one line for each attempt or trial
        notes = pd.read_csv(ROOT / name, dtype=str).note
        wrong = {note for note in notes if not re.search(r"\d{4}-\d\d-\d\d, \d+ cores", note)}
        assert wrong <= {"kept results of Fast Downward"}, name


@pytest.mark.parametrize("suite", ["harder", "state-centric"])
def test_committed_coverage_is_that_of_the_attempts_and_counts_distinct_problems(suite):
    tried = {}
    for row in read_attempts(ROOT / f"data/measured/attempts-{suite}.csv").itertuples():
        tried.setdefault((row.planner, row.domain, row.split, row.seed), []).append(row)
    manifest = sgp.load_suite(suite)
    scores = select(read_scores(ROOT / f"data/measured/scores-{suite}.csv"), metric="coverage", size=None)
    assert len(scores) == len(tried)
    for score in scores.itertuples():
        entries = {e.name: e for e in manifest.domains[score.domain].splits[score.split]}
        rows = [row for row in tried[score.planner, score.domain, score.split, score.seed] if row.problem in entries]
        assert {row.problem: row.like for row in rows} == {name: each.like for name, each in entries.items()}
        assert score.value == pytest.approx(mean(row.solved for row in rows))
        assert (score.n, score.n_distinct) == (len(rows), sum(not each.like for each in entries.values()))


def test_every_row_of_suite_harder_was_measured_with_every_seed():
    coverage = select(read_scores(ROOT / "data/measured/scores-harder.csv"), metric="coverage")
    seeds = {place: tuple(rows.seed) for place, rows in coverage.groupby(["domain", "split"])}
    places = [(name, row) for name, domain in sgp.load_suite("harder").domains.items() for row in domain.splits]
    assert seeds == dict.fromkeys(places, (13, 14, 15, 16, 17))


def test_the_rows_that_suite_selection_dropped_were_solved_by_every_trial():
    trials = pd.read_csv(ROOT / "data/measured/selection-contrastive-jumps.csv")
    dropped = {"gripper 20-balls", "visitall 8x8"}
    assert set(trials[trials.row.isin(dropped)].row_coverage) == {1.0}
    present = {f"{name} {row}" for name, domain in sgp.load_suite("selection").domains.items() for row in domain.splits}
    assert set(trials.row) - present == dropped
