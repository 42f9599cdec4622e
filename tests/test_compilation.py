from __future__ import annotations

import warnings

import pytest

from sgp import compilation


def test_kernels_compile_in_memory_where_no_cache_can_be_written(monkeypatch):
    real = compilation.numba.njit

    def njit(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(compilation.numba, "njit", njit)

    def double(value):
        return 2 * value

    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a writable folder"):
        assert compilation.compiled(double)(4) == 8
    monkeypatch.setattr(compilation.numba, "njit", real)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compilation.compiled(double)(4) == 8
