"""Lookup of the trained run for a domain: a run shipped with the package, or else the user's latest."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote

from sgp.datasets.runs import RECORD, Run, open_run, run_folders
from sgp.datasets.store import data_folder
from sgp.errors import DomainMismatch, InputError, StoreError
from sgp.methods import planning_method
from sgp.methods.contract import PredictingMethod
from sgp.planning.declarations import DomainText
from sgp.planning.subject import Variant

logger = logging.getLogger(__name__)


def shipped_folder() -> Path:
    """Return the folder of the runs shipped with the package, which `sgp.experiments.bundle` makes."""
    return data_folder() / "planners"


def shipped_folders() -> list[Path]:
    """Return the folders of the runs shipped with the package."""
    return sorted(path.parent for path in shipped_folder().glob(f"[!.]*/{RECORD}"))


def is_shipped(run: Run) -> bool:
    """Return whether a run was shipped with the package, so that nothing is written beside it."""
    return run.folder.resolve().is_relative_to(shipped_folder())


def find_run_for_domain(domain: DomainText, name: str) -> Run:
    """Return the run whose domain has the same predicates and actions: a shipped one, or else the user's latest.

    Runs trained on a part of the training problems and runs of transition models are skipped. A run that is damaged, or
    whose method is not installed, is skipped with a warning. Raises DomainMismatch where there is no run; the message
    gives the commands that train one for the domain `name`.
    """
    likely = sorted(shipped_folders(), key=lambda folder: folder.name != name.lower())  # likely first: opens few runs
    for run in _fitting(likely, domain):
        return run
    own = (run for run in _fitting(run_folders(), domain) if Variant.parse(run.key.variant).learned_from_all)
    latest = max(own, key=lambda run: str(run.record["trained"]), default=None)
    if latest is not None:
        return latest
    if domain.problem_specific:
        raise DomainMismatch(
            f"no trained run plans in domain {name}, and none can be trained on it, because its quantifiers range over "
            "a problem's objects; train one on a domain file with the same predicates and actions without them"
        )
    raise DomainMismatch(
        f"no trained run plans in domain {name}; train one: 'sgp import FOLDER --suite mine' with a folder of small "
        f"problems, then 'sgp train --method contrastive-jumps --domain {quote(name)} --suite mine'"
    )


def _fitting(folders: Iterable[Path], domain: DomainText) -> Iterator[Run]:
    for folder in folders:
        try:
            run = open_run(folder)
            fits = len(run.record["domains"]) == 1 and run.domain_text.signature == domain.signature
            if fits and not isinstance(planning_method(run.key.method), PredictingMethod):
                yield run
        except (StoreError, InputError) as error:  # damaged, or of a method that is not installed or cannot plan
            logger.warning("%s", error)
