"""Benchmark suites: problems by domain and split, with a SHA-256 of every file; splits that are drawn from a seed."""

from __future__ import annotations

import hashlib
import json
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from sgp import drawing
from sgp.datasets.store import cache_folder, data_folder, home, restore, restore_all
from sgp.domains import get_domain
from sgp.domains.domain import Domain
from sgp.errors import InputError, SuiteError, expected_one_of, require
from sgp.files import write_text
from sgp.planning.pddl import DomainText, Problem, read_domain, read_text
from sgp.planning.pddl_syntax import Source, read_sections
from sgp.progress import track

TRACK_SUITE = "track"  # of each domain of the IPC 2023 learning track, problems of ours as large as its own
TRAIN = "train"
LEVELS = ("easy", "medium", "hard")
_TRAINING, _PER_LEVEL = 60, 10
HUGE_SUITE = "huge"  # problems of up to 50,000 objects, to measure what a decision costs
_HUGE_SIZES, _PER_HUGE_SIZE = (50, 200, 1_000, 5_000, 20_000, 50_000), 5


def track_sizes(domain: Domain) -> dict[str, list[int]]:
    """The sizes of the problems of each split of suite `track`, the nearest that the domain has; {} for other domains.

    Training sizes are spaced evenly over those of the track. With L objects in its largest training problem and T in
    its largest test problem, test j of level k (both from 1) has L (T/L)^((10 (k - 1) + j) / 30) objects.
    """
    if domain.track is None:
        return {}
    least, most = domain.track.train
    ratio, last = domain.track.test[1] / most, len(LEVELS) * _PER_LEVEL
    training = [least + (most - least) * number / (_TRAINING - 1) for number in range(_TRAINING)]
    tests = [most * ratio ** (number / last) for number in range(1, last + 1)]
    sizes = {TRAIN: training} | {level: tests[_PER_LEVEL * k :][:_PER_LEVEL] for k, level in enumerate(LEVELS)}
    return {split: [domain.tracked.nearest(round(size)) for size in found] for split, found in sizes.items()}


def huge_sizes(domain: Domain) -> dict[str, list[int]]:
    """The sizes of the problems of each split of suite `huge`: five of at most the size that the split names."""
    growth = domain.huge
    if growth is None:
        return {}
    numbers = range(1, _PER_HUGE_SIZE + 1)
    return {
        f"{size}-objects": [domain.sizes.count(**growth.arguments(domain.sizes, size, number)) for number in numbers]
        for size in _HUGE_SIZES
        if size <= growth.most
    }


@dataclass(frozen=True)
class SeededSplits:
    """Splits of a suite without files: a problem is the first draw of its random stream, checked by its hash.

    `suite` is the name in the domain files and part of the streams; `numpy` is the version that drew.
    """

    suite: str
    seed: int
    splits: tuple[str, ...]
    numpy: str

    def draw(self, domain: Domain, split: str, number: int, size: int) -> str:
        """Problem `number` (from 1) of a split, of `size` objects without constants."""
        arguments: Mapping[str, int] | int = size
        if self.suite == HUGE_SUITE and domain.huge is not None:
            arguments = domain.huge.arguments(domain.sizes, size, number)
            known = domain.sizes.count(**arguments) == size
        else:
            known = domain.tracked.has(size)
        if not known:
            raise SuiteError(
                f"{domain.name} has no problem of {size} objects, which suite {self.suite} lists; install the version "
                "of sgp that the suite came with"
            )
        stream = self.seed, number_of(self.suite), number_of(domain.name), number_of(split), number
        return drawn(self.suite, domain, arguments, (*stream, 0))

    def read(self, file: Path, sha256: str, domain: Domain, split: str, number: int, size: int) -> str:
        """The text of a problem's file, which is drawn and written if it is missing or another."""
        if file.is_file() and hashlib.sha256(content := file.read_bytes()).hexdigest() == sha256:
            return content.decode()
        text = self.draw(domain, split, number, size)
        if hashlib.sha256(text.encode()).hexdigest() != sha256:
            import numpy as np

            raise SuiteError(
                f"{file.stem} of {domain.name} {split}, drawn again by numpy {np.__version__}, is not the problem that "
                f"suite {self.suite} lists, which numpy {self.numpy} drew; install that version of numpy and the "
                "version of sgp that the suite came with"
            )
        write_text(file, text)
        return text


def drawn(suite: str, domain: Domain, arguments: Mapping[str, int] | int, stream: tuple[int, ...]) -> str:
    """Generate a problem from the generator's arguments, or from a number of objects for which they are drawn."""
    import numpy as np

    rng = np.random.default_rng(stream)
    if not isinstance(arguments, int):
        return domain.generate(rng, **arguments)
    return domain.generate_scaled(rng, arguments, suite == TRACK_SUITE)


def number_of(word: str) -> int:
    """Stable hash (CRC-32) of a word, for random streams."""
    return zlib.crc32(word.encode())


MANIFEST = "suite.toml"
Value = TypeVar("Value")


@dataclass(frozen=True)
class Entry:
    """A problem: name, number of objects, SHA-256, and (`like`) the first earlier one equal up to renaming."""

    name: str
    size: int
    sha256: str
    like: str = ""


@dataclass(frozen=True)
class SuiteDomain:
    """A domain within a suite. `built_in` names the built-in domain with the same predicates and actions, or is ""."""

    name: str
    built_in: str
    sha256: str
    splits: Mapping[str, tuple[Entry, ...]]


@dataclass(frozen=True, repr=False)
class Suite:
    """Problems by domain and split in one folder, with the hashes of all files in its manifest.

    A file is read and checked against its hash on first use. Plans of experts and of baseline planners are saved under
    `experts` and `baselines`. `named_stream`: the suite's name is part of the random streams of its generated problems.
    `seeded`: splits whose problems are generated from a seed instead of stored as files.
    """

    name: str
    folder: Path
    experts: Path
    baselines: Path
    origin: str
    domains: Mapping[str, SuiteDomain]
    seed: int | None = None
    named_stream: bool = False
    seeded: SeededSplits | None = None
    _texts: dict[Path, str] = field(default_factory=dict, init=False, compare=False)  # of checked files

    def __repr__(self) -> str:
        """Return the name, the domains and the number of problems."""
        count = sum(len(entries) for domain in self.domains.values() for entries in domain.splits.values())
        return f"<Suite {self.name}: {count} problems of {', '.join(self.domains)}>"

    def _repr_html_(self) -> str:
        splits = {name: domain.splits.items() for name, domain in self.domains.items()}
        rows = {name: ", ".join(f"{split} {len(each)}" for split, each in items) for name, items in splits.items()}
        return drawing.facts(f"Suite {self.name}: problems by domain and split", rows)

    def domain(self, name: str) -> SuiteDomain:
        """Find a domain by its name, the name or alias of its built-in domain, or the name that its PDDL declares."""
        if name in self.domains:
            return self.domains[name]
        with suppress(InputError):
            built_in = get_domain(name).name
            for domain in self.domains.values():
                if built_in in (domain.name, domain.built_in):
                    return domain
        declared = []
        for domain in self.domains.values():
            file = self.folder / domain.name / "domain.pddl"
            if read_sections(Source(str(file), self._checked(file, domain.sha256)), "domain")[0] == name.lower():
                declared.append(domain)
        if len(declared) == 1:
            return declared[0]
        if declared:
            names = ", ".join(domain.name for domain in declared)
            raise SuiteError(f"suite {self.name} has several domains with a PDDL of '{name}'; expected one of {names}")
        raise SuiteError(f"suite {self.name} has no domain '{name}'; {expected_one_of(self.domains, name)}")

    def split(self, domain: str, split: str) -> str:
        """Return the full name of a split, given its name or a unique ending such as 'easy'."""
        require(split, str, "split", "the name of one, such as 'train'")
        splits = self.domain(domain).splits
        if split in splits:
            return split
        wanted = split.replace("/", "-")
        endings = [name for name in splits if name == wanted or name.endswith(f"-{wanted}")]
        if len(endings) == 1:
            return endings[0]
        raise SuiteError(f"{domain} of suite {self.name} has no split '{split}'; {expected_one_of(splits, split)}")

    def chosen_splits(self, domain: str, splits: Sequence[str]) -> tuple[str, ...]:
        """Full names of splits without duplicates; default: every split but `train`, if there are others."""
        names = list(self.domain(domain).splits)
        chosen = splits or [name for name in names if name != "train"] or names
        return tuple(dict.fromkeys(self.split(domain, split) for split in chosen))

    def domain_pddl(self, domain: str) -> str:
        """The text of a domain's file."""
        found = self.domain(domain)
        return self._checked(self.folder / found.name / "domain.pddl", found.sha256)

    def domain_text(self, domain: str) -> DomainText:
        """Parsed PDDL of a domain."""
        found = self.domain(domain).name
        return read_domain(self.domain_pddl(found), str(self.folder / found / "domain.pddl"))

    def problems(self, domain: str, split: str) -> tuple[Problem, ...]:
        """The problems of a split, in the order of the manifest; problems without files are generated."""
        found, split = self.domain(domain), self.split(domain, split)
        domain_file = self.folder / found.name / "domain.pddl"
        pddl = self._checked(domain_file, found.sha256)
        entries = found.splits[split]
        problems = []
        for place, entry in enumerate(track(entries, f"{self.name} {found.name} {split}", len(entries)), start=1):
            if self.seeded and split in self.seeded.splits:
                file = cache_folder() / "suites" / self.name / found.name / split / f"{entry.name}.pddl"
                if file not in self._texts:
                    size = entry.size - len(self.domain_text(found.name).constants)
                    built_in = get_domain(found.built_in)
                    self._texts[file] = self.seeded.read(file, entry.sha256, built_in, split, place, size)
                text = self._texts[file]
            else:
                file = self.folder / found.name / split / f"{entry.name}.pddl"
                text = self._checked(file, entry.sha256)
            problems.append(Problem(entry.name, pddl, text, domain_source=str(domain_file), problem_source=str(file)))
        return tuple(problems)

    def duplicates(self, domain: str, split: str) -> dict[str, str]:
        """Map the SHA-256 of each problem that equals an earlier one up to renaming of objects to the earlier name."""
        entries = self.domain(domain).splits[self.split(domain, split)]
        problems = self.problems(domain, split)
        return {problem.sha256: entry.like for problem, entry in zip(problems, entries, strict=True) if entry.like}

    def built_in_domain(self, domain: str) -> Domain | None:
        """Built-in domain with the same predicates and actions as a domain of this suite, or None."""
        name = self.domain(domain).built_in
        return get_domain(name) if name else None

    @cached_property
    def manifest_sha256(self) -> str:
        """Hash of the manifest, which holds the hashes of all files."""
        return sha256_of(read_text(self.folder / MANIFEST))

    @cached_property
    def largest(self) -> dict[str, int]:
        """The largest number of objects of each domain."""
        return {
            name: max(entry.size for entries in domain.splits.values() for entry in entries)
            for name, domain in self.domains.items()
        }

    def _checked(self, file: Path, sha256: str) -> str:
        """Read a file. Raises SuiteError if its SHA-256 differs from the manifest."""
        if file not in self._texts:
            text = read_text(file)
            if sha256_of(text) != sha256:
                raise SuiteError(
                    f"{file} is not the file that {self.folder / MANIFEST} lists; restore it, or import the changed "
                    "folder as a suite of its own"
                )
            self._texts[file] = text
        return self._texts[file]


def sha256_of(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def list_suites() -> list[str]:
    """Names of the bundled suites, then of the imported suites."""
    restore_all(home() / "suites")
    folders = [data_folder() / "benchmarks", home() / "suites"]
    return [path.parent.name for folder in folders for path in sorted(folder.glob(f"[!.]*/{MANIFEST}"))]  # no drafts


def load_suite(name: Suite | Path | str) -> Suite:
    """Load a bundled or imported suite by its name, or import a folder of PDDL files; see `sgp.import_folder`.

    A loaded suite is returned unchanged. Raises SuiteError for an unknown name.
    """
    if isinstance(name, Suite):
        return name
    if isinstance(name, Path) or (isinstance(name, str) and name not in list_suites() and Path(name).is_dir()):
        from sgp.datasets.importing import suite_of_folder

        return suite_of_folder(Path(name))
    if not isinstance(name, str):
        raise SuiteError(f"suite is {name!r}; expected a suite or its name; {expected_one_of(list_suites(), '')}")
    bundled = data_folder() / "benchmarks" / name
    if (bundled / MANIFEST).is_file():
        return read_suite(bundled, data_folder())
    imported = home() / "suites" / name
    restore(imported)
    restore(home() / "experts" / name)
    if (imported / MANIFEST).is_file():
        return read_suite(imported, home())
    raise SuiteError(
        f"unknown suite '{name}'; {expected_one_of(list_suites(), name)}, or a folder of PDDL files, or import one "
        "with 'sgp import FOLDER'"
    )


def read_suite(folder: Path, plans: Path) -> Suite:
    """Read the suite in a folder; its plans are in the folders `experts` and `baselines` of `plans`.

    Earlier manifests name the fields `built_in` and `seeded_splits` `house` and `kept_by_seed`.
    """
    name = folder.name
    try:
        manifest = tomllib.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        domains = {
            known: _typed(
                SuiteDomain(
                    known, domain.get("built_in", domain.get("house")), domain["sha256"], _splits(domain["splits"])
                )
            )
            for known, domain in manifest["domains"].items()
        }
        seed, seeded = manifest.get("seed"), manifest.get("seeded_splits", manifest.get("kept_by_seed"))
        if seeded is not None:
            if not all(isinstance(split, str) for split in seeded["splits"]):
                raise TypeError(f"{seeded['splits']!r:.60} are not names of splits")
            seeded = _typed(SeededSplits(seeded["suite"], manifest["seed"], tuple(seeded["splits"]), seeded["numpy"]))
        experts, baselines = (plans / kind / name for kind in ("experts", "baselines"))
        named = manifest.get("named_stream") is True
        return _typed(Suite(name, folder, experts, baselines, manifest["origin"], domains, seed, named, seeded))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SuiteError(f"{folder / MANIFEST} cannot be read ({error!r}); import the suite again") from error


def _splits(record: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[Entry, ...]]:
    return {
        split: tuple(_typed(Entry(problem, **entry)) for problem, entry in entries.items())
        for split, entries in record.items()
    }


def _typed(value: Value) -> Value:
    """Return an object read from a manifest. Raises TypeError where a text or a number has another type."""
    record: Any = type(value)
    for name, kinds in _kinds(record).items():
        found = getattr(value, name)
        if not isinstance(found, kinds) or isinstance(found, bool):
            raise TypeError(f"{found!r:.60} is not of type {kinds[0].__name__}")
    return value


@cache
def _kinds(record: type[Any]) -> dict[str, tuple[type, ...]]:
    """Return the types of the fields that are texts or numbers."""
    hints = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(record).items()}
    return {name: kinds for name, kinds in hints.items() if {str, int, NoneType}.issuperset(kinds)}


def quote(value: str | Sequence[str]) -> str:
    """Format one or several strings as TOML, which equals JSON except for surrogates and the character 127."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_manifest(suite: Suite) -> None:
    """Write a suite's manifest."""
    lines = [f"origin = {quote(suite.origin)}"]
    if suite.seed is not None:
        lines.append(f"seed = {suite.seed}")
    if suite.named_stream:
        lines.append("named_stream = true")
    seeded = suite.seeded
    if seeded is not None:
        record = f"suite = {quote(seeded.suite)}, numpy = {quote(seeded.numpy)}, splits = {quote(seeded.splits)}"
        lines.append(f"seeded_splits = {{ {record} }}")
    for name, domain in suite.domains.items():
        lines += ["", f"[domains.{quote(name)}]"]
        lines += [f"built_in = {quote(domain.built_in)}", f"sha256 = {quote(domain.sha256)}"]
        for split, entries in domain.splits.items():
            lines += ["", f"[domains.{quote(name)}.splits.{quote(split)}]"]
            for entry in entries:
                like = f", like = {quote(entry.like)}" if entry.like else ""
                lines.append(f"{quote(entry.name)} = {{ size = {entry.size}, sha256 = {quote(entry.sha256)}{like} }}")
    write_text(suite.folder / MANIFEST, "\n".join(lines) + "\n")
