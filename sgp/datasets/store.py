"""Where things lie: bundled data in the checkout, everything made by a user under `SGP_HOME`."""

from __future__ import annotations

import os
from pathlib import Path

from sgp.errors import StoreError

_CHECKOUT = Path(__file__).resolve().parents[2]


def data_folder() -> Path:
    """The checkout's `data/`. Raises StoreError where the package does not stand in a checkout."""
    folder = _CHECKOUT / "data"
    if not (folder / "benchmarks").is_dir():
        raise StoreError(
            f"the bundled problems are missing at {folder}; install the package from its checkout: 'pip install -e .'"
        )
    return folder


def home() -> Path:
    """The folder of runs, imported suites and caches: `SGP_HOME`, else `runs/` in the checkout."""
    chosen = os.environ.get("SGP_HOME", "")
    return Path(chosen).expanduser().resolve() if chosen else _CHECKOUT / "runs"


def cache_folder() -> Path:
    """The folder of results that can be made again."""
    return home() / "cache"
