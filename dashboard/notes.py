"""Notes on the steps of rollouts: stored on this machine, shown to all who open the rollout in its dashboard."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from sgp.datasets.store import home
from sgp.errors import InputError, StoreError
from sgp.files import read_json, write_json

LONGEST = 1000  # characters


def file_of(rollout: str) -> Path:
    """The file of the notes on a rollout, by the `id` in the player's data."""
    return home() / "notes" / f"{sha256(rollout.encode()).hexdigest()[:16]}.json"


def notes_on(rollout: str) -> dict[str, str]:
    """The notes on a rollout by place, from 0. Raises StoreError for a damaged file."""
    file = file_of(rollout)
    if not file.is_file():
        return {}
    found = read_json(file)
    if not isinstance(found, Mapping) or not all(isinstance(each, str) for each in found.values()):
        raise StoreError(f"{file} has no notes by step; delete the file")
    return dict(found)


def store_note(rollout: str, place: int, text: str) -> None:
    """Store the note on a place; an empty one is deleted. Raises InputError for a note that is too long."""
    if len(text) > LONGEST:
        raise InputError(f"this note has {len(text)} characters; write at most {LONGEST}")
    notes = {name: each for name, each in {**notes_on(rollout), str(place): text}.items() if each}
    write_json(file_of(rollout), notes)
