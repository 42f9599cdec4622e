"""Registry of the learning methods: modules of this package, imported on first use.

A module is named after its method's key and defines it as `METHOD`. A module of several methods defines `METHODS`.
Methods of other packages are found through entry points of the group `sgp.methods`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, cast

from sgp.datasets.subject import method_key
from sgp.errors import InputError, MissingLibrary, PluginError, expected_one_of
from sgp.installed import lacking, missing
from sgp.methods.contract import Method, PlanningMethod, PredictingMethod, Selectable, Settings
from sgp.plugins import Plugin, plugins

# Modules of several methods, by the methods' keys; and modules without a method.
_MODULES = {"random-successor": "baselines", "zero-change": "baselines", "wl-displacements": "displacements"}
_SHARED = frozenset(
    {"baselines", "configuration", "contract", "functions", "loading", "network_method", "state_encoders"}
)
REGISTERED: dict[str, Method] = {}  # of this process, by `sgp.register_policy`


@cache
def built_in_keys() -> tuple[str, ...]:
    """Return the keys of the built-in methods in alphabetical order, without importing them."""
    names = {module.name for module in pkgutil.iter_modules(__path__)} - _SHARED
    return tuple(sorted([*map(method_key, names), *_MODULES]))


@cache
def method_plugins() -> dict[str, Plugin]:
    """Return the methods of other packages by key, without importing them."""
    return plugins("sgp.methods", built_in_keys())


def list_methods() -> tuple[str, ...]:
    """Return the keys of all methods in alphabetical order, without importing them."""
    return tuple(sorted((*built_in_keys(), *method_plugins(), *REGISTERED)))


def get_method(key: str) -> Method:
    """Import and return the method with this key; "_" is accepted in place of "-".

    Raises InputError for an unknown key, MissingLibrary where a library of the method is not installed, and PluginError
    for an unusable method of another package.
    """
    if not isinstance(key, str):
        raise InputError(f"method is {key!r}; expected its key, such as 'state-centric'")
    return REGISTERED.get(key) or _imported(method_key(key))


@cache
def _imported(key: str) -> Method:
    if key not in list_methods():
        raise InputError(f"unknown method '{key}'; {expected_one_of(list_methods(), key)}")
    if key in method_plugins():
        method = _of_plugin(method_plugins()[key])
    else:
        try:
            module = importlib.import_module(f"{__name__}.{_MODULES.get(key, key.replace('-', '_'))}")
        except ModuleNotFoundError as error:
            raise missing(f"method {key}", error) or error from error
        method = cast(Method, module.METHODS[key] if hasattr(module, "METHODS") else module.METHOD)
    for library in method.libraries:  # a method may import its libraries lazily
        try:
            importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError as error:
            raise MissingLibrary(lacking(f"method {key}", library)) from error
    return method


def _of_plugin(plugin: Plugin) -> Method:
    method = plugin.load()
    if not isinstance(method, PlanningMethod | PredictingMethod) or method_key(method.key) != plugin.key:
        raise plugin.refused(f"a method as in sgp.methods.contract, with the key '{plugin.key}'")
    return method


def recorded_libraries(method: Method) -> tuple[str, ...]:
    """Return the distributions whose versions a run records: the method's libraries and, for a plugin, its package."""
    plugin = method_plugins().get(method.key)
    return tuple(dict.fromkeys([*method.libraries, *([plugin.package] if plugin else [])]))


def planning_method(key: str) -> PlanningMethod:
    """Return the method with this key; raises InputError where the method makes no planners."""
    method = get_method(key)
    if isinstance(method, PlanningMethod):
        return method
    raise InputError(
        f"method {method.key} predicts states and makes no planner; give a run of a method that plans, or load its "
        "model with 'sgp.load_model'"
    )


def planning_variants() -> list[tuple[str, str]]:
    """Return (method, variant) of every planner whose libraries are installed."""
    planning = [method for method in _installed() if isinstance(method, PlanningMethod)]
    return [(method.key, variant) for method in planning for variant in method.variants]


def selectable(key: str) -> Selectable:
    """Return the method with this key; raises InputError where its training yields only one planner."""
    lack = "makes one planner, so that there is none to select"
    method: Selectable = _able(get_method(key), "sweep", lack, "; or '--by none'")
    return method


def ablations(method: Method) -> Sequence[Settings]:
    """Return the ablations of a method's default variant; raises InputError where the method defines none."""
    found: Sequence[Settings] = _able(method, "ablations", "describes no ablations").ablations
    return found


def choices(method: Method) -> Mapping[str, Sequence[str]]:
    """Return the values of each setting that validation chooses; raises InputError where the method defines none."""
    found: Mapping[str, Sequence[str]] = _able(method, "choices", "names no settings to choose").choices
    return found


def _able(method: Method, field: str, lack: str, otherwise: str = "") -> Any:
    """Return a method that has a field; the error for another one names the installed methods that have it."""
    if hasattr(method, field):
        return method
    known = [other.key for other in _installed() if hasattr(other, field)]
    raise InputError(f"method {method.key} {lack}; choose one of {', '.join(known)}{otherwise}")


def _installed() -> Iterator[Method]:
    """Iterate over the methods whose libraries are installed."""
    for key in list_methods():
        with suppress(MissingLibrary, PluginError):
            yield get_method(key)
