"""Folders that are written whole: a reader finds the old folder or the new one, and writers wait for each other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

LOCKS = ".locks"  # the folder beside a folder that holds its locks


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A new folder that replaces `target` when the block ends without an error; else nothing is changed."""
    with draft_folder(target.parent, target.name) as draft:
        yield draft
        put_in_place(draft, target)


@contextmanager
def draft_folder(parent: Path, name: str) -> Iterator[Path]:
    """A new hidden folder in `parent` for a folder `name`, removed at the end; one writer at a time."""
    draft = parent / f".{name}.draft"
    with locked(parent / f"{name}.draft"):  # not the draft's own lock, which readers of the draft may take
        shutil.rmtree(draft, ignore_errors=True)  # left by a process that was killed
        draft.mkdir()
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def put_in_place(draft: Path, target: Path) -> None:
    """Rename a folder to `target`, in place of a folder of this name."""
    replaced = target.parent / f".{target.name}.replaced"
    with locked(target):
        shutil.rmtree(replaced, ignore_errors=True)
        if target.exists():
            os.replace(target, replaced)
        os.replace(draft, target)
        shutil.rmtree(replaced, ignore_errors=True)


def is_lockable(folder: Path) -> bool:
    """Whether somebody has written this folder through this module, so that a writer may be at work."""
    return (folder.parent / LOCKS / folder.name).is_file()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Exclude other processes and threads from blocks of the same folder, which need not exist; not to be nested."""
    file = folder.parent / LOCKS / folder.name
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file):
        yield


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Make a folder in which this process alone works; it waits for another that does."""
    with locked(folder):
        folder.mkdir(exist_ok=True)
        yield
