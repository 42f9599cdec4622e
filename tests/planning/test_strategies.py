from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.errors import ConfigurationError, DomainMismatch, ToolError
from sgp.methods.contrastive_jumps import JumpsTraining
from sgp.planning import experts, strategies
from sgp.planning.best_first import BestFirst
from sgp.planning.pddl import Problem
from sgp.planning.planner import WHOLE, Limit, Planner, Share, horizon
from sgp.planning.policy import REPLACE, Node, Ranking
from sgp.planning.rollout import Mark, Outcome
from sgp.planning.serialisation import SerialisedGoals
from sgp.planning.strategies import TEMPERATURES, LamaFallback, Noisy, OtherPlanner, Restarts, luby
from sgp.planning.task import Task, replay
from sgp.planning.validation import validate
from sgp.policies.decoding import JumpDecoding
from tests.planning.test_dead_ends import BOX, BOX_PROBLEM, box
from tests.planning.test_planner import said

PAINTING = """(define (domain painting) (:predicates (painted ?x) (seen ?x))
  (:action paint :parameters (?x) :precondition () :effect (painted ?x))
  (:action look :parameters (?x) :precondition () :effect (seen ?x)))"""


class Fixed:
    """Costs by the name of the first action; infinite for other names."""

    rules = REPLACE

    def __init__(self, costs, refusal=None):
        self.costs, self.refusal = costs, refusal

    def refuses(self, task):
        return self.refusal

    def rank(self, nodes, choices):
        costs = [[self.costs.get(str(each.actions[0]), np.inf) for each in choice] for choice in choices]
        return list(map(Ranking, map(np.array, costs)))


def with_fallbacks(planner, restarts=0, seed=0, others=(), search=False):
    fallbacks = [OtherPlanner(other, number) for number, other in enumerate(others, 2)]
    return replace(planner, fallbacks=(*fallbacks, Restarts(restarts, seed), *([LamaFallback()] if search else [])))


def restarting(policy, restarts=0, seed=0, **settings):
    return with_fallbacks(Planner(policy, **settings), restarts, seed)


RIGHT = Fixed({"(fix a)": 0.0, "(close a)": 0.0})
WRONG = Fixed({"(fix b)": 0.0, "(close b)": 0.0})
UNSURE = Fixed({"(fix a)": 1.0, "(fix b)": 0.0, "(close a)": 0.0, "(close b)": 0.0})
AIMLESS = Fixed({f"({each})": 0.0 for each in ("pick-up a", "put-down a", "pick-up b", "put-down b")})


@pytest.fixture
def glue():
    return box()[0]


@pytest.fixture
def made(monkeypatch):
    """The rollouts in order, and whether their costs had noise."""
    rollouts, roll_out = [], Planner.roll_out

    def noted(self, *rest):
        for place, rollout in roll_out(self, *rest):
            rollouts.append((isinstance(self.policy, Noisy), rollout))
            yield place, rollout

    monkeypatch.setattr(Planner, "roll_out", noted)
    return rollouts


@pytest.fixture
def ranked(monkeypatch):
    calls, rank = [], Fixed.rank
    monkeypatch.setattr(Fixed, "rank", lambda self, *rest: calls.append(1) or rank(self, *rest))
    return calls


def test_a_dead_end_is_left_by_a_restart_and_the_plan_is_one(glue):
    assert Planner(UNSURE).solve(glue).outcome is Outcome.STUCK
    found = restarting(UNSURE, restarts=50).solve(glue)
    assert found.solved
    assert "restart" in found.reason
    assert glue.is_goal(replay(glue, found.plan)[-1])
    assert restarting(UNSURE, restarts=50).solve(glue) == found
    assert len({restarting(UNSURE, restarts=50, seed=seed).solve(glue).reason for seed in range(12)}) > 1


def test_candidates_are_drawn_as_often_as_the_softmax_says(glue):
    choice = glue.successors(glue.init)
    for temperature in TEMPERATURES:
        noisy = (Noisy(UNSURE, temperature, (0, attempt)) for attempt in range(4000))
        costs = [each.rank([Node(glue, glue.init)], [choice])[0].costs for each in noisy]
        drawn = np.mean([str(choice[int(np.argmin(each))].actions[0]) == "(fix a)" for each in costs])
        expected = 1 / (1 + np.exp(1 / temperature))
        assert abs(drawn - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)


def test_what_a_policy_rejects_stays_rejected(glue):
    found = restarting(WRONG, restarts=30).solve(glue)
    assert (found.outcome, str(found.plan[0])) == (Outcome.STUCK, "(fix b)")
    assert restarting(Fixed({"(fix b)": 0.0}), restarts=3).solve(glue).outcome is Outcome.REFUSED


def test_limits_are_those_of_all_rollouts_together(glue, made, ranked):
    for most in (4, 10, 20):
        rollout = restarting(WRONG, 30).solve(glue, Limit(decisions=most))
        assert any(noisy for noisy, _ in made)
        assert rollout.decisions == len(ranked) <= most
        made.clear()
        ranked.clear()
    assert restarting(WRONG, 30).solve(glue, Limit(seconds=1e-9)).outcome is Outcome.TIMEOUT
    assert restarting(Fixed({}, "it is too large"), 30).solve(glue).outcome is Outcome.REFUSED
    assert not any(noisy for noisy, _ in made)


@pytest.mark.parametrize(
    ("restarts", "limit", "least", "most"),
    [(3, Limit(), 4, 4), (3, Limit(decisions=40), 5, 40), (0, Limit(decisions=40), 1, 1)],  # as many as fit
)
def test_restarts_resume_until_the_limit_of_decisions(glue, made, restarts, limit, least, most):
    restarting(WRONG, restarts).solve(glue, limit)
    assert least <= len(made) <= most


@pytest.mark.parametrize("first", ["paint", "look"])
def test_a_first_rollout_uses_more_than_its_share_while_goals_are_achieved(made, first):
    names = [f"o{number}" for number in range(20)]
    goal = " ".join(f"(painted {name})" for name in names)
    text = f"(define (problem p) (:domain painting) (:objects {' '.join(names)}) (:init) (:goal (and {goal})))"
    order = [f"({action} {name})" for action in sorted(["paint", "look"], key=first.__ne__) for name in names]
    policy = Fixed({name: float(place) for place, name in enumerate(order)})
    restarting(policy, 2).solve(Task(Problem("p", PAINTING, text)), Limit(decisions=25))
    solved, steps = made[0][1].solved, len(made[0][1].steps)
    assert (solved, steps) == ((True, 20) if first == "paint" else (False, 12))


def test_the_first_rollout_has_half_of_a_limit_and_the_horizons_of_restarts_grow(two_blocks, made):
    assert [luby(number) for number in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    restarting(AIMLESS, 2, revisits=True).solve(two_blocks, Limit(decisions=1500))
    most, lengths = horizon(two_blocks.size), [(noisy, len(rollout.plan)) for noisy, rollout in made]
    assert lengths[:6] == [(False, 750), *((True, times * most) for times in (1, 1, 2, 1, 1))]
    assert sum(length for _, length in lengths) <= 1500
    made.clear()
    restarting(AIMLESS, 2, revisits=True).solve(two_blocks, Limit(actions=5, decisions=60))
    assert {len(rollout.plan) for _, rollout in made[:-1]} == {5}, "a horizon that is asked for holds for all"


def test_a_share_is_one_of_what_instantiation_leaves(two_blocks, made, monkeypatch):
    """Actions are instantiated once within the time limit of a problem."""
    clock = [0.0]
    monkeypatch.setattr(Limit, "now", lambda self: clock[0])
    expand = Planner.successors

    def slow(task, state):
        clock[0] += 6.0 if state == task.init else 0.1
        return expand(task, state)

    right = Fixed({"(pick-up a)": 0.0, "(stack a b)": 0.0})
    monkeypatch.setattr(two_blocks, "seconds", 1.0)
    found = restarting(right, 5, successors=slow).solve(two_blocks, Limit(seconds=10))
    assert found.solved
    assert found.reason == "", "by the first rollout"
    first = Planner(AIMLESS, slow, revisits=True)
    alone = first.solve(two_blocks, Limit(seconds=50))
    made.clear()
    with_fallbacks(first, 5).solve(two_blocks, Limit(seconds=50))
    assert made[0][1].seconds == pytest.approx(1.0 + 5.0 + (50 - 7) / 2, abs=7)
    assert made[0][1].seconds < 0.75 * alone.seconds


def test_goals_are_searched_one_by_one_after_a_failed_rollout(two_blocks):
    alone = Planner(AIMLESS).solve(two_blocks, Limit(seconds=20))
    assert not alone.solved
    found = replace(Planner(AIMLESS), fallbacks=(SerialisedGoals(0),)).solve(two_blocks, Limit(seconds=20))
    assert (found.solved, found.reason) == (True, "solved goal by goal")
    assert two_blocks.is_goal(replay(two_blocks, found.plan)[-1])
    refusing = replace(Planner(Fixed({}, "too large")), fallbacks=(SerialisedGoals(0),))
    assert refusing.solve(two_blocks).solved, "the searches need no policy"


def test_a_trained_run_is_decoded_with_restarts_and_a_search(quick_run):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    assert sgp.load_planner(run.folder, "restarts").fallbacks == (Restarts(20, 0),)
    assert sgp.load_planner(run.folder, "search").fallbacks == (SerialisedGoals(0), BestFirst(5.0), LamaFallback())
    with pytest.raises(ConfigurationError, match="conflicts with representatives"):
        JumpsTraining(representatives=True, decoding="default+candidates=iw")
    with pytest.raises(ConfigurationError, match="restarts is -1; expected at least 0"):
        JumpDecoding(restarts=-1)
    with pytest.raises(ConfigurationError, match="noise_after 3 conflicts with revisits: where visited states stay"):
        JumpDecoding(noise_after=3, revisits=True)
    with pytest.raises(ConfigurationError, match="parallel 2 conflicts with beam 3"):
        JumpDecoding(beam=3, parallel=2.0)


def test_what_one_planner_does_not_solve_the_next_one_does(glue):
    found = with_fallbacks(Planner(WRONG), 0, 0, (Planner(WRONG), Planner(RIGHT))).solve(glue)
    assert found.solved
    assert found.reason == "solved by planner 3"
    assert glue.is_goal(replay(glue, found.plan)[-1])
    assert with_fallbacks(Planner(RIGHT), 0, 0, (Planner(WRONG),)).solve(glue) == Planner(RIGHT).solve(glue)


def test_restarts_draw_from_all_planners_in_turn(glue):
    portfolio = with_fallbacks(Planner(WRONG), 50, 0, (Planner(UNSURE),))
    found, restarts = portfolio.solve(glue), portfolio.fallbacks[-1]
    assert found.solved
    assert "restart" in found.reason
    policies = [restarts.noisy(portfolio, attempt).policy.policy for attempt in range(8)]
    assert policies == [WRONG, WRONG, UNSURE, UNSURE, WRONG, WRONG, UNSURE, UNSURE]


def test_one_limit_is_that_of_all_and_each_leaves_something_to_the_next(two_blocks, made, ranked):
    planner = Planner(AIMLESS, revisits=True)
    portfolio = with_fallbacks(planner, 9, 0, (planner,))
    for most in (7, 40, 400):
        made.clear()
        ranked.clear()
        assert not portfolio.solve(two_blocks, Limit(decisions=most)).solved
        assert len(ranked) <= most
        first, second, *others = ((noisy, len(rollout.steps)) for noisy, rollout in made)
        assert first == (False, most // 2)
        assert second[0] is False
        assert 1 <= second[1] <= (most - most // 2) // 2
        assert all(noisy for noisy, _ in others)
        assert others
    assert portfolio.solve(two_blocks, Limit(seconds=1e-9)).outcome is Outcome.TIMEOUT


def test_runs_make_a_portfolio_where_they_are_of_one_domain(quick_run):
    runs = [quick_run("contrastive-jumps", "blocksworld", variant) for variant in ("one-step", "aiw")]
    found = sgp.load_portfolio([run.folder for run in runs], "greedy", restarts=2)
    other, restarts = found.fallbacks
    assert (found.width, restarts, other.number) == (1, Restarts(2, 0), 2)
    other = quick_run("contrastive-jumps", "gripper", "one-step")
    with pytest.raises(DomainMismatch, match=r"on blocksworld and .* on gripper, which .*; a portfolio needs runs of"):
        sgp.load_portfolio([runs[0].folder, other.folder])
    with pytest.raises(ConfigurationError, match="no run is given"):
        sgp.load_portfolio([])
    with pytest.raises(ConfigurationError, match=r"holds one planner alone.* train it again with '--by dynamic'"):
        sgp.load_planner(runs[0].folder, "portfolio")


def test_rollouts_of_the_others_keep_what_is_asked_for(glue):
    portfolio = replace(with_fallbacks(Planner(WRONG), 0, 0, (Planner(UNSURE), Planner(RIGHT))), keep="plan")
    assert {len(step.candidates) for step in portfolio.solve(glue).steps} == {1}
    portfolio = replace(with_fallbacks(Planner(WRONG), 0, 0, (Planner(RIGHT),)), keep="steps")
    assert len(portfolio.solve(glue).steps[0].candidates) == 2


def test_what_the_policy_does_not_solve_is_searched_and_shown_as_forced(glue):
    planner = Planner(WRONG)
    assert planner.solve(glue).outcome is Outcome.STUCK
    found = with_fallbacks(planner, 3, search=True).solve(glue)
    assert found.solved
    assert found.reason == "solved by LAMA's first plan"
    assert said(found.plan) == "(fix a) (close a)"
    assert validate(glue.problem, found.plan).valid
    assert [Mark(int(step.marks[0])) for step in found.steps] == [Mark.CHOSEN | Mark.FORCED] * 2
    assert glue.is_goal(found.end)


def test_the_policy_comes_first_and_alone_where_it_solves(glue, monkeypatch):
    def missing():
        raise ToolError("Fast Downward is missing")

    monkeypatch.setattr(experts, "fast_downward_driver", missing)
    assert with_fallbacks(Planner(RIGHT), 0, search=True).solve(glue) == Planner(RIGHT).solve(glue)
    with pytest.raises(ToolError, match="is missing"):
        with_fallbacks(Planner(WRONG), 0, search=True).solve(glue)


def test_half_of_the_seconds_are_the_policys_and_nothing_begins_without_a_second(glue, monkeypatch):
    shares = []
    roll_out = Planner.roll_out

    def noted(self, tasks, limit, share=WHOLE):
        shares.append((limit.seconds, share))
        yield from roll_out(self, tasks, limit, share)

    monkeypatch.setattr(Planner, "roll_out", noted)
    stages = []
    find_plan = strategies.find_plan
    monkeypatch.setattr(
        strategies, "find_plan", lambda problem, given, **how: stages.extend(given) or find_plan(problem, given, **how)
    )
    planner = with_fallbacks(Planner(WRONG), 0, search=True)
    assert planner.solve(glue, Limit(seconds=20, memory=2**33)).solved
    assert shares == [(20, Share(0.5, 1.0))], "more than half only while it progresses"
    assert 19 < stages[0].seconds <= 20, "the policy took next to nothing"
    assert 0 < stages[0].megabytes < 2**13, "what this process holds is taken already"
    assert planner.solve(glue, Limit(seconds=0.9)).outcome is Outcome.STUCK
    assert len(stages) == 1
    assert planner.solve(glue, Limit(actions=50)).solved
    assert shares[-1] == (None, WHOLE)
    assert stages[-1].seconds == experts.LAMA_FIRST.seconds, "by default"
    assert with_fallbacks(Planner(WRONG), 3, search=True).solve(glue, Limit(seconds=20, decisions=40)).solved
    assert (20, Share(0.25, 0.5)) in shares, "LAMA needs seconds, but no decisions"


def test_what_the_search_does_not_solve_either_stays_unsolved(glue):
    nothing = Task(sgp.Problem("n", BOX, BOX_PROBLEM.replace("(glue)", "")))
    found = with_fallbacks(Planner(WRONG), 0, search=True).solve_many([nothing, glue])
    assert [each.task for each in found] == [nothing, glue]
    assert found[0].outcome is Outcome.STUCK
    assert "has no plan" in found[0].reason
    assert found[1].solved


@pytest.mark.slow
def test_a_search_that_runs_out_of_time_says_so():
    domain = sgp.get_domain("blocksworld")
    problem = sgp.Problem("large", domain.pddl, domain.generate_scaled(np.random.default_rng(0), 600))
    found = with_fallbacks(Planner(Fixed({})), search=True).solve(Task(problem, "lifted"), Limit(seconds=7))
    assert found.outcome is Outcome.TIMEOUT, "translating its 720,000 actions takes longer"
    assert found.reason == "nor did LAMA find a plan"


def test_a_planner_that_refuses_leaves_the_restarts_to_the_others(glue):
    refusing = Planner(Fixed({}, refusal="no"))
    alone = with_fallbacks(refusing, 40)
    assert alone.solve(glue).outcome is Outcome.REFUSED
    assert not Planner(UNSURE).solve(glue).solved
    rollout = with_fallbacks(refusing, 40, others=[Planner(UNSURE)]).solve(glue)
    assert rollout.solved
    assert "restart" in rollout.reason
