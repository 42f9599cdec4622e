"""Features with a graph that was moved from state to state against those with a new graph for each state."""

import numpy as np
import pytest

import sgp
from sgp.encoders import marked_transition
from sgp.encoders.marked_transition import MarkedTransitionEncoder
from sgp.errors import PddlError
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from tests.encoders.test_marked_transition import CONFIGS
from tests.planning.test_ground_model import random_problem
from tests.planning.test_symmetry import DOMAINS, SMALL, problem_of
from tests.sampling import few_instances, walked


@pytest.fixture
def built(monkeypatch):
    """The layouts for which a new graph was built."""
    found, build = [], marked_transition.state_graph
    monkeypatch.setattr(marked_transition, "state_graph", lambda *given: found.append(given[0]) or build(*given))
    monkeypatch.setattr(marked_transition, "_FEWEST_REDUCED", 10**9)
    return found


def compared(problem, config, built, steps=10):
    """Return how many graphs were moved, after comparing the features of states in random order."""
    task, rng = Task(problem), np.random.default_rng(5)
    states = list(walked(task, steps, 11))
    walk = [(state, Lookahead()(task, state)[:12]) for state in [*states, *rng.permutation(np.array(states, object))]]
    walk = [(state, choice) for state, choice in walk if choice]
    if not walk:
        return 0
    encoder, _ = MarkedTransitionEncoder.fit(config, [(task, *pair) for pair in walk])
    numbered = encoder._graph(task)  # both encoders number the atoms alike
    built.clear()
    moved = [encoder.embed(task, state, choice) for state, choice in walk]
    before = len(built)
    for (state, choice), one in zip(walk, moved, strict=True):
        numbered._state_graphs.clear()
        other = encoder.embed(task, state, choice)
        np.testing.assert_array_equal(one.first, other.first)
        np.testing.assert_array_equal(one.columns, other.columns)
    assert len(built) == before + len(walk)
    return len(walk) - before


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_features_do_not_depend_on_the_states_before(config, built):
    moved = {}
    for name in [*DOMAINS, "courier", "glue", "wires", "towers", *SMALL]:
        moved[name] = compared(problem_of(name), config, built)
    assert sum(count > 5 for count in moved.values()) >= 12, moved


SHORT_WALKS = {name: config for name, config in CONFIGS.items() if config.closed_atoms < 4}  # others take minutes


@pytest.mark.parametrize("config", SHORT_WALKS.values(), ids=SHORT_WALKS)
def test_features_do_not_depend_on_the_states_before_in_random_typed_domains(config, built):
    moved = 0
    for seed in range(80):
        try:
            problem = random_problem(seed)
            few = few_instances(problem)
        except PddlError:
            continue
        moved += few and compared(problem, config, built, 5) > 2
    assert moved >= 10


def test_a_graph_without_space_for_an_object_s_atoms_is_built_anew(built):
    logistics = sgp.get_domain("logistics")
    text = logistics.generate(np.random.default_rng(0), cities=1, locations=2, airplanes=1, packages=24)
    task = Task(Problem("loads", logistics.pddl, text))
    states = [task.init]
    while loads := [each for each in task.successors(states[-1]) if each.actions[0].name == "load-truck"]:
        states.append(loads[0].state)
    given = [(task, state, task.successors(state)) for state in states]
    encoder, embedded = MarkedTransitionEncoder.fit(CONFIGS["default"], given)
    built.clear()
    moved = [encoder.embed(*each) for each in given]
    assert 2 <= len(built) < len(states), "some moves have space for the atoms of the truck, others do not"
    for one, other in zip(embedded, moved, strict=True):
        np.testing.assert_array_equal(one.columns, other.columns)
    for each, one in zip(given, moved, strict=True):
        encoder._graph(task)._state_graphs.clear()
        np.testing.assert_array_equal(encoder.embed(*each).columns, one.columns)
