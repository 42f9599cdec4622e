import numpy as np
import pytest

import sgp
from sgp.encoders.tokens import BEGIN, GOAL, PAD, START, Tokens, Vocabulary
from sgp.errors import ConfigurationError, DomainMismatch
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from tests.conftest import COURIER, COURIER_PROBLEM

SUITE = sgp.load_suite("state-centric")


@pytest.fixture(scope="module")
def task():
    return Task(SUITE.problems("gripper", "train")[0])


@pytest.fixture(scope="module")
def tokens():
    return Tokens(Vocabulary(SUITE.domain_text("gripper"), names=20))


def read(tokens, rows, task, naming):
    """Decode atoms as text from tokens alone."""
    objects, own = tokens.objects(task, naming), dict(enumerate(tokens.vocabulary.domain_tokens, 5))
    named = tokens.named(rows, naming).tolist()
    return {(own[row[0]], *(objects[each] for each in row[1:] if each != PAD)) for row in named}


def test_a_state_is_written_with_its_goal_static_atoms_and_names(task, tokens):
    naming = tokens.naming(task, np.random.default_rng(3))
    found = read(tokens, tokens.state(task, task.init), task, naming)
    holds = {(atom.predicate, *atom.objects) for atom in task.atoms(task.init)}
    wanted = {(f"{atom.predicate}:goal", *atom.objects) for atom in task.goal_atoms}
    kinds = {each for each in found if each[0].endswith(":type")}
    assert found - kinds == holds | wanted
    assert len(set(naming.tolist())) == len(naming) == len(task.objects)


def test_names_are_an_injection_and_nothing_else_changes(task, tokens):
    rows = tokens.state(task, task.init)
    one, two = (tokens.named(rows, tokens.naming(task, np.random.default_rng(seed))) for seed in (1, 2))
    first = tokens.vocabulary.first_name
    assert (one[:, 0] == two[:, 0]).all()
    assert ((one >= first) == (two >= first)).all()
    pairs = {pair for pair in zip(one.ravel().tolist(), two.ravel().tolist(), strict=True) if pair[0] >= first}
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    assert (one != two).any()
    drawn = tokens.drawn_naming(task)
    assert (drawn == tokens.drawn_naming(Task(task.problem))).all()


def test_actions_are_schemas_with_objects_behind(task, tokens):
    naming = tokens.drawn_naming(task)
    objects = tokens.objects(task, naming)
    for candidate in task.successors(task.init):
        schema, *arguments = tokens.named(tokens.actions(task, candidate.actions), naming).tolist()
        (action,) = candidate.actions
        assert (tokens.schemas[schema], tuple(objects[each] for each in arguments)) == (action.name, action.objects)


def test_a_sequence_has_the_same_atoms_in_the_order_of_their_tokens(task, tokens):
    naming = tokens.naming(task, np.random.default_rng(5))
    row = tokens.sequence(task, task.init, naming).tolist()
    assert (row[0], row[-1], row.count(GOAL)) == (START, BEGIN, 1)
    assert len(row) == tokens.sequence_length(task, task.init)
    assert PAD not in row
    own = dict(enumerate(tokens.vocabulary.domain_tokens, 5))
    objects = tokens.objects(task, naming)
    split = row.index(GOAL)
    for part, wanted in (
        (row[1:split], {(atom.predicate, *atom.objects) for atom in task.atoms(task.init)}),
        (row[split + 1 : -1], {(atom.predicate, *atom.objects) for atom in task.goal_atoms}),
    ):
        atoms, begins = list[list[int]](), [place for place, each in enumerate(part) if each in own]
        for begin, end in zip(begins, [*begins[1:], len(part)], strict=True):
            atoms.append(part[begin:end])
        assert atoms == sorted(atoms)
        said = {(own[first], *(objects[each] for each in rest)) for first, *rest in atoms}
        assert {each for each in said if not each[0].endswith(":type")} == wanted


def test_other_types_and_equations_are_passed_over(tokens, task):
    """The same domain may be written with types; an equation in a goal is no atom of a state."""
    typed = task.problem.domain_pddl.replace("(:predicates", "(:types thing) (:predicates", 1)
    problem = task.problem.problem_pddl
    things = [thing.name for thing in task.objects]
    start = problem.index("(:objects")
    end = problem.index(")", start)
    told = problem[:start] + f"(:objects {' '.join(things)} - thing" + problem[end:]
    told = told.replace("(:goal (and", f"(:goal (and (= {things[0]} {things[0]})", 1)
    assert told.count("(= ") == 1
    other = Task(Problem("typed", typed, told))
    assert tokens.refuses(other) is None
    naming = tokens.drawn_naming(task)
    one, two = (read(tokens, tokens.state(each, each.init), each, naming) for each in (task, other))
    assert one == two


def test_what_cannot_be_told_is_refused(task):
    few = Tokens(Vocabulary(SUITE.domain_text("gripper"), names=3))
    count = len(task.objects)
    assert few.refuses(task) == (
        f"the problem has {count} objects to name, and the vocabulary 3 names; train with names={count} or more"
    )
    courier = Task(Problem("courier-1", COURIER, COURIER_PROBLEM))
    assert Tokens(Vocabulary(courier.domain_text)).refuses(courier) == (
        "the goal wants (in q1 v1) to be false, but tokens have only the positive atoms of a goal; replace it by a "
        "predicate that is true instead"
    )
    with pytest.raises(DomainMismatch):
        few.refuses(courier)
    with pytest.raises(ConfigurationError, match="the vocabulary's names is 0; expected at least 1"):
        Vocabulary(SUITE.domain_text("gripper"), names=0)
