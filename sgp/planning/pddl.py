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
    AsWritten,
    Atom,
    DomainText,
    Literal,
    Parameter,
    ProblemText,
    Schema,
)
from sgp.planning.pddl_reading import SUPPORTED_REQUIREMENTS, read_as_written, read_both, read_domain, read_problem
from sgp.planning.pddl_syntax import normalise, shown

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
    "read_plan",
    "read_problem",
    "read_text",
]


_MORE_THAN_CONJUNCTIONS = re.compile(
    r"\(\s*(?:or|imply|exists|forall|not\s*\(\s*(?:not|and|or|imply|exists|forall))(?=[\s()])"
)
_TIMED_ACTION = re.compile(
    r"(?:(?P<time>\d+\.?\d*|\.\d+)\s*:\s*)?\(\s*(?P<words>[^()\s][^()]*)\)(?:\s*\[\s*[\d.]+\s*\])?|\S"
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

    def as_written(self) -> AsWritten:
        """What the files of domain and problem declare; nothing is compiled.

        Raises PddlError, and UnsupportedPddl for what the package does not handle.
        """
        return read_as_written((self.domain_pddl, self.domain_source), (self.problem_pddl, self.problem_source))

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
    """The text of a PDDL or plan file, without a byte order mark; comments may be in any encoding.

    Raises PddlError where it is missing or not UTF-8.
    """
    try:
        return decoded(Path(path).read_bytes())
    except UnicodeDecodeError as error:
        raise PddlError(f"byte {error.start} is not UTF-8 text; expected a text file", str(path)) from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise PddlError(f"cannot be read ({error.strerror}); check the path", str(path)) from error


def decoded(data: bytes) -> str:
    """The text of a file of PDDL or of a plan. Raises UnicodeDecodeError where more than comments is not UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
        without_comments = re.sub(rb";[^\r\n]*", lambda found: b" " * len(found[0]), data)
        without_comments.decode("utf-8")  # for its error, and the byte that it names
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_plan(text: str, source: str = "plan") -> tuple[Action, ...]:
    """The actions of a plan, as `read_plan` reads it."""
    return read_plan(text, source)[0]


def read_plan(text: str, source: str = "plan") -> tuple[tuple[Action, ...], tuple[int, ...]]:
    """The actions `(name object ...)` of a plan, in the order of their time stamps, and the line of each.

    Raises PlanError naming the line of what is no action, has the time of another one, or lacks one where others do
    not.
    """
    plain = normalise(text)
    line, before = 1, 0
    found: list[tuple[str | None, Action, int]] = []
    for match in _TIMED_ACTION.finditer(plain):
        line, before = line + plain.count("\n", before, match.start()), match.start()
        if match["words"] is None:
            here = shown(text.split("\n")[line - 1].strip())
            raise PlanError(f"{source}, line {line}: expected '(action object ...)', found '{here}'")
        name, *objects = match["words"].split()
        found.append((match["time"], Action(name, tuple(objects)), line))
    if any(time is not None for time, _, _ in found):
        found = _by_time(found, source)
    return tuple(action for _, action, _ in found), tuple(line for _, _, line in found)


def _by_time(found: list[tuple[str | None, Action, int]], source: str) -> list[tuple[str | None, Action, int]]:
    """The actions of a plan, with times and lines, in the order of their times."""
    taken: dict[float, int] = {}
    for time, action, line in found:
        if time is None:
            raise PlanError(
                f"{source}, line {line}: {shown(str(action))} has no time stamp and others have; give all or none"
            )
        if float(time) in taken:
            raise PlanError(
                f"{source}, line {line}: {shown(str(action))} has the time {time} of line {taken[float(time)]}; "
                "actions at the same time are not supported; give each a time of its own"
            )
        taken[float(time)] = line
    return sorted(found, key=lambda each: float(each[0] or 0))


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
