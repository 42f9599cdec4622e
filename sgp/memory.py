"""Resident memory of this process, free memory of the machine, and the share that a process may use."""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path

SHARE = 0.8  # of the free memory; the rest is a reserve

_CGROUPS = Path("/sys/fs/cgroup")
# Control groups version 2 and 1: limit, usage, statistics file, and its field for the file cache.
_LIMITED = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)


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
