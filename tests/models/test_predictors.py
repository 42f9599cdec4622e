"""Models that predict embeddings: boosted trees, recurrent networks, and the devices that they run on."""

import json

import numpy as np
import pytest
import torch
import xgboost

from sgp.errors import ConfigurationError, StoreError
from sgp.methods.state_centric import BoostedTrees, BoostingConfig, fit_boosted_trees
from sgp.models.device import choose_device
from sgp.training.recurrent import RecurrentModel
from sgp.training.trajectory_rows import LSTMShape


def data(rows=80, outputs=3, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 4, (rows, 5)).astype(np.float32)
    targets = np.stack([inputs[:, 0] - inputs[:, 1], inputs[:, 2] * 2, (inputs[:, 3] > 1) * 1.0], axis=1)
    return inputs, targets[:, :outputs].astype(np.float32)


@pytest.fixture(scope="module")
def trees():
    return fit_boosted_trees(BoostingConfig(depth=4, rounds=60), data(), data(seed=1), seed=0)[0]


def test_trees_learn_one_tree_a_round_and_column_and_the_first_rounds_are_a_shorter_training(trees, tmp_path):
    inputs, targets = data(seed=2)
    found = trees.predict(inputs)
    assert (found.shape, found.dtype) == (targets.shape, np.float32)
    assert np.abs(found - targets).mean() < 0.3
    dumped = trees._booster.get_dump()
    assert len(dumped) >= trees.rounds * 3
    assert trees.count_nodes() == sum(tree.count("leaf=") + tree.count("yes=") for tree in dumped[: trees.rounds * 3])
    (tmp_path / "model.ubj").write_bytes(b"{not a model")
    with pytest.raises(StoreError, match="is no model of XGBoost; train the run again"):
        BoostedTrees.load(tmp_path / "model.ubj", 1)
    shorter, _ = fit_boosted_trees(BoostingConfig(depth=4, rounds=7), data(), data(seed=1), seed=0)
    trees.after(7).save(tmp_path / "model.ubj")
    first = BoostedTrees.load(tmp_path / "model.ubj", 7)
    inputs, _ = data(seed=6)
    assert np.array_equal(first.predict(inputs), shorter.predict(inputs))
    assert first.count_nodes() == shorter.count_nodes()
    assert len(first._booster.get_dump()) == 7 * 3
    assert not np.array_equal(first.predict(inputs), trees.predict(inputs))


def test_training_stops_early_and_keeps_the_best_rounds():
    noise = np.random.default_rng(0).normal(size=(80, 2)).astype(np.float32)
    held_out = data(seed=1)[0], noise[::-1]
    stopped, errors = fit_boosted_trees(BoostingConfig(rounds=300, patience=3), (data()[0], noise), held_out, 0)
    assert stopped.rounds < 50
    assert len(errors) == stopped.rounds + 3
    assert np.argmin(errors) == stopped.rounds - 1
    found = np.sqrt(np.mean((stopped.predict(held_out[0]) - held_out[1]) ** 2))
    assert found == pytest.approx(min(errors), rel=1e-5)


def test_devices(monkeypatch):
    from sgp.models import device

    monkeypatch.setattr(device, "_gpu", lambda: False)
    assert (choose_device("auto"), choose_device("cpu")) == ("cpu", "cpu")
    with pytest.raises(ConfigurationError, match="no CUDA GPU can be used here; use --device cpu or auto"):
        choose_device("cuda")
    monkeypatch.setattr(device, "_gpu", lambda: True)
    assert (choose_device("auto"), choose_device("cuda"), choose_device("cpu")) == ("cuda", "cuda", "cpu")
    with pytest.raises(ConfigurationError, match="device is 'tpu'; expected one of auto, cpu, cuda"):
        choose_device("tpu")


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_trees_are_as_deep_as_they_may_be_and_no_deeper(depth, tmp_path):
    trees, _ = fit_boosted_trees(BoostingConfig(depth=depth, rounds=20), data(200), data(seed=1), seed=0)
    trees.save(tmp_path / "model.ubj")
    frame = xgboost.Booster(model_file=tmp_path / "model.ubj").trees_to_dataframe()

    def levels(tree, node):
        row = tree.loc[node]
        return 0 if row.Feature == "Leaf" else 1 + max(levels(tree, row.Yes), levels(tree, row.No))

    deepest = max(levels(tree.set_index("ID"), f"{number}-0") for number, tree in frame.groupby("Tree"))
    assert deepest == depth


@pytest.mark.parametrize(("asked", "count"), [(None, 1), ("3", 3), ("", 1), ("2,1", 1)])
def test_trees_take_one_thread_unless_the_user_asks_for_more(monkeypatch, tmp_path, asked, count):
    """With several processes, waiting threads made a round of boosting take minutes."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    trees, _ = fit_boosted_trees(BoostingConfig(rounds=2), data(), data(seed=1), seed=0)
    trees.save(tmp_path / "model.ubj")
    for each in (trees, BoostedTrees.load(tmp_path / "model.ubj", 1), trees.after(1)):
        assert json.loads(each._booster.save_config())["learner"]["generic_param"]["nthread"] == str(count)


SIZES = [(172, 1_253_292), (302, 1_552_942), (138, 1_174_922), (552, 2_129_192)]


@pytest.mark.parametrize(("dimension", "parameters"), SIZES)
def test_parameter_counts_are_those_of_table_3(dimension, parameters):
    model = RecurrentModel(2 * dimension, dimension, LSTMShape(), "two-layer")
    assert model.count_parameters() == parameters


def small(head="two-layer", seed=0):
    torch.manual_seed(seed)
    return RecurrentModel(6, 3, LSTMShape(hidden=8, layers=2), head).eval()


@pytest.mark.parametrize("head", ["linear", "two-layer"])
def test_steps_give_what_the_whole_sequence_gives(head):
    model = small(head)
    rows = np.random.default_rng(0).normal(size=(5, 7, 6)).astype(np.float32)
    with torch.inference_mode():
        whole = model(torch.as_tensor(rows))[0].numpy()
    hidden = [None] * 5
    for step in range(7):
        outputs, hidden = model.step(rows[:, step], hidden)
        assert np.allclose(outputs, whole[:, step], atol=1e-6)
    # One node at the start and one on its way.
    mixed, _ = model.step(rows[:2, 0], [None, hidden[1]])
    assert np.allclose(mixed[0], whole[0, 0], atol=1e-6)
    assert not np.allclose(mixed[1], whole[1, 0], atol=1e-3)


def test_the_network_is_pytorchs_lstm_with_a_linear_head_and_has_double_precision():
    model, rows = small("linear"), torch.randn(2, 4, 6)
    with torch.inference_mode():
        assert torch.equal(model(rows)[0], model.lstm(rows)[0] @ model.head.weight.T + model.head.bias)
    model = RecurrentModel(6, 3, LSTMShape(hidden=8, precision="double"), "two-layer").eval()
    assert {each.dtype for each in model.parameters()} == {torch.float64}
    rows = np.random.default_rng(0).normal(size=(5, 1, 6))
    with torch.inference_mode():
        whole = model(torch.as_tensor(rows))[0].numpy()
    outputs, _ = model.step(rows[:, 0], [None] * 5)
    assert np.allclose(outputs, whole[:, 0], rtol=0, atol=1e-14)
    with pytest.raises(ConfigurationError, match="LSTM precision is 'half'; expected one of single, double"):
        LSTMShape(precision="half")
