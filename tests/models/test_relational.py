"""Relational networks: values of graphs, and scores of lookahead trees."""

import math

import numpy as np
import pytest
import torch

import sgp
from sgp.contracts.classes import renamed
from sgp.encoders.trees import TreeConfig, TreeEncoder, concatenate_trees
from sgp.errors import StoreError
from sgp.models.relational import LookaheadModel, RelationalModel, RelationalShape
from sgp.planning.lookahead import Lookahead
from sgp.planning.policy import one_step
from sgp.training.tree_ranking import PART, tree_scores

ARITIES = {"clear": 1, "on": 2, "on:goal-false": 2}  # "clear" is a method of torch's containers
NOTHING = {name: np.empty((0, arity), int) for name, arity in ARITIES.items()}


def network(layers=3, hidden=8, seed=0):
    torch.manual_seed(seed)
    return RelationalModel(ARITIES, RelationalShape(layers, hidden)).eval()


def graphs(count, seed):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        objects = int(rng.integers(2, 9))
        rows = {name: rng.integers(objects, size=(int(rng.integers(1, 6)), arity)) for name, arity in ARITIES.items()}
        found.append((objects, rows))
    return found


def values(model, each):
    before = np.cumsum([0, *(objects for objects, _ in each)])
    pairs = [(rows, at) for (_, rows), at in zip(each, before, strict=False)]
    joined = {name: np.concatenate([rows[name] + at for rows, at in pairs]) for name in ARITIES}
    return model.values(np.array([objects for objects, _ in each]), joined)


@pytest.mark.slow
def test_a_graph_has_one_value_whatever_is_computed_beside_it():
    model, many = network(layers=30, hidden=32), graphs(200, 1)
    together = values(model, many)
    alone = np.concatenate([values(model, [each]) for each in many])
    assert np.allclose(together, alone, rtol=1e-5, atol=1e-6)
    assert len(set(together.round(4).tolist())) > 150


def test_directions_and_relations_of_tuples_matter_and_the_order_of_tuples_and_objects_does_not():
    model, rng = network(), np.random.default_rng(0)
    for objects, rows in graphs(20, 2):
        names = rng.permutation(objects)
        renamed = {name: rng.permutation(names[each]) for name, each in rows.items()}
        assert np.allclose(values(model, [(objects, rows)]), values(model, [(objects, renamed)]), rtol=1e-5)
    model = network()
    clear = NOTHING | {"clear": np.zeros((1, 1), int)}
    variants = [{}, {"on": np.array([[0, 1]])}, {"on": np.array([[1, 0]])}, {"on:goal-false": np.array([[0, 1]])}]
    found = [values(model, [(2, clear | each)])[0] for each in variants]
    assert len({round(float(each), 5) for each in found}) == 4


def test_one_layer_by_hand():
    """Two objects, one of them clear: only biases contribute, since all objects start from zero."""
    model = network(layers=1, hidden=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.messages._relation_mlps["0"]._outer.bias.copy_(torch.tensor([1.0, 3.0]))  # message of `clear`
        model.update._update._inner.weight[:2, :2] = torch.eye(2)  # messages come before the object's own vector
        model.update._update._outer.weight[:, :2] = torch.eye(2)
        model.normalised.weight.fill_(1.0)
        model.read_object._inner.bias.fill_(1.0)
        model.read_object._inner.weight.copy_(torch.eye(2))
        model.read_object._outer.weight.copy_(torch.eye(2))
        model.read_value._inner.weight.copy_(torch.eye(2))
        model.read_value._outer.weight.copy_(torch.tensor([[1.0, 10.0]]))

    def mish(x):
        return x * math.tanh(math.log1p(math.exp(x)))

    def normalised(pair):
        mean = sum(pair) / 2
        spread = math.sqrt(sum((x - mean) ** 2 for x in pair) / 2 + 1e-5)
        return [(x - mean) / spread for x in pair]

    clear = normalised([mish(1.0), mish(3.0)])
    other = normalised([mish(math.log(1e-16) / 12)] * 2)  # the smooth maximum of no message
    sums = [mish(1 + x) + mish(1 + y) for x, y in zip(clear, other, strict=True)]
    found = values(model, [(2, NOTHING | {"clear": np.array([[0]])})])
    assert found[0] == pytest.approx(mish(sums[0]) + 10 * mish(sums[1]), rel=1e-5)


def test_weights_are_shared_by_all_layers_and_survive_saving_and_damage_is_an_error(tmp_path):
    def perceptron(inputs, outputs):
        return inputs * inputs + inputs + inputs * outputs + outputs

    h = 32
    expected = perceptron(h, h) + 2 * perceptron(2 * h, 2 * h)  # messages
    expected += perceptron(2 * h, h) + 2 * h + perceptron(h, h) + perceptron(h, 1)  # update, normalisation, readout
    assert network(layers=30, hidden=h).count_parameters() == network(layers=1, hidden=h).count_parameters() == expected
    model, file = network(), tmp_path / "m.safetensors"
    model.save(file)
    other, some = network(seed=1), graphs(5, 3)
    assert not np.array_equal(values(other, some), values(model, some))
    other.read(file)
    assert np.array_equal(values(other, some), values(model, some))
    with pytest.raises(StoreError, match="holds no weights of this network; train the run again"):
        network(hidden=4).read(file)
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(StoreError, match="holds no weights of this network"):
        other.read(file)


SUITE = sgp.load_suite("state-centric")
ENCODER = TreeEncoder(SUITE.domain_text("blocksworld"), TreeConfig())


@pytest.fixture(scope="module")
def tasks():
    return [sgp.Task(problem) for problem in SUITE.problems("blocksworld", "train")]


AIW = Lookahead("types")


def lookahead_network():
    torch.manual_seed(0)
    return LookaheadModel(ENCODER.relations, RelationalShape(4, 8)).eval()


def tree(task, successors=AIW):
    return ENCODER.encode(task, task.init, successors(task, task.init))


def test_a_tree_and_its_depths_have_their_scores_whatever_is_computed_beside_them(monkeypatch, tasks):
    model, trees = lookahead_network(), [tree(task) for task in tasks]
    alone = [tree_scores(model, each, "cpu")[0] for each in trees]
    assert [len(each) for each in alone] == [int(each.candidates[0]) for each in trees]
    for weight in (PART["cpu"], 1):
        monkeypatch.setitem(PART, "cpu", weight)
        for one, other in zip(alone, tree_scores(model, concatenate_trees(trees), "cpu"), strict=True):
            assert np.allclose(one, other, rtol=1e-5, atol=1e-6)
    assert len(set(np.concatenate(alone).round(4).tolist())) > 20
    model, trees = lookahead_network(), concatenate_trees([tree(task) for task in tasks[:3]])
    scores, depths = model(model.graphs(*trees.joined()))
    assert len(scores) == trees.candidates.sum()
    assert len(depths) == trees.depths.sum()
    expected = model.carried(trees.joined().nodes, model.graphs(*trees.joined()).arguments)
    last = expected[-1] @ model.probe.weight[0]
    assert depths[-1].item() == pytest.approx(last.item(), rel=1e-5)


def test_scores_depend_on_siblings_and_names_of_objects_change_no_multiset(tasks):
    model = lookahead_network()
    for task in tasks[:4]:
        pair = (task, sgp.Task(renamed(task, reverse=True)))
        one, two = (tree_scores(model, tree(each, one_step), "cpu")[0] for each in pair)
        assert np.allclose(np.sort(one), np.sort(two), rtol=1e-5, atol=1e-6)
    task = tasks[-1]
    alone = ENCODER.encode(task, task.init, AIW(task, task.init)[:1])
    assert abs(tree_scores(model, alone, "cpu")[0][0] - tree_scores(model, tree(task), "cpu")[0][0]) > 1e-4
