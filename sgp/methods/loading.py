"""Runs become planners and models again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sgp.datasets.runs import Run, open_run
from sgp.errors import ConfigurationError, DomainMismatch, InputError, StoreError
from sgp.methods import get_method, planning_method
from sgp.methods.configuration import configure_decoding, own_decoding
from sgp.methods.contract import PredictingMethod
from sgp.planning.planner import Planner
from sgp.planning.portfolio import Portfolio
from sgp.planning.transition_model import TransitionModel
from sgp.policies.decoding import DEFAULT


def load_planner(folder: Path | str, decoding: str = DEFAULT) -> Planner:
    """The planner of a run's folder, verified; `decoding` is one of its method's, with settings as in `default+beam=1`.

    A run's default is the decoding that it was validated by, where its training names one.

    Raises StoreError where a file of it is damaged or of another version, InputError for an unknown method and for one
    whose models do not plan, ConfigurationError for an unknown decoding or one that the training does not allow.
    """
    return planner_of(open_run(folder), decoding)


def planner_of(run: Run, decoding: str = DEFAULT) -> Planner:
    """The planner of an opened run, as `load_planner` gives it."""
    method = planning_method(run.key.method)

    def load() -> Planner:
        return method.load(run, configure_decoding(method, own_decoding(run.training, decoding))[1])

    return _kept(run, f"planner {decoding}", load)


def load_portfolio(
    folders: Sequence[Path | str], decoding: str = DEFAULT, restarts: int = 20, seed: int = 0
) -> Portfolio:
    """The planners of several runs, which try a problem one after the other, best first, then with restarts.

    `restarts` is how many where no limit ends them. Raises ConfigurationError where no run is given, DomainMismatch
    where the runs were trained on different domains, and as `load_planner` does StoreError, InputError,
    ConfigurationError and MissingLibrary.
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
    return Portfolio.of(first, restarts, seed, others)


def load_model(folder: Path | str) -> TransitionModel:
    """The model of transitions in a run's folder, verified.

    Raises StoreError where a file of it is damaged or of another version, InputError for an unknown method and for one
    that makes planners.
    """
    return model_of(open_run(folder))


def model_of(run: Run) -> TransitionModel:
    """The model of transitions of an opened run, as `load_model` gives it."""
    method = get_method(run.key.method)
    if not isinstance(method, PredictingMethod):
        raise InputError(
            f"{run.folder} holds a planner of method {run.key.method}, not a model of transitions; load it with "
            "'load_planner'"
        )
    return _kept(run, "model", lambda: method.load_model(run))


def require_loadable(run: Run) -> None:
    """Raises what `load_planner` or `load_model` raises of a run, whichever it is for."""
    if isinstance(get_method(run.key.method), PredictingMethod):
        model_of(run)
    else:
        planner_of(run)


def forget() -> None:
    """Drops what is kept of runs, so that they are read from their folders again."""
    _KEPT.clear()


Loaded = TypeVar("Loaded")
_KEPT: OrderedDict[tuple[str, str, str], Any] = OrderedDict()  # what was loaded, by folder, run and what it is
_MOST_KEPT = 32


def _kept(run: Run, what: str, load: Callable[[], Loaded]) -> Loaded:
    """What a run holds, a planner or a model of transitions; kept while its folder holds the run of this hash."""
    place = str(run.folder), run.sha256, what
    if place in _KEPT:
        _KEPT.move_to_end(place)
        known: Loaded = _KEPT[place]
        return known
    try:
        found = load()
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a record of another version's fields
        raise StoreError(
            f"{run.folder} holds a record that {run.key.method} cannot load ({error!r}); train it again"
        ) from error
    _KEPT[place] = found
    while len(_KEPT) > _MOST_KEPT:
        _KEPT.popitem(last=False)
    return found
