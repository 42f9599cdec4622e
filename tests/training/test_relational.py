from __future__ import annotations

import numpy as np
import pytest
import torch

import sgp
from sgp.encoders.relations import RelationalEncoder
from sgp.errors import ConfigurationError, StoreError
from sgp.methods.gnn_value import costs_to_go
from sgp.models.relational import RelationalModel, RelationalShape
from sgp.training import relational
from sgp.training.relational import RelationalTraining, mean_error, predict, train_values

QUICK = RelationalTraining(epochs=4, learning_rate=0.01, batch=16)


@pytest.fixture(scope="module")
def data():
    return sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")


@pytest.fixture(scope="module")
def encoder(data):
    return RelationalEncoder(data.train[0].task.domain_text)


@pytest.fixture(scope="module")
def valued(data, encoder):
    return costs_to_go(encoder, data.train)


def network(encoder, seed=0):
    torch.manual_seed(seed)
    return RelationalModel(encoder.relations, RelationalShape(layers=2, hidden=8))


def epochs(encoder, valued, folder, after=0, seed=3, training="t", config=QUICK):
    return train_values(network(encoder), config, valued, valued, seed, "cpu", folder, training, after)


def same(one, two):
    return one.weights.keys() == two.weights.keys() and all(
        torch.equal(value, two.weights[name]) for name, value in one.weights.items()
    )


def test_targets_count_down_to_the_goal(data, valued):
    ends = np.cumsum([len(each) + 1 for each in data.train])
    assert len(valued.states) == len(valued.values) == ends[-1]
    assert valued.values[ends - 1].tolist() == [0.0] * len(data.train)
    assert valued.values[: ends[0]].tolist() == list(range(len(data.train[0]), -1, -1))


def test_the_loss_is_the_mean_absolute_error(encoder, valued):
    model = network(encoder)
    with torch.no_grad():
        for parameter in model.read_value.parameters():
            parameter.zero_()
        model.read_value._outer.bias.fill_(5.0)  # every state is at distance 5
    assert set(predict(model, valued.states, "cpu")) == {5.0}
    expected = np.mean([abs(left - 5.0) for length in (5, 11, 17, 23) for left in range(length + 1)])
    assert mean_error(model, valued, "cpu") == pytest.approx(expected)


@pytest.mark.slow
def test_training_lowers_the_loss(encoder, valued, tmp_path):
    config = RelationalTraining(epochs=40, learning_rate=0.01, batch=16)
    losses = [each.validation_loss for each in epochs(encoder, valued, tmp_path, config=config)]
    assert losses[-1] < 0.25 * losses[0]


def test_an_interrupted_training_goes_on_as_if_it_had_not_been(encoder, valued, tmp_path):
    whole = list(epochs(encoder, valued, tmp_path / "whole"))
    assert [each.number for each in whole] == [1, 2, 3, 4]
    running = epochs(encoder, valued, tmp_path / "cut")
    for _ in range(3):
        next(running)
    running.close()
    # Taken note of: three epochs; two, so that the third is given again; none.
    for after in (3, 2, 0):
        rest = list(epochs(encoder, valued, tmp_path / "cut", after))
        assert [each.number for each in rest] == list(range(after + 1, 5))
        for one, two in zip(rest, whole[after:], strict=True):
            assert same(one, two)
            assert (one.train_loss, one.validation_loss) == (two.train_loss, two.validation_loss)
        kept = sorted(path.name for path in (tmp_path / "cut").iterdir())
        assert kept == ["epoch3.safetensors", "epoch4.safetensors"]


def test_parts_change_no_gradient(encoder, valued, tmp_path, monkeypatch):
    (whole,) = epochs(encoder, valued, tmp_path / "a", config=RelationalTraining(epochs=1, batch=32))
    monkeypatch.setitem(relational.PART, "cpu", 40)
    (parts,) = epochs(encoder, valued, tmp_path / "b", config=RelationalTraining(epochs=1, batch=32))
    assert parts.train_loss == pytest.approx(whole.train_loss, rel=1e-5)
    for name, value in whole.weights.items():
        assert torch.allclose(value, parts.weights[name], atol=1e-5)


def test_the_seed_orders_the_batches_whatever_the_threads(encoder, valued, tmp_path):
    found = []
    for place, (seed, threads) in enumerate(((3, 1), (3, 2), (4, 1))):
        torch.set_num_threads(threads)
        found.append(list(epochs(encoder, valued, tmp_path / str(place), seed=seed))[-1])
        assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    assert same(found[0], found[1])
    assert not same(found[0], found[2])


def test_folders_of_other_trainings_and_damaged_ones_are_told(encoder, valued, tmp_path):
    list(epochs(encoder, valued, tmp_path))
    with pytest.raises(StoreError, match=r"is of another training; delete .* and train again"):
        next(epochs(encoder, valued, tmp_path, after=3, training="other"))
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(StoreError, match=r"holds no moment of this training; delete .* and train again"):
        next(epochs(encoder, valued, tmp_path, after=3))


def test_an_endless_loss_is_an_error(encoder, valued, tmp_path):
    config = RelationalTraining(epochs=3, learning_rate=1e30)
    with pytest.raises(ConfigurationError, match=r"epoch \d has train loss .* a lower learning_rate may give"):
        list(epochs(encoder, valued, tmp_path, config=config))


def test_the_settings_are_the_papers_and_are_checked():
    config = RelationalTraining()
    assert (config.epochs, config.learning_rate, config.clip, config.batch) == (100, 2e-4, 0.1, 1024)
    for field, value in (("epochs", 0), ("batch", 0), ("learning_rate", 0.0), ("clip", -1.0)):
        with pytest.raises(ConfigurationError, match=f"GNN {field} is {value}; expected"):
            RelationalTraining(**{field: value})
