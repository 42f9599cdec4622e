from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.methods.configuration import configure
from sgp.models.transformer import PlanTransformer, TransformerShape
from sgp.planning.state_space import StateSpace
from sgp.planning.task import replay
from sgp.policies.writing import DecoderInput, Writer
from sgp.training.two_views import (
    ExpertsPlan,
    OptimalPlans,
    TwoViews,
    _similar_lengths,
    draw,
    plan_lengths,
    plan_loss,
    sources,
    state_lengths,
)
from tests.conftest import QUICK_VIEWS

SUITE = sgp.load_suite("state-centric")
METHOD = sgp.get_method("symt")


@pytest.fixture(scope="module")
def data():
    return sgp.load_training_data(SUITE, "gripper")


def test_examples_are_optimal_plans_from_anywhere_and_all_of_them(data):
    (small,) = sources(data.train[:1], 100_000, goals=False)
    (small,) = sources(data.train[:1], 100_000, goals=False)
    assert isinstance(small, OptimalPlans)
    first = set()
    for example in draw([small], 400, np.random.default_rng(1)):
        assert len(example.plan) == small.space.distance([example.state])[0] > 0
        if example.state == example.task.init:
            assert example.task.is_goal(replay(example.task, example.plan)[-1])
            first.add(example.plan[0])
    task = small.space.task
    best = small.space.distance([task.init])[0] - 1
    right = {each.actions[0] for each in task.successors(task.init) if small.space.distance([each.state])[0] == best}
    assert first == right


def test_large_problems_give_their_experts_plan_and_batches_have_plans_of_like_lengths(data):
    (large,) = sources(data.train[-1:], 10, goals=True)
    assert isinstance(large, ExpertsPlan)
    found, plan = draw([large], 200, np.random.default_rng(1)), data.train[-1].actions
    assert all(example.plan == plan[len(plan) - len(example.plan) :] for example in found)
    assert {len(example.plan) for example in found} == set(range(len(plan) + 1))
    for goals in (True, False):
        found = draw(sources(data.train[:1], 100_000, goals), 300, np.random.default_rng(2))
        assert any(not example.plan for example in found) == goals
    drawn = draw(sources(data.train, 3000, goals=False), 50, np.random.default_rng(1))
    tokens = sgp.data.Tokens(sgp.data.Vocabulary(data.train[0].task.domain_text))
    of_states = _similar_lengths(drawn, state_lengths(tokens), 8, np.random.default_rng(2))
    assert all(len({len(each.task.objects) for each in batch}) <= 2 for batch in of_states)
    batches = _similar_lengths(drawn, plan_lengths(tokens), 8, np.random.default_rng(2))
    assert sorted(map(len, batches)) == [2, *[8] * 6]
    assert sorted(id(each) for batch in batches for each in batch) == sorted(map(id, drawn))
    spans = sorted((min(len(each.plan) for each in batch), max(len(each.plan) for each in batch)) for batch in batches)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    assert [len(batch[0].plan) for batch in batches] != sorted(len(batch[0].plan) for batch in batches)


def saved(checkpoint, folder):
    draft = SimpleNamespace(folder=folder, facts={}, device="cpu", keep_check=lambda *given: None)
    checkpoint.save(draft)
    return draft.facts


def test_a_run_records_how_many_problems_are_learned_from_experts_and_settings_are_checked_before(data, tmp_path):
    training = configure(METHOD, "ed", QUICK_VIEWS | {"training.space": "500"})[1]
    facts = saved(next(METHOD.checkpoints(training, data, tmp_path, 1, "cpu")), tmp_path)
    large = [each for each in data.train if StateSpace.expand(each.task, 500) is None]
    assert facts["experts_plans"] == len(large)
    assert 0 < len(large) < len(data.train)
    for variant, settings, words in (
        ("ed", {"kind": "heuristic"}, "decoding by regrounding conflicts with a heuristic; expected how best or low"),
        ("plangpt", {"positions": "60"}, "hardly any training example has a plan of at most 500 tokens that the model"),
        ("ed", {"names": "5"}, "objects to name, and the vocabulary 5 names; train with names="),
    ):
        training = configure(METHOD, variant, QUICK_VIEWS | settings)[1]
        with pytest.raises(ConfigurationError, match=words):
            next(METHOD.checkpoints(training, data, tmp_path / variant, 1, "cpu"))


def test_each_loss_changes_what_is_learned(data, tmp_path):
    quick = QUICK_VIEWS | {"training.warm_up": "0", "training.alone": "0", "training.ramp": "0"}
    changes = {"training.attention": "0", "training.hidden": "0", "training.rename": "one", "names": "64"}
    found = set()
    for number, settings in enumerate([{}, *({name: value} for name, value in changes.items())]):
        training = configure(METHOD, "ed", quick | settings)[1]
        found.add([each.loss for each in METHOD.checkpoints(training, data, tmp_path / str(number), 1, "cpu")][-1])
    assert len(found) == 5


@pytest.mark.slow
def test_the_loss_falls_with_training(data, tmp_path):
    quick = {
        **{"shape.layers": "2", "shape.hidden": "32", "shape.heads": "2", "names": "30", "training.batch": "16"},
        **{"training.epochs": "6", "training.steps": "15", "training.warm_up": "10", "training.alone": "0"},
        **{"training.learning_rate": "0.003", "training.compared": "16", "training.space": "3000"},
    }
    training = configure(METHOD, "ed", quick)[1]
    losses = [each.loss for each in METHOD.checkpoints(training, data, tmp_path, 1, "cpu")]
    assert losses[-1] < losses[0] - 0.2


def test_the_losses_count_when_copying_was_learned_and_the_rate_warms_up_and_falls():
    views = TwoViews(alone=10, ramp=20)
    shares = [views.share(step) for step in range(40)]
    assert np.allclose(shares, [*[0.0] * 9, *np.arange(21) / 20, *[1.0] * 10])
    assert TwoViews(alone=0, ramp=0).share(0) == 1.0
    views = TwoViews(epochs=10, steps=30, warm_up=100, learning_rate=3e-4)
    rates = [views.rate(step) for step in range(300)]
    assert rates[0] == pytest.approx(3e-6)
    assert max(rates) == rates[100] == rates[99] == pytest.approx(3e-4)
    assert rates[100:] == sorted(rates[100:], reverse=True)
    assert rates[-1] < 1e-6


def test_what_is_copied_is_told(data, tmp_path):
    """The share of correctly predicted names, against counting them one by one."""
    training = configure(METHOD, "ed", QUICK_VIEWS)[1]
    for checkpoint in METHOD.checkpoints(training, data, tmp_path, 1, "cpu"):
        assert 0 <= saved(checkpoint, tmp_path)["copied"] < 0.5
    tokens = sgp.data.Tokens(sgp.data.Vocabulary(data.train[0].task.domain_text, 30))
    example = sources(data.train[:1], 3000, goals=False)[0].draw(np.random.default_rng(1))
    naming = tokens.drawn_naming(example.task)
    model = PlanTransformer(len(tokens.vocabulary), tokens.vocabulary.arity, TransformerShape(2, 16, 2)).eval()
    found = plan_loss(model, tokens, "cpu")([(example, naming)] * 2, True)
    (begun,), right = Writer(model, "cpu").begin(tokens, [DecoderInput(example.task, example.state, naming)]), []
    row = tokens.named(tokens.actions(example.task, example.plan), naming).tolist()
    for token in row:
        right += [begun.logits.argmax() == token] if token >= tokens.vocabulary.first_name else []
        (begun,) = Writer(model, "cpu").write([begun], [[token]])
    assert float(found.copied) == pytest.approx(np.mean(right))
