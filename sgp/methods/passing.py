"""What methods share that pass through planners: what may be learned from, and which planner a run keeps."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from sgp.datasets.runs import RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.errors import ConfigurationError
from sgp.methods.contract import Selectable, Snapshot
from sgp.planning.task import Task
from sgp.progress import progress


def require_readable(data: Demonstrations, refuses: Callable[[Task], str | None]) -> None:
    """Raises ConfigurationError for a problem that a model cannot read, to train on or to validate on."""
    for each in (*data.train, *data.validation):
        refusal = refuses(each.task)
        if refusal is not None:
            raise ConfigurationError(
                f"{each.task.name} cannot be trained on: {refusal}; leave it out of the suite where that cannot be"
            )


def keep_one(
    method: Selectable,
    training: Any,
    epochs: int,
    data: Demonstrations,
    draft: RunDraft,
    which: Literal["last", "least loss"],
) -> None:
    """Trains all epochs, at least one, and writes one of their planners into the draft's folder.

    Of equal losses it is the first. The seconds stand beside it, by the clock and of the processor.
    """
    started, worked = time.perf_counter(), time.process_time()
    title = f"train {data.domain} {draft.key.variant} seed {draft.key.seed}"
    kept: Snapshot | None = None
    with tempfile.TemporaryDirectory() as folder, progress(title, epochs) as bar:
        for snapshot in method.snapshots(training, data, Path(folder), draft.key.seed, draft.device):
            if kept is None or which == "last" or snapshot.loss < kept.loss:
                kept = snapshot
            bar.advance()
    assert kept is not None, "a training has at least one epoch"
    kept.save(draft)
    draft.facts.update(
        seconds=round(time.perf_counter() - started, 3), processor_seconds=round(time.process_time() - worked, 3)
    )
