"""Folders written whole: a reader finds the old one or the new one, and writers at once do not disturb each other."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
_CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A folder that takes the place of `target` when the block ends without an error; else nothing is changed."""
    with draft_folder(target.parent, target.name) as draft:
        yield draft
        put_in_place(draft, target)


@contextmanager
def draft_folder(parent: Path, name: str) -> Iterator[Path]:
    """A new folder `.NAME.*` in `parent`, removed at the end; those that killed processes left are removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    with locked(parent):  # else another process could take the new folder for one that was left
        _remove_left(parent, name)
        draft = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=parent))
        handle = _open(draft)
        fcntl.flock(handle, fcntl.LOCK_EX)  # until this process ends, however it ends
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        os.close(handle)


def put_in_place(draft: Path, target: Path) -> None:
    """Gives a folder the name of `target`; one that stands there gets the name of the draft in the same moment."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft.chmod(0o755)
    with locked(target.parent):
        if target.exists():
            _exchange(draft, target)
        else:
            draft.rename(target)


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Keeps all others out of this block with this folder; it waits for them. One process must not nest it.

    Gives the folder's handle.
    """
    handle = _open(folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # a process forked meanwhile has the handle, too
        os.close(handle)


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Makes a folder that this process alone works in; it waits for another that does, which may remove it."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder) as handle:
            if folder.exists() and os.path.samestat(os.fstat(handle), folder.stat()):
                yield
                return


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)


def _remove_left(parent: Path, name: str) -> None:
    """Removes drafts that no living process holds."""
    for left in parent.glob(f".{name}.*"):
        if not left.is_dir():
            continue
        try:
            handle = _open(left)
        except FileNotFoundError:  # its process has just removed it
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            pass  # it is being written
        finally:
            os.close(handle)


def _exchange(one: Path, other: Path) -> None:
    """Swaps the names of two folders in one step, or in three where the file system knows no such step."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None:
        if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
        if code not in _CANNOT_EXCHANGE:
            raise OSError(code, os.strerror(code), str(other))
    with tempfile.TemporaryDirectory(prefix=f".{other.name}.", dir=one.parent) as aside:
        other.rename(Path(aside, "before"))
        one.rename(other)
        Path(aside, "before").rename(one)
