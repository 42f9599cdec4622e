"""Every number that README and docs tell comes from a file of measurements, and is what the file says."""

from __future__ import annotations

import csv
import re
import subprocess
from pathlib import Path

import pytest

import sgp
from sgp.errors import InputError
from sgp.reports.against_lama import write_against
from tests.reports.test_against_lama import tried

ROOT = Path(sgp.__file__).resolve().parents[1]
PAGES = {path.name: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
NOTEBOOKS = {path.name: path for path in sorted((ROOT / "notebooks").glob("*.py"))}
CELL = re.compile(r"^# %% \[markdown\]\n(.*?)(?=^# %%|\Z)", re.DOTALL | re.MULTILINE)
# Limits, settings, goals and versions, which nobody measured, as their pages have them.
GIVEN = {
    "README.md": ["Python 3.11 or 3.12", "LAMA has 60 s", "GPL-3.0"],
    "installing.md": ["Python 3.11 or 3.12"],
    "dashboard.md": ["farther than 99 % of them", "within 4 s", "within 250 ms", "500 ms at p95", "within 500 ms"],
    "data.md": ["for 60 s", "for 300 s", "for 2 s", "within 10 s", "CDLA-Permissive-2.0"],
    "design.md": ["95 %"],
    "results.md": ["LAMA, 60 s each"],
    "retrieval.md": ["the 95 % interval by instances", ".5 as by a coin"],
    "scaling.md": [
        "20 minutes and 64 GB scaled to 60 s and 8 GB",
        "at most .3 of a size",
        "within .05 with confidence .9",
        "below .3",
        "at most 15 % of problems have a plan of L + n actions at all (a test computes it)",
        "best in 10 s",
        "34 x 20 s a size",
    ],
    "settings.md": ["within .005", "by .002 of quality", "80 % of the available memory", "64 MB at a time"],
    "00_start.py": ["the 95 % interval"],
    "01_the_method.py": ["An entry of 0.4"],
    "02_data.py": ["A* with LM-cut for 60 s"],
    "03_table_1.py": ["1 - .9^r"],
    "08_scaling.py": [
        "a planner that solves 4 of 4 may fail on half",
        "5 of 5 is compatible",
        "with confidence .9",
        "within epsilon = .05",
        "coverage is below .3",
        "asks for epsilon = .1",
        "the threshold of .3",
    ],
}


@pytest.fixture
def docs(monkeypatch):
    """The programs of the folder `docs`."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import measured

    return measured


@pytest.mark.parametrize("page", PAGES)
def test_what_was_measured_stands_as_the_files_have_it(docs, page):
    text = PAGES[page].read_text()
    assert docs.renewed(text) == text, "write it with 'python docs/measured.py'"


@pytest.mark.parametrize("page", PAGES)
def test_what_looks_measured_has_a_source(docs, page):
    text, given = PAGES[page].read_text(), GIVEN.get(page, [])
    assert [words for words in given if words not in text] == []
    assert docs.unsourced(text, given) == [], "put it between '<!-- measured: NAME -->' and '<!-- end -->'"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_text_of_notebooks_tells_no_number_that_a_cell_does_not_compute(docs, notebook):
    cells = CELL.findall(NOTEBOOKS[notebook].read_text())
    text = " ".join(re.sub(r"^# ?", "", "".join(cells), flags=re.MULTILINE).split())
    given = GIVEN.get(notebook, [])
    assert [words for words in given if words not in text] == []
    assert docs.unsourced(text, given) == []


def test_every_source_is_shown_and_every_block_ends(docs):
    texts = [path.read_text() for path in PAGES.values()]
    shown = [match["name"] for text in texts for match in docs.BLOCK.finditer(text)]
    assert sorted(shown) == sorted(docs.SOURCES)
    assert sum(text.count("<!-- measured:") for text in texts) == len(shown)


def test_a_wrong_number_is_mended_and_a_missing_one_is_named(docs, monkeypatch):
    monkeypatch.setitem(docs.SOURCES, "stand-in", lambda: [".94", None, "1,760"])
    page = (
        "Before.\n<!-- measured: stand-in -->\nIn .93 of 16 `x=0.5` [there](a_1.5.md), 1,759.\n<!-- end -->\nAfter.\n"
    )
    assert docs.renewed(page) == page.replace(".93", ".94").replace("1,759", "1,760")
    with pytest.raises(InputError, match=r"has the 2 numbers \.93, 16; its source makes 3: \.94, \(any\), 1,760"):
        docs.renewed(page.replace(", 1,759", ""))
    with pytest.raises(InputError, match="nothing makes the block 'other'"):
        docs.renewed(page.replace("stand-in", "other"))


def test_the_table_beside_lama_is_made_as_soon_as_it_is_measured(docs, monkeypatch, tmp_path):
    import sources_of_results

    monkeypatch.setattr(sources_of_results, "data_folder", lambda: tmp_path)
    assert docs.SOURCES["against-lama"]() == "Not measured yet."
    write_against(tmp_path / "measured" / "against-lama.csv", [tried(size) for size in (10, 60)])
    page = docs.renewed("<!-- measured: against-lama -->\nNot measured yet.\n<!-- end -->")
    assert "Measured until 2026-11-23, 2 cores, up to 3 processes at once; contrastive-jumps aiw seed 13." in page
    assert "| gripper | below 50 | 1 | 1 | 1 | 2.00 | 0.50 | 4.00 [4.00, 4.00] |" in page
    assert docs.renewed(page) == page


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("Blocksworld .45, Gripper 1.00.", [".45", "1.00"]),
        ("It took 19 s and 2 GB, 15 % of it idle.", ["19 s", "2 GB", "15 %"]),
        ("VAL accepted 4 of 5.", ["4 of 5"]),
        ("| a | b |\n| --- | --- |\n| gripper | 12 |", ["12"]),
        ("Two blocks, 16 states, step 3; `x=0.5`; [3.5](a.md#1.5)\n```sh\nsleep 3 s\n```", ["3.5"]),
        ("<!-- measured: coverage -->\n.45\n<!-- end -->", []),
    ],
)
def test_numbers_without_a_source_are_found(docs, page, found):
    assert docs.unsourced(page) == found


def test_every_measured_file_says_when_and_where():
    tracked = subprocess.run(["git", "ls-files", "data/measured"], cwd=ROOT, capture_output=True, text=True).stdout
    for name in tracked.split():
        if not name.endswith(".csv") or Path(name).name.startswith(("attempts-", "selection-")):
            continue  # these have one line an attempt or a trial, beside the scores
        with (ROOT / name).open(newline="") as file:
            notes = {row["note"] for row in csv.DictReader(file)}
        wrong = {note for note in notes if not re.search(r"\d{4}-\d\d-\d\d, \d+ cores", note)}
        assert wrong <= {"kept results of Fast Downward"}, name
