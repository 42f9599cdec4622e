"""Causes of failure of a rollout, on records made by hand."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import sgp
from sgp import FailureKind
from sgp.analysis.failures import Finding, kind_of_outcome
from sgp.errors import StoreError
from sgp.planning.recorded import Recorded
from sgp.planning.recording import records

GOALS = 6
ATOMS = " ".join(f"(g{number})" for number in range(GOALS))
DOMAIN = f"(define (domain d) (:predicates {ATOMS} (bad)) (:action a :parameters () :effect (and {ATOMS} (bad))))"
PROBLEM = f"""(define (problem p) (:domain d) (:objects o)
  (:init) (:goal (and {ATOMS} (not (bad)))))"""


def candidate(action, open_now, open_then, *marks):
    """Return a candidate that changes `open_now` of six open goals to `open_then`."""
    done, then = GOALS - open_now, GOALS - open_then
    return {
        "actions": [action] if isinstance(action, str) else action,
        "add": [f"(g{number})" for number in range(done, then)],
        "delete": [f"(g{number})" for number in range(then, done)],
        "marks": list(marks),
    }


def rollout(outcome, counts, expert=None, others=None):
    """Return a rollout with the given numbers of open goals; step i takes action (a i); `others` are by step."""
    steps = []
    for number, (now, then) in enumerate(pairwise(counts), start=1):
        rest = (others or {}).get(number, [])
        marks = ["chosen", "tied"] if rest else ["chosen"]
        steps.append({"chosen": 0, "candidates": [candidate(f"(a {number})", now, then, *marks), *rest]})
    head = {
        "outcome": outcome,
        "domain_pddl": DOMAIN,
        "problem_pddl": PROBLEM,
        "initial": [f"(g{number})" for number in range(GOALS - counts[0])],
    }
    if expert is not None:
        head["expert"] = expert
    return Recorded("made", 1, head, tuple(steps))


def findings(recorded):
    return [(each.kind, each.step) for each in sgp.failure_of(recorded).findings]


def test_a_solved_rollout_has_no_failure():
    assert sgp.failure_of(rollout("solved", [2, 1, 0])) is None


def test_open_goals_follow_the_chosen_candidates_and_count_negative_goals():
    counts = [5, 4, 4, 2, 3]
    assert sgp.failure_of(rollout("horizon", counts)).open_goals == tuple(counts)
    bad = rollout("horizon", [5, 5])
    bad.steps[0]["candidates"][0]["add"].append("(bad)")
    assert sgp.failure_of(bad).open_goals == (5, 6)


@pytest.mark.parametrize(
    ("outcome", "kind"), [("timeout", "timeout"), ("memory", "memory"), ("refused", "refused"), ("crashed", "error")]
)
def test_what_stopped_it_from_outside_comes_first(outcome, kind):
    assert findings(rollout(outcome, [5, 4, 3])) == [(kind, 3)]
    assert findings(rollout(outcome, [5])) == [(kind, 1)]


def test_exhausted_is_primary_and_the_rest_stands_beside_it():
    assert findings(rollout("stuck", [5, 4, 3])) == [(FailureKind.EXHAUSTED, 3)]
    assert findings(rollout("stuck", [3, 3, 4])) == [(FailureKind.EXHAUSTED, 3), (FailureKind.NEVER_BETTER, 1)]


def test_never_better_than_the_start():
    assert findings(rollout("horizon", [3, 4, 3, 5])) == [(FailureKind.NEVER_BETTER, 1), (FailureKind.HORIZON, 4)]


def test_regressed_names_the_step_that_leaves_the_best_for_good():
    counts = [5, 3, 4, 3] + [4] * 10  # the best state is lost, reached again after step 3, and lost for good by step 4
    assert findings(rollout("horizon", counts)) == [(FailureKind.REGRESSED, 4), (FailureKind.HORIZON, 14)]


def test_a_plateau_begins_at_the_first_best_state():
    counts = [5, 3] + [4, 3] * 5  # the best state is after step 1, and again at the end, ten steps later
    assert findings(rollout("horizon", counts)) == [(FailureKind.PLATEAU, 2), (FailureKind.HORIZON, 12)]


def test_one_step_short_of_long_is_neither_plateau_nor_regress():
    assert findings(rollout("horizon", [5, 3] + [3] * 9)) == [(FailureKind.HORIZON, 11)]
    assert findings(rollout("horizon", [5, 3] + [4] * 9)) == [(FailureKind.HORIZON, 11)]
    assert findings(rollout("horizon", [5, 3] + [3] * 10))[0] == (FailureKind.PLATEAU, 2)
    assert findings(rollout("horizon", [5, 3] + [4] * 10))[0] == (FailureKind.REGRESSED, 2)


def test_off_the_expert_at_the_first_other_action_and_jumps_count_by_their_actions():
    plan = ["(a 1)", "(a 2)", "(b)"]
    assert findings(rollout("horizon", [5, 4, 3, 2], plan)) == [(FailureKind.OFF_EXPERT, 3), (FailureKind.HORIZON, 4)]
    jump = rollout("horizon", [5, 4, 3], ["(a 1)", "(x)", "(a 2)", "(b)"])
    jump.steps[0]["candidates"][0]["actions"] = ["(a 1)", "(x)"]
    assert findings(jump) == [(FailureKind.HORIZON, 3)]
    jump.steps[0]["candidates"][0]["actions"] = ["(a 1)", "(y)"]
    assert findings(jump) == [(FailureKind.OFF_EXPERT, 1), (FailureKind.HORIZON, 3)]


def test_a_tie_is_lost_to_the_expert_or_to_a_better_candidate():
    expert = candidate("(e)", 4, 4, "tied")
    lost = rollout("horizon", [5, 4, 3], ["(a 1)", "(e)"], {2: [expert]})
    assert findings(lost) == [(FailureKind.TIE_LOST, 2), (FailureKind.OFF_EXPERT, 2), (FailureKind.HORIZON, 3)]
    better = rollout("horizon", [5, 4, 4, 3], None, {2: [candidate("(e)", 4, 3, "tied")]})
    assert findings(better) == [(FailureKind.TIE_LOST, 2), (FailureKind.HORIZON, 4)]


@pytest.mark.parametrize("marks", [("tied", "visited"), ("tied", "collapsed"), ()])
def test_no_tie_is_lost_to_a_candidate_that_was_shut_or_dearer(marks):
    shut = rollout("horizon", [5, 4, 4, 3], None, {2: [candidate("(e)", 4, 3, *marks)]})
    assert findings(shut) == [(FailureKind.HORIZON, 4)]


def test_a_tie_that_the_expert_wins_too_is_not_lost():
    won = rollout("horizon", [5, 4, 3], ["(a 1)", "(a 2)", "(b)"], {2: [candidate("(e)", 4, 2, "tied")]})
    assert findings(won) == [(FailureKind.HORIZON, 3)]


def test_every_outcome_has_a_kind():
    kinds = {outcome: kind_of_outcome(outcome.value) for outcome in sgp.Outcome}
    assert kinds.pop(sgp.Outcome.SOLVED) is None
    assert len(set(kinds.values())) == len(kinds)
    assert FailureKind.ERROR not in kinds.values()


def test_a_damaged_record_is_one_sentence():
    with pytest.raises(StoreError, match="made, line 1: not a record of a rollout"):
        sgp.failure_of(Recorded("made", 1, {"outcome": "horizon"}, ()))


def test_a_living_rollout_is_classified_through_its_records(three_blocks):
    from sgp.planning.planner import Limit, Planner
    from tests.planning.test_planner import by_name

    stuck = Planner(by_name(pick_up=0.1, stack=0.4, unstack=0.2, put_down=0.3)).solve(three_blocks, Limit(actions=5))
    head, *steps = json.loads(json.dumps(list(records(stuck))))
    failure = sgp.failure_of(Recorded("living", 1, head, tuple(steps)))
    assert failure.primary == Finding(FailureKind.EXHAUSTED, len(stuck.steps) + 1)
    assert failure.open_goals == (2, 2, 1)  # b is picked up and put on c, its goal position
