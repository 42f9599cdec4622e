"""The recorded rollouts that come with the package, as a list to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sgp.datasets.store import data_folder, home
from sgp.errors import SgpError
from sgp.planning.recorded import Recorded, read_recorded


@dataclass(frozen=True)
class Library:
    """Recorded rollouts in the order of their files, and a sentence for each file that cannot be read."""

    rollouts: tuple[Recorded, ...]
    damaged: tuple[str, ...]


def recorded_folder() -> Path:
    """Where the recorded rollouts lie; 'sgp record' makes them."""
    return data_folder() / "recorded"


def own_rollouts_folder() -> Path:
    """Where the dashboard looks for a user's own rollouts; `sgp evaluate --rollouts` writes them there."""
    return home() / "recorded"


def rollout_address(recorded: Recorded) -> dict[str, str]:
    """What names a rollout in the dashboard's address: domain, problem and model."""
    return {
        "domain": recorded.about.domain or "other",
        "problem": str(recorded.head.get("name", "unnamed")),
        "model": f"{recorded.about.model} ({recorded.head.get('outcome', '')})",
    }


def recorded_rollouts(*folders: Path | str) -> Library:
    """All rollouts in the JSONL files of the folders, the package's own where none is given; no folder, no rollouts."""
    rollouts: list[Recorded] = []
    damaged = []
    for file in [file for folder in folders or [recorded_folder()] for file in sorted(Path(folder).glob("*.jsonl"))]:
        try:
            rollouts += read_recorded(file)
        except SgpError as error:
            damaged.append(str(error))
    return Library(tuple(rollouts), tuple(damaged))
