"""Decoding speed of the package against a naive decoder, in one process, on the same models and problems.

    python benchmarks/decoding.py --csv decoding.csv

Both decoders solve every test problem of the bundled suite with the same trained WL-XGBoost delta models, one thread
each, and must find the same plans. Times are CPU time: PDDL parsing is included, model loading is not. Missing runs are
trained first.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from measuring import add_csv, note, timed, write
from naive import NaivePlanner
from rich.console import Console
from rich.table import Table

import sgp
from sgp.evaluation.scores import Score
from sgp.methods.loading import load_planner
from sgp.planning.pddl import Action, Problem
from sgp.planning.planner import Planner
from sgp.progress import track

SUITE = "state-centric"
Plans = list[tuple[Action, ...] | None]


@dataclass
class Measurement:
    """Seconds, decisions and scored successors of one decoder on one domain; peak memory so far in bytes."""

    plans: Plans = field(default_factory=list)
    seconds: float = 0.0
    decisions: int = 0
    scored: int = 0
    peak: int = 0


class _Counting:
    """Policy wrapper that counts decisions and scored successors."""

    def __init__(self, policy, count: Measurement):
        self._policy, self._count = policy, count
        self.rules = policy.rules

    def refuses(self, task):
        return self._policy.refuses(task)

    def rank(self, nodes, choices):
        self._count.scored += sum(map(len, choices))
        return self._policy.rank(nodes, choices)


def measure_ours(planner: Planner, problems: list[Problem]) -> Measurement:
    found = Measurement()
    counted = replace(planner, policy=_Counting(planner.policy, found))
    rollouts, found.seconds = timed(lambda: counted.solve_many(map(sgp.Task, problems)))
    found.plans = [rollout.plan if rollout.solved else None for rollout in rollouts]
    found.decisions = sum(len(rollout.steps) for rollout in rollouts)
    found.peak = peak_memory()
    return found


def measure_naive(planner: NaivePlanner, problems: list[Problem], title: str) -> Measurement:
    found = Measurement()
    planner.decisions = planner.scored = 0
    found.plans, found.seconds = timed(lambda: [planner.solve(problem) for problem in track(problems, title)])
    found.decisions, found.scored, found.peak = planner.decisions, planner.scored, peak_memory()
    return found


def peak_memory() -> int:
    """Peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def scores_of(domain: str, ours: Measurement, naive: Measurement) -> Iterator[Score]:
    """CPU seconds of both decoders, and milliseconds per scored successor."""
    for name, found in (("sgp", ours), ("naive", naive)):
        figures = {"seconds": found.seconds, "ms_a_successor": 1000 * found.seconds / max(found.scored, 1)}
        for metric, value in figures.items():
            yield Score(
                method="decoder",
                variant=name,
                domain=domain,
                suite=SUITE,
                metric=metric,
                value=value,
                n=len(found.plans),
                note=note("wlplan", "xgboost", "pyperplan"),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_csv(parser)
    parser.add_argument("--domains", default="blocksworld,gripper,logistics,visitall")
    parser.add_argument("--splits", default="validation,interpolation,extrapolation")
    parser.add_argument("--limit", type=int, help="only this many problems of each split")
    options = parser.parse_args()

    suite = sgp.load_suite(SUITE)
    rows = {}
    for domain in options.domains.split(","):
        run = sgp.train("state-centric", domain, suite.name, "wl-xgboost-delta")
        planner = load_planner(str(run.folder))
        planner.policy.predictor.model.use_threads(1)
        naive = NaivePlanner(
            run.folder / "encoder.json", run.folder / "model.ubj", run.record["facts"]["rounds"], planner.width
        )
        warm_up = list(suite.problems(domain, "train")[:1])
        measure_ours(planner, warm_up)
        measure_naive(naive, warm_up, "warm up")
        problems = [
            problem for split in options.splits.split(",") for problem in suite.problems(domain, split)[: options.limit]
        ]
        ours = measure_ours(planner, problems)
        rows[domain] = (ours, measure_naive(naive, problems, f"naive {domain}"))

    table = Table(
        "domain", "decoder", "problems", "solved", "seconds", "ms a step", "ms a successor", "peak GB", "ratio"
    )
    for domain, pair in rows.items():
        for name, found in zip(("sgp", "naive"), pair, strict=True):
            table.add_row(
                domain if name == "sgp" else "",
                name,
                str(len(found.plans)),
                str(sum(plan is not None for plan in found.plans)),
                f"{found.seconds:.1f}",
                f"{1000 * found.seconds / max(found.decisions, 1):.3f}",
                f"{1000 * found.seconds / max(found.scored, 1):.4f}",
                f"{found.peak / 1e9:.2f}",
                f"{pair[1].seconds / pair[0].seconds:.1f}" if name == "naive" else "",
                end_section=name == "naive",
            )
    total = [sum(pair[which].seconds for pair in rows.values()) for which in (0, 1)]
    same = all(ours.plans == naive.plans for ours, naive in rows.values())
    write(options.csv, (score for domain, pair in rows.items() for score in scores_of(domain, *pair)))
    console = Console(width=120)
    console.print(table)
    console.print(
        f"whole evaluation: sgp {total[0]:.1f} s, naive {total[1]:.1f} s, ratio {total[1] / total[0]:.1f}; "
        f"plans {'the same' if same else 'DIFFER'}"
    )
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
