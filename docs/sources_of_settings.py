"""Where the numbers of the page Settings come from."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from reading import Numbers, one, rate, scores

from sgp.datasets.store import data_folder
from sgp.evaluation.scores import Score
from sgp.methods.contrastive_jumps import METHOD
from sgp.reports.sheets import Sheet

IN_WORDS = {
    "candidates": "candidates",
    "beam": "beam",
    "embedding.open_atoms": "open walks, most atoms",
    "embedding.iterations": "rounds of colours",
    "loss.l2": "L2",
    "labels.source": "labels",
    "labels.states": "drawn states (with joined labels)",
    "enough": "end of a lookahead (`enough`)",
    "margin": "margin of the beam, 0: none",
}
ABLATED = {  # settings of training, and the decoding
    ("", ""): "none",
    ("loss.kind=squared", ""): "squared error instead of the contrastive loss",
    ("embedding.closed_atoms=0", ""): "no closed walks",
    ("embedding.closed_atoms=0+embedding.open_atoms=0", ""): "no walks at all",
    ("embedding.counted=true", ""): "counts of features instead of their presence",
    ("", "default+revisits=true"): "visited states stay candidates",
    ("candidates=one-step", ""): "successors alone, no lookahead",
    ("labels.source=experts", ""): "experts' labels instead of optimal ones",
    ("labels.source=visited", ""): "experts' labels, and visited states",
    ("", "default+beam=1"): "no beam",
    ("delta=progress", ""): "a delta that moves with the share of the goal",
}
ABLATED_IN = ("blocksworld", "gripper", "logistics")


class Trial(NamedTuple):
    """What a value of a setting reached; `seconds` is empty where it was not measured."""

    coverage: float
    quality: str
    seconds: str
    rows: Sequence[float]


def trials() -> Mapping[str, Mapping[str, Trial]]:
    """The trials by setting and value; a seed is part of the setting's name."""
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    path = data_folder() / "measured" / "selection-contrastive-jumps.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["setting"], {}).setdefault(row["value"], []).append(row)
    return {setting: {value: _trial(rows) for value, rows in values.items()} for setting, values in found.items()}


def _trial(rows: Sequence[Mapping[str, str]]) -> Trial:
    return Trial(
        fmean(float(row["row_coverage"]) for row in rows),  # the file's own mean is rounded
        rows[0]["quality"],
        rows[0]["seconds"],
        [float(row["row_coverage"]) for row in rows],
    )


def selection() -> str:
    """Every setting's values; in bold those that contrastive jumps have."""
    lines = []
    found = trials()
    for setting, words in IN_WORDS.items():
        seeds = [values for name, values in found.items() if name == setting or name.startswith(f"{setting}, seed")]
        for place, value in enumerate(seeds[0]):
            tried = [values[value] for values in seeds]
            below = [row for each in tried for row in each.rows if row < 1]
            lines.append(
                (
                    words if place == 0 else "",
                    f"**{value}**" if value == _default(setting) else value,
                    f"{fmean(each.coverage for each in tried):.3f}".removeprefix("0"),
                    f"{fmean(float(each.quality) for each in tried):.3f}".removeprefix("0"),
                    f"{len(below)}, least {rate(min(below))}" if below else "none",
                )
            )
    return Sheet.of("", ("setting", "value", "coverage", "quality", "groups not all solved"), lines).markdown()


def _default(setting: str) -> str:
    """The value that the method has."""
    training, decoding = next(iter(METHOD.variants.values())), METHOD.decodings["default"]
    value: object = decoding if hasattr(decoding, setting) and not hasattr(training, setting) else training
    for name in setting.split("."):
        value = getattr(value, name)
    return f"{value:g}" if isinstance(value, float) else str(value)


def further_draws() -> Numbers:
    """What more problems said of `enough`, and what the beam's margin costs."""
    found = trials()
    values = ("4", "16", "32", "128")
    seconds = [
        fmean(float(found[f"enough, further draws, seed {seed}"][value].seconds) for seed in (13, 14))
        for value in values
    ]
    missed = [
        sum(row < 1 for seed in (13, 14) for row in found[f"enough, further draws, seed {seed}"][value].rows)
        for value in values
    ]
    assert missed == [2, 1, 1, 1], "the text's words"
    margins = [found["margin"][value].seconds for value in ("0", "2", "1")]
    none, two, one_ = (f"{float(each):.2f}" for each in margins)
    return [*values, *(f"{each:.2f}" for each in seconds), None, None, none, None, two, None, one_, None]


def ablation() -> str:
    """One change a line: coverage, and mean actions of the plans found."""
    found = scores("ablation")
    counts = {each.domain: each.count for each in found if each.metric == "coverage" and each.size is None}
    lines = []
    for (training, decoding), words in ABLATED.items():
        variant = "+".join(filter(None, ("aiw", training)))
        of = [each for each in found if (each.variant, each.decoding, each.size) == (variant, decoding, None)]
        lines.append((words, *(_reached(of, domain) for domain in ABLATED_IN)))
    heads = ("change", *(f"{domain.capitalize()}, n = {counts[domain]}" for domain in ABLATED_IN))
    return Sheet.of("", heads, lines).markdown()


def _reached(of: Sequence[Score], domain: str) -> str:
    coverage = one(of, domain=domain, metric="coverage").value
    lengths = [each for each in of if (each.domain, each.metric) == (domain, "plan_length")]
    return ", ".join([rate(coverage), *(f"{each.value:.1f}" for each in lengths)])


SETTINGS: Mapping[str, Callable[[], str | Numbers]] = {
    "selection": selection,
    "further-draws": further_draws,
    "ablation": ablation,
}
