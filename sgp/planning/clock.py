"""Limits of the work that runs now, checked wherever it can take long.

`Clock.within` sets the limits of a piece of work. Below it, Python calls `check_limits`, which raises once a limit is
reached; compiled searches read `stop_flag` between two steps and leave early, and their callers check the limits
afterwards. A thread of the clock reads time and memory, so that a check costs next to nothing.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sgp.memory import fair_share, resident_memory
from sgp.workers import worker_count

StopFlag = NDArray[np.bool_]
Item = TypeVar("Item")

_PERIOD = 0.05  # seconds between two readings of time and memory
_CHECKED = 256  # items between two checks


class LimitReached(Exception):
    """A piece of work was given up."""


class OutOfTime(LimitReached):
    """The work took more seconds than it may."""


class OutOfMemory(LimitReached):
    """The process holds more memory than it may, or the work would need more than any process has."""


@dataclass
class _Work:
    """A piece of work, its deadline, and the limit that it reached."""

    clock: Clock
    deadline: float
    reached: type[LimitReached] | None = None
    stop: StopFlag = field(default_factory=lambda: np.zeros(1, np.bool_))


_CURRENT: ContextVar[_Work | None] = ContextVar("current work", default=None)
_NEVER = np.zeros(1, np.bool_)


class Clock:
    """Reads time and memory while pieces of work run, one after the other, each with seconds of its own.

    `memory` bounds the bytes that the process holds, `now` gives wall-clock or CPU seconds. A thread reads both from
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
        self._last = -math.inf  # when time and memory were read
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
        """Work that may take so many seconds. Raises LimitReached where it took more, or memory ran short."""
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
        """One reading of time and memory; tells the work that runs to stop where a limit is reached."""
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
    """Raises LimitReached where the work that runs now is over a limit."""
    work = _CURRENT.get()
    if work is not None and work.reached is not None:
        raise work.reached


def with_limit_checks(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with a check of the limits now and then. Raises LimitReached."""
    for place, item in enumerate(items):
        if place % _CHECKED == 0:
            check_limits()
        yield item


def stop_flag() -> StopFlag:
    """What compiled searches read [1]: true once they are to end. Check the limits after them."""
    work = _CURRENT.get()
    return _NEVER if work is None else work.stop


def clock_seconds() -> float:
    """Seconds of the clock that runs now, of which differences mean something; wall-clock seconds without one."""
    work = _CURRENT.get()
    return time.perf_counter() if work is None else work.clock.now()


def available_memory() -> float:
    """Bytes that the work that runs now may still take; without a clock, of the process's share of what is free."""
    work = _CURRENT.get()
    if work is None:
        return max(0, fair_share(worker_count()) - resident_memory())
    return max(0.0, work.clock.memory - work.clock.held())
