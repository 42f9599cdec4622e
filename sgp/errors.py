"""The exceptions of the package, one tree.

::

    SgpError                     base: every error whose message is meant for the user
    |- InputError                something given from outside cannot be used
    |  |- PddlError              a PDDL text: file, line, what was expected
    |  |  `- UnsupportedPddl     correct PDDL that the package does not handle, named
    |  |- PlanError              a plan that does not fit its problem
    |  |- DomainMismatch         a model or plan of another domain
    |  |- SuiteError             a suite, split or folder of problems
    |  |- ConfigurationError     a setting outside its range, or two that conflict
    |  |- MissingLibrary         an optional library that is asked for is not installed
    |  `- PluginError            a method, domain or encoder of another package that cannot be used
    |- ToolError                 an external program is missing or failed
    |- UnsolvableProblem         an expert planner proved that no plan exists
    |- StoreError                a file of the store is damaged or of another version
    `- ValidationDisagreement    our simulator and VAL judge one plan differently

Every message is one sentence with the value, what was expected and the remedy. Not solving a problem is no
error but an `Outcome`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SgpError(Exception):
    """Base of every error whose message is meant for the user."""


class InputError(SgpError):
    """Something given from outside cannot be used."""


class PddlError(InputError):
    """A PDDL text cannot be used; `source` and `line` (from 1, or None) say where, `shown` shows it below."""

    def __init__(self, message: str, source: str = "PDDL text", line: int | None = None, shown: str = ""):
        self.source, self.line, self._parts = source, line, (message, source, line, shown)
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {message}" + (f"\n{shown}" if shown else ""))

    def __reduce__(self) -> tuple[type[PddlError], tuple[str, str, int | None, str]]:
        return type(self), self._parts  # on its way from another process; the sentence alone would get a place again


class UnsupportedPddl(PddlError):
    """Correct PDDL that the package does not handle."""


class PlanError(InputError):
    """A plan does not fit its problem."""


class DomainMismatch(InputError):
    """A model, plan or problem belongs to another domain."""


class SuiteError(InputError):
    """A suite, split or folder of problems cannot be used."""


class ConfigurationError(InputError):
    """A setting is outside its range, or two settings conflict."""


class TextTooLong(ConfigurationError):
    """A text has more tokens than an encoder of sentences reads."""


class MissingLibrary(InputError):
    """A library that is needed for what was asked is not installed."""


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
    """The words for a name that is none of the known ones: all of them, and the one that may be meant.

    A setting may be meant by its last part: `rounds` for `boosting.rounds`.
    """
    names = list(known)
    meant = [name for name in names if name.rpartition(".")[2] == given] or difflib.get_close_matches(given, names, 1)
    return f"expected one of {', '.join(names)}" + (f" (did you mean '{meant[0]}'?)" if meant else "")
