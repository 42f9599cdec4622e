"""Files written whole: an interrupted command leaves the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sgp.errors import StoreError


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the name of `path` when the block ends without an error.

    Raises StoreError where the disk is full or the folder cannot be written.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(f"no space left while writing {target}; free some and run the command again") from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
            raise StoreError(f"{target} cannot be written ({error.strerror}); choose another folder") from error
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Writes a text file whole."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    """Writes a JSON file whole, indented, for people to read too."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path | str) -> Any:
    """The value of a JSON file. Raises StoreError where it is missing or no JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; make it again or give another path") from error
    except (ValueError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} is no complete JSON ({error}); it was cut or changed: make it again") from error
