"""The model card of a run: training data, sizes, scores, limits and configuration."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

from sgp.datasets.runs import CARD, Run, held_run
from sgp.errors import StoreError
from sgp.evaluation.scores import read_scores, select, shown_share, to_frame, write_scores
from sgp.files import write_text
from sgp.methods import get_method
from sgp.methods.contract import PlanningMethod
from sgp.reports.table import Table

if TYPE_CHECKING:
    import pandas as pd

_PREDICTS = (
    "Predicts states in the domains that it was trained on, and does not plan.",
    "Its quality on other problems is known only as far as it was measured.",
)
_LIMITS = (
    "Plans in this domain alone: predicates and actions must be those it was trained on.",
    "Trained on few small problems; coverage on larger or differently shaped ones is only what was measured above.",
    "Plans are executable by construction and checked by VAL, but neither optimal nor guaranteed to be found.",
)


def saved_scores(run: Run) -> pd.DataFrame:
    """The scores of the evaluations that were saved beside a run."""
    import pandas as pd

    files = sorted(run.folder.glob("scores-*.csv"))
    return pd.concat([to_frame([]), *map(read_scores, files)], ignore_index=True)


def save_scores(run: Run, scores: pd.DataFrame) -> None:
    """Save a run's scores beside it, in place of older ones of the same splits and decodings, and write its card."""
    import pandas as pd

    with held_run(run.folder) as present:
        if present.sha256 == run.sha256:
            for suite, part in scores.groupby("suite", sort=False):
                path = run.folder / f"scores-{suite}.csv"
                try:
                    old = read_scores(path) if path.is_file() else to_frame([])
                except StoreError:  # written by an older version: measured again when needed
                    old = to_frame([])
                new = pd.MultiIndex.from_frame(part[["split", "decoding"]])
                old = old[~pd.MultiIndex.from_frame(old[["split", "decoding"]]).isin(new)]
                write_scores(path, pd.concat([old, part]))
            write_card(run)
            return
    warnings.warn(
        f"{run.folder} was trained again while it was evaluated, so its scores are not saved; evaluate it again",
        stacklevel=2,
    )


def write_card(run: Run) -> None:
    """Write `card.md` into the run's folder."""
    write_text(run.folder / CARD, card(run))


def card(run: Run) -> str:
    """The card in Markdown."""
    key, record = run.key, run.record
    data = record["data"]
    transitions = f" with {data['transitions']} expert transitions" if "transitions" in data else ""
    facts = {
        "Method": f"{key.method}, variant {key.variant}, seed {key.seed}",
        "Domain": f"{key.domain} of suite {key.suite}",
        "Trained": f"{record['trained']}, {record['cores']} cores, device {record['device']}",
        "Training data": f"{data['train']} problems{transitions}, {data['validation']} more for validation; "
        f"SHA-256 {data['sha256']}",
        "Versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    }
    shown = {name: value for name, value in record["facts"].items() if name != "second"}  # its files are listed below
    sizes = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in shown.items()]
    sizes += [(name, f"{(run.folder / name).stat().st_size:,} bytes") for name in record["files"]]
    covered = select(saved_scores(run), metric="coverage", size=None)
    plans = isinstance(get_method(key.method), PlanningMethod) and len(record["domains"]) == 1
    parts = [
        f"# {key.method} {key.variant} for {key.domain}",
        "\n".join(f"- **{name}**: {value}" for name, value in facts.items()),
        "## Sizes\n\n" + Table.of("", ("what", "value"), sizes).markdown().rstrip(),
        "## Scores\n\n" + (_coverage(covered).markdown().rstrip() if len(covered) else "Not evaluated yet."),
        "## Limits\n\n" + "\n".join(f"- {line}" for line in (_LIMITS if plans else _PREDICTS)),
        "## Configuration\n\n```json\n" + json.dumps(run.training, indent=1) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _coverage(scores: pd.DataFrame) -> Table:
    from sgp.reports.tables import pool

    rows = []
    for row in scores.itertuples():
        cell = pool([row])
        solved = f"{cell.value * cell.count:.0f} of {cell.n}"
        interval = f"{shown_share(cell.value)} [{cell.low:.2f}, {cell.high:.2f}]"
        rows.append((row.suite, row.split, row.decoding, solved, interval, row.note))
    return Table.of("", ("suite", "split", "decoding", "solved", "coverage, 95 % Wilson interval", "measured"), rows)
