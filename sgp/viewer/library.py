"""The recorded rollouts that come with the package, as a list to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sgp.datasets.store import data_folder
from sgp.errors import SgpError
from sgp.planning.recorded import Recorded, read_recorded

if TYPE_CHECKING:  # the dashboard opens without a learning library
    from sgp.datasets.runs import RunKey


@dataclass(frozen=True)
class Library:
    """Recorded rollouts in the order of their files, and a sentence for each file that cannot be read."""

    rollouts: tuple[Recorded, ...]
    damaged: tuple[str, ...]


def recorded_folder() -> Path:
    """Where the recorded rollouts lie; 'sgp record' makes them."""
    return data_folder() / "recorded"


def recorded_rollouts(folder: Path | str | None = None) -> Library:
    """All rollouts in the JSONL files of a folder, the package's own where none is given."""
    rollouts: list[Recorded] = []
    damaged = []
    for file in sorted(Path(folder or recorded_folder()).glob("*.jsonl")):
        try:
            rollouts += read_recorded(file)
        except SgpError as error:
            damaged.append(str(error))
    return Library(tuple(rollouts), tuple(damaged))


def recorded_of(run: RunKey) -> list[Path]:
    """The files of the package's own recorded rollouts that a run made."""
    made = (run.method, run.variant, run.domain, run.seed)
    found = [(each.source, each.about) for each in recorded_rollouts().rollouts]
    return [Path(source) for source, by in found if (by.method, by.variant, by.domain, by.seed) == made]
