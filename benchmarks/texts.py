"""Speed of embedding states by their sentences, in one process and one thread.

    python benchmarks/texts.py --csv texts.csv

The states are those of the instances of suite acpbench. Mode `atoms` is measured in microseconds per state with all
atoms cached, for all states of an instance in one call and for one state a call. The network is measured in
milliseconds per text, for texts of states and of atoms. Times are CPU time, the best of several passes. The embedding
of a state must equal the sum of the separately computed vectors of its atoms.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # must be set before torch is imported

import numpy as np
import torch
from measuring import add_csv, note, timed, write
from rich.console import Console
from rich.table import Table

import sgp
from sgp.encoders.text import sentence_vectors
from sgp.evaluation.scores import Score
from sgp.progress import track

SUITE = "acpbench"
KINDS = ("together_microseconds", "alone_microseconds", "state_milliseconds", "atom_milliseconds")


def measure(instances, sentences: str, states: int, passes: int) -> tuple[dict[str, float], int, bool]:
    """Return the scores of a domain, the number of states, and whether sums are exact."""
    encoders, asked = sgp.data.text_encoders(sgp.data.TextConfig(sentences)), sentence_vectors(sentences)
    seconds, count, exact = dict.fromkeys(KINDS, 0.0), 0, True
    texts, atoms = list[str](), list[str]()
    for instance in instances:
        task, some = instance.task, list(instance.states[:: max(len(instance.states) // states, 1)][:states])
        encoder = encoders(task)
        rows = encoder.embed(task, some)  # warm-up: cache all atoms
        of = [task.fluent(each) for each in task.fluents(some[0])]
        exact &= bool(
            np.allclose(rows[0], sum(encoder.atom_vectors([each])[0].astype(float) for each in of), atol=1e-5)
        )
        acts = {
            "together_microseconds": lambda e=encoder, t=task, s=some: e.embed(t, s),
            "alone_microseconds": lambda e=encoder, t=task, s=some: [e.embed(t, [each]) for each in s],
        }
        for kind, act in acts.items():
            seconds[kind] += min(timed(act)[1] for _ in range(passes))
        count += len(some)
        texts.append(encoder.text(task, some[0]))
        atoms.append(encoder.words.sentence(of[0]))
    readable = [
        text for text, length in zip(texts, asked.lengths(texts), strict=True) if length <= (asked.limit or length)
    ]
    for kind, given in (("state_milliseconds", readable), ("atom_milliseconds", atoms)):
        seconds[kind] = 1e3 * min(timed(lambda g=given: asked.vectors(g))[1] for _ in range(passes)) / len(given)
    figures = {kind: 1e6 * value / count if kind.endswith("microseconds") else value for kind, value in seconds.items()}
    return figures, count, exact


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_csv(parser)
    parser.add_argument("--domains", default=",".join(sgp.load_suite(SUITE).domains))
    parser.add_argument("--sentences", default="minilm", help="the encoder of sentences")
    parser.add_argument("--states", type=int, default=200, help="of each instance")
    parser.add_argument("--passes", type=int, default=5, help="how often everything is measured; the best counts")
    options = parser.parse_args()
    for name in ("states", "passes"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; expected at least 1")
    torch.set_num_threads(1)

    table = Table("domain", "states", "together, µs", "alone, µs", "a state's text, ms", "an atom's text, ms")
    scores, right = list[Score](), True
    for domain in track(options.domains.split(","), "texts"):
        figures, count, exact = measure(
            sgp.data.domain_instances(SUITE, domain), options.sentences, options.states, options.passes
        )
        right &= exact
        table.add_row(domain, str(count), *(f"{figures[kind]:.1f}" for kind in KINDS))
        scores += [
            Score(
                method="text",
                variant=f"{options.sentences}-atoms",
                domain=domain,
                suite=SUITE,
                metric=kind,
                value=value,
                n=count,
                note=note("torch"),
            )
            for kind, value in figures.items()
        ]
    write(options.csv, scores)
    console = Console(width=120)
    console.print(table)
    console.print(f"sums over atoms {'exact' if right else 'WRONG'}")
    raise SystemExit(0 if right else 1)


if __name__ == "__main__":
    main()
