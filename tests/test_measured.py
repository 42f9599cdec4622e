"""The numbers in README and docs equal those of the files of measurements, which have their date."""

from __future__ import annotations

import csv
import re
import subprocess
from pathlib import Path

import pytest

import sgp
from sgp.errors import InputError

ROOT = Path(sgp.__file__).resolve().parents[1]
PAGES = {path.name: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}


@pytest.fixture
def docs(monkeypatch):
    """Import the programs of the folder `docs`."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import measured

    return measured


def test_pages_whose_numbers_differ_from_the_files_are_named(docs, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(docs.SOURCES, "stand-in", lambda: [".94"])
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: stand-in -->\nIn .93 of cases.\n<!-- end -->\n")
    assert docs.main(["--check"], [page]) == 1
    assert "page.md" in capsys.readouterr().err
    assert ".93" in page.read_text(), "a check writes nothing"
    assert docs.main([], [page]) == 0
    assert docs.main(["--check"], [page]) == 0


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


def test_every_measured_file_says_when_and_where():
    tracked = subprocess.run(["git", "ls-files", "data/measured"], cwd=ROOT, capture_output=True, text=True).stdout
    for name in tracked.split():
        if not name.endswith(".csv") or Path(name).name.startswith(("attempts-", "selection-")):
            continue  # these have one line for each attempt or trial
        with (ROOT / name).open(newline="") as file:
            notes = {row["note"] for row in csv.DictReader(file)}
        wrong = {note for note in notes if not re.search(r"\d{4}-\d\d-\d\d, \d+ cores", note)}
        assert wrong <= {"kept results of Fast Downward"}, name
