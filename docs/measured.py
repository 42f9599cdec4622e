"""Writes measured numbers into README and docs: `python docs/measured.py`; `--check` only compares.

A page marks what was measured, a table or some lines of text:

    <!-- measured: NAME -->
    ...
    <!-- end -->

`SOURCES[NAME]` makes it from the files under `data`: the whole table, or the numbers in the order in which they are
read (None for a number that was not measured). With `--check` the exit code is 1 if any page differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, mean, median
from typing import Any

import pandas as pd

import sgp
from sgp.errors import InputError
from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import load_scores, read_scores, select, with_planners
from sgp.files import write_text
from sgp.planning.subject import Variant
from sgp.reports.papers import get_paper, paper_table
from sgp.reports.table import Row, Table
from sgp.reports.tables import pivot, pool, with_draws

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SUITE, SPLIT = "state-centric", "extrapolation"
DOMAINS = ("blocksworld", "gripper", "logistics", "visitall")
TRANSFORMERS = ("nameless", "symt")  # methods
SPLITS = ("validation", "interpolation", SPLIT)

BLOCK = re.compile(r"(<!-- measured: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(\n?<!-- end -->)", re.DOTALL)
# Not text: fenced code, code, comments, where links lead.
_NO_TEXT = r"^ *```.*?^ *```$|`[^`\n]*`|<!--.*?-->|(?<=\])\([^)\s]*\)"
_NUMBER = r"(?<![\w.])(?:\d{4}-\d\d-\d\d|\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?|\.\d+)(?!\w)"
_TOKEN = re.compile(f"(?P<skipped>{_NO_TEXT})|(?P<number>{_NUMBER})", re.DOTALL | re.MULTILINE)

Numbers = Sequence[str | None]
SOURCES: dict[str, Callable[[], str | Numbers]] = {}


def source(name: str) -> Callable[[Callable[[], str | Numbers]], Callable[[], str | Numbers]]:
    """Registers what makes a block."""

    def register(function: Callable[[], str | Numbers]) -> Callable[[], str | Numbers]:
        SOURCES[name] = function
        return function

    return register


def renewed(page: str) -> str:
    """A page with every block as its source makes it. Raises InputError for a block without a fitting source."""
    return BLOCK.sub(lambda block: f"{block[1]}{_renewed(block['name'], block['text'])}{block[4]}", page)


def _renewed(name: str, text: str) -> str:
    if name not in SOURCES:
        raise InputError(f"nothing makes the block '{name}'; expected one of {', '.join(SOURCES)}")
    made = SOURCES[name]()
    if isinstance(made, str):
        return made
    found = [match["number"] for match in _TOKEN.finditer(text) if match["number"]]
    if len(found) != len(made):
        raise InputError(
            f"block '{name}' has the {len(found)} numbers {', '.join(found)}; its source makes {len(made)}: "
            f"{', '.join(number or '(any)' for number in made)}"
        )
    waiting = iter(made)
    return _TOKEN.sub(lambda match: match[0] if match["skipped"] else next(waiting) or match[0], text)


def main(words: Sequence[str] | None = None, pages: Sequence[Path] = PAGES) -> int:
    """Writes the numbers into the pages, or only compares them; the exit code."""
    parser = argparse.ArgumentParser(description="Write measured numbers into README and docs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page differs")
    check = parser.parse_args(words).check
    differing = 0
    for path in pages:
        before = path.read_text(encoding="utf-8")
        after = renewed(before)
        if after == before:
            continue
        differing += 1
        if check:
            print(f"{path}: numbers differ from data/measured; run 'python docs/measured.py'", file=sys.stderr)
        else:
            write_text(path, after)
            print(f"{path} has new numbers")
    return int(check and differing > 0)


# Reading and writing


@cache
def measured() -> pd.DataFrame:
    """The measured scores of whole splits."""
    return select(load_scores(), size=None)


@cache
def scores(name: str) -> pd.DataFrame:
    """The scores of a file under `data/measured`."""
    return read_scores(DATA / "measured" / f"{name}.csv")


@cache
def rows_of(name: str) -> pd.DataFrame:
    """A file under `data/measured` that holds no scores."""
    return pd.read_csv(DATA / "measured" / f"{name}.csv", dtype=str, keep_default_na=False)


def value(frame: pd.DataFrame, **fields: Any) -> float:
    """The only value with these fields."""
    (found,) = select(frame, **fields)["value"]
    return float(found)


def rate(number: float, digits: int = 2) -> str:
    """A rate as tables have it: no digit before the point where that would be 0."""
    return f"{number:.{digits}f}".removeprefix("0")


def rounded(number: float) -> str:
    """One digit after the point below 10, none above."""
    return f"{number:.1f}" if number < 9.95 else f"{number:.0f}"


def ends(values: Iterable[float], show: Callable[[float], str] = rate) -> str:
    """The minimum and the maximum."""
    known = list(values)
    return f"{show(min(known))} to {show(max(known))}" if known else ""


def when(frame: pd.DataFrame) -> tuple[str, str]:
    """The last day on which they were measured, and the cores."""
    day, cores = max(found.groups() for note in frame["note"] if (found := re.match(r"(\S+), (\d+) cores", note)))
    return day, cores


def load(frame: pd.DataFrame) -> str:
    """How many processes ran while they were measured, at most."""
    return f"{max(float(found[1]) for note in frame['note'] if (found := re.search(r'load ([0-9.]+)', note))):.0f}"


def until(frame: pd.DataFrame, *tables: Table | str, word: str = "until", what: str = "") -> str:
    """Tables below the sentence when they were measured."""
    day, cores = when(frame)
    texts = [table if isinstance(table, str) else table.markdown() for table in tables]
    return f"Measured {word} {day}, {what}{cores} cores.\n\n" + "\n".join(texts)


def with_n(cell: pd.DataFrame) -> str:
    """A pooled rate with its interval and the number of problems."""
    pooled = pool(list(cell.itertuples()))
    return f"{pooled.text}, n = {pooled.n}"


def interval(cell: pd.DataFrame) -> str:
    """The same without a deviation over seeds."""
    pooled = pool(list(cell.itertuples()))
    return f"{rate(pooled.value)} [{rate(pooled.low)}, {rate(pooled.high)}], n = {pooled.n}"


def seeds(frame: pd.DataFrame) -> str:
    """The number of seeds."""
    return str(frame["seed"].nunique(dropna=False))


# Results


def table_1() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measured scores of the bundled suite, and the paper's Table 1; transformers have a table of their own."""
    ours = select(measured(), suite=SUITE)
    return ours[~ours["method"].isin(TRANSFORMERS)], get_paper(SUITE).printed("1")


@source("coverage")
def _coverage() -> str:
    return paper_table(SUITE, 1, table_1()[0], splits=[SPLIT]).markdown()


@source("coverage-in-short")
def _coverage_in_short() -> str:
    ours, theirs = (select(part, split=SPLIT, metric="coverage") for part in table_1())
    planners = list(dict.fromkeys(select(theirs, method=SUITE)["planner"]))
    lines = {
        "contrastive jumps": (ours, ["contrastive-jumps aiw"]),
        "state-centric, best of eight": (ours, planners),
        "as published": (theirs, planners),
        "nothing changes": (ours, ["zero-change wl"]),
        "a random unvisited successor": (ours, ["random-successor unvisited"]),
        "Fast Downward, LAMA's first plan": (ours, ["fast-downward lama-first"]),
    }
    rows, counts = [], {}
    for title, (among, names) in lines.items():
        cells = []
        for domain in DOMAINS:
            found = [select(among, domain=domain, planner=name) for name in names]
            best = max((pool(list(part.itertuples())) for part in found), key=lambda cell: cell.value)
            counts.setdefault(domain, best.n)
            cells.append(best.text)
        rows.append((title, *cells))
    return Table.of("", ("planner", *(f"{domain}, n = {n}" for domain, n in counts.items())), rows).markdown()


@source("how-coverage")
def _how_coverage() -> Numbers:
    attempts = sgp.load_attempts()
    number = ((attempts["suite"] == SUITE) & ~attempts["method"].isin(TRANSFORMERS)).sum()
    return [*when(select(table_1()[0], metric="coverage")), f"{number:,}", None, None, None]


@source("when-coverage")
def _when_coverage() -> Numbers:
    return [None, *_how_coverage()[:2]]  # after the 95 of the intervals


@source("shortfalls")
def _shortfalls() -> Numbers:
    found = select(table_1()[0], method=SUITE, split=SPLIT, seed=13, decoding="")
    variants = [f"wl-{model}-{mode}" for model in ("xgboost", "lstm") for mode in ("delta", "state")]

    def first(domain: str, variant: str = "wl-xgboost-delta") -> str:
        return rate(value(found, domain=domain, variant=variant, metric="expert_top1"))

    def perfect(domain: str, variant: str = "wl-xgboost-delta") -> str:
        return rate(value(found, domain=domain, variant=variant, metric="perfect_coverage"))

    def decisions(domain: str) -> str:
        (count,) = select(found, domain=domain, variant="wl-xgboost-delta", metric="expert_top1")["count"]
        return f"{count:,}"

    attempts = sgp.load_attempts()
    lengths = select(attempts, suite=SUITE, domain="gripper", split=SPLIT)["expert_length"].dropna()
    logistics = sorted(perfect("logistics", variant) for variant in variants)
    return [
        *(first("visitall", "wl-lstm-state"), decisions("visitall"), first("visitall")),
        perfect("visitall", "wl-lstm-state"),
        *(first("blocksworld"), decisions("blocksworld"), perfect("blocksworld")),
        *(max(first("logistics", variant) for variant in variants), logistics[0], logistics[-1]),
        *(first("gripper"), str(lengths.min()), str(lengths.max())),
    ]


@source("other-kernels")
def _other_kernels() -> str:
    there = select(scores("processors"), metric="coverage", size=None)
    here = select(table_1()[0], split=SPLIT, metric="coverage", decoding="")
    rows = []
    for (domain, variant), other in there.groupby(["domain", "variant"], sort=False):
        numbers = sorted(other["seed"])
        own = select(here, domain=domain, variant=variant)
        cells = (", ".join(rate(value(part, seed=seed)) for seed in numbers) for part in (own, other))
        n = own["count"].iloc[0]
        rows.append((f"{variant}, {domain}, n = {n}", ", ".join(map(str, numbers)), *cells))
    return Table.of("", ("planner", "seeds", "AVX-512", "AVX2"), rows).markdown()


@source("reach")
def _reach() -> Numbers:
    attempts = select(sgp.load_attempts(), suite=SUITE, method="contrastive-jumps", variant="one-step")
    unseen = select(table_1()[0], planner="contrastive-jumps aiw", split=SPLIT, metric="unseen")
    tried = len(select(attempts, domain="visitall", split=SPLIT))
    return [str(tried), *(rate(value(unseen, domain=each), 4) for each in ("blocksworld", "logistics")), None]


@source("goals")
def _goals() -> Numbers:
    left_out = select(scores("jackknife"), split=SPLIT, metric="coverage", size=None).groupby("domain")["value"]
    ratios, planning = select(scores("plan-length"), variant="aiw"), scores("planning")
    training = [value(planning, domain=each, metric="training_processor_seconds") for each in DOMAINS]
    medians = [
        next(select(planning, domain=each, split=SPLIT, metric="median_processor_seconds").itertuples())
        for each in DOMAINS
    ]
    kernels = [
        rounded(value(scores("kernels"), variant=kind, domain=each, metric="wlplan_ratio"))
        for kind in ("plain", "incremental", "incremental_by_state")
        for each in DOMAINS
    ]
    return [
        *("1.00", "1.00", None, None, None, None, "1.00", *_rows_solved()),
        *(None, rate(min(left_out.mean()[list(DOMAINS[:3])])), *(str(left_out.size()[each]) for each in DOMAINS[:3])),
        *(None, *(rate(value(ratios, domain=each)) for each in DOMAINS), None),
        *(None, f"{sum(training):.1f}", *(f"{each:.1f}" for each in training)),
        *(None, *(f"{1000 * each.value:.0f}" for each in medians), *(str(each.count) for each in medians)),
        *(None, None, None, *kernels),
    ]


@source("goals-measured")
def _goals_measured() -> Numbers:
    found = pd.concat([scores("planning"), scores("kernels")])
    return [*when(found), load(found)]


def _harder() -> pd.DataFrame:
    """The scores on far larger problems, a row for each seed, in the order of domains and groups."""
    return select(measured(), suite="harder").sort_values("seed", kind="stable")


@source("harder")
def _harder_table() -> str:
    rows: list[Row] = []
    groups = select(_harder(), metric="coverage").groupby("domain", sort=False)
    width = max(part["split"].nunique() for _, part in groups) + 1
    for domain, part in groups:
        names = dict.fromkeys(part["split"])
        cells = [list(select(part, split=name).itertuples()) for name in names]
        shown = [pool(cell) for cell in cells]
        lines = [
            (domain, *(f"{name}, n = {each.n}" for name, each in zip(names, shown, strict=True))),
            (f"contrastive-jumps aiw x{max(each.seeds for each in shown)}", *(each.text for each in shown)),
            ("solved by each seed", *(", ".join(f"{row.value * row.count:.0f}" for row in cell) for cell in cells)),
            ("mean actions", *(_mean_length(domain, name, cell) for name, cell in zip(names, cells, strict=True))),
        ]
        rows += [Row((*line, *[""] * (width - len(line))), heading=line is lines[0]) for line in lines]
    return Table("", ("planner", *[""] * (width - 1)), tuple(rows)).markdown()


def _mean_length(domain: str, group: str, coverage: Sequence[Any]) -> str:
    """Mean actions of all plans that were found, whatever the seed."""
    plans = {row.seed: row.value * row.count for row in coverage}
    lengths = select(_harder(), metric="plan_length", domain=domain, split=group)
    number = sum(plans[row.seed] for row in lengths.itertuples())
    return f"{sum(row.value * plans[row.seed] for row in lengths.itertuples()) / number:.0f}" if number else ""


def _rows_solved() -> list[str]:
    """On how many groups of far larger problems every seed solves all, and how many groups there are."""
    least = select(_harder(), metric="coverage").groupby(["domain", "split"])["value"].min()
    return [str((least == 1).sum()), str(len(least))]


SOURCES["harder-in-short"] = lambda: ["1.00", *_rows_solved()]


@source("harder-settings")
def _harder_settings() -> str:
    found = select(scores("harder-settings"), metric="coverage", size=None).sort_values(["variant", "decoding"])

    def words(cell: pd.DataFrame) -> str:
        return f"{(cell['value'] * cell['count']).sum():.0f} of {cell['count'].sum()}, {seeds(cell)} seeds"

    table = pivot(
        found.replace({"decoding": {"": "default"}}), ("variant", "decoding"), "domain", words, columns=DOMAINS
    )
    rows = [Row(tuple(word or "not measured" for word in row.words)) for row in table.rows]
    return Table("", ("training", "decoding", *DOMAINS), tuple(rows)).markdown()


@source("track")
def _track() -> str:
    ours = select(measured(), suite="track")
    planners = list(dict.fromkeys(select(ours, metric="coverage")["planner"]))
    ours = pd.concat([select(ours, planner=planner).sort_values("domain", kind="stable") for planner in planners])
    table = pivot(
        ours.assign(level=ours["split"].where(ours["metric"] == "coverage")),
        ("domain",),
        "level",
        with_n,
        columns=("easy", "medium", "hard"),
        section="planner",
        extra={
            "seconds": lambda line: rounded(fmean(select(line, metric="seconds")["value"])),
            "GB": lambda line: (
                f"{max(found) / 1000:.1f}" if (found := list(select(line, metric="memory")["value"])) else ""
            ),
        },
    )
    rows = [Row((row.words[0], *row.words[3:], *row.words[1:3]), heading=row.heading) for row in table.rows]
    return Table("", ("domain", "easy", "medium", "hard", "seconds", "GB"), tuple(rows)).markdown()


@source("when-track")
def _when_track() -> Numbers:
    return [*when(select(measured(), suite="track")), None]  # the limit of a problem is a setting


@source("against-lama")
def _against_lama() -> str:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from against_lama import lama_table

    rows = pd.read_csv(DATA / "measured" / "against-lama.csv", dtype={"decoding": str, "selected_by": str})
    named = with_planners(rows.fillna({"decoding": "", "selected_by": ""}))
    titles = dict.fromkeys(named["planner"] + " seed " + named["seed"].astype(str))
    day, cores = when(rows)
    words = f"Measured until {day}, {cores} cores, up to {load(rows)} processes at once; {', '.join(titles)}."
    return f"{words}\n\n{lama_table(rows).markdown()}"


@source("learning-curve")
def _learning_curve() -> str:
    drawn = with_draws(load_scores("measured/learning-curve"))
    drawn = select(drawn[drawn["problems"].notna()], metric="coverage", size=None)
    most = drawn.groupby(["planner", "domain"])["problems"].transform("max")
    names = {1: "1", 2: "2", 4: "4"}
    half = [-(-int(count) // 2) for count in most]
    parts = []
    for name in (*names.values(), "half", "all"):
        counts = most if name == "all" else pd.Series(half if name == "half" else int(name), index=drawn.index)
        chosen = (drawn["problems"] == counts) & ((name == "all") | (drawn["problems"] < most))
        parts.append(drawn[chosen].assign(amount=name))
    whole = pd.concat(parts).sort_index(kind="stable")
    full = whole[whole["amount"] == "all"].groupby(["planner", "domain"])[["problems", "count"]].first()
    keys = list(zip(whole["planner"], whole["domain"], strict=True))
    whole["line"] = [f"{key[1]}, {full.problems[key]} problems, n = {full['count'][key]}" for key in keys]
    amounts = ("1", "2", "4", "half", "all")

    def words(cell: pd.DataFrame) -> str:
        values = list(cell["value"])
        return f"{rate(fmean(values))} ({rate(min(values))})" if len(values) > 1 else rate(values[0])

    headings = ("training problems", *amounts)
    table = pivot(whole, ("line",), "amount", words, columns=amounts, headings=headings, section="planner")
    return until(drawn, table, word="on")


# Transformers


def _transformers(*metrics: str) -> pd.DataFrame:
    return select(measured(), suite=SUITE, method=TRANSFORMERS, metric=metrics)


@source("transformers")
def _transformer_coverage() -> str:
    ours, options = _transformers("coverage"), get_paper("symt").table("2")
    table = paper_table("symt", 2, ours)
    caption = table.caption[table.caption.index(options["caption"]) :]
    read = f"Read as the [table of coverage](results.md#coverage). {caption}"
    return until(ours, Table(table.title, table.headings, table.rows, read))


@source("transformers-trained")
def _transformer_training() -> str:
    shows = {"training_seconds": "{:.0f}".format, "training_processor_seconds": "{:.0f}".format, "copied": rate}
    found = _transformers(*shows).sort_values(["method", "variant", "domain"], kind="stable")
    found = found.assign(planner=found["method"] + " " + found["variant"])
    headings = ("planner", "domain", "seeds", "seconds of training, by the clock", "of the processor", "names copied")
    return pivot(
        found,
        ("planner", "domain"),
        "metric",
        lambda cell: ends(cell["value"], shows[cell["metric"].iloc[0]]),
        columns=shows,
        headings=headings,
        extra={"seeds": seeds},
    ).markdown()


@source("transformers-lengths")
def _plan_lengths() -> str:
    attempts = select(sgp.load_attempts(), suite=SUITE, split=SPLIT)
    attempts = attempts[attempts["solved"]]
    lama = select(attempts, variant="lama-first").set_index(["domain", "problem"])["length"]
    ours = select(attempts, method=TRANSFORMERS).join(lama.rename("lama"), on=["domain", "problem"])
    ours = ours[ours["lama"].notna()].assign(ratio=ours["length"] / ours["lama"])
    rows = [
        (
            planner,
            domain,
            str(of["problem"].nunique()),
            f"{median(of.ratio):.2f} [{min(of.ratio):.2f}, {max(of.ratio):.2f}]",
        )
        for (planner, domain), of in ours.groupby(["planner", "domain"])
    ]
    return Table.of("", ("planner", "domain", "problems", "length over LAMA's"), rows).markdown()


_DECODINGS = ("applicable", "regrounding", "ranked")
_LEARNED = ("seeds", "validation loss", "names copied", *_DECODINGS)


def _learned(of: pd.DataFrame) -> list[str]:
    """Seeds, ends of loss and share of names copied, and what each decoding solves of interpolation."""
    values = [ends(select(of, metric=name)["value"], "{:.2f}".format) for name in ("validation_loss", "copied")]
    solved = select(of, metric="coverage", split="interpolation", size=None)
    return [seeds(of), *values, *(with_n(select(solved, decoding=name)) for name in _DECODINGS)]


@source("transformers-losses")
def _losses() -> str:
    found = scores("losses")
    found = found[~found["variant"].str.contains("names=")]
    off = {name: found["variant"].str.contains(f"{name}=0") for name in ("hidden", "attention")}
    rows = []
    for (domain, hidden, attention), of in found.groupby([found["domain"], off["hidden"], off["attention"]]):
        changed = select(of, metric="name_sensitivity", split="interpolation")["value"]
        rows.append((domain, "" if attention else "on", "" if hidden else "on", *_learned(of), ends(changed)))
    headings = ("domain", "attention", "hidden", *_LEARNED, "decisions that change")
    return until(found, Table.of("", headings, rows))


@source("transformers-vocabularies")
def _vocabularies() -> str:
    from sgp.methods.symt import SymTTraining

    found = select(scores("losses"), domain="gripper")
    found = found[~found["variant"].str.contains("=0")]
    sizes = pd.to_numeric(found["variant"].str.extract(r"\+names=(\d+)")[0]).fillna(SymTTraining.names).astype(int)
    rows = [(str(size), *_learned(of)) for size, of in found.groupby(sizes)]
    return until(found, Table.of("", ("names", *_LEARNED), rows))


@source("names-matter")
def _names_matter() -> str:
    found, splits = scores("names"), SPLITS[:2]
    found = found.sort_values(["method", "domain"], kind="stable")
    parts = [select(found, planner=planner) for planner in dict.fromkeys(found["planner"])]
    found = pd.concat(parts)

    def words(cell: pd.DataFrame) -> str:
        return f"{ends(cell['value'])}, n = {cell['count'].iloc[0]}"

    headings = ("planner", "domain", "seeds", *splits)
    table = pivot(found, ("planner", "domain"), "split", words, "", "", splits, headings, {"seeds": seeds})
    return until(found, table)


@source("transformers-decide")
def _decisions() -> str:
    found, rows = select(scores("transformers"), split=SPLIT), []
    for planner, of in found.groupby("planner", sort=False):
        alone, together = (value(of, metric=f"decisions_per_second{end}") for end in ("_alone", ""))
        rows.append((planner, f"{alone:.0f}", f"{together:.0f}", f"{together / alone:.1f}"))
    table = Table.of("", ("planner", "alone", f"{found['count'].iloc[0]} together", "ratio"), rows)
    return until(found, table, word="on", what="one of ")


@source("transformers-step")
def _steps() -> str:
    from sgp.training.two_views import TwoViews

    rows, steps = [], TwoViews().epochs * TwoViews().steps
    for variant, of in select(scores("transformers"), split="train").groupby("variant", sort=False):
        small, large = (value(of, metric=f"seconds_per_step_of_training{end}") for end in ("", "_at_paper_size"))
        rows.append((f"symt {variant}", f"{small:.2f}", f"{large:.1f}", f"{large * steps / 3600:.0f}"))
    return Table.of("", ("planner", "seconds a step", "at the paper's size", "hours there"), rows).markdown()


@source("nameless-logistics")
def _nameless_in_logistics() -> Numbers:
    found = select(measured(), method="nameless", domain="logistics", split=SPLIT)
    (first,) = select(found, metric="expert_top1").itertuples()
    ratios = select(found, suite=SUITE, metric="plan_length_ratio")["value"]
    return [rate(first.value), f"{first.count:,}", f"{min(ratios):.1f}", f"{max(ratios):.1f}"]


@source("theirs-diverged")
def _diverged() -> Numbers:
    return [f"{number:.0f}" for number in select(load_scores("published/symt"), metric="diverged")["value"]]


# Next states


@cache
def _retrieval() -> pd.DataFrame:
    """The scores of next states, with `model` (without the cap on transitions, which the page has once) and `most`."""
    found = select(measured(), suite="acpbench")
    most = [Variant.parse(name).max_transitions for name in found["variant"]]
    found = found.assign(plain=found["variant"].str.partition("+most=")[0], most=most)
    return found.assign(model=found["method"] + " " + found["plain"])


def _by_protocols() -> pd.DataFrame:
    """What was measured by the six protocols, without other settings."""
    found = _retrieval()
    return found[~found["plain"].str.contains("+", regex=False)]


def _over_domains(cell: pd.DataFrame) -> str:
    """The mean over domains of the means over seeds, and over sources where a model learned from another domain."""
    return rate(mean(map(mean, (list(part) for _, part in cell.groupby("domain", sort=False)["value"]))))


def _by_split(title: str, metric: str, pools: str, printed: str = "") -> Table:
    """A line for chance, if it is known, for each model, and for a printed one; a column for each protocol."""
    from sgp.datasets.protocols import PROTOCOLS

    found = select(_by_protocols(), decoding=pools)
    ours = select(found, metric=metric)
    luck = select(found, metric=f"chance_{metric}", model="embedplan untrained").assign(model="chance")
    splits = [split for split in PROTOCOLS if split in set(ours["split"])]
    whole = pd.concat([luck, ours])
    if printed:
        theirs = select(load_scores("published/embedplan"), variant=printed, domain="mean", metric=metric)
        theirs = select(theirs, decoding=pools).drop_duplicates("split", keep="last")
        whole = pd.concat([whole, theirs.assign(model=f"theirs, {printed}")])
    return pivot(whole, ("model",), "split", _over_domains, "", "", splits, (title, *splits))


@source("next-states")
def _next_states() -> str:
    hits = _by_split("Hit@5, pools *paper*", "hit@5", "paper", "llama-3.3-70b")
    return until(
        _by_protocols(), hits, _by_split("Hit@1, pools *hard*", "hit@1", "hard"), _by_split("Acc@1", "acc@1", "")
    )


@source("plans-followed")
def _plans_followed() -> str:
    given = _by_split("every next state among five, pools *paper*", "plan_exact_hit@5", "paper")
    own = _by_split("executed by its own predictions", "closed_loop_exact", "paper")
    return f"{given.markdown()}\n{own.markdown()}"


@source("abstaining")
def _abstaining() -> str:
    error = _by_split("calibration error", "calibration_error", "hard")
    return f"{_by_split('AUROC', 'abstention_auroc', 'hard').markdown()}\n{error.markdown()}"


@source("next-states-by-domain")
def _next_states_by_domain() -> str:
    splits = ("interpolation", SPLIT)
    beside = (("minilm-atoms", "hit@1"), ("minilm-atoms", "hit@5"), ("renamed", "hit@1"))
    found = select(_by_protocols(), decoding="hard", split=splits).sort_values("domain", kind="stable")
    asked = {
        f"{split}: {plain} {METRICS[metric].heading.capitalize()}": (split, plain, metric)
        for split in splits
        for plain, metric in beside
    }
    titles = {place: title for title, place in asked.items()}
    places = zip(found["split"], found["plain"], found["metric"], strict=True)
    found = found.assign(column=[titles.get(place, "") for place in places])
    size = {"candidates": lambda line: f"{mean(select(line, metric='pool')['value']):.0f}"}
    return pivot(found, ("domain",), "column", interval, columns=titles.values(), extra=size).markdown()


@source("retrieval-caps")
def _caps() -> str:
    from sgp.datasets.protocols import PROTOCOLS

    rows = []
    for split in PROTOCOLS:
        of, times = select(_by_protocols(), split=split), select(scores("retrieval-trainings"), split=split)["value"]
        if of.empty:
            continue
        limits = re.search(r"at most (\d+) transitions and (\d+) plans", of["note"].iloc[0])
        assert limits is not None
        counts = (str(of[name].nunique()) for name in ("domain", "seed"))
        rows.append((split, *counts, f"{of['most'].max():.0f}", *limits.groups(), ends(times, "{:.0f}".format)))
    caps = ("transitions learned from", "measured on", "plans", "seconds a training")
    return Table.of("", ("protocol", "domains", "seeds", *caps), rows).markdown()


@source("other-settings")
def _other_settings() -> str:
    asked = {("hit@5", "paper"): "Hit@5, *paper*", ("hit@1", "hard"): "Hit@1, *hard*", ("acc@1", ""): "Acc@1"}
    found = select(_retrieval(), method="embedplan", split=SPLIT)
    found = found[(found["plain"] == "minilm-atoms") | found["plain"].str.contains("+", regex=False)]
    shared = set.intersection(*(set(part) for _, part in found.groupby("plain")["seed"]))
    columns = [asked.get(place, "") for place in zip(found["metric"], found["decoding"], strict=True)]
    setting = found["plain"].str.partition("+")[2].replace("", "as the paper has it")
    found = found.assign(column=columns, setting=setting)[found["seed"].isin(shared)]
    found = found.sort_values("setting", key=lambda names: names != "as the paper has it", kind="stable")
    headings = ("extrapolation", *asked.values())
    table = pivot(found, ("setting",), "column", _over_domains, columns=asked.values(), headings=headings)
    return f"Seeds: {', '.join(map(str, sorted(shared)))}.\n\n{table.markdown()}"


@source("after-shots")
def _after_shots() -> str:
    found = scores("few-transitions")
    shots = pd.to_numeric(found["variant"].str.extract(r"\+shots=(\d+)")[0]).fillna(0).astype(int)
    found = found.assign(shots=shots, model=found["method"] + " " + found["variant"].str.partition("+most=")[0])
    tables = []
    for title, metric, pools in (("Hit@5, pools *paper*", "hit@5", "paper"), ("Hit@1, pools *hard*", "hit@1", "hard")):
        of, few = select(found, metric=metric, decoding=pools), sorted(set(shots))
        tables.append(pivot(of, ("model",), "shots", _over_domains, "", "", few, (title, *map(str, few))).markdown())
    return "\n".join(tables)


@source("planning-by-sentences")
def _planning_by_sentences() -> str:
    found = scores("planning-by-sentences")
    known = set(zip(found["method"], found["variant"].str.partition("+")[0], strict=True))
    wl = select(measured(), suite=SUITE, decoding="", domain=set(found["domain"]))
    beside = [key in known for key in zip(wl["method"], wl["variant"], strict=True)]
    whole = select(pd.concat([found, wl[beside]]), size=None).sort_values(
        ["domain", "method", "variant"], kind="stable"
    )
    runs = whole.groupby(["domain", "planner"])["seed"].transform("nunique", dropna=False)
    whole["title"] = whole["planner"] + " x" + runs.astype(str)
    shown = whole["split"].where(whole["metric"] == "coverage", "")
    first = (whole["split"] == SPLIT) & (whole["metric"] == "expert_top1")
    whole = whole.assign(column=shown.mask(first, "expert first"))
    columns = (*SPLITS, "expert first")

    def words(cell: pd.DataFrame) -> str:
        return rate(mean(cell["value"])) if cell["column"].iloc[0] == "expert first" else interval(cell)

    headings = ("domain", "planner", *columns)
    return until(found, pivot(whole, ("domain", "title"), "column", words, columns=columns, headings=headings))


@source("embedding-speed")
def _embedding_speed() -> str:
    headings = {
        "together_microseconds": "µs a state, together",
        "alone_microseconds": "alone",
        "state_milliseconds": "ms a state's text",
        "atom_milliseconds": "an atom's",
    }
    found = scores("texts")
    names = ("domain", *headings.values())
    table = pivot(found, ("domain",), "metric", lambda cell: f"{cell['value'].iloc[0]:.3g}", "", "", headings, names)
    return until(found, table, word="on", what="one of ")


# Settings


_SETTINGS = {
    "candidates": "candidates",
    "beam": "beam",
    "embedding.open_atoms": "open walks, most atoms",
    "embedding.iterations": "rounds of colours",
    "loss.l2": "L2",
    "labels.source": "labels",
    "labels.states": "drawn states (with dagger-optimal labels)",
    "enough": "end of a lookahead (`enough`)",
    "margin": "margin of the beam, 0: none",
}
_ABLATED = {  # settings of training, and the decoding
    ("", ""): "none",
    ("loss.kind=squared", ""): "squared error instead of the contrastive loss",
    ("embedding.closed_atoms=0", ""): "no closed walks",
    ("embedding.closed_atoms=0+embedding.open_atoms=0", ""): "no walks at all",
    ("embedding.counted=true", ""): "counts of features instead of their presence",
    ("", "default+revisits=true"): "visited states stay candidates",
    ("candidates=one-step", ""): "successors alone, no lookahead",
    ("labels.source=expert", ""): "experts' labels instead of optimal ones",
    ("labels.source=dagger", ""): "experts' labels, and visited states",
    ("", "default+beam=1"): "no beam",
    ("delta=progress", ""): "a delta that moves with the share of the goal",
}


@source("selection")
def _selection() -> str:
    trials, rows = rows_of("selection-contrastive-jumps"), []
    trials = trials.assign(setting=trials["setting"].str.replace(r", seed.*", "", regex=True))
    for setting, name in _SETTINGS.items():
        for tried, of in trials[trials["setting"] == setting].groupby("value", sort=False):
            coverage = of["row_coverage"].astype(float)
            below = coverage[coverage < 1]
            mean_of = (rate(float(number), 3) for number in (coverage.mean(), of["quality"].astype(float).mean()))
            missed = f"{len(below)}, least {rate(min(below))}" if len(below) else "none"
            shown = f"**{tried}**" if tried == _default(setting) else tried
            rows.append(("" if rows and rows[-1][-1] == setting else name, shown, *mean_of, missed, setting))
    rows = [row[:-1] for row in rows]
    return Table.of("", ("setting", "value", "coverage", "quality", "groups not all solved"), rows).markdown()


def _default(setting: str) -> str:
    """The value that the method has."""
    from sgp.methods.contrastive_jumps import METHOD

    training, decoding = next(iter(METHOD.variants.values())), METHOD.decodings["default"]
    found: object = decoding if hasattr(decoding, setting) and not hasattr(training, setting) else training
    for name in setting.split("."):
        found = getattr(found, name)
    return f"{found:g}" if isinstance(found, float) else str(found)


@source("further-draws")
def _further_draws() -> Numbers:
    trials = rows_of("selection-contrastive-jumps").drop_duplicates(["setting", "value"])
    seconds = trials[trials["seconds"] != ""].set_index(["setting", "value"])["seconds"].astype(float)
    values = ("4", "16", "32", "128")
    draws = [
        f"{fmean(seconds[f'enough, further draws, seed {seed}', each] for seed in (13, 14)):.2f}" for each in values
    ]
    none, two, one = (f"{seconds['margin', each]:.2f}" for each in ("0", "2", "1"))
    return [*values, *draws, None, None, none, None, two, None, one, None]


@source("ablation")
def _ablation() -> str:
    found, domains = select(scores("ablation"), size=None, metric=["coverage", "plan_length"]), DOMAINS[:3]
    counts = select(found, metric="coverage").groupby("domain")["count"].last()
    rows = []
    for (training, decoding), words in _ABLATED.items():
        of = select(found, variant="+".join(filter(None, ("aiw", training))), decoding=decoding)
        cells = []
        for domain in domains:
            lengths = select(of, domain=domain, metric="plan_length")["value"]
            coverage = rate(value(of, domain=domain, metric="coverage"))
            cells.append(", ".join([coverage, *(f"{length:.1f}" for length in lengths)]))
        rows.append((words, *cells))
    headings = ("change", *(f"{domain.capitalize()}, n = {counts[domain]}" for domain in domains))
    return Table.of("", headings, rows).markdown()


# Scaling, data, installing, dashboard, library


@source("scaling")
def _scaling() -> str:
    both = pd.concat([load_scores("measured/scaling"), get_paper("dynamic-validation").printed("1")])
    return sgp.scaling_table(both).markdown()


@source("plans-made")
def _plans_made() -> Numbers:
    from sgp.datasets.experts import saved_plans

    suite, made = sgp.load_suite("scaling"), []
    for domain in ("blocksworld", "visitall"):
        for split in ("train", "validation"):
            plans, problems = saved_plans(suite, domain, split), suite.problems(domain, split)
            made += [sum(plans[each.sha256].plan is not None for each in problems), len(problems)]
    return [str(number) for number in made]


@source("scaling-ends")
def _scaling_ends() -> Numbers:
    curves = select(load_scores("measured/scaling"), selected_by="dynamic")
    sized = curves[(curves["metric"] == "coverage") & curves["size"].notna()]
    last = sized.sort_values("size", kind="stable").groupby("domain")["value"].last()
    order = [
        "visitall",
        "satellite",
        "logistics",
        "childsnack",
        "transport",
        "rovers",
        "gripper",
        "ferry",
        "blocksworld",
    ]
    return [*when(curves), *(rate(last[domain]) for domain in order)]


@source("acpbench-instances")
def _instances() -> str:
    from sgp.domains import saying

    suite, rows = sgp.load_suite("acpbench"), []
    for name, domain in suite.domains.items():
        planned, built_in = len(list((suite.experts / name).glob("*.jsonl"))), saying(suite.domain_text(name))
        rows.append((built_in.title, str(len(domain.splits)), str(len(domain.splits) - planned)))
    starts = "all starts in state spaces of at most 200,000 states"
    return Table.of("", ("domain", "instances", starts), rows).markdown()


@source("installed-sizes")
def _installed_sizes() -> str:
    rows = []
    for name, of in scores("installing").groupby("variant", sort=False):
        size, seconds = (value(of, metric=metric) for metric in ("megabytes", "processor_seconds"))
        rows.append((name, f"{size:,.0f} MB", f"{seconds:.0f} s"))
    return Table.of("", ("installed", "size", "processor time of pip"), rows).markdown()


SOURCES["installed-when"] = lambda: when(scores("installing"))


@source("shipped-planners")
def _shipped_planners() -> str:
    rows = []
    for folder in sorted((DATA / "planners").iterdir()):
        coverage = pd.concat(map(read_scores, sorted(folder.glob("scores-*.csv"))))
        coverage = select(coverage, metric="coverage")
        (whole,) = select(coverage, size=None).itertuples()
        (size,) = set(coverage["size"].dropna())
        low, high = sgp.wilson(whole.value, whole.count)
        solved = f"{whole.value * whole.count:.0f} of {whole.count}"
        rows.append((folder.name, str(size), solved, f"{whole.value:.2f} [{low:.2f}, {high:.2f}]"))
    return Table.of("", ("domain", "objects", "solved", "coverage, 95 % Wilson interval"), rows).markdown()


@source("dashboard-speed")
def _dashboard_speed() -> str:
    found = scores("dashboard")
    rows = [
        (row.variant, f"{row.value:.0f}" if row.metric == "number" else f"{rounded(row.value)} {row.metric}")
        for row in found.itertuples()
    ]
    day, cores = when(found)
    words = f"Measured on {day}, {cores} cores, load {load(found)}."
    return f"{words}\n\n{Table.of('', ('measured', 'value'), rows).markdown()}"


@source("engine")
def _engine() -> Numbers:
    rows = rows_of("engine")
    promised = rows[rows["promised"] == "True"]
    learned = promised[promised["status"] != "NOT_LEARNED"]
    itself = learned["learned_from"] == "itself"
    few = [int(words.split()[0]) for words in learned["learned_from"][~itself]]
    solved = learned["status"] == "SOLVED_SATISFICING"
    counts = (
        *(len(rows), len(promised), min(few), max(few), (solved & ~itself).sum(), (~itself).sum()),
        *(len(promised) - len(learned), (solved & itself).sum(), itself.sum()),
    )
    return [str(count) for count in counts]


if __name__ == "__main__":
    sys.exit(main())
