"""Speed of the WL kernels against wlplan, in one process and one thread, on the same states.

    python benchmarks/kernels.py --csv kernels.csv

The states are the successors of states of random walks in extrapolation problems of the bundled suite. The vocabulary
is that of the training trajectories. Every encoder starts from the states of the planning library:

- wlplan: one state a call, with `Atom` objects made once and cached by the number of the fluent;
- plain: `WLEncoder.embed`, all successors of a problem in one call, without their parents;
- incremental: `WLEncoder.embed_candidates`, all successors of a problem in one call, then of one state a call.

Times are CPU time, the best of several passes. The vectors must be equal.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from measuring import add_csv, note, timed, write
from rich.console import Console
from rich.table import Table
from wlplan.feature_generator import load_feature_generator
from wlplan.planning import Atom, Domain, Predicate, Problem
from wlplan.planning import State as WlState

import sgp
from sgp.datasets.training_data import load_training_data
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.evaluation.scores import Score
from sgp.planning.policy import one_step
from sgp.planning.states import State
from sgp.planning.task import Successor, Task
from sgp.progress import track

SUITE, SPLIT = "state-centric", "extrapolation"
KINDS = ("wlplan", "plain", "incremental", "incremental_by_state")


class CachingWlplan:
    """wlplan on one task, with every `Atom` made once."""

    def __init__(self, encoder: WLEncoder, task: Task):
        with tempfile.TemporaryDirectory() as folder:
            encoder.save(Path(folder, "vocabulary.json"))
            self._features = load_feature_generator(str(Path(folder, "vocabulary.json")), quiet=True)
        self._task, self._atoms = task, dict[int, Atom]()
        self._predicates = {name: Predicate(name, arity) for name, arity in task.domain_text.predicates.items()}
        self._static = [self._atom(atom) for atom in task.static_atoms]
        domain = Domain("domain", sorted(self._predicates.values(), key=repr), [], [], [])
        goals = [[self._atom(atom) for atom, positive in task.goal if positive is sign] for sign in (True, False)]
        self._features.set_problem(Problem(domain, sorted(thing.name for thing in task.objects), *goals))

    def embed(self, state: State) -> list[float]:
        atoms = [self._atoms.get(index) or self._learn(index) for index in self._task.fluents(state)]
        return self._features.embed(WlState(self._static + atoms))

    def _learn(self, index: int) -> Atom:
        atom = self._atoms[index] = self._atom(self._task.fluent(index))
        return atom

    def _atom(self, atom) -> Atom:
        return Atom(self._predicates[atom.predicate], list(atom.objects))


@dataclass
class Measurement:
    """Seconds by encoder over all problems of a domain, number of states, and whether all vectors were equal."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    states: int = 0
    parents: int = 0
    equal: bool = True

    def microseconds(self, kind: str) -> float:
        return 1e6 * self.seconds[kind] / max(self.states, 1)

    def ratio(self, kind: str) -> float:
        return self.seconds["wlplan"] / self.seconds[kind]


def walk(task: Task, steps: int, seed: int) -> tuple[list[State], list[Sequence[Successor]]]:
    """Return the states of a random walk, and the successors of each."""
    rng = random.Random(seed)
    states, choices = [], []
    state = task.init
    for _ in range(steps):
        successors = one_step(task, state)
        if not successors:
            break
        states.append(state)
        choices.append(successors)
        state = rng.choice(successors).state
    return states, choices


def measure(encoder: WLEncoder, task: Task, steps: int, passes: int, found: Measurement) -> None:
    states, choices = walk(task, steps, seed=0)
    successors = [candidate.state for choice in choices for candidate in choice]
    wlplan = CachingWlplan(encoder, task)
    encoders: dict[str, Callable[[], list]] = {
        "wlplan": lambda: [wlplan.embed(state) for state in successors],
        "plain": lambda: [encoder.embed(task, successors)],
        "incremental": lambda: [encoder.embed_candidates(task, states, choices)],
        "incremental_by_state": lambda: [
            encoder.embed_candidates(task, [state], [choice]) for state, choice in zip(states, choices, strict=True)
        ],
    }
    rows = {kind: np.vstack(embed()) for kind, embed in encoders.items()}  # warm-up
    found.equal &= all(np.array_equal(rows["wlplan"], others) for others in rows.values())
    found.states += len(successors)
    found.parents += len(states)
    for kind, embed in encoders.items():
        found.seconds[kind] += min(timed(embed)[1] for _ in range(passes))


def scores_of(domain: str, found: Measurement) -> Iterator[Score]:
    """Microseconds per state of every encoder, and the speedup over wlplan."""
    for kind in KINDS:
        figures = {"microseconds": found.microseconds(kind)}
        if kind != "wlplan":
            figures["wlplan_ratio"] = found.ratio(kind)
        for metric, value in figures.items():
            yield Score(
                method="wl",
                variant=kind,
                domain=domain,
                suite=SUITE,
                split=SPLIT,
                metric=metric,
                value=value,
                n=found.states,
                note=note("wlplan"),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_csv(parser)
    parser.add_argument("--domains", default="blocksworld,gripper,logistics,visitall")
    parser.add_argument("--problems", type=int, default=10, help="extrapolation problems of each domain")
    parser.add_argument("--steps", type=int, default=60, help="length of each random walk")
    parser.add_argument("--passes", type=int, default=7, help="how often everything is measured; the best counts")
    options = parser.parse_args()
    for name in ("problems", "steps", "passes"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; expected at least 1")

    suite = sgp.load_suite(SUITE)
    rows: dict[str, Measurement] = {}
    for domain in options.domains.split(","):
        train = load_training_data(suite, domain).train
        encoder = WLEncoder.fit(WLConfig(), [(each.task, each.states) for each in train])
        problems = suite.problems(domain, SPLIT)
        chosen = problems[:: max(1, len(problems) // options.problems)][: options.problems]
        rows[domain] = Measurement()
        for problem in track(chosen, domain):
            measure(encoder, Task(problem), options.steps, options.passes, rows[domain])

    table = Table("domain", "states", "a parent", *(f"{kind.replace('_', ' ')}, µs" for kind in KINDS))
    for kind in KINDS[1:]:
        table.add_column(f"wlplan / {kind.replace('_', ' ')}")
    for domain, found in rows.items():
        table.add_row(
            domain,
            str(found.states),
            f"{found.states / max(found.parents, 1):.1f}",
            *(f"{found.microseconds(kind):.2f}" for kind in KINDS),
            *(f"{found.ratio(kind):.1f}" for kind in KINDS[1:]),
        )
    same = all(found.equal for found in rows.values())
    write(options.csv, (score for domain, found in rows.items() for score in scores_of(domain, found)))
    console = Console(width=140)
    console.print(table)
    console.print(f"vectors {'the same' if same else 'DIFFER'}")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
