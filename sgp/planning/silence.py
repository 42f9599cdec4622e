"""Native libraries that print to standard output, silenced.

pymimir prints every atom while it grounds, wlplan reports its progress: both write past Python to file descriptor 1,
which would end up in the middle of `--json -` or of the last line that scripts read.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()  # descriptor 1 belongs to the whole process
_SILENCED = [False]
_LIBC = ctypes.CDLL(None)


@contextmanager
def native_output_silenced() -> Iterator[None]:
    """Sends what native code prints to standard output nowhere; reentrant, one thread at a time."""
    with _LOCK:
        if _SILENCED[0]:
            yield
            return
        sys.stdout.flush()
        _LIBC.fflush(None)
        saved = os.dup(1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        _SILENCED[0] = True
        try:
            yield
        finally:
            _SILENCED[0] = False
            _LIBC.fflush(None)
            os.dup2(saved, 1)
            os.close(saved)
            os.close(nowhere)
