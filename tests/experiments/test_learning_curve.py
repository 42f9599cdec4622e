"""Coverage by the number of training problems."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from sgp.cli import app
from sgp.datasets.runs import list_runs
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, Problems, learning_texts
from sgp.errors import ConfigurationError, SuiteError
from sgp.evaluation.attempts import attempts_frame
from sgp.evaluation.scores import Score, read_scores, to_frame
from sgp.experiments.grid import grid_cells, learning_cells, subset_sizes
from sgp.reports.plots import learning_curves
from sgp.reports.report import write_report
from sgp.reports.tables import learning_table, pool_draws


def test_the_numbers_of_training_problems():
    assert subset_sizes(15) == [1, 2, 4, 8, 15]
    assert subset_sizes(4) == [1, 2, 4]
    assert subset_sizes(1) == [1]


def texts_of(kind, domain):
    return learning_texts(kind, load_suite("state-centric"), [domain])


@pytest.mark.parametrize("kind", [Demonstrations, Problems])
def test_a_draw_contains_those_of_fewer_problems(kind):
    texts = texts_of(kind, "blocksworld")
    drawn = {count: texts.drawn(count, 3) for count in subset_sizes(texts.drawable)}
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


def test_problems_that_teach_nothing_are_not_drawn():
    texts = texts_of(Demonstrations, "visitall")
    (part,) = texts.parts
    idle = [each for each in part.train if not each.plan]
    assert texts.drawable == len(part.train) - len(idle) < len(part.train)
    assert not set(idle) & set(part.drawn(999, 0).train)


def test_every_method_learns_from_the_same_draws():
    variants = {"zero-change": (), "contrastive-jumps": ["aiw"]}
    cells = learning_cells(grid_cells("state-centric", ["gripper"], variants, (13,)), draws=3)
    problems = len(load_suite("state-centric").domain("gripper").splits["train"])
    expected = [(count, draw) for count in subset_sizes(problems) for draw in range(3 if count < problems else 1)]
    by_method = {
        method: {cell.drawn for cell in cells if cell.method == method}
        for method in ("zero-change", "contrastive-jumps")
    }
    assert by_method == {key: set(expected) for key in by_method}
    with pytest.raises(ConfigurationError, match="draws is 0; expected at least 1"):
        learning_cells(cells, draws=0)


@pytest.mark.slow
def test_the_verb_measures_draws_and_shows_them(home, tmp_path):
    csv, html = tmp_path / "curve.csv", tmp_path / "curve.html"
    words = ["--domains", "gripper", "--variants", "contrastive-jumps:one-step", "--draws", "2", "--jobs", "1"]
    words += ["--preset", "learning-curve", "--splits", "interpolation", "--csv", str(csv), "--html", str(html)]
    told = CliRunner().invoke(app, ["grid", *words], env={"COLUMNS": "200"})
    assert told.exit_code == 0, told.output
    scores = read_scores(csv)
    curve = pool_draws(scores)
    assert set(zip(curve.domain, curve.split, curve.planner, strict=True)) == {
        ("gripper", "interpolation", "contrastive-jumps one-step")
    }
    assert list(curve.draws) == [2] * (len(curve) - 1) + [1]
    assert curve.value.iloc[-1] == 1
    runs = list_runs()
    assert {run.record["data"]["train"] for run in runs} == set(curve.problems)
    assert "mean coverage" in told.output
    assert "training problems" in html.read_text()


def test_means_and_least_of_draws():
    def score(variant, value):
        named = {"method": "m", "domain": "d", "suite": "s", "split": "extrapolation", "seed": 13}
        return Score(**named, variant=variant, metric="coverage", value=value, count=18)

    scores = [score("v+drawn=2.0", 0.5), score("v+drawn=2.1", 1.0), score("v+drawn=1.0", 0.25), score("v", 1.0)]
    sheet = learning_table(to_frame(scores), "title").markdown()
    assert "| d | extrapolation | m v | 1 | 1 | 0.250 | 0.250 | [0.11, 0.48] | 18 |" in sheet
    assert "| d | extrapolation | m v | 2 | 2 | 0.750 | 0.500 | [0.52, 0.89] | 18 |" in sheet
    figure = learning_curves(to_frame([*scores, *(replace(each, domain="e<b>") for each in scores)]))
    line, band = figure.data[0], next(each for each in figure.data if each.fill)
    assert list(line.x) == [1, 2]
    assert list(line.y) == [0.25, 0.75]
    assert list(band.y) == [0.25, 1.0, 0.5, 0.25]
    assert "e<b>" not in figure.to_json()


def test_a_report_draws_them_apart_from_what_learned_from_all(tmp_path):
    named = {"method": "m", "domain": "d", "suite": "s", "split": "extrapolation", "metric": "coverage", "count": 18}
    scores = [Score(**named, variant=variant, value=0.5) for variant in ("v+drawn=2.0", "v+drawn=1.0")]
    page = write_report(tmp_path, to_frame(scores), attempts_frame([]), to_frame([])).read_text()
    assert "<h2>Training problems</h2>" in page
    assert "<h2>Coverage</h2>" not in page
    page = write_report(
        tmp_path, to_frame([replace(scores[0], variant="v")]), attempts_frame([]), to_frame([])
    ).read_text()
    assert "Training problems" not in page
