"""Settings of all methods: values out of range, settings that conflict, constants of the papers; resumed trainings."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.methods import get_method
from sgp.methods.configuration import configure, configure_decoding
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from tests.conftest import COURIER, COURIER_PROBLEM, QUICK_OF

WRONG = {
    ("aiw-ad", "exact"): [
        ("candidates", "far", "candidates is 'far'; expected one of one-step, iw"),
        ("learns_by", "heart", "learns_by is 'heart'; expected one of labels, trying"),
        ("labels.source", "dagger-optimal", "labels.source is dagger-optimal; expected optimal-only, optimal"),
        ("labels.source", "guess", "labels' source is 'guess'; expected one of expert, optimal"),
        ("labels.visits", "0", "labels' visits is 0; expected at least 1"),
        ("trees.encoding", "actions", "trees.encoding actions conflicts with candidates aiw, which are several"),
        ("trees.encoding", "nothing", "trees' encoding is 'nothing'; expected one of changes, actions, external"),
        ("training.epochs", "0", "trees' epochs is 0; expected at least 1"),
        ("training.last_rate", "0", "trees' last_rate is 0.0; expected above 0"),
        ("training.depth_weight", "-1", "trees' depth_weight is -1.0; expected at least 0"),
        ("learning.replay", "0", "learning's replay is 0; expected at least 1"),
        ("learning.cold", "-1", "learning's cold is -1.0; expected above 0"),
        ("learning.discount", "1", "learning's discount is 1.0; expected a number between 0 and 1"),
    ],
    ("contrastive-delta", "wl"): [
        ("encoder", "words", "encoder is 'words'; expected one of wl, text"),
        ("text.mode", "letters", "text mode is 'letters'"),
    ],
    ("contrastive-jumps", "aiw"): [
        ("embedding.iterations", "11", "marked iterations is 11; expected 0 to 10"),
        ("embedding.walk_growth", "-1", "marked walk_growth is -1.0; expected at least 0"),
        ("loss.alpha", "0", "loss alpha is 0.0; expected above 0"),
        ("loss.l2", "nan", "loss l2 is nan; expected above 0"),
        ("loss.iterations", "0", "loss iterations is 0; expected at least 1"),
    ],
    ("displacements", "renamed"): [
        ("kind", "mean", "kind is 'mean'"),
        ("text.mode", "sentence", r"kind is renamed and text\.mode is sentence; expected mode atoms"),
        ("penalty", "0", r"penalty is 0\.0; expected above 0"),
    ],
    ("embedplan", "hashed-atoms"): [
        ("shape.kind", "gru", "shape kind is 'gru'"),
        ("shape.layers", "1", "shape layers is 1; expected at least 2"),
        ("training.batch", "1", "training batch is 1; expected at least 2"),
        ("training.temperature", "0", "training temperature is 0.0; expected above 0"),
        ("training.action_weight", "-1", "training action_weight is -1.0; expected at least 0"),
    ],
    ("gnn-value", None): [
        ("shape.layers", "0", "GNN layers is 0; expected at least 1"),
        ("training.batch", "0", "GNN batch is 0; expected at least 1"),
        ("training.clip", "-1", "GNN clip is -1.0; expected above 0"),
    ],
    ("nameless", "pointer"): [
        ("shape.layers", "0", "nameless layers is 0; expected at least 1"),
        ("shape.hidden", "10", "nameless hidden is 10; expected a multiple of heads, which is 4"),
        ("training.depth_weight", "1", "training.depth_weight is 1.0; expected 0, because all candidates are one"),
        ("labels.source", "dagger", "labels.source is dagger; expected optimal-only, optimal or expert"),
    ],
    ("state-centric", None): [
        ("boosting.depth", "0", "boosting depth is 0; expected at least 1"),
        ("boosting.learning_rate", "1.5", "boosting learning_rate is 1.5; expected at most 1"),
        ("lstm.shape.hidden", "0", "LSTM hidden is 0; expected at least 1"),
        ("lstm.state_head", "deep", "LSTM state_head is 'deep'; expected one of linear, two-layer"),
        ("lstm.training.epochs", "0", "LSTM epochs is 0; expected at least 1"),
        ("lstm.training.learning_rate", "0", "LSTM learning_rate is 0.0; expected above 0"),
        ("wl.iterations", "-1", "WL iterations is -1; expected 0 to 10"),
        ("wl.hash", "md5", "WL hash is 'md5'; expected one of multiset, set"),
    ],
    ("symt", "ed"): [
        ("kind", "poem", "kind is 'poem'; expected one of plans, heuristic, sequence"),
        ("kind", "sequence", "training.attention is 1.0 and training.hidden 1.0 of a sequence; expected 0"),
        ("names", "0", "names is 0; expected at least 1"),
        ("positions", "0", "positions is 0; expected at least 1"),
        ("shape.heads", "0", "transformer heads is 0; expected at least 1"),
        ("shape.heads", "3", "hidden is 128; expected a multiple of heads, which is 3"),
        ("training.alone", "-1", "views' alone is -1; expected at least 0"),
        ("training.attention", "inf", "views' attention is inf; expected at least 0"),
        ("training.batch", "0", "views' batch is 0; expected at least 1"),
        ("training.epochs", "5", "views' alone is 1000 of 500 steps; expected fewer, so that attention and hidden"),
        ("training.reduction", "product", "views' reduction is 'product'; expected one of mean, sum"),
        ("training.rename", "none", "views' rename is 'none'; expected one of both, one"),
    ],
}
WRONG_DECODINGS = [
    ("contrastive-jumps", "default+noise_after=-1", "noise_after is -1; expected at least 0"),
    ("embedplan", "default+beam=0", "beam is 0; expected at least 1"),
    ("embedplan", "default+compared=guessed", "compared is 'guessed'; expected one"),
    ("symt", "ranked+beam=0", "beam is 0; expected at least 1"),
    ("symt", "greedy+beam=2", "beam 2 conflicts with how greedy; expected ranked or lowest beside it"),
    ("symt", "default+how=aloud", "how is 'aloud'; expected one of greedy, applicable, regrounding, ranked, best, low"),
]
CONSTANTS = {
    "aiw-ad": {
        **{"candidates": "aiw", "min_novel": 0, "learns_by": "labels", "shape.hidden": 32, "learning.jumps": 20},
        **{"training.learning_rate": 1e-3, "training.last_rate": 1e-5, "training.steps": 32, "training.batch": 32},
        **{"learning.discount": 0.999, "learning.trajectories": 4, "learning.replay": 100},
    },
    "gnn-value": {
        **{"shape.layers": 30, "shape.hidden": 32, "training.epochs": 100, "training.learning_rate": 2e-4},
        **{"training.clip": 0.1, "training.batch": 1024},
    },
    "state-centric": {
        **{"wl.iterations": 2, "wl.hash": "multiset", "wl.pruning": "none", "boosting.depth": 8},
        **{"boosting.learning_rate": 0.1, "boosting.rounds": 1000, "boosting.patience": 10},
    },
}
RESUMED = [("aiw-ad", "exact"), ("aiw-ad", "aiw"), ("nameless", "pointer"), ("nameless", "random-names")]
RESUMED += [("symt", "ed"), ("symt", "e"), ("symt", "plangpt")]


@pytest.mark.parametrize(
    ("method", "variant", "setting", "value", "words"),
    [(*of, *each) for of, wrong in WRONG.items() for each in wrong],
)
def test_a_setting_out_of_range_or_in_conflict_is_refused(method, variant, setting, value, words):
    with pytest.raises(ConfigurationError, match=words):
        configure(get_method(method), variant, {setting: value})


@pytest.mark.parametrize(("method", "decoding", "words"), WRONG_DECODINGS)
def test_a_decoding_out_of_range_or_in_conflict_is_refused(method, decoding, words):
    with pytest.raises(ConfigurationError, match=words):
        configure_decoding(get_method(method), decoding)


@pytest.mark.parametrize("method", CONSTANTS)
def test_defaults_are_the_constants_of_the_paper(method):
    for path, expected in CONSTANTS[method].items():
        value = configure(get_method(method), None)[1]
        for name in path.split("."):
            value = getattr(value, name)
        assert value == expected, path


def test_names_of_earlier_versions_are_read():
    jumps = get_method("contrastive-jumps")
    assert configure(jumps, None, {"enough": "4"})[1] == configure(jumps, None, {"min_novel": "4"})[1]
    _, old = configure_decoding(jumps, "default+escape=4")
    assert old.noise_after == 4
    trees = configure(get_method("aiw-ad"), None, {"trees.told": "external"})[1].trees
    assert trees.encoding == "external"


@pytest.mark.parametrize(("key", "variant"), RESUMED)
def test_an_interrupted_training_gives_what_an_uninterrupted_one_gives(key, variant, tmp_path):
    method, data = get_method(key), sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    training = configure(method, variant, QUICK_OF[key] | {"training.epochs": "3"})[1]
    whole = [each.loss for each in method.checkpoints(training, data, tmp_path / "whole", 1, "cpu")]
    first = method.checkpoints(training, data, tmp_path / "cut", 1, "cpu")
    cut = [next(first).loss]
    first.close()
    cut += [each.loss for each in method.checkpoints(training, data, tmp_path / "cut", 1, "cpu", after=1)]
    assert cut == whole


@pytest.mark.parametrize(("key", "variant"), [("gnn-value", None), *RESUMED])
def test_negative_goals_are_refused_in_training(key, variant, tmp_path):
    task = Task(Problem("courier-1", COURIER, COURIER_PROBLEM))
    data = sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    wrong = replace(data, train=(Trajectory(task, (), (task.init,)),), validation=())
    method = get_method(key)
    with pytest.raises(ConfigurationError, match=r"courier-1 cannot be trained on: the goal wants \(in q1 v1\) to"):
        next(method.checkpoints(configure(method, variant)[1], wrong, tmp_path, 1, "cpu"))
