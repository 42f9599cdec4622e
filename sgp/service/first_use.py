"""Compilation of the kernels, once for each version of the package on a machine, by one process at a time."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path

from sgp.api import configured
from sgp.compilation import kernel_folder
from sgp.datasets.folders import locked
from sgp.datasets.runs import Origin, new_run, open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import learning_texts
from sgp.methods.loading import shipped_folders
from sgp.planning.policy import one_of_each, one_step
from sgp.planning.subject import Variant
from sgp.planning.task import Task

# A second of training and planning with the settings in which the package's planners differ.
SMALL = {"labels.states": "60", "labels.space": "3000", "representatives": "true", "embedding.passed_atoms": "true"}
_READY = "kernels-ready"
_TRIED: list[bool] = []  # by this process


def are_compiled() -> bool:
    """Whether the kernels of this version are compiled, or this process has started to compile them."""
    folder = kernel_folder()
    return bool(_TRIED) or (folder is not None and (folder / _READY).exists())


def compile_kernels() -> None:
    """Compile and save the kernels that the package's planners need, unless that was done before."""
    folder = kernel_folder()
    with nullcontext() if folder is None else locked(folder):
        if are_compiled():
            return
        _TRIED.append(True)
        _train()
        if folder is not None:
            with suppress(OSError):  # a full disk: the next process compiles what could not be saved
                (folder / _READY).touch()


def _train() -> None:
    """Train the package's planner with the fewest transitions again, on less data."""
    run = min(map(open_run, shipped_folders()), key=lambda run: run.record["data"]["transitions"])
    key, task = run.key, Task(run.check_problem)
    learner, _, config = configured(key.method, Variant.parse(key.variant).name, SMALL)
    data = learning_texts(learner.learns_from, load_suite(key.suite), [key.domain]).replayed()
    origin = Origin({}, data.domains, data.facts, "cpu", ())
    with tempfile.TemporaryDirectory() as place, new_run(key, origin, Path(place) / "run") as draft:
        learner.train(config, data, draft)
    one_of_each(task, task.init)
    lifted = Task(run.check_problem, "lifted")
    one_step(lifted, lifted.init)
