"""Loading of planners and transition models from runs, and lookup of the trained run for a domain."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from sgp.datasets.runs import RECORD, Run, open_run, run_folders
from sgp.datasets.store import data_folder
from sgp.datasets.subject import Variant
from sgp.errors import ConfigurationError, DomainMismatch, InputError, StoreError
from sgp.methods import get_method, planning_method
from sgp.methods.configuration import configure_decoding, own_decoding
from sgp.methods.contract import PredictingMethod
from sgp.planning.declarations import DomainText
from sgp.planning.planner import Planner
from sgp.planning.strategies import OtherPlanner, Restarts
from sgp.policies.decoding import DEFAULT
from sgp.policies.embedding import TransitionModel

logger = logging.getLogger(__name__)

Loaded = TypeVar("Loaded")
_LOADED: OrderedDict[tuple[str, str, str], Any] = OrderedDict()  # planners and models by folder, run hash and kind
_MOST_LOADED = 32


def load_planner(run: Run | Path | str, decoding: str = DEFAULT) -> Planner:
    """Load and verify the planner of a run or its folder, with a decoding as in `default` or `default+beam=1`.

    The decoding "default" is the one that validated the run, where its training names one. Raises StoreError where a
    file is damaged or of another version, InputError where the method makes no planners, ConfigurationError for an
    unknown decoding or one that conflicts with the training.
    """
    run = open_run(run)
    method = planning_method(run.key.method)

    def load() -> Planner:
        return method.load(run, configure_decoding(method, own_decoding(run.training, decoding))[1])

    return _cached(run, f"planner {decoding}", load)


def source_of(planner: Planner) -> tuple[str, str]:
    """Return the folder and the decoding that a planner was loaded from."""
    for (folder, _, what), loaded in _LOADED.items():
        if loaded is planner:
            return folder, what.removeprefix("planner ")
    raise InputError(
        f"{planner!r} was not loaded from a run; give the run, or register its policy with 'sgp.register_policy'"
    )


def load_portfolio(
    runs: Sequence[Run | Path | str], decoding: str = DEFAULT, restarts: int = 20, seed: int = 0
) -> Planner:
    """Load several runs as a portfolio: the planners try a problem one after the other, then restart with noise.

    Give the best run first. `restarts` is the number of restarts, used where no limit ends them. Raises DomainMismatch
    where the runs were trained on different domains; other errors as in `load_planner`.
    """
    opened = [open_run(run) for run in ([runs] if isinstance(runs, Run | Path | str) else runs)]
    if not opened:
        raise ConfigurationError("no run is given; expected some, or their folders")
    for run in opened[1:]:
        if run.domain_text.signature != opened[0].domain_text.signature:
            raise DomainMismatch(
                f"{opened[0].folder} was trained on {opened[0].key.domain} and {run.folder} on {run.key.domain}, which "
                f"{opened[0].domain_text.difference(run.domain_text)}; a portfolio needs runs of one domain"
            )
    first, *others = (load_planner(run, decoding) for run in opened)
    fallbacks = [OtherPlanner(other, number) for number, other in enumerate(others, 2)]
    return replace(first, fallbacks=(*fallbacks, Restarts(restarts, seed)))


def load_model(run: Run | Path | str) -> TransitionModel:
    """Load and verify the transition model of a run or its folder.

    Raises StoreError where a file is damaged or of another version, InputError where the method makes no transition
    models.
    """
    run = open_run(run)
    method = get_method(run.key.method)
    if not isinstance(method, PredictingMethod):
        raise InputError(
            f"{run.folder} holds a planner of method {run.key.method}, not a model of transitions; load it with "
            "'load_planner'"
        )
    return _cached(run, "model", lambda: method.load_model(run))


def require_loadable(run: Run) -> None:
    """Load the planner or model of a run and raise the loading error, if any."""
    if isinstance(get_method(run.key.method), PredictingMethod):
        load_model(run)
    else:
        load_planner(run)


def forget() -> None:
    """Clear the cache of loaded runs, so that they are read from disk again."""
    _LOADED.clear()


def _cached(run: Run, what: str, load: Callable[[], Loaded]) -> Loaded:
    """Return the planner or model of a run, cached by the run's folder and hash."""
    place = str(run.folder), run.sha256, what
    if place not in _LOADED:
        try:
            _LOADED[place] = load()
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # the record is of another version
            raise StoreError(
                f"{run.folder} holds a record that {run.key.method} cannot load ({error!r}); train it again"
            ) from error
        if len(_LOADED) > _MOST_LOADED:
            _LOADED.popitem(last=False)
    _LOADED.move_to_end(place)
    loaded: Loaded = _LOADED[place]
    return loaded


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
    for run in _runs_of_domain(likely, domain):
        return run
    own = (run for run in _runs_of_domain(run_folders(), domain) if Variant.parse(run.key.variant).learned_from_all)
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


def _runs_of_domain(folders: Iterable[Path], domain: DomainText) -> Iterator[Run]:
    for folder in folders:
        try:
            run = open_run(folder)
            fits = len(run.record["domains"]) == 1 and run.domain_text.signature == domain.signature
            if fits and not isinstance(planning_method(run.key.method), PredictingMethod):
                yield run
        except (StoreError, InputError) as error:  # damaged, or of a method that is not installed or cannot plan
            logger.warning("%s", error)
