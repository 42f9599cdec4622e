"""Conversion of problems to pymimir, and suppression of native output."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pymimir.advanced import formalism

from sgp.errors import UnsupportedPddl
from sgp.planning.declarations import DomainText, ProblemText
from sgp.planning.pddl import Problem
from sgp.planning.pddl_syntax import Source, first_place, shown
from sgp.planning.pddl_writing import strips, write_domain, write_problem

_NAME = re.compile(r"\??[a-z][a-z0-9_-]*")
_LOCK = threading.RLock()  # descriptor 1 is shared by the whole process
_LIBC = ctypes.CDLL(None)


def native_problem(problem: Problem, domain: DomainText, text: ProblemText) -> formalism.Problem:
    """Convert a problem to pymimir. Raises UnsupportedPddl for names that pymimir cannot read.

    The problem is rewritten from the parsed declarations: pymimir needs all requirements declared and a fixed order of
    sections, ends the process for actions without a precondition, and treats types as predicates.
    """
    names = [*domain.types, *(constant.name for constant in domain.constants), *domain.predicates]
    for schema in domain.schemas.values():
        names += [schema.name, *(parameter.name for parameter in schema.parameters)]
    _require_names(Source(problem.domain_source, problem.domain_pddl), names)
    _require_names(Source(problem.problem_source, problem.problem_pddl), (name for name, _ in text.objects))
    source, written = problem.domain_source, strips(domain, text)
    try:
        parser = formalism.Parser(write_domain(written), "", formalism.ParserOptions())
        source = problem.problem_source
        return parser.parse_problem(write_problem(written), "", formalism.ParserOptions())
    except (RuntimeError, IndexError) as error:  # IndexError: pymimir failed to print its own message
        raise UnsupportedPddl(
            "the planning library does not read this, though it is PDDL; simplify it", source
        ) from error


def _require_names(source: Source, names: Iterable[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise source.unsupported(
                f"'{shown(name)}' is not supported as a name; expected a letter, then letters, digits, '-' and '_'",
                first_place(source, name),
            )


@contextmanager
def native_output_silenced() -> Iterator[None]:
    """Discard output of native libraries (pymimir, wlplan) to file descriptor 1, for one thread at a time."""
    with _LOCK, open(os.devnull, "wb") as nowhere:
        sys.stdout.flush()
        _LIBC.fflush(None)
        saved = os.dup(1)
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            _LIBC.fflush(None)
            os.dup2(saved, 1)
            os.close(saved)
