"""Export a run as one ZIP archive and import it again."""

from __future__ import annotations

import errno
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sgp.datasets.folders import draft_folder, put_in_place
from sgp.datasets.runs import CARD, RECORD, Run, open_run
from sgp.datasets.store import home
from sgp.errors import ConfigurationError, InputError, StoreError
from sgp.files import whole_file

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
