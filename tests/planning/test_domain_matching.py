"""Problems stated in an equivalent domain are solved by the planners of another one; plans are in their own terms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.domains import get_domain
from sgp.errors import DomainMismatch, InputError
from sgp.experiments.joint import generator_for
from sgp.methods.loading import shipped_folders
from sgp.planning.declarations import OBJECT, Atom, Literal, Parameter, Schema
from sgp.planning.experts import QUICK, find_plan
from sgp.planning.pddl import Problem, read_domain, read_problem
from sgp.planning.pddl_writing import strips, write_domain, write_problem
from sgp.planning.task import Task
from sgp.viewer import export

TYPED_LOGISTICS = """
(define (domain transport-of-parcels)
  (:requirements :typing)
  (:types truck plane - vehicle  parcel vehicle - thing  airport - place  place city thing - object)
  (:predicates (within ?c - city ?l - place) (is-at ?x - thing ?l - place) (inside ?v - vehicle ?p - parcel))
  (:action drive :parameters (?t - truck ?c - city ?from ?to - place)
    :precondition (and (is-at ?t ?from) (within ?c ?from) (within ?c ?to))
    :effect (and (is-at ?t ?to) (not (is-at ?t ?from))))
  (:action fly :parameters (?a - plane ?to ?from - airport)
    :precondition (is-at ?a ?from) :effect (and (is-at ?a ?to) (not (is-at ?a ?from))))
  (:action unload-plane :parameters (?l - place ?p - parcel ?a - plane)
    :precondition (and (is-at ?a ?l) (inside ?a ?p)) :effect (and (is-at ?p ?l) (not (inside ?a ?p))))
  (:action unload-truck :parameters (?l - place ?p - parcel ?a - truck)
    :precondition (and (is-at ?a ?l) (inside ?a ?p)) :effect (and (is-at ?p ?l) (not (inside ?a ?p))))
  (:action load-truck :parameters (?t - truck ?p - parcel ?l - place)
    :precondition (and (is-at ?t ?l) (is-at ?p ?l)) :effect (and (inside ?t ?p) (not (is-at ?p ?l))))
  (:action load-plane :parameters (?t - plane ?p - parcel ?l - place)
    :precondition (and (is-at ?t ?l) (is-at ?p ?l)) :effect (and (inside ?t ?p) (not (is-at ?p ?l)))))
"""
PARCELS = """
(define (problem parcels) (:domain transport-of-parcels)
  (:objects t1 t2 - truck  a1 - plane  p1 p2 p3 - parcel  l1 l2 - airport  l3 l4 - place  c1 c2 - city)
  (:init (within c1 l1) (within c1 l3) (within c2 l2) (within c2 l4) (is-at t1 l1) (is-at t2 l4) (is-at a1 l2)
         (is-at p1 l3) (is-at p2 l4) (is-at p3 l1))
  (:goal (and (is-at p1 l4) (is-at p2 l1) (is-at p3 l3))))
"""
BLOCKS = get_domain("blocksworld").models["untyped"]
TYPED_BLOCKS = BLOCKS.replace("?x ?y)", "?x ?y - block)").replace("?x)", "?x - block)").replace(":strips", ":typing")
TYPED_BLOCKS = TYPED_BLOCKS.replace("(:predicates", "(:types block)\n(:predicates")
for _wrong in ("holding ?x", "clear ?x", "ontable ?x", "on ?x ?y"):  # types belong to declarations alone
    _before, _after = TYPED_BLOCKS.split("(:action", 1)
    TYPED_BLOCKS = f"{_before}(:action{_after.replace(f'({_wrong} - block)', f'({_wrong})')}"
TYPED_BLOCKS = TYPED_BLOCKS.replace("handempty", "arm-free")
TOWERS = """
(define (problem towers) (:domain blocksworld) (:objects a b c d - block)
  (:init (ontable a) (on b a) (on c b) (clear c) (ontable d) (clear d) (arm-free))
  (:goal (and (on a b) (on b c) (on c d))))
"""
UNTYPED_TOWERS = TOWERS.replace(" - block", "").replace("arm-free", "handempty")


@pytest.mark.parametrize(
    ("domain", "problem"), [(TYPED_LOGISTICS, PARCELS), (TYPED_BLOCKS, TOWERS)], ids=["logistics", "blocksworld"]
)
def test_a_shipped_planner_solves_a_problem_of_an_equivalent_domain(domain, problem):
    given = Problem("given", domain, problem)
    rollout = sgp.solve(given)
    assert rollout.solved
    assert sgp.validate(given, rollout.plan).valid
    assert {action.name for action in rollout.plan} <= {line.split()[0] for line in domain.split("(:action ")[1:]}
    recorded = export.recorded(rollout)
    assert [len(step.candidates) for step in rollout.steps] == [len(step["candidates"]) for step in recorded.steps]
    assert recorded.open_goals[-1] == frozenset()


def test_the_ipc_model_of_blocksworld_is_solved_as_our_own_is():
    domain = get_domain("blocksworld")
    text = domain.generate_size(np.random.default_rng(5), 12)
    own = sgp.solve(Problem("own", domain.pddl, text))
    other = sgp.solve(Problem("other", domain.models["ipc-2023"], domain.translated(text, "ipc-2023")))
    names = {"pick-up": "pickup", "put-down": "putdown"}
    assert own.solved
    assert [action._replace(name=names.get(action.name, action.name)) for action in own.plan] == list(other.plan)


@pytest.mark.parametrize("name", [folder.name for folder in shipped_folders()])
def test_translation_is_a_bijection_of_actions_and_states(name):
    """Random walks in a renamed domain with permuted arguments, against the simulator in the renamed domain."""
    domain, rng = get_domain(name), np.random.default_rng(7)
    size = next(filter(domain.sizes.has, range(8, 99)))
    given = disguised(domain.pddl, domain.generate_size(rng, size), rng)
    task, other = Task(replace(given, model_pddl=domain.pddl)), Task(given)
    assert task.domain_text.signature == domain.texts[next(iter(domain.models))].signature
    state, there = task.init, other.init
    for _ in range(15):
        actions = task.applicable(state)
        assert {task.original(action) for action in actions} == set(other.applicable(there))
        assert len(task.fluents(state)) == len(other.fluents(there))
        assert task.is_goal(state) == other.is_goal(there)
        if not actions:
            break
        action = actions[int(rng.integers(len(actions)))]
        state, there = task.apply(state, action), other.apply(there, task.original(action))


def disguised(domain_pddl: str, problem_pddl: str, rng: np.random.Generator) -> Problem:
    """The problem with new names of predicates, types, actions and variables, and permuted arguments."""
    domain = read_domain(domain_pddl)
    problem = read_problem(problem_pddl, domain=domain)
    numbers = rng.permutation(len(domain.predicates) + len(domain.types) + len(domain.schemas)).tolist()
    new = {name: f"n{numbers.pop()}" for name in domain.predicates} | {"=": "="}
    kinds = {name: f"n{numbers.pop()}" for name in domain.types} | {OBJECT: OBJECT}
    places = {name: rng.permutation(arity).tolist() for name, arity in domain.predicates.items()} | {"=": [0, 1]}

    def atom(given: Atom) -> Atom:
        return Atom(new[given.predicate], tuple(given.objects[place] for place in places[given.predicate]))

    def typed(given: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        return tuple(Parameter(name, tuple(kinds[kind] for kind in types)) for name, types in given)

    def literals(given: tuple[Literal, ...], names: dict[str, str]) -> tuple[Literal, ...]:
        renamed = [literal.renamed(names) for literal in given]
        return tuple(
            Literal(atom(renamed[place].atom), renamed[place].positive) for place in rng.permutation(len(given))
        )

    schemas = {}
    for place in rng.permutation(len(domain.schemas)):
        schema = list(domain.schemas.values())[place]
        names = {parameter.name: f"?v{number}" for number, parameter in enumerate(schema.parameters)}
        variables = [Parameter(names[name], types) for name, types in typed(schema.parameters)]
        schemas[f"n{numbers.pop()}"] = Schema(
            f"n{len(numbers)}",
            tuple(variables[place] for place in rng.permutation(len(variables))),
            literals(schema.precondition, names),
            literals(schema.effect, names),
        )
    text = replace(
        domain,
        types={kinds[name]: tuple(kinds[kind] for kind in above) for name, above in domain.types.items()},
        constants=typed(domain.constants),
        predicates={new[name]: arity for name, arity in domain.predicates.items()},
        arguments={
            new[name]: typed(tuple(arguments[place] for place in places[name]))
            for name, arguments in domain.arguments.items()
        },
        schemas={name: replace(schema, name=name) for name, schema in schemas.items()},
        costs=False,
        functions={},
    )
    facts = replace(
        problem,
        objects=typed(problem.objects),
        init=tuple(map(atom, problem.init)),
        goal=tuple(Literal(atom(literal.atom), literal.positive) for literal in problem.goal),
        values=(),
        minimised=False,
    )
    written = strips(text, facts)
    return Problem("disguised", write_domain(written), write_problem(written))


@pytest.mark.parametrize(
    ("domain", "kinds"),
    [
        (TYPED_LOGISTICS, {"truck", "plane", "parcel", "airport", "place", "city"}),
        (
            TYPED_LOGISTICS.replace("airport - place ", "airport depot - place "),  # problems declare no mere places
            {"truck", "plane", "parcel", "airport", "depot", "city"},
        ),
        (TYPED_BLOCKS, {"block"}),
    ],
    ids=["logistics", "logistics with a type of places that no action mentions", "blocksworld"],
)
def test_generators_make_problems_of_an_equivalent_domain(domain, kinds):
    source = generator_for(domain, "given", seed=3)
    problem = source.problem(14, 1)
    assert problem.domain_pddl == domain
    text = problem.read()[1]
    assert {types for _, types in text.objects} <= {(kind,) for kind in kinds}
    assert len(text.objects) == 14
    plan = find_plan(problem, QUICK).plan
    assert plan
    assert sgp.validate(problem, plan).valid


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("logistics", get_domain("logistics").pddl),
        ("logistics", TYPED_LOGISTICS),
        ("blocksworld", get_domain("blocksworld").models["ipc-2023"]),
        ("blocksworld", TYPED_BLOCKS),
        ("ferry", get_domain("ferry").pddl),
    ],
    ids=["logistics", "typed logistics", "blocksworld of the IPC", "typed blocksworld", "ferry"],
)
def test_generated_problems_grow_from_given_ones(name, domain):
    source = generator_for(domain, name, seed=3)
    given = [source.problem(size, number) for number, size in enumerate((12, 14, 20), start=1)]
    drawn = source.like(given)
    counts = [Counter(atom.predicate for atom in problem.read()[1].init) for problem in given]
    for arguments, problem, wanted in zip(drawn.examples, given, counts, strict=True):
        text = get_domain(name).generate(np.random.default_rng(5), **arguments)
        again = Problem("again", get_domain(name).pddl, text, model_pddl=problem.domain_pddl)
        found = Counter(atom.predicate for atom in again.read()[1].init)
        assert len(again.read()[1].objects) == len(problem.read()[1].objects)
        if name != "blocksworld":  # where the number of towers is random
            assert found == wanted
    larger = Counter(atom.predicate for atom in drawn.problem(100, 1).read()[1].init)
    assert all(larger[predicate] >= min(each[predicate] for each in counts) for predicate in larger)


def test_a_generator_that_fails_on_examples_is_named():
    source = generator_for(get_domain("ferry").pddl, "ferry", seed=3)
    given = [source.problem(12, 1)]

    def broken(rng, cars, locations):
        raise ZeroDivisionError

    failing = replace(source, domain=replace(source.domain, generator=broken))
    with pytest.raises(InputError, match="the generator of ferry failed on problem 1 of 12 objects with seed 3"):
        failing.like(given)


def test_costs_are_those_of_the_given_problem():
    domain = BLOCKS.replace("(:action pick-up", "(:functions (total-cost))\n(:action lift").replace(
        "(not (handempty))))\n  (:action put-down", "(not (handempty)) (increase (total-cost) 3)))\n  (:action put-down"
    )
    problem = UNTYPED_TOWERS.replace("(:goal", "(:metric minimize (total-cost))\n(:goal")
    given = Problem("priced", domain, problem)
    rollout = sgp.solve(given)
    lifts = sum(action.name == "lift" for action in rollout.plan)
    assert lifts > 0
    assert sgp.format_plan(rollout.plan, given).endswith(f"; cost = {3 * lifts} (general cost)\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "(on ?x ?y) (clear ?x) (handempty))\n    :effect (and (holding",
            "(on ?x ?y) (handempty))\n    :effect (and (holding",
        ),
        ("(clear ?x) (ontable ?x) (handempty)", "(clear ?x) (ontable ?x) (handempty) (not (holding ?x))"),
    ],
    ids=["fewer", "more"],
)
def test_a_domain_that_is_almost_the_same_is_refused(old, new):
    assert old in BLOCKS
    domain, problem = (text.replace("handempty", "free") for text in (BLOCKS.replace(old, new), UNTYPED_TOWERS))
    with pytest.raises(DomainMismatch, match="no trained run plans in domain blocksworld"):
        sgp.solve(Problem("other", domain, problem))


UNTYPED_FERRY = """
(define (domain ferry)
  (:predicates (car ?c) (place ?l) (at-ferry ?l) (at ?c ?l) (empty-ferry) (on ?c))
  (:action sail :parameters (?from ?to)
    :precondition (and (place ?from) (place ?to) (at-ferry ?from) (not (at-ferry ?to)))
    :effect (and (at-ferry ?to) (not (at-ferry ?from))))
  (:action board :parameters (?car ?loc)
    :precondition (and (car ?car) (place ?loc) (at ?car ?loc) (at-ferry ?loc) (empty-ferry))
    :effect (and (on ?car) (not (at ?car ?loc)) (not (empty-ferry))))
  (:action debark :parameters (?car ?loc)
    :precondition (and (car ?car) (place ?loc) (on ?car) (at-ferry ?loc))
    :effect (and (at ?car ?loc) (empty-ferry) (not (on ?car)))))
"""
CROSSING = """
(define (problem crossing) (:domain ferry) (:objects a b x y)
  (:init (place a) (place b) (car x) (car y) (at x a) (at y b) (at-ferry b) (empty-ferry)) (:goal (at x b)))
"""


def test_static_predicates_become_types_and_types_static_predicates():
    assert sgp.solve(Problem("untyped", UNTYPED_FERRY, CROSSING)).solved
    problem = PARCELS.replace("(is-at p1 l4)", "(within c1 l4)")
    task = Task(Problem("static goal", TYPED_LOGISTICS, problem, model_pddl=get_domain("logistics").pddl))
    assert [str(literal) for literal in task.missing_static] == ["(in-city l4 c1)"]
    assert {"(airport l1)", "(location l1)", "(location l3)", "(truck t1)"} <= set(map(str, task.static_atoms))
    assert Atom("airport", ("l3",)) not in task.static_atoms


@pytest.mark.parametrize(
    ("old", "new"), [("(car y)", "(car y) (place y)"), ("(:goal (at x b))", "(:goal (and (at x b) (car x)))")]
)
def test_an_object_of_two_types_or_a_type_in_the_goal_is_refused(old, new):
    with pytest.raises(DomainMismatch, match="is not equivalent"):
        Task(Problem("other", UNTYPED_FERRY, CROSSING.replace(old, new), model_pddl=get_domain("ferry").pddl))
