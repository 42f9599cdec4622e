"""Candidates embedded from their state equal separately embedded states, and wlplan's vectors."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import pytest

from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.policy import one_step
from sgp.planning.task import Candidates, Task
from tests.conftest import COURIER, COURIER_PROBLEM
from tests.encoders.test_wl import DOMAINS, SUITE, Oracle, fit, walk
from tests.sampling import each_value

CONFIGS = [WLConfig(k, kind) for k in (0, 1, 2, 3) for kind in ("multiset", "set")]


@lru_cache
def fitted(domain, config):
    """Fit on few training problems, so that many colours are unseen."""
    return fit(domain, config, most=6)


def states_of(choices):
    return [candidate.state for choice in choices for candidate in choice]


def some_states(task, seed):
    """States of two walks, shuffled, so that consecutive states are not neighbours."""
    states = [*walk(task, 7, seed), *walk(task, 3, seed + 1)]
    random.Random(seed).shuffle(states)
    return states


@pytest.mark.parametrize(("config", "domain"), each_value(CONFIGS, DOMAINS), ids=str)
def test_vectors_of_candidates_equal_those_of_states_and_of_wlplan(domain, config, tmp_path):
    encoder = fitted(domain, config)
    oracle = Oracle(encoder, tmp_path, parse=False)
    for problem in (SUITE.problems(domain, "train")[-1], SUITE.problems(domain, "extrapolation")[3]):
        task = Task(problem)
        states = some_states(task, seed=5)
        for successors in (one_step, Lookahead(states=30)):
            choices = [successors(task, state) for state in states]
            rows = encoder.embed_candidates(task, states, choices)
            found = states_of(choices)
            assert np.array_equal(rows, encoder.embed(task, found))
            assert np.array_equal(rows[::7], oracle.embed(task, found[::7])[:-1])
            assert len(rows) > len(states)


@pytest.mark.parametrize(("config", "mode"), each_value(CONFIGS, ["grounded", "lifted"]), ids=str)
def test_with_types_constants_and_negative_goals(mode, config, tmp_path):
    seen = Task(Problem("courier-1", COURIER, COURIER_PROBLEM), mode)
    encoder = WLEncoder.fit(config, [(seen, walk(seen, 5))])
    oracle = Oracle(encoder, tmp_path)
    unseen = Task(Problem("other", COURIER, COURIER_PROBLEM.replace("(at q1 depot)", "(at q1 mill)")), mode)
    for task in (seen, unseen):
        states = some_states(task, seed=2)
        for successors in (one_step, Lookahead()):
            choices = [successors(task, state) for state in states]
            assert isinstance(choices[0], Candidates)
            rows = encoder.embed_candidates(task, states, choices)
            assert np.array_equal(rows, encoder.embed(task, states_of(choices)))
            assert np.array_equal(rows, oracle.embed(task, states_of(choices))[:-1])


@pytest.mark.parametrize("kind", ["multiset", "set"])
def test_what_was_embedded_before_changes_nothing(kind):
    encoder = fitted("logistics", WLConfig(hash=kind))
    task = Task(SUITE.problems("logistics", "extrapolation")[0])
    states = some_states(task, seed=3)
    choices = [task.successors(state) for state in states]
    together = encoder.embed_candidates(task, states, choices)
    alone = [encoder.embed_candidates(task, [state], [choice]) for state, choice in zip(states, choices, strict=True)]
    assert np.array_equal(together, np.vstack(alone))
    assert np.array_equal(together, encoder.embed_candidates(task, states, choices)), "as often as wanted"
    fresh = WLEncoder(encoder.vocabulary, encoder.domain_text)
    assert np.array_equal(fresh.embed_candidates(task, states[-1:], choices[-1:]), alone[-1])


def test_without_static_atoms():
    encoder = fitted("visitall", WLConfig()).without_static()
    task = Task(SUITE.problems("visitall", "extrapolation")[0])
    states = walk(task, 5)
    choices = [task.successors(state) for state in states]
    rows = encoder.embed_candidates(task, states, choices)
    assert np.array_equal(rows, encoder.embed(task, states_of(choices)))
    assert not np.array_equal(rows, fitted("visitall", WLConfig()).embed_candidates(task, states, choices))


def test_a_goal_that_a_static_atom_is_part_of_or_that_is_said_twice(tmp_path):
    text = COURIER_PROBLEM.replace(
        "(:goal (and (at q1 shop)", "(:goal (and (at q1 shop) (at q1 shop) (road depot shop)"
    )
    task = Task(Problem("twice", COURIER, text))
    states = walk(task, 4)
    encoder = WLEncoder.fit(WLConfig(), [(task, states)])
    choices = [task.successors(state) for state in states]
    for each in (encoder, encoder.without_static()):
        rows = each.embed_candidates(task, states, choices)
        assert np.array_equal(rows, each.embed(task, states_of(choices)))
    expected = Oracle(encoder, tmp_path).embed(task, states_of(choices))
    assert np.array_equal(encoder.embed_candidates(task, states, choices), expected[:-1])
    once = Task(Problem("once", COURIER, text.replace("(at q1 shop) (at q1 shop)", "(at q1 shop)", 1)))
    assert np.array_equal(encoder.embed_goal(task), encoder.embed_goal(once))


def test_no_states_and_no_candidates_give_no_rows():
    encoder = fitted("blocksworld", WLConfig())
    task = Task(SUITE.problems("blocksworld", "extrapolation")[0])
    assert encoder.embed_candidates(task, [], []).shape == (0, encoder.dimension)
    assert encoder.embed_candidates(task, [task.init], [[]]).shape == (0, encoder.dimension)
