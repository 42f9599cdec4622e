"""Kinds of tables that single papers have: sums over levels, rates of retrieval, sizes of models, problems."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean, median, pstdev
from typing import TYPE_CHECKING, Any

from sgp.datasets.suite import Suite, load_suite, suite_names
from sgp.domains import all_domains, canonical_name
from sgp.errors import InputError
from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import select, wilson
from sgp.planning.pddl import Problem
from sgp.planning.subject import PlannerName, Variant
from sgp.reports.papers import TableInputs, as_printed
from sgp.reports.table import Row, Table
from sgp.reports.tables import counted, pool, short

if TYPE_CHECKING:
    import pandas as pd

_TESTS, _TOTAL = ("easy", "medium", "hard"), "total"  # levels of suite track; the line of sums
_IPC = "-ipc"  # what AIW-AD's table 8 puts behind the track's domains
_MEAN = "mean"  # in place of a domain: the line over all
_ACTIONS = ("acc@1", "acc@5", "acc@10")  # ranked in no pool of states: a line of any pool has them
RATES = (
    "Rates. Published: ± as printed, of a domain over three seeds, of a mean over nine domains (--notes: where it is a "
    "standard error). Ours: ± the standard deviation over seeds (xN: N seeds), the 95 % Wilson interval on n; of a "
    "mean over domains ± their deviation, cross-domain those measured in, each from all others. After the point stands "
    "the pool in which next states are ranked. Pool paper: 128 states, of the domain for interpolation, of the problem "
    "for extrapolation, else not said; chance has the next one among the first five in 0.039. Pool all: every state of "
    "the domain, in which the published implementation ranks the steps of plans."
)


def _sums(inputs: TableInputs) -> Table:
    """AIW-AD, Tables 1 to 7: solved problems of each level, and our coverage beside; sums over levels are headings."""
    ours = inputs.ours
    if methods := inputs.options.get("methods"):
        ours = select(ours, method=methods)
    covered = select(ours, metric="coverage", size=None)
    planners = list(dict.fromkeys(select(ours, metric="coverage")["planner"]))
    variants = list(dict.fromkeys(inputs.printed["variant"]))
    own = _grouped(covered.assign(domain=covered["domain"].map(canonical_name)), "planner")
    theirs = _grouped(inputs.printed, "variant")

    def measured(planner: str, domain: str, split: str) -> str:
        levels = (split,) if split else _TESTS
        parts = [own.get((planner, canonical_name(domain), level)) for level in levels]
        if domain == _TOTAL or not all(parts):
            return ""
        pooled = [pool(part) for part in parts if part]
        count, trials = sum(part.count for part in pooled), sum(part.trials for part in pooled)
        if len(pooled) == 1:
            return f"{pooled[0].text}, n = {pooled[0].n}"
        value = sum(part.value * part.count for part in pooled) / max(count, 1)
        low, high = wilson(value, trials)
        return f"{short(value)} [{short(low)}, {short(high)}], n = {counted(count, trials)}"

    rows = []
    for domain, split in dict.fromkeys(zip(inputs.printed["domain"], inputs.printed["split"], strict=True)):
        if inputs.splits and split not in inputs.splits:
            continue
        found = [theirs.get((variant, domain, split)) for variant in variants]
        solved = [f"{part[0].value * part[0].count:.0f}/{part[0].count}" if part else "" for part in found]
        own_words = [measured(planner, domain, split) for planner in planners]
        rows.append(Row((domain, split, *solved, *own_words), heading=not split))
    seeds = select(ours, metric="coverage").groupby("planner")["seed"].nunique(dropna=False)
    titles = [f"ours: {planner} x{seeds[planner]}" for planner in planners]
    return Table(
        inputs.title, ("domain", "split", *variants, *titles), tuple(rows), _sums_caption(inputs, ours, planners)
    )


def _grouped(scores: pd.DataFrame, name: str) -> dict[tuple[str, str, str], list[Any]]:
    """The rows by the column `name`, domain and split."""
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for row in scores.itertuples():
        groups.setdefault((getattr(row, name), row.domain, row.split), []).append(row)
    return groups


def _sums_caption(inputs: TableInputs, ours: pd.DataFrame, planners: Sequence[str]) -> str:
    """What differs: problems, budgets, and which domains are ours, too."""
    words = ["Published: problems solved.", inputs.caption]
    if planners:
        words.append(
            f"Ours: suite {inputs.suite}, other problems; coverage with its 95 % Wilson interval, xN: N seeds."
        )
    else:
        words.append(f"Ours: nothing was measured on suite {inputs.suite} so far.")
    trainings = select(ours, metric="training_seconds")
    keys = dict.fromkeys(
        zip(
            *(select(ours, metric="coverage")[name] for name in ("planner", "method", "variant", "selected_by")),
            strict=True,
        )
    )
    for planner, method, variant, selected_by in keys:
        seconds = select(trainings, method=method, variant=variant, selected_by=selected_by, decoding="")["value"]
        if len(seconds):
            words.append(f"{planner}: {mean(seconds):.0f} s a training.")
    if not inputs.printed["split"].isin(_TESTS).any():
        here = {domain.name for domain in all_domains()}
        names = dict.fromkeys(name for name in inputs.printed["domain"] if canonical_name(name) in here)
        words.append(f"Of these domains the package has {', '.join(names)}, and none of the problems.")
    return " ".join(words)


def _problem_ranges(inputs: TableInputs) -> Table:
    """AIW-AD, Table 8: the problems of each split, ours counted in the suite's manifest if it is installed."""
    suite = load_suite(inputs.suite) if inputs.suite in suite_names() else None
    rows = []
    for (domain, split), part in inputs.printed.groupby(["domain", "split"], sort=False):
        found = dict(zip(part["metric"], part["value"], strict=True))
        sizes = _our_sizes(suite, domain, split)
        rows.append(
            (
                *(domain, split, f"{found['problems']:.0f}"),
                *(f"{found[f'{name}_least']:.0f} to {found[f'{name}_most']:.0f}" for name in ("objects", "atoms")),
                str(len(sizes)) if sizes else "",
                f"{min(sizes)} to {max(sizes)}" if sizes else "",
            )
        )
    headings = ("domain", "split", "problems", "objects", "atoms", "our problems", "our objects")
    return Table.of(inputs.title, headings, rows, f"Ours: suite {inputs.suite}; its tests are three levels.")


def _our_sizes(suite: Suite | None, domain: str, split: str) -> list[int]:
    """The sizes of our problems beside a line of the paper's; only domains of the track have some."""
    if suite is None or not domain.endswith(_IPC):
        return []
    name = canonical_name(domain.removesuffix(_IPC))
    splits = next((found.splits for key, found in suite.domains.items() if canonical_name(key) == name), {})
    return [entry.size for level in (_TESTS if split == "test" else (split,)) for entry in splits.get(level, ())]


def _rates(inputs: TableInputs) -> Table:
    """EmbedPlan: a line for each planner, ours first; with `by_domain` a section for each domain and their mean."""
    import pandas as pd

    columns = _chosen(
        [(*column[:2], column[-1] if len(column) > 2 else column[0]) for column in inputs.options["columns"]],
        inputs.splits,
    )
    shown = {(split, metric) for split, metric, _ in columns}

    def of_columns(scores: pd.DataFrame) -> pd.DataFrame:
        places = pd.Series(list(zip(scores["split"], scores["metric"], strict=True)), index=scores.index, dtype=object)
        return scores[places.isin(shown)]

    ours, caps = _without_caps(of_columns(inputs.ours))
    scores = pd.concat([ours, of_columns(inputs.printed)])
    scores = scores[scores["size"].isna()].assign(domain=scores["domain"].map(canonical_name))
    domains = sorted(set(scores["domain"]) - {_MEAN}) if inputs.options.get("by_domain") else []
    rows = []
    for domain in domains:
        rows += [Row((domain, *[""] * len(columns)), heading=True)]
        rows += _rate_lines(scores[scores["domain"] == domain], columns, over_domains=False)
    if domains:
        rows += [Row((_MEAN, *[""] * len(columns)), heading=True)]
    from_any = ours.assign(variant=ours["variant"].map(_without_source))
    printed = scores[(scores["paper"] != "") & (scores["domain"] == _MEAN)]
    rows += _rate_lines(pd.concat([from_any, printed]), columns, over_domains=True)
    return Table(inputs.title, ("planner", *(heading for _, _, heading in columns)), tuple(rows), f"{RATES}{caps}")


def _without_source(variant: str) -> str:
    """The variant without the one domain that it learned from."""
    return str(replace(Variant.parse(variant), source=""))


def _without_caps(ours: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Ours without the cap on transitions in a variant's name where a split has a single cap, and these caps in words.

    A planner then has one line over all splits.
    """
    caps: dict[tuple[str, str, str], set[int | None]] = {}
    parsed = {name: Variant.parse(name) for name in set(ours["variant"])}
    parted = {name: (str(replace(each, max_transitions=None)), each.max_transitions) for name, each in parsed.items()}
    for row in ours.itertuples():
        variant, most = parted[row.variant]
        caps.setdefault((row.method, _without_source(variant), row.split), set()).add(most)
    variants, by_split = [], dict[str, set[int]]()
    for row in ours.itertuples():
        variant, most = parted[row.variant]
        single = len(caps[row.method, _without_source(variant), row.split]) == 1
        if single and most is not None:
            by_split.setdefault(row.split, set()).add(most)
        variants.append(variant if single else row.variant)
    numbers = ", ".join(f"{split} {' or '.join(map(str, sorted(most)))}" for split, most in by_split.items())
    words = f" Ours learn from at most so many transitions of a domain: {numbers}." if numbers else ""
    return ours.assign(variant=variants), words


def _chosen(columns: Sequence[tuple[str, str, str]], splits: Collection[str]) -> list[tuple[str, str, str]]:
    """The columns of these splits, of all if none is named. Raises InputError for a split without a column."""
    known = {split for split, _, _ in columns}
    if unknown := set(splits) - known:
        expected = ", ".join(sorted(filter(None, known)))
        raise InputError(f"there are no scores of split '{min(unknown)}'; expected some of {expected}")
    return [column for column in columns if not splits or column[0] in splits]


def _rate_lines(scores: pd.DataFrame, columns: Sequence[tuple[str, str, str]], over_domains: bool) -> list[Row]:
    groups: dict[tuple[str, PlannerName, str, str], list[Any]] = {}
    for row in scores.itertuples():
        name = PlannerName(row.method, row.variant, row.decoding, row.selected_by)
        groups.setdefault((row.paper, name, row.split, row.metric), []).append(row)
    ranked = {metric for _, metric, _ in columns}.difference(_ACTIONS)
    rows = []
    for paper, planner in dict.fromkeys((paper, name) for paper, name, _, metric in groups if metric in ranked):
        cells = []
        for split, metric, _ in columns:
            names = [planner, planner._replace(decoding="")] if metric in _ACTIONS else [planner]
            cells.append([row for name in dict.fromkeys(names) for row in groups.get((paper, name, split, metric), ())])
        seeds = {row.seed for cell in cells for row in cell}
        if seeds:
            write = _over_domains if over_domains and not paper else _of_domain
            title = f"{planner.title}, published" if paper else f"{planner.title} x{len(seeds)}"
            rows.append(Row((title, *(write(cell) if cell else "" for cell in cells)), published=bool(paper)))
    return rows


def _of_domain(cell: Sequence[Any]) -> str:
    """The scores of one domain, or a printed mean."""
    pooled, show = pool(cell), METRICS[cell[0].metric].show
    interval = f" [{show(pooled.low)}, {show(pooled.high)}], n = {pooled.n}" if pooled.count else ""
    return _with_spread(pooled.value, pooled.spread, show) + interval


def _over_domains(cell: Sequence[Any]) -> str:
    """The mean over the domains that were measured."""
    domains: dict[str, list[float]] = {}
    for row in cell:
        domains.setdefault(canonical_name(row.domain), []).append(row.value)
    means = [mean(values) for values in domains.values()]
    number = f"{len(means)} domain{'s' if len(means) > 1 else ''}"
    return f"{_with_spread(mean(means), pstdev(means), METRICS[cell[0].metric].show)}, {number}"


def _with_spread(value: float, spread: float, show: Callable[[float], str]) -> str:
    return f"{show(value)} ±{show(spread)}" if spread > 0 else show(value)


def _sizes_by_domain(inputs: TableInputs) -> Table:
    """State-centric, Table 3: dimensions of the encodings and sizes of the models, ours above the published ones."""
    columns, rows = inputs.options["columns"], []
    for domain in dict.fromkeys(select(inputs.ours, metric="dimension")["domain"]):
        own, printed = [domain], ["  published"]
        for _, metric, variant, published in columns:
            own.append(_sizes(_of(inputs.ours, metric, variant, domain), metric))
            printed.append(_sizes(_of(inputs.printed, metric, published, domain), metric))
        rows += [Row(tuple(own)), Row(tuple(printed), published=True)]
    return Table(inputs.title, ("domain", *(column[0] for column in columns)), tuple(rows), inputs.caption)


def _of(scores: pd.DataFrame, metric: str, variant: str, domain: str) -> list[float]:
    found = select(scores, metric=metric, variant=variant)
    return [row.value for row in found.itertuples() if canonical_name(row.domain) == domain]


def _sizes(values: Iterable[float], metric: str) -> str:
    """One number, or the range of several."""
    ends = [
        METRICS[metric].show(end) for end in (min(values, default=None), max(values, default=None)) if end is not None
    ]
    return " to ".join(dict.fromkeys(ends))


def _sizes_by_method(inputs: TableInputs) -> Table:
    """State-centric, Table 4: sizes of the models of all methods, over all domains."""
    rows = []
    for name, metric, *variants in inputs.options["lines"]:
        values = list(select(inputs.ours, metric=metric, variant=variants)["value"])
        if values:
            rows.append(Row((name, metric, _sizes(values, metric), "")))
    printed = inputs.printed.assign(counted=inputs.printed["metric"].str.partition("_")[0])  # its ends are metrics
    for (method, variant, metric), part in printed.groupby(["method", "variant", "counted"], sort=False):
        name = method if method == variant else f"{method} {variant}"
        words = (f"{name}, published", metric, f"about {_sizes(list(part['value']), metric)}", part["note"].iloc[0])
        rows.append(Row(words, published=True))
    return Table(inputs.title, ("planner", "counted in", "size", "architecture"), tuple(rows))


def _sizes_by_planner(inputs: TableInputs) -> Table:
    """SymT, Table 1: parameters; of ours from the minimum to the maximum of the domains."""
    ours, _ = as_printed(select(inputs.ours, method=inputs.options["methods"]))
    rows = []
    for planner, part in select(ours, metric="parameters").groupby("planner"):
        last = part.groupby("domain")["value"].last()
        rows.append(Row((str(planner), _sizes(list(last), "parameters"), "by domain")))
    for row in inputs.printed.itertuples():
        words = (f"{row.method} {row.variant}, published", METRICS["parameters"].show(row.value), row.note)
        rows.append(Row(words, published=True))
    return Table(inputs.title, ("planner", "parameters", "remark"), tuple(rows))


def _problems(inputs: TableInputs) -> Table:
    """State-centric, Table 5: the problems of each split, counted in the files themselves."""
    from sgp.datasets.experts import expert_lengths
    from sgp.planning.task import check

    suite = load_suite(inputs.suite)
    printed = {(canonical_name(row.domain), row.split): row for row in inputs.printed.itertuples()}
    rows = []
    for name, domain in suite.domains.items():
        for split in domain.splits:
            problems = suite.problems(name, split)
            lengths = expert_lengths(suite, name, split)
            known = [lengths[problem.sha256] for problem in problems if problem.sha256 in lengths]
            row = printed.get((canonical_name(name), split))
            rows.append(
                (
                    *(name, split, str(len(problems))),
                    "" if row is None else f"{row.value:.0f} ({row.note})",
                    _spread([check(problem) for problem in problems]),
                    _spread([_goals(problem) for problem in problems]),
                    _spread(known) + ("" if len(known) == len(problems) else f" of {len(known)}"),
                )
            )
    headings = ("domain", "split", "problems", "published", "objects", "goals", "expert's plan")
    caption = "Objects, goals and lengths of expert plans: least / median / most."
    return Table.of(f"Table {inputs.number}: problems of suite {suite.name}", headings, rows, caption)


def _goals(problem: Problem) -> int:
    return len(problem.read()[1].goal)


def _spread(values: Sequence[int]) -> str:
    return f"{min(values)} / {median(values):.0f} / {max(values)}" if values else ""


KINDS: Mapping[str, Callable[[TableInputs], Table]] = {
    "problem-ranges": _problem_ranges,
    "problems": _problems,
    "rates": _rates,
    "sizes-by-domain": _sizes_by_domain,
    "sizes-by-method": _sizes_by_method,
    "sizes-by-planner": _sizes_by_planner,
    "sums": _sums,
}
