"""Where things lie: data that come with the package, and everything that a user makes."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from sgp.errors import StoreError
from sgp.installed import bundled


def data_folder() -> Path:
    """The data that come with the package. Raises StoreError where they are missing."""
    return bundled("data")


def home() -> Path:
    """The folder of runs, imported suites and caches: `SGP_HOME`, else the user's folder for data of programs.

    Raises StoreError where that is not known, because the user has no home.
    """
    chosen = os.environ.get("SGP_HOME", "")
    try:
        return Path(chosen).expanduser().resolve() if chosen else platformdirs.user_data_path("sgp", appauthor=False)
    except RuntimeError as error:  # pathlib's, where neither HOME nor the list of users names a home
        raise StoreError(
            f"user {os.getuid()} has no home, so there is no folder for runs and caches; set SGP_HOME or HOME to one"
        ) from error


def cache_folder() -> Path:
    """The folder of results that can be made again."""
    return home() / "cache"
