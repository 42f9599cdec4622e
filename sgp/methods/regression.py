"""Goal regression: condition-action rules from short plans to single goals, taken in the order of remaining actions.

Goal regression (Waldinger 1977) walks backward through a plan to one goal atom and gives, before each action, a
condition under which the rest of the plan is executable and reaches the goal. With variables for objects these
conditions are first-order rules of a generalized policy (Chen, Hofmann, Klassen and McIlraith, arXiv:2511.11095). This
is our own implementation of the idea. Variables are equal only where an effect provides what a condition needs, as in
explanation-based generalization (Mitchell, Keller and Kedar-Cabelli 1986); the states and plans that rules are learned
from, the orders of goals and the protection of goals are ours.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.errors import StoreError, check_fields
from sgp.files import read_json, write_json
from sgp.methods.configuration import from_record
from sgp.methods.contract import MethodBase
from sgp.planning.declarations import OBJECT, Action, Atom, Literal
from sgp.planning.lookahead import Lookahead
from sgp.planning.planner import Planner
from sgp.planning.policy import one_step
from sgp.planning.task import Successor, Task, Trajectory
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.policies.rule_list import TYPE, FirstRule, Order, Rule

_RULES, _ORDERS = "rules.json", "orders.json"
MOST_NUMBERINGS = 64  # of a rule's variables that are compared


class Regressed(NamedTuple):
    """The rest of a plan with variables for objects: it reaches the goal wherever the condition is true."""

    goal: Atom
    plan: tuple[Action, ...]
    condition: frozenset[Literal]

    def renamed(self, names: Mapping[str, str]) -> Regressed:
        """Rename variables."""
        goal = Literal(self.goal, True).renamed(names).atom
        plan = tuple(each._replace(objects=tuple(names.get(x, x) for x in each.objects)) for each in self.plan)
        return Regressed(goal, plan, frozenset(literal.renamed(names) for literal in self.condition))


def regress(task: Task, plan: Sequence[Action], goal: Atom, longest: int) -> list[Regressed]:
    """Return the last 1, 2, ..., `longest` actions of a plan that are relevant to a goal, with their conditions.

    An action that provides nothing the condition needs is left out. The list ends at an action that falsifies a literal
    of the condition, which a plan to another goal can contain only in error.
    """
    objects = {f"?{number}": name for number, name in enumerate(goal.objects)}  # of the variables
    wanted = Atom(goal.predicate, tuple(objects))
    rest, regressed = Regressed(wanted, (), frozenset({Literal(wanted, True)})), list[Regressed]()
    for action in reversed(plan):
        if len(regressed) == longest:
            break
        schema = task.domain_text.schemas[action.name]
        fresh = {parameter.name: f"?{len(objects) + number}" for number, parameter in enumerate(schema.parameters)}
        objects |= dict(zip(fresh.values(), action.objects, strict=True))
        effect = [literal.renamed(fresh) for literal in schema.effect]
        ground = {literal.renamed(objects) for literal in rest.condition}
        if ground.isdisjoint(literal.renamed(objects) for literal in effect):
            continue
        # An atom that the action both deletes and adds is true afterwards.
        equal = [(one, two) for one in effect for two in effect if one.positive and _opposite(one, two, objects)]
        effect = [each for each in effect if each not in {deleted for _, deleted in equal}]
        links = [(one, two) for one in effect for two in rest.condition if one.renamed(objects) == two.renamed(objects)]
        provided = {two for _, two in links}
        if not links:
            continue
        threats = [
            (one, two)
            for one in effect
            for two in rest.condition
            if one.positive != two.positive
            and one.atom.predicate == two.atom.predicate
            and not (two.positive and two in provided)
        ]
        if any(_opposite(one, two, objects) for one, two in threats):
            break
        needed = {literal.renamed(fresh) for literal in schema.precondition}
        same = {each for each in needed if each.positive and each.atom.predicate == "="}
        needed |= {_typed(task, kinds, fresh[name], objects) for name, kinds in schema.parameters if kinds != (OBJECT,)}
        needed |= {_unequal(one, two, objects) for one, two in threats}
        names = _unified(
            [(a, b) for one, two in (*equal, *links) for a, b in zip(one.atom.objects, two.atom.objects, strict=True)]
            + [(each.atom.objects[0], each.atom.objects[1]) for each in same]
        )
        longer = (Action(action.name, tuple(fresh.values())), *rest.plan)
        rest = Regressed(rest.goal, longer, rest.condition - provided | needed - same).renamed(names)
        regressed.append(rest)
    return regressed


def _opposite(one: Literal, two: Literal, objects: Mapping[str, str]) -> bool:
    """Whether a literal is the negation of another one in the example."""
    return one.positive != two.positive and one.renamed(objects).atom == two.renamed(objects).atom


def _unequal(one: Literal, two: Literal, objects: Mapping[str, str]) -> Literal:
    """Return the inequality of the first arguments in which two atoms differ in the example."""
    pairs = zip(one.atom.objects, two.atom.objects, strict=True)
    return Literal(Atom("=", next((a, b) for a, b in pairs if objects.get(a, a) != objects.get(b, b))), False)


def _unified(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return, for each variable of the pairs, the term that it becomes when the terms of each pair are equal."""
    names = dict[str, str]()

    def root(term: str) -> str:
        while term in names:
            term = names[term]
        return term

    for pair in pairs:
        variable, term = sorted(map(root, pair), key=lambda each: each[0] != "?")  # constants last
        if variable != term:
            names[variable] = term
    return {variable: root(variable) for variable in names}


def _typed(task: Task, kinds: Sequence[str], variable: str, objects: Mapping[str, str]) -> Literal:
    """Return the literal that a variable's object is of a type, or of the first of several that it has."""
    if len(kinds) > 1:
        kinds = sorted(task.domain_text.types_of(task.objects)[objects[variable]].intersection(kinds))
    return Literal(Atom(TYPE + kinds[0], (variable,)), True)


def lift(rest: Regressed) -> Rule:
    """Return the rule of a plan's first action, with variables numbered so that it is equal for all of their names.

    Of more than MOST_NUMBERINGS numberings only so many are compared, and then the same rule may be found more than
    once under different names.
    """
    first = dict.fromkeys(x for x in (*rest.goal.objects, *rest.plan[0].objects) if x[0] == "?")
    terms = {x for literal in rest.condition for x in literal.atom.objects if x[0] == "?"}
    colours = {x: number for number, x in enumerate(first)} | dict.fromkeys(terms - first.keys(), len(first))
    # An inequality has no order.
    mirrored = {
        each._replace(atom=Atom("=", each.atom.objects[::-1])) for each in rest.condition if each.atom.predicate == "="
    }
    numbered = min(islice(_numberings([*rest.condition, *mirrored - rest.condition], colours), MOST_NUMBERINGS))
    condition = tuple(
        each for each in numbered if each.atom.predicate != "=" or each.atom.objects[0] < each.atom.objects[1]
    )
    lifted = rest.renamed({x: f"?x{number}" for number, x in enumerate(first)})
    return Rule(lifted.goal, lifted.plan[0], condition, len(rest.plan))


def _numberings(literals: Sequence[Literal], colours: Mapping[str, int]) -> Iterator[tuple[Literal, ...]]:
    """Yield the literals with numbered variables, once for each way to number objects that refinement leaves equal.

    Of the objects that can be exchanged without changing the literals only one is numbered first (McKay 1981): a second
    one gives the same first result.
    """
    colours = _refined(literals, colours)
    tied = [colour for colour, count in Counter(colours.values()).items() if count > 1]
    if not tied:
        names = {name: f"?x{colour}" for name, colour in colours.items()}
        yield tuple(sorted(literal.renamed(names) for literal in literals))
        return
    seen = set[tuple[Literal, ...]]()
    for chosen in sorted(name for name, colour in colours.items() if colour == min(tied)):
        found = _numberings(literals, {name: 2 * colour + (name != chosen) for name, colour in colours.items()})
        first = next(found)
        if first not in seen:
            seen.add(first)
            yield first
            yield from found


def _refined(literals: Sequence[Literal], colours: Mapping[str, int]) -> dict[str, int]:
    """Return the coarsest stable refinement of a colouring, by colour refinement; the order of colours is kept."""
    while True:
        seen = defaultdict[str, list[tuple[Any, ...]]](list)
        for (predicate, objects), positive in literals:
            terms = tuple([(colours[name], "") if name in colours else (-1, name) for name in objects])
            for position, name in enumerate(objects):
                seen[name].append((predicate, positive, position, terms))
        signatures = {name: (colour, tuple(sorted(seen[name]))) for name, colour in colours.items()}
        ranks = {signature: rank for rank, signature in enumerate(sorted(set(signatures.values())))}
        if len(ranks) == len(set(colours.values())):
            return {name: ranks[signature] for name, signature in signatures.items()}
        colours = {name: ranks[signature] for name, signature in signatures.items()}


def learn_rules(longest: int, data: Demonstrations) -> tuple[Rule, ...]:
    """Return the rules of short plans to each open goal from every state of the expert plans."""
    found, lookahead = Counter[Regressed](), Lookahead()
    for shown in data.train:
        task, true = shown.task, _true(shown)
        known = dict[tuple[Atom, tuple[Action, ...]], list[Regressed]]()
        for place, state in enumerate(shown.states[:-1]):
            opened = set(_goals(task)) - true[place]
            plans = _short_plans(task, lookahead(task, state), opened)
            for goal in opened:
                plan = plans.get(goal)
                if plan is None:
                    plan = shown.actions[place : next(n for n in range(place, len(true)) if goal in true[n])]
                if (goal, plan) not in known:
                    known[goal, plan] = regress(task, plan, goal, longest)
                found.update(known[goal, plan])
    support = Counter[Rule]()
    for rest, count in found.items():
        support[lift(rest)] += count
    rules = [rule._replace(support=count) for rule, count in support.items()]
    return tuple(sorted(rules, key=lambda rule: (rule.remaining, len(rule.condition), -rule.support, str(rule))))


def _short_plans(task: Task, reached: Sequence[Successor], opened: set[Atom]) -> dict[Atom, tuple[Action, ...]]:
    """Return the action sequence to the first candidate that satisfies each goal atom."""
    plans: dict[Atom, tuple[Action, ...]] = {}
    for candidate in reached:
        true = map(task.fluent, task.fluents(candidate.state))
        plans |= dict.fromkeys(opened.intersection(true) - plans.keys(), candidate.actions)
        if len(plans) == len(opened):
            break
    return plans


def learn_orders(data: Demonstrations) -> frozenset[Order]:
    """Return the orders of goals with common objects in which all expert plans achieve them for the last time."""
    seen = set[Order]()
    for shown in data.train:
        true = _true(shown)
        last = {
            goal: max((place for place, atoms in enumerate(true) if goal not in atoms), default=-1)
            for goal in _goals(shown.task)
        }
        seen |= {Order.of(one, two) for one in last for two in last if last[one] < last[two]}
    return frozenset(
        order
        for order in seen
        if order.shared and Order(order.then, order.first, tuple(sorted((j, i) for i, j in order.shared))) not in seen
    )


def _goals(task: Task) -> list[Atom]:
    """Return the goal atoms that actions change."""
    return [goal for goal in task.goal_atoms if goal.predicate in task.changing]


def _true(shown: Trajectory) -> list[set[Atom]]:
    """Return the true fluent atoms of each state."""
    return [set(map(shown.task.fluent, shown.task.fluents(state))) for state in shown.states]


@dataclass(frozen=True)
class RegressionTraining:
    """Longest remaining plan of a rule, and whether achieved goals are protected."""

    longest: int = 12
    protect: bool = True

    def __post_init__(self) -> None:
        check_fields(self, longest=1)


class Regression(MethodBase):
    """Method whose planner follows rules from goal regression."""

    key = "regression"
    learns_from = Demonstrations
    variants: Mapping[str, RegressionTraining] = {"rules": RegressionTraining()}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}

    def deterministic(self, training: RegressionTraining) -> bool:
        """Return True: nothing is drawn."""
        return True

    def invariant(self, training: RegressionTraining) -> bool:
        """Return True: rules contain no names of problem objects."""
        return True

    def train(self, training: RegressionTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Learn the rules and write them."""
        started = time.perf_counter()
        policy = FirstRule(learn_rules(training.longest, data), learn_orders(data), training.protect)
        draft.facts.update(rules=len(policy.learned), seconds=round(time.perf_counter() - started, 3))
        write_json(draft.folder / _RULES, [_record(rule) for rule in policy.learned])
        write_json(draft.folder / _ORDERS, sorted(policy.orders))
        task = data.train[0].task
        draft.keep_check(task.problem, policy.sample(task))
        return self.decodings[DEFAULT].planner(policy, one_step)

    def load(self, run: Run, decoding: BeamDecoding) -> Planner:
        """Return the planner of a run, verified against the costs stored in the run."""
        training = from_record(RegressionTraining, run.training)
        policy = FirstRule(load_rules(run.file(_RULES)), load_orders(run.file(_ORDERS)), training.protect)
        run.verify(policy.sample(Task(run.check_problem)))
        return decoding.planner(policy, one_step)


def _record(rule: Rule) -> dict[str, Any]:
    return {
        "goal": str(rule.goal),
        "condition": [str(literal) for literal in rule.condition],
        "action": str(rule.action),
        "remaining": rule.remaining,
        "support": rule.support,
    }


def load_rules(file: Path) -> tuple[Rule, ...]:
    """Read saved rules; raises StoreError where they are damaged."""
    try:
        return tuple(
            Rule(
                _literal(each["goal"]).atom,
                Action(*_literal(each["action"]).atom),
                tuple(map(_literal, each["condition"])),
                int(each["remaining"]),
                int(each["support"]),
            )
            for each in read_json(file)
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{file} holds no rules; train the run again") from error


def load_orders(file: Path) -> frozenset[Order]:
    """Read saved orders of goals; raises StoreError where they are damaged."""
    try:
        return frozenset(
            Order(str(first), str(then), tuple((int(i), int(j)) for i, j in shared))
            for first, then, shared in read_json(file)
        )
    except (TypeError, ValueError) as error:
        raise StoreError(f"{file} holds no orders of goals; train the run again") from error


def _literal(text: str) -> Literal:
    """Read an atom or its negation."""
    positive = not text.startswith("(not ")
    inner = text if positive else text.removeprefix("(not ").removesuffix(")")
    if not (inner.startswith("(") and inner.endswith(")")):
        raise ValueError(f"literal is {text!r}; expected an atom or its negation")
    predicate, *objects = inner[1:-1].split()
    return Literal(Atom(predicate, tuple(objects)), positive)


METHOD = Regression()
