"""Write the measured tables into README and docs: `python docs/measured.py`; `--check` only compares.

It also draws the README's figure.

A page marks a table with `<!-- measured: NAME -->` and `<!-- end -->`; the function NAME (with `_` for `-`) below makes
it from the files under `data`. With `--check` the exit code is 1 if any page differs. Numbers in sentences are written
by hand, and so are tables of finished side studies.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from statistics import fmean, mean, median
from typing import Any

import pandas as pd

import sgp
from sgp.datasets.protocols import PROTOCOLS
from sgp.datasets.subject import Variant
from sgp.datasets.suite import LEVELS
from sgp.domains import saying
from sgp.evaluation.scores import METRICS, load_scores, read_scores, select, shown_share, with_planners
from sgp.files import write_text
from sgp.reports.papers import get_paper, paper_table
from sgp.reports.scaling_tables import scaling_table
from sgp.reports.table import Row, Table
from sgp.reports.tables import coverage_figure, pivot, pool, pool_seeds, rate, short, with_draws

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "data" / "measured" / "coverage.svg"
PICTURED = (
    "contrastive-jumps aiw",
    "state-centric wl-xgboost-delta",
    "state-centric wl-lstm-state",
    "goal-count unsatisfied",
    "zero-change wl",
    "fast-downward lama-first",
)
PAGES = (PICTURE, ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"(<!-- measured: (?P<name>[\w-]+) -->\n).*?(\n?<!-- end -->)", re.DOTALL)
SUITE, SPLIT = "state-centric", "extrapolation"
DOMAINS = ("blocksworld", "gripper", "logistics", "visitall")
TRANSFORMERS = ("nameless", "symt")  # methods
SPLITS = ("validation", "interpolation", SPLIT)


def main(check: bool, pages: Iterable[Path] = PAGES) -> int:
    """Write the tables into the pages, or only compare them; return the exit code."""
    differing = 0
    for path in pages:
        before = path.read_text(encoding="utf-8")
        after = picture() if path == PICTURE else BLOCK.sub(made_again, before)
        if after != before and check:
            print(f"{path}: numbers differ from data/measured; run 'python docs/measured.py'", file=sys.stderr)
        elif after != before:
            write_text(path, after)
        differing += after != before
    return int(check and differing > 0)


def made_again(block: re.Match[str]) -> str:
    """A block of a page with its table made again. Raises KeyError for a block without a function."""
    return f"{block[1]}{text(SOURCES[block['name']]())}{block[3]}"


# Reading and writing


@cache
def measured() -> pd.DataFrame:
    """The measured scores of whole splits."""
    return select(load_scores(), size=None)


@cache
def scores(name: str) -> pd.DataFrame:
    """The scores of a file under `data/measured`."""
    return read_scores(ROOT / "data" / "measured" / f"{name}.csv")


def text(table: Table | str) -> str:
    """A table in Markdown."""
    return table if isinstance(table, str) else table.markdown()


def rounded(number: float) -> str:
    """One digit after the point below 10, none above."""
    return f"{number:.1f}" if number < 9.95 else f"{number:.0f}"


def ends(values: Iterable[float], show: Callable[[float], str] = short) -> str:
    """The minimum and the maximum."""
    known = list(values)
    return f"{show(min(known))} to {show(max(known))}" if known else ""


def when(frame: pd.DataFrame) -> tuple[str, str, str]:
    """The last day on which they were measured, the cores, and the number of processes that ran meanwhile at most."""
    day, cores = max(frame["note"].str.extract(r"^(\S+), (\d+) cores").dropna().itertuples(index=False, name=None))
    load = frame["note"].str.extract(r"load ([0-9.]+)", expand=False).astype(float).fillna(0).max()
    return day, cores, f"{load:.0f}"


def until(frame: pd.DataFrame, *tables: Table, word: str = "until", what: str = "") -> str:
    """Tables below the sentence when they were measured."""
    day, cores, _ = when(frame)
    return f"Measured {word} {day}, {what}{cores} cores.\n\n" + "\n".join(map(text, tables))


def seeds(frame: pd.DataFrame) -> str:
    """The number of seeds."""
    return str(frame["seed"].nunique(dropna=False))


# Results


def picture() -> str:
    """The README's figure: coverage on the extrapolation split of six planners, beside the paper's."""
    scores = pd.concat(table_1())
    return coverage_figure(scores[scores["planner"].isin(PICTURED)], [SPLIT])


def table_1() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measured scores of the bundled suite, and the paper's Table 1; transformers have a table of their own."""
    ours = select(measured(), suite=SUITE)
    return ours[~ours["method"].isin(TRANSFORMERS)], get_paper(SUITE).printed("1")


def coverage() -> Table:
    return paper_table(SUITE, 1, table_1()[0], splits=[SPLIT])


def coverage_in_short() -> Table:
    ours, theirs = (select(part, split=SPLIT, metric="coverage") for part in table_1())
    planners = list(dict.fromkeys(select(theirs, method=SUITE)["planner"]))
    lines = {
        "contrastive jumps": (ours, ["contrastive-jumps aiw"]),
        "goal regression": (ours, ["regression rules"]),
        "state-centric, best of eight": (ours, planners),
        "as published": (theirs, planners),
        "fewest open goals, beam 3": (ours, ["goal-count unsatisfied"]),
        "fewest open goals, beam 1": (ours, ["goal-count unsatisfied · greedy"]),
        "nothing changes": (ours, ["zero-change wl"]),
        "a random unvisited successor": (ours, ["random-successor unvisited"]),
        "Fast Downward, LAMA's first plan": (ours, ["fast-downward lama-first"]),
        "Fast Downward, A* with LM-cut": (ours, ["fast-downward astar-lmcut"]),
    }
    rows, counts = [], {}
    for title, (frame, names) in lines.items():
        pooled = pool_seeds(select(frame, planner=names), ["domain", "planner"])
        best = pooled.sort_values("value", ascending=False, kind="stable").groupby("domain").first()
        counts = counts or best["n"].to_dict()
        rows.append((title, *(best["text"][domain] for domain in DOMAINS)))
    return Table.of("", ("planner", *(f"{domain}, n = {counts[domain]}" for domain in DOMAINS)), rows)


def harder() -> Table:
    frame = select(measured(), suite="harder").sort_values("seed", kind="stable")
    solved = frame.merge(select(frame, metric="coverage")[["domain", "split", "seed", "value", "n"]],
                         on=["domain", "split", "seed"], suffixes=("", "_coverage"))  # fmt: skip
    plans = (solved["value_coverage"] * solved["n_coverage"]).where(solved["metric"] == "plan_length")
    solved = solved.assign(plans=plans, actions=plans * solved["value"])
    rows: list[Row] = []
    width = solved.groupby("domain")["split"].nunique().max()
    for domain, of_domain in solved.groupby("domain", sort=False):
        columns = []
        for name, part in of_domain.groupby("split", sort=False):
            covered = list(select(part, metric="coverage").itertuples())
            cell, lengths = pool(covered), part[["plans", "actions"]].sum()
            by_seed = ", ".join(f"{row.value * row.n:.0f}" for row in covered)
            mean_actions = f"{lengths['actions'] / lengths['plans']:.0f}" if lengths["plans"] else ""
            columns.append((f"{name}, n = {cell.n}", cell.text, by_seed, mean_actions))
        titles = (domain, f"contrastive-jumps aiw x{seeds(of_domain)}", "solved by each seed", "mean actions")
        for place, title in enumerate(titles):
            cells = [column[place] for column in columns]
            rows.append(Row((title, *cells, *[""] * (width - len(cells))), heading=place == 0))
    return Table("", ("planner", *[""] * width), tuple(rows))


def track() -> Table:
    ours = select(measured(), suite="track")
    planners = list(dict.fromkeys(select(ours, metric="coverage")["planner"]))
    ours = pd.concat([select(ours, planner=planner).sort_values("domain", kind="stable") for planner in planners])

    def with_n(cell: pd.DataFrame) -> str:
        pooled = pool(list(cell.itertuples()))
        return f"{pooled.text}, n = {pooled.n}"

    def gigabytes(line: pd.DataFrame) -> str:
        memory = select(line, metric="memory")["value"]
        return f"{memory.max() / 1000:.1f}" if len(memory) else ""

    table = pivot(
        ours.assign(level=ours["split"].where(ours["metric"] == "coverage")),
        ("domain",),
        "level",
        with_n,
        columns=("easy", "medium", "hard"),
        section="planner",
        extra={
            "seeds": lambda line: str(line["seed"].nunique()),
            "seconds": lambda line: rounded(fmean(select(line, metric="seconds")["value"])),
            "GB": gigabytes,
        },
    )
    rows = [
        Row((row.words[0], row.words[1], *row.words[4:], *row.words[2:4]), heading=row.heading) for row in table.rows
    ]
    return Table("", ("domain", "seeds", "easy", "medium", "hard", "seconds", "GB"), tuple(rows))


def track_search() -> Table:
    rows = []
    for domain, line in select(scores("track-search"), size=None).groupby("domain"):
        levels = {split: next(select(line, split=split, metric="coverage").itertuples()) for split in LEVELS}
        solved, n = (sum(each) for each in zip(*((row.value * row.n, row.n) for row in levels.values()), strict=True))
        low, high = sgp.wilson(solved / n, n)
        seconds = rounded(fmean(select(line, metric="seconds")["value"]))
        cells = (f"{row.value * row.n:.0f} of {row.n}" for row in levels.values())
        rows.append((domain, *cells, f"{rate(solved / n)} [{short(low)}, {short(high)}], n = {n}", seconds))
    return Table.of("", ("domain", *LEVELS, "all levels", "seconds"), rows)


def against_lama() -> str:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from against_lama import lama_table

    rows = pd.read_csv(ROOT / "data/measured/against-lama.csv", dtype={"decoding": str, "selected_by": str})
    named = with_planners(rows.fillna({"decoding": "", "selected_by": ""}))
    titles = dict.fromkeys(named["planner"] + " seed " + named["seed"].astype(str))
    day, cores, load = when(rows)
    words = f"Measured until {day}, {cores} cores, up to {load} processes at once; {', '.join(titles)}."
    return f"{words}\n\n{lama_table(rows).markdown()}"


def decision_cost() -> str:
    rows = load_scores("measured/decision-cost")
    rows = rows[rows["variant"] == "this commit"]
    costs = rows[rows["metric"] == "ms_a_decision"].groupby(["domain", "size"])["value"].agg(["mean", "count"])
    sizes = sorted(rows["size"].unique())
    headings = ("domain", *(f"{size:,} objects" for size in sizes), "20,000 over 200", "GB at the largest")
    lines = []
    for domain, found in costs.groupby("domain"):
        of = found.droplevel("domain")
        peak = rows[(rows["domain"] == domain) & (rows["size"] == of.index.max()) & (rows["metric"] == "peak_mb")]
        cells = [f"{of['mean'][size]:.1f} ({of['count'][size]})" if size in of.index else "" for size in sizes]
        ratio = f"{of['mean'][20000] / of['mean'][200]:.1f}" if 20000 in of.index else ""
        lines.append((domain, *cells, ratio, f"{peak['value'].mean() / 1000:.1f}"))
    caption = (
        "Milliseconds of CPU time of a decision (n problems), mean over up to 20 decisions after the first. A cell is "
        "empty if two decisions take more than 60 s."
    )
    day, cores, load = when(rows)
    words = f"Measured until {day}, {cores} cores, up to {load} processes at once."
    return f"{words}\n\n{Table.of('', headings, lines, caption).markdown()}"


def learning_curve() -> str:
    drawn = with_draws(load_scores("measured/learning-curve"))
    drawn = select(drawn[drawn["problems"].notna()], metric="coverage", size=None)
    most = drawn.groupby(["planner", "domain"])["problems"].transform("max")
    counts = {"1": 1, "2": 2, "4": 4, "half": -(-most // 2), "all": most}
    fewer = drawn["problems"] < most
    parts = [
        drawn[(drawn["problems"] == count) & (fewer | (name == "all"))].assign(amount=name)
        for name, count in counts.items()
    ]
    whole = pd.concat(parts).sort_index(kind="stable")
    full = whole[whole["amount"] == "all"].groupby(["planner", "domain"])[["problems", "n"]].first()
    keys = list(zip(whole["planner"], whole["domain"], strict=True))
    whole["line"] = [f"{key[1]}, {full.problems[key]} problems, n = {full['n'][key]}" for key in keys]

    def words(cell: pd.DataFrame) -> str:
        least = f" ({rate(cell['value'].min())})" if len(cell) > 1 else ""
        return rate(fmean(cell["value"])) + least

    headings = ("training problems", *counts)
    table = pivot(whole, ("line",), "amount", words, columns=counts, headings=headings, section="planner")
    return until(drawn, table, word="on")


# Transformers


def transformer_scores(*metrics: str) -> pd.DataFrame:
    """The scores of the transformers on the bundled suite."""
    return select(measured(), suite=SUITE, method=TRANSFORMERS, metric=metrics)


def transformers() -> str:
    ours, options = transformer_scores("coverage"), get_paper("symt").table("2")
    table = paper_table("symt", 2, ours)
    caption = table.caption[table.caption.index(options["caption"]) :]
    read = f"Read as the [table of coverage](results.md#coverage). {caption}"
    return until(ours, Table(table.title, table.headings, table.rows, read))


def transformers_trained() -> Table:
    shows = {"training_seconds": "{:.0f}".format, "training_processor_seconds": "{:.0f}".format, "copied": short}
    frame = transformer_scores(*shows).sort_values(["method", "variant", "domain"], kind="stable")
    frame = frame.assign(planner=frame["method"] + " " + frame["variant"])
    headings = ("planner", "domain", "seeds", "seconds of training, by the clock", "of the processor", "names copied")

    def words(cell: pd.DataFrame) -> str:
        return ends(cell["value"], shows[cell["metric"].iloc[0]])

    return pivot(frame, ("planner", "domain"), "metric", words, "", "", shows, headings, {"seeds": seeds})


def transformers_lengths() -> Table:
    attempts = select(sgp.load_attempts(), suite=SUITE, split=SPLIT)
    attempts = attempts[attempts["solved"]]
    lama = select(attempts, variant="lama-first").set_index(["domain", "problem"])["length"]
    ours = select(attempts, method=TRANSFORMERS).join(lama.rename("lama"), on=["domain", "problem"])
    ours = ours[ours["lama"].notna()].assign(ratio=ours["length"] / ours["lama"])
    rows = []
    for key, part in ours.groupby(["planner", "domain"]):
        ratio = f"{median(part['ratio']):.2f} [{min(part['ratio']):.2f}, {max(part['ratio']):.2f}]"
        rows.append((*key, str(part["problem"].nunique()), ratio))
    return Table.of("", ("planner", "domain", "problems", "length over LAMA's"), rows)


def names_matter() -> str:
    frame = scores("names").sort_values(["method", "domain"], kind="stable")
    frame = pd.concat([select(frame, planner=planner) for planner in dict.fromkeys(frame["planner"])])

    def words(cell: pd.DataFrame) -> str:
        return f"{ends(cell['value'])}, n = {cell['n'].iloc[0]}"

    headings = ("planner", "domain", "seeds", *SPLITS[:2])
    table = pivot(frame, ("planner", "domain"), "split", words, "", "", SPLITS[:2], headings, {"seeds": seeds})
    return until(frame, table)


# Next states


def by_protocols(**fields: Any) -> pd.DataFrame:
    """The scores of next states by the six protocols, without other settings but the cap on transitions (`most`)."""
    frame = select(measured(), suite="acpbench")
    most = [Variant.parse(name).max_transitions for name in frame["variant"]]
    frame = frame.assign(plain=frame["variant"].str.partition("+most=")[0], most=most)
    frame = frame.assign(model=frame["method"] + " " + frame["plain"])
    return select(frame[~frame["plain"].str.contains("+", regex=False)], **fields)


def by_split(title: str, metric: str, pools: str, printed: str = "") -> Table:
    """A line for chance, if it is known, for each model, and for a printed one; a column for each protocol."""
    ours = by_protocols(pool=pools, metric=metric)
    chance = by_protocols(pool=pools, metric=f"chance_{metric}", model="embedplan untrained")
    splits = [split for split in PROTOCOLS if split in set(ours["split"])]
    parts = [chance.assign(model="chance"), ours]
    if printed:
        theirs = select(load_scores("published/embedplan"), variant=printed, domain="mean", metric=metric)
        theirs = select(theirs, pool=pools).drop_duplicates("split", keep="last")
        parts.append(theirs.assign(model=f"theirs, {printed}"))

    def over_domains(cell: pd.DataFrame) -> str:  # of the means over seeds, and over sources if these are other domains
        return short(fmean(cell.groupby("domain", sort=False)["value"].mean()))

    return pivot(pd.concat(parts), ("model",), "split", over_domains, "", "", splits, (title, *splits))


def next_states() -> str:
    hits = by_split("Hit@5, pools *paper*", "hit@5", "paper", "llama-3.3-70b")
    return until(by_protocols(), hits, by_split("Hit@1, pools *hard*", "hit@1", "hard"), by_split("Acc@1", "acc@1", ""))


def plans_followed() -> str:
    given = by_split("every next state among five, pools *paper*", "plan_exact_hit@5", "paper")
    return f"{text(given)}\n{text(by_split('executed by its own predictions', 'closed_loop_exact', 'paper'))}"


def abstaining() -> str:
    calibration = by_split("calibration error", "calibration_error", "hard")
    return f"{text(by_split('AUROC', 'abstention_auroc', 'hard'))}\n{text(calibration)}"


def next_states_by_domain() -> Table:
    columns = {
        (split, plain, metric): f"{split}: {plain} {METRICS[metric].heading.capitalize()}"
        for split in SPLITS[1:]
        for plain, metric in (("minilm-atoms", "hit@1"), ("minilm-atoms", "hit@5"), ("renamed", "hit@1"))
    }
    frame = by_protocols(pool="hard", split=SPLITS[1:]).sort_values("domain", kind="stable")
    places = zip(frame["split"], frame["plain"], frame["metric"], strict=True)
    frame = frame.assign(column=[columns.get(place, "") for place in places])
    size = {"candidates": lambda line: f"{mean(select(line, metric='pool')['value']):.0f}"}

    def interval(cell: pd.DataFrame) -> str:
        pooled = pool(list(cell.itertuples()))
        return f"{short(pooled.value)} [{short(pooled.low)}, {short(pooled.high)}], n = {pooled.n}"

    return pivot(frame, ("domain",), "column", interval, columns=columns.values(), extra=size)


def retrieval_caps() -> Table:
    rows = []
    for split in PROTOCOLS:
        frame, times = by_protocols(split=split), select(scores("retrieval-trainings"), split=split)["value"]
        if frame.empty:
            continue
        limits = re.findall(r"at most (\d+) transitions and (\d+) plans", frame["note"].iloc[0])[0]
        counts = (str(frame[name].nunique()) for name in ("domain", "seed"))
        rows.append((split, *counts, f"{frame['most'].max():.0f}", *limits, ends(times, "{:.0f}".format)))
    caps = ("transitions learned from", "measured on", "plans", "seconds a training")
    return Table.of("", ("protocol", "domains", "seeds", *caps), rows)


# Scaling, data, installing, dashboard


def scaling() -> Table:
    return scaling_table(pd.concat([load_scores("measured/scaling"), get_paper("dynamic-validation").printed("1")]))


def acpbench_instances() -> Table:
    suite, rows = sgp.load_suite("acpbench"), []
    for name, domain in suite.domains.items():
        planned, built_in = len(list((suite.experts / name).glob("*.jsonl"))), saying(suite.domain_text(name))
        rows.append((built_in.title, str(len(domain.splits)), str(len(domain.splits) - planned)))
    starts = "all starts in state spaces of at most 200,000 states"
    return Table.of("", ("domain", "instances", starts), rows)


def installed_sizes() -> Table:
    rows = []
    for name, part in scores("installing").groupby("variant", sort=False):
        of = dict(zip(part["metric"], part["value"], strict=True))
        rows.append((name, f"{of['megabytes']:,.0f} MB", f"{of['processor_seconds']:.0f} s"))
    return Table.of("", ("installed", "size", "processor time of pip"), rows)


def shipped_planners() -> Table:
    rows = []
    for folder in sorted((ROOT / "data" / "planners").iterdir()):
        coverage = select(pd.concat(map(read_scores, sorted(folder.glob("scores-*.csv")))), metric="coverage")
        (whole,) = select(coverage, size=None).itertuples()
        (size,) = set(coverage["size"].dropna())
        low, high = sgp.wilson(whole.value, whole.n)
        solved = f"{whole.value * whole.n:.0f} of {whole.n}"
        rows.append((folder.name, str(size), solved, f"{shown_share(whole.value)} [{low:.2f}, {high:.2f}]"))
    return Table.of("", ("domain", "objects", "solved", "coverage, 95 % Wilson interval"), rows)


def dashboard_speed() -> str:
    frame = scores("dashboard")
    rows = [
        (row.variant, f"{row.value:.0f}" if row.metric == "number" else f"{rounded(row.value)} {row.metric}")
        for row in frame.itertuples()
    ]
    day, cores, load = when(frame)
    return f"Measured on {day}, {cores} cores, load {load}.\n\n{text(Table.of('', ('measured', 'value'), rows))}"


TABLES = (
    *(coverage, coverage_in_short, harder, track, track_search, against_lama, decision_cost, learning_curve),
    *(transformers, transformers_trained, transformers_lengths, names_matter),
    *(next_states, plans_followed, abstaining, next_states_by_domain, retrieval_caps),
    *(scaling, acpbench_instances, installed_sizes, shipped_planners, dashboard_speed),
)
SOURCES: dict[str, Callable[[], Table | str]] = {table.__name__.replace("_", "-"): table for table in TABLES}

if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
