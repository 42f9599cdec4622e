"""Executors of independent tasks: this process, several local processes (joblib), or a Ray cluster.

A task is a call of an importable function with values that can be pickled, and `Folder`s. Results depend on the
arguments alone: not on the executor, the order, or a task being repeated because a machine was lost.

The cluster takes Ray's own tasks instead of joblib's backend for Ray, whose pool of actors neither repeats the tasks of
a lost machine nor sends files to machines without the store.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sgp.errors import ConfigurationError, ToolError, require
from sgp.installed import lacking

Result = TypeVar("Result")
Arguments = tuple[Any, ...]

RETRIES = 3  # of a task whose process or machine was lost: the task itself may be what kills it
_QUEUED = 2  # tasks submitted for each processor of a cluster, so that none waits for the next
_POLL = 1.0  # seconds between two checks of whether the work was cancelled
_WORKERS = "SGP_WORKERS"  # environment variable: worker processes on this machine
_TIMEOUT = 10.0  # seconds to wait for the head of a cluster to answer


@dataclass(frozen=True)
class Folder:
    """A folder of files, without folders in it, as an argument: the task gets a path with the same files, as text."""

    path: Path

    def files(self) -> dict[str, bytes]:
        """The files' contents by name."""
        return {file.name: file.read_bytes() for file in sorted(self.path.iterdir()) if file.is_file()}


@dataclass(frozen=True)
class Local:
    """Processes of this machine by joblib, `slots` at a time; 1 is this process alone."""

    slots: int = 1
    remote: ClassVar[bool] = False  # whether tasks run on machines that do not see the store of this one

    def map(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Call a function for each task; yield the task's number and its result in order of completion."""
        if self.slots > 1:
            tasks = list(tasks)
            workers = min(self.slots, len(tasks))
            if workers > 1:
                import joblib

                with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
                    parallel = joblib.Parallel(n_jobs=self.slots, return_as="generator_unordered")
                    numbered = joblib.delayed(_numbered)
                    yield from parallel(numbered(workers, *pair, function) for pair in enumerate(tasks))
                return
        for number, task in enumerate(tasks):
            yield number, _call(function, task)

    def map_nested(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Like `map`, for a function that runs tasks itself: its last argument is the executor for them."""
        return self.map(function, ((*task, Local()) for task in tasks))


@dataclass(frozen=True)
class Cluster:
    """The machines of a Ray cluster, given the address HOST:PORT of its head; this machine is one of them.

    A task whose process or machine is lost runs again, `RETRIES` times at most.
    """

    address: str
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    remote: ClassVar[bool] = True

    def __post_init__(self) -> None:
        host, _, port = self.address.rpartition(":")
        if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ConfigurationError(
                f"cluster is '{self.address}'; expected HOST:PORT of its head, as 'ray start --head' printed it"
            )

    @property
    def slots(self) -> int:
        """The cluster's present number of processors."""
        processors = int(_connected(self.address).cluster_resources().get("CPU", 0))
        if not processors:
            raise ToolError(
                f"the Ray cluster at {self.address} has no processors; join machines to it with "
                f"'ray start --address {self.address}'"
            )
        return processors

    def map(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """As `Local.map`, on the machines of the cluster."""
        ray = _connected(self.address)
        remote = ray.remote(_run_remotely).options(num_cpus=1, max_retries=RETRIES)
        uploaded: dict[Folder, Any] = {}

        def sent(value: Any) -> Any:
            if not isinstance(value, Folder):
                return value
            if value not in uploaded:
                uploaded[value] = ray.put(_Files(value.files()))
            return uploaded[value]

        waiting, running = enumerate(tasks), dict[Any, int]()
        try:
            while True:
                for number, task in islice(waiting, max(0, _QUEUED * self.slots - len(running))):
                    running[remote.remote(function, *map(sent, task))] = number
                if not running:
                    return
                ended, _ = ray.wait(list(running), timeout=_POLL)
                if self.cancelled.is_set():
                    raise CancelledError
                for reference in ended:
                    yield running.pop(reference), _result(ray, reference, self.address)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)  # compiled code ignores interrupts

    def map_nested(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Call the function here, in one thread for each processor, and run its tasks on the cluster."""
        inner = replace(self, cancelled=threading.Event())
        pool = ThreadPoolExecutor(max_workers=self.slots)
        try:
            futures = {pool.submit(function, *task, inner): number for number, task in enumerate(tasks)}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # after an error or an interrupt the others end, too
            inner.cancelled.set()
            pool.shutdown(cancel_futures=True)


Executor = Local | Cluster
Jobs = int | Executor  # a number of processes on this machine, or an executor


def executor(jobs: Jobs) -> Executor:
    """The executor for a number of jobs."""
    require(jobs, int | Executor, "jobs", "a number of processes, or a Cluster")
    return Local(jobs) if isinstance(jobs, int) else jobs


def run_tasks(jobs: Jobs, function: Callable[..., Result], tasks: Sequence[Arguments], title: str) -> list[Result]:
    """The results of all tasks, in their order, with a progress bar."""
    from sgp.progress import track  # here, because `sgp --help` needs no bar

    results = dict(track(executor(jobs).map(function, tasks), title, len(tasks)))
    return [results[number] for number in range(len(tasks))]


def worker_count() -> int:
    """Number of worker processes on this machine, as far as this one knows: they share its memory."""
    return int(os.environ.get(_WORKERS, "1"))


def cores() -> int:
    """Number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


def processes(jobs: Jobs) -> int:
    """Number of processes that may run on this machine: the requested one, or one per core beside a cluster."""
    return jobs if isinstance(jobs, int) else cores()


# Environment of a process in which numerical libraries compute with one thread, since other processes run beside it:
# threads of several processes that wait for each other spin, and keep the core from those that they wait for. If the
# environment sets more threads, they sleep while they wait.
ONE_THREAD: Mapping[str, str] = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
}


def threads() -> int:
    """Number of threads for libraries that take it as an argument: one, unless the environment sets more."""
    requested = os.environ.get("OMP_NUM_THREADS", "")
    return int(requested) if requested.isdigit() and int(requested) else 1


def compute_with_one_thread() -> None:
    """Make numerical libraries that are loaded from now on compute with one thread, unless the environment sets it."""
    os.environ.update({**ONE_THREAD, **os.environ})


@contextmanager
def one_thread() -> Iterator[None]:
    """Make torch compute with one thread, so that it sums in one order whatever else runs."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _call(function: Callable[..., Result], task: Arguments) -> Result:
    return function(*(str(value.path) if isinstance(value, Folder) else value for value in task))


def _numbered(workers: int, number: int, task: Arguments, function: Callable[..., Result]) -> tuple[int, Result]:
    os.environ[_WORKERS] = str(workers)
    return number, _call(function, task)


class _Files(dict[str, bytes]):
    """The files of a folder on their way to another machine."""

    def unpacked(self) -> str:
        """A folder with these files, on this machine until the process ends."""
        digest = sha256(
            b"".join(f"{name} {len(content)} ".encode() + content for name, content in self.items())
        ).digest()
        if digest not in _unpacked:
            folder = _unpacked[digest] = tempfile.TemporaryDirectory(prefix="sgp-")
            for name, content in self.items():
                (Path(folder.name) / name).write_bytes(content)
        return _unpacked[digest].name


_unpacked: dict[bytes, tempfile.TemporaryDirectory[str]] = {}  # by hash, for the next task with the same folder


def _run_remotely(function: Callable[..., Result], *arguments: Any) -> Result:
    """Run a task in a process of another machine; Ray has replaced references by their values."""
    os.environ[_WORKERS] = str(cores())
    return function(*(value.unpacked() if isinstance(value, _Files) else value for value in arguments))


def _connected(address: str) -> Any:
    """Ray, connected to this cluster: once in the life of a process, since it starts processes for each connection."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ToolError(lacking("'--cluster'", "ray")) from error
    with _connecting:
        if ray.is_initialized():
            if address in _joined:
                return ray
            ray.shutdown()
        host, _, port = address.rpartition(":")
        remedy = f"start it with 'ray start --head --port {port}' on {host}, or leave --cluster out to work here"
        try:  # Ray itself would try for two minutes and then end the process
            socket.create_connection((host, int(port)), timeout=_TIMEOUT).close()
        except OSError as error:
            raise ToolError(f"no Ray cluster answers at {address} ({error}); {remedy}") from error
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (Exception, SystemExit) as error:
            raise ToolError(
                f"{address} answers, but this machine cannot work with it as a Ray cluster ({error}); {remedy}"
            ) from error
        _joined.clear()
        _joined.add(address)
    return ray


_connecting = threading.Lock()
_joined: set[str] = set()  # the address that this process is connected by: Ray reports another one for a host's name


def _result(ray: Any, reference: Any, address: str) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        raise ToolError(
            f"the cluster at {address} lost a task for good, after {RETRIES} more tries where its process died "
            f"({str(error).splitlines()[0]}); give it more memory, then run the command again: finished tasks stay"
        ) from error
