"""Tables and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgp.cli.options import CsvFile, JsonFile, Suite, console, words, write_scores_to
from sgp.cli.verbs import verb


@verb("report", "sgp report --scores results/scores-state-centric.csv --attempts results/attempts-state-centric.csv")
def report(
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="Files of 'sgp grid' or 'sgp evaluate'; the committed measurements where left out."),
    ] = None,
    attempts: Annotated[list[Path] | None, typer.Option(help="Attempts that 'sgp grid' wrote.")] = None,
    suite: Suite = "state-centric",
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
) -> None:
    """Write one self-contained HTML page of tables and plots, with the numbers as CSV and Parquet beside it.

    Curves of 'sgp scaling' among the scores are reported whatever their suite.
    """
    from sgp.errors import InputError
    from sgp.evaluation.attempts import read_attempts
    from sgp.evaluation.metrics import OF_TRANSITIONS
    from sgp.evaluation.scores import read_scores
    from sgp.reports.papers import beside_ours
    from sgp.reports.report import write_report
    from sgp.reports.scaling_table import is_scaling, measured_scaling
    from sgp.reports.tables import measured, measured_attempts, of_suite

    ours = [score for path in scores for score in read_scores(path)] if scores else [*measured(), *measured_scaling()]
    rows = (
        [row for path in attempts or () for row in read_attempts(path)] if scores or attempts else measured_attempts()
    )
    curves = [score for score in ours if is_scaling(score)]
    of_planners = [score for score in ours if not is_scaling(score) and score.metric not in OF_TRANSITIONS]
    ours_there = of_suite(of_planners, suite)
    own_rows = [row for row in rows if row.suite == suite]
    if not (ours_there or curves or own_rows):
        raise InputError("there is nothing to report: no scores of planners, no attempts, no curves; see 'sgp table'")
    typer.echo(write_report(out, [*ours_there, *curves], own_rows, beside_ours()))


@verb("table", "sgp table state-centric 1 --splits extrapolation")
def table(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER NUMBER]",
            help="A paper and the number of its table, or the table's short form; 'sgp list papers' has them. Coverage "
            "where left out.",
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="Files of 'sgp evaluate' or 'sgp grid'; the committed measurements where left out."),
    ] = None,
    splits: Annotated[str, typer.Option(help="Only these splits of a table of coverage, separated by commas.")] = "",
    suite: Annotated[
        str, typer.Option("--suite", help="Suite of our scores; where left out the one with problems like the paper's.")
    ] = "",
    notes: Annotated[
        bool, typer.Option("--notes", help="Also show where the paper disagrees with itself or with its code.")
    ] = False,
    json: JsonFile = None,
    csv: CsvFile = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw a table of coverage with its intervals here.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Show a table of a paper: our measurements beside the published numbers."""
    from sgp.evaluation.scores import read_scores
    from sgp.files import write_text
    from sgp.reports.shown import shown_table

    given = [score for path in scores for score in read_scores(path)] if scores else None
    found = shown_table(names or (), given, suite, words(splits))
    if svg is not None:
        write_text(svg, found.drawing())
    write_scores_to(found.scores, json, csv)
    for sheet in [found.sheet(), *([found.paper.notes()] if notes else [])]:
        if markdown:
            typer.echo(sheet.markdown(), nl=False)
        else:
            console().print(sheet.terminal())
