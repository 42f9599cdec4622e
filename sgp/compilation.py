"""Compilation of kernels by numba, saved on disk once for each version of the sources.

Numba checks the file of a function alone, but a kernel holds the code of those that it calls. So machine code is saved
in a folder named after all sources of kernels: in `NUMBA_CACHE_DIR`, beside the package, in the user's folder of caches
or below `TMPDIR`, the first that can be written. Kernels take batches, because a call alone costs microseconds.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
import numpy as np
from filelock import FileLock
from numba.core import caching
from numpy.typing import NDArray
from platformdirs import user_cache_path

logger = logging.getLogger(__name__)
_config: Any = numba.config  # which has no types

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]
_DEFINES_KERNELS = (b"compilation import", b"numba")  # what a file has in it that defines kernels
_VERSIONS = 3  # of the sources, whose machine code stays in a folder


def compiled(function: Function) -> Function:
    """Compiles on the first call and saves the machine code, or keeps it in memory if no folder can be written."""
    dispatcher = numba.njit(nogil=True)(function)
    save_compiled(dispatcher)
    return cast(Function, dispatcher)


def inlined(function: Function) -> Function:
    """Compiles a part of compiled functions into each of them; it has no machine code of its own.

    A call hands over every array as seven words or more and counts a reference to it: where a dozen calls with all
    arrays of a graph did little each, they made a kernel a fifth slower.
    """
    return cast(Function, numba.njit(inline="always", nogil=True)(function))


def save_compiled(*dispatchers: Any) -> None:
    """Saves the machine code of functions of numba, also of another library that compiles them in every process."""
    for dispatcher in dispatchers:
        folder = kernel_folder(dispatcher.py_func.__module__.partition(".")[0])
        if folder is not None:
            with contextlib.suppress(RuntimeError):  # the function stands in no file
                dispatcher._cache = _Cache(dispatcher.py_func, folder)


@lru_cache
def sources_sha256(package: str) -> str:
    """Hash of all files of a package that define kernels. Empty for one that is no package."""
    found = importlib.util.find_spec(package) if package != "__main__" else None
    digest = sha256()
    for folder in (found and found.submodule_search_locations) or ():
        for file in sorted(Path(folder).rglob("*.py")):
            source = file.read_bytes()
            if any(words in source for words in _DEFINES_KERNELS):
                digest.update(f"{file.relative_to(folder)} {sha256(source).hexdigest()}\n".encode())
    return digest.hexdigest()


@lru_cache
def kernel_folder(package: str = _PACKAGE) -> Path | None:
    """The folder for the machine code of a package, by its sources and ours; None where none can be written."""
    versions = (*map(sources_sha256, (_PACKAGE, package)), numba.__version__, *sys.version_info)
    name = sha256(repr((*versions, llvmlite.binding.get_host_cpu_name())).encode()).hexdigest()[:16]
    beside = Path(__file__).parent / "__pycache__" / "kernels"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    temporary = Path(tempfile.gettempdir()) / f"{_PACKAGE}-kernels-{os.geteuid()}"
    for base in [Path(chosen).absolute() / _PACKAGE] if chosen else [beside, *_user_caches(), temporary]:
        with contextlib.suppress(OSError):
            folder = _opened(base, name, beside, private=base == temporary)
            if not chosen and base != beside:  # then libraries with kernels find no place beside themselves either
                _config.CACHE_DIR = str(folder)
            return folder
    logger.warning(
        "compiling kernels, which takes a while in every process, because no folder for their machine code can be "
        "written; set NUMBA_CACHE_DIR to one that can"
    )
    return None


def _user_caches() -> Iterator[Path]:
    """The user's folder for machine code; none for a user without a home."""
    with contextlib.suppress(RuntimeError):
        yield user_cache_path(_PACKAGE).expanduser() / "kernels"


def _opened(base: Path, name: str, beside: Path, private: bool) -> Path:
    """A folder that can be written; it begins with what was compiled beside a package that cannot be written any more.

    Raises OSError where it cannot be written, or where others could write to it though it is to be `private`.
    """
    base.mkdir(mode=0o700 if private else 0o777, parents=not private, exist_ok=True)
    found = base.lstat()
    if private and (not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise PermissionError(f"{base} is no folder of this user alone")
    folder = base / name
    with FileLock(base / "lock"):
        if not folder.exists():
            older = sorted((path for path in base.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
            for stale in older[: 1 - _VERSIONS]:
                shutil.rmtree(stale, ignore_errors=True)
            folder.mkdir()
            for file in (beside / name).rglob("*.nb?"):
                target = folder / file.relative_to(beside / name)
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(file, target)
    tempfile.TemporaryFile(dir=folder).close()
    return folder


class _Cache(caching.FunctionCache):
    """Numba's cache of one function, in a folder; says once that kernels are compiled, and survives a full disk."""

    _reported = _unsaved = False  # by this process

    def __init__(self, function: Any, folder: Path):
        before, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
        try:
            super().__init__(function)
        finally:
            _config.CACHE_DIR = before
        self._folder = folder

    def load_overload(self, *arguments: Any) -> Any:
        """The machine code, or None where it is to be compiled."""
        found = super().load_overload(*arguments)
        if found is None and not _Cache._reported:
            _Cache._reported = True
            logger.warning(
                "compiling kernels, once for this version of the package, which takes a while; they are saved in %s "
                "(NUMBA_CACHE_DIR chooses another folder)",
                self._folder,
            )
        return found

    def save_overload(self, *arguments: Any) -> None:
        """Saves the machine code, one process at a time: numba numbers files by what it reads in the index."""
        try:
            with FileLock(self._folder / "lock"):
                super().save_overload(*arguments)
        except OSError as error:
            if not _Cache._unsaved:
                _Cache._unsaved = True
                logger.warning(
                    "%s: %s, so kernels are compiled again in every process; free some space, or set NUMBA_CACHE_DIR "
                    "to another folder",
                    self._folder,
                    error.strerror,
                )


Number = TypeVar("Number", bound=np.generic)


@compiled
def grow(values: NDArray[Number]) -> NDArray[Number]:
    """A copy with room for twice as many values or rows."""
    grown = np.empty((2 * len(values),) + values.shape[1:], values.dtype)  # noqa: RUF005  numba unpacks no tuples here
    grown[: len(values)] = values
    return grown


@compiled
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: a hash of 64 bits that loses none."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
