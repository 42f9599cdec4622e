"""Grids of trainings and evaluations: ablations, jackknives, learning curves, selected settings."""

import csv
import os
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from typer.testing import CliRunner

import sgp
from sgp.cli import app
from sgp.datasets.experts import saved_plans
from sgp.datasets.runs import list_runs
from sgp.datasets.training_data import Demonstrations, Problems, learning_texts
from sgp.errors import ConfigurationError, InputError, SuiteError
from sgp.evaluation.attempts import attempts_frame, read_attempts
from sgp.evaluation.scores import Score, read_scores, select, to_frame
from sgp.experiments import grid
from sgp.experiments.grid import select as select_settings
from sgp.reports.report import write_report
from sgp.reports.tables import learning_table, pool_draws, spread_table


def default_jumps():
    return grid.grid_cells("state-centric", ["gripper"], {"contrastive-jumps": ["aiw"]}, (13,), ["interpolation"])


TIMES = {"seconds", "training_seconds", "training_processor_seconds", "memory"}


def test_deterministic_variants_run_once_and_what_trained_longest_before_begins_first(monkeypatch):
    cells = grid.grid_cells("state-centric")
    # Domains; LSTM and jumps, three seeds each, XGBoost, contrastive delta, goal count, zero change, random.
    assert len(cells) == 4 * (4 * 3 + 3 * 3 + 4 + 1 + 1 + 1 + 3)
    assert {cell.seed for cell in cells if cell.method == "random-successor"} == {13, 14, 15}
    assert {cell.seed for cell in cells if "xgboost" in cell.variant or cell.method == "zero-change"} == {13}
    assert len(set(grid.result_files(cells).values())) == len(cells)
    cells = grid.grid_cells("state-centric", ["gripper"], grid.parse_variants("zero-change,state-centric"))
    known = {(cell.method, cell.variant): 1.0 for cell in cells} | {("state-centric", "wl-lstm-delta"): 9.0}
    del known["zero-change", "wl"]
    monkeypatch.setattr(grid, "_measured_training", lambda: known)
    first, second, *_ = sorted(cells, key=grid._expected_work, reverse=True)
    assert first.method == "zero-change", "nobody knows how long it takes"
    assert second.variant == "wl-lstm-delta"


def test_cells_are_chosen_by_words():
    variants = grid.parse_variants("state-centric:wl-lstm-state,zero-change,state-centric:wl-xgboost-delta")
    assert variants == {"state-centric": ["wl-lstm-state", "wl-xgboost-delta"], "zero-change": ["wl"]}
    cells = grid.grid_cells("state-centric", ["blocks"], variants, (1, 2), ("extrapolation",), {"boosting.rounds": "3"})
    assert [(cell.domain, cell.variant, cell.seed) for cell in cells] == [
        ("blocksworld", "wl-lstm-state", 1),
        ("blocksworld", "wl-lstm-state", 2),
        ("blocksworld", "wl-xgboost-delta", 1),
        ("blocksworld", "wl", 1),
    ]
    assert [cell.overrides for cell in cells] == [(("boosting.rounds", "3"),)] * 3 + [()]
    assert grid.parse_seeds("3,1,3") == (3, 1)
    twice = grid.grid_cells("state-centric", ["gripper", "gripper"], grid.parse_variants("zero-change,zero-change:wl"))
    assert len(twice) == 1
    with pytest.raises(InputError, match="variants are ','; expected METHOD or METHOD:VARIANT"):
        grid.parse_variants(",")


def test_results_are_cached_under_their_settings(monkeypatch):
    (cell,) = grid.grid_cells("state-centric", ["gripper"], grid.parse_variants("zero-change"))
    files, method = {grid.result_files([cell])[cell]}, sgp.get_method("zero-change")
    changed = {"wl": replace(method.variants["wl"], wl=sgp.data.WLConfig(iterations=1))}
    decodings = {"default": replace(method.decodings["default"], beam=1)}
    for name, value in (("variants", changed), ("decodings", decodings)):
        monkeypatch.setattr(type(method), name, value)
        files.add(grid.result_files([cell])[cell])
    assert len(files) == 3


def test_results_hold_scores_facts_attempts_and_diagnostics(home, tmp_path):
    variants = {"state-centric": ["wl-xgboost-delta"], "random-successor": ["unvisited"]}
    settings = {"boosting.rounds": "3"}
    cells = grid.grid_cells("state-centric", ["gripper"], variants, (1, 2), ("interpolation",), settings)
    results = grid.run_grid(cells, diagnostics=True)
    scores, attempts = results.write(tmp_path)
    pd.testing.assert_frame_equal(read_scores(scores), results.scores)
    pd.testing.assert_frame_equal(read_attempts(attempts), results.attempts)
    assert len(results.attempts) == 3 * 3  # runs and problems
    metrics = results.scores.groupby(["method", "seed"]).metric.agg(set)
    facts = {"dimension", "nodes", "training_seconds", "coverage", "expert_rank", "unseen"}
    assert facts <= metrics["state-centric", 1]
    assert "expert_rank" in metrics["random-successor", 1]
    assert "expert_rank" not in metrics["random-successor", 2]  # the first seed of a variant is diagnosed

    def stamps():
        return {path: path.stat().st_mtime_ns for path in home.glob("grid/**/*.json")}

    before = stamps()
    assert grid.run_grid(cells, diagnostics=True).scores.equals(results.scores)
    assert stamps() == before


def test_baselines_come_from_kept_results_of_every_bundled_problem(home):
    suite = sgp.load_suite("state-centric")
    for variant in ("astar-lmcut", "lama-first"):
        for domain in suite.domains:
            for split in ("validation", "interpolation", "extrapolation"):
                kept = saved_plans(suite, domain, split, variant)
                assert set(kept) == {problem.sha256 for problem in suite.problems(domain, split)}
    results = grid.baseline_results("state-centric", ["gripper"], ("interpolation",))
    assert not home.exists(), "nothing was made anew"
    covered = select(results.scores, metric="coverage", size=None)
    assert dict(zip(covered.variant, covered.value, strict=True)) == {"astar-lmcut": 1.0, "lama-first": 1.0}
    optimal = select(results.attempts, variant="astar-lmcut")
    assert list(optimal.length) == list(optimal.expert_length)


@pytest.mark.slow
def test_an_ablation_changes_one_ingredient_at_a_time(home):
    cells = grid.ablation_cells(default_jumps())
    assert cells[0].overrides == ()
    assert cells[0].decodings == ("default", "default+revisits=true", "default+beam=1"), "one training, three ways"
    assert len({cell.overrides for cell in cells}) == len(cells) >= 10
    some = [cell for cell in cells if cell.overrides in ((), (("candidates", "one-step"),))]
    covered = select(grid.run_grid(some).scores, metric="coverage")
    assert set(covered.variant) == {"aiw", "aiw+candidates=one-step"}
    with pytest.raises(InputError, match="method zero-change describes no ablations; choose one of aiw-ad, contr"):
        grid.ablation_cells(grid.grid_cells("state-centric", ["gripper"], {"zero-change": ["wl"]}))


@pytest.mark.slow
def test_a_jackknife_leaves_each_training_problem_out_once(home):
    cells = grid.jackknife_cells(default_jumps())
    names = [entry.name for entry in sgp.load_suite("state-centric").domain("gripper").splits["train"]]
    assert [cell.without for cell in cells] == names
    assert len(set(grid.result_files(cells).values())) == len(names)
    some = grid.jackknife_cells(default_jumps(), most=2)
    assert [cell.without for cell in some] == [names[0], names[-1]]
    results = grid.run_grid(some)
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


# Runs the command in processes forked from one that has imported everything, and kills them at random points.
KILLED = """
import os, random, shutil, sys, time
from multiprocessing import get_context
from pathlib import Path
import sgp.api, sgp.experiments.grid, sgp.methods.state_centric, sgp.training.fit, sgp.reports.papers
from sgp.cli import main

def command(name):
    os.environ["SGP_HOME"] = name
    sys.argv = ["sgp", *sys.argv[1:], "--out", f"{name}-out"]
    main()

def run(name, seconds=None):
    child = get_context("fork").Process(target=command, args=[name])
    child.start()
    child.join(seconds)
    killed = child.is_alive()
    child.kill()
    child.join()
    assert killed or child.exitcode == 0
    return killed

started = time.monotonic()
run("whole")
longest, rng, killed = time.monotonic() - started, random.Random(7), 0
run("whole")
while killed < 6:
    if run("killed", rng.uniform(0.1, 0.9) * longest):
        killed += 1
    else:
        longest *= 0.8  # The command ended before: this machine is quicker than in the first run.
    # Remove results and a run, so that work is left in every round.
    for path in sorted(Path("killed/grid").rglob("*.json")):
        if rng.random() < 0.5:
            path.unlink()
    shutil.rmtree(rng.choice(sorted(Path("killed").glob("*/*/*/*/seed*")) or [Path("none")]), True)
run("killed")
"""


@pytest.mark.slow
def test_a_grid_killed_many_times_ends_with_the_same_scores(tmp_path):
    words = "grid --domains gripper --splits interpolation --seeds 1,2 --jobs 1"
    words += " --variants state-centric:wl-lstm-delta,state-centric:wl-xgboost-delta,random-successor"
    words += " --set lstm.training.epochs=1 --set lstm.shape.hidden=8 --set boosting.rounds=2"
    command = [sys.executable, "-c", KILLED, *words.split()]
    environment = {**os.environ, "SGP_PROGRESS": "0"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert without_times(tmp_path / "killed-out") == without_times(tmp_path / "whole-out")
    assert not list((tmp_path / "killed").rglob("*.tmp"))


@pytest.mark.slow
def test_a_setting_is_chosen_by_what_it_reaches(home, tmp_path):
    trials, chosen = select_settings("contrastive-jumps", "state-centric", "selection", ["gripper"], ["candidates"])
    tried = [("candidates", each) for each in ("aiw", "iw", "one-step")]
    assert [(trial.setting, trial.value) for trial in trials] == tried
    (best,) = [trial for trial in trials if trial.chosen]
    assert chosen == {"candidates": best.value}
    assert best.value == grid.best({trial.value: trial.reached for trial in trials})
    # The scores of a trial equal those computed from the problems.
    given = ["gripper"], {"contrastive-jumps": ["aiw"]}, (13,), (), {"candidates": "one-step"}, "state-centric"
    (cell,) = cells = grid.grid_cells("selection", *given)
    assert (cell.suite, cell.training_suite) == ("selection", "state-centric")
    attempts = grid.run_grid(cells).attempts
    one_step = trials[-1]
    assert one_step.rows == attempts.solved.groupby("gripper " + attempts.split).mean().to_dict()
    assert one_step.reached.coverage == sum(one_step.rows.values()) / len(one_step.rows)
    assert 0 < one_step.reached.quality <= one_step.reached.coverage
    sheet = grid.trials_table(trials, "chosen").markdown()
    assert f"| candidates | {best.value} (chosen) | {best.reached.coverage:.3f} |" in sheet
    grid.write_trials(tmp_path / "trials.csv", trials)
    rows = list(csv.DictReader((tmp_path / "trials.csv").open()))
    assert {(row["value"], row["row"]) for row in rows} == {(t.value, name) for t in trials for name in t.rows}


def test_coverage_decides_then_quality_then_seconds_and_what_cannot_be_chosen_is_named():
    slow, fast = grid.Reached(0.9, 0.8, 2.0), grid.Reached(0.9, 0.8 - grid.EQUAL_QUALITY / 2, 1.0)
    assert grid.best({"slow": slow, "fast": fast}) == "fast"
    assert grid.best({"slow": slow, "worse": fast._replace(quality=0.7)}) == "slow"
    assert grid.best({"slow": slow, "fails": grid.Reached(0.8, 0.79, 0.1)}) == "slow"
    with pytest.raises(InputError, match="method zero-change names no settings to choose; choose one of contrastive"):
        grid.choices("zero-change")
    with pytest.raises(InputError, match="does not choose setting 'colour'; expected one of candidates"):
        grid.choices("contrastive-jumps", ["colour"])


def texts_of(kind, domain):
    return learning_texts(kind, sgp.load_suite("state-centric"), [domain])


@pytest.mark.parametrize("kind", [Demonstrations, Problems])
def test_a_draw_contains_those_of_fewer_problems(kind):
    assert [grid.subset_sizes(count) for count in (15, 4, 1)] == [[1, 2, 4, 8, 15], [1, 2, 4], [1]]
    texts = texts_of(kind, "blocksworld")
    drawn = {count: texts.drawn(count, 3) for count in grid.subset_sizes(texts.drawable)}
    train = {count: each.parts[0].train for count, each in drawn.items()}
    assert [len(each) for each in train.values()] == list(drawn)
    assert set(train[2]) < set(train[4])
    assert [each for each in texts.parts[0].train if each in train[4]] == list(train[4]), "in their order"
    assert drawn[4].parts[0].validation == texts.parts[0].validation
    assert len({each.sha256 for each in (texts, *drawn.values(), texts.drawn(4, 2))}) == len(drawn) + 2
    assert len({texts.drawn(2, draw).parts[0].train for draw in range(5)}) > 1
    assert len(texts.drawn(99, 0).parts[0].train) == len(texts.parts[0].train)
    with pytest.raises(SuiteError, match="0 training problems of draw 0 requested; expected at least 1"):
        texts.drawn(0, 0)


def test_every_method_learns_from_the_same_draws_of_problems_that_teach_something():
    variants = {"zero-change": (), "contrastive-jumps": ["aiw"]}
    cells = grid.learning_cells(grid.grid_cells("state-centric", ["gripper"], variants, (13,)), draws=3)
    problems = len(sgp.load_suite("state-centric").domain("gripper").splits["train"])
    expected = {(count, draw) for count in grid.subset_sizes(problems) for draw in range(3 if count < problems else 1)}
    for method in variants:
        assert {cell.drawn for cell in cells if cell.method == method} == expected
    with pytest.raises(ConfigurationError, match="draws is 0; expected at least 1"):
        grid.learning_cells(cells, draws=0)
    texts = texts_of(Demonstrations, "visitall")
    (part,) = texts.parts
    idle = [each for each in part.train if not each.plan]
    assert texts.drawable == len(part.train) - len(idle) < len(part.train)
    assert not set(idle) & set(texts.drawn(999, 0).parts[0].train)


@pytest.mark.slow
def test_the_verb_measures_draws_and_shows_them(home, tmp_path):
    words = ["--domains", "gripper", "--variants", "contrastive-jumps:one-step", "--draws", "2", "--jobs", "1"]
    words += ["--preset", "learning-curve", "--splits", "interpolation"]
    words += ["--csv", str(tmp_path / "curve.csv"), "--html", str(tmp_path / "curve.html")]
    told = CliRunner().invoke(app, ["grid", *words], env={"COLUMNS": "200"})
    assert told.exit_code == 0, told.output
    curve = pool_draws(read_scores(tmp_path / "curve.csv"))
    places = set(zip(curve.domain, curve.split, curve.planner, strict=True))
    assert places == {("gripper", "interpolation", "contrastive-jumps one-step")}
    assert list(curve.draws) == [2] * (len(curve) - 1) + [1]
    assert curve.value.iloc[-1] == 1
    assert {run.record["data"]["train"] for run in list_runs()} == set(curve.problems)
    assert "mean coverage" in told.output
    assert "training problems" in (tmp_path / "curve.html").read_text()


def test_means_and_least_of_draws_stand_apart_from_what_learned_from_all(tmp_path):
    def score(variant, value):
        named = {"method": "m", "domain": "d", "suite": "s", "split": "extrapolation", "seed": 13}
        return Score(**named, variant=variant, metric="coverage", value=value, n=18)

    def report(*scores):
        return write_report(tmp_path, to_frame(scores), attempts_frame([]), to_frame([])).read_text()

    scores = [score("v+drawn=2.0", 0.5), score("v+drawn=2.1", 1.0), score("v+drawn=1.0", 0.25), score("v", 1.0)]
    sheet = learning_table(to_frame(scores), "title").markdown()
    assert "| d | extrapolation | m v | 1 | 1 | 0.250 | 0.250 | [0.11, 0.48] | 18 |" in sheet
    assert "| d | extrapolation | m v | 2 | 2 | 0.750 | 0.500 | [0.52, 0.89] | 18 |" in sheet
    figure = sgp.viz.learning_curves(to_frame([*scores, *(replace(each, domain="e<b>") for each in scores)]))
    line, band = figure.data[0], next(each for each in figure.data if each.fill)
    assert (list(line.x), list(line.y)) == ([1, 2], [0.25, 0.75])
    assert list(band.y) == [0.25, 1.0, 0.5, 0.25]
    assert "e<b>" not in figure.to_json()
    assert "<h2>Training problems</h2>" in (page := report(*scores[:3]))
    assert "<h2>Coverage</h2>" not in page
    assert "Training problems" not in report(scores[3])
