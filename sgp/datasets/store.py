"""Where things lie: data that come with the package, and everything that a user makes."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from sgp.installed import bundled


def data_folder() -> Path:
    """The data that come with the package. Raises StoreError where they are missing."""
    return bundled("data")


def home() -> Path:
    """The folder of runs, imported suites and caches: `SGP_HOME`, else the user's folder for data of programs."""
    chosen = os.environ.get("SGP_HOME", "")
    return Path(chosen).expanduser().resolve() if chosen else platformdirs.user_data_path("sgp", appauthor=False)


def cache_folder() -> Path:
    """The folder of results that can be made again."""
    return home() / "cache"
