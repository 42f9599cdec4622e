"""Causes of failure, and its diagnosis in sentences: on records made by hand, on a recorded failure in Logistics."""

import json
from itertools import pairwise

import pandas as pd
import pytest

import sgp
from sgp.analysis.failures import (
    FailureKind,
    Finding,
    diagnosis,
    headline,
    kind_of_outcome,
)
from sgp.datasets.recorded import Recorded, read_recorded
from sgp.datasets.recording import records
from sgp.errors import StoreError
from sgp.evaluation.scores import DIAGNOSED, diagnose_splits
from sgp.methods.baselines import RandomWalk
from tests.recorded import recorded_file, recorded_lines

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
    initial = [f"(g{number})" for number in range(GOALS - counts[0])]
    head = {"outcome": outcome, "domain_pddl": DOMAIN, "problem_pddl": PROBLEM, "initial": initial}
    if expert is not None:
        head["expert"] = expert
    return Recorded("made", 1, head, tuple(steps))


def findings(recorded):
    return [(each.kind, each.step) for each in sgp.analysis.failure_of(recorded).findings]


def test_a_solved_rollout_has_no_failure_others_have_kinds_and_open_goals():
    assert sgp.analysis.failure_of(rollout("solved", [2, 1, 0])) is None
    kinds = {outcome: kind_of_outcome(outcome.value) for outcome in sgp.Outcome}
    assert kinds.pop(sgp.Outcome.SOLVED) is None
    assert len(set(kinds.values())) == len(kinds)
    assert FailureKind.ERROR not in kinds.values()
    counts = [5, 4, 4, 2, 3]
    assert sgp.analysis.failure_of(rollout("horizon", counts)).open_goals == tuple(counts)
    bad = rollout("horizon", [5, 5])
    bad.steps[0]["candidates"][0]["add"].append("(bad)")
    assert sgp.analysis.failure_of(bad).open_goals == (5, 6)


PLAN = ["(a 1)", "(a 2)", "(b)"]
K = FailureKind


def other(open_then, *marks):
    """A second candidate of step 2, which changes four open goals."""
    return {2: [candidate("(e)", 4, open_then, *marks)]}


FINDINGS = {  # open goals, findings besides the horizon, expert's plan, other candidates by step
    "never better than the start": ([3, 4, 3, 5], [(K.NEVER_BETTER, 1)]),
    "the best is lost, reached again, and lost for good by step 4": ([5, 3, 4, 3] + [4] * 10, [(K.REGRESSED, 4)]),
    "a plateau begins at the first best state": ([5, 3] + [4, 3] * 5, [(K.PLATEAU, 2)]),
    "nine steps are no plateau": ([5, 3] + [3] * 9, []),
    "nine steps are no regress": ([5, 3] + [4] * 9, []),
    "ten steps are a plateau": ([5, 3] + [3] * 10, [(K.PLATEAU, 2)]),
    "ten steps are a regress": ([5, 3] + [4] * 10, [(K.REGRESSED, 2)]),
    "off the expert at the first other action": ([5, 4, 3, 2], [(K.OFF_EXPERT, 3)], PLAN),
    "tie lost to the expert": ([5, 4, 3], [(K.TIE_LOST, 2), (K.OFF_EXPERT, 2)], ["(a 1)", "(e)"], other(4, "tied")),
    "tie lost to a better candidate": ([5, 4, 4, 3], [(K.TIE_LOST, 2)], None, other(3, "tied")),
    "no tie lost to a visited candidate": ([5, 4, 4, 3], [], None, other(3, "tied", "visited")),
    "no tie lost to a collapsed candidate": ([5, 4, 4, 3], [], None, other(3, "tied", "collapsed")),
    "no tie lost to a dearer candidate": ([5, 4, 4, 3], [], None, other(3)),
    "no tie lost that the expert wins": ([5, 4, 3], [], PLAN, other(2, "tied")),
}


@pytest.mark.parametrize("case", FINDINGS.values(), ids=FINDINGS)
def test_the_kinds_of_a_failure_and_their_steps(case):
    counts, expected, *given = case
    assert findings(rollout("horizon", counts, *given)) == [*expected, (K.HORIZON, len(counts))]


def test_exhausted_comes_first_and_jumps_are_compared_with_the_expert_by_their_actions():
    assert findings(rollout("stuck", [5, 4, 3])) == [(K.EXHAUSTED, 3)]
    assert findings(rollout("stuck", [3, 3, 4])) == [(K.EXHAUSTED, 3), (K.NEVER_BETTER, 1)]
    jump = rollout("horizon", [5, 4, 3], ["(a 1)", "(x)", "(a 2)", "(b)"])
    jump.steps[0]["candidates"][0]["actions"] = ["(a 1)", "(x)"]
    assert findings(jump) == [(K.HORIZON, 3)]
    jump.steps[0]["candidates"][0]["actions"] = ["(a 1)", "(y)"]
    assert findings(jump) == [(K.OFF_EXPERT, 1), (K.HORIZON, 3)]


OUTSIDE = [("timeout", "timeout"), ("memory", "memory"), ("refused", "refused"), ("crashed", "error")]


@pytest.mark.parametrize(("outcome", "kind"), OUTSIDE)
def test_what_stopped_it_from_outside_comes_first(outcome, kind):
    assert findings(rollout(outcome, [5, 4, 3])) == [(kind, 3)]
    assert findings(rollout(outcome, [5])) == [(kind, 1)]


def test_a_living_rollout_is_classified_through_its_records(three_blocks):
    from sgp.planning.planner import Limit, Planner
    from tests.planning.test_planner import by_name

    stuck = Planner(by_name(pick_up=0.1, stack=0.4, unstack=0.2, put_down=0.3)).solve(three_blocks, Limit(actions=5))
    head, *steps = json.loads(json.dumps(list(records(stuck))))
    failure = sgp.analysis.failure_of(Recorded("living", 1, head, tuple(steps)))
    assert failure.primary == Finding(FailureKind.EXHAUSTED, len(stuck.steps) + 1)
    assert failure.open_goals == (2, 2, 1)  # b is picked up and put on c, its goal position


COUNTED_DOMAIN = """(define (domain d) (:predicates (p ?x) (q ?x) (far))
  (:action a :parameters (?x) :effect (and (p ?x) (q ?x) (far) (not (p ?x)))))"""
COUNTED_PROBLEM = "(define (problem it) (:domain d) (:objects x y z) (:init) (:goal (and (p x) (p y) (p z))))"


def choice(action, cost, add=(), delete=(), *marks):
    return {"actions": [action], "cost": cost, "add": list(add), "delete": list(delete), "marks": list(marks)}


def told(*steps, outcome="horizon", **head):
    """Return the diagnosis of a rollout of given candidates, the first of each step being the chosen one."""
    texts = {"domain_pddl": COUNTED_DOMAIN, "problem_pddl": COUNTED_PROBLEM, "initial": [], "outcome": outcome}
    steps = tuple({"chosen": 0, "candidates": list(step)} for step in steps)
    return [(each.sentence, each.steps) for each in diagnosis(Recorded("made", 1, {**texts, **head}, steps))]


def test_steps_on_which_nothing_looks_best_circles_shut_candidates_and_ties_are_counted():
    still = choice("(a x)", 1.0, (), (), "visited")
    go = choice("(a y)", 2.0, ["(p y)"], (), "tied")
    back = choice("(a z)", 0.5, (), ["(p y)"], "tied")
    sentence, steps = told([go, still], [back, still], [go, still])[0]
    assert sentence.startswith("On 2 of 3 steps an action that changes nothing ranks first, such as '(a x)'")
    assert steps == (1, 3)
    found = told([go, still], [back, still], [go, still], about={"method": RandomWalk.key})
    assert (1, 3) not in [steps for _, steps in found], "ranks that are random"
    go, back = choice("(a x)", 1.0, ["(q x)"]), choice("(a y)", 1.0, (), ["(q x)"])
    assert told([go], [back], [go])[0] == ("2 of 3 steps lead back to a visited state", (2, 3))
    shut = [choice(f"(a {each})", cost, [f"(q {each})"], (), "visited") for each, cost in (("y", 0.1), ("z", 0.2))]
    open_ = choice("(a z)", 0.3, ["(far)"])
    sentence, steps = told([go, *shut], [open_])[0]
    assert sentence.startswith("On 1 of 2 steps all better-ranked successors had been visited")
    assert sentence.endswith("the median rank of the chosen one was 3")
    assert steps == (1,)


def test_ties_count_candidates_that_were_available_where_the_first_was_chosen():
    def counted(*steps):
        return [(sentence, steps) for sentence, steps in told(*steps) if "lowest cost" in sentence]

    open_ = choice("(a z)", 0.3, ["(far)"])
    tied = [choice(f"(a {each})", 1.0, [f"(q {each})"], (), "tied") for each in "xyz"]
    ((sentence, steps),) = counted(tied, [open_])
    assert "2 to 3 unvisited candidates" in sentence
    assert steps == (1,)
    tied[2]["marks"].append("collapsed")
    ((sentence, _),) = counted(tied, [open_])
    assert "two unvisited candidates" in sentence
    assert not counted([open_, *tied])


def test_the_card_says_why_an_action_of_the_experts_that_costs_as_much_was_not_chosen():
    def said(place, key, *marks):
        own, expert = choice("(a x)", 1.0, ["(q x)"], (), "tied"), choice("(a y)", 1.0, ["(q y)"], (), *marks)
        candidates = [{**own, "key": 0}, {**own, "key": 0, "actions": ["(a z)"], "cost": 2.0}]
        candidates.insert(place, {**expert, "key": key})
        texts = {"domain_pddl": COUNTED_DOMAIN, "problem_pddl": COUNTED_PROBLEM, "initial": [], "outcome": "horizon"}
        step = {"chosen": 1 - place, "candidates": candidates}
        return diagnosis(Recorded("made", 1, {**texts, "expert": ["(a y)", "(a x)"]}, (step,)))[-1].sentence

    assert "costs as much as the chosen one, which comes first" in said(1, 1, "tied")
    assert "cannot tell the expert's action from the chosen one, which comes first" in said(1, 0, "tied", "collapsed")
    assert said(1, 1, "visited").endswith("costs as much as the chosen one, but its state had been visited")
    assert said(0, 1, "tied").endswith("but the final path of the beam does not contain it")


def test_a_reason_comes_first_goals_given_up_or_never_held_are_named_and_leaving_the_expert():
    steps = (["(p x)"], ()), (["(p y)"], ()), (["(q x)"], ["(p x)"]), (["(p x)"], ["(p y)"]), ((), ["(p x)"])
    found = dict(told(*([choice(f"(a {'xyz'[n % 3]})", 1.0, *each)] for n, each in enumerate(steps))))
    assert found["On 3 of 5 steps a satisfied goal was undone, most often '(p x)' (2 times)"] == (3, 4, 5)
    assert found["1 of 3 goals was never satisfied: '(p z)'"] == (6,)
    assert found["The fewest open goals are 1 of 3, after step 2; at the end 3 are open"] == (2,)
    rejected = choice("(a x)", None, (), (), "rejected")
    found = told([choice("(a y)", 0.0, ["(q y)"]), rejected], outcome="refused", reason="no candidate: (a z)")
    assert found[0] == ("Reason of the end: no candidate: (a z)", (2,))
    found = told([choice("(a y)", 0.0, ["(q y)"]), rejected], outcome="horizon", reason="the limit of 1 decisions")
    assert found[-1] == ("Reason of the end: the limit of 1 decisions", (2,))
    assert not any("changes nothing" in sentence for sentence, _ in found)
    never = "3 of 3 goals were never satisfied: '(p x)', '(p y)', '(p z)'"
    assert told([rejected, rejected])[1:] == [(never, (2,))]
    expert = ["(a x)", "(a y)"]
    first = [choice("(a x)", 1.0, ["(q x)"])]
    second = [choice("(a z)", 1.0, ["(q z)"]), choice("(a x)", 2.0, ["(far)"]), choice("(a y)", 3.0, ["(q y)"])]
    words = "The rollout leaves the expert's plan at step 2; the expert's action has rank 3 of 3 there"
    assert told(first, second, expert=expert)[-1] == (words, (2,))
    second[2]["cost"] = 0.5
    sentence, _ = told(first, second, expert=expert)[-1]
    why = "the final path of the beam does not contain it"
    assert sentence.endswith(f"1 of 3 there; it costs less than the chosen one, but {why}")
    second[2]["marks"].append("visited")
    assert told(first, second, expert=expert)[-1][0].endswith("but its state had been visited")
    found = told(first, second[:2], expert=expert)
    assert found[-1][0].endswith("the expert's action is not among the candidates")
    assert not any("expert" in sentence for sentence, _ in told(first, expert=expert))


def test_the_failure_on_logistics_is_what_the_file_says():
    """The count reads the file line by line, without the classes that read records."""
    name = "logistics-state-centric-wl-xgboost-delta-*-horizon"
    _, *steps = map(json.loads, recorded_lines(name))
    idle = []
    for number, step in enumerate(steps, start=1):
        costs = [each["cost"] for each in step["candidates"] if each["cost"] is not None]
        least = [each for each in step["candidates"] if each["cost"] is not None and each["cost"] <= min(costs) + 1e-9]
        if any(not each["add"] and not each["delete"] for each in least):
            idle.append(number)
    first, *_ = diagnosis(*read_recorded(recorded_file(name)))
    assert first.sentence.startswith(f"On {len(idle)} of {len(steps)} steps an action that changes nothing ranks first")
    assert first.steps == tuple(idle)
    assert "drive" in first.sentence


def test_a_damaged_record_is_refused():
    with pytest.raises(StoreError, match="not a record of a rollout"):
        told([{"actions": ["(a x)"]}])
    with pytest.raises(StoreError, match="made, line 1: not a record of a rollout"):
        sgp.analysis.failure_of(Recorded("made", 1, {"outcome": "horizon"}, ()))


def test_a_planner_is_diagnosed_by_smaller_and_larger_problems():
    shares = dict.fromkeys(DIAGNOSED, (0.9, 0.25))
    rows = [
        {"metric": metric, "split": split, "size": size, "value": value + shift}
        for metric, pair in shares.items()
        for split, value in zip(("small", "large"), pair, strict=True)
        for size, shift in ((None, 0.05), (None, -0.05), (7, 5.0))
    ]
    found = diagnose_splits(pd.DataFrame(rows), "small", "large")
    assert found.shares == {metric: pytest.approx(pair) for metric, pair in shares.items()}
    assert "25 %" in found.sentence
    assert "75 %" in found.sentence
    assert diagnose_splits(pd.DataFrame(rows[:-6]), "small", "large") is None


def test_the_headline_is_the_rank_of_the_experts_action_where_it_is_low():
    def failed(place):
        costs = {1: [{**candidate(f"(b {n})", 3, 3), "cost": float(n)} for n in range(4)]}
        made = rollout("horizon", [3, 3, 3], [f"(b {place})", "(b 1)"], costs)
        for step in made.steps:
            step["candidates"][0]["cost"] = 0.5
        return headline(made, sgp.analysis.failure_of(made))

    assert failed(3) == ("the expert's action has rank 5 of 5", (1,))
    assert failed(0) == Finding(FailureKind.NEVER_BETTER, 1)
