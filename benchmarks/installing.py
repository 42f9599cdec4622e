"""Installed size of the package by extras, and the CPU time of installing it.

Each installation uses a new environment without pip, from this checkout; pip's download cache is used.

    python benchmarks/installing.py --csv data/measured/installing.csv
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import add_csv, note, write

from sgp.evaluation.scores import Score

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("", "trees", "networks", "text", "dashboard", "dashboard,trees", "all")
MEGABYTE = 1e6  # bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", nargs="*", default=EXTRAS, help="of the package; '' is the core")
    add_csv(parser)
    arguments = parser.parse_args()
    found = []
    for extra in arguments.extras:
        found += installed(extra)
        print(f"{extra or 'core'}: {found[-2].value:,.0f} MB, {found[-1].value:.0f} s of processor time", flush=True)
    write(arguments.csv, found)


def installed(extra: str) -> Iterator[Score]:
    """Return megabytes of installed files and CPU seconds of pip."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        started = _seconds()
        wanted = f"{ROOT}[{extra}]" if extra else str(ROOT)
        pip = [sys.executable, "-m", "pip", "--python", str(Path(folder, "bin", "python")), "install", "-q", wanted]
        subprocess.run(pip, check=True)
        seconds = _seconds() - started
        size = sum(path.lstat().st_size for path in Path(folder).rglob("*") if not path.is_dir())
    for metric, value in (("megabytes", size / MEGABYTE), ("processor_seconds", seconds)):
        yield Score(variant=extra or "core", metric=metric, value=value, n=1, note=note())


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
