"""What methods share that pass through planners: what may be learned from, and which planner a run keeps."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from sgp.datasets.folders import own_folder, whole_folder
from sgp.datasets.runs import RunDraft, library_versions
from sgp.datasets.store import home
from sgp.datasets.training_data import Demonstrations, Transitions
from sgp.errors import ConfigurationError
from sgp.files import read_json, write_json
from sgp.methods.contract import Snapshot
from sgp.models.device import Device
from sgp.planning.task import Task
from sgp.progress import progress
from sgp.training.checkpoint import identify

logger = logging.getLogger(__name__)
_FACTS = "facts.json"  # beside a planner that is kept: what its run will tell


def require_readable(data: Demonstrations, refuses: Callable[[Task], str | None]) -> None:
    """Raises ConfigurationError for a problem that a model cannot read, to train on or to validate on.

    It tells the one of the most objects, which says how many a bound on them has to be.
    """
    for each in sorted((*data.train, *data.validation), key=lambda each: -len(each.task.objects)):
        refusal = refuses(each.task)
        if refusal is not None:
            raise ConfigurationError(
                f"{each.task.name} cannot be trained on: {refusal}; leave it out of the suite where that cannot be"
            )


@dataclass(frozen=True)
class _Passed:
    """How far a training is: planners passed through, the least loss among them, and its seconds so far."""

    planners: int = 0
    least: float = math.inf
    seconds: float = 0.0
    processor_seconds: float = 0.0


class _Passing(Protocol):
    @property
    def libraries(self) -> Sequence[str]: ...

    def snapshots(
        self, training: Any, data: Any, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]: ...


def keep_one(
    method: _Passing,
    training: Any,
    epochs: int,
    data: Demonstrations | Transitions,
    draft: RunDraft,
    which: Literal["last", "least loss"],
) -> None:
    """Trains all epochs, at least one, and writes one of their planners into the draft's folder.

    Of equal losses it is the first. The seconds stand beside it, by the clock and of the processor. What was
    interrupted goes on after its last epoch when the same is trained again: `SGP_HOME/training` keeps it until then.
    """
    versions = library_versions(method.libraries)
    key = draft.key
    of = (key.method, asdict(training), data.sha256, key.seed, which, draft.device, sorted(versions.items()))
    folder = home() / "training" / identify(of)[:16]
    best, so_far = folder / "planner" / "best", folder / "passed.json"
    with own_folder(folder), progress(f"train {data.domain} {key.variant} seed {key.seed}", epochs) as bar:
        passed = _Passed(**read_json(so_far)) if so_far.exists() else _Passed()
        if passed.planners:
            logger.info("going on after epoch %d, which %s keeps", passed.planners, folder)
        bar.advance(passed.planners)
        started, worked = time.perf_counter() - passed.seconds, time.process_time() - passed.processor_seconds
        for snapshot in method.snapshots(training, data, folder / "epochs", key.seed, draft.device, passed.planners):
            least = min(passed.least, snapshot.loss)
            if passed.planners == 0 or which == "last" or least < passed.least:
                with whole_folder(best) as kept:
                    snapshot.save(kept_draft := replace(draft, folder=kept, facts={}, check={}))
                    write_json(kept / _FACTS, {"facts": kept_draft.facts, "check": kept_draft.check})
            seconds = round(time.perf_counter() - started, 3), round(time.process_time() - worked, 3)
            passed = _Passed(passed.planners + 1, least, *seconds)
            write_json(so_far, asdict(passed))
            bar.advance()
        told = read_json(best / _FACTS)
        for path in best.iterdir():
            if path.name != _FACTS:
                shutil.copyfile(path, draft.folder / path.name)
        draft.check = told["check"]
        draft.facts.update(told["facts"], seconds=passed.seconds, processor_seconds=passed.processor_seconds)
        shutil.rmtree(folder)
