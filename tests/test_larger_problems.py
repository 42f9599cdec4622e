"""Committed scores of suite `harder` agree with the committed attempts."""

from __future__ import annotations

import csv
from statistics import mean

import pytest

import sgp
from sgp.datasets.store import data_folder
from sgp.evaluation.attempts import read_attempts
from sgp.evaluation.scores import read_scores, select

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
