from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.planning.policy import REPLACE, Node, one_step
from sgp.planning.task import Task
from sgp.policies.stagnation import (
    SCHEMA_DRAW_PERIOD,
    Progress,
    progress_of_candidates,
    sample_with_gumbel,
    update_progress,
)
from tests.conftest import QUICK_OF, blocks_problem

ATOMS = "(ontable a) (ontable b) (ontable c) (clear a) (clear b) (clear c)"


def blocks():
    return Task(blocks_problem("a b c", ATOMS, "(on a b) (on b c)"))


def walked(task, names):
    """Return the node after the actions of these names, and its progress."""
    node = Node(task, task.init)
    progress = update_progress(node)
    for name in names:
        (found,) = [each for each in one_step(task, node.state) if str(each.actions[0]) == name]
        node = Node(task, found.state, memory=progress)
        progress = update_progress(node)
    return node, progress


def test_progress_counts_decisions_since_the_fewest_open_goals():
    task = blocks()
    assert walked(task, [])[1] == Progress(2)
    assert walked(task, ["(pick-up a)", "(put-down a)"])[1] == Progress(2, 2)
    assert walked(task, ["(pick-up a)", "(put-down a)", "(pick-up b)", "(stack b c)"])[1] == Progress(1)


def test_a_path_that_stalled_draws_until_there_is_progress(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    run = quick_run("contrastive-jumps", "blocksworld")
    greedy, escaping = (sgp.load_planner(run.folder, name) for name in ("greedy", "escaping+noise_after=50+seed=5"))
    problem = sgp.load_suite("state-centric").problems("blocksworld", "validation")[0]
    assert greedy.solve(Task(problem)).plan == escaping.solve(Task(problem)).plan, "where no path stalls"
    task = blocks()
    node, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 2)
    choice = one_step(task, node.state)
    found = {}
    for denied in (3, 4):
        at = replace(node, memory=progress._replace(denied=denied))
        for seed in (5, 6):
            (plain,), (drawn,) = (
                replace(escaping.policy, noise_after=noise_after, seed=seed).rank([at], [choice])
                for noise_after in (0, 3)
            )
            found[denied, seed] = (drawn.costs - plain.costs).tolist()
            least = plain.costs == plain.costs.min()
            assert [each.denied for each in drawn.memories] == np.where(least, denied, denied + 1).tolist()
            assert {each.since for each in drawn.memories} == {progress.since + 1}
    assert found[3, 5] == found[3, 6] == [0.0] * len(choice), "no decision too early"
    assert 0.0 not in found[4, 5]
    assert found[4, 5] != found[4, 6]


def test_a_path_that_gets_what_it_wants_is_not_denied_however_long_it_is():
    costs = np.array([0.0, 1.0, 1e-12])
    kept, denied, tied = progress_of_candidates(Progress(3, 7, denied=2), costs, REPLACE.tie)
    assert (kept.denied, denied.denied, tied.denied) == (2, 3, 2)
    assert progress_of_candidates(Progress(1), np.empty(0), 0.0) == []
    task = blocks()
    _, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 40)
    assert (progress.since, progress.denied) == (80, 0)
    node = Node(task, task.init, memory=Progress(3, 9, denied=5))
    assert update_progress(node) == Progress(2), "progress forgives"


def test_candidates_are_drawn_by_their_softmax_and_now_and_then_their_schema_first():
    task = blocks()
    node, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 2 + ["(pick-up a)"])
    choice = one_step(task, node.state)
    assert [str(each.actions[0]) for each in choice] == ["(put-down a)", "(stack a b)", "(stack a c)"]
    costs = np.array([9.0, 0.0, 1.0])
    progress = progress._replace(denied=4)
    assert sample_with_gumbel(costs, progress, node, choice, 0, 0) is costs
    assert sample_with_gumbel(costs, progress, node, choice, 4, 0) is costs
    for since, share in (
        (SCHEMA_DRAW_PERIOD, 0.5),
        (SCHEMA_DRAW_PERIOD + 1, np.exp(-9) / (np.exp(-9) + 1 + np.exp(-1))),
    ):
        at = progress._replace(since=since)
        first = Counter(int(sample_with_gumbel(costs, at, node, choice, 3, seed).argmin()) for seed in range(4000))
        assert first[0] / 4000 == pytest.approx(share, abs=0.03)
        assert first[1] / (first[1] + first[2]) == pytest.approx(1 / (1 + np.exp(-1)), abs=0.03)


def test_a_run_plans_by_the_decoding_that_it_was_validated_by(home):
    settings = {**QUICK_OF["contrastive-jumps"], "decoding": "escaping"}
    run = sgp.train("contrastive-jumps", "blocksworld", "state-centric", overrides=settings)
    own, beam, default = (sgp.load_planner(run.folder, name) for name in ("default", "default+beam=2", "greedy"))
    assert (own.policy.noise_after, own.width) == (10, 1)
    assert (beam.policy.noise_after, beam.width) == (10, 2)
    assert (default.policy.noise_after, default.width) == (0, 1)
