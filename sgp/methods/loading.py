"""Loading of planners and transition models from runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sgp.datasets.runs import Run, open_run
from sgp.errors import ConfigurationError, DomainMismatch, InputError, StoreError
from sgp.methods import get_method, planning_method
from sgp.methods.configuration import configure_decoding, own_decoding
from sgp.methods.contract import PredictingMethod
from sgp.planning.planner import Planner
from sgp.planning.strategies import OtherPlanner, Restarts
from sgp.planning.transition_model import TransitionModel
from sgp.policies.decoding import DEFAULT


def load_planner(folder: Run | Path | str, decoding: str = DEFAULT) -> Planner:
    """Load and verify the planner of a run's folder, with a decoding as in `default` or `default+beam=1`.

    The decoding "default" is the one that validated the run, where its training names one. Raises StoreError where a
    file is damaged or of another version, InputError where the method makes no planners, ConfigurationError for an
    unknown decoding or one that conflicts with the training.
    """
    return planner_of(open_run(folder), decoding)


def planner_of(run: Run, decoding: str = DEFAULT) -> Planner:
    """Return the planner of an opened run; see `load_planner`."""
    method = planning_method(run.key.method)

    def load() -> Planner:
        return method.load(run, configure_decoding(method, own_decoding(run.training, decoding))[1])

    return _kept(run, f"planner {decoding}", load)


def load_portfolio(
    folders: Sequence[Path | str], decoding: str = DEFAULT, restarts: int = 20, seed: int = 0
) -> Planner:
    """Load several runs as a portfolio: the planners try a problem one after the other, then restart with noise.

    Give the best run first. `restarts` is the number of restarts, used where no limit ends them. Raises DomainMismatch
    where the runs were trained on different domains; other errors as in `load_planner`.
    """
    if not folders:
        raise ConfigurationError("no run is given; expected the folders of some")
    runs = [open_run(folder) for folder in folders]
    for run in runs[1:]:
        if run.domain_text.signature != runs[0].domain_text.signature:
            raise DomainMismatch(
                f"{runs[0].folder} was trained on {runs[0].key.domain} and {run.folder} on {run.key.domain}, which "
                f"{runs[0].domain_text.difference(run.domain_text)}; a portfolio needs runs of one domain"
            )
    first, *others = (planner_of(run, decoding) for run in runs)
    fallbacks = [OtherPlanner(other, number) for number, other in enumerate(others, 2)]
    return replace(first, fallbacks=(*fallbacks, Restarts(restarts, seed)))


def load_model(folder: Run | Path | str) -> TransitionModel:
    """Load and verify the transition model of a run's folder.

    Raises StoreError where a file is damaged or of another version, InputError where the method makes no transition
    models.
    """
    return model_of(open_run(folder))


def model_of(run: Run) -> TransitionModel:
    """Return the transition model of an opened run; see `load_model`."""
    method = get_method(run.key.method)
    if not isinstance(method, PredictingMethod):
        raise InputError(
            f"{run.folder} holds a planner of method {run.key.method}, not a model of transitions; load it with "
            "'load_planner'"
        )
    return _kept(run, "model", lambda: method.load_model(run))


def require_loadable(run: Run) -> None:
    """Load the planner or model of a run and raise the loading error, if any."""
    if isinstance(get_method(run.key.method), PredictingMethod):
        model_of(run)
    else:
        planner_of(run)


def forget() -> None:
    """Clear the cache of loaded runs, so that they are read from disk again."""
    _KEPT.clear()


Loaded = TypeVar("Loaded")
_KEPT: OrderedDict[tuple[str, str, str], Any] = OrderedDict()  # loaded planners and models by folder, run hash and kind
_MOST_KEPT = 32


def _kept(run: Run, what: str, load: Callable[[], Loaded]) -> Loaded:
    """Return the planner or model of a run, cached by the run's folder and hash."""
    place = str(run.folder), run.sha256, what
    if place in _KEPT:
        _KEPT.move_to_end(place)
        known: Loaded = _KEPT[place]
        return known
    try:
        found = load()
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # the record is of another version
        raise StoreError(
            f"{run.folder} holds a record that {run.key.method} cannot load ({error!r}); train it again"
        ) from error
    _KEPT[place] = found
    while len(_KEPT) > _MOST_KEPT:
        _KEPT.popitem(last=False)
    return found
