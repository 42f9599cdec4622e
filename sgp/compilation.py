"""Compilation of kernels by numba; they take batches, because a call alone costs microseconds.

Machine code is saved on disk by the sources of all kernels: one that calls another's holds that one's code, too. The
first of these folders that can be written has it: `NUMBA_CACHE_DIR`, beside the package, the user's folder of caches,
one below `TMPDIR`. What was compiled beforehand into one that cannot be written any more is read all the same.
"""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import itertools
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Hashable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import llvmlite.binding
import numba
import numpy as np
from numba.core import caching
from numpy.typing import NDArray

logger = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])

_HOUSE = __name__.partition(".")[0]
_SPEAKS_OF_KERNELS = (b"compilation import", b"numba")  # what a file has in it that defines kernels


def compiled(function: Function) -> Function:
    """Compiles on the first call and saves the machine code on disk, or in memory where no folder can be written."""
    dispatcher = numba.njit(nogil=True)(function)
    _save_on_disk(dispatcher)
    return cast(Function, dispatcher)


def inlined(function: Function) -> Function:
    """Compiles a part of compiled functions into each of them, as if it stood there; it keeps no machine code itself.

    A call hands over every array as seven words or more and counts a reference to it: where a dozen calls with all
    arrays of a graph did little each, they made a kernel a fifth slower.
    """
    return cast(Function, numba.njit(inline="always", nogil=True)(function))


def keep_compiled(*functions: Any) -> None:
    """Has another library's functions of numba, which it compiles in every process, keep their machine code on disk."""
    for function in functions:
        _save_on_disk(function)


def _save_on_disk(dispatcher: Any) -> None:
    """What numba's `enable_caching` does, with the cache of this package."""
    with contextlib.suppress(RuntimeError):  # the function stands in no file
        dispatcher._cache = _Cache(dispatcher.py_func)


@lru_cache
def sources_sha256(package: str) -> str:
    """Hash of all files of a package that define kernels. Empty for one that is no package."""
    found = importlib.util.find_spec(package) if package != "__main__" else None
    digest = sha256()
    for folder in (found and found.submodule_search_locations) or ():
        for file in sorted(Path(folder).rglob("*.py")):
            source = file.read_bytes()
            if any(words in source for words in _SPEAKS_OF_KERNELS):
                digest.update(f"{file.relative_to(folder)} {sha256(source).hexdigest()}\n".encode())
    return digest.hexdigest()


class _BySources(caching._SourceFileBackedLocatorMixin):
    """Names a function's files by the kernels of its package and of the house; numba looks at its own file alone."""

    def __init__(self, function: Any, file: str):
        super().__init__(function, file)  # type: ignore[call-arg]  # of numba's locator beside which this class stands
        packages = (_HOUSE, function.__module__.partition(".")[0])
        self._sources = sha256("".join(map(sources_sha256, packages)).encode()).hexdigest()[:16]

    def get_disambiguator(self) -> str:
        """The function's line and the sources."""
        return f"{super().get_disambiguator()}-{self._sources}"


class _Provided(_BySources, caching.UserProvidedCacheLocator):
    """In the folder that NUMBA_CACHE_DIR names."""


class _InTree(_BySources, caching.InTreeCacheLocator):
    """Beside the source."""


class _UserWide(_BySources, caching.UserWideCacheLocator):
    """In the user's folder of caches."""

    def ensure_cache_path(self) -> None:
        """Makes the folder. Raises OSError where it cannot be written, or where the user has no home."""
        if not os.path.isabs(self.get_cache_path()):  # numba would make a folder `~` in the working directory
            raise FileNotFoundError(self.get_cache_path())
        super().ensure_cache_path()


class _Temporary(_BySources, caching.InTreeCacheLocator):
    """In a folder for temporary files that nobody else can write, for machines where none of the others can be."""

    def __init__(self, function: Any, file: str):
        super().__init__(function, file)
        self._cache_path = os.path.join(_temporary_folder(), self.get_suitable_cache_subpath(file))

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """The locator, or None where there is no such folder."""
        try:
            return super().from_function(function, file)
        except OSError:
            return None

    def ensure_cache_path(self) -> None:
        """Makes the folder. Raises OSError where it cannot be written, or where others could have written to it."""
        folder = _temporary_folder()
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise PermissionError(f"{folder} is no folder of this user alone")
        super().ensure_cache_path()


class _Nowhere(_BySources, caching.InTreeCacheLocator):
    """Read beside the source, saved nowhere."""

    def ensure_cache_path(self) -> None:
        """Nothing is written."""


@lru_cache
def _temporary_folder() -> str:
    """The user's folder for machine code of these sources below `TMPDIR`. Raises OSError where that is missing."""
    name = f"{_HOUSE}-kernels-{os.geteuid()}-{sources_sha256(_HOUSE)[:16]}"
    return os.path.join(tempfile.gettempdir(), name)


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = [_Provided, _InTree, _UserWide, _Temporary, _Nowhere]  # noqa: RUF012  numba declares it so


caching.CacheImpl._locator_classes.append(_Temporary)  # libraries with kernels of their own find no other place either


class _Files(caching.IndexDataCacheFile):
    """An index and a file of machine code for each signature, which two processes may write at once.

    numba numbers the files, so that two processes that compile two signatures give both the same number. What is not
    found is looked for in `others`, folders that cannot be written.
    """

    def __init__(self, folder: str, name: str, stamp: Hashable, stale: str, others: list[str]):
        super().__init__(folder, name, stamp)
        self._base, self._stale = name, stale
        self._others = [caching.IndexDataCacheFile(other, name, stamp) for other in others]

    def load(self, key: Hashable) -> Any:
        """The machine code, None where there is none that can be read."""
        places: list[Any] = [super(), *self._others]
        for files in places:
            with contextlib.suppress(OSError):
                found = files.load(key)
                if found is not None:
                    return found
        return None

    @property
    def some(self) -> bool:
        """Whether there is an index."""
        return any(os.path.exists(files._index_path) for files in (self, *self._others))

    def save(self, key: Hashable, data: Any) -> None:
        """Keeps the machine code, then names it in the index; what older sources gave is removed."""
        if not os.path.exists(self._index_path):
            self._remove_stale()
        name = f"{self._base}.{sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})

    def _remove_stale(self) -> None:
        """A process of older sources that still runs compiles again: numba takes a missing file for none."""
        for path in map(Path, glob.glob(os.path.join(glob.escape(self._cache_path), f"{glob.escape(self._stale)}*"))):
            if path.suffix in (".nbi", ".nbc") and not path.name.startswith(self._base):
                path.unlink(missing_ok=True)


class _Cache(caching.FunctionCache):
    """Machine code of one function. Raises RuntimeError where that stands in no file."""

    _impl_class = _Implementation
    _reported = _unsaved = False  # by this process

    def __init__(self, function: Any):
        super().__init__(function)
        name, locator = self._impl.filename_base, self._impl.locator
        stale = name.partition(f"-{locator.get_disambiguator()}")[0] + "-"
        kinds: tuple[Any, ...] = (_Provided, _InTree, _UserWide)
        preferred = itertools.takewhile(lambda kind: not isinstance(locator, kind), kinds)
        others = [kind(function, locator._py_file).get_cache_path() for kind in preferred]
        # One that is not absolute is a setting that is empty, or the home of a user without one.
        self.folders = [self._cache_path, *filter(os.path.isabs, others)]
        self._cache_file = _Files(self._cache_path, name, locator.get_source_stamp(), stale, self.folders[1:])

    @property
    def writable(self) -> bool:
        """Whether the machine code can be saved."""
        return not isinstance(self._impl.locator, _Nowhere)

    def load_overload(self, *arguments: Any) -> Any:
        """The machine code, or None where it is to be compiled, which is reported once a process."""
        found = super().load_overload(*arguments)
        if found is None and not _Cache._reported:
            _Cache._reported = True
            if not self.writable:
                logger.warning(
                    "compiling kernels, which takes a while in every process, because no folder for their machine code "
                    "can be written; set NUMBA_CACHE_DIR to one that can"
                )
            elif isinstance(self._impl.locator, _Temporary):
                logger.warning(
                    "compiling kernels, once for this version of the package, which takes a while; they are saved in "
                    "%s because neither the package nor your folder of caches can be written (NUMBA_CACHE_DIR chooses "
                    "another folder)",
                    _temporary_folder(),
                )
            else:
                logger.warning("compiling kernels, once for this version of the package; this takes a while")
        return found

    def save_overload(self, *arguments: Any) -> None:
        """Saves the machine code; on a full disk it serves this process alone, which is reported once."""
        try:
            if self.writable:
                super().save_overload(*arguments)
        except OSError as error:
            if not _Cache._unsaved:
                _Cache._unsaved = True
                logger.warning(
                    "%s: %s, so kernels are compiled again in every process; free some space, or set "
                    "NUMBA_CACHE_DIR to another folder",
                    self._cache_path,
                    error.strerror,
                )


class Kept(NamedTuple):
    """Folders that machine code is read from, what it depends on (sources, library, processor), whether there is some.

    The first is the one to save it in, where `writable`.
    """

    folders: list[Path]
    stamp: str
    some: bool
    writable: bool


def kept_kernels() -> Kept:
    """Where this module's machine code is saved."""
    cache = mix._cache  # type: ignore[attr-defined]  # of numba's dispatcher
    of = (sources_sha256(_HOUSE), numba.__version__, *sys.version_info, llvmlite.binding.get_host_cpu_name())
    stamp = sha256(repr(of).encode()).hexdigest()[:16]
    return Kept([Path(folder) for folder in cache.folders], stamp, cache._cache_file.some, cache.writable)


Number = TypeVar("Number", bound=np.generic)


@compiled
def longer(values: NDArray[Number]) -> NDArray[Number]:
    """A copy with room for twice as many values."""
    grown = np.empty(2 * len(values), values.dtype)
    grown[: len(values)] = values
    return grown


@compiled
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: a hash of 64 bits that loses none."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
