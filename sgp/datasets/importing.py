"""Folders of PDDL become suites."""

from __future__ import annotations

import logging
import re
import shutil
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sgp.datasets.experts import write_plans
from sgp.datasets.folders import draft_folder, put_in_place
from sgp.datasets.renaming import Distinct
from sgp.datasets.store import home
from sgp.datasets.suite import SPLITS, Entry, Suite, SuiteDomain, load_suite, sha256_of, suite_names, write_manifest
from sgp.domains import serving
from sgp.errors import PlanError, SuiteError
from sgp.files import write_text
from sgp.planning.experts import ExpertPlan
from sgp.planning.pddl import Problem, parse_plan, read_domain, read_text
from sgp.planning.task import Task, checked
from sgp.planning.trajectory import Trajectory
from sgp.progress import track

logger = logging.getLogger(__name__)

PLAIN_SPLIT = "problems"  # problem files that stand beside their domain file
_SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "test-interpolation": "interpolation",
    "interpolation": "interpolation",
    "test-extrapolation": "extrapolation",
    "extrapolation": "extrapolation",
}


@dataclass(frozen=True)
class _Found:
    """A problem file: the split it belongs to, its name there, and the folder names between domain and file."""

    path: Path
    split: str
    name: str
    folders: tuple[str, ...]


def import_folder(folder: Path, name: str, overwrite: bool = False) -> Suite:
    """Copies a folder of PDDL into the store as suite `name`.

    Known layouts: `<domain>/domain.pddl` with `<domain>/<split>/*.pddl` and plans in `plans/<domain>/<split>/`; the
    IPC 2023 learning track (`<domain>/training/easy`, `<domain>/testing/{easy,medium,hard}`); a domain file with
    problem files beside it. Raises SuiteError for a folder without problems or a name that is taken, PddlError for a
    file that cannot be read, StoreError where the store cannot be written; nothing is kept then.
    """
    folder = folder.resolve()
    target = home() / "suites" / name
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise SuiteError(f"suite name '{name}' is not usable; expected lower-case letters, digits, '.', '_' and '-'")
    if not folder.is_dir():
        raise SuiteError(f"{folder} is no folder; give the folder that holds the PDDL files")
    if name in suite_names() and not (overwrite and target.exists()):
        raise SuiteError(f"a suite '{name}' exists; choose another name, or --replace one that was imported")
    with draft_folder(target.parent, name) as draft:
        suite = Suite(name, draft, draft / "experts", draft / "baselines", f"imported from {folder}", {})
        domains = {path.parent.name: path for path in _domain_files(folder)}
        copied = {domain: _copy_domain(folder, path, suite) for domain, path in domains.items()}
        write_manifest(replace(suite, domains=copied))
        experts = home() / "experts" / name
        if suite.experts.is_dir():
            put_in_place(suite.experts, experts)
        else:
            shutil.rmtree(experts, ignore_errors=True)
        put_in_place(draft, target)
    return load_suite(name)


def _domain_files(folder: Path) -> list[Path]:
    """The domain file of the folder itself, or those of its subfolders."""
    own = _domain_file(folder)
    if own is not None:
        return [own]
    found = [path for sub in sorted(folder.iterdir()) if sub.is_dir() and (path := _domain_file(sub)) is not None]
    if not found:
        raise SuiteError(f"{folder} holds no domain file; expected domain.pddl in it or in its subfolders")
    return found


def _domain_file(folder: Path) -> Path | None:
    if (folder / "domain.pddl").is_file():
        return folder / "domain.pddl"
    found = [path for path in sorted(folder.glob("*.pddl")) if _declares_domain(path)]
    if len(found) > 1:
        raise SuiteError(
            f"{folder} holds several domain files ({found[0].name}, {found[1].name}); keep one, or name it domain.pddl"
        )
    return found[0] if found else None


def _declares_domain(path: Path) -> bool:
    return re.search(r"\(\s*define\s*\(\s*domain\b", read_text(path), re.IGNORECASE) is not None


def _copy_domain(root: Path, domain_file: Path, suite: Suite) -> SuiteDomain:
    name = domain_file.parent.name
    pddl = read_text(domain_file)
    text = read_domain(pddl, str(domain_file))
    write_text(suite.folder / name / "domain.pddl", pddl)
    remarks = _Remarks(text.remarks)
    splits: dict[str, tuple[Entry, ...]] = {}
    found = _problem_files(domain_file)
    if not found:
        raise SuiteError(
            f"{domain_file.parent} holds no problem files; expected *.pddl beside the domain file or in subfolders"
        )
    for split, files in found.items():
        entries: list[Entry] = []
        plans: list[ExpertPlan] = []
        distinct = Distinct(text)
        for file in track(files, f"import {name} {split}"):
            problem = Problem(file.name, pddl, read_text(file.path), str(domain_file), str(file.path))
            _, declared = checked(problem)
            remarks.add(declared.remarks)
            size = len(text.constants) + len(declared.objects)
            first = distinct.first(file.name, declared)
            like = "" if first == file.name else first
            entries.append(Entry(file.name, size, sha256_of(problem.problem_pddl), like))
            write_text(suite.folder / name / split / f"{file.name}.pddl", problem.problem_pddl)
            plans += _plan_beside(root, name, file, problem)
        splits[split] = tuple(entries)
        if plans:
            write_plans(suite.experts / name / f"{split}.jsonl", plans)
    remarks.log()
    house = serving(text)
    return SuiteDomain(name, house.name if house else "", sha256_of(pddl), splits)


class _Remarks:
    """What the readers noticed in a domain file and its problem files; of each kind the first problem file's."""

    def __init__(self, of_domain: Iterable[str]):
        self._of_domain = tuple(of_domain)
        self._of_problems: dict[str, list[str]] = {}

    def add(self, remarks: Iterable[str]) -> None:
        """Takes in those of one problem file."""
        for remark in remarks:
            kind = re.sub(r" \(and \d+ more\)$", "", remark.partition(": ")[2])
            self._of_problems.setdefault(kind, []).append(remark)

    def log(self) -> None:
        """Logs them as warnings."""
        for remark in self._of_domain:
            logger.warning("%s", remark)
        for remarks in self._of_problems.values():
            logger.warning("%s%s", remarks[0], f"; so in {len(remarks)} problem files" if len(remarks) > 1 else "")


def _problem_files(domain_file: Path) -> Mapping[str, list[_Found]]:
    """The problem files by split, in the order of the paper's splits, then of their names."""
    root = domain_file.parent
    found: dict[str, list[_Found]] = {}
    for path in sorted(root.rglob("*.pddl"), key=_natural):
        folders = path.relative_to(root).parts[:-1]
        if path == domain_file or _declares_domain(path):
            continue
        split, inner = _split_of(folders)
        found.setdefault(split, []).append(_Found(path, split, "-".join((*inner, path.stem)), folders))
    order = {split: place for place, split in enumerate(SPLITS)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


def _split_of(folders: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The split that a file's folders stand for, and the folders that do not tell it (part of the problem's name)."""
    if not folders:
        return PLAIN_SPLIT, ()
    known = _SPLIT_NAMES.get(folders[0].lower())
    if known is None:
        return "-".join(folders), ()
    return known, () if len(folders) == 1 or folders[1:] == ("easy",) else folders[1:]


def _natural(path: Path) -> tuple[object, ...]:
    """Sorts p2 before p10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path)))


def _plan_beside(root: Path, domain: str, file: _Found, problem: Problem) -> Iterable[ExpertPlan]:
    """The expert plan that stands beside a problem, or in a folder `plans` laid out like the problems."""
    places = [base / "plans" / domain / Path(*file.folders) for base in (root, root.parent)]
    for place in (*places, file.path.parent):
        path = place / f"{file.path.stem}.plan"
        if not path.is_file():
            continue
        try:
            plan = parse_plan(read_text(path), str(path))
            Trajectory.of(Task(problem), plan)
        except PlanError as error:
            warnings.warn(f"{path} is left out: {error}", stacklevel=2)
            continue
        yield ExpertPlan(problem.name, problem.sha256, plan, "imported", path.name, 0.0)
        return
