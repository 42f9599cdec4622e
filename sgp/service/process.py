"""The worker process: reads requests from standard input, does one after the other, answers on standard output.

It ends when its input ends, after ten idle minutes, and after a job that ran out of time.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any, TextIO

from sgp.errors import PddlError, SgpError

IDLE_SECONDS = 600.0
_END = ""


class OutOfTimeError(BaseException):
    """A job is over its seconds of the processor; nothing on the way may take it for an error of its own."""


def main() -> None:
    """Serves until there is nothing more to do. The address space in bytes is the argument."""
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # Native libraries print: what is meant for the caller goes to a copy of standard output that they do not know.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGPROF, _out_of_time)
    signal.signal(signal.SIGTERM, _terminated)
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    try:
        while (line := _next(requests)) != _END:
            request = json.loads(line)
            if not _do(request, partial(_answer, answers, request["number"])):
                break
    finally:
        sys.stderr.flush()
        os._exit(0 if sys.exc_info()[0] in (None, SystemExit) else 1)  # libraries' own endings take seconds


def _next(requests: queue.SimpleQueue[str]) -> str:
    try:
        return requests.get(timeout=IDLE_SECONDS)
    except queue.Empty:
        return _END


def _answer(answers: TextIO, number: int, **message: Any) -> None:
    answers.write(json.dumps({"number": number, **message}, allow_nan=False) + "\n")
    answers.flush()


def _do(request: Mapping[str, Any], tell: Callable[..., None]) -> bool:
    """Does one job and tells what came of it; whether the process can go on."""
    from sgp.service import client, first_use, jobs

    seconds = request["seconds"]
    if not first_use.are_compiled():  # which is no part of the job, nor of its seconds
        tell(progress={"doing": "compiling kernels, once for this version"})
        try:
            first_use.compile_kernels()
        except Exception:  # the job may need none of them, and says what it cannot do itself
            traceback.print_exc()
        tell(progress={"doing": ""})
    tell(begun=True)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    # Seconds are the processor's: a busy machine takes none of them. The alarm is heard by Python alone; the limit of
    # the system also ends native code that does not return.
    most = int(spent.ru_utime + spent.ru_stime + seconds + 5)
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
    _RUNG.clear()
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            result = jobs.JOBS[request["job"]](partial(_progress, tell), **request["arguments"])
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        tell(result=result)
    except OutOfTimeError:
        tell(error=client.out_of_time(seconds), last=True)
        return False
    except PddlError as error:
        tell(error=str(error), line=error.line, source=error.source)
    except SgpError as error:
        tell(error=str(error))
    except MemoryError:
        tell(error="the work needs more memory than it may take here; try a smaller problem", last=True)
        return False
    except RecursionError:
        tell(error="the text is nested too deeply to be read; expected PDDL")
    except Exception as error:
        if _RUNG:  # within native code, which raised an error of its own in the place of the alarm's
            tell(error=client.out_of_time(seconds), last=True)
            return False
        traceback.print_exc()
        tell(
            error=f"the work crashed ({error!r:.200}); this is a defect, and the dashboard's terminal shows where",
            last=True,
        )
        raise
    return True


def _progress(tell: Callable[..., None], **progress: Any) -> None:
    tell(progress=progress)


def _read(requests: queue.SimpleQueue[str]) -> None:
    """Queues the requests; when the input ends, the caller is gone, and so is the reason for any work."""
    for line in sys.stdin:
        requests.put(line)
    requests.put(_END)
    os.kill(os.getpid(), signal.SIGTERM)


def _terminated(signal_number: int, frame: FrameType | None) -> None:
    """Unwinds, so that what was started (Fast Downward) is ended too; once."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


_RUNG: list[int] = []  # the alarm of the present job, once it was heard


def _out_of_time(signal_number: int, frame: FrameType | None) -> None:
    _RUNG.append(signal_number)
    raise OutOfTimeError


if __name__ == "__main__":
    main()
