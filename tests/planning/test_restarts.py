from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.methods.contrastive_jumps import ContrastiveJumpsTraining
from sgp.planning.planner import Limit, Planner, horizon
from sgp.planning.policy import REPLACE, Node, Ranking
from sgp.planning.restarts import TEMPERATURES, Noisy, Restarting, luby
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task, replay
from sgp.policies.jump_decoding import JumpDecoding
from tests.conftest import blocks_problem

# Glue is for one part, and no part that is not glued can be painted.
GLUE = """\
(define (domain glue) (:requirements :strips)
  (:predicates (glue) (part ?p) (fixed ?p) (painted ?p))
  (:action fix :parameters (?p) :precondition (and (glue) (part ?p)) :effect (and (fixed ?p) (not (glue))))
  (:action paint :parameters (?p) :precondition (fixed ?p) :effect (painted ?p)))
"""
GLUE_PROBLEM = "(define (problem g) (:domain glue) (:objects a b) (:init (glue) (part a) (part b)) (:goal (painted a)))"


class Fixed:
    """Costs by the name of the first action; infinite for names that it was not told."""

    rules = REPLACE

    def __init__(self, costs, refusal=None):
        self.costs, self.refusal = costs, refusal

    def refuses(self, task):
        return self.refusal

    def rank(self, nodes, choices):
        return [
            Ranking(np.array([self.costs.get(str(each.actions[0]), np.inf) for each in choice])) for choice in choices
        ]


@pytest.fixture
def glue():
    """One of two parts can be glued, and this policy glues the wrong one."""
    return Task(sgp.Problem("g", GLUE, GLUE_PROBLEM)), Fixed(
        {"(fix a)": 1.0, "(fix b)": 0.0, "(paint a)": 0.0, "(paint b)": 0.0}
    )


def test_a_dead_end_is_left_by_a_restart_and_the_plan_is_one(glue):
    task, policy = glue
    assert Planner(policy).solve(task).outcome is Outcome.STUCK
    found = Restarting(policy, restarts=50).solve(task)
    assert found.solved
    assert "restart" in found.reason
    assert task.is_goal(replay(task, found.plan)[-1])
    assert Restarting(policy, restarts=50).solve(task) == found
    assert len({Restarting(policy, restarts=50, seed=seed).solve(task).reason for seed in range(12)}) > 1


def test_what_one_rollout_solves_is_that_rollout(two_blocks):
    policy = Fixed({"(pick-up a)": 0.0, "(stack a b)": 0.0, "(pick-up b)": 1.0, "(put-down a)": 1.0})
    assert Restarting(policy, restarts=9).solve(two_blocks) == Planner(policy).solve(two_blocks)


def test_candidates_are_drawn_as_often_as_the_softmax_says(glue):
    task, policy = glue
    choice = task.successors(task.init)
    for temperature in TEMPERATURES:
        costs = [
            Noisy(policy, temperature, (0, attempt)).rank([Node(task, task.init)], [choice])[0].costs
            for attempt in range(4000)
        ]
        drawn = np.mean([str(choice[int(np.argmin(each))].actions[0]) == "(fix a)" for each in costs])
        expected = 1 / (1 + np.exp(1 / temperature))
        assert abs(drawn - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)


def test_what_a_policy_rejects_stays_rejected(glue):
    task, _ = glue
    never = Fixed({"(fix b)": 0.0, "(paint b)": 0.0})
    found = Restarting(never, restarts=30).solve(task)
    assert found.outcome is Outcome.STUCK
    assert str(found.plan[0]) == "(fix b)"
    assert Restarting(Fixed({"(fix b)": 0.0}), restarts=3).solve(task).outcome is Outcome.REFUSED


def test_limits_are_those_of_all_rollouts_together(glue, monkeypatch):
    task, _ = glue
    tried, ranked = [], []
    noisy, rank = Noisy.rank, Fixed.rank
    monkeypatch.setattr(Noisy, "rank", lambda self, *rest: tried.append(self.seed) or noisy(self, *rest))
    monkeypatch.setattr(Fixed, "rank", lambda self, *rest: ranked.append(len(rest)) or rank(self, *rest))
    never = Fixed({"(fix b)": 0.0, "(paint b)": 0.0})
    for most in (4, 10, 20):
        Restarting(never, restarts=30).solve(task, Limit(decisions=most))
        assert tried
        assert len(ranked) <= most
        tried.clear()
        ranked.clear()
    assert Restarting(never, restarts=30).solve(task, Limit(seconds=1e-9)).outcome is Outcome.TIMEOUT
    assert not tried
    refusing = Restarting(Fixed({}, "it is too large"), restarts=30).solve(task)
    assert refusing.outcome is Outcome.REFUSED
    assert not tried


def test_restarts_go_on_until_the_limit_of_decisions(glue, monkeypatch):
    task, _ = glue
    tried = set()
    noisy = Noisy.rank
    monkeypatch.setattr(Noisy, "rank", lambda self, *rest: tried.add(self.seed) or noisy(self, *rest))
    never = Restarting(Fixed({"(fix b)": 0.0, "(paint b)": 0.0}), restarts=3)
    never.solve(task)
    assert len(tried) == 3
    never.solve(task, Limit(decisions=40))
    assert len(tried) > 3, "as many as fit"
    tried.clear()
    Restarting(never.policy).solve(task, Limit(decisions=40))
    assert not tried


def test_the_first_rollout_has_half_of_a_limit_and_the_horizons_of_restarts_grow(two_blocks, monkeypatch):
    assert [luby(number) for number in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    made = []
    solve_each = Planner.solve_each

    def told(self, tasks, limit):
        for place, rollout in solve_each(self, tasks, limit):
            made.append((isinstance(self.policy, Noisy), len(rollout.plan)))
            yield place, rollout

    monkeypatch.setattr(Planner, "solve_each", told)
    aimless = Fixed({f"({each})": 0.0 for each in ("pick-up a", "put-down a", "pick-up b", "put-down b")})
    Restarting(aimless, revisits=True, restarts=2).solve(two_blocks, Limit(decisions=1500))
    most = horizon(two_blocks.size)
    assert made[:6] == [(False, 750), *((True, times * most) for times in (1, 1, 2, 1, 1))]
    assert sum(length for _, length in made) <= 1500
    made.clear()
    Restarting(aimless, revisits=True, restarts=2).solve(two_blocks, Limit(actions=5, decisions=60))
    assert {length for _, length in made[:-1]} == {5}, "a horizon that is asked for holds for all"


def test_a_share_is_one_of_what_instantiation_leaves(two_blocks, monkeypatch):
    """In the seconds of a problem its actions are instantiated once."""
    clock = [0.0]
    monkeypatch.setattr(Limit, "now", lambda self: clock[0])
    expand = Planner.successors

    def slow(task, state):
        clock[0] += 6.0 if state == task.init else 0.1
        return expand(task, state)

    right = Fixed({"(pick-up a)": 0.0, "(stack a b)": 0.0})
    monkeypatch.setattr(two_blocks, "seconds", 1.0)
    found = Restarting(right, slow, restarts=5).solve(two_blocks, Limit(seconds=10))
    assert found.solved
    assert found.reason == "", "by the first rollout"
    aimless = Fixed({f"({each})": 0.0 for each in ("pick-up a", "put-down a", "pick-up b", "put-down b")})
    first = Planner(aimless, slow, revisits=True)
    alone = first.solve(two_blocks, Limit(seconds=50))
    made = []
    solve_each = Planner.solve_each
    monkeypatch.setattr(
        Planner, "solve_each", lambda self, *rest: (made.append(each[1]) or each for each in solve_each(self, *rest))
    )
    Restarting.of(first, 5, 0).solve(two_blocks, Limit(seconds=50))
    assert made[0].seconds == pytest.approx(1.0 + 5.0 + (50 - 7) / 2, abs=7)
    assert made[0].seconds < 0.75 * alone.seconds


def test_several_tasks_keep_their_places(glue):
    task, policy = glue
    easy = Task(blocks_problem("a b", "(ontable a) (clear a) (on b a)", "(on b a)"))
    found = Restarting(policy, restarts=50).solve_many([task, easy, task])
    assert [each.task for each in found] == [task, easy, task]
    assert [each.solved for each in found] == [True, True, True]
    assert found[0] == found[2]


def test_a_trained_run_is_decoded_with_restarts(quick_run):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    planner = sgp.load_planner(run.folder, "restarts")
    assert isinstance(planner, Restarting)
    with pytest.raises(ConfigurationError, match="conflicts with representatives"):
        ContrastiveJumpsTraining(representatives=True, decoding="default+candidates=iw")
    with pytest.raises(ConfigurationError, match="restarts is -1; expected at least 0"):
        JumpDecoding(restarts=-1)
    with pytest.raises(ConfigurationError, match="escape 3 conflicts with revisits: where visited states stay open"):
        JumpDecoding(escape=3, revisits=True)
