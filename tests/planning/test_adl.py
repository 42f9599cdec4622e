"""Compilation of ADL preserves meaning: judged by VAL, by Fast Downward on the original, by a plain interpreter."""

import random
import re
import time
from itertools import product
from pathlib import Path

import pytest

from sgp.errors import PddlError, UnsolvableProblem, UnsupportedPddl
from sgp.planning import adl
from sgp.planning.adl import MAX_CASES, cases_of
from sgp.planning.experts import Stage, find_plan
from sgp.planning.pddl import OBJECT, Action, Problem, read_domain
from sgp.planning.pddl_syntax import Source, read_sections
from sgp.planning.pddl_writing import Numbered, rewritten
from sgp.planning.task import Task
from sgp.planning.validation import _run, val_program, validate
from tests.conftest import pddl_problem

pytestmark = pytest.mark.filterwarnings("ignore:domain .* action costs")
FOLDER = Path(__file__).parent / "adl"
OVER_OBJECTS = {"assembly", "briefcase", "miconic", "openstacks", "roads", "shadows"}
LIFTED = sorted({each.name for each in FOLDER.iterdir()} - OVER_OBJECTS)
BLIND = Stage("blind", 30, search="astar(blind())")
PROBLEMS = [(file.parent.name, file.stem) for file in sorted(FOLDER.glob("*/*.pddl")) if file.stem != "domain"]


def adl_problem(domain, name):
    return Problem.from_files(FOLDER / domain / "domain.pddl", FOLDER / domain / f"{name}.pddl")


def shortest(task):
    """Shortest plan by breadth-first search, in the task's own actions, or None."""
    known = {task.init: ()}
    frontier = [task.init]
    for state in frontier:
        if task.is_goal(state):
            return known[state]
        for successor in task.successors(state):
            if successor.state not in known:
                known[successor.state] = (*known[state], *successor.actions)
                frontier.append(successor.state)
    return None


def shortest_of(problem):
    """Shortest plan over all alternatives of the goal, in the actions of the domain's file."""
    found = []
    for task in map(Task, problem.alternatives()):
        plan = shortest(task)
        if plan is not None:
            found.append(tuple(map(task.original, plan)))
    return min(found, key=len, default=None)


def optimal(problem):
    try:
        return find_plan(problem, (BLIND,)).plan
    except UnsolvableProblem:
        return None


@pytest.mark.oracle
@pytest.mark.parametrize(("domain", "name"), PROBLEMS)
def test_shortest_plans_are_those_of_the_original_and_of_what_was_compiled_and_val_accepts_them(domain, name):
    problem = adl_problem(domain, name)
    of_unit_cost = problem.problem_pddl.replace("(:metric minimize (total-cost))", "")
    problem = Problem(name, problem.domain_pddl, of_unit_cost)
    ours, theirs = shortest_of(problem), optimal(problem)
    assert (ours is None, theirs is None) == ("no-plan" in name, "no-plan" in name)
    if domain != "goals":
        (task,) = map(Task, problem.alternatives())
        compiled = optimal(Problem("compiled", *rewritten(*problem.read())))
        assert (compiled is None) == (ours is None)
        if compiled is not None and ours is not None:
            assert len(compiled) == len(ours)
            assert validate(problem, tuple(map(task.original, compiled))).valid
    if ours is not None and theirs is not None:
        assert len(ours) == len(theirs) > 0
        assert validate(problem, ours).valid
        assert not validate(problem, ours[:-1]).valid
        assert validate(problem, theirs).valid
        numbered = Numbered(problem.as_written())
        for plan in (ours, ours[:-1]):
            texts = numbered.domain_pddl, numbered.problem_pddl, numbered.plan(plan)
            assert _run(*texts, val_program()).valid is (plan == ours)


def test_sixteen_domains_stand_here_and_say_what_was_compiled_and_for_whom():
    assert len(LIFTED) + len(OVER_OBJECTS) == 16
    for domain in (*LIFTED, *OVER_OBJECTS):
        text, _ = adl_problem(domain, "no-plan-1").alternatives()[0].read()
        remarks = [each for each in text.remarks if "compiled to actions of STRIPS" in each]
        assert len(remarks) == (domain != "goals")
        assert bool(text.problem_specific) == (domain in OVER_OBJECTS)
        words = "this problem alone" if text.problem_specific else "same for all problems"
        assert all(words in each for each in remarks)


@pytest.mark.parametrize("domain", [*LIFTED, *sorted(OVER_OBJECTS)])
def test_a_domain_to_learn_in_is_the_same_for_every_problem_or_refused_by_name(domain):
    text = (FOLDER / domain / "domain.pddl").read_text()
    if domain in OVER_OBJECTS:
        with pytest.raises(UnsupportedPddl, match=r"(forall|exists).* ranges over a problem's objects.* not supported"):
            read_domain(text)
        return
    for file in (FOLDER / domain).glob("*p*1.pddl"):
        found, _ = Problem.from_files(file.parent / "domain.pddl", file).alternatives()[0].read()
        assert list(found.schemas.items()) == list(read_domain(text).schemas.items())


def test_action_costs_are_carried():
    problem = adl_problem("costs", "p1")
    domain, text = rewritten(*problem.read())
    assert "(increase (total-cost) (length ?a ?b))" in domain
    assert "(:metric minimize (total-cost))" in text
    cheapest = (Action("buy", ()), Action("go", ("a", "c")))  # 3 + 1; by road it is 2 + 4
    task = Task(problem)
    for each in (problem, Problem("compiled", domain, text)):
        plan = find_plan(each, (BLIND,)).plan
        assert plan is not None
        assert tuple(map(task.original, plan) if each is not problem else plan) == cheapest


def _lights_out(effects):
    names = " ".join(f"(on{number})" for number in range(effects))
    toggles = " ".join(f"(when (on{number}) (not (on{number})))" for number in range(effects))
    return f"(define (domain many) (:predicates {names})\n(:action toggle :parameters () :effect (and {toggles})))"


def test_too_many_cases_are_refused_with_their_number_before_they_are_made():
    assert len(read_domain(_lights_out(9)).schemas) == 2**9
    with pytest.raises(UnsupportedPddl, match=r"line 2: action 'toggle': .* up to 1,024 cases.* at most 1,000") as ten:
        read_domain(_lights_out(10))
    assert "give it fewer conditional effects" in str(ten.value)
    with pytest.raises(UnsupportedPddl, match=f"at most {MAX_CASES:,}"):
        read_domain(_lights_out(200))  # 2 to the power of 200
    with pytest.raises(UnsupportedPddl, match=r"'knock': .* up to 1,620 cases, and at most 1,000 are made"):
        case_problem("adl-message-contradicts-itself").read()  # three boxes, 27 cases for each of 60 spots
    domain = _lights_out(1)[:-1] + "(:action toggle-1 :parameters () :effect (on0)))"
    assert list(read_domain(domain).schemas) == ["toggle--1", "toggle--2", "toggle-1"], "names of no other action"


def test_too_many_alternatives_of_a_goal_are_refused_with_their_number():
    problem = adl_problem("goals", "p1")
    balls = " ".join(f"c{number}" for number in range(8))
    wanted = " ".join(f"(or (carry c{number}) (at c{number} hall))" for number in range(8))
    text = problem.problem_pddl.replace("b1 b2 -", f"b1 b2 {balls} -")
    text = text.replace("(:goal (or", f"(:goal (and {wanted} (or").replace("(robot hall)))", "(robot hall))))")
    with pytest.raises(UnsupportedPddl, match="up to 512 conjunctions, more than the 100 that are supported"):
        Problem("p", problem.domain_pddl, text).alternatives()


def test_quantifiers_over_too_many_objects_are_refused_with_the_number_of_atoms():
    problem = adl_problem("briefcase", "p1")
    things = " ".join(f"x{number}" for number in range(400))
    text = problem.problem_pddl.replace("b d - portable", f"b d {things} - portable")
    with pytest.raises(UnsupportedPddl, match=r"up to 10\^15 or more cases, and at most 1,000"):
        Problem("p", problem.domain_pddl, text).read()
    wanted = "(forall (?x ?y - portable) (or (in ?x) (in ?y)))"
    text = text.replace("(:goal (and", f"(:goal (and {wanted}")
    with pytest.raises(UnsupportedPddl, match=r"the goal has 323,2\d\d atoms for the objects of the problem"):
        Problem("p", problem.domain_pddl, text).read()


CASES = Path(__file__).parents[1] / "cases"


def case_problem(name):
    return Problem.from_files(CASES / name / "domain.pddl", CASES / name / "problem.pddl")


def test_a_quantifier_over_many_objects_is_written_out_by_what_is_known_of_them():
    problem = case_problem("adl-slow-forall-when")
    started = time.perf_counter()
    domain, text = problem.read()
    assert time.perf_counter() - started < 1  # ten times the expected time
    assert len(domain.schemas) == 60 * 3  # one for each date and town
    lands = {tuple(each.objects) for each in text.init if each.predicate == "lands"}
    for schema in domain.schemas.values():
        date, town = schema.original.objects
        kept = {each.atom.objects[0] for each in schema.effect if each.atom.predicate == "kept"}
        assert kept == {jet for jet, *at in lands if at == [date, town]}


def test_quantifiers_within_each_other_are_written_out_as_the_interpreter_reads_them():
    """Static atoms under every connective and in both signs restrict the objects of a quantifier."""
    domain = """(define (domain d) (:requirements :adl) (:types s t) (:predicates (k ?x ?y) (l ?x) (p ?x) (q ?x ?y))
      (:action one :parameters (?x - s)
        :precondition (forall (?y - t) (or (not (k ?x ?y)) (exists (?z - s) (and (k ?z ?y) (not (l ?z)) (q ?z ?y)))))
        :effect (and (forall (?y - t) (when (or (k ?x ?y) (and (l ?y) (k ?y ?x))) (p ?y)))
                     (forall (?z - s) (when (forall (?y - t) (or (not (k ?z ?y)) (k ?x ?y))) (not (p ?z))))))
      (:action two :parameters (?x - s ?y - t) :precondition (k ?x ?y) :effect (q ?x ?y)))"""
    rng, objects = random.Random(3), {**dict.fromkeys("abc", "s"), **dict.fromkeys("uvw", "t")}
    for _ in range(20):
        pairs = [pair for pair in product(objects, repeat=2) if rng.random() < 0.3]
        init = {f"(k {one} {two})" for one, two in pairs} | {f"(l {each})" for each in objects if rng.random() < 0.5}
        listed = " ".join(f"{name} - {kind}" for name, kind in objects.items())
        problem = pddl_problem(domain, listed, " ".join(sorted(init)), "(p a)")
        interpreter = Interpreter(domain, objects)
        for state, successors in space(Task(problem), 8).items():
            assert successors == interpreter.successors(state), sorted(init)


def test_what_takes_too_long_to_compile_is_refused_with_cases_and_seconds(monkeypatch):
    monkeypatch.setattr(adl, "MAX_SECONDS", 0.0)
    cases_of.cache_clear()
    with pytest.raises(UnsupportedPddl, match=r"up to \d+ cases or more, and 0 were made in 0 seconds"):
        case_problem("adl-slow-forall-when").read()


def test_a_disjunctive_goal_is_read_alternative_by_alternative():
    problem = adl_problem("goals", "p1")
    with pytest.raises(UnsupportedPddl, match=r"is a disjunction of 2 conjunctions.* to learn from are not supported"):
        Task(problem)
    one, two = problem.alternatives()
    assert [len(Task(each).goal) for each in (one, two)] == [1, 2]
    assert (one.sha256, two.alternatives()) == (problem.sha256, (two,))


def space(task, count):
    """Return the first states, breadth first, with the successors of each action of the domain's file."""
    states = {}
    frontier = [task.init]
    for state in frontier:
        atoms = frozenset(map(str, task.atoms(state)))
        if atoms not in states and len(states) < count:
            states[atoms] = {}
            for successor in task.successors(state):
                frontier.append(successor.state)
                after = frozenset(map(str, task.atoms(successor.state)))
                # The cases of an action that apply in one state lead to one state.
                assert states[atoms].setdefault(str(task.original(successor.actions[0])), after) == after
    return states


# A plain interpreter of ADL on nested lists, without simplification, reordering or renaming.


def _said(formula):
    return formula if isinstance(formula, str) else f"({' '.join(map(_said, formula))})"


class Interpreter:
    """Actions as nested lists over objects of types "s", "t" and "object"."""

    def __init__(self, domain, objects):
        self._objects = objects
        _, sections = read_sections(Source("domain", domain), "domain")
        self._actions = [section for section in sections if section.head == ":action"]

    def _bindings(self, listed, bound):
        names, types = listed[0::3], listed[2::3]
        choices = [[each for each, own in self._objects.items() if kind in (own, OBJECT)] for kind in types]
        for values in product(*choices):
            yield {**bound, **dict(zip(names, values, strict=True))}

    def holds(self, formula, state, bound):
        head, *rest = formula
        if head == "and":
            return all(self.holds(each, state, bound) for each in rest)
        if head == "or":
            return any(self.holds(each, state, bound) for each in rest)
        if head == "not":
            return not self.holds(rest[0], state, bound)
        if head == "imply":
            return not self.holds(rest[0], state, bound) or self.holds(rest[1], state, bound)
        if head == "forall":
            return all(self.holds(rest[1], state, each) for each in self._bindings(rest[0], bound))
        if head == "exists":
            return any(self.holds(rest[1], state, each) for each in self._bindings(rest[0], bound))
        names = [bound.get(each, each) for each in rest]
        return names[0] == names[1] if head == "=" else _said([head, *names]) in state

    def _effects(self, effect, state, bound):
        head, *rest = effect
        if head == "and":
            for each in rest:
                yield from self._effects(each, state, bound)
        elif head == "when":
            if self.holds(rest[0], state, bound):
                yield from self._effects(rest[1], state, bound)
        elif head == "forall":
            for each in self._bindings(rest[0], bound):
                yield from self._effects(rest[1], state, each)
        else:
            name, *names = rest[0] if head == "not" else effect
            yield _said([name, *(bound.get(each, each) for each in names)]), head != "not"

    def successors(self, state):
        found = {}
        for _, name, _, parameters, _, condition, _, effect in self._actions:
            for bound in self._bindings(parameters, {}):
                if self.holds(condition, state, bound):
                    changes = set(self._effects(effect, state, bound))
                    added = {atom for atom, positive in changes if positive}
                    deleted = {atom for atom, positive in changes if not positive}
                    found[_said([name, *(bound[each] for each in parameters[0::3])])] = (state - deleted) | added
        return found


PREDICATES = {"p": 1, "q": 2, "r": 0, "k": 1, "l": 2}  # the last two never change


class _Writer:
    def __init__(self, rng, quantified):
        self._rng, self._quantified = rng, quantified

    def _atom(self, names, fluent=False):
        name = self._rng.choice(["p", "q", "r"] if fluent else [*PREDICATES, "="])
        return [name, *(self._rng.choice(names) for _ in range(PREDICATES.get(name, 2)))]

    def _variables(self):
        return ["?x", "-", self._rng.choice(["s", "t", OBJECT])]

    def formula(self, depth, names):
        kinds = ["and", "or", "not", "imply", "atom", "atom", "exists", *(["forall"] if self._quantified else [])]
        kind = self._rng.choice(kinds) if depth else "atom"
        if kind in ("forall", "exists"):
            return [kind, self._variables(), self.formula(depth - 1, [*names, "?x"])]
        if kind in ("and", "or"):
            return [kind, *(self.formula(depth - 1, names) for _ in range(self._rng.randrange(1, 4)))]
        count = {"not": 1, "imply": 2}.get(kind, 0)
        return [kind, *(self.formula(depth - 1, names) for _ in range(count))] if count else self._atom(names)

    def effect(self, names):
        def literals(names):
            found = [self._atom(names, fluent=True) for _ in range(self._rng.randrange(1, 3))]
            return ["and", *(["not", each] if self._rng.random() < 0.5 else each for each in found)]

        effect = literals(names)
        for _ in range(self._rng.randrange(1, 4)):
            inner = [*names, "?z"] if self._quantified and self._rng.random() < 0.4 else names
            when = ["when", self.formula(1, inner), literals(inner)]
            effect.append(when if inner is names else ["forall", ["?z", "-", self._rng.choice(["s", "t"])], when])
        return effect

    def domain(self):
        actions = []
        for name in ("one", "two"):
            parameters = ["?x", "-", self._rng.choice(["s", OBJECT])][: 3 * self._rng.randrange(2)]
            names = [*parameters[0::3], "c"]
            action = [":action", name, ":parameters", parameters, ":precondition", self.formula(2, names)]
            actions.append(_said([*action, ":effect", self.effect(names)]))
        predicates = " ".join(f"({name}{' ?v0 ?v1'[: 4 * arity]})" for name, arity in PREDICATES.items())
        return (
            "(define (domain random) (:requirements :adl) (:types s t) (:constants c - t)\n"
            f"(:predicates {predicates})\n" + "\n".join(actions) + ")"
        )

    def state(self, objects):
        atoms = [_said([name, *each]) for name, count in PREDICATES.items() for each in product(objects, repeat=count)]
        return frozenset(each for each in atoms if self._rng.random() < 0.4)


@pytest.mark.parametrize("count", [30, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("quantified", [False, True])
def test_random_domains_mean_what_a_plain_interpreter_makes_of_them(quantified, count):
    rng, modes, met = random.Random(16), ["grounded", "lifted"], 0
    for number in range(count):
        writer = _Writer(rng, quantified)
        domain, objects = writer.domain(), {"c": "t", "a": "s", "b": rng.choice("st")}
        goal, init = writer.formula(2, ["a", "c"]), writer.state(list(objects))
        interpreter = Interpreter(domain, objects)
        listed = " ".join(f"{name} - {kind}" for name, kind in objects.items() if name != "c")
        problem = pddl_problem(domain, listed, " ".join(sorted(init)), _said(goal))
        tasks, refusal = _tasks(problem, modes[number % 2])
        assert re.search("^$|cannot hold in any state|no action can ever|cases", refusal), problem
        if not tasks:
            continue
        found = space(tasks[0], 12)
        for state, successors in found.items():
            assert successors == interpreter.successors(state), (problem, sorted(state))
        for task in tasks:
            assert set(map(str, task.atoms(task.init))) == init
        wanted = [[(str(each.atom), each.positive) for each in task.goal] for task in tasks]
        for state in found:
            ours = any(all(_true(atom, state) == positive for atom, positive in goal_of) for goal_of in wanted)
            assert ours == interpreter.holds(goal, state, {}), (problem, sorted(state))
        met += len(found) > 1
    assert met > 0.4 * count


def _tasks(problem, mode):
    """Return a task for each alternative, or the reason for refusing the problem."""
    try:
        return [Task(each, mode) for each in problem.alternatives()], ""
    except PddlError as error:
        return [], str(error)


def _true(atom, state):
    name, *objects = atom.strip("()").split()
    return objects[0] == objects[1] if name == "=" else atom in state
