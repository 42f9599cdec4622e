"""Differences of LSTMs trained with other CPU kernels: `python benchmarks/processors.py --csv processors.csv`.

torch sums with the widest vector instructions of the CPU. Each network is trained with these and again with only
narrower ones. Decoding always uses the CPU's own, so that only the trained weights differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from measuring import add_csv, note, write
from rich.console import Console
from rich.table import Table

from sgp.evaluation.scores import Score, read_scores, select, to_json

KERNELS: Mapping[str, Mapping[str, str]] = {
    "own": {},
    "AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    "SSE4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
}
SUITE = "state-centric"
SPLIT = "extrapolation"


def cli(home: Path, environment: Mapping[str, str], *words: str) -> str:
    """Return the output of a command."""
    command = [sys.executable, "-m", "sgp", *words]
    settings = {**os.environ, **environment, "SGP_HOME": str(home)}
    return subprocess.run(command, env=settings, stdout=subprocess.PIPE, text=True, check=True).stdout


def measured(domain: str, variant: str, seed: int, precision: str, kernels: str, home: Path) -> Iterator[Score]:
    """Coverage after a training, and a number that differs if the weights differ."""
    words = ("--suite", SUITE, "--domain", domain, "--variant", variant, "--seed", str(seed))
    setting = f"lstm.shape.precision={precision}"
    printed = cli(home, KERNELS[kernels], "train", "--method", "state-centric", *words, "--set", setting)
    run = Path(printed.splitlines()[-1].strip())
    weights = int(sha256((run / "model.safetensors").read_bytes()).hexdigest()[:8], 16)
    cli(
        home, {}, "evaluate", str(run), "--suite", SUITE, "--splits", SPLIT, "--jobs", "1", "--csv", str(home / "s.csv")
    )
    (record,) = json.loads(to_json(select(read_scores(home / "s.csv"), metric="coverage", size=None)))
    coverage = Score(**record)
    coverage = replace(coverage, variant=variant, note=f"{kernels} kernels, {precision} precision; {note('torch')}")
    yield coverage
    yield replace(coverage, metric="weights_digest", value=weights, n=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainings", default="gripper:wl-lstm-state,blocksworld:wl-lstm-delta")
    parser.add_argument("--seeds", default="13,14,15")
    parser.add_argument("--precisions", default="single,double")
    parser.add_argument("--kernels", default=",".join(KERNELS))
    add_csv(parser)
    options = parser.parse_args()
    scores: list[Score] = []
    table = Table("domain", "variant", "seed", "precision", "kernels", "coverage", "weights")
    for training in options.trainings.split(","):
        domain, variant = training.split(":")
        for seed in map(int, options.seeds.split(",")):
            for precision in options.precisions.split(","):
                for kernels in options.kernels.split(","):
                    with tempfile.TemporaryDirectory() as home:
                        found = list(measured(domain, variant, seed, precision, kernels, Path(home)))
                    scores += found
                    write(options.csv, scores)
                    coverage, weights = (each.value for each in found)
                    words = (domain, variant, str(seed), precision, kernels, f"{coverage:.2f}", f"{int(weights):08x}")
                    table.add_row(*words)
    Console().print(table)


if __name__ == "__main__":
    main()
