import time

import pytest

from sgp.analysis.overrides import fewest_overrides
from sgp.errors import ConfigurationError, PlanError
from sgp.planning.pddl import parse_plan
from sgp.planning.planner import Limit, Planner
from sgp.planning.rollout import Mark, Outcome
from tests.planning.test_planner import Costs, by_name, said


def jumps(*lines):
    return [parse_plan(line) for line in lines]


def test_resuming_after_the_planners_own_choices_goes_on_as_before(three_blocks):
    planner = Planner(by_name(pick_up=0.2, stack=0.1, unstack=0.2, put_down=0.2))
    whole = planner.solve(three_blocks, Limit(actions=8))
    for cut in range(len(whole.steps)):
        given = [step.successor.actions for step in whole.steps[:cut]]
        resumed = planner.resume(three_blocks, given, Limit(actions=8))
        assert resumed.plan == whole.plan
        assert resumed.outcome is whole.outcome
        for before, after in zip(whole.steps[cut:], resumed.steps[cut:], strict=True):
            assert before.marks.tolist() == after.marks.tolist()


def test_a_forced_choice_is_taken_though_the_policy_rejects_it_and_is_marked(two_blocks):
    planner = Planner(Costs(lambda task, action, state: float("inf") if action == "(pick-up a)" else 1.0))
    assert not planner.solve(two_blocks).solved
    rollout = planner.resume(two_blocks, jumps("(pick-up a)"))
    assert rollout.outcome is Outcome.SOLVED
    assert Mark(int(rollout.steps[0].marks[0])) & Mark.FORCED
    assert not Mark(int(rollout.steps[1].marks[0])) & Mark.FORCED
    assert Mark(int(rollout.steps[0].marks[0])).words == ["chosen", "rejected", "forced"]


def test_the_states_of_forced_choices_are_visited(two_blocks):
    planner = Planner(by_name(put_down=0.0, stack=1.0))
    rollout = planner.resume(two_blocks, jumps("(pick-up b)"))
    assert said(rollout.plan[:2]) == "(pick-up b) (stack b a)"


def test_forced_choices_that_reach_the_goal_or_cannot_be_taken(two_blocks):
    planner = Planner(by_name())
    assert planner.resume(two_blocks, jumps("(pick-up a)\n(stack a b)")).solved
    with pytest.raises(PlanError, match="stack b a"):
        planner.resume(two_blocks, jumps("(stack b a)"))


def test_watching_hears_of_every_decision(two_blocks):
    heard = []
    rollout = Planner(by_name(pick_up=0.0)).resume(two_blocks, (), watch=heard.append)
    assert [node.length for node in heard] == list(range(1, len(rollout.steps) + 1))
    assert [node.steps() for node in heard] == [rollout.steps[:number] for number in range(1, len(rollout.steps) + 1)]


def never(action):
    """A policy that takes the first candidate of lowest cost, where these actions cost more than all others."""
    return Costs(lambda task, name, state: 5.0 if name in action else 1.0)


def test_one_forced_choice_is_found_where_one_is_enough(two_blocks):
    planner = Planner(never({"(pick-up a)"}))
    start = planner.solve(two_blocks, Limit(actions=2))
    assert not start.solved
    found = fewest_overrides(planner, two_blocks, start, seconds=30)
    ((step, place),) = found.overrides
    assert found.rollout.solved
    assert str(start.steps[step].candidates[place].actions[0]) == "(pick-up a)"
    assert found.proved
    assert sum(found.counts) >= 1


def test_what_was_tried_is_counted_where_nothing_helps(two_blocks):
    planner = Planner(Costs(lambda *_: 1.0))
    start = planner.solve(two_blocks, Limit(actions=1))
    heard = []
    # Candidates of the one step: two to pick up. One action is too few for the goal only because the limit is one.
    found = fewest_overrides(Planner(Costs(lambda *_: float("inf"))), two_blocks, start, 30, watch=heard.append)
    assert (found.overrides, found.rollout, found.proved) == (None, None, False)
    assert (found.counts[0], found.complete) == (1, (1, 2))
    assert heard


@pytest.mark.parametrize(("seconds", "cost"), [(1e-9, 1.0), (30, 1.0), (30, float("inf"))])
def test_the_seconds_are_those_that_passed_however_it_ended(two_blocks, seconds, cost):
    """Out of time, solved, and complete without success."""
    start = Planner(never({"(pick-up a)"})).solve(two_blocks, Limit(actions=2))
    began = time.process_time()
    found = fewest_overrides(Planner(Costs(lambda *_: cost)), two_blocks, start, seconds)
    assert (found.overrides is not None) == (seconds == 30 and cost == 1)
    assert ((found.counts, found.complete) == ((0,), ())) == (seconds < 1)
    assert 0 <= found.seconds <= time.process_time() - began


def test_a_solved_rollout_needs_no_overrides(two_blocks):
    planner = Planner(by_name(pick_up=0.0, stack=0.0))
    with pytest.raises(ConfigurationError, match="unsolved"):
        fewest_overrides(planner, two_blocks, planner.solve(two_blocks), seconds=1)
