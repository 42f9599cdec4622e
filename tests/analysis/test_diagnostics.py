"""Diagnostics of a planner at the decisions of an expert's plan: ranks, predictions, sensitivity to names."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import sgp
from sgp.analysis.diagnostics import diagnose, perfect_prediction
from sgp.datasets.generation import with_names
from sgp.errors import ConfigurationError, InputError
from sgp.evaluation.scores import DIAGNOSTICS, Measurement, to_frame
from sgp.planning.pddl import parse_plan
from sgp.planning.policy import ADD_UP, REPLACE, Ranking, Rules
from sgp.planning.task import Trajectory
from sgp.policies.nearest_embedding import NearestEmbedding
from sgp.reports.tables import diagnostics_table
from tests.conftest import blocks_problem
from tests.policies.test_policies import CountEncoder

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
    task = sgp.Task(blocks_problem("a b c d", on_table, "(on a b)"))
    return Trajectory.of(task, parse_plan("(pick-up a)\n(stack a b)"))


def test_ranks_are_worked_by_hand_and_the_policys_memory_follows_the_experts_path(towers):
    policy = ByAction({"(pick-up b)": 1.0, "(pick-up a)": 2.0, "(pick-up c)": 3.0, "(stack a b)": 1.0})
    first, second = sgp.analysis.decisions(sgp.Planner(policy), [towers])
    assert (first.rank, first.top1, first.top3, first.candidates, first.distinguishable) == (2, 0, 1, 4, 4)
    # Putting a down again is no candidate because the path visited that state; three blocks to stack a on remain.
    assert (second.step, second.rank, second.top1, second.candidates) == (1, 1, 1, 3)
    loop = parse_plan("(pick-up a)\n(put-down a)\n(pick-up a)\n(stack a b)")
    found = sgp.analysis.decisions(sgp.Planner(ByAction({})), [Trajectory.of(towers.task, loop)])
    assert [each.step for each in found] == [0, 1, 2, 3], "an expert's plan with a loop is followed"

    class Counting(ByAction):
        def rank(self, nodes, choices):
            seen.extend((node.memory, node.length) for node in nodes)
            return [
                replace(ranking, memories=[f"{node.length}:{each.actions[-1]}" for each in choice])
                for node, choice, ranking in zip(nodes, choices, super().rank(nodes, choices), strict=True)
            ]

    seen = []
    sgp.analysis.decisions(sgp.Planner(Counting({})), [towers])
    assert seen == [(None, 0), ("0:(pick-up a)", 1)]


def test_ties_share_their_ranks_and_what_is_indistinguishable_counts_once(towers):
    tied = ByAction({f"(pick-up {name})": 1.0 for name in "abcd"})
    first = sgp.analysis.decisions(sgp.Planner(tied), [towers])[0]
    assert (first.rank, first.top1, first.top3) == (2.5, 0.25, 0.75)
    alike = ByAction({"(pick-up b)": 0.5, "(pick-up c)": 0.5, "(pick-up a)": 1.0}, {"(pick-up b)": 7, "(pick-up c)": 7})
    first = sgp.analysis.decisions(sgp.Planner(alike), [towers])[0]
    assert (first.rank, first.candidates, first.distinguishable) == (2, 4, 3)
    with_expert = ByAction({"(pick-up d)": 2.0}, {f"(pick-up {name})": 7 for name in "abc"})
    first = sgp.analysis.decisions(sgp.Planner(with_expert), [towers])[0]
    assert (first.rank, first.distinguishable) == (2, 2)


@pytest.mark.slow
def test_a_perfect_prediction_solves_what_the_features_can_tell_apart(quick_run):
    planner = sgp.load_planner(quick_run("state-centric", "blocksworld"))
    expert = sgp.trajectories(SUITE, "blocksworld", "interpolation")
    assert list(perfect_prediction(planner, expert).values()) == [True] * 3
    blind = sgp.data.WLEncoder.fit(sgp.data.WLConfig(iterations=0), [(each.task, each.states) for each in expert])
    lost = perfect_prediction(replace(planner, policy=replace(planner.policy, encoder=blind)), expert)
    assert not all(lost.values()), "with atoms counted by predicate alone all blocks look the same"


def test_unseen_features_are_those_that_wlplan_does_not_know():
    """Oracle: with a vocabulary of their own, the same states have no unseen features."""
    small, large = (sgp.trajectories(SUITE, "blocksworld", split) for split in ("train", "validation"))
    config = sgp.data.WLConfig()
    own = sgp.data.WLEncoder.fit(config, [(each.task, each.states) for each in large])
    trained = sgp.data.WLEncoder.fit(config, [(each.task, each.states) for each in small])
    for each in large:
        assert np.allclose(own.unseen(each.task, each.states), 0.0)
        total = own.embed(each.task, each.states).sum(axis=1)
        known = trained.embed(each.task, each.states).sum(axis=1)
        assert np.allclose(trained.unseen(each.task, each.states), 1 - known / total)
    assert any((trained.unseen(each.task, each.states) > 0).any() for each in large)


@pytest.mark.parametrize("domain", ["gripper", "logistics", "visitall"])
def test_nothing_is_unseen_in_training_with_static_atoms_and_goals(domain):
    train = sgp.trajectories(SUITE, domain, "train")[:20]
    encoder = sgp.data.WLEncoder.fit(sgp.data.WLConfig(), [(each.task, each.states) for each in train])
    for each in train:
        assert np.allclose(encoder.unseen(each.task, each.states), 0.0)
        assert (encoder.without_static().unseen(each.task, each.states) >= 0).all()


def test_scores_of_all_metrics_with_sizes_and_a_table(quick_run):
    planner = sgp.load_planner(quick_run("state-centric", "blocksworld"))
    expert = sgp.trajectories(SUITE, "blocksworld", "train")
    scores = diagnose(planner, SUBJECT, expert)
    whole = {score.metric: score for score in scores if score.size is None}
    assert set(whole) == set(DIAGNOSTICS)
    assert (whole["expert_rank"].n, whole["perfect_coverage"].n) == (sum(map(len, expert)), 9)
    assert {score.size for score in scores if score.metric == "unseen"} == {None, 4, 6, 7}
    sheet = diagnostics_table(to_frame(scores))
    assert sheet.rows[0].words[:4] == ("m v seed 1", "blocksworld", "validation", str(sum(map(len, expert))))
    random = sgp.load_planner(quick_run("random-successor", "blocksworld"))
    with pytest.raises(InputError, match="policy is a RandomSuccessor, which predicts no embedding of a state"):
        perfect_prediction(random, expert)
    assert sgp.analysis.unseen_features(random, expert) is None
    missing = {"unseen", "perfect_coverage"}
    assert {score.metric for score in diagnose(random, SUBJECT, expert)} == set(DIAGNOSTICS) - missing


def test_what_is_unseen_of_transitions_is_counted_at_the_decisions_of_the_planner(quick_run):
    planner = sgp.load_planner(quick_run("contrastive-jumps", "blocksworld"))
    small, large = (sgp.trajectories(SUITE, "blocksworld", split) for split in ("train", "validation"))
    assert all(share < 0.2 for share in sgp.analysis.unseen_features(planner, small).values())
    for each in large:
        task, states, encoder = each.task, each.states, planner.policy.encoder
        by_hand = [encoder.unseen(task, state, planner.successors(task, state)) for state in states[:-1]]
        assert sgp.analysis.unseen_features(planner, [each]) == {task.problem.sha256: pytest.approx(np.mean(by_hand))}
    assert any(share > 0 for share in sgp.analysis.unseen_features(planner, large).values())
    assert "unseen" in {score.metric for score in diagnose(planner, SUBJECT, large)}


def constant(*predicted, metric="euclidean"):
    return NearestEmbedding(
        CountEncoder("ontable", "clear"),
        lambda states, goals, carried: (np.array([predicted] * len(states), np.float32), carried),
        metric,
    )


@pytest.fixture
def held():
    """Three blocks on the table and a fourth on one of them; one of the other two is stacked on the other."""
    facts = "(ontable a) (ontable b) (ontable c) (clear a) (clear b) (on d c) (clear d)"
    task = sgp.Task(blocks_problem("a b c d", facts, "(on a b)"))
    return Trajectory.of(task, parse_plan("(pick-up a)\n(stack a b)"))


def test_distances_of_predictions_are_worked_by_hand(held):
    # The initial vector is [3, 3]. Picking up a or b leads to [2, 2], taking d from c to [3, 3].
    first, second = sgp.analysis.predictions(sgp.Planner(constant(2.0, 5.0)), [held])
    assert (first.before, first.action, second.before, second.action) == ("", "pick-up", "pick-up", "stack")
    found = (first.change, first.predicted_change, first.error, first.gap)
    # Picking up b has the same vector and is no rival.
    assert found == pytest.approx((math.sqrt(2), math.sqrt(5), 3, math.sqrt(2)))
    # Holding a at [2, 2]: stacking a anywhere keeps the vector; putting a down returns to the start.
    assert (second.step, second.change, second.gap) == (1, 0, math.inf)
    assert (first.sure, second.sure) == (False, True)
    near, far = (
        sgp.analysis.predictions(sgp.Planner(constant(each, each, metric="cosine")), [held]) for each in (2.0, 16.0)
    )
    assert near == far, "angles do not know lengths"
    assert near[0].error == pytest.approx(0)


def test_a_sure_prediction_is_ranked_first_and_what_the_policy_refuses_is_not_solved(quick_run):
    expert = sgp.trajectories(sgp.load_suite("state-centric"), "blocksworld", "interpolation")
    planner = sgp.load_planner(quick_run("state-centric", "blocksworld"))
    pairs = [*zip(sgp.analysis.predictions(planner, expert), sgp.analysis.decisions(planner, expert), strict=True)]
    assert [(one.problem, one.step) for one, _ in pairs] == [(two.problem, two.step) for _, two in pairs]
    assert any(one.sure for one, _ in pairs)
    assert all(two.top1 == 1 for one, two in pairs if one.sure)
    planner = sgp.load_planner(quick_run("state-centric", "gripper", "fsf-xgboost-delta"))
    policy = replace(planner.policy, encoder=sgp.data.FSFEncoder(sgp.get_domain("gripper"), 9))
    expert = sgp.trajectories(SUITE, "gripper", "interpolation")  # 7, 9 and 11 objects
    assert sum(perfect_prediction(replace(planner, policy=policy), expert).values()) <= 2
    small = sgp.data.FSFEncoder(sgp.get_domain("gripper"), 5)
    assert sgp.analysis.decisions(replace(planner, policy=replace(planner.policy, encoder=small)), expert) == []


@dataclass(frozen=True)
class ByName:
    """Policy that prefers the action whose text is first, i.e. depends on names alone."""

    rules = ADD_UP

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [Ranking(np.argsort(np.argsort([str(each.actions) for each in choice])) * 1.0) for choice in choices]


@pytest.mark.parametrize("method", ["contrastive-jumps", "state-centric", "nameless"])
@pytest.mark.parametrize("domain", ["gripper", "blocksworld"])
def test_methods_that_know_no_names_decide_the_same(method, domain, quick_run):
    run = quick_run(method, domain)
    # A lookahead prunes by the order in which atoms become novel, which depends on names.
    planner = sgp.load_planner(str(run.folder), "default+candidates=one-step" if "jumps" in method else "default")
    data = sgp.load_training_data(SUITE, domain)
    shares = sgp.analysis.name_sensitivity(planner, data.train[:3], renamings=4)
    assert len(shares) == sum(map(len, data.train[:3]))
    assert set(shares) == {0.0}


@pytest.mark.parametrize(
    ("method", "variant", "decoding"),
    [
        ("symt", "e", "lowest"),
        ("symt", "plangpt", "applicable"),
        ("symt", "plangpt", "ranked"),
        ("nameless", "random-names", "default"),
    ],
)
def test_what_can_tell_names_apart_is_found_out_before_it_has_learned_much(method, variant, decoding, quick_run):
    planner = sgp.load_planner(quick_run(method, "blocksworld", variant).folder, decoding)
    shares = sgp.analysis.name_sensitivity(
        planner, sgp.load_training_data(SUITE, "blocksworld").train[-1:], renamings=3
    )
    assert 0 < np.mean(shares) <= 1


def test_a_policy_that_looks_at_names_is_found_out_and_interchangeable_objects_are_no_other_decision():
    train = sgp.load_training_data(SUITE, "blocksworld").train
    assert np.mean(sgp.analysis.name_sensitivity(sgp.Planner(ByName()), train[-2:], renamings=5)) > 0.1
    together = sgp.analysis.name_sensitivity(sgp.Planner(ByName()), train[:2], renamings=3)
    assert together[len(train[0]) :] == sgp.analysis.name_sensitivity(sgp.Planner(ByName()), train[1:2], renamings=3)
    with pytest.raises(ConfigurationError, match="renamings is 0; expected at least 1"):
        sgp.analysis.name_sensitivity(sgp.Planner(ByName()), train[:1], renamings=0)
    # At first all balls are interchangeable: which one is picked is no decision; moving or picking is.
    data = sgp.load_training_data(SUITE, "gripper")

    class Picks(ByName):
        def rank(self, nodes, choices):
            found = super().rank(nodes, choices)
            for ranking, choice in zip(found, choices, strict=True):
                ranking.costs[[each.actions[0].name != "pick" for each in choice]] += 1000
            return found

    shares = sgp.analysis.name_sensitivity(sgp.Planner(Picks()), data.train[1:2], renamings=6)
    assert shares[0] == 0.0


def test_a_renamed_problem_is_the_same_problem():
    task = sgp.Task(SUITE.problems("logistics", "train")[0])
    names = {thing.name: f"{thing.name}-other" for thing in task.text.objects}
    other = sgp.Task(with_names(task, names, range(len(names))[::-1]))
    assert [thing.name for thing in other.text.objects] == [f"{each.name}-other" for each in task.text.objects][::-1]
    assert len(other.successors(other.init)) == len(task.successors(task.init))
    again = sgp.Task(with_names(other, {new: old for old, new in names.items()}, range(len(names))[::-1]))
    assert set(again.atoms(again.init)) == set(task.atoms(task.init))


@pytest.mark.slow
def test_diagnose_measures_name_sensitivity_where_it_is_requested(quick_run):
    run = quick_run("symt", "blocksworld")
    assert sgp.load_planner(run).policy.rules.additive
    plain = sgp.diagnose([run.folder], "state-centric", ["validation"])
    assert "name_sensitivity" not in set(plain["metric"])
    decodings = ["ranked", "regrounding"]
    scores = sgp.diagnose([run.folder], "state-centric", ["validation"], decodings=decodings, renamings=2)
    found = scores[scores.metric == "name_sensitivity"]
    assert set(found.decoding) == set(decodings)
    assert found.value.between(0, 1, inclusive="right").all()
    assert set(found["n"]) == {sum(map(len, sgp.load_training_data(SUITE, "blocksworld").validation))}
