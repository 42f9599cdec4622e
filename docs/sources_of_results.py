"""Where the numbers of the README and of the page Results come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from reading import (
    DOMAINS,
    SPLIT,
    SUITE,
    TRANSFORMERS,
    Numbers,
    coverage_scores,
    load,
    one,
    rate,
    rounded,
    scores,
    when,
)

import sgp
from sgp.datasets.store import data_folder
from sgp.evaluation.scores import Score
from sgp.planning.subject import PlannerName
from sgp.reports.against_lama import against_lama_sheet, read_against
from sgp.reports.learning_table import learning_curves
from sgp.reports.sheets import Row, Sheet
from sgp.reports.tables import Line, cell, lines_of, measured, measured_attempts, select

JUMPS = PlannerName("contrastive-jumps", "aiw")
NAMED = ("validation", "interpolation")  # where name sensitivity is measured
TRACK, LEVELS = "track", ("easy", "medium", "hard")

# README and results: coverage


def coverage() -> str:
    """Table 1 on the extrapolation split."""
    return sgp.paper_sheet(SUITE, 1, coverage_scores()[0], splits=[SPLIT]).markdown()


def coverage_in_short() -> str:
    """Six lines of it."""
    ours, theirs = coverage_scores()
    counts = {"blocksworld": "20", "gripper": "16", "logistics": "18", "visitall": "219 (131 distinct)"}
    planners = [each.planner for each in lines_of(theirs) if each.planner.method == SUITE]
    assert len(planners) == 8

    def line(title: str, among: Sequence[Score], *chosen: Line) -> Sequence[str]:
        """Of several planners the one with the highest coverage, chosen in each domain."""
        cells = [[cell(select(among, each, domain, SPLIT)) for each in chosen] for domain in counts]
        best = [max(found, key=lambda each: each.value) for found in cells]
        assert [each.count for each in best] == [int(count.split()[0]) for count in counts.values()]
        return title, *map(str, best)

    def own(method: str, variant: str) -> Line:
        return Line("", PlannerName(method, variant))

    lines = [
        line("contrastive jumps", ours, own("contrastive-jumps", "aiw")),
        line("state-centric, best of eight", ours, *(Line("", each) for each in planners)),
        line("as published", theirs, *(Line(SUITE, each) for each in planners)),
        line("nothing changes", ours, own("zero-change", "wl")),
        line("a random unvisited successor", ours, own("random-successor", "unvisited")),
        line("Fast Downward, LAMA's first plan", ours, own("fast-downward", "lama-first")),
    ]
    return Sheet.of("", ("planner", *(f"{name}, n = {count}" for name, count in counts.items())), lines).markdown()


def how_coverage() -> Numbers:
    """Day, cores and attempts of Table 1."""
    coverages = [each for each in coverage_scores()[0] if each.metric == "coverage"]
    attempts = [each for each in measured_attempts() if each.suite == SUITE and each.method not in TRANSFORMERS]
    return [*when(coverages), f"{len(attempts):,}", None, None, None]


# Results: why variants fall short


def shortfalls() -> Numbers:
    """How often the expert's successor is ranked first, and what perfect predictions solve."""
    ours, _ = coverage_scores()

    def found(domain: str, variant: str, metric: str) -> Score:
        words = {"domain": domain, "variant": variant, "metric": metric, "seed": 13, "decoding": "", "size": None}
        return one(ours, method=SUITE, split=SPLIT, **words)

    def first(domain: str, variant: str) -> str:
        return rate(found(domain, variant, "expert_top1").value)

    def perfect(domain: str, variant: str = "wl-xgboost-delta") -> str:
        return rate(found(domain, variant, "perfect_coverage").value)

    def decisions(domain: str) -> str:
        return f"{found(domain, 'wl-xgboost-delta', 'expert_top1').count:,}"

    variants = [f"wl-{model}-{mode}" for model in ("xgboost", "lstm") for mode in ("delta", "state")]
    assert perfect("gripper") == "1.00"
    lengths = [
        row.expert_length
        for row in measured_attempts()
        if (row.suite, row.domain, row.split) == (SUITE, "gripper", SPLIT) and row.expert_length
    ]
    in_logistics = [perfect("logistics", each) for each in variants]
    return [
        *(first("visitall", "wl-lstm-state"), decisions("visitall"), first("visitall", "wl-xgboost-delta")),
        perfect("visitall", "wl-lstm-state"),
        *(first("blocksworld", "wl-xgboost-delta"), decisions("blocksworld"), perfect("blocksworld")),
        max(first("logistics", each) for each in variants),
        *(min(in_logistics), max(in_logistics)),
        first("gripper", "wl-xgboost-delta"),
        *(str(min(lengths)), str(max(lengths))),
    ]


def other_kernels() -> str:
    """Coverage of LSTMs that the kernels of another processor trained, seed by seed."""
    there = [each for each in scores("processors") if each.metric == "coverage"]
    lines = []
    for domain, variant in dict.fromkeys((each.domain, each.variant) for each in there):
        seeds = sorted(each.seed or 0 for each in there if (each.domain, each.variant) == (domain, variant))
        words = {"domain": domain, "variant": variant, "metric": "coverage", "split": SPLIT, "size": None}
        both = [
            [one(among, seed=seed, decoding="", **words) for seed in seeds] for among in (coverage_scores()[0], there)
        ]
        cells = (", ".join(rate(each.value) for each in found) for found in both)
        lines.append((f"{variant}, {domain}, n = {both[0][0].count}", ", ".join(map(str, seeds)), *cells))
    return Sheet.of("", ("planner", "seeds", "AVX-512", "AVX2"), lines).markdown()


# Results: contrastive jumps beside their goals


def reach() -> Numbers:
    """What contrastive jumps miss, and what training never saw."""
    attempts = [each for each in measured_attempts() if (each.suite, each.method) == (SUITE, "contrastive-jumps")]
    missed = [(each.variant, each.domain, each.split) for each in attempts if not each.solved]
    assert set(missed) == {("one-step", "blocksworld", "validation"), ("one-step", "visitall", SPLIT)}
    assert (missed.count(("one-step", "blocksworld", "validation")), len(missed)) == (1, 4), "the text's words"
    of_visitall = [(each.variant, each.domain, each.split) for each in attempts].count(("one-step", "visitall", SPLIT))
    unseen = {
        each.domain: rate(each.value, 4)
        for each in coverage_scores()[0]
        if (each.method, each.variant, each.split, each.metric, each.size) == (*JUMPS[:2], SPLIT, "unseen", None)
    }
    assert unseen["gripper"] == unseen["visitall"] == ".0000", "the text says none"
    return [str(of_visitall), unseen["blocksworld"], unseen["logistics"], None]


def goals() -> Numbers:
    """Each goal and what was measured."""
    ours, _ = coverage_scores()
    jumps = [each.value for each in ours if (each.planner, each.metric) == (JUMPS, "coverage")]
    assert set(jumps) == {1.0}, "the text says all"
    left_out = scores("jackknife")

    def jackknife(domain: str, split: str) -> list[str]:
        values = [
            each.value
            for each in left_out
            if (each.domain, each.split, each.metric, each.size) == (domain, split, "coverage", None)
        ]
        return [rate(fmean(values)), str(len(values))]

    (all_three,) = {jackknife(domain, SPLIT)[0] for domain in DOMAINS[:3]}
    ratios = [each for each in scores("plan-length") if each.variant == "aiw"]
    lengths = [rate(one(ratios, domain=each).value) for each in DOMAINS]
    seconds = scores("planning")
    training = [one(seconds, domain=each, metric="training_processor_seconds").value for each in DOMAINS]
    medians = [one(seconds, domain=each, split=SPLIT, metric="median_processor_seconds") for each in DOMAINS]
    return [
        *("1.00", "1.00", None, None, None),
        *(None, "1.00", *rows_solved()),
        *(None, all_three, *(jackknife(each, SPLIT)[1] for each in DOMAINS[:3])),
        *(None, *lengths, None),
        *(None, f"{sum(training):.1f}", *(f"{each:.1f}" for each in training)),
        *(None, *(f"{1000 * each.value:.0f}" for each in medians), *(str(each.count) for each in medians)),
        *(None, None, None),
        *(ratio for kind in ("plain", "incremental", "incremental_by_state") for ratio in kernel_ratios(kind)),
    ]


def kernel_ratios(kind: str) -> list[str]:
    """How many times slower wlplan is than a kernel, by domain."""
    found = scores("kernels")
    return [rounded(one(found, variant=kind, domain=each, metric="wlplan_ratio").value) for each in DOMAINS]


def goals_measured() -> Numbers:
    """When and beside how much else."""
    found = [*scores("planning"), *scores("kernels")]
    return [*when(found), load(found)]


def of_harder() -> Mapping[str, Mapping[str, Sequence[Score]]]:
    """Coverage on far larger problems by domain and row, a score for each seed."""
    found = [each for each in measured() if (each.suite, each.metric, each.size) == ("harder", "coverage", None)]
    rows: dict[str, dict[str, list[Score]]] = {}
    for each in sorted(found, key=lambda each: each.seed or 0):
        rows.setdefault(each.domain, {}).setdefault(each.split, []).append(each)
    return rows


def harder() -> str:
    """Coverage on far larger problems, how many each seed solved, and mean actions of the plans found."""
    lengths = [each for each in measured() if (each.suite, each.metric, each.size) == ("harder", "plan_length", None)]
    rows: list[Row] = []
    for domain, found in of_harder().items():
        shown = [cell(seeds) for seeds in found.values()]
        names = (f"{row}, n = {each.n}" for row, each in zip(found, shown, strict=True))
        solved = [", ".join(f"{each.value * each.count:.0f}" for each in seeds) for seeds in found.values()]
        actions = [_mean_length(lengths, domain, row, seeds) for row, seeds in found.items()]
        rows += [
            Row((domain, *names), heading=True),
            Row((f"contrastive-jumps aiw x{max(each.seeds for each in shown)}", *map(str, shown))),
            Row(("solved by each seed", *solved)),
            Row(("mean actions", *actions)),
        ]
    width = max(len(each.words) for each in rows)
    rows = [replace(each, words=each.words + ("",) * (width - len(each.words))) for each in rows]
    return Sheet("", ("planner", *[""] * (width - 1)), tuple(rows)).markdown()


def _mean_length(lengths: Sequence[Score], domain: str, row: str, coverage: Sequence[Score]) -> str:
    """Mean actions of all plans that were found, whatever the seed."""
    plans = {each.seed: each.value * each.count for each in coverage}
    of = [each for each in lengths if (each.domain, each.split) == (domain, row)]
    found = sum(plans[each.seed] for each in of)
    return f"{sum(each.value * plans[each.seed] for each in of) / found:.0f}" if found else ""


def rows_solved() -> Sequence[str]:
    """On how many rows of far larger problems every seed solves all, and how many rows there are."""
    rows = [min(each.value for each in seeds) for found in of_harder().values() for seeds in found.values()]
    return [str(rows.count(1.0)), str(len(rows))]


def harder_otherwise() -> str:
    """How many attempts on far larger problems other settings of contrastive jumps solve, all seeds together."""
    found = [each for each in scores("harder-settings") if each.metric == "coverage" and each.size is None]
    kinds = sorted({(each.variant, each.decoding) for each in found})
    rows = []
    for variant, decoding in kinds:
        of = [each for each in found if (each.variant, each.decoding) == (variant, decoding)]
        cells = [_solved_of([each for each in of if each.domain == domain]) for domain in DOMAINS]
        rows.append(Row((variant, decoding or "default", *cells)))
    return Sheet("", ("training", "decoding", *DOMAINS), tuple(rows)).markdown()


def _solved_of(found: Sequence[Score]) -> str:
    if not found:
        return "not measured"
    solved, tried = sum(each.value * each.count for each in found), sum(each.count for each in found)
    seeds = len({each.seed for each in found})
    return f"{solved:.0f} of {tried:.0f}, {seeds} seeds"


def track() -> str:
    """Coverage of suite track by domain and level, mean seconds of a problem, and the most memory, of each planner."""
    ours = [each for each in measured() if each.suite == TRACK and each.size is None]
    rows: list[Row] = []
    for line in lines_of(ours):
        rows.append(Row((line.planner.title, *[""] * 5), heading=True))
        for domain in sorted({each.domain for each in ours if each.planner == line.planner}):
            levels = [cell(select(ours, line, domain, level)) for level in LEVELS]
            of = [each for each in ours if (each.planner, each.domain) == (line.planner, domain)]
            seconds, memory = ([each.value for each in of if each.metric == name] for name in ("seconds", "memory"))
            known = ["" if each is None else f"{each}, n = {each.n}" for each in levels]
            rows.append(Row((domain, *known, rounded(fmean(seconds)), f"{max(memory) / 1000:.1f}" if memory else "")))
    return Sheet("", ("domain", *LEVELS, "seconds", "GB"), tuple(rows)).markdown()


def when_track() -> Sequence[str]:
    """Day and cores."""
    return when(each for each in measured() if each.suite == TRACK)


def against_lama() -> str:
    """Ours beside LAMA's first plan, by domain and size, once that was measured."""
    file = data_folder() / "measured" / "against-lama.csv"
    if not file.is_file():
        return "Not measured yet."
    rows = read_against(file)
    (day, cores), planners = when(rows), ", ".join(dict.fromkeys(row.model for row in rows))
    said = f"Measured until {day}, {cores} cores, up to {load(rows)} processes at once; {planners}."
    return f"{said}\n\n{against_lama_sheet(rows).markdown()}"


COUNTS = ("1", "2", "4", "half", "all")


def learning_curve() -> str:
    """Mean coverage, and the least, of draws of training problems, by planner, domain and number of them."""
    found = sgp.measured_learning()
    if not found:
        return "Not measured yet."
    rows: list[Row] = []
    curves = learning_curves(found)
    for planner in dict.fromkeys(of for _, _, of in curves):
        rows.append(Row((planner.title, *[""] * len(COUNTS)), heading=True))
        for (domain, _, of), draws in curves.items():
            if of != planner:
                continue
            most = max(draws)
            named = {"1": 1, "2": 2, "4": 4, "half": -(-most // 2), "all": most}
            cells = [draws.get(count, []) if count < most or name == "all" else [] for name, count in named.items()]
            rows.append(Row((f"{domain}, {most} problems, n = {draws[most][0].count}", *map(_mean_and_least, cells))))
    (day, cores) = when(found)
    said = f"Measured on {day}, {cores} cores."
    return f"{said}\n\n{Sheet('', ('training problems', *COUNTS), tuple(rows)).markdown()}"


def _mean_and_least(draws: Sequence[Score]) -> str:
    values = [each.value for each in draws]
    if len(values) < 2:
        return "".join(map(rate, values))
    return f"{rate(fmean(values))} ({rate(min(values))})"


RESULTS: Mapping[str, Callable[[], str | Numbers]] = {
    "coverage": coverage,
    "coverage-in-short": coverage_in_short,
    "how-coverage": how_coverage,
    "when-coverage": lambda: [None, *how_coverage()[:2]],  # after the 95 of the intervals
    "shortfalls": shortfalls,
    "other-kernels": other_kernels,
    "reach": reach,
    "goals": goals,
    "goals-measured": goals_measured,
    "harder": harder,
    "harder-settings": harder_otherwise,
    "track": track,
    "when-track": lambda: [*when_track(), None],  # the limit of a problem is a setting
    "against-lama": against_lama,
    "learning-curve": learning_curve,
    "harder-in-short": lambda: ["1.00", *rows_solved()],
}
