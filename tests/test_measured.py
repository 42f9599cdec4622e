"""The tables in README and docs equal the files of measurements, which have their date."""

from __future__ import annotations

import csv
import re
import subprocess
from pathlib import Path
from statistics import mean

import pytest

import sgp
from sgp.datasets.store import data_folder
from sgp.evaluation.attempts import read_attempts
from sgp.evaluation.scores import read_scores, select

ROOT = Path(sgp.__file__).resolve().parents[1]


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
        with (ROOT / name).open(newline="") as file:
            notes = {row["note"] for row in csv.DictReader(file)}
        wrong = {note for note in notes if not re.search(r"\d{4}-\d\d-\d\d, \d+ cores", note)}
        assert wrong <= {"kept results of Fast Downward"}, name


SEEDS = (13, 14, 15, 16, 17)
HARDER = sgp.load_suite("harder")
MEASURED = data_folder() / "measured"


def covered():
    """Return the coverage scores of each row of the suite, by seed."""
    scores = list(select(read_scores(MEASURED / "scores-harder.csv"), metric="coverage").itertuples())
    rows = [(domain, row) for domain, found in HARDER.domains.items() for row in found.splits]
    return {place: {each.seed: each for each in scores if (each.domain, each.split) == place} for place in rows}


def test_every_row_was_measured_with_every_seed():
    assert {place: tuple(found) for place, found in covered().items()} == dict.fromkeys(covered(), SEEDS)


@pytest.mark.parametrize("suite", ["harder", "state-centric"])
def test_committed_coverage_is_that_of_the_attempts_and_counts_distinct_problems(suite):
    tried = {}
    for row in read_attempts(MEASURED / f"attempts-{suite}.csv").itertuples():
        tried.setdefault((row.planner, row.domain, row.split, row.seed), []).append(row)
    manifest = sgp.load_suite(suite)
    scores = select(read_scores(MEASURED / f"scores-{suite}.csv"), metric="coverage", size=None)
    assert len(scores) == len(tried)
    for score in scores.itertuples():
        entries = {e.name: e for e in manifest.domains[score.domain].splits[score.split]}
        rows = [row for row in tried[score.planner, score.domain, score.split, score.seed] if row.problem in entries]
        assert {row.problem: row.like for row in rows} == {name: each.like for name, each in entries.items()}
        assert score.value == pytest.approx(mean(row.solved for row in rows))
        assert (score.count, score.distinct) == (len(rows), sum(not each.like for each in entries.values()))


def test_the_rows_that_suite_selection_dropped_were_solved_by_every_trial():
    with (MEASURED / "selection-contrastive-jumps.csv").open(encoding="utf-8") as file:
        rows = [(each["row"], float(each["row_coverage"])) for each in csv.DictReader(file)]
    dropped = {"gripper 20-balls", "visitall 8x8"}
    assert {value for row, value in rows if row in dropped} == {1.0}
    now = {f"{domain} {row}" for domain, each in sgp.load_suite("selection").domains.items() for row in each.splits}
    assert {row for row, _ in rows} - now == dropped
