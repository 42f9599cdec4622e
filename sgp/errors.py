"""Exception hierarchy of the package.

::

    SgpError                     base: every error whose message is meant for the user
    |- InputError                an input cannot be used
    |  |- PddlError              a PDDL text: file, line, what was expected
    |  |  `- UnsupportedPddl     correct PDDL that the package does not handle, named
    |  |- PlanError              a plan that is invalid for its problem
    |  |- DomainMismatch         a model or plan of another domain
    |  |- SuiteError             a suite, split or folder of problems
    |  |- ConfigurationError     a setting outside its range, or two that conflict
    |  |- MissingLibrary         a requested optional library is not installed
    |  `- PluginError            a method, domain or encoder of another package that cannot be used
    |- ToolError                 an external program is missing or failed
    |- UnsolvableProblem         an expert planner proved that no plan exists
    |- StoreError                a file of the store is damaged or of another version
    `- ValidationDisagreement    our simulator and VAL judge one plan differently

Every message is one sentence with the value, what was expected and the remedy. An unsolved problem is
an `Outcome`, not an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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


def expected_one_of(known: Iterable[str], given: str) -> str:
    """Message part for an unknown name: the known names and the closest match.

    The last part of a setting matches the setting: `rounds` for `boosting.rounds`.
    """
    names = list(known)
    meant = [name for name in names if name.rpartition(".")[2] == given] or difflib.get_close_matches(given, names, 1)
    return f"expected one of {', '.join(names)}" + (f" (did you mean '{meant[0]}'?)" if meant else "")
