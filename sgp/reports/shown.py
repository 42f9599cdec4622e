"""A paper's table as a command shows it: the sheets, the numbers behind them, and the drawing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sgp.errors import InputError
from sgp.evaluation.scores import Score
from sgp.reports.papers import Asked, Paper, all_papers, find_table
from sgp.reports.scaling_table import measured_scaling
from sgp.reports.sheets import Sheet
from sgp.reports.tables import measured, of_suite


@dataclass(frozen=True)
class ShownTable:
    """A table of a paper, ours beside it."""

    paper: Paper
    number: str
    asked: Asked

    @property
    def scores(self) -> list[Score]:
        """Our scores, then the printed ones."""
        return [*self.asked.ours, *self.asked.printed]

    def sheet(self) -> Sheet:
        """The table."""
        return self.paper.table(self.number).sheet(self.asked)

    def drawing(self) -> str:
        """The table as SVG. Raises InputError for one that is not drawn."""
        draw = self.paper.table(self.number).drawing
        if draw is None:
            drawn = [f"{each.key} {name}" for each in all_papers() for name, one in each.tables.items() if one.drawing]
            raise InputError(
                f"table {self.number} of {self.paper.key} has no drawing; expected --svg with {', '.join(drawn)}"
            )
        return draw(self.asked)


def shown_table(
    names: Sequence[str], scores: Sequence[Score] | None = None, suite: str = "", splits: Collection[str] = ()
) -> ShownTable:
    """The table that is named as `find_table` takes it, made of these scores, or of the committed ones.

    Raises InputError for a table that is not here, and where there are no scores on a suite that was named, or none of
    those given are on the paper's.
    """
    paper, number = find_table(names)
    table, chosen = paper.table(number), suite or paper.suite
    if table.over_size:
        ours = measured_scaling() if scores is None else scores
    elif scores is None and not suite:  # what was not measured yet stands empty beside what was printed
        ours = [score for score in measured() if score.suite == chosen]
    else:
        ours = of_suite(measured() if scores is None else scores, chosen)
    return ShownTable(paper, number, Asked(ours, paper.printed(number), chosen, splits))
