"""The methods, one file each: found by standing in this folder, imported when they are asked for.

Those of other packages are found by their entry points in the group `sgp.methods`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, cast

from sgp.errors import InputError, MissingLibrary, PluginError, expected_one_of
from sgp.installed import lacking, missing
from sgp.methods.contract import Ablatable, Method, PlanningMethod, PredictingMethod, Selectable, Settings, Tunable
from sgp.planning.subject import method_key
from sgp.plugins import Plugin, plugins

logger = logging.getLogger(__name__)

_SHARED = frozenset(
    {"configuration", "contract", "fitting", "loading", "passing", "texts"}
)  # what the methods have in common


@cache
def house_keys() -> tuple[str, ...]:
    """The keys of the methods that stand in this folder, in alphabetical order; none is imported."""
    names = {module.name for module in pkgutil.iter_modules(__path__)} - _SHARED
    return tuple(sorted(map(method_key, names)))


@cache
def method_plugins() -> dict[str, Plugin]:
    """The methods of other packages by key; none is imported."""
    return plugins("sgp.methods", house_keys())


def method_keys() -> tuple[str, ...]:
    """The keys of all methods, in alphabetical order; none is imported."""
    return tuple(sorted((*house_keys(), *method_plugins())))


@cache
def get_method(key: str) -> Method:
    """The method with this key, imported now. Older spellings with "_" are taken, too.

    Raises InputError with the known keys, MissingLibrary where a library that the method needs is not installed, and
    PluginError for one of another package that cannot be used.
    """
    key = method_key(key)
    if key not in method_keys():
        raise InputError(f"unknown method '{key}'; {expected_one_of(method_keys(), key)}")
    method = _of_plugin(method_plugins()[key]) if key in method_plugins() else _of_house(key)
    for library in method.libraries:  # some are imported when they are first used
        try:
            importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError as error:
            raise MissingLibrary(lacking(f"method {key}", library)) from error
    return method


def _of_house(key: str) -> Method:
    try:
        module = importlib.import_module(f"{__name__}.{key.replace('-', '_')}")
    except ModuleNotFoundError as error:
        raise missing(f"method {key}", error) or error from error
    return cast(Method, module.METHOD)


def _of_plugin(plugin: Plugin) -> Method:
    method = plugin.load()
    if not isinstance(method, PlanningMethod | PredictingMethod) or method_key(method.key) != plugin.key:
        raise plugin.refused(f"a method as in sgp.methods.contract, with the key '{plugin.key}'")
    return method


def recorded_libraries(method: Method) -> tuple[str, ...]:
    """The distributions whose versions a run records: those that a method names, and the package that it is of."""
    plugin = method_plugins().get(method.key)
    return tuple(dict.fromkeys([*method.libraries, *([plugin.package] if plugin else [])]))


def all_methods() -> tuple[Method, ...]:
    """Every method, by key; one of another package that cannot be used is left out with a warning.

    Raises MissingLibrary where one of the house needs a library that is not installed, and InputError never: keys are
    those that there are.
    """
    found = []
    for key in method_keys():
        try:
            found.append(get_method(key))
        except (PluginError, MissingLibrary) as error:
            if key in house_keys():
                raise
            logger.warning("%s", error)
    return tuple(found)


def planning_method(key: str) -> PlanningMethod:
    """The method with this key, which makes planners.

    Raises InputError where there is none, and for one whose models predict and do not plan; MissingLibrary as
    `get_method` does.
    """
    method = get_method(key)
    if isinstance(method, PlanningMethod):
        return method
    raise InputError(
        f"method {method.key} predicts states and makes no planner; give a run of a method that plans, or load its "
        "model with 'sgp.load_model'"
    )


def planning_variants() -> list[tuple[str, str]]:
    """Method and variant of every planner that can be trained here: those whose libraries are installed."""
    return [
        (method.key, variant)
        for method in _installed()
        if isinstance(method, PlanningMethod)
        for variant in method.variants
    ]


def selectable(key: str) -> Selectable:
    """The method with this key, whose training passes through several planners.

    Raises InputError where there is none, or its training has one planner alone.
    """
    method = get_method(key)
    if isinstance(method, Selectable):
        return method
    raise _unable(method, Selectable, "makes one planner, so that there is none to select", "; or '--by none'")


def ablations(method: Method) -> tuple[Settings, ...]:
    """Settings of the default variant, one ingredient changed in each. Raises InputError for a method without any."""
    if isinstance(method, Ablatable):
        return tuple(method.ablations)
    raise _unable(method, Ablatable, "describes no ablations")


def choices(method: Method) -> dict[str, tuple[str, ...]]:
    """The settings that validation chooses, each with its values. Raises InputError for a method that names none."""
    if isinstance(method, Tunable):
        return {setting: tuple(values) for setting, values in method.choices.items()}
    raise _unable(method, Tunable, "names no settings to choose")


def _unable(method: Method, ability: type[Any], lack: str, otherwise: str = "") -> InputError:
    """What is raised for a method without an ability: the methods with it, of those whose libraries are installed."""
    known = [each.key for each in _installed() if isinstance(each, ability)]
    return InputError(f"method {method.key} {lack}; choose one of {', '.join(known)}{otherwise}")


def _installed() -> Iterator[Method]:
    """The methods whose libraries are installed."""
    for key in method_keys():
        with suppress(MissingLibrary, PluginError):
            yield get_method(key)
