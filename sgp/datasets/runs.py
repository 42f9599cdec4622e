"""Runs: trained models with their configuration, data, versions and a vector that proves them unchanged."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.store import home
from sgp.errors import ConfigurationError, StoreError
from sgp.files import read_json, write_json
from sgp.models.device import Device
from sgp.planning.pddl import DomainText, Problem, read_domain

Vector = NDArray[np.floating[Any]]

RECORD, CARD = "run.json", "card.md"
FORMAT = 1
_RECORD_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("method", "variant", "suite", "domain", "domain_pddl", "device", "trained"), str),
    **dict.fromkeys(("config", "data", "versions", "facts", "check", "files"), dict),
    "seed": int,
    "cores": int,
}
_DATA_FACTS = frozenset({"sha256", "train", "validation", "transitions"})
_LIBRARIES = ("sgp", "wlplan", "xgboost", "torch", "pymimir", "pymimir-rgnn", "numpy")
_BESIDE_THE_PLANNER = ("seconds", "selection")  # facts of how it was made
_TOLERANCE = 1e-5  # of check vectors: single precision on another processor


@dataclass(frozen=True)
class RunKey:
    """Which run: its place in the store follows from it."""

    method: str
    variant: str
    suite: str
    domain: str
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise ConfigurationError(f"seed is {self.seed}; expected 0 to {2**32 - 1}")

    @property
    def folder(self) -> Path:
        """`SGP_HOME/<method>/<variant>/<suite>/<domain>/seed<k>`."""
        return home() / self.method / self.variant / self.suite / self.domain / f"seed{self.seed}"


@dataclass
class RunDraft:
    """A run that is being trained: a folder to write to and what will stand in its record."""

    key: RunKey
    folder: Path
    device: Device = "cpu"
    facts: dict[str, Any] = field(default_factory=dict)
    check: dict[str, Any] = field(default_factory=dict)

    def keep_check(self, problem: Problem, vectors: Mapping[str, Vector]) -> None:
        """Keeps a problem and vectors made from it, which loading must reproduce."""
        self.check = {
            "problem": {"name": problem.name, "problem_pddl": problem.problem_pddl},
            "vectors": {name: np.asarray(vector, np.float64).tolist() for name, vector in vectors.items()},
        }


@dataclass(frozen=True)
class Run:
    """A trained run in its folder. Metadata is read from `run.json`, never from names."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def key(self) -> RunKey:
        """Which run this is. Raises ConfigurationError where the record's seed is out of range."""
        return RunKey(**{name: self.record[name] for name in ("method", "variant", "suite", "domain", "seed")})

    @property
    def config(self) -> dict[str, Any]:
        """The method's configuration."""
        return dict(self.record["config"])

    @property
    def sha256(self) -> str:
        """Hash of the record, which lists the hashes of all files."""
        return sha256(json.dumps(self.record, sort_keys=True).encode()).hexdigest()

    @property
    def planner_sha256(self) -> str:
        """Hash of what the planner is made from: equal for runs that differ in name and time alone."""
        facts = {name: value for name, value in self.record["facts"].items() if name not in _BESIDE_THE_PLANNER}
        parts = [self.record[name] for name in ("method", "config", "domain_pddl", "versions", "files")]
        return sha256(json.dumps([*parts, facts], sort_keys=True).encode()).hexdigest()

    @cached_property
    def domain_text(self) -> DomainText:
        """The domain that the run was trained on. Raises PddlError where its copy of the domain cannot be read."""
        return read_domain(self.record["domain_pddl"], f"{self.folder / RECORD}, domain_pddl")

    @property
    def check_problem(self) -> Problem:
        """The problem whose vectors were kept."""
        return Problem(domain_pddl=self.record["domain_pddl"], **self.record["check"]["problem"])

    def verify(self, vectors: Mapping[str, Vector]) -> None:
        """Raises StoreError where the vectors of the kept problem are not those of the time of training."""
        for name, kept in self.record["check"]["vectors"].items():
            found = np.asarray(vectors[name], np.float64)
            if found.shape != (len(kept),) or not np.allclose(found, kept, rtol=_TOLERANCE, atol=_TOLERANCE):
                raise StoreError(
                    f"{self.folder} gives another {name} than when it was trained (then "
                    f"{_listed(self.record['versions'])}; now {_listed(library_versions())}); train the run again"
                )

    def require_version(self, library: str) -> None:
        """Raises StoreError where a library whose files change meaning has another version than when saved."""
        saved, here = self.record["versions"].get(library), library_versions().get(library)
        if saved != here:
            raise StoreError(
                f"{self.folder} was saved with {library} {saved}, here is {library} {here}, which reads its files "
                f"differently; install {library}=={saved} or train the run again"
            )


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def library_versions() -> dict[str, str]:
    """Installed versions of the libraries that a run depends on, and Python's."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@contextmanager
def new_run(
    key: RunKey,
    config: Mapping[str, Any],
    device: Device,
    domain_pddl: str,
    data: Mapping[str, Any],
    folder: Path | None = None,
) -> Iterator[RunDraft]:
    """A draft whose folder takes the run's place when the block ends without an error; else nothing is changed.

    That place is `folder`, or the key's in the store.
    """
    with _new_folder(folder or key.folder) as drafted:
        draft = RunDraft(key, drafted, device)
        yield draft
        record = {
            "format": FORMAT,
            "method": key.method,
            "variant": key.variant,
            "suite": key.suite,
            "domain": key.domain,
            "seed": key.seed,
            "domain_pddl": domain_pddl,
            "config": dict(config),
            "data": dict(data),
            "device": device,
            "trained": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "cores": os.cpu_count(),
            "versions": library_versions(),
            "facts": draft.facts,
            "check": draft.check,
            "files": {path.name: _sha256(path) for path in sorted(draft.folder.iterdir())},
        }
        write_json(draft.folder / RECORD, record)


def receive_run(key: RunKey, files: Mapping[str, bytes]) -> None:
    """Puts a run that was trained elsewhere into its place in the store. Raises StoreError where it is damaged."""
    with _new_folder(key.folder) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        open_run(folder)


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder that takes the place of `target` when the block ends without an error; else nothing is changed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
        target.chmod(0o755)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sha256(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def open_run(folder: Path | str) -> Run:
    """The run in a folder, every file of it compared with its hash. Raises StoreError where something is amiss."""
    folder = Path(folder)
    if not (folder / RECORD).is_file():
        raise StoreError(f"{folder} holds no {RECORD}; give the folder that 'sgp train' printed, or train it again")
    record = read_json(folder / RECORD)
    _check_record(record, folder / RECORD)
    for name, digest in record["files"].items():
        path = folder / name
        if not path.is_file():
            raise StoreError(f"{folder} is incomplete: {name} is missing; train the run again")
        if _sha256(path) != digest:
            raise StoreError(f"{path} was cut or changed since it was saved; train the run again")
    return Run(folder, record)


def _check_record(record: Any, source: Path) -> None:
    """Raises StoreError for anything that is no record of a run."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(f"{source} is not of format {FORMAT}; train the run again")
    for name, kind in _RECORD_KINDS.items():
        if not isinstance(record.get(name), kind) or isinstance(record[name], bool):
            raise StoreError(f"{source} has no {name} that is of kind {kind.__name__}; train the run again")
    missing = _DATA_FACTS - record["data"].keys()
    if missing:
        raise StoreError(f"{source} does not tell {min(missing)} of its data; train the run again")
    for name in record["files"]:
        if Path(name).name != name or name in ("", ".", ".."):
            raise StoreError(f"{source} lists {name!r}, which is no plain name of a file; train the run again")


def find_run(key: RunKey) -> Run | None:
    """The run with this key, or None where it was not trained yet."""
    return open_run(key.folder) if (key.folder / RECORD).is_file() else None


def run_folders() -> list[Path]:
    """The folders of all runs of the store."""
    return sorted(path.parent for path in home().glob(f"*/*/*/*/seed*/{RECORD}"))


def list_runs() -> list[Run]:
    """All runs of the store, by folder. Raises StoreError where one is damaged."""
    return [open_run(folder) for folder in run_folders()]
