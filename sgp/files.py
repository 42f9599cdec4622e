"""Files written whole: an interrupted command leaves the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sgp.errors import SgpError, StoreError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENXIO, errno.EIO, errno.EPIPE, errno.EBADF, errno.EINVAL),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
)
_OPEN = re.compile(r"/(?:dev|proc/[^/]+)/fd/(\d+)|/dev/std(in|out|err)")  # what this process has open
_STANDARD = {"in": 0, "out": 1, "err": 2}
_LONGEST = 64  # characters of a file's name that its temporary name has in it


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """A temporary path to write to; `path` gets what was written when the block ends without an error.

    It stands beside `path` and takes its name in one step. A link stays, and the file that it leads to is replaced; a
    device or pipe stays and is written to. Raises StoreError where the disk is full, a file may not be so large, or
    the place cannot be written.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        stays = _stays(target)
        folder = None if stays else target.resolve().parent
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:_LONGEST]}.", suffix=target.suffix, dir=folder)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        if stays:
            with temporary.open("rb") as source, _opened(target) as sink:
                shutil.copyfileobj(source, sink)
        else:
            temporary.chmod(0o644)
            temporary.replace(target.resolve())
    except SgpError:
        raise
    except Exception as error:
        _explain(error, target)
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def remove_old(path: Path | str) -> None:
    """Removes the file that `whole_file` would replace, so that nobody takes it for a new one; a device or pipe stays.

    Raises StoreError where the place cannot be written.
    """
    target = Path(path)
    try:
        if not _stays(target):
            target.resolve().unlink(missing_ok=True)
    except OSError as error:
        _explain(error, target)
        raise


def _stays(target: Path) -> bool:
    """Whether a path is no file that another could take the place of: a device, a pipe, what this process has open."""
    if _OPEN.fullmatch(os.path.abspath(target)):
        return True
    return target.exists() and not target.is_file() and not target.is_dir()


def _opened(target: Path) -> BinaryIO:
    """A device, or what this process has open under a number: opened anew it would be written from its beginning."""
    found = _OPEN.fullmatch(os.path.abspath(target))
    if found is None:
        return target.open("wb")
    sys.stdout.flush()
    return os.fdopen(os.dup(_STANDARD[found[2]] if found[2] else int(found[1])), "wb")


def _explain(error: Exception, target: Path) -> None:
    """Raises StoreError for an error of the system, also one that a library written in Rust tells as text alone."""
    told = re.search(r"\(os error (\d+)\)", str(error))
    code = error.errno if isinstance(error, OSError) else told and int(told[1])
    if code in _FULL:
        raise StoreError(f"no space left while writing {target}; free some and run the command again") from error
    if code == errno.EFBIG:
        raise StoreError(
            f"{target} is larger than this process may write; raise the limit ('ulimit -f') and run the command again"
        ) from error
    if code in _REFUSED:
        raise StoreError(f"{target} cannot be written ({os.strerror(code)}); choose another place") from error


def write_text(path: Path | str, text: str) -> None:
    """Writes a text file whole."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Writes a JSON file whole, indented, for people to read too."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for other text, also for NaN and Infinity, which JSON has not."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def read_json(path: Path | str) -> Any:
    """The value of a JSON file. Raises StoreError where it is missing or no JSON."""
    try:
        return parse_json(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; make it again or give another path") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is no complete JSON ({error}); it was cut or changed: make it again") from error
