"""Best-first search with a policy, against a plain search of the same order."""

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.planning import best_first
from sgp.planning.best_first import BestFirst, open_goals
from sgp.planning.lookahead import Lookahead
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import REPLACE, Ranking, one_step
from sgp.planning.rollout import Mark, Outcome
from sgp.planning.task import Candidates, Task, count_open_goals, replay
from sgp.policies.decoding import JumpDecoding
from tests.planning.test_dead_ends import box
from tests.planning.test_planner import Last, said
from tests.planning.test_strategies import UNSURE, Fixed
from tests.sampling import walked

TRACK = sgp.load_suite("track")


class Arbitrary:
    """Costs by a hash of the successor state; some are infinite."""

    rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [
            Ranking(np.array([cost(node.task, each.state) for each in choice]))
            for node, choice in zip(nodes, choices, strict=True)
        ]


def cost(task, state):
    atoms = " ".join(map(str, task.atoms(state)))
    number = int.from_bytes(hashlib.sha256(atoms.encode()).digest()[:4], "little")
    return math.inf if number % 7 == 0 else number % 1000 / 200


def plain(task, successors, weight, prune, children, most):
    """Oracle: the number of expanded nodes and the actions of the path, with a sorted list of open nodes."""
    waiting, reached, expanded = [(0.0, 0, 0.0, task.init, ())], {task.init}, 0
    while waiting and expanded < most:
        waiting.sort(key=lambda entry: entry[:2])
        _, _, loss, state, path = waiting.pop(0)
        if prune and task.is_dead_end(state):
            continue
        expanded += 1
        choice = [(cost(task, each.state), each) for each in successors(task, state)]
        for paid, each in choice:
            if task.is_goal(each.state) and paid < math.inf:
                return expanded, (*path, *each.actions)
        total = math.log(sum(math.exp(-paid) for paid, _ in choice) or 1)
        entries = []
        for paid, each in choice:
            if paid < math.inf and each.state not in reached:
                own = loss + paid + total
                entries.append((own + weight * count_open_goals(task, each.state), own, each))
        for value, own, each in sorted(entries, key=lambda entry: entry[0])[:children]:
            if each.state not in reached:
                reached.add(each.state)
                waiting.append((value, len(reached), own, each.state, (*path, *each.actions)))
    return expanded, ()


@pytest.mark.parametrize(("weight", "children"), [(0.0, 64), (0.5, 64), (5.0, 3)])
@pytest.mark.parametrize("domain", ["floortile", "blocksworld", "spanner"])
def test_nodes_are_expanded_in_the_order_of_a_plain_search(domain, weight, children, monkeypatch):
    monkeypatch.setattr(best_first, "MOST_CHILDREN", children)
    found, prune = 0, domain != "spanner"
    for problem in TRACK.problems(domain, "train")[:12:3]:
        for successors in (one_step, Lookahead()):
            task = Task(problem)
            planner = Planner(Arbitrary(), successors, prune_dead_ends=prune)
            rollout = BestFirst(weight).search(planner, task, Limit(decisions=40))
            expanded, path = plain(task, successors, weight, prune, children, 40)
            assert (rollout.decisions, rollout.plan) == (expanded, path)
            assert rollout.solved == bool(path)
            if rollout.solved:
                assert task.is_goal(replay(task, rollout.plan)[-1])
            found += rollout.solved
    assert found


@pytest.mark.parametrize("domain", TRACK.domains)
def test_open_goals_of_candidates_are_those_of_their_states(domain):
    task = Task(TRACK.problems(domain, "train")[4])
    for state in walked(task, 6, 1):
        choice = Candidates.of(task, state, Lookahead()(task, state))
        assert open_goals(task, state, choice).tolist() == [count_open_goals(task, each.state) for each in choice]


@pytest.fixture
def glue():
    """A task where the wrong one of two actions ends in a dead end."""
    return box()[0]


def searching(policy, **settings):
    return Planner(policy, fallbacks=(BestFirst(5.0),), **settings)


def test_an_unsolved_problem_is_solved_and_its_steps_are_forced(glue):
    rollout, first = searching(UNSURE).solve(glue), Planner(UNSURE).solve(glue)
    assert not first.solved
    assert (rollout.solved, rollout.reason) == (True, "solved by best-first search")
    assert glue.is_goal(replay(glue, rollout.plan)[-1])
    assert all(Mark.FORCED in Mark(int(step.marks[0])) and len(step.candidates) == 1 for step in rollout.steps)
    assert rollout.decisions == first.decisions + BestFirst(5.0).search(Planner(UNSURE), glue, Limit()).decisions


def test_a_dead_end_is_not_expanded(glue):
    planner = Planner(Last())
    careless = BestFirst(0.0).search(planner, glue, Limit(decisions=100))
    wary = BestFirst(0.0).search(replace(planner, prune_dead_ends=True), glue, Limit(decisions=100))
    assert said(careless.plan) == said(wary.plan) == "(fix a) (close a)"
    assert wary.decisions == 2 < careless.decisions


def test_what_no_path_leads_to_is_not_found_and_the_first_rollout_is_returned(glue):
    hopeless = Fixed({"(fix b)": 0.0})  # the only action that helps is rejected
    first, rollout = Planner(hopeless).solve(glue), searching(hopeless).solve(glue)
    assert (rollout.outcome, rollout.plan) == (first.outcome, first.plan)
    assert searching(Fixed({}, "it is too large")).solve(glue).outcome is Outcome.REFUSED


def test_limits_hold(monkeypatch):
    task = Task(TRACK.problems("blocksworld", "train")[20])
    planner, never = Planner(Arbitrary()), BestFirst(0.0)
    monkeypatch.setattr(Task, "is_goal", lambda *_: False)
    monkeypatch.setattr(best_first.Pool, "find_goal", lambda *_: None)
    limited = never.search(planner, task, Limit(decisions=7))
    assert (limited.outcome, limited.decisions) == (Outcome.HORIZON, 7)
    assert never.search(planner, task, Limit(seconds=0.1)).outcome is Outcome.TIMEOUT
    assert never.search(planner, task, Limit(seconds=60, memory=1)).outcome is Outcome.MEMORY
    monkeypatch.setattr(best_first, "MOST_EXPANDED", 9)
    assert never.search(planner, task, Limit()).decisions == 9
    near = never.search(planner, task, Limit(actions=1))
    assert (near.outcome, near.decisions) == (Outcome.STUCK, 1 + len(set(closer(task))))


def test_a_plan_is_not_longer_than_the_limit(glue):
    for most, solved in ((1, False), (2, True)):
        rollout = BestFirst(0.0).search(Planner(UNSURE), glue, Limit(actions=most))
        assert (rollout.solved, len(rollout.plan)) == (solved, 2 * solved)


def closer(task):
    """The distinct states one action away that the policy does not reject."""
    return [each.state for each in task.successors(task.init) if cost(task, each.state) < math.inf]


def test_a_decoding_has_a_best_first_search(quick_run):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    planner = sgp.load_planner(run.folder, "best-first")
    assert planner.fallbacks == (BestFirst(5.0),)
    assert planner.prune_dead_ends
    assert JumpDecoding(best_first=2.0).alone == replace(JumpDecoding(), best_first=0.0)
    with pytest.raises(ConfigurationError, match="best_first is -1; expected at least 0"):
        JumpDecoding(best_first=-1)
    for weight in (-1.0, math.inf, math.nan):
        with pytest.raises(ConfigurationError, match=r"weight of an open goal is .*; expected a number from 0"):
            BestFirst(weight)
