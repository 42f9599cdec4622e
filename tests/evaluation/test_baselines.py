"""Classical planners produce attempts like learned ones."""

from __future__ import annotations

import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.evaluation.known_plans import BASELINES, baseline_attempts
from sgp.planning.pddl import parse_plan
from sgp.planning.task import Task, replay

SUITE = sgp.load_suite("state-centric")


@pytest.mark.parametrize("variant", BASELINES)
def test_a_classical_planner_attempts_every_problem_of_a_split(variant, home):
    problems = SUITE.problems("gripper", "validation")
    attempts = baseline_attempts(SUITE, "gripper", "validation", variant)
    assert [each.problem for each in attempts] == [problem.name for problem in problems]
    for problem, each in zip(problems, attempts, strict=True):
        task = Task(problem)
        assert each.solved
        assert (each.sha256, each.size, each.decisions) == (problem.sha256, task.size, len(each.plan))
        assert task.is_goal(replay(task, parse_plan("\n".join(each.plan)))[-1])


def test_an_unknown_planner_is_named_with_those_there_are():
    with pytest.raises(ConfigurationError, match="unknown baseline 'lama'; expected one of astar-lmcut, lama-first"):
        baseline_attempts(SUITE, "gripper", "validation", "lama")
