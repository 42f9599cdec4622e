"""The first work of a version of the package on a machine: its kernels are compiled, by one process at a time."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path

from sgp.api import configured
from sgp.compilation import Kept, kept_kernels
from sgp.datasets.folders import locked
from sgp.datasets.runs import Origin, new_run, open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import learning_texts
from sgp.methods.fitting import shipped_folders
from sgp.planning.policy import one_of_each, one_step
from sgp.planning.subject import parted_variant
from sgp.planning.task import Task

# A second of training, which plans to validate, with what the planners of the package differ in.
SMALL = {
    "labels.states": "60",
    "labels.space": "3000",
    "representatives": "true",
    "embedding.passed_atoms": "true",
}
_READY = "kernels-ready"
_TRIED: list[bool] = []  # by this process


def are_compiled() -> bool:
    """Whether `compile_kernels` was done here by the sources of this version, or tried by this process."""
    kept = kept_kernels()
    return bool(_TRIED) or (kept.some and any((folder / _ready(kept)).exists() for folder in kept.folders))


def compile_kernels() -> None:
    """Compiles what the planners of the package plan and train with, and saves it; nothing where that was done before.

    Other processes wait meanwhile. Where no folder can be written, each process compiles for itself. Kernels of other
    methods' encoders are compiled when they are used.
    """
    kept = kept_kernels()
    folder = kept.folders[0]
    with locked(folder) if kept.writable else nullcontext():
        if are_compiled():
            return
        _TRIED.append(True)
        _train()
        if kept.writable:
            with suppress(OSError):  # a full disk: the next process compiles what could not be saved
                for stale in folder.glob(f"{_READY}-*"):
                    stale.unlink()
                (folder / _ready(kept)).touch()


def _ready(kept: Kept) -> str:
    return f"{_READY}-{kept.stamp}"


def _train() -> None:
    """The planner of the package that learned from least anew, with less to learn."""
    run = min(map(open_run, shipped_folders()), key=lambda run: run.record["data"]["transitions"])
    key, task = run.key, Task(run.check_problem)
    learner, _, config = configured(key.method, parted_variant(key.variant)[0], SMALL)
    data = learning_texts(learner.learns_from, load_suite(key.suite), [key.domain]).replayed()
    origin = Origin({}, data.domains, data.facts, "cpu", ())
    with tempfile.TemporaryDirectory() as place, new_run(key, origin, Path(place) / "run") as draft:
        learner.train(config, data, draft)
    one_of_each(task, task.init)
    lifted = Task(run.check_problem, "lifted")
    one_step(lifted, lifted.init)
