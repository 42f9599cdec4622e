"""Compilation of kernels by numba; they take batches, because a call alone costs microseconds.

Machine code is kept on disk by the sources of all kernels: one that calls another's holds that one's code, too.
"""

from __future__ import annotations

import glob
import importlib.util
import logging
import os
import sys
import warnings
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
    """Compiles on the first call and keeps the machine code on disk, or in memory where no folder can be written."""
    dispatcher = numba.njit(nogil=True)(function)
    _keep(dispatcher)
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
        _keep(function)


def _keep(dispatcher: Any) -> None:
    """What numba's `enable_caching` does, with the cache of the house."""
    try:
        dispatcher._cache = _Cache(dispatcher.py_func)
    except RuntimeError:
        warnings.warn(
            f"no folder for numba's cache can be written, so {dispatcher.__name__} is compiled again in every process; "
            "set NUMBA_CACHE_DIR to a writable folder",
            stacklevel=4,
        )


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


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = [_Provided, _InTree, _UserWide]  # noqa: RUF012  numba declares it so


class _Files(caching.IndexDataCacheFile):
    """An index and a file of machine code for each signature, which two processes may write at once.

    numba numbers the files, so that two processes that compile two signatures give both the same number.
    """

    def __init__(self, folder: str, name: str, stamp: Hashable, stale: str):
        super().__init__(folder, name, stamp)
        self._base, self._stale = name, stale

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
    """Machine code of one function. Raises RuntimeError where no folder can be written."""

    _impl_class = _Implementation
    _told = False

    def __init__(self, function: Any):
        super().__init__(function)
        name, locator = self._impl.filename_base, self._impl.locator
        stale = name.partition(f"-{locator.get_disambiguator()}")[0] + "-"
        self._cache_file = _Files(self._cache_path, name, locator.get_source_stamp(), stale)

    def load_overload(self, *arguments: Any) -> Any:
        """The machine code, or None where it is to be compiled, which is told once a process."""
        found = super().load_overload(*arguments)
        if found is None and not _Cache._told:
            _Cache._told = True
            logger.warning("compiling kernels, once for this version of the package; this takes a while")
        return found


class Kept(NamedTuple):
    """Where machine code is kept, what it depends on (sources, library, processor), and whether there is some."""

    folder: Path
    stamp: str
    some: bool


def kept_kernels() -> Kept | None:
    """Where this module's machine code is kept; None where no folder can be written."""
    cache = mix._cache  # type: ignore[attr-defined]  # of numba's dispatcher
    if not isinstance(cache, _Cache):
        return None
    of = (sources_sha256(_HOUSE), numba.__version__, *sys.version_info, llvmlite.binding.get_host_cpu_name())
    some = os.path.exists(cache._cache_file._index_path)
    return Kept(Path(cache.cache_path), sha256(repr(of).encode()).hexdigest()[:16], some)


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
