from __future__ import annotations

import gc
import weakref
from itertools import product

import numpy as np
import pytest

import sgp
from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.errors import PlanError
from sgp.planning import lifted_model
from sgp.planning import task as task_module
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Action, Problem
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import REPLACE, Ranking, one_of_each, one_step
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from tests.conftest import blocks_problem

SNACKS = sgp.get_domain("childsnack")


def snacks(children, trays=2, allergic=None):
    text = SNACKS.generator(np.random.default_rng(5), children, trays, children + 2, allergic)
    return Problem(f"snacks-{children}", SNACKS.models["typed"], text)


class Indifferent:
    rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [Ranking(np.zeros(len(choice))) for choice in choices]


@pytest.fixture
def whole(monkeypatch):
    """A task that lists all its actions, and the same with representatives."""

    def made(problem):
        every = Task(problem, "lifted")
        assert not every.has_many_actions
        monkeypatch.setattr(task_module, "MOST_LISTED", 1)
        few = Task(problem, "lifted")
        assert few.has_many_actions
        return every, few

    return made


def kinds(task, state, encoder):
    choice = task.successors(state)
    return choice, encoder.embed(task, state, choice).measured(np.zeros(encoder.dimension)).keys


@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_action_has_one_that_stands_for_it(whole, seed):
    every, few = whole(snacks(4, allergic=2))
    rng = np.random.default_rng(seed)
    state, same = every.init, few.init
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(every, state, every.successors(state))])
    for _ in range(8):
        choice, keys = kinds(every, state, encoder)
        fewer, some = kinds(few, same, encoder)
        assert set(some) == set(keys)
        assert {each.actions for each in fewer} <= {each.actions for each in choice}
        taken = choice[rng.integers(len(choice))].actions[0]
        state, same = every.apply(state, taken), few.apply(same, taken)  # any action, not only a listed one
        assert set(every.atoms(state)) == set(few.atoms(same))


def test_what_nothing_tells_apart_is_one_candidate(whole):
    every, few = whole(snacks(6, allergic=3))
    made = [str(each.actions[0]) for each in few.successors(few.init) if "make" in str(each.actions[0])]
    # Bread and content, each with gluten or without: four sandwiches, one of which can also be made without gluten.
    assert len(made) == 5
    assert sum("make" in str(each.actions[0]) for each in every.successors(every.init)) == 8 * (6 * 6 + 3 * 3)


@pytest.mark.parametrize("candidates", [one_of_each, Lookahead("types", representatives=True)])
def test_room_for_atoms_grows_without_a_trace(candidates, monkeypatch):
    wide = Task(snacks(12, 4), "lifted")
    monkeypatch.setattr(lifted_model, "_ROOM", 64)
    narrow = Task(snacks(12, 4), "lifted")
    state, same = wide.init, narrow.init
    for _ in range(12):
        choice, again = candidates(wide, state), candidates(narrow, same)
        assert [each.actions for each in choice] == [each.actions for each in again]
        assert [set(wide.atoms(each.state)) for each in choice] == [set(narrow.atoms(each.state)) for each in again]
        state, same = choice[-1].state, again[-1].state
    assert len(narrow.lifted._lifted.atoms.predicates) > 64


def test_a_task_is_let_go_of_at_once():
    task = Task(snacks(3), "lifted")
    assert Lookahead(representatives=True)(task, task.init)
    assert one_of_each(task, task.init)
    gone = weakref.ref(task)
    gc.disable()
    try:
        del task
        assert gone() is None
    finally:
        gc.enable()


def test_objects_that_the_state_or_goal_tells_apart_are_not_merged(whole):
    every, few = whole(blocks_problem("a b c", "(ontable a) (ontable b) (on c a) (clear b) (clear c)", "(on a b)"))
    assert [each.actions for each in few.successors(few.init)] == [
        each.actions for each in every.successors(every.init)
    ]


@pytest.mark.parametrize(
    "action", [Action("put_on_tray", ("sandw1", "tray1")), Action("eat", ()), Action("move_tray", ("x", "y", "z"))]
)
def test_actions_that_are_not_applicable_are_refused(whole, action):
    _, few = whole(snacks(3))
    with pytest.raises(PlanError, match="not applicable"):
        few.apply(few.init, action)


def test_hundreds_of_children_are_planned_for_with_few_candidates():
    task = Task(snacks(150, 6))  # 3 million ways to make a sandwich
    assert task.mode == "lifted"
    rollout = Planner(Indifferent()).solve(task, Limit(actions=3))
    assert rollout.outcome is Outcome.HORIZON
    assert all(len(step.candidates) < 200 for step in rollout.steps)


def test_more_actions_than_can_be_ranked_end_the_problem_with_memory():
    names = [f"?x{number}" for number in range(12)]
    pairs = " ".join(f"(q {one} {two})" for one, two in zip(names[::2], names[1::2], strict=True))
    domain = f"""(define (domain wide) (:requirements :strips) (:predicates (p ?a) (q ?a ?b))
      (:action all :parameters ({" ".join(names)}) :precondition (p ?x0) :effect (and {pairs})))"""
    things = [f"o{number}" for number in range(20)]
    init = " ".join(f"(p {thing})" for thing in things)
    goal = " ".join(f"(q {one} {two})" for one, two in product(things[:3], things[4:7]))
    problem = Problem(
        "wide",
        domain,
        f"""(define (problem wide) (:domain wide) (:objects {" ".join(things)})
      (:init {init}) (:goal (and {goal})))""",
    )
    rollout = Planner(Indifferent(), one_step).solve(Task(problem))
    assert rollout.outcome is Outcome.MEMORY
    assert "more than 100,000 instances" in rollout.reason


SMALL = {  # domains with the shortest rows possible
    "equality beside predicates of one argument": (
        """(:predicates (p ?x) (q ?x)) (:action a :parameters (?x ?y)
          :precondition (and (p ?x) (p ?y) (not (= ?x ?y))) :effect (and (q ?x) (not (p ?y))))""",
        "(:objects a b c) (:init (p a) (p b) (p c)) (:goal (and (q a) (q b)))",
    ),
    "no objects": (
        "(:predicates (p) (q)) (:action a :parameters () :precondition (p) :effect (and (q) (not (p))))",
        "(:objects) (:init (p)) (:goal (q))",
    ),
    "a goal that names an atom again": (
        """(:predicates (p ?x ?y) (q ?x)) (:action a :parameters (?x ?y)
          :precondition (q ?x) :effect (p ?x ?y)) (:action b :parameters (?x ?y)
          :precondition (p ?x ?y) :effect (and (q ?y) (not (p ?x ?y))))""",
        "(:objects a b c d) (:init (q a)) (:goal (and (p d c) (p d c) (p d c) (p d c) (p d c) (p d c)))",
    ),
}


@pytest.mark.parametrize("named", SMALL)
@pytest.mark.parametrize("abstraction", ["none", "types", "base"])
def test_small_domains_have_the_same_lookaheads_in_either_mode(named, abstraction):
    domain, problem = SMALL[named]
    texts = f"(define (domain d) (:requirements :strips) {domain})", f"(define (problem p) (:domain d) {problem})"
    found = []
    for mode in ("grounded", "lifted"):
        task = Task(Problem("p", *texts), mode)
        choice = Lookahead(abstraction)(task, task.init)
        found.append(sorted((str(each.actions), sorted(map(str, task.atoms(each.state)))) for each in choice))
        assert one_of_each(task, task.init)
    assert found[0] == found[1]
    assert found[0]
