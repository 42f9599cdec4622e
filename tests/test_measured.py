"""The tables in README and docs equal the files of measurements, which have their date."""

from __future__ import annotations

import csv
import re
import subprocess
from pathlib import Path

import pytest

import sgp

ROOT = Path(sgp.__file__).resolve().parents[1]


@pytest.fixture
def measured(monkeypatch):
    """The program `docs/measured.py`."""
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
        with (ROOT / name).open(newline="") as file:
            notes = {row["note"] for row in csv.DictReader(file)}
        wrong = {note for note in notes if not re.search(r"\d{4}-\d\d-\d\d, \d+ cores", note)}
        assert wrong <= {"kept results of Fast Downward"}, name
