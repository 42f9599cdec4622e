"""What plans cost by the metric of their problem, and costs as the whole numbers that Fast Downward reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from sgp.errors import PddlError
from sgp.planning.declarations import Action, DomainText, ProblemText, Schema
from sgp.planning.pddl_syntax import normalise, shown

LARGEST = 10**8  # cost of an action that Fast Downward, which adds them up in 32 bits, is handed
_MOST_DIGITS = 300  # of a number
_NUMBER = re.compile(r"-?\d+\.?\d*")
_VALUE = re.compile(r"\(\s*=\s*(\([^()]*\))\s*([^\s()]+)\s*\)")
_INCREASE = re.compile(r"\(\s*increase\s*\(\s*total-cost\s*\)\s*(?:([^\s()]+)|(\([^()]*\)))\s*\)")
_METRIC = re.compile(r"\(\s*:metric\s+minimize\s*\(\s*total-cost\s*\)\s*\)")


class Costs:
    """Costs of the actions of a problem that asks for `(:metric minimize (total-cost))`.

    `unit` says whether each action costs 1, so that costs are lengths.
    """

    def __init__(self, domain: DomainText, text: ProblemText):
        self._values = {match[1]: match[2] for each in text.values if (match := _VALUE.fullmatch(each))}
        self._schemas: dict[str, list[Schema]] = {}
        for schema in domain.schemas.values():
            for name in dict.fromkeys((schema.original.name if schema.original else schema.name, schema.name)):
                self._schemas.setdefault(name, []).append(schema)
        costs = {schema.cost for schema in domain.schemas.values()}
        called = {_function(cost) for cost in costs if cost.startswith("(")}
        numbers = [cost or "0" for cost in costs if not cost.startswith("(")]
        numbers += [value for call, value in self._values.items() if _function(call) in called]
        self.unit = set(map(number_of, numbers)) == {1}

    def of(self, action: Action) -> Fraction:
        """The cost of an action, of the file or of a schema.

        Raises PddlError where a function has no value for it, or there is no such action.
        """
        for schema in self._schemas.get(action.name, ()):
            case = schema.original if schema.original and schema.name != action.name else None
            names = case.objects if case else tuple(each.name for each in schema.parameters)
            if len(names) == len(action.objects) and all(
                name.startswith("?") or name == each for name, each in zip(names, action.objects, strict=True)
            ):
                return self._value(schema.cost, dict(zip(names, action.objects, strict=True)))
        raise PddlError(f"no action of the domain is {shown(str(action))}, whose cost is wanted; correct the plan")

    def _value(self, cost: str, objects: Mapping[str, str]) -> Fraction:
        if cost.startswith("("):
            call = f"({' '.join(objects.get(each, each) for each in cost[1:-1].split())})"
            if call not in self._values:
                raise PddlError(f"{shown(call)} has no value in :init, though it is what an action costs; give it one")
            cost = self._values[call]
        return number_of(cost or "0")

    def of_plan(self, plan: Iterable[Action]) -> Fraction:
        """The cost of a plan. Raises as `of`."""
        return sum(map(self.of, plan), Fraction(0))


def cost_comment(plan: Sequence[Action], costs: Costs | None) -> str:
    """The line that Fast Downward ends a plan with; `costs` are None where no metric counts. Raises as `Costs.of`."""
    if costs is None:
        return f"; cost = {len(plan)} (unit cost)"
    return f"; cost = {shown_cost(costs.of_plan(plan))} ({'unit' if costs.unit else 'general'} cost)"


def shown_cost(cost: Fraction) -> str:
    """A cost as a decimal number, exactly."""
    digits = next(digits for digits in range(_MOST_DIGITS + 1) if (cost * 10**digits).denominator == 1)
    whole, part = divmod(abs(cost) * 10**digits, 10**digits)
    return ("-" if cost < 0 else "") + str(whole) + (f".{int(part):0{digits}d}" if digits else "")


def has_metric(problem_pddl: str) -> bool:
    """Whether a problem's text asks to minimise the total cost, without reading it."""
    return _METRIC.search(normalise(problem_pddl)) is not None


def whole_costs(domain: tuple[str, str], problem: tuple[str, str]) -> tuple[str, str]:
    """The texts of a domain and a problem, each given with its source, with costs as whole numbers of equal ratios.

    Texts whose numbers Fast Downward reads stay as they are; numbers that no metric counts become 0 in others. Raises
    PddlError for a cost that is negative, no number, or cannot be scaled.
    """
    texts = normalise(domain[0]), normalise(problem[0])
    increases = list(_INCREASE.finditer(texts[0])) if _METRIC.search(texts[1]) else []
    charged = {_function(match[2]) for match in increases if match[2]}
    values = [match for match in _VALUE.finditer(texts[1]) if _function(match[1]) in charged]
    places = [(domain[1], texts[0], match.start(1), match[1]) for match in increases if match[1]]
    places += [(problem[1], texts[1], match.start(2), match[2]) for match in values]
    numbers = {}
    for source, text, start, word in places:
        if word not in numbers:
            numbers[word] = number_of(word, source, text.count("\n", 0, start) + 1)
    scale = Fraction(1)
    if any(number.denominator > 1 or number > LARGEST for number in numbers.values()):
        below = math.lcm(*(number.denominator for number in numbers.values()))
        scale = Fraction(below, math.gcd(*(int(number * below) for number in numbers.values())) or 1)
    for source, text, start, word in places:
        if not 0 <= numbers[word] * scale <= LARGEST:
            finest = max(numbers, key=lambda each: (numbers[each].denominator, -numbers[each]))
            why = (
                "which expert planners do not take; write costs of at least 0"
                if numbers[word] < 0
                else f"because beside {shown(finest)} it is {int(numbers[word] * scale):,} as a whole number, and Fast "
                f"Downward is handed at most {LARGEST:,}; write costs with fewer digits"
            )
            line = text.count("\n", 0, start) + 1
            raise PddlError(f"the action cost {shown(word)} cannot be used, {why}", source, line)

    def of_effect(match: re.Match[str]) -> str:
        return match[0] if match[2] else replaced(match, 1, bool(increases))

    def of_fact(match: re.Match[str]) -> str:
        return replaced(match, 2, _function(match[1]) in charged)

    def replaced(match: re.Match[str], group: int, counts: bool) -> str:
        if match[group].isdecimal() and not (counts and scale != 1):
            return match[0]
        begin, end = (each - match.start() for each in match.span(group))
        return f"{match[0][:begin]}{numbers[match[group]] * scale if counts else 0}{match[0][end:]}"

    changed = _INCREASE.sub(of_effect, texts[0]), _VALUE.sub(of_fact, texts[1])
    return changed if changed != texts else (domain[0], problem[0])


def _function(call: str) -> str:
    """The name in the call of a function."""
    return call.strip("()").partition(" ")[0]


def number_of(word: str, source: str = "PDDL text", line: int | None = None) -> Fraction:
    """The number that a word is, of the kinds that VAL reads. Raises PddlError where it is none."""
    if not _NUMBER.fullmatch(word) or len(word) > _MOST_DIGITS:
        raise PddlError(f"'{shown(word)}' is no number that is supported; expected one such as 3 or 2.5", source, line)
    return Fraction(word.rstrip("."))
