from __future__ import annotations

import csv

import pytest

from sgp.errors import InputError
from sgp.experiments.grid import (
    EQUAL_QUALITY,
    Reached,
    best,
    choices,
    grid_cells,
    run_grid,
    select,
    trials_table,
    write_trials,
)


@pytest.mark.slow
def test_a_setting_is_chosen_by_what_it_reaches(home, tmp_path):
    trials, chosen = select("contrastive-jumps", "state-centric", "selection", ["gripper"], ["candidates"])
    assert [(trial.setting, trial.value) for trial in trials] == [
        ("candidates", "aiw"),
        ("candidates", "iw"),
        ("candidates", "one-step"),
    ]
    value = best({trial.value: trial.reached for trial in trials})
    assert chosen == {"candidates": value}
    assert [trial.value for trial in trials if trial.chosen] == [value]

    # The scores of a trial equal those computed from the problems.
    overrides = {"candidates": "one-step"}
    cells = grid_cells("selection", ["gripper"], {"contrastive-jumps": ["aiw"]}, (13,), (), overrides, "state-centric")
    (cell,) = cells
    assert (cell.suite, cell.training_suite) == ("selection", "state-centric")
    attempts = run_grid(cells).attempts
    one_step = trials[-1]
    assert set(one_step.rows) == set("gripper " + attempts.split)
    for name, coverage in one_step.rows.items():
        assert coverage == attempts.solved["gripper " + attempts.split == name].mean()
    assert one_step.reached.coverage == sum(one_step.rows.values()) / len(one_step.rows)
    assert 0 < one_step.reached.quality <= one_step.reached.coverage

    sheet = trials_table(trials, "chosen").markdown()
    reached = next(trial.reached for trial in trials if trial.chosen)
    assert f"| candidates | {value} (chosen) | {reached.coverage:.3f} |" in sheet
    write_trials(tmp_path / "trials.csv", trials)
    rows = list(csv.DictReader((tmp_path / "trials.csv").open()))
    assert {(row["value"], row["row"]) for row in rows} == {(t.value, name) for t in trials for name in t.rows}


def test_coverage_decides_then_quality_then_seconds():
    slow, fast = Reached(0.9, 0.8, 2.0), Reached(0.9, 0.8 - EQUAL_QUALITY / 2, 1.0)
    assert best({"slow": slow, "fast": fast}) == "fast"
    assert best({"slow": slow, "worse": fast._replace(quality=0.7)}) == "slow"
    assert best({"slow": slow, "fails": Reached(0.8, 0.79, 0.1)}) == "slow"


def test_what_cannot_be_chosen_is_named():
    with pytest.raises(InputError, match="method zero-change names no settings to choose; choose one of contrastive"):
        choices("zero-change")
    with pytest.raises(InputError, match="does not choose setting 'colour'; expected one of candidates"):
        choices("contrastive-jumps", ["colour"])
