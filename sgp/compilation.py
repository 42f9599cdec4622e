"""Compilation of kernels by numba; they take batches, because a call alone costs microseconds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compiles on the first call and keeps the machine code on disk, or in memory where no folder can be written."""
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        _warn(function.__name__)
        return cast(Function, numba.njit(nogil=True)(function))


def inlined(function: Function) -> Function:
    """Compiles a part of compiled functions into each of them, as if it stood there; it keeps no machine code itself.

    A call hands over every array as seven words or more and counts a reference to it: where a dozen calls with all
    arrays of a graph did little each, they made a kernel a fifth slower.
    """
    return cast(Function, numba.njit(inline="always", nogil=True)(function))


def keep_compiled(*functions: Any) -> None:
    """Has another library's functions of numba, which it compiles in every process, keep their machine code on disk."""
    for function in functions:
        try:
            function.enable_caching()
        except RuntimeError:
            _warn(function.__name__)


def _warn(name: str) -> None:
    warnings.warn(
        f"no folder for numba's cache can be written, so {name} is compiled again in every process; "
        "set NUMBA_CACHE_DIR to a writable folder",
        stacklevel=3,
    )


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
