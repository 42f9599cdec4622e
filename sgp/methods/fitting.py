"""The trained run that plans in a domain: one of those that come with the package, or else the user's latest."""

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
from sgp.planning.subject import learned_from_all

logger = logging.getLogger(__name__)


def shipped_folder() -> Path:
    """Where the trained runs lie that come with the package, a folder each; 'sgp ship' makes them.

    Raises StoreError where the package's data are missing.
    """
    return data_folder() / "planners"


def shipped_folders() -> list[Path]:
    """The folders of the trained runs that come with the package. Raises StoreError where its data are missing."""
    return sorted(path.parent for path in shipped_folder().glob(f"[!.]*/{RECORD}"))


def is_shipped(run: Run) -> bool:
    """Whether a run came with the package, so that nothing is written beside it."""
    return run.folder.resolve().is_relative_to(shipped_folder())


def fitting_run(domain: DomainText, name: str) -> Run:
    """The run whose domain has these predicates and actions: a shipped one, or the user's latest.

    Runs that left training problems out are none of these, nor those of models of transitions, which plan where they
    are asked to. One that is damaged, or whose method is not installed, is
    passed over with a warning. Raises DomainMismatch where there is none, with the commands that train one for the
    domain of this `name`, and StoreError where the package's data are missing.
    """
    likely = sorted(shipped_folders(), key=lambda folder: folder.name != name.lower())  # to open few of them
    for run in _fitting(likely, domain):
        return run
    own = (run for run in _fitting(run_folders(), domain) if learned_from_all(run.key.variant))
    latest = max(own, key=lambda run: str(run.record["trained"]), default=None)
    if latest is not None:
        return latest
    if domain.alone:
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
        except (StoreError, InputError) as error:  # damaged; of a method that is not here, or that does not plan
            logger.warning("%s", error)
