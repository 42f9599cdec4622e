"""Tables and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgp.cli.options import CsvFile, JsonFile, Suite, console, of_suite, words, write_scores_to
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
    from sgp.evaluation.attempts import read_attempts
    from sgp.evaluation.scores import read_scores
    from sgp.reports.report import write_report
    from sgp.reports.scaling_table import is_scaling, measured_scaling
    from sgp.reports.tables import measured, measured_attempts, published

    ours = [score for path in scores for score in read_scores(path)] if scores else [*measured(), *measured_scaling()]
    rows = (
        [row for path in attempts or () for row in read_attempts(path)] if scores or attempts else measured_attempts()
    )
    curves = [score for score in ours if is_scaling(score)]
    ours_there = of_suite([score for score in ours if not is_scaling(score)], suite)
    theirs = [score for score in published("state-centric") if score.table == "1"] + published("dynamic-validation")
    typer.echo(write_report(out, [*ours_there, *curves], [row for row in rows if row.suite == suite], theirs))


@verb("table", "sgp table 1 --splits extrapolation")
def table(
    number: Annotated[
        str,
        typer.Argument(help="Table of the state-centric paper, 1, 3, 4 or 5; 'scaling': that of dynamic validation."),
    ] = "1",
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="Files of 'sgp evaluate' or 'sgp grid'; the committed measurements where left out."),
    ] = None,
    splits: Annotated[str, typer.Option(help="Only these splits of table 1, separated by commas.")] = "",
    suite: Suite = "state-centric",
    notes: Annotated[
        bool, typer.Option("--notes", help="Also show where the paper disagrees with itself or with its code.")
    ] = False,
    json: JsonFile = None,
    csv: CsvFile = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw table 1 with its intervals here.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Show a table of a paper: our measurements beside the published numbers."""
    from sgp.datasets.suite import load_suite
    from sgp.errors import InputError
    from sgp.evaluation.scores import read_scores
    from sgp.files import write_text
    from sgp.reports.figures import coverage_figure
    from sgp.reports.paper_tables import notes_sheet, paper_sheet
    from sgp.reports.scaling_table import measured_scaling, scaling_table
    from sgp.reports.tables import measured, published

    if number != "scaling" and not number.isdecimal():
        raise InputError(f"there is no table '{number}' here; expected 1, 3, 4, 5 or scaling")
    if svg is not None and number != "1":
        raise InputError(f"table {number} has no drawing; expected --svg with table 1")
    paper = "dynamic-validation" if number == "scaling" else "state-centric"
    theirs = published(paper)
    committed = measured_scaling if number == "scaling" else measured
    ours = [score for path in scores for score in read_scores(path)] if scores else committed()
    if number == "scaling":
        printed = [score for score in theirs if score.table == "1"]
        sheets = [scaling_table(ours, printed)]
    else:
        ours = of_suite(ours, suite)
        printed = [score for score in theirs if score.table == number]
        sheets = [paper_sheet(int(number), ours, theirs, load_suite(suite), words(splits))]
    if notes:
        sheets.append(notes_sheet(paper))
    write_scores_to([*ours, *printed], json, csv)
    if svg is not None:
        write_text(svg, coverage_figure(ours, printed, words(splits)))
    for sheet in sheets:
        if markdown:
            typer.echo(sheet.markdown(), nl=False)
        else:
            console().print(sheet.terminal())
