"""EmbedPlan: how high models of transitions in sentence vectors rank next states and actions, ours beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, pstdev

from sgp.domains import canonical_name
from sgp.errors import InputError
from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import Score
from sgp.planning.subject import parted_most, without_source
from sgp.reports.papers import Asked, Paper, PaperTable
from sgp.reports.sheets import Row, Sheet
from sgp.reports.tables import Line, cell

_MEAN = "mean"  # in place of a domain: the line over all
_OF_ACTIONS = ("acc@1", "acc@5", "acc@10")  # ranked in no pool of states: a line of any pool has them
READING = (
    "Rates. Published: ± as printed, of a domain over three seeds, of a mean over nine domains (--notes: where it is a "
    "standard error). Ours: ± the standard deviation over seeds (xN: N seeds), the 95 % Wilson interval on n; of a "
    "mean over domains ± their deviation, cross-domain those measured in, each from all others."
)
POOLS = (
    "After the point stands the pool in which next states are ranked. Pool paper: 128 states, of the domain for "
    "interpolation, of the problem for extrapolation, else not said; chance has the next one among the first five in "
    "0.039. Pool all: every state of the domain, in which the published implementation ranks the steps of plans."
)


@dataclass(frozen=True)
class _Column:
    """A column of a table: what is measured on which split."""

    heading: str
    split: str
    metric: str

    def of(self, scores: Sequence[Score], line: Line) -> list[Score]:
        """The scores of a line in this column."""
        planners = {line.planner, line.planner._replace(decoding="")} if self.metric in _OF_ACTIONS else {line.planner}
        place = (line.paper, self.split, self.metric, None)
        return [
            score
            for score in scores
            if (score.paper, score.split, score.metric, score.size) == place and score.planner in planners
        ]


def _table(title: str, columns: Sequence[_Column], by_domain: bool = False) -> Callable[[Asked], Sheet]:
    """A line for each planner, ours first: a section for each domain and one for their mean, or the mean alone."""

    def sheet(asked: Asked) -> Sheet:
        chosen = _chosen(columns, asked.splits)
        shown = {(column.split, column.metric) for column in chosen}
        ours, told = _without_caps([score for score in asked.ours if (score.split, score.metric) in shown])
        scores = [*ours, *(score for score in asked.printed if (score.split, score.metric) in shown)]
        if by_domain:
            rows = [row for domain in [*_domains(scores), _MEAN] for row in _section(scores, chosen, domain)]
        else:
            rows = _lines(scores, chosen, _MEAN)
        headings = ("planner", *(column.heading for column in chosen))
        return Sheet(title, headings, tuple(rows), f"{READING} {POOLS}{told}")

    return sheet


def _without_caps(ours: Sequence[Score]) -> tuple[Sequence[Score], str]:
    """Ours without the most transitions learned from where a split has one number alone, so that a planner has a line
    over all splits; and the sentence that tells these numbers.
    """
    caps: dict[tuple[str, str, str], set[int | None]] = {}
    for score in ours:
        variant, most = parted_most(score.variant)
        caps.setdefault((score.method, without_source(variant), score.split), set()).add(most)
    found, told = list[Score](), dict[str, set[int]]()
    for score in ours:
        variant, most = parted_most(score.variant)
        one = len(caps[score.method, without_source(variant), score.split]) == 1
        if one and most is not None:
            told.setdefault(score.split, set()).add(most)
        found.append(replace(score, variant=variant) if one else score)
    numbers = ", ".join(f"{split} {' or '.join(map(str, sorted(most)))}" for split, most in told.items())
    return found, f" Ours learn from at most so many transitions of a domain: {numbers}." if numbers else ""


def _chosen(columns: Sequence[_Column], splits: Collection[str]) -> list[_Column]:
    """The columns of some splits, of all where none is named. Raises InputError for a split that has none."""
    known = {column.split for column in columns}
    unknown = set(splits) - known
    if unknown:
        expected = ", ".join(sorted(filter(None, known)))
        raise InputError(f"there are no scores of split '{min(unknown)}'; expected some of {expected}")
    return [column for column in columns if not splits or column.split in splits]


def _domains(scores: Sequence[Score]) -> list[str]:
    return sorted({canonical_name(score.domain) for score in scores} - {_MEAN})


def _section(scores: Sequence[Score], columns: Sequence[_Column], domain: str) -> list[Row]:
    return [Row((domain, *[""] * len(columns)), heading=True), *_lines(scores, columns, domain)]


def _lines(scores: Sequence[Score], columns: Sequence[_Column], domain: str) -> list[Row]:
    behind, ranked = _behind(scores, domain), {column.metric for column in columns}.difference(_OF_ACTIONS)
    rows = []
    for line in dict.fromkeys(Line(each.paper, each.planner) for each in behind if each.metric in ranked):
        cells = [column.of(behind, line) for column in columns]
        seeds = {score.seed for found in cells for score in found}
        if seeds:
            words = _over_domains if domain == _MEAN and not line.paper else _as_one
            title = f"{line.planner.title}, published" if line.paper else f"{line.planner.title} x{len(seeds)}"
            rows.append(Row((title, *map(words, cells)), published=bool(line.paper)))
    return rows


def _behind(scores: Sequence[Score], domain: str) -> list[Score]:
    """The scores of a domain; behind the mean, what is printed as such and all of ours, from whichever source."""
    if domain == _MEAN:
        ours = (replace(score, variant=without_source(score.variant)) for score in scores if not score.paper)
        return [*ours, *(score for score in scores if score.paper and score.domain == _MEAN)]
    return [score for score in scores if canonical_name(score.domain) == domain]


def _as_one(scores: Sequence[Score]) -> str:
    """The scores of one domain, or a printed mean."""
    shown = cell(scores)
    if shown is None:
        return ""
    show = METRICS[scores[0].metric].show
    low, high = map(show, shown.interval)
    return f"{_with_spread(shown.value, shown.spread, show)}{f' [{low}, {high}], n = {shown.n}' if shown.count else ''}"


def _over_domains(scores: Sequence[Score]) -> str:
    """The mean over the domains that were measured."""
    if not scores:
        return ""
    domains: dict[str, list[float]] = {}
    for score in scores:
        domains.setdefault(canonical_name(score.domain), []).append(score.value)
    means = [mean(values) for values in domains.values()]
    number = f"{len(means)} domain{'s' if len(means) > 1 else ''}"
    return f"{_with_spread(mean(means), pstdev(means), METRICS[scores[0].metric].show)}, {number}"


def _with_spread(value: float, spread: float | None, show: Callable[[float], str]) -> str:
    return f"{show(value)} ±{show(spread)}" if spread else show(value)


def _hits(split: str) -> _Column:
    return _Column(split or "split not said", split, "hit@5")  # of the untrained model no split is printed


def _each(split: str, *metrics: str) -> tuple[_Column, ...]:
    return tuple(_Column(METRICS[metric].heading, split, metric) for metric in metrics)


_TABLES: Mapping[str, tuple[str, tuple[_Column, ...], bool]] = {
    "1": ("next states among the first five, by encoder", (_hits("interpolation"), _hits("extrapolation")), False),
    "2": (
        "next states and actions, interpolation",
        _each("interpolation", "hit@1", "hit@5", "hit@10", *_OF_ACTIONS),
        True,
    ),
    "3": ("steps and whole plans, plan-variant", _each("plan-variant", "plan_mean_hit@5", "plan_exact_hit@5"), True),
    "4": (
        "next states among the first five, by what training shares with the test",
        (
            *map(_hits, ("", "cross-domain", "leave-one-out", "multi-domain", "extrapolation")),
            _Column("plan-variant, steps of plans", "plan-variant", "plan_mean_hit@5"),
            _hits("interpolation"),
        ),
        False,
    ),
}

PAPER = Paper(
    key="embedplan",
    title="Textual Planning with Explicit Latent Transitions",
    suite="acpbench",
    tables={
        number: PaperTable(title, _table(f"Table {number}: {title}", columns, by_domain))
        for number, (title, columns, by_domain) in _TABLES.items()
    },
)
