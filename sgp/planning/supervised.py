"""Run a program with the arguments PARENT PROGRAM ARGUMENTS...; it and its children end with the parent process."""

import ctypes
import os
import runpy
import signal
import sys
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


def _end_all(*_: object) -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    """Run the program in this process; it is supervised on Linux only."""
    parent, program = int(sys.argv[1]), Path(sys.argv[2])
    signal.signal(signal.SIGHUP, _end_all)
    control = getattr(ctypes.CDLL(None), "prctl", None)
    if control is not None:
        control(_SET_PARENT_DEATH_SIGNAL, signal.SIGHUP)
    if os.getppid() != parent:  # the parent ended before the signal was set
        _end_all()
    sys.argv, sys.path[0] = sys.argv[2:], str(program.parent)
    runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main()
