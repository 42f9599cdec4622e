"""Compilation of kernels by numba; they take batches, because a call alone costs microseconds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compiles on the first call and keeps the machine code on disk, or in memory where no folder can be written."""
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        warnings.warn(
            f"no folder for numba's cache can be written, so {function.__name__} is compiled again in every process; "
            "set NUMBA_CACHE_DIR to a writable folder",
            stacklevel=2,
        )
        return cast(Function, numba.njit(nogil=True)(function))
