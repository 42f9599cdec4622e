"""Conversion of problems to pymimir, and suppression of native output."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from pymimir.advanced import formalism

from sgp.errors import UnsupportedPddl
from sgp.planning.declarations import OBJECT, DomainText, Parameter, ProblemText
from sgp.planning.pddl import Problem
from sgp.planning.pddl_syntax import Source, first_place, shown
from sgp.planning.pddl_writing import strips, write_domain, write_problem

_NAME = re.compile(r"\??[a-z][a-z0-9_-]*")
_LOCK = threading.RLock()  # descriptor 1 is shared by the whole process
_LIBC = ctypes.CDLL(None)


def native_problem(problem: Problem, domain: DomainText, text: ProblemText) -> formalism.Problem:
    """Convert what states and effects need to pymimir: objects, changing predicates, and actions over these.

    Static predicates, types and equality would take memory in the square of the number of objects. Applicability is
    decided by our kernels; preconditions are kept because atoms are numbered as grounding meets them. Raises
    UnsupportedPddl for names that pymimir cannot read.
    """
    names = [*domain.types, *(constant.name for constant in domain.constants), *domain.predicates]
    for schema in domain.schemas.values():
        names += [schema.name, *(parameter.name for parameter in schema.parameters)]
    _require_names(Source(problem.domain_source, problem.domain_pddl), names)
    _require_names(Source(problem.problem_source, problem.problem_pddl), (name for name, _ in text.objects))
    changing = domain.fluent_predicates
    domain = replace(
        domain,
        types={},
        constants=_untyped(domain.constants),
        arguments={name: _untyped(each) for name, each in domain.arguments.items() if name in changing},
        schemas={
            name: replace(
                schema,
                parameters=_untyped(schema.parameters),
                precondition=tuple(literal for literal in schema.precondition if literal.atom.predicate in changing),
            )
            for name, schema in domain.schemas.items()
        },
    )
    written = strips(domain, replace(text, objects=_untyped(text.objects), init=(), goal=()))
    source = problem.domain_source
    try:
        parser = formalism.Parser(
            write_domain(written, requires=":strips :negative-preconditions"), "", formalism.ParserOptions()
        )
        source = problem.problem_source
        return parser.parse_problem(write_problem(written), "", formalism.ParserOptions())
    except (RuntimeError, IndexError) as error:  # IndexError: pymimir failed to print its own message
        raise UnsupportedPddl(
            "the planning library does not read this, though it is PDDL; simplify it", source
        ) from error


def _untyped(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, (OBJECT,)) for name, _ in parameters)


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
