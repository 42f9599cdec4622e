from __future__ import annotations

from dataclasses import replace

import pytest

import sgp
from sgp.errors import ConfigurationError, DomainMismatch
from sgp.planning.planner import Limit, Planner
from sgp.planning.portfolio import Portfolio
from sgp.planning.restarts import Noisy, Restarting
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task, replay
from tests.planning.test_planner import by_name
from tests.planning.test_restarts import GLUE, GLUE_PROBLEM, Fixed

RIGHT = Fixed({"(fix a)": 0.0, "(paint a)": 0.0})
WRONG = Fixed({"(fix b)": 0.0, "(paint b)": 0.0})
UNSURE = Fixed({"(fix a)": 1.0, "(fix b)": 0.0, "(paint a)": 0.0, "(paint b)": 0.0})


@pytest.fixture
def glue():
    return Task(sgp.Problem("g", GLUE, GLUE_PROBLEM))


def test_what_one_planner_does_not_solve_the_next_one_does(glue):
    found = Portfolio.of(Planner(WRONG), 0, 0, (Planner(WRONG), Planner(RIGHT))).solve(glue)
    assert found.solved
    assert found.reason == "solved by planner 3"
    assert glue.is_goal(replay(glue, found.plan)[-1])
    assert Portfolio.of(Planner(RIGHT), 0, 0, (Planner(WRONG),)).solve(glue) == Planner(RIGHT).solve(glue)


def test_without_others_it_is_restarts(glue):
    assert Portfolio.of(Planner(UNSURE), 50, 3).solve(glue) == Restarting.of(Planner(UNSURE), 50, 3).solve(glue)


def test_restarts_draw_from_all_planners_in_turn(glue):
    found = Portfolio.of(Planner(WRONG), 50, 0, (Planner(UNSURE),)).solve(glue)
    assert found.solved
    assert "restart" in found.reason
    portfolio = Portfolio.of(Planner(WRONG), 50, 0, (Planner(UNSURE),))
    policies = [portfolio._noisy(attempt).policy.policy for attempt in range(8)]
    assert policies == [WRONG, WRONG, UNSURE, UNSURE, WRONG, WRONG, UNSURE, UNSURE]


def test_one_limit_is_that_of_all_and_each_leaves_something_to_the_next(two_blocks, monkeypatch):
    aimless = Fixed({f"({each})": 0.0 for each in ("pick-up a", "put-down a", "pick-up b", "put-down b")})
    made, ranked = [], []
    solve_each, rank = Planner.solve_each, Fixed.rank

    def told(self, tasks, limit):
        for place, rollout in solve_each(self, tasks, limit):
            made.append((isinstance(self.policy, Noisy), len(rollout.steps)))
            yield place, rollout

    monkeypatch.setattr(Planner, "solve_each", told)
    monkeypatch.setattr(Fixed, "rank", lambda self, *rest: ranked.append(1) or rank(self, *rest))
    for most in (7, 40, 400):
        made.clear()
        ranked.clear()
        planner = Planner(aimless, revisits=True)
        found = Portfolio.of(planner, 9, 0, (planner,)).solve(two_blocks, Limit(decisions=most))
        assert not found.solved
        assert len(ranked) <= most
        first, second, *others = made
        assert first == (False, most // 2)
        assert second[0] is False
        assert 1 <= second[1] <= (most - most // 2) // 2
        assert all(noisy for noisy, _ in others)
        assert others
    assert Portfolio.of(planner, 9, 0, (planner,)).solve(two_blocks, Limit(seconds=1e-9)).outcome is Outcome.TIMEOUT


def test_runs_make_a_portfolio_where_they_are_of_one_domain(quick_run):
    runs = [quick_run("contrastive-jumps", "blocksworld", variant) for variant in ("one-step", "aiw")]
    found = sgp.load_portfolio([run.folder for run in runs], "greedy", restarts=2)
    assert (found.width, found.restarts, len(found.others)) == (1, 2, 1)
    other = quick_run("contrastive-jumps", "gripper", "one-step")
    with pytest.raises(DomainMismatch, match=r"on blocksworld and .* on gripper, which .*; a portfolio needs runs of"):
        sgp.load_portfolio([runs[0].folder, other.folder])
    with pytest.raises(ConfigurationError, match="no run is given"):
        sgp.load_portfolio([])
    with pytest.raises(ConfigurationError, match=r"holds one planner alone.* train it again with '--by dynamic'"):
        sgp.load_planner(runs[0].folder, "portfolio")


def test_what_is_left_after_reading_is_used(two_blocks, monkeypatch):
    right = Planner(by_name(pick_up=0.0, stack=0.0))
    monkeypatch.setattr(two_blocks, "seconds", 6.0)
    assert right.solve(two_blocks, Limit(seconds=10)).solved
    assert Portfolio.of(right, 0, 0, (right,)).solve(two_blocks, Limit(seconds=10)).reason == "", (
        "the first one has some"
    )
    assert Restarting.of(right, 20, 0).solve(two_blocks, Limit(seconds=10)).solved


def test_rollouts_of_the_others_keep_what_is_asked_for(glue):
    portfolio = replace(Portfolio.of(Planner(WRONG), 0, 0, (Planner(UNSURE), Planner(RIGHT))), keep="plan")
    assert {len(step.candidates) for step in portfolio.solve(glue).steps} == {1}
    portfolio = replace(Portfolio.of(Planner(WRONG), 0, 0, (Planner(RIGHT),)), keep="steps")
    assert len(portfolio.solve(glue).steps[0].candidates) == 2
