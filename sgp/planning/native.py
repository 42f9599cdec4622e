"""Suppression of the output of native libraries."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()  # descriptor 1 is shared by the whole process
_LIBC = ctypes.CDLL(None)


@contextmanager
def native_output_silenced() -> Iterator[None]:
    """Discard output of native libraries such as wlplan to file descriptor 1, for one thread at a time."""
    with _LOCK, open(os.devnull, "wb") as nowhere:
        sys.stdout.flush()
        _LIBC.fflush(None)
        saved = os.dup(1)
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            _LIBC.fflush(None)
            os.dup2(saved, 1)
            os.close(saved)
