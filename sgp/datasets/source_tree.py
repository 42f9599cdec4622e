"""The files of PDDL below a folder: links are entered, compressed files read, and what is passed over is reported."""

from __future__ import annotations

import bz2
import gzip
import logging
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sgp.errors import PddlError, SuiteError
from sgp.planning.pddl import decoded, read_text
from sgp.planning.pddl_syntax import normalise, printable

logger = logging.getLogger(__name__)

_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".bz2": bz2.decompress}
_DOMAIN = re.compile(r"\(\s*define\s*\(\s*domain(?=[\s()])\s*([^\s()]*)")
_DOMAIN_OF_PROBLEM = re.compile(r"\(\s*:domain\s+([^\s()]+)")
_LISTED = 3  # of what is passed over


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
        """The file at a path."""
        packing = path.suffix.lower() if path.suffix.lower() in _UNPACK else ""
        plain = Path(path.stem) if packing else Path(path.name)
        return cls(path, folders, plain.stem, plain.suffix.lower(), packing)

    @property
    def text(self) -> str:
        """What it holds. Raises PddlError where it cannot be read, unpacked or is no text."""
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
        """The text where it declares a domain; None where it declares none."""
        text = self.text
        return text if _DOMAIN.search(normalise(text)) else None

    @property
    def domain_name(self) -> str:
        """The name of the domain that it declares or that its problem is of, "" where there is none."""
        text = normalise(self.text)
        found = _DOMAIN.search(text) or _DOMAIN_OF_PROBLEM.search(text)
        return found[1] if found else ""

    @property
    def place(self) -> str:
        """Where it is below the root, for people."""
        return printable("/".join((*self.folders, self.path.name)))


class SourceTree:
    """All files below a folder, but for hidden ones. A linked folder is entered unless it is one that it stands in.

    Raises SuiteError for a folder that cannot be read.
    """

    def __init__(self, root: Path):
        self.root = root
        self.pddl: list[SourceFile] = []
        self.plans: dict[tuple[tuple[str, ...], str], list[SourceFile]] = {}  # by folders and name
        self.used: set[Path] = set()  # of the plans
        self._passed_over: dict[str, list[str]] = {}
        self._read()
        self.pddl.sort(key=_natural)

    def _read(self) -> None:
        waiting: list[tuple[Path, tuple[str, ...], frozenset[Path]]] = [(self.root, (), frozenset())]
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
                    self.pass_over("hidden files and folders", file.place)
                elif path.is_dir() and path.resolve() in above:
                    self.pass_over("links to folders that they stand in", file.place)
                elif path.is_dir():
                    waiting.append((path, (*folders, path.name), above))
                elif path.is_symlink() and not path.exists():
                    self.pass_over("broken links", file.place)
                elif file.ending not in (".pddl", ".plan") or not path.is_file():
                    self.pass_over("other files than .pddl and .plan", file.place)
                elif file.ending == ".pddl":
                    self.pddl.append(file)
                else:
                    self.plans.setdefault((folders, file.name), []).append(file)

    def pass_over(self, what: str, place: str) -> None:
        """Takes down that something is not read."""
        self._passed_over.setdefault(what, []).append(place)

    def log(self) -> None:
        """Logs what was passed over as warnings, a line for each kind, with its number and the first names."""
        for what, places in self._passed_over.items():
            logger.warning("%s: passed over are %s: %s", self.root, what, listed(sorted(places)))


def listed(names: list[str]) -> str:
    """How many names there are, and the first of them."""
    return f"{len(names)} ({', '.join(names[:_LISTED])}{', ...' if len(names) > _LISTED else ''})"


def _natural(file: SourceFile) -> tuple[tuple[int, str], ...]:
    """Sorts p2 before p10."""
    parts = re.split(r"(\d+)", "/".join((*file.folders, file.path.name)))
    return tuple((int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts))
