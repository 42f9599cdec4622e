"""Coverage tables: our lines beside the published ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, pstdev

from sgp.datasets.store import data_folder
from sgp.datasets.suite import SPLITS
from sgp.domains import canonical_name
from sgp.errors import InputError
from sgp.evaluation.attempts import AttemptRow, read_attempts
from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import Score, read_scores, wilson
from sgp.planning.subject import PlannerName
from sgp.reports.sheets import Row, Sheet

_DETAILS = ("plan_length", "plan_cost", "plan_length_ratio", "decisions", "seconds")
OTHER_INSTANCES = (
    "The published numbers were measured on other instances of the same sizes: compare the intervals, not the digits."
)
READING = (
    "Coverage, its standard deviation over seeds where there are several, and the 95 % Wilson interval on n problems, "
    "or on those of them that are distinct up to renaming of objects (of published numbers that is not known). "
    "xN: N seeds; deterministic planners run once. * marks a published number whose interval does not meet ours."
)


def measured() -> list[Score]:
    """The scores that were measured and committed, from all files. Raises StoreError naming a line that is no score."""
    return [score for path in sorted((data_folder() / "measured").glob("scores-*.csv")) for score in read_scores(path)]


def of_suite(scores: Sequence[Score], suite: str) -> list[Score]:
    """The scores on one suite. Raises InputError with the suites there are where there are none."""
    found = [score for score in scores if score.suite == suite]
    if scores and not found:
        others = ", ".join(sorted({score.suite for score in scores}))
        raise InputError(f"there are no scores on suite '{suite}', but on {others}; choose with --suite")
    return found


def measured_attempts() -> list[AttemptRow]:
    """The attempts behind the committed scores. Raises StoreError naming a line that is no attempt."""
    return [row for path in sorted((data_folder() / "measured").glob("attempts-*.csv")) for row in read_attempts(path)]


@dataclass(frozen=True)
class Line:
    """A line of a table: a paper's name (empty for ours) and a planner."""

    paper: str
    planner: PlannerName


@dataclass(frozen=True)
class Coverage:
    """Coverage of one planner in one split: the mean over seeds, its standard deviation, and the number of problems.

    `trials` of the `count` problems are distinct up to renaming of objects; where that is not known it is all.
    """

    value: float
    spread: float | None
    count: int
    trials: int
    seeds: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the mean over all problems and seeds, on the number of distinct problems.

        Neither another seed nor another naming of the same problem is further evidence on problems.
        """
        return wilson(self.value, self.trials)

    @property
    def n(self) -> str:
        """The number of problems in words, with that of distinct ones where it differs."""
        return counted(self.count, self.trials)

    def overlaps(self, other: Coverage) -> bool:
        """Whether the intervals share a point."""
        (low, high), (other_low, other_high) = self.interval, other.interval
        return low <= other_high and other_low <= high

    def __str__(self) -> str:
        spread = f" ±{_short(self.spread)}" if self.spread else ""
        if not self.count:
            return f"{_short(self.value)}{spread}"
        low, high = self.interval
        return f"{_short(self.value)}{spread} [{_short(low)}, {_short(high)}]"


def counted(count: int, distinct: int) -> str:
    """A number of problems in words: "219 (131 distinct)", or "20" where all are."""
    return str(count) if distinct == count else f"{count} ({distinct} distinct)"


def _short(value: float) -> str:
    """Two digits after the point, and none before it where that would be 0."""
    return f"{value:.2f}".removeprefix("0") if value >= 0 else f"{value:.2f}"


def cell(scores: Sequence[Score]) -> Coverage | None:
    """The scores of one cell as one: seeds are averaged, a published score stands as printed."""
    if not scores:
        return None
    values = [score.value for score in scores]
    spread = scores[0].spread if len(scores) == 1 else pstdev(values)
    largest = max(scores, key=lambda score: score.count)
    seeds = len({score.seed for score in scores})
    return Coverage(mean(values), spread, largest.count, largest.trials, seeds)


def select(scores: Iterable[Score], line: Line, domain: str, split: str) -> list[Score]:
    """The whole-split coverage scores of a planner."""
    return [
        score
        for score in scores
        if (score.paper, score.planner) == (line.paper, line.planner)
        and canonical_name(score.domain) == canonical_name(domain)
        and (score.split, score.metric, score.size) == (split, "coverage", None)
    ]


def coverage_of(
    scores: Iterable[Score],
    method: str,
    variant: str,
    domain: str,
    suite: str,
    split: str,
    paper: str = "",
    decoding: str = "",
    selected_by: str = "",
) -> Coverage | None:
    """Coverage of one planner on a whole split of a suite, over its seeds; None where it is not among the scores.

    Ours, or what a `paper` printed (its suite is "published").
    """
    of_suite = (each for each in scores if each.suite == suite)
    return cell(select(of_suite, Line(paper, PlannerName(method, variant, decoding, selected_by)), domain, split))


def lines_of(scores: Iterable[Score]) -> list[Line]:
    """The lines whose coverage was scored, in order."""
    return list(dict.fromkeys(Line(score.paper, score.planner) for score in scores if score.metric == "coverage"))


def domains_and_splits(scores: Iterable[Score]) -> dict[str, list[str]]:
    """The splits of each domain whose coverage was scored, in the order of the paper."""
    order = {split: place for place, split in enumerate(SPLITS)}
    found: dict[str, list[str]] = {}
    for score in scores:
        if score.metric == "coverage" and score.split not in found.setdefault(score.domain, []):
            found[score.domain].append(score.split)
    return {name: sorted(splits, key=lambda split: order.get(split, len(order))) for name, splits in found.items()}


def coverage_sheet(
    ours: Sequence[Score],
    theirs: Sequence[Score],
    title: str,
    splits: Collection[str] = (),
    all_published: bool = False,
) -> Sheet:
    """Coverage: a line for each of our planners with its published twin below it.

    A section for each domain and a column for each split (of its own where the domains' splits differ); for a single
    split one section with a column for each domain. `all_published` adds the published planners that have no twin here,
    and shows them alone where there are none of ours. Raises InputError for a split without scores, naming those there
    are.
    """
    scored = domains_and_splits(ours if ours or not all_published else theirs)
    places = {domain: [split for split in found if not splits or split in splits] for domain, found in scored.items()}
    names = list(dict.fromkeys(split for found in places.values() for split in found))
    unknown = set(splits) - set(names)
    if unknown:
        known = sorted({split for found in scored.values() for split in found})
        raise InputError(f"there are no scores of split '{min(unknown)}'; expected some of {', '.join(known)}")
    rows: list[Row] = []
    headings: tuple[str, ...]
    if len(names) == 1:
        headings = ("planner", *places)
        rows += _section(names[0], [(domain, names[0]) for domain in places], ours, theirs, all_published)
    elif len(names) > max(map(len, places.values()), default=0):
        # Every domain has splits of its own: each section names them.
        width = max(map(len, places.values()))
        headings = ("planner", *[""] * width)
        for domain, found in places.items():
            first, *others = _section(domain, [(domain, split) for split in found], ours, theirs, all_published)
            titles = (f"{split}, {count}" for split, count in zip(found, first.words[1:], strict=True))
            lines = [replace(first, words=(domain, *titles)), *others]
            rows += [replace(row, words=row.words + ("",) * (width + 1 - len(row.words))) for row in lines]
    else:
        headings = ("planner", *names)
        for domain in places:
            rows += _section(domain, [(domain, split) for split in names], ours, theirs, all_published)
    caption = f"{READING} {OTHER_INSTANCES}" if any(row.published for row in rows) else READING
    return Sheet(title, headings, tuple(rows), caption)


def _section(
    name: str,
    columns: Sequence[tuple[str, str]],
    ours: Sequence[Score],
    theirs: Sequence[Score],
    all_published: bool,
) -> list[Row]:
    counts = [cell(_whole(ours or theirs, *place)) for place in columns]
    rows = [Row((name, *(f"n = {each.n}" if each and each.count else "" for each in counts)), heading=True)]
    others = lines_of(theirs)
    for line in lines_of(ours):
        cells = [cell(select(ours, line, *place)) for place in columns]
        if not any(cells):
            continue
        seeds = max(each.seeds for each in cells if each is not None)
        rows.append(Row((f"{line.planner.title} x{seeds}", *map(_words, cells))))
        for twin in [each for each in others if each.planner == line.planner]:
            published_cells = [cell(select(theirs, twin, *place)) for place in columns]
            words = [_words(their, own) for their, own in zip(published_cells, cells, strict=True)]
            if any(words):
                rows.append(Row(("  published", *words), published=True))
            others.remove(twin)
    if all_published:
        for line in others:
            cells = [cell(select(theirs, line, *place)) for place in columns]
            if any(cells):
                rows.append(Row((f"{line.planner.title}, published", *map(_words, cells)), published=True))
    return rows


def _whole(scores: Iterable[Score], domain: str, split: str) -> list[Score]:
    return [
        score
        for score in scores
        if (score.domain, score.split, score.metric, score.size) == (domain, split, "coverage", None)
    ]


def _words(shown: Coverage | None, ours: Coverage | None = None) -> str:
    if shown is None:
        return ""
    return f"{shown}{' *' if ours is not None and not ours.overlaps(shown) else ''}"


def details_sheet(scores: Sequence[Score], title: str) -> Sheet:
    """What stands behind the coverage of whole splits.

    Mean plan length of solved problems, their cost where there is a metric, and the quotient by the expert's; mean
    decisions and seconds of all problems; how many problems ended otherwise than solved.
    """
    groups: dict[tuple[str, str, str], dict[str, Score]] = {}
    for score in scores:
        if score.size is None:
            groups.setdefault((score.model, score.domain, score.split), {})[score.metric] = score
    costly = any("plan_cost" in found for found in groups.values())
    details = [name for name in _DETAILS if costly or name != "plan_cost"]
    rows = []
    for place, found in groups.items():
        if "coverage" not in found:
            continue
        coverage = found["coverage"]
        others = {name.removeprefix("outcome_"): each for name, each in found.items() if name.startswith("outcome_")}
        others.pop("solved", None)
        rows.append(
            (
                *place,
                f"{coverage.value * coverage.count:.0f} of {counted(coverage.count, coverage.trials)}",
                *(_number(found.get(name)) for name in details),
                ", ".join(f"{name} {METRICS[each.metric].show(each.value)}" for name, each in sorted(others.items())),
            )
        )
    headings = ("planner", "domain", "split", "solved", *(METRICS[name].heading for name in details), "otherwise")
    return Sheet.of(title, headings, rows)


def _number(score: Score | None) -> str:
    return "" if score is None else METRICS[score.metric].show(score.value)


def spread_sheet(scores: Sequence[Score], title: str) -> Sheet:
    """How coverage differs among runs that should be alike, such as those of a jackknife: a line a domain and split."""
    lines = []
    for domain, splits in domains_and_splits(scores).items():
        for split in splits:
            values = {score.variant: score.value for score in _whole(scores, domain, split)}
            worst = max(values, key=lambda variant: METRICS["coverage"].rank(values[variant]))
            lines.append(
                (
                    domain,
                    split,
                    str(len(values)),
                    f"{mean(values.values()):.4f}",
                    f"{values[worst]:.4f}",
                    "" if values[worst] == max(values.values()) else worst,
                )
            )
    return Sheet.of(title, ("domain", "split", "runs", "mean coverage", "least", "of"), lines)
