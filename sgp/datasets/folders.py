"""Atomic replacement of folders, with one lock for each folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

LOCKS = ".locks"  # name of the folder of lock files, beside the locked folders


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder, which replaces `target` if the block ends without an error."""
    with draft_folder(target.parent, target.name) as draft:
        yield draft
        put_in_place(draft, target)


@contextmanager
def draft_folder(parent: Path, name: str) -> Iterator[Path]:
    """Yield a new hidden folder in `parent`, removed at the end; writers of the same `name` take turns."""
    draft = parent / f".{name}.draft"
    with locked(parent / f"{name}.draft"):  # not the draft's own lock, which readers of the draft may take
        shutil.rmtree(draft, ignore_errors=True)  # left over from a killed process
        draft.mkdir()
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def put_in_place(draft: Path, target: Path) -> None:
    """Rename a folder to `target`, replacing an existing folder."""
    replaced = target.parent / f".{target.name}.replaced"
    with locked(target):
        shutil.rmtree(replaced, ignore_errors=True)
        if target.exists():
            os.replace(target, replaced)
        os.replace(draft, target)
        shutil.rmtree(replaced, ignore_errors=True)


def is_lockable(folder: Path) -> bool:
    """Whether the folder has a lock file, so that a writer may be active."""
    return (folder.parent / LOCKS / folder.name).is_file()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which need not exist, against other processes and threads; do not nest."""
    file = folder.parent / LOCKS / folder.name
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file):
        yield


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Create a folder and hold its lock; wait while another process holds the lock."""
    with locked(folder):
        folder.mkdir(exist_ok=True)
        yield
