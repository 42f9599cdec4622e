from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.planning.policy import REPLACE, Node, one_step
from sgp.planning.task import Task
from sgp.policies.jump_decoding import JumpDecoding
from sgp.policies.stagnation import (
    SCHEMA_DRAW_PERIOD,
    STAGNATION_COST,
    Progress,
    progress_of_candidates,
    sample_with_gumbel,
    stagnant_candidates,
    update_progress,
)
from tests.conftest import QUICK_OF, blocks_problem

ATOMS = "(ontable a) (ontable b) (ontable c) (clear a) (clear b) (clear c)"


def blocks():
    return Task(blocks_problem("a b c", ATOMS, "(on a b) (on b c)"))


def walked(task, names, patience):
    """Return the node after the actions of these names, and its progress."""
    node = Node(task, task.init)
    progress = update_progress(node, patience)
    for name in names:
        (found,) = [each for each in one_step(task, node.state) if str(each.actions[0]) == name]
        node = Node(task, found.state, memory=progress)
        progress = update_progress(node, patience)
    return node, progress


def test_progress_counts_decisions_since_the_fewest_open_goals():
    task = blocks()
    assert walked(task, [], 1)[1] == Progress(2)
    assert walked(task, ["(pick-up a)", "(put-down a)"], 1)[1] == Progress(2, 2)
    assert walked(task, ["(pick-up a)", "(put-down a)", "(pick-up b)", "(stack b c)"], 1)[1] == Progress(1)


def test_a_path_has_stalled_after_its_patience_and_remembers_what_held_since():
    task = blocks()
    there_and_back = ["(pick-up a)", "(put-down a)"] * 2
    node, progress = walked(task, there_and_back[:3], 1)
    assert (progress.since, progress.held) == (3, frozenset()), "three objects, patience for three decisions"
    node, progress = walked(task, there_and_back, 1)
    assert progress.held == set(task.fluents(node.state))
    assert walked(task, there_and_back, 2)[1].held == frozenset()


def test_candidates_of_a_stalled_path_are_stale_without_a_new_atom():
    task = blocks()
    node, progress = walked(task, [*["(pick-up a)", "(put-down a)"] * 2, "(pick-up a)", "(put-down a)"], 1)
    choice = one_step(task, node.state)
    kept, found = stagnant_candidates(progress, node, choice)
    assert kept is progress
    assert {str(each.actions[0]): bool(old) for each, old in zip(choice, found, strict=True)} == {
        "(pick-up a)": True,
        "(pick-up b)": False,
        "(pick-up c)": False,
    }


def test_where_every_candidate_is_stale_none_is_and_what_held_is_forgotten():
    task = blocks()
    node, _ = walked(task, [], 1)
    choice = one_step(task, node.state)
    everything = frozenset(range(1000))
    kept, found = stagnant_candidates(Progress(2, 9, everything), node, choice)
    assert not found.any()
    assert kept == Progress(2, 9, frozenset(task.fluents(node.state)))


def test_more_of_the_goal_is_never_stale():
    task = blocks()
    node, _ = walked(task, ["(pick-up b)"], 1)
    choice = one_step(task, node.state)
    everything = Progress(2, 9, frozenset(range(1000)))
    names = [str(each.actions[0]) for each in choice]
    assert [
        name for name, old in zip(names, stagnant_candidates(everything, node, choice)[1], strict=True) if not old
    ] == ["(stack b c)"]


def test_the_default_has_all_patience_and_a_decoding_can_lose_it(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    run = quick_run("contrastive-jumps", "blocksworld")
    default, persistent = (sgp.load_planner(run.folder, name) for name in ("default", "persistent"))
    assert (default.policy.patience, persistent.policy.patience) == (0, 2)
    problem = sgp.load_suite("state-centric").problems("blocksworld", "validation")[0]
    assert default.solve(Task(problem)).plan == persistent.solve(Task(problem)).plan, "where no path stalls"
    task = blocks()
    node, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 4, 1)
    choice = one_step(task, node.state)
    stalled = replace(node, memory=progress)
    policy = replace(default.policy, rules=replace(default.policy.rules, additive=False))
    (plain,), (new,) = (replace(policy, patience=each).rank([stalled], [choice]) for each in (0, 1))
    assert (new.costs - plain.costs).tolist() == pytest.approx([STAGNATION_COST, 0.0, 0.0])
    assert plain.memories is None


def test_a_path_that_stalled_draws_until_there_is_progress(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    run = quick_run("contrastive-jumps", "blocksworld")
    greedy, escaping = (sgp.load_planner(run.folder, name) for name in ("greedy", "escaping+escape=50+seed=5"))
    problem = sgp.load_suite("state-centric").problems("blocksworld", "validation")[0]
    assert greedy.solve(Task(problem)).plan == escaping.solve(Task(problem)).plan, "where no path stalls"
    task = blocks()
    node, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 2, 0)
    choice = one_step(task, node.state)
    found = {}
    for denied in (3, 4):
        at = replace(node, memory=progress._replace(denied=denied))
        for seed in (5, 6):
            (plain,), (drawn,) = (
                replace(escaping.policy, escape=escape, seed=seed).rank([at], [choice]) for escape in (0, 3)
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
    _, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 40, 0)
    assert (progress.since, progress.denied) == (80, 0)
    node = Node(task, task.init, memory=Progress(3, 9, denied=5))
    assert update_progress(node, 0) == Progress(2), "progress forgives"


def test_candidates_are_drawn_by_their_softmax_and_now_and_then_their_schema_first():
    task = blocks()
    node, progress = walked(task, ["(pick-up a)", "(put-down a)"] * 2 + ["(pick-up a)"], 0)
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
    assert (own.policy.escape, own.width) == (10, 1)
    assert (beam.policy.escape, beam.width) == (10, 2)
    assert (default.policy.escape, default.width) == (0, 1)


def test_a_patience_below_none_is_refused():
    with pytest.raises(ConfigurationError, match="escape is -1; expected at least 0"):
        JumpDecoding(escape=-1)
    with pytest.raises(ConfigurationError, match="patience is -1; expected at least 0"):
        JumpDecoding(patience=-1)
