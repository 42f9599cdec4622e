"""Plan length against the best known: optimal where A* found a plan, else the best of LAMA in 60 s.

    python benchmarks/plan_length.py --methods contrastive-jumps --csv plan-length.csv

Plan lengths of the methods are read from the committed attempts. LAMA's plans are in data/baselines/<suite>/lama, one
line for each problem that A* with LM-cut did not solve; missing ones are computed one at a time, a minute each.
"""

from __future__ import annotations

import argparse
from statistics import fmean

from measuring import add_csv, note, write
from rich.console import Console
from rich.table import Table

import sgp
from sgp.datasets.experts import experts_file, plan_of, saved_plans, write_plans
from sgp.datasets.store import data_folder
from sgp.datasets.suite import Suite
from sgp.evaluation.attempts import read_attempts
from sgp.evaluation.scores import Score
from sgp.planning.experts import OPTIMAL, Stage
from sgp.progress import track

LAMA = Stage("lama", 60.0, alias="lama")


def best_lengths(suite: Suite, domain: str, split: str) -> dict[str, int]:
    """Return the best known length of each problem of a split, by the problem's name."""
    expert, kept = saved_plans(suite, domain, split), saved_plans(suite, domain, split, "lama")
    optimal = {sha: plan for sha, plan in expert.items() if plan.configuration.startswith(OPTIMAL.name) and plan.plan}
    hard = [problem for problem in suite.problems(domain, split) if problem.sha256 not in optimal]
    for problem in track([each for each in hard if each.sha256 not in kept], f"lama on {domain} {split}"):
        kept[problem.sha256] = plan_of(problem, (LAMA,))
    if hard:
        write_plans(experts_file(suite, domain, split, "lama"), (kept[each.sha256] for each in hard))
    best = {}
    for problem in suite.problems(domain, split):
        found = optimal.get(problem.sha256) or kept[problem.sha256]
        if found.plan is not None:
            best[problem.name] = len(found.plan)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="state-centric")
    parser.add_argument("--split", default="extrapolation")
    parser.add_argument("--domains", default="", help="only these domains, with commas between")
    parser.add_argument("--methods", default="contrastive-jumps", help="methods, with commas between")
    add_csv(parser)
    arguments = parser.parse_args()
    suite = sgp.load_suite(arguments.suite)
    attempts = read_attempts(data_folder() / "measured" / f"attempts-{arguments.suite}.csv")
    scores: list[Score] = []
    table = Table("planner", "domain", "plans", "mean length", "best known", "mean ratio", "largest")
    for domain in arguments.domains.split(",") if arguments.domains else suite.domains:
        best = best_lengths(suite, domain, arguments.split)
        plans: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for row in attempts.itertuples():
            place = row.domain, row.split
            chosen = row.method in arguments.methods.split(",") and place == (domain, arguments.split)
            if chosen and row.solved and row.problem in best:
                plans.setdefault((row.method, row.variant), []).append((row.length, best[row.problem]))
        for (method, variant), lengths in plans.items():
            ratios = [ours / known for ours, known in lengths]
            means = (f"{fmean(column):.1f}" for column in zip(*lengths, strict=True))
            spent = f"{fmean(ratios):.3f}", f"{max(ratios):.2f}"
            table.add_row(f"{method} {variant}", domain, str(len(lengths)), *means, *spent)
            subject = {"method": method, "variant": variant, "domain": domain}
            subject |= {"suite": suite.name, "split": arguments.split}
            scores.append(
                Score(
                    **subject,
                    metric="best_length_ratio",
                    value=fmean(ratios),
                    n=len(lengths),
                    note=note("up-fast-downward"),
                )
            )
    write(arguments.csv, scores)
    Console().print(table)


if __name__ == "__main__":
    main()
