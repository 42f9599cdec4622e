"""The methods, one file each: found by standing in this folder, imported when they are asked for."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, cast

from sgp.errors import InputError, MissingLibrary, expected_one_of
from sgp.installed import lacking, missing
from sgp.methods.contract import Ablatable, Method, PlanningMethod, Selectable, Settings, Tunable
from sgp.planning.subject import method_key

_SHARED = frozenset({"configuration", "contract", "fitting", "loading"})  # what the methods have in common


@cache
def method_keys() -> tuple[str, ...]:
    """The keys of all methods, in alphabetical order; none is imported."""
    names = {module.name for module in pkgutil.iter_modules(__path__)} - _SHARED
    return tuple(sorted(map(method_key, names)))


@cache
def get_method(key: str) -> Method:
    """The method with this key, imported now. Older spellings with "_" are taken, too.

    Raises InputError with the known keys, and MissingLibrary where a library that the method needs is not installed.
    """
    key = method_key(key)
    if key not in method_keys():
        raise InputError(f"unknown method '{key}'; {expected_one_of(method_keys(), key)}")
    try:
        module = importlib.import_module(f"{__name__}.{key.replace('-', '_')}")
    except ModuleNotFoundError as error:
        raise missing(f"method {key}", error) or error from error
    method = cast(Method, module.METHOD)
    for library in method.libraries:  # some are imported when they are first used
        try:
            importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError as error:
            raise MissingLibrary(lacking(f"method {key}", library)) from error
    return method


def all_methods() -> tuple[Method, ...]:
    """Every method, by key. Raises MissingLibrary where one needs a library that is not installed."""
    return tuple(map(get_method, method_keys()))


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
        with suppress(MissingLibrary):
            yield get_method(key)
