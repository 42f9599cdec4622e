"""Problems and plans as text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sgp.errors import DomainMismatch, InputError, PddlError, PlanError, require
from sgp.planning.costs import Costs, cost_comment, has_metric, whole_costs
from sgp.planning.declarations import (
    OBJECT,
    Action,
    AsWritten,
    Atom,
    DomainText,
    Literal,
    Parameter,
    ProblemText,
    Schema,
)
from sgp.planning.domain_matching import translated
from sgp.planning.pddl_reading import read_as_written, read_both, read_declarations, read_domain, read_problem
from sgp.planning.pddl_syntax import Source, first_place, normalise, shown
from sgp.planning.pddl_writing import format_problem

__all__ = [
    "OBJECT",
    "Action",
    "Atom",
    "DomainText",
    "Literal",
    "Parameter",
    "Problem",
    "ProblemText",
    "Schema",
    "format_plan",
    "format_problem",
    "parse_plan",
    "read_both",
    "read_domain",
    "read_plan",
    "read_problem",
    "read_text",
]


_MORE_THAN_CONJUNCTIONS = re.compile(
    r"\(\s*(?:or|imply|exists|forall|not\s*\(\s*(?:not|and|or|imply|exists|forall))(?=[\s()])"
)
_PLAIN_NAME = re.compile(r"\??[a-z][a-z0-9_-]*")
_TIMED_ACTION = re.compile(
    r"(?:(?P<time>\d+\.?\d*|\.\d+)\s*:\s*)?\(\s*(?P<words>[^()\s][^()]*)\)(?:\s*\[\s*[\d.]+\s*\])?|\S"
)


@dataclass(frozen=True)
class Problem:
    """A planning problem as text, for files and between processes; `Task` is its executable form.

    `alternative` selects one conjunction of a disjunctive goal. `model_pddl` is an equivalent domain to which the
    problem is translated when it is read; plans are those of `domain_pddl`.
    """

    name: str
    domain_pddl: str = field(repr=False)
    problem_pddl: str = field(repr=False)
    domain_source: str = field(default="domain", compare=False)
    problem_source: str = field(default="problem", compare=False)
    alternative: int | None = None
    model_pddl: str | None = field(default=None, repr=False)

    @classmethod
    def from_files(cls, domain: Path | str, problem: Path | str) -> Problem:
        """Read a problem from two files; its name is the stem of the problem file. Raises PddlError."""
        for file in (domain, problem):
            require(file, str | Path, "file", "the path of a PDDL file")
        texts = read_text(domain), read_text(problem)
        return cls(Path(problem).stem, *texts, domain_source=str(domain), problem_source=str(problem))

    @property
    def _texts(self) -> tuple[tuple[str, str], tuple[str, str]]:
        return (self.domain_pddl, self.domain_source), (self.problem_pddl, self.problem_source)

    def read(self) -> tuple[DomainText, ProblemText]:
        """Parse the domain, with actions compiled to STRIPS, and the problem, and translate them to the model.

        Raises PddlError, and DomainMismatch if the model is not equivalent.
        """
        texts = read_both(*self._texts, self.alternative)
        if self.model_pddl is None:
            return texts
        model = read_domain(self.model_pddl, "model")
        found = translated(*texts, model)
        if found is None:
            raise DomainMismatch(
                f"{self.domain_source} {model.difference(texts[0])} and is not equivalent to the model"
            )
        return found

    @property
    def in_model(self) -> Problem:
        """The problem as PDDL of the model: the problem itself without one."""
        if self.model_pddl is None:
            return self
        text = format_problem(self.read()[1])
        return replace(self, domain_pddl=self.model_pddl, problem_pddl=text, alternative=None, model_pddl=None)

    def as_written(self) -> AsWritten:
        """Parse the domain and the problem without compilation. Raises PddlError."""
        return read_as_written(*self._texts)

    def declarations(self) -> AsWritten:
        """Parse types, objects and the parameters of actions, without conditions and effects. Raises PddlError."""
        return read_declarations(*self._texts)

    def alternatives(self) -> tuple[Problem, ...]:
        """Return one problem per conjunction of a disjunctive goal; only goals with connectives are parsed."""
        if self.alternative is not None or not _MORE_THAN_CONJUNCTIONS.search(normalise(self.problem_pddl)):
            return (self,)
        _, text = replace(self, alternative=0).read()
        return (self,) if text.goals == 1 else tuple(replace(self, alternative=place) for place in range(text.goals))

    @property
    def costs(self) -> Costs | None:
        """Action costs if the problem has a metric; None for unit costs."""
        return Costs(*replace(self, model_pddl=None).read()) if has_metric(self.problem_pddl) else None

    def with_whole_costs(self) -> Problem:
        """Scale costs to integers for Fast Downward. Raises PddlError for unusable costs."""
        domain_pddl, problem_pddl = whole_costs(*self._texts)
        return replace(self, domain_pddl=domain_pddl, problem_pddl=problem_pddl)

    @cached_property
    def sha256(self) -> str:
        """Hash of domain and problem text: the key of stored expert plans and results."""
        return hashlib.sha256(f"{self.domain_pddl}\0{self.problem_pddl}".encode()).hexdigest()


def require_plain_names(problem: Problem, domain: DomainText, text: ProblemText) -> None:
    """Raise UnsupportedPddl for a name with other characters than letters, digits, '-' and '_'."""
    names = [*domain.types, *(constant.name for constant in domain.constants), *domain.predicates]
    for schema in domain.schemas.values():
        names += [schema.name, *(parameter.name for parameter in schema.parameters)]
    of_problem = (name for name, _ in text.objects)
    domain_source = Source(problem.domain_source, problem.domain_pddl)
    problem_source = Source(problem.problem_source, problem.problem_pddl)
    for source, name in (*((domain_source, name) for name in names), *((problem_source, name) for name in of_problem)):
        if not _PLAIN_NAME.fullmatch(name):
            raise source.unsupported(
                f"'{shown(name)}' is not supported as a name; expected a letter, then letters, digits, '-' and '_'",
                first_place(source, name),
            )


def require_problem(problem: Any) -> None:
    """Raise InputError for what is no Problem, such as the path of a file."""
    if not isinstance(problem, Problem):
        raise InputError(
            f"{problem!r:.80} is no problem; expected one of a suite, or 'sgp.Problem.from_files(DOMAIN, PROBLEM)'"
        )


def read_text(path: Path | str) -> str:
    """Read a PDDL or plan file; see `decoded`. Raises PddlError if it is missing or not UTF-8."""
    try:
        return decoded(Path(path).read_bytes())
    except UnicodeDecodeError as error:
        remedy = "unpack it" if Path(path).suffix in (".gz", ".bz2", ".zip") else "save the file as UTF-8"
        raise PddlError(f"byte {error.start} is not UTF-8 text; {remedy}", str(path)) from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise PddlError(f"cannot be read ({error.strerror}); check the path", str(path)) from error


def decoded(data: bytes) -> str:
    """Decode a PDDL or plan file, without a byte order mark; comments may be in any encoding."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
        without_comments = re.sub(rb";[^\r\n]*", lambda match: b" " * len(match[0]), data)
        without_comments.decode("utf-8")  # for its error, which names the byte
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_plan(text: str, source: str = "plan") -> tuple[Action, ...]:
    """Parse the actions of a plan as `read_plan` does."""
    return read_plan(text, source)[0]


def read_plan(text: str, source: str = "plan") -> tuple[tuple[Action, ...], tuple[int, ...]]:
    """Parse the actions of a plan, ordered by time stamp, and their line numbers. Raises PlanError."""
    plain = normalise(text)
    line, before = 1, 0
    steps: list[tuple[str | None, Action, int]] = []
    for match in _TIMED_ACTION.finditer(plain):
        line, before = line + plain.count("\n", before, match.start()), match.start()
        if match["words"] is None:
            here = shown(text.split("\n")[line - 1].strip())
            raise PlanError(f"{source}, line {line}: expected '(action object ...)', found '{here}'")
        name, *objects = match["words"].split()
        steps.append((match["time"], Action(name, tuple(objects)), line))
    if any(time is not None for time, _, _ in steps):
        lines: dict[float, int] = {}
        for time, action, line in steps:
            place = f"{source}, line {line}: {shown(str(action))}"
            if time is None:
                raise PlanError(f"{place} has no time stamp and others have; give all or none")
            if float(time) in lines:
                raise PlanError(
                    f"{place} has the time {time} of line {lines[float(time)]}; "
                    "actions at the same time are not supported; give each a time of its own"
                )
            lines[float(time)] = line
        steps.sort(key=lambda step: float(step[0] or 0))
    return tuple(action for _, action, _ in steps), tuple(line for _, _, line in steps)


def format_plan(plan: Sequence[Action], problem: Problem | None = None) -> str:
    """Format a plan, one action a line; with a `problem`, add Fast Downward's cost comment."""
    lines = "".join(f"{action}\n" for action in plan)
    return lines if problem is None else f"{lines}{cost_comment(plan, problem.costs)}\n"
