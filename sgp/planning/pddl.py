"""What PDDL says: the declarations of domains and problems, atoms and actions, plans.

pymimir does the planning; this reader exists because errors must name file and line, because a predicate's being
static and a domain's signature must be known without a planner, and because pymimir accepts unbalanced parentheses
and a missing goal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sgp.errors import PddlError, PlanError, UnsupportedPddl
from sgp.planning.pddl_syntax import Block, Word, read_sections, words_of

SUPPORTED_REQUIREMENTS = frozenset({":strips", ":typing", ":negative-preconditions", ":equality", ":action-costs"})
_UNSUPPORTED_CONNECTIVES = {
    "forall": "quantifiers (forall)",
    "exists": "quantifiers (exists)",
    "when": "conditional effects (when)",
    "or": "disjunctions (or)",
    "imply": "implications (imply)",
}
OBJECT = "object"  # the root of PDDL's type hierarchy, and the type of everything in an untyped domain


class Atom(NamedTuple):
    """A ground atom, `(predicate object ...)`, names in lower case."""

    predicate: str
    objects: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.objects))})"


class Action(NamedTuple):
    """A ground action, `(name object ...)`, names in lower case."""

    name: str
    objects: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.name, *self.objects))})"


class Parameter(NamedTuple):
    """A name with its type; `types` has several entries for `(either ...)`."""

    name: str
    types: tuple[str, ...]


class Literal(NamedTuple):
    """An atom or its negation; in schemas the objects may be variables."""

    atom: Atom
    positive: bool

    def __str__(self) -> str:
        return str(self.atom) if self.positive else f"(not {self.atom})"


@dataclass(frozen=True)
class Schema:
    """An action schema: parameters, precondition literals and the literals of its effect."""

    name: str
    parameters: tuple[Parameter, ...]
    precondition: tuple[Literal, ...]
    effect: tuple[Literal, ...]


@dataclass(frozen=True)
class DomainText:
    """What a domain file declares: requirements, types (name to parents), constants, predicates, action schemas."""

    name: str
    requirements: tuple[str, ...]
    types: Mapping[str, tuple[str, ...]]
    constants: tuple[Parameter, ...]
    predicates: Mapping[str, int]
    schemas: Mapping[str, Schema]

    @cached_property
    def fluent_predicates(self) -> frozenset[str]:
        """Predicates that some action changes; the others are static."""
        return frozenset(literal.atom.predicate for schema in self.schemas.values() for literal in schema.effect)

    @cached_property
    def signature(self) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
        """Predicates and actions with their arities, sorted: what a model of the domain depends on."""
        actions = {name: len(schema.parameters) for name, schema in self.schemas.items()}
        return tuple(sorted(self.predicates.items())), tuple(sorted(actions.items()))

    def difference(self, other: DomainText) -> str:
        """What `other` lacks and adds in predicates and actions, in words; "" where the signatures agree."""
        words = []
        for kind, ours, theirs in zip(("predicate", "action"), self.signature, other.signature, strict=True):
            for verb, names in (("lacks", set(ours) - set(theirs)), ("adds", set(theirs) - set(ours))):
                if names:
                    listed = ", ".join(f"{name}/{arity}" for name, arity in sorted(names))
                    words.append(f"{verb} the {kind}{'s' if len(names) > 1 else ''} {listed}")
        return " and ".join(words)

    def supertypes(self, name: str) -> frozenset[str]:
        """The type and everything above it, the root included."""
        found, frontier = {OBJECT}, [name]
        while frontier:
            current = frontier.pop()
            if current not in found:
                found.add(current)
                frontier.extend(self.types.get(current, ()))
        return frozenset(found | {name})


@dataclass(frozen=True)
class ProblemText:
    """What a problem file declares: objects, initial atoms and the goal's literals."""

    name: str
    domain: str
    objects: tuple[Parameter, ...]
    init: tuple[Atom, ...]
    goal: tuple[Literal, ...]


def _typed_list(block: Block, start: int, source: str) -> tuple[Parameter, ...]:
    """`a b - t c` as parameters; names without a type are objects."""
    found: list[Parameter] = []
    pending: list[str] = []
    items = iter(block[start:])
    for item in items:
        if isinstance(item, Block):
            raise PddlError(f"expected a name, found a list '({item.head} ...'", source, item.line)
        if item != "-":
            pending.append(item)
            continue
        kind = next(items, None)
        if kind is None:
            raise PddlError("'-' is followed by no type", source, item.line)
        types = tuple(words_of(kind, 1, source)) if isinstance(kind, Block) else (str(kind),)
        found += [Parameter(str(name), tuple(map(str, types))) for name in pending]
        pending = []
    return (*found, *(Parameter(str(name), (OBJECT,)) for name in pending))


def _atom(block: Block, source: str) -> Atom:
    if not block.head:
        raise PddlError("expected '(predicate name ...)', found an empty or nested list", source, block.line)
    return Atom(str(block.head), tuple(map(str, words_of(block, 1, source))))


def _literals(block: Block, source: str) -> Iterator[Literal]:
    """The literals of a conjunction; numeric effects are passed over (action costs are not used)."""
    head = block.head
    if not block:
        return
    if head in _UNSUPPORTED_CONNECTIVES:
        raise UnsupportedPddl(
            f"{_UNSUPPORTED_CONNECTIVES[head]} are not supported; rewrite the domain in STRIPS with types, "
            "negative preconditions and equality",
            source,
            block.line,
        )
    if head == "and":
        for part in block[1:]:
            if not isinstance(part, Block):
                raise PddlError(f"expected a list inside 'and', found '{part}'", source, part.line)
            yield from _literals(part, source)
    elif head == "not":
        if len(block) != 2 or not isinstance(block[1], Block):
            raise PddlError("expected '(not (predicate ...))'", source, block.line)
        for literal in _literals(block[1], source):
            yield Literal(literal.atom, not literal.positive)
    elif head not in {"increase", "decrease", "assign", "scale-up", "scale-down"}:
        yield Literal(_atom(block, source), True)


def read_domain(text: str, source: str = "domain") -> DomainText:
    """What a domain's text declares. Raises PddlError, and UnsupportedPddl for what the package does not handle."""
    name, sections = read_sections(text, "domain", source)
    requirements: tuple[str, ...] = ()
    types: dict[str, tuple[str, ...]] = {}
    constants: tuple[Parameter, ...] = ()
    predicates: dict[str, int] = {}
    schemas: dict[str, Schema] = {}
    for section in sections:
        if section.head == ":requirements":
            for requirement in words_of(section, 1, source):
                if requirement not in SUPPORTED_REQUIREMENTS:
                    raise UnsupportedPddl(
                        f"requirement {requirement} is not supported; supported are "
                        + ", ".join(sorted(SUPPORTED_REQUIREMENTS)),
                        source,
                        requirement.line,
                    )
                requirements += (str(requirement),)
        elif section.head == ":types":
            types.update((kind.name, kind.types) for kind in _typed_list(section, 1, source))
        elif section.head == ":constants":
            constants = _typed_list(section, 1, source)
        elif section.head == ":predicates":
            for declaration in section[1:]:
                if not isinstance(declaration, Block) or not declaration.head:
                    raise PddlError("expected '(predicate ?x ...)' in :predicates", source, declaration.line)
                predicates[str(declaration.head)] = len(_typed_list(declaration, 1, source))
        elif section.head == ":action":
            schema = _schema(section, source)
            schemas[schema.name] = schema
        elif section.head != ":functions":  # action costs are declared here and not used
            raise UnsupportedPddl(f"section {section.head} is not supported", source, section.line)
    if not schemas:
        raise PddlError("the domain has no '(:action ...)'; expected at least one", source, 1)
    return DomainText(name, requirements, types, constants, predicates, schemas)


def _schema(section: Block, source: str) -> Schema:
    if len(section) < 2 or not isinstance(section[1], Word):
        raise PddlError("expected '(:action NAME ...)'", source, section.line)
    parts: dict[str, Block] = {}
    for key, value in zip(section[2::2], section[3::2], strict=False):
        if not isinstance(key, Word) or not isinstance(value, Block):
            raise PddlError(f"expected ':keyword (...)' in action '{section[1]}'", source, key.line)
        parts[str(key)] = value
    if ":effect" not in parts:
        raise PddlError(f"action '{section[1]}' has no ':effect'", source, section.line)
    empty = Block()
    parameters = _typed_list(parts.get(":parameters", empty), 0, source)
    for parameter in parameters:
        if len(parameter.types) > 1:  # the planning library takes it for "of both types"
            raise UnsupportedPddl(
                f"action '{section[1]}': '{parameter.name} - (either {' '.join(parameter.types)})' is not supported; "
                "declare a type above these",
                source,
                section.line,
            )
    return Schema(
        name=str(section[1]),
        parameters=parameters,
        precondition=tuple(_literals(parts.get(":precondition", empty), source)),
        effect=tuple(_literals(parts[":effect"], source)),
    )


def read_problem(text: str, source: str = "problem") -> ProblemText:
    """What a problem's text declares. Raises PddlError, also where objects, initial state or goal are missing."""
    name, sections = read_sections(text, "problem", source)
    by_head = {section.head: section for section in sections}
    for needed in (":domain", ":init", ":goal"):
        if needed not in by_head:
            raise PddlError(f"the problem has no '({needed} ...)' section", source, 1)
    if len(by_head[":domain"]) != 2:
        raise PddlError("expected '(:domain NAME)'", source, by_head[":domain"].line)
    goal = by_head[":goal"]
    if len(goal) != 2 or not isinstance(goal[1], Block):
        raise PddlError("expected '(:goal (and ...))'", source, goal.line)
    init = []
    for fact in by_head[":init"][1:]:
        if not isinstance(fact, Block):
            raise PddlError(f"expected '(predicate object ...)' in :init, found '{fact}'", source, fact.line)
        if fact.head == "not":
            raise PddlError("':init' lists what is true; remove the '(not ...)'", source, fact.line)
        if fact.head != "=":  # values of numeric functions, which action costs use
            init.append(_atom(fact, source))
    objects = by_head.get(":objects", Block())
    return ProblemText(
        name=name,
        domain=str(by_head[":domain"][1]),
        objects=_typed_list(objects, 1, source) if objects else (),
        init=tuple(dict.fromkeys(init)),
        goal=tuple(_literals(goal[1], source)),
    )


@dataclass(frozen=True)
class Problem:
    """One planning problem as text: what files hold and processes exchange. A `Task` is its living form."""

    name: str
    domain_pddl: str
    problem_pddl: str
    domain_source: str = field(default="domain", compare=False)
    problem_source: str = field(default="problem", compare=False)

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


def format_plan(plan: tuple[Action, ...]) -> str:
    """The plan as text, one action a line, ending in the cost comment that Fast Downward writes."""
    return "".join(f"{action}\n" for action in plan) + f"; cost = {len(plan)} (unit cost)\n"


def format_problem(text: ProblemText) -> str:
    """A problem as PDDL, which `read_problem` reads back as it was."""

    def kind(types: tuple[str, ...]) -> str:
        return types[0] if len(types) == 1 else f"(either {' '.join(types)})"

    typed = any(each.types != ("object",) for each in text.objects)
    objects = [f"{each.name} - {kind(each.types)}" if typed else each.name for each in text.objects]
    parts = ((":objects", objects), (":init", map(str, text.init)), (":goal (and", map(str, text.goal)))
    body = "".join(f"\n  ({head}" + "".join(f"\n    {line}" for line in lines) + ")" for head, lines in parts)
    return f"(define (problem {text.name})\n  (:domain {text.domain}){body}))\n"
