"""The model card of a run: what it was trained on, how large it is, how it scored, where it ends."""

from __future__ import annotations

import json
import warnings
from collections.abc import Container, Sequence
from pathlib import Path

from sgp.datasets.runs import CARD, Run, held_run
from sgp.errors import StoreError
from sgp.evaluation.scores import Score, read_scores, wilson, write_scores
from sgp.files import write_text
from sgp.methods import get_method
from sgp.methods.contract import PlanningMethod
from sgp.policies.decoding import DEFAULT
from sgp.reports.sheets import Sheet
from sgp.reports.tables import counted

_PREDICTS = (
    "Predicts states in the domains that it was trained on, and does not plan.",
    "What it is worth on other problems is only what was measured.",
)
_LIMITS = (
    "Plans in this domain alone: predicates and actions must be those it was trained on.",
    "Trained on few small problems; coverage on larger or differently shaped ones is only what was measured above.",
    "Plans are executable by construction and checked by VAL, but neither optimal nor guaranteed to be found.",
)


def kept_scores(run: Run) -> list[Score]:
    """The scores of the evaluations that were kept beside a run."""
    return [score for path in sorted(run.folder.glob("scores-*.csv")) for score in read_scores(path)]


def keep_scores(run: Run, scores: Sequence[Score]) -> None:
    """Keeps a run's scores beside it, in place of older ones of the same splits and decodings; writes its card anew.

    Scores of a run that was replaced meanwhile are not kept beside the new one.
    """
    with held_run(run.folder) as found:
        if found.sha256 == run.sha256:
            _keep_scores(run, scores)
            return
    warnings.warn(
        f"{run.folder} was trained again while it was evaluated, so its scores are not kept; evaluate it again",
        stacklevel=2,
    )


def _keep_scores(run: Run, scores: Sequence[Score]) -> None:
    for suite in dict.fromkeys(score.suite for score in scores):
        path = run.folder / f"scores-{suite}.csv"
        new = [score for score in scores if score.suite == suite]
        places = {(score.split, score.decoding) for score in new}
        try:
            old = _others(path, places)
        except StoreError:  # of an older version: they are measured again when needed
            old = []
        write_scores(path, [*old, *new])
    write_card(run)


def _others(path: Path, places: Container[tuple[str, str]]) -> list[Score]:
    """The scores of a file that are of none of these splits and decodings."""
    kept = read_scores(path) if path.is_file() else []
    return [score for score in kept if (score.split, score.decoding) not in places]


def write_card(run: Run) -> None:
    """Writes `card.md` into the run's folder."""
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
    facts_of = {name: value for name, value in record["facts"].items() if name != "second"}  # its files stand below
    sizes = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in facts_of.items()]
    sizes += [(name, f"{(run.folder / name).stat().st_size:,} bytes") for name in record["files"]]
    covered = [score for score in kept_scores(run) if score.metric == "coverage" and score.size is None]
    plans = isinstance(get_method(key.method), PlanningMethod) and len(record["domains"]) == 1
    limits = _LIMITS if plans else _PREDICTS
    parts = [
        f"# {key.method} {key.variant} for {key.domain}",
        "\n".join(f"- **{name}**: {value}" for name, value in facts.items()),
        "## Sizes\n\n" + Sheet.of("", ("what", "value"), sizes).markdown().rstrip(),
        "## Scores\n\n" + (_coverage(covered).markdown().rstrip() if covered else "Not evaluated yet."),
        "## Limits\n\n" + "\n".join(f"- {line}" for line in limits),
        "## Configuration\n\n```json\n" + json.dumps(run.training, indent=1) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _coverage(scores: Sequence[Score]) -> Sheet:
    rows = []
    for score in scores:
        low, high = wilson(score.value, score.trials)
        solved = f"{score.value * score.count:.0f} of {counted(score.count, score.trials)}"
        place = score.suite, score.split, score.decoding or DEFAULT
        rows.append((*place, solved, f"{score.value:.2f} [{low:.2f}, {high:.2f}]", score.note))
    return Sheet.of("", ("suite", "split", "decoding", "solved", "coverage, 95 % Wilson interval", "measured"), rows)
