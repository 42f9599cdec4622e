"""A worker process from outside: asks for jobs, hears of their progress, cancels them.

Requests and answers are JSON lines over pipes. Asking and looking never wait: a thread reads what the process says.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import IO, Any, Literal

from sgp.errors import InputError
from sgp.workers import ONE_THREAD

GIGABYTE = 1 << 30
MEMORY = 6 * GIGABYTE  # address space; measured: 1.7 GB with every library loaded and a model at work
LARGEST_REQUEST = 4_000_000  # characters
MOST_WORKERS = 4  # processes at a time, idle ones included
_GRACE = 3.0  # seconds that a process has to end itself and what it started
PATIENCE = 10  # seconds by the clock for each of the processor's, after which a job that waits or hangs is ended

State = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Report:
    """How a job stands.

    `progress` has what it told, the newest of each name; `result` is its answer, `error` one sentence. `line` and
    `source` say where in a PDDL text an error stands, where that is known.
    """

    state: State
    seconds: float = 0.0
    progress: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    error: str = ""
    line: int | None = None
    source: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("done", "failed", "cancelled")


class Job:
    """One request and what was heard of it."""

    def __init__(self, worker: Worker, process: subprocess.Popen[str], seconds: float):
        self._worker, self._process, self._seconds = weakref.ref(worker), process, seconds
        self._report = Report("waiting")
        self._begun: float | None = None
        self._lock = threading.Lock()

    @property
    def _over(self) -> bool:
        """Whether it has taken all of its seconds."""
        return self._begun is not None and time.monotonic() - self._begun >= self._seconds

    def report(self) -> Report:
        """How the job stands now; one that does not end itself is ended by the clock."""
        running = self._report.state == "running" and self._begun is not None
        patience = PATIENCE * self._seconds + _GRACE
        if running and self._begun is not None and time.monotonic() - self._begun > patience:
            self._stop(Report("failed", error=out_of_patience(patience)))
        with self._lock:
            spent = 0.0 if self._begun is None else time.monotonic() - self._begun
            return self._report if self._report.ended else replace(self._report, seconds=spent)

    def cancel(self) -> None:
        """Ends the job, and the process that does it."""
        if not self._report.ended:
            self._stop(Report("cancelled", error="cancelled"))

    def _stop(self, report: Report) -> None:
        self._end(report)
        worker = self._worker()
        if worker is not None and worker.leave(self._process):
            worker.close_jobs()
        _end(self._process)

    def _hear(self, message: Mapping[str, Any]) -> None:
        if "begun" in message:
            with self._lock:
                self._begun, self._report = time.monotonic(), replace(self._report, state="running")
        elif "progress" in message:
            with self._lock:
                self._report = replace(self._report, progress={**(self._report.progress or {}), **message["progress"]})
        elif "result" in message:
            self._end(Report("done", result=message["result"]))
        else:
            worker = self._worker()
            if message.get("last") and worker is not None:
                worker.leave(self._process)  # it is on its way out, and the next job needs another one
            where = {"line": message.get("line"), "source": message.get("source", "")}
            self._end(Report("failed", error=message["error"], **where))

    def _end(self, report: Report) -> None:
        with self._lock:
            if not self._report.ended:
                spent = 0.0 if self._begun is None else time.monotonic() - self._begun
                self._report = replace(report, seconds=spent, progress=self._report.progress)


class Worker:
    """A process that does one job after the other and stays warm: what it has loaded, it keeps.

    `memory` bounds its address space in bytes. The process starts with the first job, and again after it was ended.
    """

    def __init__(self, memory: int = MEMORY):
        self._memory = memory
        self._process: subprocess.Popen[str] | None = None
        self._jobs: dict[int, Job] = {}
        self._requests: SimpleQueue[str | None] = SimpleQueue()  # of the process that was started last
        self._asked = 0
        self._lock = threading.Lock()
        self.used = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        process = self._process  # another thread may set it to None
        return process is not None and process.poll() is None

    def leave(self, process: subprocess.Popen[str]) -> bool:
        """Has the next job begin another process; whether this one was the present one."""
        with self._lock:
            present = self._process is process
            if present:
                self._process = None
            return present

    def close_jobs(self) -> None:
        """Cancels the jobs that have not ended."""
        for job in list(self._jobs.values()):
            job._end(Report("cancelled", error="cancelled"))

    @property
    def busy(self) -> bool:
        """Whether a job has not ended."""
        return any(not job._report.ended for job in self._jobs.values())

    def ask(self, job: str, seconds: float, /, **arguments: Any) -> Job:
        """A job (a function of `sgp.service.jobs`) to be done after those that were asked for before.

        Its seconds are the processor's, from when the process begins with it: neither the start of the process nor what
        else the machine does is counted. Raises InputError where the arguments are more text than a job takes.
        """
        self._asked += 1
        request = json.dumps({"number": self._asked, "job": job, "seconds": seconds, "arguments": arguments})
        if len(request) > LARGEST_REQUEST:
            raise InputError(
                f"the texts have {len(request):,} characters, and at most {LARGEST_REQUEST:,} are taken here; "
                "use the command line: 'sgp solve'"
            )
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        asked = Job(self, process, seconds)
        for number in [number for number, each in self._jobs.items() if each._report.ended]:
            del self._jobs[number]
        self._jobs[self._asked] = asked
        self.used = time.monotonic()
        self._requests.put(request)
        return asked

    def close(self) -> None:
        """Ends the process and what it started; jobs that had not ended are cancelled."""
        process, self._process = self._process, None
        self.close_jobs()
        if process is not None:
            _end(process)

    def _start(self) -> subprocess.Popen[str]:
        _make_room()
        path = os.pathsep.join(filter(None, sys.path))
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "sgp.service.process", str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            env={**os.environ, **ONE_THREAD, "SGP_PROGRESS": "0", "PYTHONPATH": path},
        )
        self._jobs, self._requests = {}, SimpleQueue()  # those of the process before end with it
        threading.Thread(target=_write, args=(process, self._requests), daemon=True).start()
        threading.Thread(target=_listen, args=(process, self._jobs, self._requests), daemon=True).start()
        weakref.finalize(self, _end, process)
        _WORKERS.add(self)
        return process


_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()


def _make_room() -> None:
    """Ends the process that has been idle longest where there are too many. Raises InputError where all are busy."""
    living = [worker for worker in _WORKERS if worker.alive]
    if len(living) < MOST_WORKERS:
        return
    idle = [worker for worker in living if not worker.busy]
    if not idle:
        raise InputError(
            f"{MOST_WORKERS} jobs run already, which is all that this dashboard does at a time; wait for one to end"
        )
    min(idle, key=lambda worker: worker.used).close()


def _write(process: subprocess.Popen[str], requests: SimpleQueue[str | None]) -> None:
    """Writes requests in their order until None comes; a pipe holds little, and the process may be at work."""
    assert process.stdin is not None
    for request in iter(requests.get, None):
        with contextlib.suppress(BrokenPipeError, ValueError):  # the process ended: its listener tells
            process.stdin.write(f"{request}\n")
            process.stdin.flush()


def _listen(process: subprocess.Popen[str], jobs: dict[int, Job], requests: SimpleQueue[str | None]) -> None:
    """Hands on what a process says until it ends; what it left undone has failed then."""
    stream: IO[str] | None = process.stdout
    assert stream is not None
    with stream:
        for line in stream:
            try:
                message = json.loads(line)
            except json.JSONDecodeError:  # killed while it wrote
                break
            jobs[message.pop("number")]._hear(message)
    code = process.wait()
    requests.put(None)
    if process.stdin is not None:
        with contextlib.suppress(OSError):  # what was not written yet is for nobody
            process.stdin.close()
    for job in list(jobs.values()):
        job._end(Report("failed", error=_why(code, job._seconds, job._over)))


def _why(code: int, seconds: float, over: bool) -> str:
    killed = code in (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGBUS)
    if code == 0:
        return "the job before this one took the process with it; ask again"
    if code == -signal.SIGXCPU or (killed and over):  # native code does not always survive the alarm
        return out_of_time(seconds)
    if killed:
        return (
            f"the work ended abruptly ({signal.Signals(-code).name}), most likely out of memory; try a smaller problem"
        )
    return f"the work ended without an answer (exit code {code}); the dashboard's terminal says why"


def out_of_time(seconds: float) -> str:
    """What is said of work that took too long."""
    return f"the work was ended after {seconds:g} s of computing, the most that it may take here; try a smaller problem"


def out_of_patience(seconds: float) -> str:
    """What is said of work that did not take its seconds of the processor and did not end either."""
    return (
        f"the work did not end within {seconds:,.0f} s by the clock, in which it computed for less than it may; "
        "ask again when the machine has less to do"
    )


def _end(process: subprocess.Popen[str]) -> None:
    """Asks a process to end itself and what it started, and ends it where it does not."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    threading.Thread(target=_kill_later, args=(process,), daemon=True).start()


def _kill_later(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
