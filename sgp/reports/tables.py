"""Tables of scores: seeds are pooled to one cell, scores are pivoted to lines and columns. Coverage is also drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import nan
from statistics import fmean, mean, pstdev
from typing import TYPE_CHECKING, Any

import pandas as pd

from sgp import drawing
from sgp.datasets.subject import SPLITS, Variant
from sgp.errors import InputError, names
from sgp.evaluation.scores import METRICS, rounded, select, shown_share, wilson, with_planners
from sgp.reports.table import CAPTIONS, Row, Table

if TYPE_CHECKING:
    from sgp.viewer.pictures import Picture

REFERENCES = ("fast-downward", "goal-count")  # methods that learn nothing, shown beside every other
NO_REFERENCE = "Fast Downward and goal count, the references, were not measured on this whole suite."
_DETAILS = ("plan_length", "plan_cost", "plan_length_ratio", "decisions", "seconds")
_DIAGNOSTICS = (
    *("expert_top1", "expert_top3", "expert_rank", "indistinguishable", "unseen", "perfect_coverage"),
    *("name_sensitivity", "coverage"),
)
_RETRIEVAL = {
    **{"hit@1": "Hit@1", "hit@5": "Hit@5", "hit@10": "Hit@10", "pool": "pool", "chance_hit@5": "chance"},
    **{"acc@1": "Acc@1", "plan_exact_hit@5": "plans", "closed_loop_exact": "followed"},
}
_OUTCOMES = ("memory", "timeout", "refused", "stuck", "horizon")  # in the order of the table of failures
_LINE = ("model", "domain", "split")


def short(value: float) -> str:
    """Format a value with two decimals, without a zero before the point."""
    return rounded(value).removeprefix("0")


def rate(value: float) -> str:
    """Format a share as `short` does, with more decimals if one between 0 and 1 would be rounded to either."""
    return shown_share(value).removeprefix("0")


def counted(count: int, distinct: int) -> str:
    """Format a number of problems: "219 (131 distinct)", or "20" if all are distinct."""
    return str(count) if distinct == count else f"{count} ({distinct} distinct)"


@dataclass(frozen=True)
class Pooled:
    """Scores of several seeds as one: their mean `value` and standard deviation (of a single score as printed).

    `trials` of the `count` problems are distinct as far as known. `low` and `high` are the 95 % Wilson interval of the
    mean on the distinct problems. `n` and `text` are the formatted count and value.
    """

    value: float
    spread: float
    count: int
    trials: int
    seeds: int
    low: float
    high: float
    n: str
    text: str


def pool(scores: Sequence[Any]) -> Pooled:
    """Pool rows of scores (`itertuples`), at least one."""
    values = [row.value for row in scores]
    largest = max(scores, key=lambda row: row.n)
    count = int(largest.n)
    trials = count if pd.isna(largest.n_distinct) else int(largest.n_distinct)
    value, spread = mean(values), scores[0].spread if len(scores) == 1 else pstdev(values)
    low, high = wilson(value, trials) if 0 <= value <= 1 else (nan, nan)
    text = rate(value) + (f" ±{short(spread)}" if round(spread, 2) > 0 else "")
    text += f" [{short(low)}, {short(high)}]" if count else ""
    seeds = len({row.seed for row in scores})
    return Pooled(value, spread, count, trials, seeds, low, high, counted(count, trials), text)


def pool_seeds(scores: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """One row for each combination of the columns `by`, in order of first appearance, with the fields of `Pooled`."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in scores.itertuples(index=False):
        groups.setdefault(tuple(getattr(row, name) for name in by), []).append(row)
    return pd.DataFrame(
        [(*key, *vars(pool(rows)).values()) for key, rows in groups.items()],
        columns=[*by, *(field.name for field in fields(Pooled))],
    )


def pivot(
    scores: pd.DataFrame,
    lines: Sequence[str],
    column: str,
    words: Callable[[pd.DataFrame], str],
    title: str = "",
    caption: str = "",
    columns: Iterable[Any] | None = None,
    headings: Sequence[str] = (),
    extra: Mapping[str, Callable[[pd.DataFrame], str]] | None = None,
    section: str = "",
) -> Table:
    """A table with a line for each combination of the columns `lines` and a cell for each value of `column`.

    `words` formats the rows of a cell; a cell without rows is empty. `columns` orders the cells; `headings` are those
    of all columns. `extra` has further columns between lines and cells, formatted from all rows of a line. Each value
    of the column `section` is a heading row.
    """
    extra = extra or {}
    shown = list(dict.fromkeys(scores[column])) if columns is None else list(columns)
    rows: list[Row] = []
    for name, part in scores.groupby(section, sort=False) if section else [("", scores)]:
        if section:
            rows.append(Row((str(name), *[""] * (len(lines) - 1 + len(extra) + len(shown))), heading=True))
        for key, line in part.groupby(list(lines), sort=False):
            cells = [line[line[column] == value] for value in shown]
            first = (*map(str, key), *(write(line) for write in extra.values()))
            rows.append(Row((*first, *(words(cell) if len(cell) else "" for cell in cells))))
    return Table(title, tuple(headings or (*lines, *extra, *map(str, shown))), tuple(rows), caption)


def splits_by_domain(scores: pd.DataFrame) -> dict[str, list[str]]:
    """The splits of each domain that have coverage, in the order of the paper."""
    order = {split: place for place, split in enumerate(SPLITS)}
    return {
        domain: sorted(dict.fromkeys(part["split"]), key=lambda split: order.get(split, len(order)))
        for domain, part in select(scores, metric="coverage").groupby("domain", sort=False)
    }


class CoverageCells:
    """The cells of a coverage table: pooled scores by paper ("" for ours), planner, domain and split."""

    def __init__(self, whole: pd.DataFrame) -> None:
        measured, printed = (set(whole["domain"][whole["paper"].eq("") == ours]) for ours in (True, False))
        self._name: Callable[[str], str] = str
        if printed and not measured <= printed:  # a domain may have another name in the paper
            from sgp.domains import canonical_name

            self._name = canonical_name
        by = ("paper", "planner", "domain", "split")
        pooled = pool_seeds(whole.assign(domain=whole["domain"].map(self._name)), by)
        self._cells = {(row.paper, row.planner, row.domain, row.split): row for row in pooled.itertuples(index=False)}
        lines = dict.fromkeys(zip(whole["paper"], whole["planner"], strict=True))
        self.ours = [planner for paper, planner in lines if not paper]
        self.theirs = [line for line in lines if line[0]]

    def of(self, paper: str, planner: str, places: Sequence[tuple[str, str]]) -> list[Any]:
        """The cells of a line at these places (domain, split), None where there is none."""
        return [self._cells.get((paper, planner, self._name(domain), split)) for domain, split in places]


def require_splits(splits: Collection[str], known: Collection[str]) -> None:
    """Raise InputError for a split without scores."""
    if unknown := set(splits) - set(known):
        expected = ", ".join(sorted(filter(None, set(known))))
        raise InputError(f"there are no scores of split '{min(unknown)}'; expected some of {expected}")


def coverage_table(
    scores: pd.DataFrame, title: str, splits: Collection[str] = (), all_published: bool = False
) -> Table:
    """Coverage: a line for each of our planners with its published counterpart below it.

    A section for each domain and a column for each split; for a single split one section with a column for each domain.
    `all_published` adds the published planners without a counterpart.
    """
    whole = select(scores, metric="coverage", size=None)
    ours = whole[whole["paper"] == ""]
    counts = ours if len(ours) else whole
    scored = splits_by_domain(counts if all_published else ours)
    places = {domain: [split for split in known if not splits or split in splits] for domain, known in scored.items()}
    names = list(dict.fromkeys(split for chosen in places.values() for split in chosen))
    require_splits(splits, [split for known in scored.values() for split in known])
    cells = CoverageCells(whole)
    width = max(map(len, places.values()), default=0)
    headings: tuple[str, ...] = ("planner", *names)
    rows: list[Row] = []
    if len(names) == 1:
        headings = ("planner", *places)
        rows = _section(names[0], [(domain, names[0]) for domain in places], cells, counts, all_published)
    elif len(names) > width:  # each domain names its own splits
        headings = ("planner", *[""] * width)
        for domain, chosen in places.items():
            first, *others = _section(domain, [(domain, split) for split in chosen], cells, counts, all_published)
            titles = (f"{split}, {count}" for split, count in zip(chosen, first.words[1:], strict=True))
            lines = [replace(first, words=(domain, *titles)), *others]
            rows += [replace(row, words=row.words + ("",) * (width + 1 - len(row.words))) for row in lines]
    else:
        for domain in places:
            rows += _section(domain, [(domain, split) for split in names], cells, counts, all_published)
    caption = (
        f"{CAPTIONS['coverage']} {CAPTIONS['other_instances']}"
        if any(row.published for row in rows)
        else CAPTIONS["coverage"]
    )
    return Table(title, headings, tuple(rows), caption)


def _section(
    name: str, places: Sequence[tuple[str, str]], cells: CoverageCells, counts: pd.DataFrame, all_published: bool
) -> list[Row]:
    problems = pool_seeds(counts, ("domain", "split"))
    n_of = {(row.domain, row.split): f"n = {row.n}" for row in problems.itertuples(index=False) if row.count}
    rows = [Row((name, *(n_of.get(place, "") for place in places)), heading=True)]
    others = list(cells.theirs)
    for planner in cells.ours:
        measured = cells.of("", planner, places)
        if not any(measured):
            continue
        seeds = max(cell.seeds for cell in measured if cell is not None)
        rows.append(Row((f"{planner} x{seeds}", *(cell.text if cell else "" for cell in measured))))
        for line in [line for line in others if line[1] == planner]:
            pairs = zip(cells.of(*line, places), measured, strict=True)
            words = [f"{printed.text}{_mark(printed, cell)}" if printed else "" for printed, cell in pairs]
            if any(words):
                rows.append(Row(("  published", *words), published=True))
            others.remove(line)
    for line in others if all_published else ():
        words = [cell.text if cell else "" for cell in cells.of(*line, places)]
        if any(words):
            rows.append(Row((f"{line[1]}, published", *words), published=True))
    return rows


def _mark(printed: Any, measured: Any) -> str:
    """A star where the intervals of two cells share no point."""
    return " *" if measured and (printed.low > measured.high or measured.low > printed.high) else ""


def details_table(scores: pd.DataFrame, title: str) -> Table:
    """Behind the coverage of whole splits: solved problems, means of their plans, and outcomes of the others."""
    whole = _with_metric(_with_model(select(scores, size=None)), "coverage")
    details = [name for name in _DETAILS if name != "plan_cost" or "plan_cost" in set(whole["metric"])]
    outcomes = whole["metric"].str.startswith("outcome_")

    def words(cell: pd.DataFrame) -> str:
        if cell["column"].iloc[0] == "coverage":
            pooled = pool(list(cell.itertuples()))
            return f"{pooled.value * pooled.count:.0f} of {pooled.n}"
        if cell["column"].iloc[0] != "otherwise":
            return _last(cell)
        counts = {row.metric.removeprefix("outcome_"): METRICS[row.metric].show(row.value) for row in cell.itertuples()}
        return ", ".join(f"{name} {counts[name]}" for name in sorted(counts) if name != "solved")

    headings = ("planner", "domain", "split", "solved", *(METRICS[name].heading for name in details), "otherwise")
    whole = whole.assign(column=whole["metric"].mask(outcomes, "otherwise"))
    return pivot(whole, _LINE, "column", words, title, "", ("coverage", *details, "otherwise"), headings)


def _with_model(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores with a column `model`: planner and seed."""
    seeds = scores["seed"].map(lambda seed: f" seed {seed}", na_action="ignore").astype(object)
    return scores.assign(model=scores["planner"] + seeds.where(seeds.notna(), ""))


def _with_metric(scores: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The scores of the lines (model, domain, split) that have the metric."""
    known = scores.groupby(list(_LINE))["metric"].transform(lambda names: metric in set(names))
    return scores[known.astype(bool)]


def _last(cell: pd.DataFrame) -> str:
    return METRICS[cell["metric"].iloc[-1]].show(cell["value"].iloc[-1])


def diagnostics_table(scores: pd.DataFrame) -> Table:
    """A line for each planner, domain and split, with the coverage where it was measured."""
    whole = _with_model(select(scores, size=None, metric=_DIAGNOSTICS)).sort_values(list(_LINE), kind="stable")
    named = "name_sensitivity" in set(whole["metric"])
    shown = [name for name in _DIAGNOSTICS if named or name != "name_sensitivity"]
    headings = ("planner", "domain", "split", "decisions", *(METRICS[name].heading for name in shown))
    decisions = {"decisions": lambda line: str(line[line["metric"] == "expert_rank"]["n"].iloc[-1])}
    caption = CAPTIONS["diagnostics"] + (f" {CAPTIONS['by_name']}" if named else "")
    whole = _with_metric(whole, "expert_rank")
    return pivot(whole, _LINE, "metric", _last, "Diagnostics on expert states", caption, shown, headings, decisions)


def decodings_table(scores: pd.DataFrame, title: str) -> Table:
    """Coverage of whole splits: a line for each training and split, a column for each decoding."""
    whole = select(scores, metric="coverage", size=None, paper="")
    columns = list(dict.fromkeys(whole["decoding"]))
    trainings = with_planners(whole.assign(decoding="default")).assign(decoding=whole["decoding"])

    def n(line: pd.DataFrame) -> str:
        pooled = pool_seeds(line, ("decoding",))
        return str(pooled["n"].iloc[pooled["count"].to_numpy().argmax()])

    def words(cell: pd.DataFrame) -> str:
        return pool(list(cell.itertuples())).text

    headings = ("training", "domain", "split", "n", *columns)
    lines = ("planner", "domain", "split")
    return pivot(trainings, lines, "decoding", words, title, CAPTIONS["decodings"], columns, headings, {"n": n})


def spread_table(scores: pd.DataFrame, title: str) -> Table:
    """The spread of coverage over runs that should be equivalent, as a jackknife's: a line a domain and split."""
    rows = []
    for domain, splits in splits_by_domain(scores).items():
        for split in splits:
            whole = select(scores, metric="coverage", size=None, domain=domain, split=split)
            values = dict(zip(whole["variant"], whole["value"], strict=True))
            worst = min(values, key=lambda variant: values[variant])
            name = "" if values[worst] == max(values.values()) else worst
            numbers = (str(len(values)), f"{mean(values.values()):.4f}", f"{values[worst]:.4f}")
            rows.append((domain, split, *numbers, name))
    return Table.of(title, ("domain", "split", "runs", "mean coverage", "least", "of"), rows)


def with_draws(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores with a column `problems`: how many training problems were drawn, missing where all were used."""
    variants = {name: Variant.parse(name) for name in dict.fromkeys(scores["variant"])}
    drawn = {name: variant.drawn[0] if variant.drawn else None for name, variant in variants.items()}
    plain = {name: str(replace(variant, drawn=None)) for name, variant in variants.items()}
    problems = pd.array([drawn[name] for name in scores["variant"]], dtype="Int64")
    return with_planners(scores.assign(variant=scores["variant"].map(plain), problems=problems))


def pool_draws(scores: pd.DataFrame) -> pd.DataFrame:
    """The learning curves among scores: a row for each domain, split, planner and number of training `problems`.

    Columns: `value`, the mean over the draws; `least` and `most`; number of `draws`; `count` of problems; `low`
    and `high`, the Wilson interval of the mean.
    """
    drawn = with_draws(select(scores, metric="coverage", size=None))
    rows = []
    for key, curve in drawn[drawn["problems"].notna()].groupby(["domain", "split", "planner"], sort=False):
        for problems, draws in curve.groupby("problems"):
            values = draws["value"].tolist()
            first = pool(list(draws.iloc[:1].itertuples()))
            interval = wilson(mean(values), first.trials)
            rows.append((*key, problems, mean(values), min(values), max(values), len(values), first.count, *interval))
    names = ("domain", "split", "planner", "problems", "value", "least", "most", "draws", "count", "low", "high")
    return pd.DataFrame(rows, columns=list(names))


def learning_table(scores: pd.DataFrame, title: str) -> Table:
    """Coverage by the number of training problems: mean and minimum over the draws, a line for each number."""
    order = [(domain, split) for domain, splits in splits_by_domain(scores).items() for split in splits]
    curves = sorted(pool_draws(scores).itertuples(), key=lambda row: order.index((row.domain, row.split)))
    rows = [
        (
            *(row.domain, row.split, row.planner, str(row.problems), str(row.draws)),
            *(shown_share(row.value, 3), shown_share(row.least, 3), f"[{row.low:.2f}, {row.high:.2f}]", str(row.count)),
        )
        for row in curves
    ]
    headings = ("domain", "split", "planner", "training problems", "draws", "mean coverage", "least", "95 %", "n")
    return Table.of(title, headings, rows)


def retrieval_table(scores: pd.DataFrame, title: str) -> Table:
    """A section for each protocol and kind of pool, a line for each model and domain."""

    def words(cell: pd.DataFrame) -> str:
        metric, value = cell["metric"].iloc[0], fmean(cell["value"])
        if metric == "hit@5":
            n = int(cell["n"].min())
            return "{:.2f} [{:.2f}, {:.2f}], n = {}".format(value, *wilson(value, n), n)
        return f"{value:.0f}" if metric == "pool" else f"{value:.2f}"

    scores = scores.assign(model=scores["method"] + " " + scores["variant"], section="")
    parts = [scores.iloc[:0]]
    for _, (split, pools) in select(scores, metric="hit@1")[["split", "pool"]].drop_duplicates().iterrows():
        ranked = select(scores, split=split, pool=pools)
        part = select(scores, split=split, pool=["", pools]).merge(ranked[["model", "domain"]].drop_duplicates())
        order = {name: place for place, name in enumerate(dict.fromkeys(ranked["model"]))}
        part = part.sort_values("model", key=lambda names, order=order: names.map(order), kind="stable")
        parts.append(part.assign(section=f"{split}, pools {pools}"))
    headings = ("model", "domain", *_RETRIEVAL.values())
    lines = ("model", "domain")
    return pivot(
        pd.concat(parts), lines, "metric", words, title, CAPTIONS["retrieval"], _RETRIEVAL, headings, section="section"
    )


def failures_table(attempts: pd.DataFrame) -> Table:
    """Unsolved attempts by outcome: those stopped by a limit or refused first, then the most frequent."""
    keys = ["outcome", "planner", "domain", "split"]
    rows = []
    for key, part in attempts[~attempts["solved"]].sort_values("size", kind="stable").groupby(keys):
        smallest = f"{part['problem'].iloc[0]} ({part['size'].iloc[0]} objects)"
        rows.append((*key, str(len(part)), smallest))
    rows.sort(key=lambda row: (_OUTCOMES.index(row[0]), -int(row[4]), row[1:4]))
    return Table.of("Unsolved attempts", ("ended", "planner", "domain", "split", "attempts", "smallest problem"), rows)


# Measured and published numbers differ by shape and colour (Okabe and Ito's palette, safe for the colour-blind).
_OURS, _THEIRS = "#0072b2", "#d55e00"
_LEFT, _PANEL, _GAP, _RIGHT, _STEP, _TOP = 220, 170, 22, 20, 16, 30  # pixels


def coverage(scores: pd.DataFrame, splits: Sequence[str] | str = ()) -> Picture:
    """Draw the coverage of whole splits: a panel for each domain, a line for each planner, 95 % Wilson intervals.

    Published scores are diamonds. `save` of the picture writes it as SVG, PNG or PDF.
    """
    from sgp.viewer.pictures import Picture

    if not hasattr(scores, "columns"):
        raise InputError(f"scores are {scores!r:.80}; expected a DataFrame, as of 'sgp.load_scores()'")
    whole, chosen = select(scores, metric="coverage", size=None), names(splits, "split")
    if whole.empty:
        raise InputError("there is no score of coverage on a whole split to draw; expected some, as of 'load_scores'")
    require_splits(chosen, set(whole["split"]))
    return Picture(coverage_figure(whole, chosen))


def coverage_figure(scores: pd.DataFrame, splits: Collection[str] = ()) -> str:
    """Coverage with 95 % intervals as SVG: a section for each split, a panel for each domain, a line for a planner."""
    whole = select(scores, metric="coverage", size=None)
    ours = whole[whole["paper"] == ""]
    places, cells = splits_by_domain(ours), CoverageCells(whole)
    names = dict.fromkeys(split for known in places.values() for split in known if not splits or split in splits)
    planners = list(dict.fromkeys([*cells.ours, *(planner for _, planner in cells.theirs)]))
    papers = list(dict.fromkeys(paper for paper, _ in cells.theirs))
    n_of = {(row.domain, row.split): row.n for row in pool_seeds(ours, ("domain", "split")).itertuples()}
    width = _LEFT + len(places) * (_PANEL + _GAP) + _RIGHT
    parts = [
        drawing.circle(_LEFT, 16, 4, fill=_OURS),
        drawing.text("measured here", _LEFT + 10, 20),
        _diamond(_LEFT + 120, 16),
        drawing.text("published, on other instances", _LEFT + 130, 20),
        drawing.text("coverage, 95 % Wilson interval", width - _RIGHT, 20, text_anchor="end"),
    ]
    top = float(_TOP)
    for split in names:
        top += 30
        lines = [top + 14 + _STEP * number for number in range(len(planners) + 1)]  # centres; then the end
        parts.append(drawing.text(split, 10, top, font_weight="bold"))
        for place, domain in enumerate(places):
            x = _LEFT + place * (_PANEL + _GAP)
            parts += _panel(x, top, lines[-1] - _STEP / 2, f"{domain}, n = {n_of.get((domain, split), 0)}")
            for planner, y in zip(planners, lines, strict=False):
                for paper in ("", *papers):
                    (cell,) = cells.of(paper, planner, [(domain, split)])
                    if cell is not None:
                        parts.append(_interval(cell, x, y + (3 if paper else -3), bool(paper)))
        for planner, y in zip(planners, lines, strict=False):
            parts.append(drawing.text(planner, _LEFT - 10, y + 4, text_anchor="end", font_size=11))
        top = lines[-1] + 14
    background = drawing.rect(0, 0, width, top + 10, fill="#ffffff")
    return drawing.picture(width, top + 10, [background, *parts], "Coverage by split, domain and planner")


def _panel(x: float, top: float, bottom: float, title: str) -> list[str]:
    parts = [drawing.text(title, x + _PANEL / 2, top, text_anchor="middle")]
    for tick in (0.0, 0.5, 1.0):
        at = x + _PANEL * tick
        parts.append(drawing.line(at, top + 6, at, bottom, stroke="#dddddd"))
        parts.append(drawing.text(f"{tick:g}", at, bottom + 12, text_anchor="middle", font_size=10, fill="#666666"))
    return parts


def _interval(cell: Any, x: float, y: float, published: bool) -> str:
    low, high, at = (x + _PANEL * float(value) for value in (cell.low, cell.high, cell.value))
    colour = _THEIRS if published else _OURS
    mark = _diamond(at, y) if published else drawing.circle(at, y, 3.5, fill=colour)
    return drawing.line(low, y, high, y, stroke=colour, stroke_width=1.5, stroke_opacity=0.6) + mark


def _diamond(x: float, y: float) -> str:
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in ((0, -4.5), (4.5, 0), (0, 4.5), (-4.5, 0)))
    return drawing.element("polygon", "", points=corners, fill=_THEIRS)
