"""Cost of a decision of the included planners by domain and size, on suite `huge`.

    python benchmarks/decision_cost.py --csv decision-cost.csv --plot decision-cost.svg
    python benchmarks/decision_cost.py --against ../earlier-checkout

Each problem has a process of its own, which makes a few decisions with the first planner of the shipped run. The first
decision also instantiates actions and is counted apart. Times are CPU time. With `--against`, another checkout decides
on the same problems in turn, and both must choose the same actions. Problems already in the CSV file are not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from measuring import add_csv, note, write
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).parent
DOMAINS = "ferry,gripper,miconic,childsnack,logistics,blocksworld"
PHASES = ("candidates", "embedding", "ranking", "bookkeeping")
OURS, OTHER = "this commit", "other commit"


def split_of(size: int) -> str:
    """Return the split of suite huge with problems of at most `size` objects."""
    return f"{size}-objects"


def measure(domain: str, size: int, number: int, most: int, seconds: float) -> dict:
    """Return the measurements of one problem: mean milliseconds by phase over the decisions after the first."""
    from sgp.datasets.suite import load_suite
    from sgp.methods.loading import load_planner
    from sgp.planning.clock import resident_memory
    from sgp.planning.planner import Limit, Search, clock_of
    from sgp.planning.task import Task
    from sgp.solving import run_for

    given = load_suite("huge").problems(domain, split_of(size))[number - 1]
    spent = dict.fromkeys(PHASES, 0.0)

    def timed(phase: str, act: Callable) -> Callable:
        def call(*arguments):
            started = time.process_time()
            try:
                return act(*arguments)
            finally:
                spent[phase] += time.process_time() - started

        return call

    class Timed:
        """A policy whose calls are timed."""

        def __init__(self, policy):
            self._policy, self.rules = policy, policy.rules
            self.rank = timed("ranking", policy.rank)

        def refuses(self, task):
            return self._policy.refuses(task)

    planner = load_planner(run_for(given))
    encoder = planner.policy.encoder
    encoder.measure = timed("embedding", encoder.measure)
    planner = replace(
        planner, policy=Timed(planner.policy), successors=timed("candidates", planner.successors), keep="plan"
    )
    started = time.process_time()
    task = Task(given)
    reading = time.process_time() - started
    limit = Limit(seconds=seconds, processor=True)
    search = Search(0, task, limit, planner.policy)
    spans, first = list[float](), 0.0
    with clock_of(limit) as clock:
        while search.outcome is None and len(spans) <= most:
            started = time.process_time()
            planner.advance([search], clock)
            spans.append(time.process_time() - started)
            if len(spans) == 1:
                first, held = spans[0], resident_memory()
                spent.update(dict.fromkeys(PHASES, 0.0))
    later = len(spans) - 1
    if not later:
        raise SystemExit(f"no second decision within {seconds:g} s; the first took {spans[0]:.1f} s")
    total = sum(spans[1:])
    spent["ranking"] -= spent["embedding"]
    spent["bookkeeping"] = total - sum(spent[phase] for phase in PHASES[:-1])
    plan = [str(action) for step in search.beam[0].steps() for action in step.candidates[step.chosen].actions]
    return {
        "objects": task.size,
        "decisions": len(spans),
        "ms_a_decision": 1000 * total / later,
        **{f"ms_{phase}": 1000 * spent[phase] / later for phase in PHASES},
        "candidates_a_decision": search.candidates / len(spans),
        "first_seconds": first,
        "reading_seconds": reading,
        "mb_a_decision": (resident_memory() - held) / 1e6 / later,
        "peak_mb": peak_memory() / 1e6,
        "actions": sha256("\n".join(plan).encode()).hexdigest(),
    }


def peak_memory() -> int:
    """Return this process's peak resident memory in bytes; `getrusage` may return that of the parent process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return 1024 * int(peak)


def measured_in(checkout: Path, words: list[str]) -> dict | str:
    """Return what the program of a checkout measures in a process, or the last line of its error."""
    done = subprocess.run(
        [sys.executable, str(checkout / "benchmarks" / Path(__file__).name), "--one", *words],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def plot(scores, file: Path) -> None:
    """Draw the mean milliseconds of a decision over the number of objects, both on logarithmic axes, as SVG."""
    from math import log10

    scores = scores[scores.metric == "ms_a_decision"]
    means = scores.groupby(["domain", "variant", "size"]).value.mean()
    low, high = log10(max(means.min(), 0.01)) - 0.1, log10(means.max()) + 0.1
    domains, (width, height) = sorted(scores.domain.unique()), (640, 400)

    def x(size: float) -> float:
        return 60 + (width - 200) * (log10(size) - 1.5) / (log10(60000) - 1.5)

    def y(value: float) -> float:
        return height - 40 - (height - 60) * (log10(max(value, 0.01)) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>'
    ]
    for size in sorted(scores["size"].unique()):
        parts.append(f'<path d="M{x(size):.0f} 20V{height - 40}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(size):.0f}" y="{height - 24}" text-anchor="middle">{size:,}</text>')
    for value in (0.1, 1, 10, 100, 1000, 10000):
        if low <= log10(value) <= high:
            parts.append(f'<path d="M60 {y(value):.0f}H{width - 140}" stroke="#ddd"/>')
            parts.append(f'<text x="54" y="{y(value) + 4:.0f}" text-anchor="end">{value:g}</text>')
    parts.append(f'<text x="{(width - 80) / 2}" y="{height - 6}" text-anchor="middle">objects</text>')
    dashed = "; dashed: other commit" if (scores.variant == OTHER).any() else ""
    parts.append(f'<text x="8" y="14">milliseconds a decision{dashed}</text>')
    for place, domain in enumerate(domains):
        colour = f"hsl({360 * place // len(domains)} 70% 40%)"
        for variant, dash in ((OTHER, ' stroke-dasharray="5 4" opacity="0.6"'), (OURS, "")):
            if (domain, variant) in means.index.droplevel("size"):
                points = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in means[domain, variant].items())
                parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{width - 130}" y="{40 + 18 * place}" fill="{colour}">{domain}</text>')
    file.write_text("".join(parts) + "</svg>\n", encoding="utf-8")


def cases(options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """Yield domain, size and number of each problem that suite huge has."""
    from sgp.datasets.suite import load_suite

    suite = load_suite("huge")
    for size in map(int, options.sizes.split(",")):
        for domain in options.domains.split(","):
            if split_of(size) in suite.domain(domain).splits:
                problems = suite.problems(domain, split_of(size))  # generated here, so that no measured process does it
                yield from ((domain, size, number) for number in range(1, min(options.problems, len(problems)) + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domains", default=DOMAINS)
    parser.add_argument("--sizes", default="50,200,1000")
    parser.add_argument("--problems", type=int, default=1, help="of each size, at most 5")
    parser.add_argument("--decisions", type=int, default=20, help="of each problem, after the first")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each problem, CPU time")
    parser.add_argument("--against", type=Path, help="folder of another checkout to compare with")
    parser.add_argument("--plot", type=Path, help="write a plot over sizes here, as SVG")
    parser.add_argument("--one", nargs=3, metavar=("DOMAIN", "SIZE", "NUMBER"), help=argparse.SUPPRESS)
    add_csv(parser)
    options = parser.parse_args()
    if options.one:
        domain, size, number = options.one
        print(json.dumps(measure(domain, int(size), int(number), options.decisions, options.seconds)))
        return

    from sgp.evaluation.scores import Score, read_scores, to_frame

    scores = []
    if options.csv is not None and options.csv.exists():
        earlier = read_scores(options.csv)
        known = set(Score.__dataclass_fields__)
        rows = earlier[[name for name in earlier.columns if name in known]].to_dict("records")
        scores = [Score(**{name: None if value != value else value for name, value in row.items()}) for row in rows]
    done = {(score.variant, score.domain, score.size, score.seed) for score in scores}
    checkouts = {OURS: FOLDER.parent} | ({OTHER: options.against.resolve()} if options.against else {})
    console, failures, different = Console(width=160), list[str](), list[str]()
    for domain, size, number in cases(options):
        chosen = {}
        for variant, checkout in checkouts.items():
            if (variant, domain, size, number) in done:
                continue
            words = [domain, str(size), str(number), "--decisions", str(options.decisions)]
            found = measured_in(checkout, [*words, "--seconds", str(options.seconds)])
            if isinstance(found, str):
                failures.append(f"{variant}, {domain}, {size} objects, problem {number}: {found}")
                continue
            chosen[variant] = found.pop("actions"), found["decisions"]
            subject = {"method": "contrastive-jumps", "variant": variant, "domain": domain, "suite": "huge"}
            scores += [
                Score(**subject, seed=number, size=size, metric=metric, value=value, n=1, note=note())
                for metric, value in found.items()
            ]
            write(options.csv, scores)
        if len(set(chosen.values())) > 1 and len({count for _, count in chosen.values()}) == 1:  # by the time limit
            different.append(f"{domain}, {size} objects, problem {number}: {chosen}")
    frame = to_frame(scores)
    means = frame.groupby(["domain", "variant", "size", "metric"]).value.mean().unstack()
    table = Table(
        "domain", "commit", "size", "decisions", "ms a decision", *PHASES, "MB a decision", "peak MB", "first s"
    )
    for (domain, variant, size), row in means.iterrows():
        shares = [f"{100 * row[f'ms_{phase}'] / max(row.ms_a_decision, 1e-9):.0f} %" for phase in PHASES]
        figures = f"{row.mb_a_decision:.2f}", f"{row.peak_mb:.0f}", f"{row.first_seconds:.2f}"
        table.add_row(domain, variant, str(size), f"{row.decisions:.0f}", f"{row.ms_a_decision:.3f}", *shares, *figures)
    console.print(table)
    if options.plot:
        plot(frame, options.plot)
    for line in [*failures, *(f"other actions: {line}" for line in different)]:
        console.print(line)
    raise SystemExit(1 if different else 0)


if __name__ == "__main__":
    main()
