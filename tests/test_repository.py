"""The files around the package say what is true."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import sgp
from sgp.methods import get_method
from sgp.methods.contract import Tunable
from sgp.planning.subject import PlannerName
from sgp.reports.papers.state_centric import SETTINGS
from sgp.reports.sheets import Sheet
from sgp.reports.tables import Line, cell, lines_of, measured, select

ROOT = Path(sgp.__file__).resolve().parents[1]
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


def test_environment_yml_installs_what_pyproject_lists():
    lines = (ROOT / "environment.yml").read_text().splitlines()
    (install,) = [line.strip() for line in lines if "-e ." in line]
    extras = re.search(r"\[(.*)\]", install).group(1).split(",")
    declared = PYPROJECT["project"]["optional-dependencies"]
    assert set(extras) <= set(declared)
    installed = names(PYPROJECT["project"]["dependencies"]).union(*(names(declared[extra]) for extra in extras))
    assert set(NAMED) <= installed
    (python,) = [re.search(r"python=(\S+)", line).group(1) for line in lines if "python=" in line]
    assert python in ("3.11", "3.12")
    assert PYPROJECT["project"]["requires-python"] == ">=3.11,<3.13"
    others = [
        line.strip("- ") for line in lines if line.startswith("  - ") and "python" not in line and "pip" not in line
    ]
    assert others == ["conda-forge"], "nothing is installed beside pip, so nothing can drift"


def test_versions_and_licence_agree():
    assert PYPROJECT["project"]["license"] == "GPL-3.0-or-later"
    assert "GNU GENERAL PUBLIC LICENSE" in (ROOT / "LICENSE").read_text()
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {PYPROJECT['project']['version']}" in citation
    assert "license: GPL-3.0-or-later" in citation
    assert any(
        requirement.startswith("torch") and "<2.14" in requirement
        for requirement in PYPROJECT["project"]["dependencies"]
    )


def test_the_readme_marks_its_two_command_lines():
    for what in ("demo", "test"):
        block = re.search(rf"<!-- newcomer: {what} -->\n```sh\n(.*?)```", README, re.DOTALL)
        assert block, what
        assert len(block.group(1).strip().splitlines()) == 1


def test_the_map_of_the_rooms_is_true():
    (block,) = re.findall(r"## The rooms\n.*?```\n(.*?)```", README, re.DOTALL)
    listed = []
    stack: list[tuple[int, str]] = []
    for line in block.splitlines():
        match = re.match(r"( *)(\S+)", line)
        if not match:
            continue
        indent, name = len(match.group(1)), match.group(2)
        while stack and stack[-1][0] >= indent:
            stack.pop()
        path = Path(*(part for _, part in stack), name)
        listed.append(str(path).rstrip("/"))
        if name.endswith("/"):
            stack.append((indent, name))
    missing = [name for name in listed if not (ROOT / name).exists() and name != "runs"]
    assert not missing
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    tops = {name.split("/")[0] for name in tracked} - {".gitignore", "LICENSE", "CITATION.cff"}
    assert tops <= {name.split("/")[0] for name in listed}, "every file and folder at the top is on the map"
    rooms = {f"sgp/{name.split('/')[1]}" for name in tracked if name.startswith("sgp/")} - {"sgp/py.typed"}
    assert rooms == {name for name in listed if name.startswith("sgp/") and name.count("/") == 1}


def coverage_scores():
    """The coverage of the bundled suite: what was measured and committed, and what the paper printed."""
    ours = [score for score in measured() if score.suite == "state-centric"]
    return ours, [score for score in sgp.published("state-centric") if score.table == "1"]


def test_the_results_show_the_committed_measurements():
    sheet = sgp.paper_sheet("state-centric", 1, coverage_scores()[0], splits=["extrapolation"])
    shown = PAGES["docs/results.md"]
    assert sheet.markdown().strip() in shown, "print it with 'sgp table 1 --splits extrapolation --markdown'"


def test_beside_table_1_stands_which_methods_were_tuned():
    shown = {score.method for score in coverage_scores()[0] if score.metric == "coverage"} - {"fast-downward"}
    assert {name for name in shown if isinstance(get_method(name), Tunable)} == {"contrastive-jumps"}
    assert "contrastive-jumps were tuned, on generated problems" in SETTINGS
    for text in (PAGES["docs/results.md"], sgp.paper_sheet("state-centric", 1, coverage_scores()[0]).markdown()):
        assert SETTINGS in text
    assert "its settings were tuned on generated problems, those of state-centric are its paper's" in README


def test_the_readme_shows_six_lines_of_the_committed_measurements():
    ours, theirs = coverage_scores()
    counts = {"blocksworld": "20", "gripper": "16", "logistics": "18", "visitall": "219 (131 distinct)"}
    planners = [each.planner for each in lines_of(theirs) if each.planner.method == "state-centric"]
    assert len(planners) == 8

    def line(title, scores, *planners):
        """Of several planners the one with the highest coverage, chosen in each domain."""
        cells = [[cell(select(scores, each, domain, "extrapolation")) for each in planners] for domain in counts]
        best = [max(found, key=lambda each: each.value) for found in cells]
        assert [each.count for each in best] == [20, 16, 18, 219]
        return title, *map(str, best)

    sheet = Sheet.of(
        "",
        ("planner", *(f"{domain}, n = {n}" for domain, n in counts.items())),
        [
            line("contrastive jumps", ours, Line("", PlannerName("contrastive-jumps", "aiw"))),
            line("state-centric, best of eight", ours, *(Line("", each) for each in planners)),
            line("as published", theirs, *(Line("state-centric", each) for each in planners)),
            line("nothing changes", ours, Line("", PlannerName("zero-change", "wl"))),
            line("a random unvisited successor", ours, Line("", PlannerName("random-successor", "unvisited"))),
            line("Fast Downward, LAMA's first plan", ours, Line("", PlannerName("fast-downward", "lama-first"))),
        ],
    )
    assert f"\n\n{sheet.markdown()}\n" in README, sheet.markdown()


def test_the_results_tell_what_contrastive_jumps_never_saw():
    unseen = {
        each.domain: f"{each.value:.4f}".removeprefix("0").rstrip("0")
        for each in measured()
        if (each.method, each.variant, each.split, each.metric, each.size)
        == ("contrastive-jumps", "aiw", "extrapolation", "unseen", None)
    }
    assert unseen == {"blocksworld": ".0009", "gripper": ".", "logistics": ".0145", "visitall": "."}
    said = f"{unseen['blocksworld']} of them in Blocksworld, none in Gripper and VisitAll, and {unseen['logistics']} in"
    assert said in PAGES["docs/results.md"]


def test_the_scaling_page_shows_what_was_measured():
    theirs = [score for score in sgp.published("dynamic-validation") if score.table == "1"]
    (block,) = re.findall(r"<!-- table: scaling -->\n(.*?)<!-- end of table -->", PAGES["docs/scaling.md"], re.DOTALL)
    expected = sgp.scaling_table(sgp.measured_scaling(), theirs).markdown()
    assert block == expected, "print it with 'sgp table scaling --markdown'"


def anchors(text):
    """What a link to a heading of a page ends with."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_pictures_and_pages_that_are_linked_exist(page):
    for link in re.findall(r"\]\(([^)]+)\)", FENCED.sub("", PAGES[page])):
        path, _, heading = link.partition("#")
        if path.startswith("reference/"):
            continue  # made with the site, which refuses a missing one
        found = (ROOT / page).parent.joinpath(path).resolve()
        assert found.is_file(), link
        if heading:
            assert heading in anchors(found.read_text()), link


def test_the_readme_is_read_to_its_end_and_leads_to_every_page():
    assert len(README.encode()) <= 10_500
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)", README))
    assert linked == {name for name in PAGES if name.startswith("docs/")} - {"docs/index.md"}


def test_no_sentence_stands_in_two_places():
    seen: dict[str, str] = {}
    for page, text in PAGES.items():
        for sentence in re.split(r"(?<=[.:;])\s+|\n", FENCED.sub("", text)):
            words = sentence.strip(" -*")
            if len(words.split()) > 6 and not words.startswith("|"):
                assert words not in seen, f"{page} and {seen.get(words)} say: {words}"
                seen[words] = page
