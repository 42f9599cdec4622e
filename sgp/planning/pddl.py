"""PDDL: what its readers and writers give, and problems and plans as text.

pymimir does the planning; the readers here exist because errors must name file and line, because a predicate's being
static and a domain's signature must be known without a planner, and because each planner reads another part of PDDL.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from sgp.errors import PddlError, PlanError
from sgp.planning.costs import Costs, cost_comment, has_metric, whole_costs
from sgp.planning.declarations import (
    OBJECT,
    Action,
    Atom,
    DomainText,
    Literal,
    Parameter,
    ProblemText,
    Schema,
)
from sgp.planning.pddl_reading import SUPPORTED_REQUIREMENTS, read_both, read_domain, read_problem
from sgp.planning.pddl_syntax import normalise

__all__ = [
    "OBJECT",
    "SUPPORTED_REQUIREMENTS",
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
    "read_problem",
    "read_text",
]


_MORE_THAN_CONJUNCTIONS = re.compile(
    r"\(\s*(?:or|imply|exists|forall|not\s*\(\s*(?:not|and|or|imply|exists|forall))(?=[\s()])"
)


@dataclass(frozen=True)
class Problem:
    """One planning problem as text: what files hold and processes exchange. A `Task` is its living form.

    `alternative` is the place of the conjunction that is aimed at, where the goal asks for one of several.
    """

    name: str
    domain_pddl: str
    problem_pddl: str
    domain_source: str = field(default="domain", compare=False)
    problem_source: str = field(default="problem", compare=False)
    alternative: int | None = None

    @classmethod
    def from_files(cls, domain: Path | str, problem: Path | str) -> Problem:
        """The problem in two files, named by the problem file's stem. Raises PddlError for a file that is no text."""
        return cls(
            Path(problem).stem,
            read_text(domain),
            read_text(problem),
            domain_source=str(domain),
            problem_source=str(problem),
        )

    def read(self) -> tuple[DomainText, ProblemText]:
        """What domain and problem declare.

        Raises PddlError for text that cannot be used, MissingLibrary where actions are to be compiled and the library
        for it is not installed (`read_both`).
        """
        domain, problem = (self.domain_pddl, self.domain_source), (self.problem_pddl, self.problem_source)
        return read_both(domain, problem, self.alternative)

    def alternatives(self) -> tuple[Problem, ...]:
        """Itself; or, where its goal asks for one of several conjunctions, a problem for each.

        Raises as `read`, but for a problem that speaks of nothing but conjunctions, which is not read.
        """
        if self.alternative is not None or not _MORE_THAN_CONJUNCTIONS.search(normalise(self.problem_pddl)):
            return (self,)
        _, text = replace(self, alternative=0).read()
        return (self,) if text.goals == 1 else tuple(replace(self, alternative=place) for place in range(text.goals))

    @property
    def costs(self) -> Costs | None:
        """What actions cost, where the problem has a metric; None where each counts 1. Raises as `read`."""
        return Costs(*self.read()) if has_metric(self.problem_pddl) else None

    def with_whole_costs(self) -> Problem:
        """The problem with costs as Fast Downward reads them (`whole_costs`, which says what is raised)."""
        texts = whole_costs((self.domain_pddl, self.domain_source), (self.problem_pddl, self.problem_source))
        return replace(self, domain_pddl=texts[0], problem_pddl=texts[1])

    @cached_property
    def sha256(self) -> str:
        """Hash of domain and problem text, by which expert plans and results are kept."""
        return hashlib.sha256(f"{self.domain_pddl}\0{self.problem_pddl}".encode()).hexdigest()


def read_text(path: Path | str) -> str:
    """The text of a PDDL or plan file. Raises PddlError where it is missing or not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PddlError(f"byte {error.start} is not UTF-8 text; expected a text file", str(path)) from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise PddlError(f"cannot be read ({error.strerror}); check the path", str(path)) from error


def parse_plan(text: str, source: str = "plan") -> tuple[Action, ...]:
    """The actions of a plan, one `(name object ...)` a line; comments and time stamps are passed over.

    Raises PlanError naming the line that is no action.
    """
    plan = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.split(";")[0].strip().lower()
        if not line:
            continue
        match = re.fullmatch(r"(?:[\d.]+\s*:\s*)?\(([^()]+)\)(?:\s*\[[\d.]+\])?", line)
        if match is None:
            raise PlanError(f"{source}, line {number}: expected '(action object ...)', found '{raw.strip()[:60]}'")
        name, *objects = match.group(1).split()
        plan.append(Action(name, tuple(objects)))
    return tuple(plan)


def format_plan(plan: Sequence[Action], problem: Problem | None = None) -> str:
    """The plan as text, one action a line; of a `problem`, it ends in the cost comment that Fast Downward writes.

    Raises PddlError where an action costs a function that has no value, and as `Problem.read`.
    """
    lines = "".join(f"{action}\n" for action in plan)
    return lines if problem is None else f"{lines}{cost_comment(plan, problem.costs)}\n"


def format_problem(text: ProblemText) -> str:
    """A problem as PDDL, which `read_problem` reads back as it was."""

    def kind(types: tuple[str, ...]) -> str:
        return types[0] if len(types) == 1 else f"(either {' '.join(types)})"

    typed = any(each.types != ("object",) for each in text.objects)
    objects = [f"{each.name} - {kind(each.types)}" if typed else each.name for each in text.objects]
    parts = ((":objects", objects), (":init", map(str, text.init)), (":goal (and", map(str, text.goal)))
    body = "".join(f"\n  ({head}" + "".join(f"\n    {line}" for line in lines) + ")" for head, lines in parts)
    return f"(define (problem {text.name})\n  (:domain {text.domain}){body}))\n"
