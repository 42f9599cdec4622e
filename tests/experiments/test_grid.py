from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

import sgp
from sgp.datasets.experts import saved_plans
from sgp.datasets.runs import list_runs
from sgp.encoders.wl import WLConfig
from sgp.errors import InputError, SuiteError
from sgp.evaluation.attempts import read_attempts
from sgp.evaluation.scores import read_scores, select
from sgp.experiments import grid
from sgp.experiments.grid import (
    ablation_cells,
    baseline_results,
    grid_cells,
    jackknife_cells,
    parse_seeds,
    parse_variants,
    result_files,
    run_grid,
)
from sgp.methods import get_method
from sgp.reports.tables import spread_table


def default_jumps():
    return grid_cells("state-centric", ["gripper"], {"contrastive-jumps": ["aiw"]}, (13,), ["interpolation"])


TIMES = {"seconds", "training_seconds", "training_processor_seconds", "memory"}


def test_the_published_grid_runs_deterministic_variants_once():
    cells = grid_cells("state-centric")
    # Domains; LSTM and jumps, three seeds each, XGBoost, contrastive delta, zero change, random.
    assert len(cells) == 4 * (4 * 3 + 3 * 3 + 4 + 1 + 1 + 3)
    assert {cell.seed for cell in cells if cell.method == "random-successor"} == {13, 14, 15}
    assert {cell.seed for cell in cells if "xgboost" in cell.variant or cell.method == "zero-change"} == {13}
    assert len(set(result_files(cells).values())) == len(cells)


def test_cells_are_chosen_by_words():
    variants = parse_variants("state-centric:wl-lstm-state,zero-change,state-centric:wl-xgboost-delta")
    assert variants == {"state-centric": ["wl-lstm-state", "wl-xgboost-delta"], "zero-change": ["wl"]}
    cells = grid_cells("state-centric", ["blocks"], variants, (1, 2), ("extrapolation",), {"boosting.rounds": "3"})
    assert [(cell.domain, cell.variant, cell.seed) for cell in cells] == [
        ("blocksworld", "wl-lstm-state", 1),
        ("blocksworld", "wl-lstm-state", 2),
        ("blocksworld", "wl-xgboost-delta", 1),
        ("blocksworld", "wl", 1),
    ]
    assert [cell.overrides for cell in cells] == [(("boosting.rounds", "3"),)] * 3 + [()]
    assert parse_seeds("3,1,3") == (3, 1)
    twice = grid_cells("state-centric", ["gripper", "gripper"], parse_variants("zero-change,zero-change:wl"))
    assert len(twice) == 1
    with pytest.raises(InputError, match="variants are ','; expected METHOD or METHOD:VARIANT"):
        parse_variants(",")


def test_what_trained_longest_before_begins_first(monkeypatch):
    cells = grid_cells("state-centric", ["gripper"], parse_variants("zero-change,state-centric"))
    known = {(cell.method, cell.variant): 1.0 for cell in cells} | {("state-centric", "wl-lstm-delta"): 9.0}
    del known["zero-change", "wl"]
    monkeypatch.setattr(grid, "_measured_training", lambda: known)
    first, second, *_ = sorted(cells, key=grid._expected_work, reverse=True)
    assert first.method == "zero-change", "nobody knows how long it takes"
    assert second.variant == "wl-lstm-delta"


def test_results_are_kept_under_their_settings(monkeypatch):
    (cell,) = grid_cells("state-centric", ["gripper"], parse_variants("zero-change"))
    files = {result_files([cell])[cell]}
    method = get_method("zero-change")
    monkeypatch.setattr(type(method), "variants", {"wl": replace(method.variants["wl"], wl=WLConfig(iterations=1))})
    files.add(result_files([cell])[cell])
    monkeypatch.setattr(type(method), "decodings", {"default": replace(method.decodings["default"], beam=1)})
    files.add(result_files([cell])[cell])
    assert len(files) == 3


def test_results_hold_scores_facts_attempts_and_diagnostics(home, tmp_path):
    variants = {"state-centric": ["wl-xgboost-delta"], "random-successor": ["unvisited"]}
    settings = {"boosting.rounds": "3"}
    cells = grid_cells("state-centric", ["gripper"], variants, (1, 2), ("interpolation",), settings)
    results = run_grid(cells, diagnostics=True)
    scores, attempts = results.write(tmp_path)
    pd.testing.assert_frame_equal(read_scores(scores), results.scores)
    pd.testing.assert_frame_equal(read_attempts(attempts), results.attempts)
    assert len(results.attempts) == 3 * 3  # runs and problems
    metrics = {}
    for score in results.scores.itertuples():
        metrics.setdefault((score.variant.split("+")[0], score.seed), set()).add(score.metric)
    assert {"dimension", "nodes", "training_seconds", "coverage", "expert_rank", "unseen"} <= metrics[
        "wl-xgboost-delta", 1
    ]
    assert "expert_rank" in metrics["unvisited", 1]
    assert "expert_rank" not in metrics["unvisited", 2]  # the first seed of a variant is diagnosed
    stamps = {path: path.stat().st_mtime_ns for path in home.glob("grid/**/*.json")}
    assert run_grid(cells, diagnostics=True).scores.equals(results.scores)
    assert stamps == {path: path.stat().st_mtime_ns for path in home.glob("grid/**/*.json")}


def test_baselines_come_from_kept_results_of_every_bundled_problem(home):
    suite = sgp.load_suite("state-centric")
    for variant in ("astar-lmcut", "lama-first"):
        for domain in suite.domains:
            for split in ("validation", "interpolation", "extrapolation"):
                kept = saved_plans(suite, domain, split, variant)
                assert set(kept) == {problem.sha256 for problem in suite.problems(domain, split)}
    results = baseline_results("state-centric", ["gripper"], ("interpolation",))
    assert not home.exists(), "nothing was made anew"
    covered = select(results.scores, metric="coverage", size=None)
    assert dict(zip(covered.variant, covered.value, strict=True)) == {"astar-lmcut": 1.0, "lama-first": 1.0}
    optimal = select(results.attempts, variant="astar-lmcut")
    assert list(optimal.length) == list(optimal.expert_length)


@pytest.mark.slow
def test_an_ablation_changes_one_ingredient_at_a_time(home):
    cells = ablation_cells(default_jumps())
    assert cells[0].overrides == ()
    assert cells[0].decodings == ("default", "default+revisits=true", "default+beam=1"), "one training, three ways"
    assert len({cell.overrides for cell in cells}) == len(cells) >= 10
    some = [cell for cell in cells if cell.overrides in ((), (("candidates", "one-step"),))]
    covered = select(run_grid(some).scores, metric="coverage")
    assert set(covered.variant) == {"aiw", "aiw+candidates=one-step"}
    with pytest.raises(InputError, match="method zero-change describes no ablations; choose one of aiw-ad, contr"):
        ablation_cells(grid_cells("state-centric", ["gripper"], {"zero-change": ["wl"]}))


@pytest.mark.slow
def test_a_jackknife_leaves_each_training_problem_out_once(home):
    cells = jackknife_cells(default_jumps())
    names = [entry.name for entry in sgp.load_suite("state-centric").domain("gripper").splits["train"]]
    assert [cell.without for cell in cells] == names
    assert len(set(result_files(cells).values())) == len(names)
    some = jackknife_cells(default_jumps(), most=2)
    assert [cell.without for cell in some] == [names[0], names[-1]]
    results = run_grid(some)
    trained = [run.record["data"]["train"] for run in list_runs()]
    assert trained == [len(names) - 1] * 2
    sheet = spread_table(results.scores, "jackknife").markdown()
    assert "| gripper | interpolation | 2 | 1.0000 | 1.0000 |" in sheet
    with pytest.raises(SuiteError, match="training problem 'p99' cannot be left out of gripper; expected"):
        sgp.train("contrastive-jumps", "gripper", "state-centric", without="p99")


def without_times(folder):
    scores = read_scores(folder / "scores-state-centric.csv").drop(columns="note")
    attempts = read_attempts(folder / "attempts-state-centric.csv").drop(columns="seconds")
    return scores[~scores.metric.isin(TIMES)].to_csv(index=False), attempts.to_csv()


# Starts the command in processes forked from one that has imported everything, which kills them at random points.
KILLED = """
import os, random, shutil, signal, sys, time
from pathlib import Path
import sgp.api, sgp.experiments.grid, sgp.training.boosting, sgp.training.fit, sgp.reports.papers
from sgp.cli import main

def start(name):
    child = os.fork()
    if child == 0:
        os.setsid()
        os.environ["SGP_HOME"] = name
        sys.argv = ["sgp", *sys.argv[1:], "--out", f"{name}-out"]
        main()
        os._exit(0)
    return child

def finish(name):
    started = time.monotonic()
    assert os.waitpid(start(name), 0)[1] == 0
    return time.monotonic() - started

whole = finish("whole")
finish("whole")
rng, killed = random.Random(7), 0
for _ in range(12):
    child = start("killed")
    time.sleep(rng.uniform(0.1, 0.9) * whole)
    if os.waitpid(child, os.WNOHANG) == (0, 0):
        killed += 1
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    # Remove results and a run, so that work is left in every round.
    for path in sorted(Path("killed/grid").rglob("*.json")):
        if rng.random() < 0.5:
            path.unlink()
    shutil.rmtree(rng.choice(sorted(Path("killed").glob("*/*/*/*/seed*")) or [Path("none")]), True)
assert killed >= 6, killed
finish("killed")
"""


@pytest.mark.slow
def test_a_grid_killed_many_times_ends_with_the_same_scores(tmp_path):
    """Real processes are killed at random points of their lives."""
    words = "grid --domains gripper --splits interpolation --seeds 1,2 --jobs 1"
    words += " --variants state-centric:wl-lstm-delta,state-centric:wl-xgboost-delta,random-successor"
    words += " --set lstm.training.epochs=1 --set lstm.shape.hidden=8 --set boosting.rounds=2"
    command = [sys.executable, "-c", KILLED, *words.split()]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "SGP_PROGRESS": "0"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert without_times(tmp_path / "killed-out") == without_times(tmp_path / "whole-out")
    assert not list((tmp_path / "killed").rglob("*.tmp"))
