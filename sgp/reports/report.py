"""The report: one self-contained HTML page, with the numbers as CSV and Parquet beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from sgp.errors import InputError
from sgp.evaluation.attempts import write_attempts
from sgp.evaluation.metrics import DIAGNOSTICS
from sgp.evaluation.scores import write_scores
from sgp.files import whole_file, write_text
from sgp.reports import plots
from sgp.reports.figures import coverage_figure
from sgp.reports.scaling_tables import SPLIT, scaling_table
from sgp.reports.table import Table
from sgp.reports.tables import (
    coverage_table,
    details_table,
    diagnostics_table,
    failures_table,
    learning_table,
    with_draws,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 2px 10px; text-align: left; border-bottom: 1px solid #eee; }
tr.heading td { font-weight: bold; padding-top: 10px; }
tr.published td { color: #6a6a6a; }
nav a { margin-right: 1em; }
"""


def write_report(folder: Path, scores: pd.DataFrame, attempts: pd.DataFrame, published: pd.DataFrame) -> Path:
    """Writes `report.html`, and `scores` and `attempts` as CSV and Parquet; the path of the page.

    Curves of scaling are reported whatever their suite: their problems are of none. Raises InputError where there is
    nothing to report, or where the other scores are of several suites.
    """
    if scores.empty:
        raise InputError("there are no scores to report; make some with 'sgp evaluate' or 'sgp grid'")
    suites = {*scores["suite"][scores["split"] != SPLIT], *attempts["suite"]}
    if len(suites) > 1:
        raise InputError(
            f"a report is on one suite, these are scores of {', '.join(sorted(suites))}; choose with --suite"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_scores(folder / "scores.csv", scores)
    write_attempts(folder / "attempts.csv", attempts)
    for name, frame in (("scores", scores), ("attempts", attempts)):
        with whole_file(folder / f"{name}.parquet") as temporary:
            frame.to_parquet(temporary, index=False)
    sections = list(_sections(scores, attempts, published))
    links = "".join(f'<a href="#section-{place}">{escape(title)}</a>' for place, (title, _) in enumerate(sections))
    body = "".join(
        f'<section id="section-{place}"><h2>{escape(title)}</h2>\n{content}</section>\n'
        for place, (title, content) in enumerate(sections)
    )
    title = escape(f"Report on {', '.join(dict.fromkeys(scores['suite']))}")
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style>{_plotly() if 'plotly-graph-div' in body else ''}</head>\n"
        f"<body><h1>{title}</h1><p>Written {date.today()}. {len(attempts)} attempts. "
        f"A click on a name in a legend shows or hides a planner.</p><nav>{links}</nav>\n{body}</body></html>\n"
    )
    write_text(folder / "report.html", page)
    return folder / "report.html"


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def _sections(scores: pd.DataFrame, attempts: pd.DataFrame, published: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Titles and contents, failures first."""
    notes = sorted(set(scores["note"]) - {""})
    curves, scores = scores[scores["split"] == SPLIT], with_draws(scores[scores["split"] != SPLIT])
    drawn, scores = scores[scores["problems"].notna()], scores[scores["problems"].isna()]
    attempts = attempts[with_draws(attempts)["problems"].isna()]
    if not attempts["solved"].all():
        yield "Unsolved", _drawn(plots.outcomes(attempts)) + _folded(failures_table(attempts))
    if len(scores):
        both = pd.concat([scores, published])
        table = coverage_table(both, "Coverage", all_published=True)
        yield "Coverage", coverage_figure(both) + _folded(table)
    if len(attempts):
        yield "Size", _drawn(plots.coverage_over_size(attempts))
        yield "Plan length", _drawn(plots.plan_lengths(attempts))
        yield "Time", _drawn(plots.solved_over_time(attempts))
    if scores["metric"].isin(DIAGNOSTICS).any():
        figures = "".join(map(_drawn, plots.diagnostic_plots(scores)))
        yield "Diagnostics", _folded(diagnostics_table(scores)) + figures
    if len(drawn):
        table = learning_table(drawn, "Coverage by the number of training problems")
        yield "Training problems", _drawn(plots.learning_curves(drawn)) + _folded(table)
    if len(curves):
        both = pd.concat([curves, published[published["split"] == SPLIT]])
        metrics = [
            name
            for name in ("coverage", "plan_length", "seconds")
            if name in set(curves["metric"][curves["size"].notna()])
        ]
        figures = "".join(_drawn(plots.scaling_curves(both, metric)) for metric in metrics)
        yield "Scaling", _folded(scaling_table(both)) + figures
    if len(scores):
        yield "Details", _folded(details_table(scores, "Attempts"))
    yield "Measured", "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _folded(table: Table) -> str:
    """A table that opens with a click: pictures first."""
    return f"<details><summary>{escape(table.title)}, {len(table.rows)} lines</summary>\n{table.html()}</details>\n"


def _drawn(figure: go.Figure) -> str:
    """A figure of a page that contains plotly."""
    height = figure.layout.height or 450
    words: str = figure.to_html(
        include_plotlyjs=False,
        full_html=False,
        default_height=height,
        config={"responsive": True, "displaylogo": False},
    )
    return words
