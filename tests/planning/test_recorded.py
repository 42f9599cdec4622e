"""Data derived from a recorded rollout: open goals, and marks of its candidates."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sgp.planning.planner import Limit, Planner
from sgp.planning.recorded import Recorded
from sgp.planning.recording import records
from sgp.planning.rollout import Mark, marks_of
from sgp.planning.task import missing_goal_atoms
from tests.planning.test_planner import by_name


@pytest.fixture
def rollout(three_blocks):
    planner = Planner(by_name(pick_up=0.2, stack=0.1, unstack=0.2, put_down=0.2), width=3)
    return planner.solve(three_blocks, Limit(actions=8))


@pytest.fixture
def recorded(rollout):
    head, *steps = json.loads(json.dumps(list(records(rollout))))
    return Recorded("test", 1, head, tuple(steps))


def test_open_goals_are_those_that_the_task_misses(rollout, recorded):
    assert recorded.problem.goal == rollout.task.goal
    states = [*(step.state for step in rollout.steps), rollout.end]
    for state, found in zip(states, recorded.open_goals, strict=True):
        assert [rollout.task.goal[place] for place in sorted(found)] == missing_goal_atoms(rollout.task, state)


def test_candidates_stand_as_the_planner_left_them(rollout, recorded):
    for step, standings in zip(rollout.steps, recorded.standings, strict=True):
        assert [each.marks for each in standings] == step.marks.tolist()
        assert [each.marks.open_to_choice for each in standings] == step.open_to_choice.tolist()
        missing = [len(missing_goal_atoms(rollout.task, each.state)) for each in step.candidates]
        assert [each.open_goals for each in standings] == missing
    shut = np.concatenate([~step.open_to_choice for step in rollout.steps])
    assert set(shut.tolist()) == {True, False}


def test_negative_and_repeated_goals_are_open_each_for_itself():
    problem = "(define (problem p) (:domain d) (:objects) (:init (a) (b)) (:goal (and (a) (not (b)) (c) (a))))"
    candidates = [
        {"add": ["(c)"], "delete": ["(a)"], "marks": ["chosen", "tied"]},
        {"add": [], "delete": ["(b)"], "marks": ["collapsed", "tied"]},
    ]
    steps = ({"chosen": 0, "candidates": candidates},)
    domain = "(define (domain d) (:predicates (a) (b) (c)) (:action go :parameters () :effect (c)))"
    head = {"domain_pddl": domain, "problem_pddl": problem, "initial": ["(a)", "(b)"]}
    recorded = Recorded("made", 1, head, steps)
    assert recorded.open_goals == ({1, 2}, {0, 1, 3})
    assert [(each.open_goals, each.contends) for each in recorded.standings[0]] == [(3, True), (1, False)]


@pytest.mark.parametrize("mark", Mark)
def test_marks_are_written_and_read_in_words(mark):
    assert marks_of((*mark.words, *Mark.BEAM.words)) == mark | Mark.BEAM
    assert mark.open_to_choice == (mark not in (Mark.VISITED, Mark.COLLAPSED, Mark.REJECTED))


def test_a_word_that_is_no_mark_is_an_error():
    with pytest.raises(KeyError):
        marks_of(("shut",))


def test_without_notes_all_else_stays(rollout):
    bare = rollout.without_notes()
    assert bare == rollout
    assert not any(step.note for step in bare.steps)
