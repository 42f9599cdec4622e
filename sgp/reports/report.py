"""The report: one HTML file that needs nothing else, with the numbers as CSV and Parquet beside it."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from sgp.errors import InputError
from sgp.evaluation.attempts import AttemptRow, write_attempts
from sgp.evaluation.metrics import DIAGNOSTICS
from sgp.evaluation.scores import Score, score_record, write_scores
from sgp.files import whole_file, write_text
from sgp.planning.rollout import Outcome
from sgp.reports.diagnostics_table import diagnostics_sheet
from sgp.reports.figures import coverage_figure
from sgp.reports.learning_table import is_learning, learning_sheet
from sgp.reports.scaling_table import is_scaling, scaling_table
from sgp.reports.sheets import Sheet
from sgp.reports.tables import coverage_sheet, details_sheet

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
_DRAWING = """
const unpacked = async (name) => {
  const bytes = Uint8Array.from(atob(document.getElementById(name).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
const [library, texts] = await Promise.all([unpacked("plotly"), unpacked("figures")]);
document.head.append(Object.assign(document.createElement("script"), { textContent: library }));
const figures = JSON.parse(texts);
const boxes = document.querySelectorAll(".plot");
const draw = (box) => {
  seen.unobserve(box);
  if (box.childElementCount) return;
  const { data, layout } = figures[box.dataset.figure];
  Plotly.newPlot(box, data, layout, { displaylogo: false, responsive: true });
};
const near = { rootMargin: "400px" };
const seen = new IntersectionObserver((all) => all.forEach((each) => each.isIntersecting && draw(each.target)), near);
boxes.forEach((box) => seen.observe(box));
addEventListener("beforeprint", () => boxes.forEach(draw));
"""
# What stopped a planner from outside stands before what it did itself.
_ERRORS_FIRST = (Outcome.MEMORY, Outcome.TIMEOUT, Outcome.REFUSED, Outcome.STUCK, Outcome.HORIZON)


def failures_sheet(rows: Sequence[AttemptRow]) -> Sheet:
    """Unsolved attempts by how they ended, those first that were stopped or refused, then the most frequent."""
    groups = Counter((row.outcome, row.planner.title, row.domain, row.split) for row in rows if not row.solved)
    smallest: dict[tuple[Outcome, str, str, str], AttemptRow] = {}
    for row in rows:
        key = (row.outcome, row.planner.title, row.domain, row.split)
        if key in groups and (key not in smallest or row.size < smallest[key].size):
            smallest[key] = row
    ordered = sorted(groups, key=lambda key: (_ERRORS_FIRST.index(key[0]), -groups[key], key[1:]))
    words = [
        (key[0].value, *key[1:], str(groups[key]), f"{smallest[key].problem} ({smallest[key].size} objects)")
        for key in ordered
    ]
    headings = ("ended", "planner", "domain", "split", "attempts", "smallest problem")
    return Sheet.of("Unsolved attempts", headings, words)


def write_report(folder: Path, scores: Sequence[Score], rows: Sequence[AttemptRow], theirs: Sequence[Score]) -> Path:
    """Writes `report.html`, and `scores` and `attempts` as CSV and Parquet; the path of the first.

    `theirs` are the published numbers to stand beside ours. Curves of scaling are among the scores with whatever suite:
    their problems are of none. Raises InputError where there is nothing to report or where the rest is of several
    suites, and StoreError for a damaged file of published numbers.
    """
    if not scores:
        raise InputError("there are no scores to report; make some with 'sgp evaluate' or 'sgp grid'")
    suites = {score.suite for score in scores if not is_scaling(score)} | {row.suite for row in rows}
    if len(suites) > 1:
        raise InputError(
            f"a report is on one suite, these are scores of {', '.join(sorted(suites))}; choose with --suite"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_scores(folder / "scores.csv", scores)
    write_attempts(folder / "attempts.csv", rows)
    _write_parquet(folder / "scores.parquet", [score_record(score) for score in scores])
    _write_parquet(folder / "attempts.parquet", [{**asdict(row), "outcome": row.outcome.value} for row in rows])
    write_text(folder / "report.html", _page(scores, rows, theirs))
    return folder / "report.html"


def _write_parquet(path: Path, records: Sequence[dict[str, object]]) -> None:
    import pandas as pd

    with whole_file(path) as temporary:
        pd.DataFrame.from_records(records).to_parquet(temporary, index=False)


def _page(scores: Sequence[Score], rows: Sequence[AttemptRow], theirs: Sequence[Score]) -> str:
    shown = _Shown()
    sections = list(_sections(scores, rows, theirs, shown))
    links = "".join(f'<a href="#section-{place}">{escape(title)}</a>' for place, (title, _) in enumerate(sections))
    body = "".join(
        f'<section id="section-{place}"><h2>{escape(title)}</h2>\n{content}</section>\n'
        for place, (title, content) in enumerate(sections)
    )
    suites = ", ".join(dict.fromkeys(score.suite for score in scores))
    title = f"Report on {suites}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1><p>Written {date.today()}. {len(rows)} attempts. "
        "A click on a name in a legend shows or hides a planner.</p>"
        f"<nav>{links}</nav>\n{body}{shown.script()}</body></html>\n"
    )


def _sections(
    scores: Sequence[Score], rows: Sequence[AttemptRow], theirs: Sequence[Score], shown: _Shown
) -> Iterator[tuple[str, str]]:
    """Titles and contents, what went wrong first."""
    from sgp.reports import plots
    from sgp.reports.learning_plots import learning_figure

    curves = [score for score in scores if is_scaling(score)]
    drawn = [score for score in scores if is_learning(score)]
    scores = [score for score in scores if not is_scaling(score) and not is_learning(score)]
    rows = [row for row in rows if not is_learning(row)]
    if any(not row.solved for row in rows):
        yield "Unsolved", shown(plots.outcomes(rows)) + _folded(failures_sheet(rows))
    if scores:
        sheet = coverage_sheet(scores, theirs, "Coverage", all_published=True)
        yield "Coverage", coverage_figure(scores, theirs) + _folded(sheet)
    if rows:
        yield "Size", shown(plots.coverage_over_size(rows))
        yield "Plan length", shown(plots.plan_lengths(rows))
        yield "Time", shown(plots.solved_over_time(rows))
    if any(score.metric in DIAGNOSTICS for score in scores):
        figures = "".join(map(shown, plots.diagnostic_plots(scores)))
        yield "Diagnostics", _folded(diagnostics_sheet(scores)) + figures
    if drawn:
        sheet = learning_sheet(drawn, "Coverage by the number of training problems")
        yield "Training problems", shown(learning_figure(drawn)) + _folded(sheet)
    if curves:
        yield "Scaling", _scaling(curves, theirs, shown)
    if scores:
        yield "Details", _folded(details_sheet(scores, "Attempts"))
    notes = sorted({score.note for score in [*scores, *drawn, *curves] if score.note})
    yield "Measured", "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _scaling(curves: Sequence[Score], theirs: Sequence[Score], shown: _Shown) -> str:
    """Coverage, plan length and seconds over size, and Scale and SumCov beside the published ones."""
    from sgp.reports.scaling_plots import scaling_curves

    printed = [score for score in theirs if is_scaling(score)]
    sheet = scaling_table(curves, printed)
    measured = {score.metric for score in curves if score.size is not None}
    metrics = [metric for metric in ("coverage", "plan_length", "seconds") if metric in measured]
    return _folded(sheet) + "".join(shown(scaling_curves(curves, metric, printed)) for metric in metrics)


def _folded(sheet: Sheet) -> str:
    """A table that opens with a click: pictures first."""
    return f"<details><summary>{escape(sheet.title)}, {len(sheet.rows)} lines</summary>\n{sheet.html()}</details>\n"


class _Shown:
    """Places for figures, and what draws each there when it is near to being seen.

    Plotly and the figures stand in the page compressed, so that it asks for nothing and is small.
    """

    def __init__(self) -> None:
        self._figures: list[str] = []

    def __call__(self, figure: go.Figure) -> str:
        self._figures.append(figure.to_json())
        place, height = len(self._figures) - 1, figure.layout.height or 450
        return f'<div class="plot" data-figure="{place}" style="height: {height}px"></div>'

    def script(self) -> str:
        """The scripts at the end of the page; nothing where there are no figures."""
        from plotly.offline import get_plotlyjs

        if not self._figures:
            return ""
        packed = {"plotly": get_plotlyjs(), "figures": f"[{','.join(self._figures)}]"}
        texts = (f'<script type="text/plain" id="{name}">{_packed(text)}</script>\n' for name, text in packed.items())
        return "".join(texts) + f'<script type="module">{_DRAWING}</script>'


def _packed(text: str) -> str:
    """A text compressed, in letters that HTML leaves as they are."""
    return b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
