"""Speed of the transformers on one core: decisions per second by decoding, and seconds of a training step.

    python benchmarks/transformers.py --csv transformers.csv

Networks have their weights after one training step, because only sizes matter here. Decisions are those of a dozen
extrapolation problems of Gripper, solved in sequence and all together. A training step is timed at the default size and
at the paper's size, as the difference between a few steps and one. Times are CPU time.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from measuring import add_csv, note, timed, write
from rich.console import Console
from rich.table import Table

import sgp
from sgp.evaluation.scores import Score
from sgp.methods import get_method
from sgp.methods.configuration import configure
from sgp.models.transformer import PAPER
from sgp.progress import track

SUITE, DOMAIN, SPLIT = "state-centric", "gripper", "extrapolation"
DECIDED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("symt", "ed"): ("applicable", "regrounding", "ranked"),
    ("symt", "plangpt"): ("applicable", "regrounding", "ranked"),
    ("symt", "e"): ("lowest",),
    ("nameless", "pointer"): ("greedy",),
}
LARGE = {"shape.layers": str(PAPER.layers), "shape.hidden": str(PAPER.hidden), "shape.heads": str(PAPER.heads)}
ONE_STEP = {"training.epochs": "1", "training.steps": "1", "training.compared": "1"}
BOTH_LOSSES = {"training.alone": "0", "training.ramp": "0"}


def decisions(method: str, variant: str, decoding: str, count: int, actions: int) -> Mapping[str, float]:
    """Decisions per second, by name of the metric."""
    run = sgp.train(
        method, DOMAIN, SUITE, variant, device="cpu", overrides=ONE_STEP | (BOTH_LOSSES if method == "symt" else {})
    )
    planner = sgp.load_planner(run.folder, decoding)
    problems = sgp.load_suite(SUITE).problems(DOMAIN, SPLIT)[:count]
    found = {}
    for metric, batch in (("decisions_per_second_alone", 1), ("decisions_per_second", count)):
        tasks = [sgp.Task(problem) for problem in problems]
        rollouts, seconds = timed(partial(replace(planner, batch=batch).solve_many, tasks, sgp.Limit(actions=actions)))
        found[metric] = sum(len(rollout.steps) for rollout in rollouts) / seconds
    return found


def step_seconds(variant: str, settings: Mapping[str, str], steps: int) -> float:
    """Seconds of one training step of symt."""
    method, data = get_method("symt"), sgp.load_training_data(sgp.load_suite(SUITE), DOMAIN)

    def trained(count: int) -> float:
        training = configure(method, variant, {**ONE_STEP, **BOTH_LOSSES, **settings, "training.steps": str(count)})[1]
        with tempfile.TemporaryDirectory() as folder:
            return timed(lambda: next(method.checkpoints(training, data, Path(folder), 13, "cpu")))[1]

    return (trained(1 + steps) - trained(1)) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=12, help="problems that are decided together")
    parser.add_argument("--actions", type=int, default=40, help="the most actions of a problem")
    parser.add_argument("--steps", type=int, default=20, help="steps of training; of the paper's size a tenth of them")
    add_csv(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    about, scores = note("torch"), list[Score]()
    subject = {"domain": DOMAIN, "suite": SUITE, "note": about}
    table = Table("planner", "decoding", "decisions a second, alone", "together")
    for (method, variant), decodings in track(list(DECIDED.items()), "decisions"):
        for decoding in decodings:
            found = decisions(method, variant, decoding, arguments.problems, arguments.actions)
            table.add_row(f"{method} {variant}", decoding, *(f"{value:.1f}" for value in found.values()))
            of = {"method": method, "variant": variant, "decoding": decoding, "split": SPLIT}
            scores += [
                Score(**subject, **of, metric=metric, value=value, n=arguments.problems)
                for metric, value in found.items()
            ]
    trained = Table("planner", "size", "seconds a step")
    sizes = (("small", {}, arguments.steps), ("paper's", LARGE, max(1, arguments.steps // 10)))
    for variant in track(["ed", "e", "plangpt"], "steps of training"):
        for size, settings, steps in sizes:
            seconds = step_seconds(variant, settings, steps)
            trained.add_row(f"symt {variant}", size, f"{seconds:.2f}")
            of = {"method": "symt", "variant": variant, "split": "train"}
            metric = "seconds_per_step_of_training" + ("_at_paper_size" if settings else "")
            scores.append(Score(**subject, **of, metric=metric, value=seconds, n=steps))
    write(arguments.csv, scores)
    console = Console()
    console.print(table)
    console.print(trained)


if __name__ == "__main__":
    main()
