"""Features of graphs with a few objects of each class against those of the whole graphs."""

import numpy as np
import pytest

from sgp.encoders import marked_transition
from sgp.encoders.marked_transition import MarkedTransitionEncoder
from sgp.errors import PddlError
from sgp.planning.lookahead import Lookahead
from sgp.planning.task import Task
from tests.encoders.test_marked_transition import CONFIGS
from tests.planning.test_ground_model import random_problem
from tests.planning.test_symmetry import DOMAINS, SMALL, problem_of
from tests.sampling import few_instances, walked, with_twins


def compared(problem, config, monkeypatch, steps=6):
    """Return how many interchangeable objects and changed atoms were left out, after comparing all features."""
    monkeypatch.setattr(marked_transition, "_FEWEST_REDUCED", 10**9)
    task = Task(problem)
    whole = {state: [] for state in walked(task, steps, 11)}
    searches = Task.successors, Lookahead().__call__, Lookahead(representatives=True).__call__
    walk = [(state, search(task, state)) for state in whole for search in searches]
    walk = [(state, choice) for state, choice in walk if choice]
    if not walk:
        return 0, 0
    encoder, embedded = MarkedTransitionEncoder.fit(config, [(task, *pair) for pair in walk])
    monkeypatch.setattr(marked_transition, "_FEWEST_REDUCED", 1)
    monkeypatch.setattr(marked_transition, "_DECISIONS_WHOLE", 0)
    again, others = MarkedTransitionEncoder.fit(config, [(task, *pair) for pair in walk])
    np.testing.assert_array_equal(encoder.hashes, again.hashes)
    for one, other, (state, choice) in zip(embedded, others, walk, strict=True):
        np.testing.assert_array_equal(one.first, other.first)
        np.testing.assert_array_equal(one.columns, other.columns)
        decided = again.embed(task, state, choice)  # by columns instead of hashes
        np.testing.assert_array_equal(one.columns, decided.columns)
    graph = again._graph(task)
    if graph.interchangeable is None:
        return 0, 0
    objects = atoms = 0
    for state, choice in walk:
        changes = graph.changes([state], [choice])
        members = marked_transition._members(config, task.domain_text)
        layout, _, _, changed = marked_transition.reduced(
            graph.layout, graph.interchangeable, members, changes.atoms, changes.first_change, changes.changed
        )
        objects += len(graph.layout.object_colour) - len(layout.object_colour)
        atoms += len(changes.changed) - len(changed)
    return objects, atoms


SETS = {name: config for name, config in CONFIGS.items() if not config.counted}


@pytest.mark.parametrize("config", SETS.values(), ids=SETS)
def test_no_feature_changes_in_any_domain(config, monkeypatch):
    left_out = {}
    for name in [*DOMAINS, "courier", "glue", "wires", "towers", *SMALL]:
        problem = problem_of(name)
        left_out[name] = compared(problem, config, monkeypatch)
        if Task(problem).text.objects:
            left_out[f"{name} with twins"] = compared(with_twins(problem, 3), config, monkeypatch, 4)
    objects, atoms = (sum(map(bool, counts)) for counts in zip(*left_out.values(), strict=True))
    assert objects >= 12, left_out
    assert atoms >= 3, left_out


@pytest.mark.parametrize("config", SETS.values(), ids=SETS)
def test_no_feature_changes_in_random_typed_domains(config, monkeypatch):
    reduced = 0
    for seed in range(80):
        try:
            problem = with_twins(random_problem(seed), seed, 6)
            few = few_instances(problem)
        except PddlError:
            continue
        reduced += few and compared(problem, config, monkeypatch, 3)[0] > 0
    assert reduced >= 5
