"""Atomic writing of files: an interrupted command leaves the old or the new file."""

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
_OPEN = re.compile(r"/(?:dev|proc/[^/]+)/fd/(\d+)|/dev/std(in|out|err)")  # open file descriptors of this process
_STANDARD = {"in": 0, "out": 1, "err": 2}
_LONGEST = 64  # characters of a file's name in the name of its temporary file


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` if the block ends without an error.

    For a symbolic link its target is replaced; a device or pipe is written to. Raises StoreError if it cannot be
    written.
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
    """Remove the outdated file that `whole_file` would replace, but no device or pipe."""
    target = Path(path)
    try:
        if not _stays(target):
            target.resolve().unlink(missing_ok=True)
    except OSError as error:
        _explain(error, target)
        raise


def _stays(target: Path) -> bool:
    """Whether a path cannot be replaced: a device, a pipe, or an open file descriptor."""
    if _OPEN.fullmatch(os.path.abspath(target)):
        return True
    return target.exists() and not target.is_file() and not target.is_dir()


def _opened(target: Path) -> BinaryIO:
    """Open a device for writing; duplicate an open descriptor, since reopening it would write from the start."""
    found = _OPEN.fullmatch(os.path.abspath(target))
    if found is None:
        return target.open("wb")
    sys.stdout.flush()
    return os.fdopen(os.dup(_STANDARD[found[2]] if found[2] else int(found[1])), "wb")


def _explain(error: Exception, target: Path) -> None:
    """Raise StoreError for a known operating system error, including Rust libraries' messages `(os error N)`."""
    match = re.search(r"\(os error (\d+)\)", str(error))
    code = error.errno if isinstance(error, OSError) else match and int(match[1])
    if code in _FULL:
        raise StoreError(f"no space left while writing {target}; free some and run the command again") from error
    if code == errno.EFBIG:
        raise StoreError(
            f"{target} is larger than this process may write; raise the limit ('ulimit -f') and run the command again"
        ) from error
    if code in _REFUSED:
        raise StoreError(f"{target} cannot be written ({os.strerror(code)}); choose another place") from error


def write_text(path: Path | str, text: str) -> None:
    """Write a text file atomically."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Write an indented JSON file atomically."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def parse_json(text: str) -> Any:
    """Parse JSON strictly. Raises ValueError for invalid text, including NaN and Infinity."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def read_json(path: Path | str) -> Any:
    """Read a JSON file. Raises StoreError if it is missing or invalid."""
    try:
        return parse_json(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; make it again or give another path") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is no complete JSON ({error}); it was cut or changed: make it again") from error
