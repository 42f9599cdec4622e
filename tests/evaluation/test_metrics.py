"""The table of metrics is complete and has the metrics used by tables, plots and pages."""

from __future__ import annotations

import ast
from pathlib import Path

import sgp
from sgp.evaluation.scaling import OWN_METRICS, PROPERTIES
from sgp.evaluation.scores import DIAGNOSTICS, METRICS
from sgp.experiments.grid import FACTS
from sgp.reports.papers import beside_ours

ROOT = Path(sgp.__file__).parent


def emitted():
    """Metrics as literals in the code: an argument `metric`, or the first argument that makes a score."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            named = [word.value for word in node.keywords if word.arg == "metric"]
            makes = isinstance(node.func, ast.Name) and node.func.id in ("score", "add")
            for value in [*named, *(node.args[:1] if makes else [])]:
                if isinstance(value, ast.Constant):
                    yield value.value


def test_every_metric_that_is_emitted_is_in_the_table():
    found = set(emitted())
    assert {"coverage", "expert_rank", "indistinguishable", "unsolvable"} <= found
    found |= {*OWN_METRICS, *PROPERTIES, *FACTS, *DIAGNOSTICS}
    found |= {*sgp.load_scores().metric, *sgp.load_scores("measured/scaling").metric, *beside_ours().metric}
    assert found <= METRICS.keys()


def test_a_metric_says_how_it_is_written_and_which_way_is_better():
    assert METRICS["coverage"].show(0.5) == "0.50"
    assert METRICS["parameters"].show(1552942) == "1,552,942"
    assert METRICS["scale"].show(46.0) == "46"
    assert METRICS["coverage"].rank(1.0) < METRICS["coverage"].rank(0.5)
    assert METRICS["expert_rank"].rank(1.0) < METRICS["expert_rank"].rank(2.0)
    assert METRICS["fits"].rank(1.0) == METRICS["fits"].rank(0.5)
    assert METRICS["outcome_solved"].better == "higher"
    assert METRICS["outcome_stuck"].better == "lower"
    assert [METRICS[name].heading for name in ("expert_top1", "expert_top3")] == ["top-1", "top-3"]
    assert all(each.unit == "share" for each in METRICS.values() if each.of_problems)
