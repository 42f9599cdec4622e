"""Folders of the bundled data, of runs, imported suites and caches; replacement of whole folders, with locks."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from sgp.errors import StoreError
from sgp.installed import bundled


def data_folder() -> Path:
    """Folder of the bundled data. Raises StoreError if it is missing."""
    return bundled("data")


def home() -> Path:
    """Folder of runs, imported suites and caches: `SGP_HOME`, or else the data folder of the user's platform."""
    chosen = os.environ.get("SGP_HOME", "")
    try:
        if chosen:
            return Path(chosen).expanduser().resolve()
        return platformdirs.user_data_path("sgp", appauthor=False).expanduser()  # older releases leave the '~'
    except RuntimeError as error:  # if neither HOME nor the user database names a home
        raise StoreError(
            f"user {os.getuid()} has no home, so there is no folder for runs and caches; set SGP_HOME or HOME to one"
        ) from error


def cache_folder() -> Path:
    """Folder of cached results, which can be recomputed."""
    return home() / "cache"


logger = logging.getLogger(__name__)

LOCKS = ".locks"  # name of the folder of lock files, beside the locked folders
_DRAFT = ".draft"  # end of the names of new folders and of their locks
_PATIENCE = 2.0  # seconds to wait for a lock before a warning


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder, which replaces `target` if the block ends without an error."""
    with draft_folder(target.parent, target.name) as draft:
        yield draft
        put_in_place(draft, target)


@contextmanager
def draft_folder(parent: Path, name: str) -> Iterator[Path]:
    """Yield a new hidden folder in `parent`, removed at the end; writers of the same `name` take turns."""
    draft = parent / f".{name}{_DRAFT}"
    with locked(parent / f"{name}{_DRAFT}"):  # not the draft's own lock, which readers of the draft may take
        shutil.rmtree(draft, ignore_errors=True)  # left over from a killed process
        draft.mkdir()
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def put_in_place(draft: Path, target: Path) -> None:
    """Rename a folder to `target`, replacing an existing folder."""
    replaced = _replaced(target)
    with locked(target):
        if target.exists():
            shutil.rmtree(replaced, ignore_errors=True)
            os.replace(target, replaced)
        os.replace(draft, target)
        shutil.rmtree(replaced, ignore_errors=True)


def restore(target: Path) -> None:
    """Put back the old folder of a replacement whose process was killed between its two renames."""
    replaced = _replaced(target)
    if replaced.is_dir() and not target.exists():
        with locked(target):
            if replaced.is_dir() and not target.exists():  # no other process has finished meanwhile
                os.replace(replaced, target)


def restore_all(parent: Path, folders: str = "") -> None:
    """`restore` in all folders below `parent` that match a glob pattern, such as `*/*/`."""
    for replaced in parent.glob(f"{folders}.*.replaced"):
        restore(replaced.with_name(replaced.name.removeprefix(".").removesuffix(".replaced")))


def _replaced(target: Path) -> Path:
    """Where the old folder is during a replacement."""
    return target.parent / f".{target.name}.replaced"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which need not exist, against other processes and threads; do not nest."""
    file = folder.parent / LOCKS / folder.name
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        logger.warning("waiting for another process that writes %s", folder.with_name(folder.name.removesuffix(_DRAFT)))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
