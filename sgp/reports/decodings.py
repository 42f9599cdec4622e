"""One training decoded in several ways, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from sgp.evaluation.scores import Score
from sgp.policies.decoding import DEFAULT
from sgp.reports.sheets import Sheet
from sgp.reports.tables import cell

CAPTION = (
    "Coverage by decoding, a training a line: its standard deviation over seeds, and the 95 % Wilson interval on n "
    "problems, or on the distinct ones of them."
)


def decodings_sheet(scores: Sequence[Score], title: str) -> Sheet:
    """Coverage of whole splits: a line for each training and split, a column for each decoding."""
    whole = [score for score in scores if score.metric == "coverage" and score.size is None and not score.paper]
    columns = list(dict.fromkeys(score.decoding for score in whole))
    lines: dict[tuple[str, str, str], dict[str, list[Score]]] = {}
    for score in whole:
        name = score.planner._replace(decoding="").title
        lines.setdefault((name, score.domain, score.split), {}).setdefault(score.decoding, []).append(score)
    rows = []
    for place, found in lines.items():
        cells = [cell(found.get(column, [])) for column in columns]
        n = max((each for each in cells if each is not None), key=lambda each: each.count).n
        rows.append((*place, n, *("" if each is None else str(each) for each in cells)))
    return Sheet.of(title, ("training", "domain", "split", "n", *(name or DEFAULT for name in columns)), rows, CAPTION)
