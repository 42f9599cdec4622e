"""Repetitions of an action with interchangeable objects in lookaheads, against their definition."""

import pytest

from sgp.errors import PddlError, PlanError
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Action
from sgp.planning.policy import one_of_each
from sgp.planning.task import Task, replay
from tests.conftest import pddl_problem
from tests.planning.test_ground_model import random_problem
from tests.planning.test_lookahead import forms_by
from tests.planning.test_symmetry import DOMAINS, SMALL, problem_of
from tests.sampling import few_instances, walked, with_twins

LIMIT = 2
DELIVERY = """\
(define (domain delivery) (:requirements :strips :typing)
  (:types truck package place) (:predicates (at ?x - (either truck package) ?p - place) (in ?x - package ?t - truck))
  (:action drive :parameters (?t - truck ?from ?to - place) :precondition (at ?t ?from)
    :effect (and (at ?t ?to) (not (at ?t ?from))))
  (:action load :parameters (?x - package ?t - truck ?p - place) :precondition (and (at ?x ?p) (at ?t ?p))
    :effect (and (in ?x ?t) (not (at ?x ?p))))
  (:action unload :parameters (?x - package ?t - truck ?p - place) :precondition (and (in ?x ?t) (at ?t ?p))
    :effect (and (at ?x ?p) (not (in ?x ?t)))))
"""


class Definition:
    """Lookaheads with repetitions by their definition, with classes of objects by their atoms."""

    def __init__(self, task, root, abstraction):
        self.task, self.root, self.forms = task, root, forms_by(task, abstraction)
        constants = {each.name for each in task.domain_text.constants}
        self.own = [each.name for each in task.objects if each.name not in constants]
        kinds = dict(task.objects)
        self.classes = {name: (kinds[name], self.without_name(name, root, goal=True)) for name in self.own}

    def without_name(self, name, state, goal=False):
        """The atoms of an object in a state, and its goals, with a gap for its name."""
        atoms = [(atom, "") for atom in self.task.atoms(state)] + (list(self.task.goal) if goal else [])
        return frozenset(
            (sign, atom.predicate, *(None if other == name else other for other in atom.objects))
            for atom, sign in atoms
            if name in atom.objects
        )

    def is_repetition(self, before, action):
        """Whether objects were replaced by others of their classes, and no two of the action's are of one of these."""
        if before.name != action.name:
            return False
        others = [
            place for place, pair in enumerate(zip(before.objects, action.objects, strict=True)) if len({*pair}) > 1
        ]
        for place in others:
            one, other = before.objects[place], action.objects[place]
            if not {one, other} <= self.classes.keys() or self.classes[one] != self.classes[other]:
                return False
            rest = [name for at, name in enumerate(action.objects) if at != place]
            if any(self.classes.get(name) == self.classes[other] for name in rest):
                return False
        return bool(others)

    def following(self, name, state):
        """The next object of the class whose atoms are those of the root state."""
        for other in self.own[self.own.index(name) + 1 :]:
            same = self.classes[other] == self.classes[name]
            if same and self.without_name(other, state) == self.without_name(other, self.root):
                return other
        return None

    def candidates(self):
        """All actions to each candidate, its atoms, its parent's place and whether it is a goal state."""
        task, known, found = self.task, {self.root}, []
        seen = self.forms(task.atoms(self.root))
        queue = [(self.root, (), None, 0)]
        for origin, path, place, times in queue:
            for successor in one_of_each(task, origin):
                actions, after, _ = successor
                new, repeated = not self.forms(task.atoms(after)) <= seen, 1
                if path and new and self.is_repetition(path[-1], actions[0]):
                    repeated = times + 1
                    if times >= LIMIT and not task.is_goal(after):
                        actions, after = self.repeated(origin, path[-1], actions[0], after, seen)
                        repeated = times + len(actions)
                seen |= self.forms(task.atoms(after))
                if after not in known and (new or not path or task.is_goal(after)):
                    known.add(after)
                    found.append((path + actions, after, place, task.is_goal(after)))
                    if new:
                        queue.append((after, path + actions, len(found) - 1, repeated))
        return found

    def repeated(self, origin, before, action, state, seen):
        """The repeated actions and the state after them; fluents that become true are added to those seen."""
        task, actions = self.task, [action]
        seen |= self.forms(task.atoms(state))
        others = [one != other for one, other in zip(before.objects, action.objects, strict=True)]
        while not task.is_goal(state):
            names = [
                self.following(name, origin) if is_other else name
                for name, is_other in zip(actions[-1].objects, others, strict=True)
            ]
            if None in names:
                break
            action = Action(action.name, tuple(names))
            try:
                after = task.apply(state, action)
            except PlanError:
                break
            added = self.forms(self.adds(action))
            if added <= seen:
                break
            seen |= added
            actions.append(action)
            state = after
        return tuple(actions), state

    def adds(self, action):
        schema = self.task.domain_text.schemas[action.name]
        objects = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
        return [literal.atom for each in schema.effect if (literal := each.renamed(objects)).positive]


def compared(problem, mode, steps=4, abstraction="none"):
    """Return how many candidates follow by more than one action, after comparing all."""
    task, jumps = Task(problem, mode), 0
    lookahead = Lookahead(abstraction, representatives=True, repetitions=LIMIT)
    for state in walked(task, steps, 11):
        found = lookahead(task, state)
        expected = Definition(task, state, abstraction).candidates()
        given = [(each.actions, each.state, each.parent) for each in found]
        assert given == [each[:3] for each in expected]
        assert found.goals.tolist() == [each[3] for each in expected]
        assert found.lengths.tolist() == [len(each.actions) for each in found]
        assert found.actions == [each.actions[-1] for each in found]
        for each in found:
            before = len(found[each.parent].actions) if each.parent is not None else 0
            if len(each.actions) > before + 1:
                jumps += 1
                assert replay(Task(task.restarted(state)), each.actions)
    return jumps


@pytest.mark.parametrize("abstraction", ["none", "types"])
@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_candidates_are_those_of_the_definition_in_any_domain(mode, abstraction):
    jumps = {}
    for name in [*DOMAINS, "courier", "glue", "wires", "towers", *SMALL]:
        problem = problem_of(name)
        if Task(problem).text.objects:
            jumps[name] = compared(with_twins(problem, 3, 12), mode, 4, abstraction)
    assert sum(map(bool, jumps.values())) >= 5, jumps


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_candidates_are_those_of_the_definition_in_random_typed_domains(mode):
    jumps = []
    for seed in range(300):
        try:
            problem = with_twins(random_problem(seed), seed, 6)
            if few_instances(problem):
                jumps.append(compared(problem, mode, 3))
        except PddlError:
            continue
    assert sum(map(bool, jumps)) >= 5, jumps


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_twelve_loads_of_interchangeable_packages_are_five_candidates(mode):
    packages = [f"p{number}" for number in range(12)]
    init = " ".join(f"(at {name} depot)" for name in ["van", *packages])
    goal = " ".join(f"(at {name} shop)" for name in packages)
    objects = f"van - truck {' '.join(packages)} - package depot shop - place"
    task = Task(pddl_problem(DELIVERY, objects, init, f"(and {goal})"), mode)
    few, every = (Lookahead(representatives=True, repetitions=limit)(task, task.init) for limit in (4, 0))
    assert few.lengths[[action.name == "load" for action in few.actions]].tolist() == [1, 2, 3, 4, 12]
    assert every.lengths[[action.name == "load" for action in every.actions]].tolist() == [*range(1, 13)]
    assert {each.actions for each in few} <= {each.actions for each in every}
