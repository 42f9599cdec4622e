"""Tests of goal regression and of its rules against simulation and brute force in enumerated state spaces."""

import json
import random
import time
from itertools import product

import pytest

import sgp
from sgp.datasets.training_data import load_training_data
from sgp.errors import StoreError
from sgp.methods.regression import Regressed, _record, learn_orders, learn_rules, lift, load_orders, load_rules, regress
from sgp.planning.clock import Clock, OutOfTime, stop_flag
from sgp.planning.declarations import Action, Atom, Literal
from sgp.planning.pddl import Problem
from sgp.planning.policy import Node
from sgp.planning.state_space import state_space
from sgp.planning.task import Task
from sgp.policies.rule_list import FirstRule, Pattern, add_facts, extend, matches, static_facts

SUITE = sgp.load_suite("state-centric")

# A light is switched on from a place that is not guarded, while any object at all is not broken.
LIGHTS = """(define (domain lights) (:requirements :strips :negative-preconditions)
(:constants hall) (:predicates (on ?l) (guarded ?p) (broken ?x) (near ?l ?p))
(:action switch :parameters (?l ?p ?x)
  :precondition (and (not (guarded ?p)) (not (broken ?x)) (near ?l hall))
  :effect (and (on ?l) (broken ?x))))"""


def lights(objects, *true):
    init = " ".join(true)
    return Task(Problem("lights-1", LIGHTS, f"""(define (problem lights-1) (:domain lights) (:objects {objects})
(:init (near l hall) {init}) (:goal (on l)))"""))  # fmt: skip


@pytest.fixture(scope="module", params=["blocksworld", "gripper"])
def data(request):
    return load_training_data(SUITE, request.param)


@pytest.fixture(scope="module")
def small(data):
    return min((each.task for each in data.train if each.actions), key=lambda task: task.size)


def facts_of(task, state):
    facts = static_facts(task)
    add_facts(facts, map(task.fluent, task.fluents(state)))
    return facts


def satisfied(literals, facts):
    equal = {(atom, positive) for atom, positive in literals if atom.predicate == "=" and len(set(atom.objects)) == 1}
    return all(((atom, positive) in equal or atom in facts) == positive for atom, positive in literals)


def variables(rule):
    return [term for term in rule.terms if term.startswith("?")]


def actions_of(rule, task, facts, goals):
    """Return the actions of a rule by trying all assignments of objects."""
    found, names = set(), [each.name for each in task.objects]
    for chosen in product(names, repeat=len(variables(rule))):
        binding = dict(zip(variables(rule), chosen, strict=True))
        goal, action = (Literal(Atom(*each), True).renamed(binding).atom for each in (rule.goal, rule.action))
        if goal in goals and satisfied([each.renamed(binding) for each in rule.condition], facts):
            found.add(action)
    return found


def test_the_rest_of_a_plan_reaches_the_goal_from_every_state_and_binding_that_satisfies_a_condition(data):
    shown = min(data.train, key=lambda each: len(each.actions) or 99)
    task, checked = shown.task, 0
    states = [(state, facts_of(task, state)) for state in state_space(task, 20_000).states]
    for wanted in sorted(set(task.goal_atoms) - set(task.atoms(task.init))):
        regressed = regress(task, shown.actions, wanted, 99)
        assert [len(each.plan) for each in regressed] == [*range(1, len(regressed) + 1)]
        assert regress(task, shown.actions, wanted, 2) == regressed[:2]
        for goal, plan, condition in regressed:
            bindings = ((state, found) for state, facts in states for found in matches([*condition], facts, {}))
            for state, found in bindings:
                after = state
                for action in plan:
                    objects = tuple(found[term] for term in action.objects)
                    after = task.apply(after, action._replace(objects=objects))  # raises where it is not applicable
                assert Literal(goal, True).renamed(found).atom in task.atoms(after)
                checked += 1
    assert checked


def test_lifted_conditions_are_sound_in_the_whole_state_space(data, small):
    """Some goal-reaching sequence of `remaining` actions begins with the action of a matched rule."""
    rules = [rule for rule in learn_rules(3, data) if rule.remaining <= 2]
    checked = 0
    for state in state_space(small, 20_000).states[:200]:
        facts = facts_of(small, state)
        for rule in rules:
            constants = Pattern.of(rule).constants
            for goal in small.goal_atoms:
                start = extend(constants, rule.goal.objects, goal.objects)
                if goal.predicate != rule.goal.predicate or start is None:
                    continue
                for binding in matches(rule.condition, facts, start):
                    action = rule.action._replace(objects=tuple(binding[term] for term in rule.action.objects))
                    layer = [small.apply(state, action)]
                    for _ in range(rule.remaining - 1):
                        layer += [each.state for after in layer for each in small.successors(after)]
                    assert any(goal in small.atoms(after) for after in layer)
                    checked += 1
    assert checked


def test_the_first_rule_that_brute_force_finds_is_applied(data, small):
    policy = FirstRule(tuple(rule for rule in learn_rules(3, data) if len(variables(rule)) <= 4), protect=False)
    applied = set()
    for state in state_space(small, 20_000).states[:30]:
        facts = facts_of(small, state)
        goals, choice = {goal for goal in small.goal_atoms if goal not in facts}, small.successors(state)
        (ranking,) = policy.rank([Node(small, state)], [choice])
        matched = [actions_of(rule, small, facts, goals) for rule in policy.learned]
        places = [place for place, actions in enumerate(matched, 1) if actions]
        for candidate, number in zip(choice, ranking.note["rule"], strict=True):
            numbers = [place for place in places if candidate.actions[0] in matched[place - 1]]
            assert number == next((place for place in numbers if place <= max(ranking.note["rule"])), 0)
        for candidate, number, text in zip(choice, ranking.note["rule"], ranking.note["because"], strict=True):
            assert bool(text) == bool(number)
            if number:
                rule, bound = (
                    policy.learned[number - 1],
                    dict(each.split(" = ") for each in text.rpartition("; ")[2].split(", ")),
                )
                assert text.startswith(f"rule {number}: {rule}; ?x0 = ")
                assert Literal(Atom(*rule.action), True).renamed(bound).atom == candidate.actions[0]
                assert satisfied([each.renamed(bound) for each in rule.condition], facts)
                assert Literal(rule.goal, True).renamed(bound).atom in goals
        # Only a rule that leads back to the state itself is followed by further ones.
        changing = [p for p in places if any(small.apply(state, Action(*a)) != state for a in matched[p - 1])]
        assert max(ranking.note["rule"]) == (changing[0] if changing else max(places, default=0))
        applied |= {number for number in ranking.note["rule"] if number}
    assert len(applied) > 1


def shuffled(draw, names):
    new = [f"?{number}" for number in draw.sample(range(1000), len(names))]
    return dict(zip(names, new, strict=True))


def renamed(rest, names):
    """Rename, and change the order of an inequality's terms."""
    rest = rest.renamed(names)
    turned = {each._replace(atom=Atom("=", each.atom.objects[::-1])) for each in rest.condition if "=" in each.atom}
    return rest._replace(condition=turned | {each for each in rest.condition if "=" not in each.atom})


def test_a_limit_holds_while_rules_are_matched(data, small):
    (pattern, *_), facts = [Pattern.of(rule) for rule in learn_rules(3, data)], facts_of(small, small.init)
    with Clock() as clock, pytest.raises(OutOfTime), clock.within(0.1):  # noqa: PT012  the flag is raised in between
        while not stop_flag()[0]:
            time.sleep(0.01)
        list(matches(pattern.literals, facts, pattern.constants))


def test_a_rule_is_the_same_for_all_names_of_its_variables(data):
    draw = random.Random(0)
    shown = max(data.train, key=lambda each: len(each.actions))
    for goal in shown.task.goal_atoms:
        for rest in regress(shown.task, shown.actions, goal, 6):
            terms = {term for literal in rest.condition for term in literal.atom.objects}
            assert lift(rest) == lift(renamed(rest, shuffled(draw, sorted(terms))))


def ring(*names):
    return list(zip(names, names[1:] + names[:1], strict=True))


GRAPHS = {
    "interchangeable": [("g", name) for name in "abcdefghij"],
    "chains": [(f"{start}{step}", f"{start}{step + 1}") for start in "abcdef" for step in range(3)],
    "rings": [*ring(*"abc"), *ring(*"def"), *ring(*"hijklm")],
    "both ways": [each for pair in [*ring(*"abc"), *ring(*"def"), *ring(*"hijklm")] for each in (pair, pair[::-1])],
    "cube": [(x, y) for x in range(8) for y in range(8) if bin(x ^ y).count("1") == 1],
}


def conditioned(edges):
    condition = {Literal(Atom("edge", (f"?{one}", f"?{two}")), True) for one, two in edges}
    return Regressed(Atom("done", ("?g",)), (Action("end", ("?g",)),), frozenset(condition))


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_condition_of_many_interchangeable_objects_has_one_form(kind):
    rest, draw = conditioned(GRAPHS[kind]), random.Random(1)
    names = sorted({term for literal in rest.condition for term in literal.atom.objects} | {"?g"})
    assert len({lift(rest.renamed(shuffled(draw, names))) for _ in range(20)}) == 1


def test_conditions_that_are_not_equal_up_to_names_have_two_forms():
    """Colour refinement alone does not tell two triangles from a ring of six objects."""
    assert lift(conditioned([*ring(*"abc"), *ring(*"def")])) != lift(conditioned(ring(*"abcdef")))


def switching(task):
    """The rule of one action that makes the goal of `lights` true."""
    (rest,) = regress(task, [Action("switch", ("l", "p", "x"))], Atom("on", ("l",)), 8)
    return lift(rest)


def test_a_variable_of_negative_literals_alone_can_be_any_object():
    rule = switching(lights("l p x"))
    assert str(rule) == "goal (on ?x0), if (not (broken ?x2)) (not (guarded ?x1)) (near ?x0 hall): (switch ?x0 ?x1 ?x2)"
    task = lights("l p x q", "(guarded p)", "(broken x)")
    choice = task.successors(task.init)
    (ranking,) = FirstRule((rule,)).rank([Node(task, task.init)], [choice])
    assert all(ranking.note["rule"] == 1)
    taken = {each.actions[0].objects for each in choice}
    assert taken == {("l", place, thing) for place in ("hall", *"lxq") for thing in ("hall", *"lpq")}


def test_an_example_with_equal_objects_gives_a_rule_for_different_ones():
    """Only where an effect provides what the plan needs are two variables one; what may be deleted is unequal."""
    task = load_training_data(SUITE, "gripper").train[0].task
    room, other = (atom.objects[0] for atom in task.static_atoms if atom.predicate == "room")
    plan = [
        Action("pick", ("ball1", room, "left")),
        Action("move", (room, other)),
        Action("drop", ("ball1", other, "left")),
    ]
    *_, rest = regress(task, plan, Atom("at", ("ball1", other)), 8)
    words = set(map(str, lift(rest).condition))
    assert {"(at ?x0 ?x2)", "(at-robby ?x2)"} <= words
    assert "(not (= ?x1 ?x2))" not in words, "where the rooms are one, the plan ends there, too"


def test_saved_rules_are_read_again_and_damaged_ones_are_refused(data, tmp_path):
    rules, orders, file = learn_rules(8, data), learn_orders(data), tmp_path / "rules.json"
    file.write_text(json.dumps([_record(rule) for rule in (*rules, switching(lights("l p x")))]))
    assert load_rules(file)[:-1] == rules
    assert load_rules(file)[-1] == switching(lights("l p x"))
    for text in ('[{"goal": "(on ?x0 ?x1)"}]', "[3]", '[{"goal": "on"}]'):
        file.write_text(text)
        with pytest.raises(StoreError, match=r"rules\.json holds no rules; train the run again"):
            load_rules(file)
    file.write_text(json.dumps(sorted(orders)))
    assert load_orders(file) == orders
    file.write_text("[[1]]")
    with pytest.raises(StoreError, match=r"rules\.json holds no orders of goals; train the run again"):
        load_orders(file)
