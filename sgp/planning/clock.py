"""Time and memory limits of the running work.

`Clock.within` sets the limits. Python code calls `check_limits`, which raises once a limit is reached. Compiled
searches read `stop_flag` between steps and return early; their callers check the limits afterwards. A background thread
reads time and memory, so that checks are cheap.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

StopFlag = NDArray[np.bool_]
Item = TypeVar("Item")

SHARE = 0.8  # of the free memory; the rest is a reserve
_CGROUPS = Path("/sys/fs/cgroup")
# Control groups version 2 and 1: limit, usage, statistics file, and its field for the file cache.
_LIMITED = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)
_PERIOD = 0.05  # seconds between two readings of time and memory
_CHECKED = 256  # items between two checks


def resident_memory() -> int:
    """Resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def most_memory() -> int:
    """Peak resident memory of this process in bytes.

    `getrusage` is not used because its peak includes the parent process.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    (most,) = [line for line in lines if line.startswith("VmHWM:")]
    return 1024 * int(most.split()[1])


def free_memory(information: Path = Path("/proc/meminfo"), groups: Path = _CGROUPS) -> int:
    """Bytes that this process can still allocate without swapping and within its control groups."""
    fields = dict(line.split(":") for line in information.read_text(encoding="ascii").splitlines())
    free = 1024 * int(fields["MemAvailable"].split()[0])
    for names in _LIMITED:
        free = min([free, *_left_in_group(groups, *names)])
    return max(free, 0)


def _left_in_group(groups: Path, most: str, used: str, statistics: str, cached: str) -> list[int]:
    """Bytes left in the process's own control group; an empty list without a limit."""
    try:
        limit, taken = (groups / most).read_text(encoding="ascii").strip(), int((groups / used).read_text("ascii"))
        lines = (line.split() for line in (groups / statistics).read_text(encoding="ascii").splitlines())
        return [] if limit == "max" else [int(limit) - taken + sum(int(n) for name, n in lines if name == cached)]
    except OSError:
        return []


def fair_share(processes: int) -> int:
    """Memory limit in bytes of each of several parallel processes: resident memory plus a share of the free memory."""
    return resident_memory() + int(SHARE * free_memory() / processes)


def give_back() -> None:
    """Return freed memory to the operating system, which the C library would otherwise retain."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):  # a C library without it
        return


class LimitReached(Exception):
    """The work was stopped at a limit."""


class OutOfTime(LimitReached):
    """The work reached its time limit."""


class OutOfMemory(LimitReached):
    """The process reached its memory limit, or the work would need more than any process has."""


@dataclass
class _Work:
    """A unit of work, its deadline, and the limit that it reached."""

    clock: Clock
    deadline: float
    reached: type[LimitReached] | None = None
    stop: StopFlag = field(default_factory=lambda: np.zeros(1, np.bool_))


_CURRENT: ContextVar[_Work | None] = ContextVar("current work", default=None)
_NEVER = np.zeros(1, np.bool_)


class Clock:
    """A monitor of time and memory for consecutive units of work.

    `memory` bounds the bytes of the process. `now` returns wall-clock or CPU seconds. A thread reads both from
    `__enter__` to `__exit__`.
    """

    def __init__(
        self,
        memory: float = math.inf,
        now: Callable[[], float] = time.perf_counter,
        held: Callable[[], int] = resident_memory,
    ):
        self.memory, self.now, self.held = memory, now, held
        self._work: _Work | None = None
        self._last = -math.inf  # time of the last reading
        self._closed = threading.Event()

    def __enter__(self) -> Clock:
        threading.Thread(target=self._watch, name="sgp-clock", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(_PERIOD):
            self.read()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the enclosed work to so many seconds. Raises LimitReached for the time or the memory limit."""
        work = self._work = _Work(self, self.now() + seconds)
        token = _CURRENT.set(work)
        try:
            if self.now() - self._last >= _PERIOD:
                self.read()
                check_limits()
            yield
            if self.now() > work.deadline:
                raise OutOfTime
            check_limits()
        finally:
            self._work = None
            _CURRENT.reset(token)

    def read(self) -> None:
        """Read time and memory once, and stop the running work at a limit."""
        work = self._work
        if work is None or work.reached is not None:
            return
        self._last = self.now()
        if self._last > work.deadline:
            work.reached = OutOfTime
        elif self.held() > self.memory:
            work.reached = OutOfMemory
        work.stop[0] = work.reached is not None


def check_limits() -> None:
    """Raise LimitReached if the running work has reached a limit."""
    work = _CURRENT.get()
    if work is not None and work.reached is not None:
        raise work.reached


def with_limit_checks(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items with periodic limit checks. Raises LimitReached."""
    for place, item in enumerate(items):
        if place % _CHECKED == 0:
            check_limits()
        yield item


def stop_flag() -> StopFlag:
    """Return the flag [1] at which compiled searches stop. Check the limits after the search."""
    work = _CURRENT.get()
    return _NEVER if work is None else work.stop


def clock_seconds() -> float:
    """Return the seconds of the running clock, wall-clock seconds without one; only differences are meaningful."""
    work = _CURRENT.get()
    return time.perf_counter() if work is None else work.clock.now()
