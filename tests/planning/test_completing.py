from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.errors import ToolError
from sgp.planning import completing, experts
from sgp.planning.completing import Completing
from sgp.planning.planner import Limit, Planner
from sgp.planning.restarts import Restarting
from sgp.planning.rollout import Mark, Outcome
from sgp.planning.task import Task
from sgp.planning.validation import validate
from tests.conftest import blocks_problem
from tests.planning.test_restarts import GLUE, GLUE_PROBLEM, Fixed

WRONG = Fixed({"(fix b)": 0.0, "(paint b)": 0.0})


@pytest.fixture
def glue():
    return Task(sgp.Problem("g", GLUE, GLUE_PROBLEM))


def test_what_the_policy_does_not_solve_is_searched_and_shown_as_forced(glue):
    planner = Planner(WRONG)
    assert planner.solve(glue).outcome is Outcome.STUCK
    found = Completing.of(planner, 3, 0).solve(glue)
    assert found.solved
    assert found.reason == "solved by LAMA's first plan"
    assert [str(action) for action in found.plan] == ["(fix a)", "(paint a)"]
    assert validate(glue.problem, found.plan).valid
    assert [Mark(int(step.marks[0])) for step in found.steps] == [Mark.CHOSEN | Mark.FORCED] * 2
    assert glue.is_goal(found.end)


def test_the_policy_comes_first_and_alone_where_it_solves(glue, monkeypatch):
    def missing():
        raise ToolError("Fast Downward is missing")

    monkeypatch.setattr(experts, "fast_downward_driver", missing)
    right = Fixed({"(fix a)": 0.0, "(paint a)": 0.0})
    assert Completing.of(Planner(right), 0, 0).solve(glue) == Planner(right).solve(glue)
    with pytest.raises(ToolError, match="is missing"):
        Completing.of(Planner(WRONG), 0, 0).solve(glue)


def test_half_of_the_seconds_are_the_policys_and_nothing_begins_without_a_second(glue, monkeypatch):
    shares = []
    solve_each = Restarting.solve_each

    def told(self, tasks, limit):
        shares.append(limit.seconds)
        yield from solve_each(self, tasks, limit)

    monkeypatch.setattr(Restarting, "solve_each", told)
    stages = []
    find_plan = completing.find_plan
    monkeypatch.setattr(
        completing, "find_plan", lambda problem, given, **how: stages.extend(given) or find_plan(problem, given, **how)
    )
    planner = Completing.of(Planner(WRONG), 0, 0)
    assert planner.solve(glue, Limit(seconds=20, memory=2**33)).solved
    assert shares == [10]
    assert 19 < stages[0].seconds <= 20, "the policy took next to nothing"
    assert 0 < stages[0].megabytes < 2**13, "what this process holds is taken already"
    assert planner.solve(glue, Limit(seconds=0.9)).outcome is Outcome.STUCK
    assert len(stages) == 1
    assert planner.solve(glue, Limit(actions=50)).solved
    assert shares[-1] is None
    assert stages[-1].seconds == experts.LAMA_FIRST.seconds, "by default"


def test_what_the_search_does_not_solve_either_stays_unsolved(glue):
    nothing = Task(sgp.Problem("n", GLUE, GLUE_PROBLEM.replace("(glue) (part a)", "(part a)")))
    found = Completing.of(Planner(WRONG), 0, 0).solve_many([nothing, glue])
    assert [each.task for each in found] == [nothing, glue]
    assert found[0].outcome is Outcome.STUCK
    assert "has no plan" in found[0].reason
    assert found[1].solved


@pytest.mark.slow
def test_a_search_that_runs_out_of_time_says_so():
    domain = sgp.get_domain("blocksworld")
    problem = sgp.Problem("large", domain.pddl, domain.generate_scaled(np.random.default_rng(0), 600))
    found = Completing.of(Planner(Fixed({})), 0, 0).solve(Task(problem, "lifted"), Limit(seconds=7))
    assert found.outcome is Outcome.TIMEOUT, "translating its 720,000 actions takes longer"
    assert found.reason == "nor did LAMA find a plan"


def test_a_trained_run_is_decoded_with_a_search(quick_run):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    planner = sgp.load_planner(run.folder, "search")
    assert isinstance(planner, Completing)
    easy = Task(blocks_problem("a b", "(ontable a) (clear a) (on b a)", "(on b a)"))
    assert planner.solve(easy).solved
