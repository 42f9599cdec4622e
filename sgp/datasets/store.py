"""Folders of the bundled data and of the user's runs, imported suites and caches."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from sgp.errors import StoreError
from sgp.installed import bundled


def data_folder() -> Path:
    """Folder of the bundled data. Raises StoreError if it is missing."""
    return bundled("data")


def home() -> Path:
    """Folder of runs, imported suites and caches: `SGP_HOME`, or else the data folder of the user's platform."""
    chosen = os.environ.get("SGP_HOME", "")
    try:
        if chosen:
            return Path(chosen).expanduser().resolve()
        return platformdirs.user_data_path("sgp", appauthor=False).expanduser()  # older releases leave the '~'
    except RuntimeError as error:  # if neither HOME nor the user database names a home
        raise StoreError(
            f"user {os.getuid()} has no home, so there is no folder for runs and caches; set SGP_HOME or HOME to one"
        ) from error


def cache_folder() -> Path:
    """Folder of cached results, which can be recomputed."""
    return home() / "cache"
