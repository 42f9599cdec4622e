"""Import of folders of PDDL as suites: links are followed, compressed files read, and ignored files reported."""

from __future__ import annotations

import bz2
import gzip
import logging
import os
import re
import shutil
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count, takewhile
from pathlib import Path

from sgp.datasets.experts import write_plans
from sgp.datasets.generation import Distinct
from sgp.datasets.store import draft_folder, home, put_in_place
from sgp.datasets.subject import SPLITS
from sgp.datasets.suite import (
    MANIFEST,
    Entry,
    Suite,
    SuiteDomain,
    list_suites,
    load_suite,
    read_suite,
    sha256_of,
    write_manifest,
)
from sgp.domains import serving
from sgp.errors import PddlError, PlanError, SuiteError
from sgp.files import write_text
from sgp.planning.experts import ExpertPlan
from sgp.planning.pddl import Problem, decoded, parse_plan, read_domain, read_text
from sgp.planning.pddl_syntax import normalise, printable
from sgp.planning.task import Task, Trajectory, checked
from sgp.progress import track

logger = logging.getLogger(__name__)

_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".bz2": bz2.decompress}
_DOMAIN = re.compile(r"\(\s*define\s*\(\s*domain(?=[\s()])\s*([^\s()]*)")
_DOMAIN_OF_PROBLEM = re.compile(r"\(\s*:domain\s+([^\s()]+)")
_LISTED = 3  # names in a message about ignored files
PLAIN_SPLIT = "problems"  # split of problem files beside their domain file
_DOMAIN_FILE = "domain"
_DOMAIN_FOLDER = "domains"  # beside a folder of problems, with a domain file for each of them
_SPLIT_NAMES = {"train": "train", "training": "train", "validation": "validation", "valid": "validation"}
_SPLIT_NAMES |= {f"{test}{split}": split for split in ("interpolation", "extrapolation") for test in ("test-", "")}
_NO_INSTANCES = {*_SPLIT_NAMES, "test", "testing", "easy", "medium", "hard"}  # names of folders that are splits


@dataclass(frozen=True)
class SourceFile:
    """A file: its path, the names of its folders below the root, and its name without `ending` and `packing`."""

    path: Path
    folders: tuple[str, ...]
    name: str
    ending: str
    packing: str

    @classmethod
    def at(cls, path: Path, folders: tuple[str, ...]) -> SourceFile:
        """The file at a path below these folders."""
        packing = path.suffix.lower() if path.suffix.lower() in _UNPACK else ""
        plain = Path(path.stem) if packing else Path(path.name)
        return cls(path, folders, plain.stem, plain.suffix.lower(), packing)

    @property
    def text(self) -> str:
        """The file's text, unpacked."""
        if not self.packing:
            return read_text(self.path)
        try:
            return decoded(_UNPACK[self.packing](self.path.read_bytes()))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise PddlError(
                f"cannot be unpacked as {self.packing} text ({error}); unpack it by hand or replace it", str(self.path)
            ) from error

    @cached_property
    def domain_text(self) -> str | None:
        """The text if it declares a domain, else None."""
        text = self.text
        return text if _DOMAIN.search(normalise(text)) else None

    @property
    def domain_name(self) -> str:
        """Name of the domain that the file declares or that its problem names, or ""."""
        text = normalise(self.text)
        found = _DOMAIN.search(text) or _DOMAIN_OF_PROBLEM.search(text)
        return found[1] if found else ""

    @property
    def place(self) -> str:
        """Path below the root, for messages."""
        return printable("/".join((*self.folders, self.path.name)))


class SourceTree:
    """All files below a folder except hidden ones. A linked folder is entered unless it contains the link."""

    def __init__(self, root: Path):
        self.root = root
        self.pddl: list[SourceFile] = []
        self.plans: dict[tuple[tuple[str, ...], str], list[SourceFile]] = {}  # by folders and name
        self.used: set[Path] = set()  # plans that belong to a problem
        self._ignored: dict[str, list[str]] = {}
        waiting: list[tuple[Path, tuple[str, ...], frozenset[Path]]] = [(root, (), frozenset())]
        while waiting:
            folder, folders, above = waiting.pop()
            try:
                entries = sorted(folder.iterdir())
            except OSError as error:
                raise SuiteError(
                    f"{folder} cannot be read ({error.strerror}); change its rights or remove it"
                ) from error
            above |= {folder.resolve()}
            for path in entries:
                file = SourceFile.at(path, folders)
                if path.name.startswith("."):
                    self.ignore("hidden files and folders", file.place)
                elif path.is_dir() and path.resolve() in above:
                    self.ignore("links to folders above them", file.place)
                elif path.is_dir():
                    waiting.append((path, (*folders, path.name), above))
                elif path.is_symlink() and not path.exists():
                    self.ignore("broken links", file.place)
                elif file.ending not in (".pddl", ".plan") or not path.is_file():
                    self.ignore("other files than .pddl and .plan", file.place)
                elif file.ending == ".pddl":
                    self.pddl.append(file)
                else:
                    self.plans.setdefault((folders, file.name), []).append(file)
        self.pddl.sort(key=_natural)

    def ignore(self, what: str, place: str) -> None:
        """Note that a file is ignored."""
        self._ignored.setdefault(what, []).append(place)

    def log(self) -> None:
        """Log the ignored files as warnings, a line for each kind, with their number and the first names."""
        for what, places in self._ignored.items():
            logger.warning("%s: ignored are %s: %s", self.root, what, listed(sorted(places)))


def listed(names: list[str]) -> str:
    """Number of names, and the first of them."""
    return f"{len(names)} ({', '.join(names[:_LISTED])}{', ...' if len(names) > _LISTED else ''})"


def _natural(file: SourceFile) -> tuple[tuple[int, str], ...]:
    """Sort key that puts p2 before p10."""
    parts = re.split(r"(\d+)", "/".join((*file.folders, file.path.name)))
    return tuple((int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts))


@dataclass
class _Source:
    """A future domain of the suite: its file, its folder, and its problem files."""

    file: SourceFile
    base: tuple[str, ...]
    problems: list[SourceFile] = field(default_factory=list)
    instances: set[tuple[str, ...]] = field(default_factory=set)  # folders that name the problem in them
    named: bool = False  # by its file instead of its folder


def import_folder(folder: Path | str, name: str, overwrite: bool = False) -> Suite:
    """Copy a folder of PDDL into the store as suite `name`.

    Layouts: `<domain>/domain.pddl` with `<domain>/<split>/*.pddl` and plans in `plans/<domain>/<split>/`; the IPC 2023
    learning track (`<domain>/training/easy`, `<domain>/testing/{easy,medium,hard}`); a domain file with problem files
    beside it; a folder for each instance, with a copy of the domain file; pddlgym's (`<domain>.pddl` beside folders
    `<domain>` and `<domain>_test`); a domain file for each problem, of the same number, beside them or in a folder
    `domains`. Ignored files are logged. If an error is raised, nothing is saved.
    """
    folder = Path(folder).resolve()
    target = home() / "suites" / name
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise SuiteError(f"suite name '{name}' is not usable; expected lower-case letters, digits, '.', '_' and '-'")
    if not folder.is_dir():
        raise SuiteError(f"{folder} is no folder; give the folder that holds the PDDL files")
    if name in list_suites() and not (overwrite and target.exists()):
        raise SuiteError(f"a suite '{name}' exists; choose another name, or --replace one that was imported")
    tree = SourceTree(folder)
    try:
        _copy(tree, target)
    finally:
        tree.log()
    return load_suite(name)


def suite_of_folder(folder: Path) -> Suite:
    """Import a folder under a name with the hash of its files, or return the suite that was imported before."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".pddl", ".plan"))
    digest = sha256_of("".join(f"{path.relative_to(folder)}\n{sha256_of(read_text(path))}\n" for path in files))[:12]
    plain = re.sub(r"[^a-z0-9.-]+", "-", folder.resolve().name.lower()).lstrip("-.") or "folder"
    name = f"{plain}-{digest}"
    return load_suite(name) if name in list_suites() else import_folder(folder, name)


def _copy(tree: SourceTree, target: Path) -> None:
    """Copy the domains, problems and plans of a folder to the folder of a suite."""
    sources, name = _sources(tree), target.name
    with draft_folder(target.parent, name) as draft:
        suite = Suite(
            name, draft, draft / ".experts", draft / "baselines", f"imported from {_text(str(tree.root))}", {}
        )
        copied: dict[str, SuiteDomain] = {}
        for source in sources:
            plain = source.file.name if source.named else (source.base or (tree.root.name,))[-1]
            domain = _free({*copied, MANIFEST}, plain, "-".join(source.base))
            copied[domain] = _copy_domain(tree, domain, source, suite)
        write_manifest(replace(suite, domains=copied))
        if read_suite(draft, draft).domains != copied:
            raise SuiteError(f"names in {tree.root} cannot be written to {MANIFEST}; rename files of unusual names")
        for plan in chain.from_iterable(tree.plans.values()):
            if plan.path not in tree.used:
                tree.ignore("plans without a problem of their name", plan.place)
        experts = home() / "experts" / name
        if suite.experts.is_dir():
            put_in_place(suite.experts, experts)
        else:
            shutil.rmtree(experts, ignore_errors=True)
        put_in_place(draft, target)


def _sources(tree: SourceTree) -> list[_Source]:
    """The domains of a folder with their problem files; copies of a domain file are one domain."""
    domains: dict[tuple[str, ...], list[SourceFile]] = {}
    problems = [file for file in tree.pddl if file.domain_text is None]
    for file in tree.pddl:
        if file.domain_text is not None:
            alone = file.folders not in {each.folders for each in problems}
            up = alone and file.folders[-1:] == (_DOMAIN_FOLDER,)
            domains.setdefault(file.folders[:-1] if up else file.folders, []).append(file)
    if not domains:
        raise SuiteError(f"{tree.root} holds no domain file; expected domain.pddl in it or in its subfolders")
    found: dict[Path, _Source] = {}
    for file in problems:
        above = next((place for place in _upwards(file.folders) if place in domains), None)
        if above is None:
            tree.ignore("problem files without a domain file in a folder above", file.place)
            continue
        domain = _domain_of(file, domains[above])
        source = found.setdefault(domain.path, _Source(domain, above))
        source.problems.append(file)
        source.named |= domain.name != _DOMAIN_FILE and _like(domain, file) != ""
    if not found:
        raise SuiteError(f"{tree.root} holds no problem files; expected *.pddl beside the domain file or in subfolders")
    joined = _joined(list(found.values()), domains)
    texts = {source.file.domain_text for source in joined}
    for file in chain.from_iterable(domains.values()):
        if file.path not in found and file.domain_text not in texts:
            tree.ignore("domain files without problems", file.place)
    in_folder = Counter(source.base for source in joined)
    for source in joined:
        source.named |= source.file.name != _DOMAIN_FILE and in_folder[source.base] > 1
    return joined


def _upwards(folders: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """A folder, then those above it."""
    return (folders[:depth] for depth in range(len(folders), -1, -1))


def _like(domain: SourceFile, problem: SourceFile) -> str:
    """The folder of a problem file beside its domain file if it is named as in pddlgym, else ""."""
    folder = problem.folders[len(domain.folders)] if len(problem.folders) > len(domain.folders) else ""
    return folder if folder in (domain.name, f"{domain.name}_test") else ""


def _domain_of(problem: SourceFile, candidates: list[SourceFile]) -> SourceFile:
    """The domain file of a problem among those of one folder. Raises SuiteError if it is ambiguous."""
    if len(candidates) == 1:
        return candidates[0]
    ways = (
        [each for each in candidates if _like(each, problem) == each.name],
        [each for each in candidates if _like(each, problem)],
        [each for each in candidates if each.name == _DOMAIN_FILE],
        [each for each in candidates if each.domain_name == problem.domain_name],
        [each for each in candidates if re.findall(r"\d+", each.name) == re.findall(r"\d+", problem.name)],
    )
    for found in ways:
        if len({each.domain_text for each in found}) == 1:
            return found[0]
    first, second = (each.path.name for each in candidates[:2])
    raise SuiteError(
        f"{candidates[0].path.parent} holds several domain files ({first}, {second}), and it is not clear "
        f"which of them {problem.place} belongs to; keep one, or name it domain.pddl"
    )


def _joined(sources: list[_Source], domains: Mapping[tuple[str, ...], list[SourceFile]]) -> list[_Source]:
    """The sources, with copies of a domain file in folders of instances or below another copy joined to one domain."""
    copies: dict[str | None, list[_Source]] = {}
    for source in sources:
        copies.setdefault(source.file.domain_text, []).append(source)
    found: dict[Path, _Source] = {}
    for text, group in copies.items():
        instances = [each for each in group if _is_instance(each, group)]
        parents = {each.base[:-1] for each in instances}
        base = tuple(names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*parents, strict=False)))
        while base and base[-1] in _NO_INSTANCES:
            base = base[:-1]
        for each in group:
            top, owner = each.base, each.file
            for place in _upwards(each.base[:-1]) if each.base else ():
                for copy in domains.get(place, ()):
                    if copy.domain_text == text:
                        top, owner = place, copy
            if len(instances) > 1 and len(base) < len(top) and each.base[: len(base)] == base:
                top, owner = base, instances[0].file
            into = found.setdefault(owner.path, _Source(owner, top))
            into.problems += each.problems
            if top == each.base:
                into.named |= each.named
            elif each.base[:-1] in parents and each.base[-1] not in _NO_INSTANCES:
                into.instances.add(each.base)
    return sorted(found.values(), key=lambda source: (source.base, source.file.path.name))


def _is_instance(source: _Source, copies: list[_Source]) -> bool:
    """Whether a folder holds a domain file and one problem file, is no split, and has no copies below it."""
    base = source.base
    if not base or base[-1] in _NO_INSTANCES or [each.folders for each in source.problems] != [base]:
        return False
    return not any(other is not source and other.base[: len(base)] == base for other in copies)


def _problem_files(source: _Source) -> dict[str, dict[str, SourceFile]]:
    """The problem files by split and name, the splits in the order of the paper, then by name."""
    found: dict[str, dict[str, SourceFile]] = {}
    renamed: list[str] = []
    beside = Counter(file.folders for file in source.problems)
    tested = source.named and any(_like(source.file, file).endswith("_test") for file in source.problems)
    for file in source.problems:
        folders, parts = file.folders[len(source.base) :], [file.name]
        like = _like(source.file, file) if source.named else ""
        if file.folders in source.instances:
            split, inner = _split_of(folders[:-1])
            parts = [folders[-1], *(parts if beside[file.folders] > 1 else ())]
        elif like == source.file.name:
            split, inner = _split_of((*(("train",) if tested else ()), *folders[1:]))
        elif like:
            split, inner = _split_of(("test", *folders[1:]))
        else:
            split, inner = _split_of(folders)
        split, name = _free({"domain.pddl"}, split), "-".join((*inner, *parts))
        free = _free(found.setdefault(split, {}), name, "-".join((*folders, file.name)))
        if free != _text(name):
            renamed.append(f"{file.place} as {free}")
        found[split][free] = file
    if renamed:
        many = f"saved under another name, because theirs is taken in their split: {listed(renamed)}"
        logger.warning("%s: problem files %s", source.file.path, many)
    order = {split: place for place, split in enumerate(SPLITS)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


def _split_of(folders: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The split named by a file's folders, and the other folders, which become part of the problem's name."""
    if not folders:
        return PLAIN_SPLIT, ()
    known = _SPLIT_NAMES.get(folders[0].lower())
    if known is None:
        return "-".join(folders), ()
    return known, () if len(folders) == 1 or folders[1:] == ("easy",) else folders[1:]


def _text(name: str) -> str:
    """A file's name as text that can name a file in the store: bytes that are no text are replaced."""
    return os.fsencode(name).decode("utf-8", "replace").lstrip(".") or "unnamed"


def _free(taken: Collection[str], *names: str) -> str:
    """The first name that is not taken, else the first one with a number."""
    wanted = [_text(name) for name in names if name]
    numbered = (f"{wanted[0]}-{number}" for number in count(2))
    return next(name for name in chain(wanted, numbered) if name not in taken)


def _copy_domain(tree: SourceTree, name: str, source: _Source, suite: Suite) -> SuiteDomain:
    file, pddl = source.file, source.file.text
    text = read_domain(pddl, str(file.path))
    write_text(suite.folder / name / "domain.pddl", pddl)
    remarks: list[str] = []
    splits: dict[str, tuple[Entry, ...]] = {}
    for split, found in _problem_files(source).items():
        entries: list[Entry] = []
        plans: list[ExpertPlan] = []
        distinct = Distinct(text)
        for problem_name, source_file in track(found.items(), f"import {name} {split}", len(found)):
            problem = Problem(problem_name, pddl, source_file.text, str(file.path), str(source_file.path))
            _, declared = checked(problem)
            problem.with_whole_costs()  # raises where experts could not plan for it
            remarks += declared.remarks
            size = len(text.constants) + len(declared.objects)
            first = distinct.first(problem_name, declared)
            like = "" if first == problem_name else first
            entries.append(Entry(problem_name, size, sha256_of(problem.problem_pddl), like))
            write_text(suite.folder / name / split / f"{problem_name}.pddl", problem.problem_pddl)
            plans += _plan_beside(tree, source, source_file, problem)
        splits[split] = tuple(entries)
        if plans:
            write_plans(suite.experts / name / f"{split}.jsonl", plans)
    _log(text.remarks, remarks)
    built_in = serving(text)
    return SuiteDomain(name, built_in.name if built_in else "", sha256_of(pddl), splits)


def _log(of_domain: Iterable[str], of_problems: Iterable[str]) -> None:
    """Log the remarks on a domain file and its problem files; of each kind only the first problem file's."""
    kinds: dict[str, list[str]] = {remark: [remark] for remark in of_domain}
    for remark in of_problems:
        kinds.setdefault(re.sub(r" \(and \d+ more\)$", "", remark.partition(": ")[2]), []).append(remark)
    for first, *others in kinds.values():
        logger.warning("%s%s", first, f"; so in {len(others) + 1} problem files" if others else "")


def _plan_beside(tree: SourceTree, source: _Source, of: SourceFile, problem: Problem) -> Iterable[ExpertPlan]:
    """The expert plan beside a problem, or in a folder `plans` laid out like the problems."""
    place = "plans", (source.base or (tree.root.name,))[-1], *of.folders[len(source.base) :]
    files = [each for folders in (place, of.folders) for each in tree.plans.get((folders, of.name), ())]
    outside = tree.root.parent.joinpath(*place, f"{of.name}.plan")
    for file in [*files, *([SourceFile.at(outside, ())] if outside.is_file() else [])]:
        tree.used.add(file.path)
        try:
            plan = parse_plan(file.text, str(file.path))
            Trajectory.of(Task(problem), plan)
        except PlanError as error:
            warnings.warn(f"{file.path} is left out: {error}", stacklevel=2)
            continue
        yield ExpertPlan(problem.name, problem.sha256, plan, "imported", file.path.name, 0.0)
        return
