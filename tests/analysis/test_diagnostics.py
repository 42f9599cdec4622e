from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import sgp
from sgp.analysis.diagnostics import (
    decisions,
    diagnose,
    perfect_prediction,
    unseen_features,
)
from sgp.datasets.training_data import trajectories
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import InputError
from sgp.evaluation.scores import DIAGNOSTICS, Measurement, to_frame
from sgp.methods.loading import load_planner
from sgp.planning.pddl import parse_plan
from sgp.planning.planner import Planner
from sgp.planning.policy import REPLACE, Ranking, Rules
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.reports.tables import diagnostics_table
from tests.conftest import blocks_problem

SUITE = sgp.load_suite("state-centric")
SUBJECT = Measurement(method="m", variant="v", domain="blocksworld", suite="s", split="validation", seed=1)


@dataclass(frozen=True)
class ByAction:
    """Policy whose costs depend on the text of the last action; equal `groups` cannot be told apart."""

    costs: dict[str, float]
    groups: dict[str, int] | None = None
    rules: Rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        named = [[str(each.actions[-1]) for each in choice] for choice in choices]
        return [
            Ranking(
                np.array([self.costs.get(name, 9.0) for name in names]),
                None if self.groups is None else [self.groups.get(name, name) for name in names],
            )
            for names in named
        ]


@pytest.fixture
def towers():
    """Four blocks on the table; two of them are stacked: pick-up a, stack a b."""
    on_table = " ".join(f"(ontable {name}) (clear {name})" for name in "abcd")
    task = Task(blocks_problem("a b c d", on_table, "(on a b)"))
    return Trajectory.of(task, parse_plan("(pick-up a)\n(stack a b)"))


def test_ranks_are_worked_by_hand(towers):
    policy = ByAction({"(pick-up b)": 1.0, "(pick-up a)": 2.0, "(pick-up c)": 3.0, "(stack a b)": 1.0})
    first, second = decisions(Planner(policy), [towers])
    assert (first.rank, first.top1, first.top3, first.candidates, first.distinguishable) == (2, 0, 1, 4, 4)
    # Putting a down again is no candidate because the path visited that state; three blocks to stack a on remain.
    assert (second.step, second.rank, second.top1, second.candidates) == (1, 1, 1, 3)


def test_ties_share_their_ranks_and_what_is_indistinguishable_counts_once(towers):
    tied = ByAction({f"(pick-up {name})": 1.0 for name in "abcd"})
    first = decisions(Planner(tied), [towers])[0]
    assert (first.rank, first.top1, first.top3) == (2.5, 0.25, 0.75)
    alike = ByAction({"(pick-up b)": 0.5, "(pick-up c)": 0.5, "(pick-up a)": 1.0}, {"(pick-up b)": 7, "(pick-up c)": 7})
    first = decisions(Planner(alike), [towers])[0]
    assert (first.rank, first.candidates, first.distinguishable) == (2, 4, 3)
    with_expert = ByAction({"(pick-up d)": 2.0}, {f"(pick-up {name})": 7 for name in "abc"})
    first = decisions(Planner(with_expert), [towers])[0]
    assert (first.rank, first.distinguishable) == (2, 2)


def test_the_policys_memory_follows_the_experts_path(towers):
    class Counting(ByAction):
        def rank(self, nodes, choices):
            seen.extend((node.memory, node.length) for node in nodes)
            return [
                replace(ranking, memories=[f"{node.length}:{each.actions[-1]}" for each in choice])
                for node, choice, ranking in zip(nodes, choices, super().rank(nodes, choices), strict=True)
            ]

    seen = []
    decisions(Planner(Counting({})), [towers])
    assert seen == [(None, 0), ("0:(pick-up a)", 1)]


def test_an_experts_plan_with_a_loop_is_followed(towers):
    loop = parse_plan("(pick-up a)\n(put-down a)\n(pick-up a)\n(stack a b)")
    found = decisions(Planner(ByAction({})), [Trajectory.of(towers.task, loop)])
    assert [each.step for each in found] == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_perfect_prediction_solves_what_the_features_can_tell_apart(quick_run):
    planner = load_planner(quick_run("state-centric", "blocksworld"))
    expert = trajectories(SUITE, "blocksworld", "interpolation")
    assert list(perfect_prediction(planner, expert).values()) == [True] * 3
    blind = WLEncoder.fit(WLConfig(iterations=0), [(each.task, each.states) for each in expert])
    lost = perfect_prediction(replace(planner, policy=replace(planner.policy, encoder=blind)), expert)
    assert not all(lost.values()), "with atoms counted by predicate alone all blocks look the same"


def test_unseen_features_are_those_that_wlplan_does_not_know():
    """Oracle: with a vocabulary of their own, the same states have no unseen features."""
    small, large = (trajectories(SUITE, "blocksworld", split) for split in ("train", "validation"))
    config = WLConfig()
    own = WLEncoder.fit(config, [(each.task, each.states) for each in large])
    trained = WLEncoder.fit(config, [(each.task, each.states) for each in small])
    for each in large:
        assert np.allclose(own.unseen(each.task, each.states), 0.0)
        total = own.embed(each.task, each.states).sum(axis=1)
        known = trained.embed(each.task, each.states).sum(axis=1)
        assert np.allclose(trained.unseen(each.task, each.states), 1 - known / total)
    assert any((trained.unseen(each.task, each.states) > 0).any() for each in large)


@pytest.mark.parametrize("domain", ["gripper", "logistics", "visitall"])
def test_nothing_is_unseen_in_training_with_static_atoms_and_goals(domain):
    train = trajectories(SUITE, domain, "train")[:20]
    encoder = WLEncoder.fit(WLConfig(), [(each.task, each.states) for each in train])
    for each in train:
        assert np.allclose(encoder.unseen(each.task, each.states), 0.0)
        assert (encoder.without_static().unseen(each.task, each.states) >= 0).all()


def test_scores_of_all_metrics_with_sizes_and_a_table(quick_run):
    planner = load_planner(quick_run("state-centric", "blocksworld"))
    expert = trajectories(SUITE, "blocksworld", "train")
    scores = diagnose(planner, SUBJECT, expert)
    whole = {score.metric: score for score in scores if score.size is None}
    assert set(whole) == set(DIAGNOSTICS)
    assert whole["expert_rank"].count == sum(map(len, expert))
    assert whole["perfect_coverage"].count == 9
    assert {score.size for score in scores if score.metric == "unseen"} == {None, 4, 6, 7}
    sheet = diagnostics_table(to_frame(scores))
    assert sheet.rows[0].words[:4] == ("m v seed 1", "blocksworld", "validation", str(sum(map(len, expert))))
    random = load_planner(quick_run("random-successor", "blocksworld"))
    with pytest.raises(InputError, match="policy is a RandomSuccessor, which predicts no embedding of a state"):
        perfect_prediction(random, expert)
    assert unseen_features(random, expert) is None
    assert {score.metric for score in diagnose(random, SUBJECT, expert)} == set(DIAGNOSTICS) - {
        "unseen",
        "perfect_coverage",
    }


def test_what_is_unseen_of_transitions_is_counted_at_the_decisions_of_the_planner(quick_run):
    planner = load_planner(quick_run("contrastive-jumps", "blocksworld"))
    small, large = (trajectories(SUITE, "blocksworld", split) for split in ("train", "validation"))
    assert all(share < 0.2 for share in unseen_features(planner, small).values())
    for each in large:
        task, states, encoder = each.task, each.states, planner.policy.encoder
        by_hand = [encoder.unseen(task, state, planner.successors(task, state)) for state in states[:-1]]
        assert unseen_features(planner, [each]) == {task.problem.sha256: pytest.approx(np.mean(by_hand))}
    assert any(share > 0 for share in unseen_features(planner, large).values())
    assert "unseen" in {score.metric for score in diagnose(planner, SUBJECT, large)}


def test_what_the_policy_refuses_is_not_solved(quick_run):
    from sgp.encoders.fsf import FSFEncoder

    planner = load_planner(quick_run("state-centric", "gripper", "fsf-xgboost-delta"))
    policy = replace(planner.policy, encoder=FSFEncoder(sgp.get_domain("gripper"), 9))
    expert = trajectories(SUITE, "gripper", "interpolation")  # 7, 9 and 11 objects
    assert sum(perfect_prediction(replace(planner, policy=policy), expert).values()) <= 2
    small = FSFEncoder(sgp.get_domain("gripper"), 5)
    assert decisions(replace(planner, policy=replace(planner.policy, encoder=small)), expert) == []
