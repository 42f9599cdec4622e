from __future__ import annotations

import numpy as np
import pytest
import torch

import sgp
from sgp.contracts.encoders import renamed
from sgp.encoders.trees import TreeConfig, TreeEncoder, concatenate_trees
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.lookahead import Lookahead
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.policies.tree_scores import PART, tree_scores

SUITE = sgp.load_suite("state-centric")
ENCODER = TreeEncoder(SUITE.domain_text("blocksworld"), TreeConfig())


@pytest.fixture(scope="module")
def tasks():
    return [Task(problem) for problem in SUITE.problems("blocksworld", "train")]


def network(seed=0, layers=4, encoder=ENCODER):
    torch.manual_seed(seed)
    return LookaheadModel(encoder.relations, RelationalShape(layers, 8)).eval()


AIW = Lookahead("types")


def tree(task, successors=AIW):
    return ENCODER.encode(task, task.init, successors(task, task.init))


def test_a_tree_has_its_scores_whatever_is_computed_beside_it(monkeypatch, tasks):
    model, trees = network(), [tree(task) for task in tasks]
    alone = [tree_scores(model, each, "cpu")[0] for each in trees]
    assert [len(each) for each in alone] == [int(each.candidates[0]) for each in trees]
    for weight in (PART["cpu"], 1):
        monkeypatch.setitem(PART, "cpu", weight)
        for one, other in zip(alone, tree_scores(model, concatenate_trees(trees), "cpu"), strict=True):
            assert np.allclose(one, other, rtol=1e-5, atol=1e-6)
    assert len(set(np.concatenate(alone).round(4).tolist())) > 20


def test_names_of_objects_change_no_multiset_of_scores(tasks):
    model = network()
    for task in tasks[:4]:
        other = Task(renamed(task, reverse=True))
        one, two = (tree_scores(model, tree(each, one_step), "cpu")[0] for each in (task, other))
        assert np.allclose(np.sort(one), np.sort(two), rtol=1e-5, atol=1e-6)


def test_candidates_hear_of_their_siblings(tasks):
    """The score of a candidate depends on the other candidates of the tree."""
    task = tasks[-1]
    choice = Lookahead("types")(task, task.init)
    alone = ENCODER.encode(task, task.init, choice[:1])
    model = network()
    assert abs(tree_scores(model, alone, "cpu")[0][0] - tree_scores(model, tree(task), "cpu")[0][0]) > 1e-4


def test_depths_have_scores_of_their_own(tasks):
    model, trees = network(), concatenate_trees([tree(task) for task in tasks[:3]])
    scores, depths = model(model.graphs(*trees.joined()))
    assert len(scores) == trees.candidates.sum()
    assert len(depths) == trees.depths.sum()
    expected = model.carried(trees.joined().nodes, model.graphs(*trees.joined()).arguments)
    last = expected[-1] @ model.probe.weight[0]
    assert depths[-1].item() == pytest.approx(last.item(), rel=1e-5)
