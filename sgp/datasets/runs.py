"""Runs: trained models with their configuration, data, versions, and check vectors that loading must reproduce."""

from __future__ import annotations

import datetime
import errno
import importlib.metadata
import json
import os
import platform
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp import drawing
from sgp.datasets.store import LOCKS, draft_folder, home, locked, put_in_place, restore, restore_all, whole_folder
from sgp.datasets.subject import method_key
from sgp.errors import ConfigurationError, DomainMismatch, InputError, StoreError
from sgp.files import read_json, whole_file, write_json
from sgp.installed import version
from sgp.models.device import Device
from sgp.planning.pddl import DomainText, Problem, read_domain

Vector = NDArray[np.floating[Any]]

RECORD, CARD = "run.json", "card.md"
FORMAT = 2
_RECORD_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("method", "variant", "suite", "domain", "device", "trained"), str),
    **dict.fromkeys(("training", "domains", "data", "versions", "facts", "check", "files"), dict),
    "seed": int,
    "cores": int,
}
_DATA_FACTS = frozenset({"sha256", "train", "validation"})
_ALWAYS = ("numpy",)  # libraries on which every run depends
BESIDE_THE_PLANNER = ("seconds", "processor_seconds", "selection")  # facts about the training, not the planner
SECOND = "second."  # prefix of the files of a run's second planner
_TOLERANCE = 1e-5  # of check vectors: single precision on another processor


@dataclass(frozen=True)
class RunKey:
    """Identity of a run, from which its folder follows. `domain` joins the names of several domains by "+"."""

    method: str
    variant: str
    suite: str
    domain: str
    seed: int

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**32:
            raise ConfigurationError(f"seed is {self.seed!r}; expected a whole number, 0 to {2**32 - 1}")

    @property
    def folder(self) -> Path:
        """`SGP_HOME/<method>/<variant>/<suite>/<domain>/seed<k>`."""
        return home() / self.method / self.variant / self.suite / self.domain / f"seed{self.seed}"


@dataclass(frozen=True)
class Origin:
    """What a run is made from: training configuration, PDDL of its domains by name, facts about its data."""

    training: Mapping[str, Any]
    domains: Mapping[str, str]
    data: Mapping[str, Any]
    device: Device
    libraries: Sequence[str]  # of the method


@dataclass
class RunDraft:
    """A run during its training: the folder to write to and the future content of its record."""

    key: RunKey
    folder: Path
    device: Device = "cpu"
    facts: dict[str, Any] = field(default_factory=dict)
    check: dict[str, Any] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()  # in addition to those of the method, such as an encoder's

    def keep_check(self, problem: Problem, vectors: Mapping[str, Vector]) -> None:
        """Save a problem and vectors computed from it, which loading must reproduce."""
        self.check = {
            "problem": {name: getattr(problem, name) for name in ("name", "domain_pddl", "problem_pddl")},
            "vectors": {name: np.asarray(vector, np.float64).tolist() for name, vector in vectors.items()},
        }


@dataclass(frozen=True, repr=False)
class Run:
    """A trained run in its folder. Metadata is read from `run.json`, never from names."""

    folder: Path
    record: Mapping[str, Any] = field(repr=False)
    prefix: str = ""  # of its files' names, if the folder belongs to another run

    def file(self, name: str) -> Path:
        """Path of a file that the run's method wrote under this name."""
        return self.folder / f"{self.prefix}{name}"

    def __repr__(self) -> str:
        method, variant, suite, domain, seed = (
            self.record[name] for name in ("method", "variant", "suite", "domain", "seed")
        )
        return f"<Run of {method} {variant} on {domain} of {suite}, seed {seed}: {self.folder}>"

    def _repr_html_(self) -> str:
        names = ("variant", "domain", "suite", "seed", "trained")
        return drawing.facts(
            f"Run of {self.key.method}", {name: self.record[name] for name in names} | {"folder": self.folder}
        )

    @property
    def second(self) -> Run:
        """The second planner of the training that selected this one; it is saved in the same folder."""
        second = self.record["facts"].get("second")
        if second is None:
            raise ConfigurationError(
                f"{self.folder} holds one planner alone, where a portfolio also needs the second of a training; "
                "train it again with '--by dynamic', or use another decoding"
            )
        return Run(self.folder, {**self.record, **second}, SECOND)

    @property
    def key(self) -> RunKey:
        """Identity of the run. Raises ConfigurationError if the record's seed is out of range."""
        names = {name: self.record[name] for name in ("variant", "suite", "domain", "seed")}
        return RunKey(method=method_key(self.record["method"]), **names)

    @property
    def training(self) -> dict[str, Any]:
        """The method's training configuration."""
        return dict(self.record["training"])

    @property
    def origin(self) -> Origin:
        """What the run was made from."""
        versions = self.record["versions"]
        libraries = [name for name in versions if name not in ("python", "sgp", *_ALWAYS)]
        return Origin(self.training, self.record["domains"], self.record["data"], self.record["device"], libraries)

    @property
    def sha256(self) -> str:
        """Hash of the record, which lists the hashes of all files."""
        return sha256(json.dumps(self.record, sort_keys=True).encode()).hexdigest()

    @property
    def planner_sha256(self) -> str:
        """Hash of the planner: equal for runs that differ only in name and time."""
        facts = {name: value for name, value in self.record["facts"].items() if name not in BESIDE_THE_PLANNER}
        parts = [self.record[name] for name in ("method", "training", "domains", "versions", "files")]
        return sha256(json.dumps([*parts, facts], sort_keys=True).encode()).hexdigest()

    @property
    def domain_pddl(self) -> str:
        """The PDDL of the domain that the run was trained on. Raises DomainMismatch if there are several."""
        if len(self.record["domains"]) != 1:
            raise DomainMismatch(
                f"{self.folder} was trained on {', '.join(self.record['domains'])}, where a run of one domain is "
                f"expected; train one on the domain in question"
            )
        (text,) = self.record["domains"].values()
        return str(text)

    @cached_property
    def domain_text(self) -> DomainText:
        """The domain that the run was trained on."""
        return read_domain(self.domain_pddl, f"{self.folder / RECORD}, domain {self.record['domain']}")

    @property
    def check_problem(self) -> Problem:
        """The problem of the check vectors."""
        return Problem(**self.record["check"]["problem"])

    def verify(self, vectors: Mapping[str, Vector]) -> None:
        """Raise StoreError if the vectors of the check problem differ from the saved ones."""
        for name, saved in self.record["check"]["vectors"].items():
            found = np.asarray(vectors[name], np.float64)
            if found.shape != (len(saved),) or not np.allclose(found, saved, rtol=_TOLERANCE, atol=_TOLERANCE):
                raise StoreError(
                    f"{self.folder} gives another {name} than when it was trained (then "
                    f"{_listed(self.record['versions'])}; now {_listed(library_versions(self.record['versions']))}); "
                    "train the run again"
                )


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(map(" ".join, versions.items()))


def library_versions(libraries: Iterable[str] = ()) -> dict[str, str]:
    """Installed versions of Python, of this package, of the libraries of every run, and of these libraries."""
    found = {"python": platform.python_version(), "sgp": version()}
    for name in (*_ALWAYS, *libraries):
        if name not in found:
            with suppress(importlib.metadata.PackageNotFoundError):
                found[name] = importlib.metadata.version(name)
    return found


@contextmanager
def new_run(key: RunKey, origin: Origin, folder: Path | None = None) -> Iterator[RunDraft]:
    """Yield a draft whose folder replaces the run if the block ends without an error."""
    with whole_folder(folder or key.folder) as drafted:
        draft = RunDraft(key, drafted, origin.device)
        yield draft
        record = {
            "format": FORMAT,
            **vars(key),
            "domains": dict(origin.domains),
            "training": dict(origin.training),
            "data": dict(origin.data),
            "device": origin.device,
            "trained": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "cores": os.cpu_count(),
            "versions": library_versions((*origin.libraries, *draft.libraries)),
            "facts": draft.facts,
            "check": draft.check,
            "files": {path.name: _sha256(path) for path in sorted(draft.folder.iterdir())},
        }
        write_json(draft.folder / RECORD, record)


def receive_run(key: RunKey, files: Mapping[str, bytes]) -> None:
    """Save a run that was trained on another machine. Raises StoreError if it is damaged."""
    with whole_folder(key.folder) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        open_run(folder)


def _sha256(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def open_run(folder: Run | Path | str) -> Run:
    """Open the run in a folder and compare every file with its hash; an opened run is returned unchanged."""
    if isinstance(folder, Run):
        return folder
    if not isinstance(folder, Path | str):
        raise InputError(f"{folder!r} is no run; expected one, or the folder that 'sgp train' printed")
    folder = Path(folder)
    restore(folder)
    try:
        return _read_run(folder)
    except StoreError:
        if not (folder.parent / LOCKS / folder.name).is_file():  # no writer was active
            raise
    with locked(folder):  # another process may have put a new run there meanwhile
        return _read_run(folder)


@contextmanager
def held_run(folder: Path) -> Iterator[Run]:
    """Open the run in a folder and keep other processes from replacing it, so that files can be added to it."""
    with locked(folder):
        yield _read_run(folder)


def _read_run(folder: Path) -> Run:
    if not (folder / RECORD).is_file():
        raise StoreError(f"{folder} holds no {RECORD}; give the folder that 'sgp train' printed, or train it again")
    record = read_json(folder / RECORD)
    _check_record(record, folder / RECORD)
    for name, digest in record["files"].items():
        path = folder / name
        try:
            found = _sha256(path)
        except (FileNotFoundError, IsADirectoryError) as error:
            raise StoreError(f"{folder} is incomplete: {name} is missing; train the run again") from error
        if found != digest:
            raise StoreError(f"{path} was cut or changed since it was saved; train the run again")
    return Run(folder, record)


def _check_record(record: Any, source: Path) -> None:
    """Raise StoreError for anything that is no record of a run."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(f"{source} is not of format {FORMAT}; train the run again")
    for name, kind in _RECORD_KINDS.items():
        if not isinstance(record.get(name), kind) or isinstance(record[name], bool):
            raise StoreError(f"{source} has no {name} that is of kind {kind.__name__}; train the run again")
    missing = _DATA_FACTS - record["data"].keys()
    if missing:
        raise StoreError(f"{source} lacks {min(missing)} of its data; train the run again")
    for name in record["files"]:
        if Path(name).name != name or name in ("", ".", ".."):
            raise StoreError(f"{source} lists {name!r}, which is no plain name of a file; train the run again")


def find_run(key: RunKey) -> Run | None:
    """The run with this key, or None if it is not trained yet."""
    restore(key.folder)
    return open_run(key.folder) if (key.folder / RECORD).is_file() else None


def run_folders() -> list[Path]:
    """The folders of all runs of the store."""
    restore_all(home(), "*/*/*/*/")
    return sorted(path.parent for path in home().glob(f"*/*/*/*/seed*/{RECORD}"))


def list_runs() -> list[Run]:
    """All runs of the store, by folder. Raises StoreError if one is damaged."""
    return [open_run(folder) for folder in run_folders()]


# Exceptions that zipfile raises for damaged files.
_DAMAGE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError),
    *(NotImplementedError, OSError, RuntimeError, ValueError),
)
_LARGEST = 1024**3  # bytes that an archive may unpack to; the models here have a few million
_LARGEST_TEXT = 32 * 1024**2  # bytes of a record, card or table of scores
_UNLISTED = re.compile(rf"{re.escape(RECORD)}|{re.escape(CARD)}|scores-[^/]*\.csv")  # files that no record lists
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")  # file name without folders: no path traversal
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]{0,199}")  # one folder name of a run's path in the store


def export_run(run: Run, file: Path) -> None:
    """Write a run's record, encoder, model, card and scores as one ZIP archive."""
    names = [RECORD, *sorted(run.record["files"]), CARD, *sorted(path.name for path in run.folder.glob("scores-*.csv"))]
    with whole_file(file) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in dict.fromkeys(names):
            if (run.folder / name).is_file():
                archive.write(run.folder / name, name)


@contextmanager
def unpacked_run(file: Path) -> Iterator[Run]:
    """Unpack the run of an archive into a temporary folder of the store, which is removed at the end."""
    if not file.is_file():
        raise InputError(f"{file} is no file; give the archive that 'sgp export' wrote")
    with draft_folder(home(), "import") as folder:
        _unpack(file, folder)
        try:
            run = open_run(folder)
            parts = run.key.folder.relative_to(home()).parts
        except (StoreError, ConfigurationError, ValueError) as error:
            raise InputError(f"{file} holds no run that can be used ({error}); export it again") from error
        for path in folder.iterdir():
            if path.name not in run.record["files"] and not _UNLISTED.fullmatch(path.name):
                raise InputError(f"{file} holds {path.name}, which its {RECORD} does not list; export the run again")
        if not all(_PART.fullmatch(part) for part in parts) or len(parts) != 5:
            raise InputError(f"{file} names the place {'/'.join(parts)!r} for its run, which is none in the store")
        yield run


def place_run(run: Run, replace: bool) -> Run:
    """Move an unpacked run into the store. Raises InputError if another run is there and `replace` is false."""
    target = run.key.folder
    if target.exists() and not replace:
        if (target / RECORD).is_file() and open_run(target).sha256 == run.sha256:
            return open_run(target)
        raise InputError(f"{target} holds another run; replace it with '--replace'")
    put_in_place(run.folder, target)
    return open_run(target)


def _unpack(file: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            for member in _members(file, archive):
                # zipfile stops at the declared size and checks the CRC.
                with archive.open(member) as source, (folder / member.filename).open("wb") as sink:
                    shutil.copyfileobj(source, sink)
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise  # the disk or a size limit, not the archive, is the cause
        raise InputError(
            f"{file} is no complete ZIP archive ({error}); export the run again, or give a folder of PDDL files"
        ) from error


def _members(file: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Members of an archive. Raises InputError for names and sizes that `export_run` does not write."""
    members = archive.infolist()
    strange = [member.filename for member in members if not _NAME.fullmatch(member.filename)]
    if strange:
        raise InputError(f"{file} holds {strange[0]!r:.80}, a path that no exported run has; it was not unpacked")
    if RECORD not in {member.filename for member in members}:
        raise InputError(f"{file} holds no {RECORD}; expected an archive that 'sgp export' wrote")
    total = sum(member.file_size for member in members)
    if total > _LARGEST:
        raise InputError(f"{file} unpacks to {total:,} bytes; expected at most {_LARGEST:,}")
    for member in members:
        if member.file_size > _LARGEST_TEXT and _UNLISTED.fullmatch(member.filename):
            raise InputError(
                f"{file} holds {member.filename} of {member.file_size:,} bytes; expected at most {_LARGEST_TEXT:,}"
            )
    return members
