"""Who does independent pieces of work: this process, several processes here, or the machines of a Ray cluster.

A task is a call of an importable function with values that can be sent: texts, numbers, frozen dataclasses of them, and
`Folder`s. What it gives back is sent too. Tasks depend on their arguments alone, so that neither who does them nor
in which order, nor doing one again because a machine was lost, changes a result.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from sgp.errors import ConfigurationError, ToolError

Result = TypeVar("Result")
Arguments = tuple[Any, ...]

RETRIES = 3  # how often a task is done again whose process or machine was lost: it may be the task that kills it
_AHEAD = 2  # tasks that a cluster holds for each of its processors, so that none waits for the next
_LOOK = 1.0  # seconds between two looks at whether the work was called off
_AT_WORK = "SGP_AT_WORK"  # in the environment: how many processes of this machine do tasks at once
_REACH = 10.0  # seconds to wait for the head of a cluster to answer


@dataclass(frozen=True)
class Folder:
    """A folder of files, without folders in it, as an argument: the task gets a path with the same files, as text."""

    path: Path

    def files(self) -> dict[str, bytes]:
        """The files' contents by name."""
        return {file.name: file.read_bytes() for file in sorted(self.path.iterdir()) if file.is_file()}


class Workers(Protocol):
    """Does tasks. `elsewhere`: on machines that do not see the files of this one; `slots`: so many at a time."""

    @property
    def elsewhere(self) -> bool:
        """Whether the store of this machine is out of reach where tasks are done."""

    @property
    def slots(self) -> int:
        """How many tasks are done at a time."""

    def each(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Calls a function for each task; the task's place and its result, as they end.

        Raises what the function raises.
        """

    def delegate(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Like `each`, for a function that hands out tasks: its last argument are the workers for them."""


@dataclass(frozen=True)
class Here:
    """This process, one task after the other."""

    elsewhere: ClassVar[bool] = False
    slots: ClassVar[int] = 1

    def each(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Calls a function for each task when its result is asked for."""
        for place, task in enumerate(tasks):
            yield place, _call(function, task)

    def delegate(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """The same, with this process for what is handed out."""
        return self.each(function, ((*task, self) for task in tasks))


@dataclass(frozen=True)
class Processes:
    """So many processes of this machine."""

    slots: int
    elsewhere: ClassVar[bool] = False

    def each(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Calls a function for each task in one of the processes; a single task is done in this one."""
        import joblib

        found = list(tasks)
        if len(found) < 2:
            yield from Here().each(function, found)
            return
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = joblib.Parallel(n_jobs=self.slots, return_as="generator_unordered")
            slots = min(self.slots, len(found))
            yield from parallel(
                joblib.delayed(_placed)(slots, place, function, task) for place, task in enumerate(found)
            )

    def delegate(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """The same; each process does itself what the function hands out."""
        return self.each(function, ((*task, Here()) for task in tasks))


@dataclass(frozen=True)
class Cluster:
    """The machines of a Ray cluster, by the address of its head (HOST:PORT), of which this machine is one.

    A task whose process or machine is lost is done again elsewhere, three times at most. Everything else raises
    ToolError: a cluster that is not there or lost, a task that keeps losing its process, ray missing here;
    ConfigurationError for an address of another form.
    """

    address: str
    called_off: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    elsewhere: ClassVar[bool] = True

    def __post_init__(self) -> None:
        host, _, port = self.address.rpartition(":")
        if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ConfigurationError(
                f"cluster is '{self.address}'; expected HOST:PORT of its head, as 'ray start --head' printed it"
            )

    @property
    def slots(self) -> int:
        """The processors of the cluster as it is now. Raises ToolError where there is none."""
        processors = int(_connected(self.address).cluster_resources().get("CPU", 0))
        if not processors:
            raise ToolError(
                f"the Ray cluster at {self.address} has no processors; join machines to it with "
                f"'ray start --address {self.address}'"
            )
        return processors

    def each(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """Calls a function for each task on one of the machines; place and result, as they end.

        Raises what the function raises, and ToolError where the cluster cannot be reached or gives a task up.
        """
        ray = _connected(self.address)
        remote = ray.remote(_there).options(num_cpus=1, max_retries=RETRIES)
        sent: dict[Folder, Any] = {}

        def send(value: Any) -> Any:
            if not isinstance(value, Folder):
                return value
            if value not in sent:
                sent[value] = ray.put(_Packed.of(value))
            return sent[value]

        waiting, running = enumerate(tasks), dict[Any, int]()
        try:
            while True:
                for place, task in islice(waiting, max(0, _AHEAD * self.slots - len(running))):
                    running[remote.remote(function, *map(send, task))] = place
                if not running:
                    return
                ended, _ = ray.wait(list(running), timeout=_LOOK)
                if self.called_off.is_set():
                    raise CancelledError
                for each in ended:
                    yield running.pop(each), _result(ray, each, self.address)
        finally:
            for each in running:
                ray.cancel(each, force=True)  # compiled code hears no interrupt

    def delegate(self, function: Callable[..., Result], tasks: Iterable[Arguments]) -> Iterator[tuple[int, Result]]:
        """The same for a function that hands out tasks to its last argument: it runs here, in one thread for each
        processor, and its tasks on the cluster.
        """
        inner = replace(self, called_off=threading.Event())
        pool = ThreadPoolExecutor(max_workers=self.slots)
        try:
            futures = {pool.submit(function, *task, inner): place for place, task in enumerate(tasks)}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # where one failed or the user interrupts, the others end too
            inner.called_off.set()
            pool.shutdown(cancel_futures=True)


Jobs = int | Workers  # processes of this machine, or workers


def workers(jobs: Jobs) -> Workers:
    """The workers for `--jobs`: this process for 1, processes for more, and workers themselves."""
    if not isinstance(jobs, int):
        return jobs
    return Here() if jobs == 1 else Processes(jobs)


def at_work() -> int:
    """How many processes of this machine do tasks at once, as far as this one knows: they share its memory."""
    return int(os.environ.get(_AT_WORK, "1"))


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


def processes(jobs: Jobs) -> int:
    """How many processes may run on this machine: the number asked for, or one per core beside a cluster."""
    return jobs if isinstance(jobs, int) else cores()


# What a process is started with so that numerical libraries compute in it with one thread, since others work beside it:
# threads of several processes that wait for each other spin, and those that they wait for do not get the core. Where
# someone asks for more threads they sleep while they wait.
ONE_THREAD: Mapping[str, str] = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
}


def threads() -> int:
    """How many threads a library computes with that is told in each call: one, where the user asked for no more."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) else 1


def compute_with_one_thread() -> None:
    """Has numerical libraries that are loaded from now on compute with one thread, where the user asked for no more."""
    os.environ.update({**ONE_THREAD, **os.environ})


@contextmanager
def one_thread() -> Iterator[None]:
    """Has torch compute with one thread: a network's sums are taken in one order then, whatever else runs."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _call(function: Callable[..., Result], task: Arguments) -> Result:
    return function(*(str(value.path) if isinstance(value, Folder) else value for value in task))


def _placed(slots: int, place: int, function: Callable[..., Result], task: Arguments) -> tuple[int, Result]:
    os.environ[_AT_WORK] = str(slots)
    return place, _call(function, task)


@dataclass(frozen=True)
class _Packed:
    """The files of a folder on their way to another machine."""

    sha256: str
    files: Mapping[str, bytes]

    @classmethod
    def of(cls, folder: Folder) -> _Packed:
        files, digest = folder.files(), sha256()
        for name, content in files.items():
            digest.update(f"{name} {len(content)} ".encode() + content)
        return cls(digest.hexdigest(), files)


_unpacked: dict[str, tempfile.TemporaryDirectory[str]] = {}  # by hash: the next task with this folder finds it


def _there(function: Callable[..., Result], *arguments: Any) -> Result:
    """What a process of another machine does; Ray has put values in the place of references."""
    os.environ[_AT_WORK] = str(cores())
    return function(*(_path_of(value) if isinstance(value, _Packed) else value for value in arguments))


def _path_of(packed: _Packed) -> str:
    """A folder with these files, on this machine until the process ends."""
    if packed.sha256 not in _unpacked:
        folder = tempfile.TemporaryDirectory(prefix="sgp-")
        for name, content in packed.files.items():
            (Path(folder.name) / name).write_bytes(content)
        _unpacked[packed.sha256] = folder
    return _unpacked[packed.sha256].name


def _connected(address: str) -> Any:
    """Ray, connected to this cluster: once for the life of the process, since it starts processes for each connection.

    Raises ToolError where ray is missing or the cluster is not there.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ToolError(
            "ray is missing, which '--cluster' needs; install the extra with pip install -e '.[cluster]'"
        ) from error
    with _connecting:
        if ray.is_initialized():
            if address in _joined:
                return ray
            ray.shutdown()
        host, _, port = address.rpartition(":")
        remedy = f"start it with 'ray start --head --port {port}' on {host}, or leave --cluster out to work here"
        try:  # Ray itself would try for two minutes and then end the process
            socket.create_connection((host, int(port)), timeout=_REACH).close()
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
_joined: set[str] = set()  # the address that this process is connected by: Ray tells another one for a host's name


def _result(ray: Any, reference: Any, address: str) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        raise ToolError(
            f"the cluster at {address} lost a task for good, after {RETRIES} more tries where its process died "
            f"({str(error).splitlines()[0]}); give it more memory, then run the command again: what is done is kept"
        ) from error
