"""Policy of condition-action rules in a fixed order, matched as joins of the true atoms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sgp.planning.clock import check_limits, with_limit_checks
from sgp.planning.declarations import OBJECT, Action, Atom, Literal
from sgp.planning.policy import REPLACE, Node, Ranking, Rules
from sgp.planning.task import Candidates, Successor, Task, TaskCache, count_open_goals

# Prefixes of predicates that stand for types and open goals; no PDDL predicate begins with them.
TYPE, GOAL = ":", "="

Binding: TypeAlias = Mapping[str, str]
Facts: TypeAlias = dict[tuple[object, ...], list[tuple[str, ...]]]
"""Arguments of ground atoms by (predicate,), (predicate, position, object) and (predicate, arguments)."""


class Rule(NamedTuple):
    """If `condition` is true and `goal` is an open goal, take `action`. Variables may be the same object.

    `remaining` is the number of actions, this one included, that reach the goal; `support` counts training examples.
    """

    goal: Atom
    action: Action
    condition: tuple[Literal, ...]
    remaining: int
    support: int = 0

    def __str__(self) -> str:
        return f"goal {self.goal}, if {' '.join(map(str, self.condition)) or 'true'}: {self.action}"

    @property
    def terms(self) -> list[str]:
        """Variables and constants."""
        arguments = [self.goal.objects, *(literal.atom.objects for literal in self.condition), self.action.objects]
        return list(dict.fromkeys(term for objects in arguments for term in objects))


class Pattern(NamedTuple):
    """A rule as literals to join, each variable in a positive one; constants are bound to themselves."""

    literals: tuple[Literal, ...]
    constants: Binding

    @classmethod
    def of(cls, rule: Rule) -> Pattern:
        """Add the open goal as a literal; a variable that no positive literal has can be any object."""
        literals = [Literal(rule.goal._replace(predicate=GOAL + rule.goal.predicate), True), *rule.condition]
        found = {term for atom, positive in literals if positive for term in atom.objects}
        anything = [Literal(Atom(TYPE + OBJECT, (term,)), True) for term in rule.terms if term not in found]
        return cls((*literals, *anything), {term: term for term in rule.terms if term[0] != "?"})


class Order(NamedTuple):
    """Goals of predicate `first` come before those of `then` that have the `shared` argument positions in common."""

    first: str
    then: str
    shared: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, first: Atom, then: Atom) -> Order:
        """Return the order that two goal atoms are an example of."""
        shared = ((i, j) for i, one in enumerate(first.objects) for j, two in enumerate(then.objects) if one == two)
        return cls(first.predicate, then.predicate, tuple(shared))


def add_facts(facts: Facts, atoms: Iterable[Atom]) -> None:
    """Add atoms that are not among the facts."""
    for predicate, objects in atoms:
        facts[predicate, objects] = [objects]
        facts.setdefault((predicate,), []).append(objects)
        for position, name in enumerate(objects):
            facts.setdefault((predicate, position, name), []).append(objects)


def static_facts(task: Task) -> Facts:
    """Return the static atoms and the types of the objects."""
    facts: Facts = {}
    add_facts(facts, dict.fromkeys(task.static_atoms))
    for name, types in task.domain_text.types_of(task.objects).items():
        add_facts(facts, (Atom(TYPE + each, (name,)) for each in types))
    return facts


def matches(
    literals: Sequence[Literal], facts: Facts, binding: Binding, failed: set[tuple[Any, ...]] | None = None
) -> Iterator[Binding]:
    """Yield the extensions of a binding that satisfy all literals, joined smallest relation first.

    `failed` has the remaining literals, with the bindings of their variables, that have no match: paths that meet in
    one place are followed once from there.
    """
    check_limits()
    failed = set() if failed is None else failed
    rest, least, fewest = list[Literal](), None, list[tuple[str, ...]]()
    for literal in literals:
        (predicate, terms), positive = literal
        objects = tuple([binding.get(term, term) for term in terms])
        bound = [(position, name) for position, name in enumerate(objects) if name[0] != "?"]
        if len(bound) == len(terms):
            if (objects[0] == objects[1] if predicate == "=" else (predicate, objects) in facts) != positive:
                return
            continue
        rest.append(literal)
        if positive:
            each = [facts.get((predicate, position, name), []) for position, name in bound]
            found = min(each or [facts.get((predicate,), [])], key=len)
            if not found:
                return
            if least is None or len(found) < len(fewest):
                least, fewest = literal, found
    if least is None:
        yield binding
        return
    rest = [literal for literal in rest if literal is not least]
    numbers = tuple(map(id, rest))
    waiting = dict.fromkeys(term for literal in rest for term in literal.atom.objects)
    for objects in fewest:
        extended = extend(binding, least.atom.objects, objects)
        if extended is None:
            continue
        key, matched = (numbers, *map(extended.get, waiting)), False
        for longer in () if key in failed else matches(rest, facts, extended, failed):
            matched = True
            yield longer
        if not matched:
            failed.add(key)


def extend(binding: Binding, terms: Sequence[str], objects: Sequence[str]) -> Binding | None:
    """Return the binding extended so that the terms are these objects; None where they are bound to others."""
    extended = dict(binding)
    if any(extended.setdefault(term, name) != name for term, name in zip(terms, objects, strict=True)):
        return None
    return extended


@dataclass(frozen=True)
class FirstRule:
    """Policy that takes the action of the first rule with a match, or else the successor with the fewest open goals.

    A goal waits while a goal that comes before it is open or waits. With `protect`, a rule whose action falsifies an
    achieved goal that does not wait comes after all others. Rules after the first one that leads to a state which is
    not on the path to the node are not matched; the remaining candidates rank last, with equal costs.
    """

    learned: tuple[Rule, ...]
    orders: frozenset[Order] = frozenset()
    protect: bool = True
    rules: Rules = REPLACE
    _static: TaskCache[Facts] = field(default_factory=TaskCache, repr=False, compare=False)
    _later: TaskCache[dict[Atom, list[Atom]]] = field(default_factory=TaskCache, repr=False, compare=False)

    def refuses(self, task: Task) -> str | None:
        """Return None: where no rule matches, goals are counted."""
        return None

    @cached_property
    def _patterns(self) -> list[Pattern]:
        return [Pattern.of(rule) for rule in self.learned]

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node.

        The note has each candidate's rule, from 1 on or 0 for none, and `because`, the rule as text with its binding.
        """
        return [self._rank(node, choice) for node, choice in zip(nodes, choices, strict=True)]

    def _rank(self, node: Node, choice: Sequence[Successor]) -> Ranking:
        task, none = node.task, len(self.learned)
        facts = dict(self._static.of(task, lambda: static_facts(task)))
        add_facts(facts, map(task.fluent, task.fluents(node.state)))
        opened, achieved = self._goals(task, facts)
        add_facts(facts, (goal._replace(predicate=GOAL + goal.predicate) for goal in opened))
        path, because = {each.state for each in _path(node)}, [""] * len(choice)
        fired, costs = np.full(len(choice), none), np.full(len(choice), 2.0 * none)
        for number, taken in self._matched(_first_actions(choice), facts):
            new = [place for place in taken if fired[place] == none]
            fired[new] = number
            text = f"rule {number + 1}: {self.learned[number]}"
            for place in new:
                bound = [f"{term} = {name}" for term, name in sorted(taken[place].items()) if term[0] == "?"]
                because[place] = f"{text}; {', '.join(bound)}"
            after = [choice[place].state for place in new]
            lost = [self.protect and not achieved <= set(map(task.fluent, task.fluents(state))) for state in after]
            costs[new] = number + none * np.array(lost, np.float64)
            if any(not each and state not in path for each, state in zip(lost, after, strict=True)):
                break
        else:
            for place in np.flatnonzero(fired == none).tolist():
                costs[place] += count_open_goals(task, choice[place].state)
        return Ranking(costs, note={"rule": np.where(fired < none, fired + 1, 0), "because": because})

    def _matched(self, actions: Sequence[Action], facts: Facts) -> Iterator[tuple[int, dict[int, Binding]]]:
        """Yield the number of each rule with a match, in order, and a binding for each place that it takes."""
        places = defaultdict[str, list[int]](list)
        for place, action in enumerate(actions):
            places[action.name].append(place)
        for number, (rule, (literals, constants)) in enumerate(
            zip(with_limit_checks(self.learned), self._patterns, strict=True)
        ):
            if rule.action.name not in places or next(matches(literals, facts, constants), None) is None:
                continue
            taken = dict[int, Binding]()
            for place in places[rule.action.name]:
                start = extend(constants, rule.action.objects, actions[place].objects)
                found = None if start is None else next(matches(literals, facts, start), None)
                if found is not None:
                    taken[place] = found
            if taken:
                yield number, taken

    def _goals(self, task: Task, facts: Facts) -> tuple[list[Atom], set[Atom]]:
        """Return the open goals that do not wait, or all of them if all wait; and the achieved ones that do not wait.

        Achieved goals that no action changes are left out.
        """
        later = self._later.of(task, lambda: self._later_goals(task.goal_atoms))
        opened = [goal for goal in task.goal_atoms if goal not in facts]
        waiting, causes = set[Atom](), list(opened)
        while causes:
            found = [goal for goal in later[causes.pop()] if goal not in waiting]
            waiting.update(found)
            causes += found
        achieved = {goal for goal in task.goal_atoms if goal in facts and goal.predicate in task.changing}
        return [goal for goal in opened if goal not in waiting] or opened, achieved - waiting

    def _later_goals(self, goals: Sequence[Atom]) -> dict[Atom, list[Atom]]:
        """Return, for each goal, the goals that it comes before."""
        of_object = defaultdict[str, list[Atom]](list)
        for goal in goals:
            for name in goal.objects:
                of_object[name].append(goal)
        return {
            goal: [
                other
                for other in dict.fromkeys(other for name in goal.objects for other in of_object[name])
                if other != goal and Order.of(goal, other) in self.orders
            ]
            for goal in goals
        }

    def sample(self, task: Task) -> dict[str, NDArray[np.float64]]:
        """Return the costs [n] of the initial state's candidates, used to verify a run."""
        (ranking,) = self.rank([Node(task, task.init)], [task.successors(task.init)])
        return {"costs": ranking.costs}


def _path(node: Node | None) -> Iterator[Node]:
    while node is not None:
        yield node
        node = node.before


def _first_actions(choice: Sequence[Successor]) -> Sequence[Action]:
    if isinstance(choice, Candidates) and (choice.lengths == 1).all():
        return choice.actions
    return [candidate.actions[0] for candidate in choice]
