"""A worker process that runs jobs one after the other, with limits on CPU time and memory, progress and cancel.

The two processes send each other values over a pipe. `multiprocessing` would start the process too, but its
children import `__main__`, which within Streamlit is the dashboard. Importing this module loads no planning library.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any, Literal

from sgp.errors import InputError, PddlError, SgpError
from sgp.workers import ONE_THREAD

GIGABYTE = 1 << 30
MEMORY = 6 * GIGABYTE  # address space; measured: 1.7 GB with every library loaded and a model running
LARGEST_REQUEST = 4_000_000  # bytes
MOST_PROCESSES = 4  # at a time, idle ones included
PATIENCE = 10  # wall-clock seconds per CPU second after which a job that waits or hangs is ended
IDLE_SECONDS = 600.0  # after which an idle process ends itself
_GRACE = 3.0  # seconds that a process has to end itself and what it started

State = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Report:
    """The state of a job."""

    state: State
    seconds: float = 0.0
    progress: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    error: str = ""
    line: int | None = None
    source: str = ""
    died: bool = False  # whether the process ended before it answered

    @property
    def ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self.state in ("done", "failed", "cancelled")


class Job:
    """A submitted request. Its methods never wait."""

    def __init__(self, process: _Process, seconds: float, request: bytes):
        self._process, self.seconds, self.request = process, seconds, request
        self._report = Report("waiting")
        self._begun: float | None = None
        self._lock = threading.Lock()

    def report(self) -> Report:
        """The job's present state; a job that hangs is ended here."""
        patience = PATIENCE * self.seconds + _GRACE
        if not self._report.ended and self._spent() > patience:
            self._process.stop(self, Report("failed", error=out_of_patience(patience)))
        with self._lock:
            return self._report if self._report.ended else replace(self._report, seconds=self._spent())

    def cancel(self) -> None:
        """Cancel the job and those behind it, and end the process that runs it."""
        if not self._report.ended:
            self._process.stop(self, Report("cancelled", error="cancelled"))

    def receive(self, kind: str, value: Any) -> None:
        """Take a message of the process."""
        if kind == "begun":
            with self._lock:
                self._begun, self._report = time.monotonic(), replace(self._report, state="running")
        elif kind == "progress":
            with self._lock:
                self._report = replace(self._report, progress={**(self._report.progress or {}), **value})
        elif kind == "result":
            self.end(Report("done", result=value))
        else:
            self.end(Report("failed", **value))

    def end(self, report: Report) -> None:
        """Set the last report, unless there is one."""
        with self._lock:
            if not self._report.ended:
                self._report = replace(report, seconds=self._spent(), progress=self._report.progress)

    def _spent(self) -> float:
        """Wall-clock seconds since the process began with it."""
        return 0.0 if self._begun is None else time.monotonic() - self._begun

    def reason(self, code: int) -> str:
        """Why there is no answer, from the exit code of the process."""
        killed = code in (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGBUS)
        if code == 0:
            return "The job before this one ended the process. Start this job again."
        if code == -signal.SIGXCPU or (killed and self._spent() >= self.seconds):  # native code may ignore the alarm
            return out_of_time(self.seconds)
        if killed:
            name = signal.Signals(-code).name
            return f"The job's process was ended by {name} before it answered. Try again, or a smaller problem."
        return f"The job's process ended with exit code {code} before it answered; see the dashboard's terminal."


class _Process:
    """A worker process with its queue of jobs, and the thread that listens to it."""

    def __init__(self, memory: int):
        self._connection, far = Pipe()
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "sgp.service.worker", str(far.fileno()), str(memory)],
            pass_fds=[far.fileno()],
            stdin=subprocess.PIPE,  # its end tells the process that this one is gone
            stdout=subprocess.DEVNULL,  # native libraries print
            start_new_session=True,
            env={
                **os.environ,
                **ONE_THREAD,
                "SGP_PROGRESS": "0",
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )
        far.close()
        self.ending = False  # takes no further job
        self.jobs: list[Job] = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def alive(self) -> bool:
        return not self.ending and self.popen.poll() is None

    @property
    def busy(self) -> bool:
        return any(not job._report.ended for job in self.jobs)

    def add(self, job: Job) -> None:
        self.jobs = [*(each for each in self.jobs if not each._report.ended), job]
        self._queue.put(job)

    def stop(self, job: Job | None = None, report: Report | None = None) -> None:
        """End a job with a report, cancel the others, and end the process and what it started."""
        self.ending = True
        if job is not None and report is not None:
            job.end(report)
        for other in self.jobs:
            other.end(Report("cancelled", error="cancelled"))
        self._queue.put(None)
        if self.popen.poll() is None:
            self.popen.terminate()
            threading.Thread(target=self._kill_later, daemon=True).start()

    def _kill_later(self) -> None:
        try:
            self.popen.wait(_GRACE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()

    def _listen(self) -> None:
        """Send one job after the other and pass on what the process reports; jobs that are left at its end fail."""
        with contextlib.suppress(EOFError, OSError):  # it ended, perhaps amid a message
            for job in iter(self._queue.get, None):
                self._connection.send_bytes(job.request)
                while not job._report.ended:
                    kind, value = self._connection.recv()
                    self.ending |= kind == "last"
                    job.receive(kind, value)
        code = self.popen.wait()
        self._connection.close()
        for job in self.jobs:
            job.end(Report("failed", error=job.reason(code), died=True))


class Worker:
    """Runs jobs in a process, one after the other, which keeps the libraries and models that it has loaded.

    A worker without a process takes over that of an idle worker, so that a page that is opened again waits for neither.
    """

    def __init__(self, memory: int = MEMORY):
        self._memory = memory
        self._process: _Process | None = None
        self.used = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._process.alive

    @property
    def busy(self) -> bool:
        """Whether a job has not ended."""
        return self._process is not None and self._process.busy

    def submit(self, job: str, seconds: float, /, **arguments: Any) -> Job:
        """Submit a job (a function of `sgp.service.jobs`), to be run after those that were submitted before.

        `seconds` are CPU seconds from its beginning: neither the start of the process nor other load of the machine is
        counted. Raises InputError for arguments that are too large, and where too many processes are busy.
        """
        request = bytes(ForkingPickler.dumps((job, seconds, arguments)))  # as the connection would
        if len(request) > LARGEST_REQUEST:
            raise InputError(
                f"Too large for the dashboard: {len(request):,} characters (limit {LARGEST_REQUEST:,}). "
                "Use the command line: 'sgp solve'"
            )
        with _SUBMITTING:
            if self._process is None or not self._process.alive:
                self.close()
                self._process = _idle_process(self._memory) or _Process(self._memory)
                self._stop = weakref.finalize(self, self._process.stop)
                _WORKERS.add(self)
            submitted = Job(self._process, seconds, request)
            self._process.add(submitted)
            self.used = time.monotonic()
        return submitted

    def give(self) -> _Process | None:
        """The process, which this worker has no longer."""
        process, self._process = self._process, None
        if process is not None:
            self._stop.detach()
        return process

    def close(self) -> None:
        """End the process and what it started; jobs that have not ended are cancelled."""
        if self._process is not None:
            self._stop()
        self._process = None


_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()
_SUBMITTING = threading.Lock()  # a process is taken from a worker only while that submits nothing


def _idle_process(memory: int) -> _Process | None:
    """The process of the idle worker that was used last; None if there is none and another process may start.

    Raises InputError where all are busy.
    """
    living = [worker for worker in _WORKERS if worker.alive]
    idle = [worker for worker in living if not worker.busy and worker._memory == memory]
    if idle:
        return max(idle, key=lambda worker: worker.used).give()
    if len(living) >= MOST_PROCESSES:
        raise InputError(
            f"The dashboard runs {MOST_PROCESSES} jobs at a time, and as many are running. Wait for one to end, or "
            "cancel one."
        )
    return None


def out_of_time(seconds: float) -> str:
    """The message for a job that used up its CPU seconds."""
    return f"Stopped: {seconds:g} s limit of CPU time. Try a smaller problem, or run 'sgp solve'."


def out_of_patience(seconds: float) -> str:
    """The message for a job that neither used up its CPU seconds nor ended."""
    return f"Timed out after {seconds:,.0f} s: the machine was too busy to give the job its CPU time. Try again later."


class OutOfTimeError(BaseException):
    """A job has used up its CPU seconds; a BaseException, so that no handler of the job catches it."""


_ALARMS: list[int] = []  # of the present job
_SENDING = threading.Lock()


def main() -> None:
    """Run jobs until the other side is gone, for ten idle minutes, or until a job ends the process."""
    connection, memory = Connection(int(sys.argv[1])), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    signal.signal(signal.SIGPROF, _on_alarm)
    signal.signal(signal.SIGTERM, _on_terminate)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def send(*message: Any) -> None:
        with _SENDING:
            connection.send(message)

    try:
        while connection.poll(IDLE_SECONDS) and _run(send, *connection.recv()):
            pass
    except EOFError:
        pass
    finally:
        sys.stderr.flush()
        os._exit(0 if sys.exc_info()[0] in (None, SystemExit) else 1)  # the libraries' own exit takes seconds


def _run(send: Callable[[str, Any], None], name: str, seconds: float, arguments: Mapping[str, Any]) -> bool:
    """Run one job; whether the process can go on."""
    from sgp.service import jobs

    send("begun", None)
    # The alarm is heard by Python alone; the system's limit also ends native code that does not return.
    spent = resource.getrusage(resource.RUSAGE_SELF)
    most = int(spent.ru_utime + spent.ru_stime + seconds + 5)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    _ALARMS.clear()
    late = {"error": out_of_time(seconds)}
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            result = jobs.JOBS[name](lambda **progress: send("progress", progress), **arguments)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        send("result", result)
    except OutOfTimeError:
        send("last", late)
        return False
    except PddlError as error:
        send("failed", {"error": str(error), "line": error.line, "source": error.source})
    except SgpError as error:
        send("failed", {"error": str(error)})
    except MemoryError:
        send("last", {"error": "Out of memory: the job needs more than it may use here. Try a smaller problem."})
        return False
    except RecursionError:
        send("failed", {"error": "The text is nested too deeply; expected PDDL."})
    except Exception as error:
        if _ALARMS:  # native code raised an error of its own in place of the alarm's
            send("last", late)
            return False
        traceback.print_exc()
        send("last", {"error": f"Unexpected error ({error!r:.200}). This is a bug; see the terminal of the dashboard."})
        raise
    return True


def _end_with_parent() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _on_terminate(*_: object) -> None:
    """Unwind once, so that what was started (Fast Downward) is ended too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def _on_alarm(*_: object) -> None:
    if _SENDING.locked():  # a message is sent whole
        signal.setitimer(signal.ITIMER_PROF, 0.01)
        return
    _ALARMS.append(signal.SIGPROF)
    raise OutOfTimeError


if __name__ == "__main__":
    main()
