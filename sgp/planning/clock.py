"""The limits of the work that runs now: whatever can take long looks at them, wherever it stands.

A clock is started around pieces of work. Below it, Python calls `look`, which raises once a limit is reached, and
compiled searches are handed `stop`, an array that they read between two steps and leave early where it says so; who
called them looks afterwards. A thread of the clock reads time and memory, so that looking costs next to nothing.
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
from sgp.workers import at_work

Flag = NDArray[np.bool_]
Item = TypeVar("Item")

_PERIOD = 0.05  # seconds between two readings of time and memory
_IDLE = 5.0  # seconds without a clock after which nothing reads any more
_OFTEN = 256  # things that are done between two looks


class LimitReached(Exception):
    """A piece of work was given up."""


class OutOfTime(LimitReached):
    """The work is over its seconds."""


class OutOfMemory(LimitReached):
    """The process holds more memory than it may, or the work would need more than any process has."""


@dataclass
class _Piece:
    """A piece of work, until when it may go on, and whether it was told to stop."""

    until: float
    room: Callable[[], float]  # bytes that may still be taken
    now: Callable[[], float]
    reached: type[LimitReached] | None = None
    stop: Flag = field(default_factory=lambda: np.zeros(1, np.bool_))


class Clock:
    """Reads time and memory while pieces of work run, one after the other, each with seconds of its own.

    `memory` bounds the bytes that the process holds, `now` says which seconds: of the wall, or of the processor. A
    thread reads it from `__enter__` to `__exit__`.
    """

    def __init__(
        self,
        memory: float = math.inf,
        now: Callable[[], float] = time.perf_counter,
        held: Callable[[], int] = resident_memory,
    ):
        self.memory = memory
        self.now, self._held = now, held
        self._piece: _Piece | None = None
        self._last = -math.inf  # when time and memory were read

    def __enter__(self) -> Clock:
        _watched(self)
        return self

    def __exit__(self, *_: object) -> None:
        with _LOCK:
            _OPEN.discard(self)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Work that may take so many seconds. Raises LimitReached where it took more, or memory ran short."""
        piece = self._piece = _Piece(self.now() + seconds, lambda: max(self.memory - self._held(), 0.0), self.now)
        token = _NOW.set(piece)
        try:
            if self.now() - self._last >= _PERIOD:
                self.read()
                look()
            yield
            if self.now() > piece.until:
                raise OutOfTime
            look()
        finally:
            self._piece = None
            _NOW.reset(token)

    def read(self) -> None:
        """One reading of time and memory; tells the work that runs to stop where a limit is reached."""
        piece = self._piece
        if piece is None or piece.reached is not None:
            return
        self._last = self.now()
        if self._last > piece.until:
            piece.reached = OutOfTime
        elif self._held() > self.memory:
            piece.reached = OutOfMemory
        piece.stop[0] = piece.reached is not None


_LOCK = threading.Lock()
_OPEN: set[Clock] = set()
_WATCHERS: list[threading.Thread] = []  # at most one that lives; starting one takes as long as a small problem


def _watched(clock: Clock) -> None:
    """Has the thread of this process read a clock; it ends some time after the last clock."""
    with _LOCK:
        _OPEN.add(clock)
        if not any(each.is_alive() for each in _WATCHERS):
            _WATCHERS[:] = [threading.Thread(target=_watch, name="sgp-clock", daemon=True)]
            _WATCHERS[0].start()


def _watch() -> None:
    idle = 0.0
    while True:
        time.sleep(_PERIOD)
        with _LOCK:
            clocks = list(_OPEN)
            idle = 0.0 if clocks else idle + _PERIOD
            if idle > _IDLE:
                _WATCHERS.clear()
                return
        for clock in clocks:
            clock.read()


_NOW: ContextVar[_Piece | None] = ContextVar("piece of work", default=None)
_NEVER = np.zeros(1, np.bool_)


def look() -> None:
    """Raises LimitReached where the work that runs now is over a limit."""
    piece = _NOW.get()
    if piece is not None and piece.reached is not None:
        raise piece.reached


def now() -> float:
    """The seconds of the clock that runs now, of which differences mean something: without one those of the wall."""
    piece = _NOW.get()
    return time.perf_counter() if piece is None else piece.now()


def room() -> float:
    """Bytes that the work that runs now may still take: where no clock runs, of its share of what is free."""
    piece = _NOW.get()
    return max(0, fair_share(at_work()) - resident_memory()) if piece is None else piece.room()


def stop() -> Flag:
    """What compiled searches read [1]: true once they are to end. Call `look` after them."""
    piece = _NOW.get()
    return _NEVER if piece is None else piece.stop


def looking(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with a look at the limits now and then. Raises LimitReached."""
    for place, item in enumerate(items):
        if place % _OFTEN == 0:
            look()
        yield item
