"""What memory this process holds, what the machine has free, and what a process may take of it."""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path

SHARE = 0.8  # of what is free, so that the machine is never without any

_CGROUPS = Path("/sys/fs/cgroup")
# Of control groups version 2 and 1: the limit, what is used, and what of that is a cache of files.
_LIMITED = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)


def resident_memory() -> int:
    """Bytes of physical memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def most_memory() -> int:
    """Bytes of physical memory that this process has held at most since it started.

    What `getrusage` tells begins with the most of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    (most,) = [line for line in lines if line.startswith("VmHWM:")]
    return 1024 * int(most.split()[1])


def free_memory(information: Path = Path("/proc/meminfo"), groups: Path = _CGROUPS) -> int:
    """Bytes that the machine can still give to this process: it swaps nothing out, and control groups allow it."""
    fields = dict(line.split(":") for line in information.read_text(encoding="ascii").splitlines())
    free = 1024 * int(fields["MemAvailable"].split()[0])
    for names in _LIMITED:
        free = min([free, *_left_in_group(groups, *names)])
    return max(free, 0)


def _left_in_group(groups: Path, most: str, used: str, statistics: str, cached: str) -> list[int]:
    """Bytes that are left in the process's own control group, none where it has no limit.

    Within a container its own group is mounted at the root of all groups.
    """
    try:
        limit, taken = (groups / most).read_text(encoding="ascii").strip(), int((groups / used).read_text("ascii"))
        lines = (line.split() for line in (groups / statistics).read_text(encoding="ascii").splitlines())
        return [] if limit == "max" else [int(limit) - taken + sum(int(n) for name, n in lines if name == cached)]
    except OSError:
        return []


def fair_share(processes: int) -> int:
    """Bytes that this process may hold where so many work at once: what it has, and a part of what is free."""
    return resident_memory() + int(SHARE * free_memory() / processes)


def give_back() -> None:
    """Hands freed memory back to the machine, which the C library would keep for later."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):  # a C library without it
        return
