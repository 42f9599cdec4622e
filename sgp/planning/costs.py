"""Plan costs by the problem's metric, and integer costs for Fast Downward."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from sgp.errors import PddlError
from sgp.planning.declarations import Action, DomainText, ProblemText, Schema
from sgp.planning.pddl_syntax import normalise, shown

LARGEST = 10**8  # greatest action cost for Fast Downward, which adds costs in 32 bits
_MOST_DIGITS = 300  # of a number
_NUMBER = re.compile(r"-?\d+\.?\d*")
_VALUE = re.compile(r"\(\s*=\s*(\([^()]*\))\s*([^\s()]+)\s*\)")
_INCREASE = re.compile(r"\(\s*increase\s*\(\s*total-cost\s*\)\s*(?:([^\s()]+)|(\([^()]*\)))\s*\)")
_METRIC = re.compile(r"\(\s*:metric\s+minimize\s*\(\s*total-cost\s*\)\s*\)")


class Costs:
    """Action costs of a problem with `(:metric minimize (total-cost))`; `unit` is true if every action costs 1."""

    def __init__(self, domain: DomainText, text: ProblemText):
        self._values = {match[1]: match[2] for value in text.values if (match := _VALUE.fullmatch(value))}
        self._schemas: dict[str, list[Schema]] = {}
        for schema in domain.schemas.values():
            for name in {schema.original.name if schema.original else schema.name, schema.name}:
                self._schemas.setdefault(name, []).append(schema)
        costs = {schema.cost for schema in domain.schemas.values()}
        called = {_function(cost) for cost in costs if cost.startswith("(")}
        numbers = [cost or "0" for cost in costs if not cost.startswith("(")]
        numbers += [value for call, value in self._values.items() if _function(call) in called]
        self.unit = set(map(number_of, numbers)) == {1}

    def of(self, action: Action) -> Fraction:
        """Return the cost of an action of the file or of a schema. Raises PddlError if its function has no value."""
        for schema in self._schemas.get(action.name, ()):
            case = schema.original if schema.original and schema.name != action.name else None
            names = case.objects if case else tuple(parameter.name for parameter in schema.parameters)
            pairs = list(zip(names, action.objects, strict=False))
            if len(names) == len(action.objects) and all(
                name.startswith("?") or name == value for name, value in pairs
            ):
                return self._value(schema.cost, dict(pairs))
        raise PddlError(f"no action of the domain is {shown(str(action))}, whose cost is wanted; correct the plan")

    def _value(self, cost: str, objects: Mapping[str, str]) -> Fraction:
        if cost.startswith("("):
            call = f"({' '.join(objects.get(name, name) for name in cost[1:-1].split())})"
            if call not in self._values:
                raise PddlError(f"{shown(call)} has no value in :init, though it is what an action costs; give it one")
            cost = self._values[call]
        return number_of(cost or "0")

    def of_plan(self, plan: Iterable[Action]) -> Fraction:
        """Return the total cost of a plan. Raises as `of`."""
        return sum(map(self.of, plan), Fraction(0))


def cost_comment(plan: Sequence[Action], costs: Costs | None) -> str:
    """Return the last line of a plan in Fast Downward's format; `costs` is None without a metric."""
    if costs is None:
        return f"; cost = {len(plan)} (unit cost)"
    try:
        cost = shown_cost(costs.of_plan(plan))
    except PddlError as error:
        return f"; cost unknown: {error}"
    return f"; cost = {cost} ({'unit' if costs.unit else 'general'} cost)"


def known_cost(plan: Sequence[Action], costs: Costs | None) -> float | None:
    """Return the cost of a plan; None without a metric, or if an action's cost is a function without a value."""
    with contextlib.suppress(PddlError):
        return None if costs is None else float(costs.of_plan(plan))
    return None


def shown_cost(cost: Fraction) -> str:
    """Format a cost as an exact decimal number."""
    digits = next(digits for digits in range(_MOST_DIGITS + 1) if (cost * 10**digits).denominator == 1)
    whole, part = divmod(abs(cost) * 10**digits, 10**digits)
    return ("-" if cost < 0 else "") + str(whole) + (f".{int(part):0{digits}d}" if digits else "")


def has_metric(problem_pddl: str) -> bool:
    """Whether a problem minimises the total cost, by a text search without parsing."""
    return _METRIC.search(normalise(problem_pddl)) is not None


def whole_costs(domain: tuple[str, str], problem: tuple[str, str]) -> tuple[str, str]:
    """Scale the costs in a domain and a problem to integers; each text is given with its source.

    Texts whose numbers Fast Downward reads are unchanged. In other texts, numbers outside the metric become 0. Raises
    PddlError for a cost that is negative, not a number, or cannot be scaled.
    """
    texts = normalise(domain[0]), normalise(problem[0])
    increases = list(_INCREASE.finditer(texts[0])) if _METRIC.search(texts[1]) else []
    charged = {_function(match[2]) for match in increases if match[2]}
    costs = [(domain[1], match, 1) for match in increases if match[1]]
    costs += [(problem[1], match, 2) for match in _VALUE.finditer(texts[1]) if _function(match[1]) in charged]
    numbers: dict[str, Fraction] = {}
    lines: dict[str, tuple[str, int]] = {}  # first occurrence of each number
    for source, match, group in costs:
        if match[group] not in numbers:
            lines[match[group]] = source, match.string.count("\n", 0, match.start(group)) + 1
            numbers[match[group]] = number_of(match[group], *lines[match[group]])
    scale = Fraction(1)
    if any(number.denominator > 1 or number > LARGEST for number in numbers.values()):
        below = math.lcm(*(number.denominator for number in numbers.values()))
        scale = Fraction(below, math.gcd(*(int(number * below) for number in numbers.values())) or 1)
    for word, number in numbers.items():
        if not 0 <= number * scale <= LARGEST:
            finest = max(numbers, key=lambda other: (numbers[other].denominator, -numbers[other]))
            why = (
                "which expert planners do not take; write costs of at least 0"
                if number < 0
                else f"because beside {shown(finest)} it is {int(number * scale):,} as a whole number, and Fast "
                f"Downward is handed at most {LARGEST:,}; write costs with fewer digits"
            )
            raise PddlError(f"the action cost {shown(word)} cannot be used, {why}", *lines[word])

    def replaced(match: re.Match[str], group: int, counts: bool) -> str:
        if not match[group] or (match[group].isdecimal() and not (counts and scale != 1)):
            return match[0]
        begin, end = (place - match.start() for place in match.span(group))
        return f"{match[0][:begin]}{numbers[match[group]] * scale if counts else 0}{match[0][end:]}"

    changed = (
        _INCREASE.sub(lambda match: replaced(match, 1, bool(increases)), texts[0]),
        _VALUE.sub(lambda match: replaced(match, 2, _function(match[1]) in charged), texts[1]),
    )
    return changed if changed != texts else (domain[0], problem[0])


def _function(call: str) -> str:
    """Return the function name of a call."""
    return call.strip("()").partition(" ")[0]


def number_of(word: str, source: str = "PDDL text", line: int | None = None) -> Fraction:
    """Parse a number as VAL does. Raises PddlError."""
    if not _NUMBER.fullmatch(word) or len(word) > _MOST_DIGITS:
        raise PddlError(f"'{shown(word)}' is no number that is supported; expected one such as 3 or 2.5", source, line)
    return Fraction(word.rstrip("."))
