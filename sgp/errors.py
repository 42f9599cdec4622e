"""Exceptions of the package.

Every message is one sentence with the value, what was expected and the remedy. An unsolved problem is no error.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


class SgpError(Exception):
    """Base of every error whose message is meant for the user."""


class InputError(SgpError):
    """An input cannot be used."""


class PddlError(InputError):
    """A PDDL text cannot be used: `source`, `line` (from 1, or None), and the excerpt `shown`."""

    def __init__(self, message: str, source: str = "PDDL text", line: int | None = None, shown: str = ""):
        self.source, self.line, self._parts = source, line, (message, source, line, shown)
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {message}" + (f"\n{shown}" if shown else ""))

    def __reduce__(self) -> tuple[type[PddlError], tuple[str, str, int | None, str]]:
        return type(self), self._parts  # pickling the message alone would prefix the source twice


class UnsupportedPddl(PddlError):
    """Correct PDDL that the package does not handle."""


class PlanError(InputError):
    """A plan is invalid for its problem."""


class DomainMismatch(InputError):
    """A model, plan or problem belongs to another domain."""


class SuiteError(InputError):
    """A suite, split or folder of problems cannot be used."""


class ConfigurationError(InputError):
    """A setting is outside its range, or two settings conflict."""


class TextTooLong(ConfigurationError):
    """A text has more tokens than the sentence encoder accepts."""


class MissingLibrary(InputError):
    """An optional library that the request needs is not installed."""


class PluginError(InputError):
    """A method, domain or encoder of another package cannot be used."""


class ToolError(SgpError):
    """An external program is missing or failed."""


class UnsolvableProblem(SgpError):
    """An expert planner proved that the problem has no plan."""


class StoreError(SgpError):
    """A file of the store is damaged, incomplete or of another version."""


class ValidationDisagreement(SgpError):
    """Our simulator and VAL judge one plan differently: a defect, never a failed plan."""


def names(given: Any, what: str) -> list[str]:
    """Return one name, or several in a sequence, as a list; raise InputError for anything else."""
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if wrong := [name for name in listed if not isinstance(name, str)]:
        raise InputError(f"{what} is {wrong[0]!r}; expected a name, or several in a list")
    return listed


def expected_one_of(known: Iterable[str], given: str) -> str:
    """Message part for an unknown name: the known names and the closest match."""
    names = list(known)
    meant = [name for name in names if name.rpartition(".")[2] == given] or difflib.get_close_matches(given, names, 1)
    return f"expected one of {', '.join(names)}" + (f" (did you mean '{meant[0]}'?)" if meant else "")


def require(value: Any, kinds: type | UnionType, what: str, expected: str) -> None:
    """Raise InputError for a value of another type, with what it is called and what was expected."""
    if not isinstance(value, kinds):
        raise InputError(f"{what} is {value!r:.80}; expected {expected}")


def check_fields(
    config: Any,
    what: str = "",
    positive: Sequence[str] = (),
    most: Mapping[str, float] | None = None,
    /,
    **least: float,
) -> None:
    """Raise ConfigurationError for a field of a configuration (a dataclass) that is out of range.

    `least` and `most` have minimum and maximum values by field; fields in `positive` are above 0; all these are finite.
    A field of a Literal type has one of its values. `what` precedes the field's name in the message.
    """
    for name, values in _literals(config.__class__).items():
        value = getattr(config, name)
        if value not in values:
            raise ConfigurationError(f"{what} {name} is '{value}'; {expected_one_of(values, value)}".lstrip())
    for name in (*least, *positive):
        value, low, high = getattr(config, name), least.get(name, 0), (most or {}).get(name)
        expected = f"at least {low:g}" if high is None else f"{low:g} to {high:g}"
        if name in positive:
            fits, expected = 0 < value < math.inf, "above 0"
        else:
            fits = low <= value <= high if high is not None else low <= value < math.inf
        if not fits:
            raise ConfigurationError(f"{what} {name} is {value}; expected {expected}".lstrip())


@cache
def _literals(kind: type) -> dict[str, tuple[str, ...]]:
    """Return the values of each field of a Literal type, or of a union of such types."""
    found = {}
    for name, hint in get_type_hints(kind).items():
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        if all(get_origin(part) is Literal for part in parts):
            found[name] = tuple(value for part in parts for value in get_args(part))
    return found
