"""The report: one HTML page that works offline, with the numbers as CSV and Parquet beside it."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterator
from datetime import date
from html import escape
from pathlib import Path
from string import Template

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from sgp.errors import InputError
from sgp.evaluation.attempts import write_attempts
from sgp.evaluation.scores import DIAGNOSTICS, write_scores
from sgp.files import whole_file, write_text
from sgp.reports import plots, tables
from sgp.reports.scaling_tables import SPLIT, scaling_table
from sgp.reports.table import Table
from sgp.reports.tables import coverage_figure


def write_report(folder: Path, scores: pd.DataFrame, attempts: pd.DataFrame, published: pd.DataFrame) -> Path:
    """Write `report.html`, and `scores` and `attempts` as CSV and Parquet; return the path of the page."""
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
    body = f"<p>Written {date.today()}. {len(attempts)} attempts. A click on a name in a legend shows or hides it.</p>"
    sections = list(_sections(scores, attempts, published))
    links = (f'<a href="#section-{place}">{escape(title)}</a>' for place, (title, _) in enumerate(sections))
    body += f"<nav>{''.join(links)}</nav>\n"
    figures: list[str] = []
    for place, (title, parts) in enumerate(sections):
        body += f'<section id="section-{place}"><h2>{escape(title)}</h2>\n'
        for part in parts:
            if isinstance(part, Table):  # folded, so that pictures come first
                summary = f"{escape(part.title)}, {len(part.rows)} lines"
                body += f"<details><summary>{summary}</summary>\n{part.html()}</details>\n"
            elif isinstance(part, go.Figure):
                body += f'<div class="plot" style="height: {part.layout.height or 450}px"></div>\n'
                figures.append(part.to_json())
            else:
                body += part
        body += "</section>\n"
    drawn = ""
    if figures:  # plotly.js has 4.8 MB
        drawn = _packed("plotly", get_plotlyjs()) + _packed("figures", f"[{','.join(figures)}]")
        drawn += (Path(__file__).parent / "report_plots.html").read_text(encoding="utf-8")
    page = Template((Path(__file__).parent / "report.html").read_text(encoding="utf-8"))
    title = escape(f"Report on {', '.join(dict.fromkeys(scores['suite']))}")
    write_text(folder / "report.html", page.substitute(title=title, body=body, plots=drawn))
    return folder / "report.html"


def _packed(name: str, text: str) -> str:
    """An element with a compressed text."""
    data = b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'<script type="text/plain" id="{name}">{data}</script>\n'


def _sections(
    scores: pd.DataFrame, attempts: pd.DataFrame, published: pd.DataFrame
) -> Iterator[tuple[str, list[Table | go.Figure | str]]]:
    """A title and tables, figures and markup for each section; failures are first."""
    notes = sorted(set(scores["note"]) - {""})
    curves, scores = scores[scores["split"] == SPLIT], tables.with_draws(scores[scores["split"] != SPLIT])
    drawn, scores = scores[scores["problems"].notna()], scores[scores["problems"].isna()]
    attempts = attempts[tables.with_draws(attempts)["problems"].isna()]
    if not attempts["solved"].all():
        yield "Unsolved", [plots.outcomes(attempts), tables.failures_table(attempts)]
    if len(scores):
        both = pd.concat([scores, published])
        yield "Coverage", [coverage_figure(both), tables.coverage_table(both, "Coverage", all_published=True)]
    if len(attempts):
        yield "Size", [plots.coverage_over_size(attempts)]
        yield "Plan length", [plots.plan_lengths(attempts)]
        yield "Time", [plots.solved_over_time(attempts)]
    if scores["metric"].isin(DIAGNOSTICS).any():
        yield "Diagnostics", [tables.diagnostics_table(scores), *plots.diagnostic_plots(scores)]
    if len(drawn):
        table = tables.learning_table(drawn, "Coverage by the number of training problems")
        yield "Training problems", [plots.learning_curves(drawn), table]
    if len(curves):
        both = pd.concat([curves, published[published["split"] == SPLIT]])
        metrics = set(curves["metric"][curves["size"].notna()])
        shown = [metric for metric in ("coverage", "plan_length", "seconds") if metric in metrics]
        yield "Scaling", [scaling_table(both), *(plots.scaling_curves(both, metric) for metric in shown)]
    if len(scores):
        yield "Details", [tables.details_table(scores, "Attempts")]
    yield "Measured", ["<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"]
