"""Kinds of tables that single papers have: sums over levels, rates of retrieval, sizes of models, problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean, median, pstdev
from typing import Any

import pandas as pd

from sgp.datasets.subject import DEFAULT, PlannerName, Variant
from sgp.datasets.suite import list_suites, load_suite
from sgp.domains import all_domains, canonical_name
from sgp.evaluation.scores import METRICS, select, wilson
from sgp.reports.papers import TableInputs, as_printed
from sgp.reports.table import CAPTIONS, Row, Table
from sgp.reports.tables import counted, pivot, pool, pool_seeds, rate, require_splits, short

_TESTS, _TOTAL = ("easy", "medium", "hard"), "total"  # levels of suite track; the line of sums
_IPC = "-ipc"  # suffix of the track's domains in AIW-AD, Table 8
_MEAN = "mean"  # in place of a domain: the line over all
_ACTIONS = ("acc@1", "acc@5", "acc@10")  # ranked in no pool of states: a line of any pool has them


def _sums(inputs: TableInputs) -> Table:
    """AIW-AD, Tables 1 to 7: solved problems of each level, and our coverage beside; sums over levels are headings."""
    ours = inputs.ours
    if methods := inputs.options.get("methods"):
        ours = select(ours, method=methods)
    coverage = select(ours, metric="coverage")
    planners, variants = (list(dict.fromkeys(column)) for column in (coverage["planner"], inputs.printed["variant"]))
    whole = select(coverage, size=None)
    pooled = pool_seeds(whole.assign(domain=whole["domain"].map(canonical_name)), ("planner", "domain", "split"))
    measured = {(row.planner, row.domain, row.split): row for row in pooled.itertuples(index=False)}
    printed = {(row.variant, row.domain, row.split): row for row in inputs.printed.itertuples()}

    def cell(planner: str, domain: str, split: str) -> str:
        places = [(planner, canonical_name(domain), level) for level in ([split] if split else _TESTS)]
        if domain == _TOTAL or not measured.keys() >= set(places):
            return ""
        levels = [measured[place] for place in places]
        if len(levels) == 1:
            return f"{levels[0].text}, n = {levels[0].n}"
        count, trials = sum(part.count for part in levels), sum(part.trials for part in levels)
        value = sum(part.value * part.count for part in levels) / max(count, 1)
        low, high = wilson(value, trials)
        return f"{rate(value)} [{short(low)}, {short(high)}], n = {counted(count, trials)}"

    rows = []
    for domain, split in dict.fromkeys(zip(inputs.printed["domain"], inputs.printed["split"], strict=True)):
        if inputs.splits and split not in inputs.splits:
            continue
        numbers = [printed.get((variant, domain, split)) for variant in variants]
        solved = [f"{row.value * row.n:.0f}/{row.n}" if row else "" for row in numbers]
        words = (domain, split, *solved, *(cell(name, domain, split) for name in planners))
        rows.append(Row(words, heading=not split))
    seeds = coverage.groupby("planner")["seed"].nunique(dropna=False)
    titles = [f"ours: {planner} x{seeds[planner]}" for planner in planners]
    caption = _sums_caption(inputs, ours, coverage)
    return Table(inputs.title, ("domain", "split", *variants, *titles), tuple(rows), caption)


def _sums_caption(inputs: TableInputs, ours: pd.DataFrame, coverage: pd.DataFrame) -> str:
    """Sentences on the problems, the budgets and the domains that are built in."""
    words = ["Published: problems solved.", inputs.caption]
    if coverage.empty:
        words.append(f"Ours: nothing was measured on suite {inputs.suite} so far.")
    else:
        words.append(
            f"Ours: suite {inputs.suite}, other problems; coverage with its 95 % Wilson interval, xN: N seeds."
        )
    trainings = select(ours, metric="training_seconds")
    names = ["planner", "method", "variant", "selected_by"]
    for planner, method, variant, selected_by in coverage[names].drop_duplicates().itertuples(index=False):
        seconds = select(trainings, method=method, variant=variant, selected_by=selected_by)["value"]
        if len(seconds):
            words.append(f"{planner}: {mean(seconds):.0f} s a training.")
    if not inputs.printed["split"].isin(_TESTS).any():
        built_in = {domain.name for domain in all_domains()}
        known = dict.fromkeys(name for name in inputs.printed["domain"] if canonical_name(name) in built_in)
        words.append(f"Of these domains the package has {', '.join(known)}, and none of the problems.")
    return " ".join(words)


def _problem_ranges(inputs: TableInputs) -> Table:
    """AIW-AD, Table 8: the problems of each split, ours counted in the suite's manifest if it is installed."""
    domains = load_suite(inputs.suite).domains if inputs.suite in list_suites() else {}
    splits_of = {canonical_name(name): domain.splits for name, domain in domains.items()}
    rows = []
    for (domain, split), part in inputs.printed.groupby(["domain", "split"], sort=False):
        printed = dict(zip(part["metric"], part["value"], strict=True))
        splits = splits_of.get(canonical_name(domain.removesuffix(_IPC)), {}) if domain.endswith(_IPC) else {}
        levels = _TESTS if split == "test" else (split,)
        sizes = [entry.size for level in levels for entry in splits.get(level, ())]
        ours = (str(len(sizes)), f"{min(sizes)} to {max(sizes)}") if sizes else ("", "")
        ranges = (f"{printed[f'{name}_least']:.0f} to {printed[f'{name}_most']:.0f}" for name in ("objects", "atoms"))
        rows.append((domain, split, f"{printed['problems']:.0f}", *ranges, *ours))
    headings = ("domain", "split", "problems", "objects", "atoms", "our problems", "our objects")
    return Table.of(inputs.title, headings, rows, f"Ours: suite {inputs.suite}; its tests are three levels.")


def _rates(inputs: TableInputs) -> Table:
    """EmbedPlan: a line for each planner, ours first; with `by_domain` a section for each domain and their mean."""
    columns = [
        (column[0], column[1], column[-1] if len(column) > 2 else column[0]) for column in inputs.options["columns"]
    ]
    require_splits(inputs.splits, [split for split, _, _ in columns])
    columns = [column for column in columns if not inputs.splits or column[0] in inputs.splits]
    shown = pd.MultiIndex.from_tuples([column[:2] for column in columns])

    def of_columns(scores: pd.DataFrame) -> pd.DataFrame:
        return scores[pd.MultiIndex.from_frame(scores[["split", "metric"]]).isin(shown)]

    ours, caps = _without_caps(of_columns(inputs.ours))
    scores = select(pd.concat([ours, of_columns(inputs.printed)]), size=None)
    scores = scores.assign(domain=scores["domain"].map(canonical_name))
    domains = sorted(set(scores["domain"]) - {_MEAN}) if inputs.options.get("by_domain") else []
    rows, blank = [], [""] * len(columns)
    for domain in domains:
        rows += [Row((domain, *blank), heading=True), *_rate_lines(select(scores, domain=domain), columns, False)]
    if domains:
        rows.append(Row((_MEAN, *blank), heading=True))
    from_any = ours.assign(variant=ours["variant"].map(_without_source))
    printed = scores[(scores["paper"] != "") & (scores["domain"] == _MEAN)]
    rows += _rate_lines(pd.concat([from_any, printed]), columns, over_domains=True)
    return Table(
        inputs.title, ("planner", *(heading for _, _, heading in columns)), tuple(rows), f"{CAPTIONS['rates']}{caps}"
    )


def _without_source(variant: str) -> str:
    """The variant without the one domain that it learned from."""
    return str(replace(Variant.parse(variant), source=""))


def _without_caps(ours: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Ours without the cap on transitions in a variant's name where a split has a single cap, and a sentence on it."""
    parsed = ours["variant"].map(Variant.parse)
    caps = parsed.map(lambda variant: variant.max_transitions or 0)
    plain = parsed.map(lambda variant: str(replace(variant, max_transitions=None)))
    single = caps.groupby([ours["method"], plain.map(_without_source), ours["split"]]).transform("nunique") == 1
    by_split = caps[single & (caps > 0)].groupby(ours["split"], sort=False)
    words = ", ".join(f"{split} {' or '.join(map(str, sorted(set(numbers))))}" for split, numbers in by_split)
    sentence = f" Ours learn from at most so many transitions of a domain: {words}." if words else ""
    return ours.assign(variant=plain.where(single, ours["variant"])), sentence


def _rate_lines(scores: pd.DataFrame, columns: Sequence[tuple[str, str, str]], over_domains: bool) -> list[Row]:
    groups: dict[tuple[str, PlannerName, str, str], list[Any]] = {}
    for row in scores.itertuples():
        name = PlannerName(row.method, row.variant, row.pool or row.decoding, row.selected_by)
        groups.setdefault((row.paper, name, row.split, row.metric), []).append(row)
    ranked = {metric for _, metric, _ in columns}.difference(_ACTIONS)
    rows = []
    for paper, planner in dict.fromkeys((paper, name) for paper, name, _, metric in groups if metric in ranked):
        cells = []
        for split, metric, _ in columns:
            names = [planner, planner._replace(decoding=DEFAULT)] if metric in _ACTIONS else [planner]
            cells.append([row for name in dict.fromkeys(names) for row in groups.get((paper, name, split, metric), ())])
        write = _over_domains if over_domains and not paper else _of_domain
        seeds = len({row.seed for cell in cells for row in cell})
        title = f"{planner.title}, published" if paper else f"{planner.title} x{seeds}"
        rows.append(Row((title, *(write(cell) if cell else "" for cell in cells)), published=bool(paper)))
    return rows


def _of_domain(cell: Sequence[Any]) -> str:
    """The scores of one domain, or a printed mean."""
    pooled, show = pool(cell), METRICS[cell[0].metric].show
    interval = f" [{show(pooled.low)}, {show(pooled.high)}], n = {pooled.n}" if pooled.count else ""
    return _with_spread(pooled.value, pooled.spread, show) + interval


def _over_domains(cell: Sequence[Any]) -> str:
    """The mean over the domains that were measured."""
    domains = [canonical_name(row.domain) for row in cell]
    means = [
        mean(row.value for row, own in zip(cell, domains, strict=True) if own == name)
        for name in dict.fromkeys(domains)
    ]
    number = f"{len(means)} domain{'s' if len(means) > 1 else ''}"
    return f"{_with_spread(mean(means), pstdev(means), METRICS[cell[0].metric].show)}, {number}"


def _with_spread(value: float, spread: float, show: Callable[[float], str]) -> str:
    return f"{show(value)} ±{show(spread)}" if spread > 0 else show(value)


def _sizes_by_domain(inputs: TableInputs) -> Table:
    """State-centric, Table 3: dimensions of the encodings and sizes of the models, ours above the published ones."""
    columns, rows = inputs.options["columns"], []
    printed = inputs.printed.assign(domain=inputs.printed["domain"].map(canonical_name))
    for domain in dict.fromkeys(select(inputs.ours, metric="dimension")["domain"]):
        measured, published = (
            [
                _sizes(select(scores, metric=column[1], variant=column[place], domain=domain), column[1])
                for column in columns
            ]
            for scores, place in ((inputs.ours, 2), (printed, 3))
        )
        rows += [Row((domain, *measured)), Row(("  published", *published), published=True)]
    return Table(inputs.title, ("domain", *(column[0] for column in columns)), tuple(rows), inputs.caption)


def _sizes(scores: pd.DataFrame, metric: str) -> str:
    """One number, or the range of several."""
    values = scores["value"]
    return " to ".join(dict.fromkeys(map(METRICS[metric].show, (values.min(), values.max())))) if len(values) else ""


def _sizes_by_method(inputs: TableInputs) -> Table:
    """State-centric, Table 4: sizes of the models of all methods, over all domains."""
    rows = []
    for name, metric, *variants in inputs.options["lines"]:
        scores = select(inputs.ours, metric=metric, variant=variants)
        if len(scores):
            rows.append(Row((name, metric, _sizes(scores, metric), "")))
    printed = inputs.printed.assign(counted=inputs.printed["metric"].str.partition("_")[0])  # its ends are metrics
    for (method, variant, metric), part in printed.groupby(["method", "variant", "counted"], sort=False):
        name = method if method == variant else f"{method} {variant}"
        words = (f"{name}, published", metric, f"about {_sizes(part, metric)}", part["note"].iloc[0])
        rows.append(Row(words, published=True))
    return Table(inputs.title, ("planner", "counted in", "size", "architecture"), tuple(rows))


def _sizes_by_planner(inputs: TableInputs) -> Table:
    """SymT, Table 1: parameters; of ours from the minimum to the maximum of the domains."""
    ours, _ = as_printed(select(inputs.ours, method=inputs.options["methods"]))
    rows = []
    for planner, part in select(ours, metric="parameters").groupby("planner"):
        last = part.drop_duplicates("domain", keep="last")
        rows.append(Row((str(planner), _sizes(last, "parameters"), "by domain")))
    for row in inputs.printed.itertuples():
        words = (f"{row.method} {row.variant}, published", METRICS["parameters"].show(row.value), row.note)
        rows.append(Row(words, published=True))
    return Table(inputs.title, ("planner", "parameters", "remark"), tuple(rows))


def _problems(inputs: TableInputs) -> Table:
    """State-centric, Table 5: the problems of each split, counted in the files themselves."""
    from sgp.datasets.experts import expert_lengths

    suite = load_suite(inputs.suite)
    printed = {
        (canonical_name(row.domain), row.split): f"{row.value:.0f} ({row.note})" for row in inputs.printed.itertuples()
    }
    rows = []
    for name, domain in suite.domains.items():
        for split in domain.splits:
            problems = suite.problems(name, split)
            lengths = expert_lengths(suite, name, split)
            known = [lengths[problem.sha256] for problem in problems if problem.sha256 in lengths]
            share = "" if len(known) == len(problems) else f" of {len(known)}"
            counts = (name, split, str(len(problems)), printed.get((canonical_name(name), split), ""))
            texts = [problem.read() for problem in problems]
            objects = (len(declared.constants + text.objects) for declared, text in texts)
            goals = (len(text.goal) for _, text in texts)
            rows.append((*counts, _range(objects), _range(goals), _range(known) + share))
    headings = ("domain", "split", "problems", "published", "objects", "goals", "expert's plan")
    caption = "Objects, goals and lengths of expert plans: least / median / most."
    return Table.of(f"Table {inputs.number}: problems of suite {suite.name}", headings, rows, caption)


def _printed(inputs: TableInputs) -> Table:
    """The numbers as printed: a line for each domain and planner, a column for each split and metric."""

    def words(cell: pd.DataFrame) -> str:
        row = cell.iloc[0]
        show = METRICS[row["metric"]].show if row["metric"] in METRICS else "{:g}".format
        return _with_spread(row["value"], row["spread"], show)

    names = inputs.printed["method"].str.cat(inputs.printed["variant"], sep=" ").str.strip()
    columns = inputs.printed["split"].str.cat(inputs.printed["metric"].str.replace("_", " "), sep=" ").str.strip()
    columns = inputs.printed["selected_by"].str.cat(columns, sep=" ").str.strip()
    printed = inputs.printed.assign(name=names, column=columns)
    return pivot(printed, ("domain", "name"), "column", words, inputs.title, "Published; nothing of this package.")


def _range(numbers: Iterable[int]) -> str:
    values = list(numbers)
    return f"{min(values)} / {median(values):.0f} / {max(values)}" if values else ""


KINDS: Mapping[str, Callable[[TableInputs], Table]] = {
    "printed": _printed,
    "problem-ranges": _problem_ranges,
    "problems": _problems,
    "rates": _rates,
    "sizes-by-domain": _sizes_by_domain,
    "sizes-by-method": _sizes_by_method,
    "sizes-by-planner": _sizes_by_planner,
    "sums": _sums,
}
