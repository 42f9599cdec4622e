"""The command line: each verb is a thin call of the facade, in a file by its subject."""

from __future__ import annotations

import importlib

from sgp.cli.verbs import app
from sgp.workers import compute_with_one_thread

SUBJECTS = ("watching", "data", "training", "solving", "measuring", "experimenting", "reporting")
for _subject in SUBJECTS:
    importlib.import_module(f"{__name__}.{_subject}")  # registers its verbs


def main() -> None:
    """The entry point of the command `sgp`."""
    compute_with_one_thread()
    app()
