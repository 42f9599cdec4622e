"""The methods, one file each; a method is found by standing in this folder."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import TrainingData
from sgp.errors import ConfigurationError, InputError
from sgp.models.device import Device
from sgp.planning.planner import Planner

_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Snapshot:
    """A planner at one moment of a training: after an epoch, a boosting round, for a regularisation value."""

    name: str  # "epoch 3"
    config: Any  # the configuration that its run is saved with
    loss: float  # on the validation trajectories
    save: Callable[[RunDraft], None]  # writes into the draft's folder what `load` needs, facts and check vectors


class Method(Protocol):
    """A way to learn a planner.

    `variants` names its configurations (frozen dataclasses that check themselves), the default first. A method whose
    training passes through several planners, of which validation chooses one, also has `snapshots` (`Selectable`).
    """

    key: str
    title: str
    paper: str
    variants: Mapping[str, Any]

    def deterministic(self, config: Any) -> bool:
        """Whether every seed gives the same planner, so that one run is enough."""

    def invariant(self, config: Any) -> bool:
        """Whether renaming the objects of a problem changes no embedding and no multiset of costs."""

    def train(self, config: Any, data: TrainingData, draft: RunDraft) -> Planner:
        """Learns a planner and writes into the draft's folder what `load` needs."""

    def load(self, run: Run) -> Planner:
        """The planner of a run. Raises StoreError where the run's files are damaged or of another version."""


class Selectable(Method, Protocol):
    """A method whose training passes through several planners."""

    def snapshots(
        self, config: Any, data: TrainingData, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Snapshot]:
        """The planners of one training, from the one after the first `after`.

        `folder` is the method's own, to keep what it needs to go on after an interruption.
        """


def selectable(key: str) -> Selectable:
    """The method with this key. Raises InputError where there is none, or its training has one planner alone."""
    method: Any = get_method(key)
    if not hasattr(method, "snapshots"):
        known = ", ".join(each.key for each in all_methods() if hasattr(each, "snapshots"))
        raise InputError(
            f"method {key} makes one planner, so that there is none to select; choose one of {known}, or '--by none'"
        )
    return cast(Selectable, method)


@cache
def all_methods() -> tuple[Method, ...]:
    """Every method of the house, by key."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found = [method for module in modules for method in getattr(module, "METHODS", ())]
    return tuple(sorted(found, key=lambda method: method.key))


def get_method(key: str) -> Method:
    """The method with this key. Raises InputError with the known keys."""
    for method in all_methods():
        if method.key == key:
            return method
    raise InputError(f"unknown method '{key}'; expected one of {', '.join(method.key for method in all_methods())}")


def configure(method: Method, variant: str | None, overrides: Mapping[str, str] | None = None) -> tuple[str, Any]:
    """A variant's name and configuration, with fields overridden.

    Overridden fields become part of the name, so that the run stands in a folder of its own. Raises
    ConfigurationError for an unknown variant or field, or a value of another type.
    """
    name = variant or next(iter(method.variants))
    if name not in method.variants:
        raise ConfigurationError(
            f"method {method.key} has no variant '{name}'; expected one of {', '.join(method.variants)}"
        )
    config = method.variants[name]
    for path, text in sorted((overrides or {}).items()):
        if not _VALUE.fullmatch(text):  # it becomes part of a folder's name
            raise ConfigurationError(f"setting {path} is '{text}'; expected letters, digits, '.', '-' and '_'")
        config = overridden(config, path, text)
        name += f"+{path}={text}"
    return name, config


def ablations(method: Method) -> tuple[Mapping[str, str], ...]:
    """Overrides of the default variant, one ingredient changed in each. Raises InputError for a method without any."""
    found = getattr(method, "ablations", ())
    if not found:
        known = ", ".join(each.key for each in all_methods() if hasattr(each, "ablations"))
        raise InputError(f"method {method.key} describes no ablations; expected one of {known}")
    return tuple(found)


def has_setting(config: Any, path: str) -> bool:
    """Whether a configuration has the field `path`, dots leading into nested configurations."""
    head, _, rest = path.partition(".")
    known = is_dataclass(config) and head in {entry.name for entry in fields(config)}
    return known and (not rest or has_setting(getattr(config, head), rest))


def overridden(config: Any, path: str, text: str) -> Any:
    """`config` with the field `path` (dots lead into nested configurations) read from text.

    Raises ConfigurationError for an unknown field, or a value that cannot be.
    """
    head, _, rest = path.partition(".")
    known = {entry.name for entry in fields(config)}
    if head not in known:
        raise ConfigurationError(f"unknown setting '{path}'; expected one of {', '.join(sorted(known))}")
    current = getattr(config, head)
    if is_dataclass(current) is not bool(rest):
        inside = ", ".join(entry.name for entry in fields(current)) if is_dataclass(current) else "no further field"
        raise ConfigurationError(f"setting '{path}' is wrong at '{head}', which has {inside}")
    if rest:
        return replace(config, **{head: overridden(current, rest, text)})
    return replace(config, **{head: _parse(path, text, type(current))})


def _parse(path: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigurationError(f"setting {path} is '{text}'; expected true or false")
        return text.lower() == "true"
    try:
        return kind(text)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"setting {path} is '{text}'; expected {kind.__name__}") from error
