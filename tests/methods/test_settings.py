"""Settings of all methods: values out of range, settings that conflict, constants of the papers; resumed trainings."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

import sgp
from sgp.encoders.relations import RelationalEncoder
from sgp.errors import ConfigurationError
from sgp.methods.configuration import configure, configure_decoding
from sgp.methods.gnn_value import LearnedValue
from sgp.models.relational import LookaheadModel, RelationalModel, RelationalShape
from sgp.planning.task import Trajectory
from sgp.policies.lowest_value import LowestValue
from sgp.training.tree_ranking import TreeScores
from tests.conftest import QUICK_OF


def rows(name):
    return list(csv.DictReader((Path(__file__).parent / name).read_text().splitlines()))


RESUMED = [("aiw-ad", "exact"), ("aiw-ad", "aiw"), ("nameless", "pointer"), ("nameless", "random-names")]
RESUMED += [("symt", "ed"), ("symt", "e"), ("symt", "plangpt")]


def configured(method, variant, setting, value, message):
    if setting == "decoding":
        return configure_decoding(sgp.get_method(method), value)
    return configure(sgp.get_method(method), variant or None, {setting: value})


@pytest.mark.parametrize("row", rows("wrong_settings.csv"), ids=lambda row: " ".join([*row.values()][:4]))
def test_a_value_out_of_range_or_in_conflict_is_refused(row):
    with pytest.raises(ConfigurationError, match=row["message"]):
        configured(**row)


def test_defaults_are_the_constants_of_the_papers():
    for row in rows("constants.csv"):
        value = configure(sgp.get_method(row["method"]), None)[1]
        for name in row["setting"].split("."):
            value = getattr(value, name)
        assert str(value) == row["value"], row


def test_names_of_earlier_versions_are_read():
    jumps = sgp.get_method("contrastive-jumps")
    assert configure(jumps, None, {"enough": "4"})[1] == configure(jumps, None, {"min_novel": "4"})[1]
    _, old = configure_decoding(jumps, "default+escape=4")
    assert old.noise_after == 4
    trees = configure(sgp.get_method("aiw-ad"), None, {"trees.told": "external"})[1].trees
    assert trees.encoding == "external"


@pytest.mark.parametrize(("key", "variant"), RESUMED)
def test_an_interrupted_training_gives_what_an_uninterrupted_one_gives(key, variant, tmp_path):
    method, data = sgp.get_method(key), sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    training = configure(method, variant, QUICK_OF[key] | {"training.epochs": "3"})[1]
    whole = [each.loss for each in method.checkpoints(training, data, tmp_path / "whole", 1, "cpu")]
    first = method.checkpoints(training, data, tmp_path / "cut", 1, "cpu")
    cut = [next(first).loss]
    first.close()
    cut += [each.loss for each in method.checkpoints(training, data, tmp_path / "cut", 1, "cpu", after=1)]
    assert cut == whole


@pytest.mark.parametrize(("key", "variant"), [("gnn-value", None), *RESUMED])
def test_negative_goals_are_refused_in_training(key, variant, courier, tmp_path):
    data = sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")
    wrong = replace(data, train=(Trajectory(courier, (), (courier.init,)),), validation=())
    method = sgp.get_method(key)
    with pytest.raises(ConfigurationError, match=r"courier-1 cannot be trained on: the goal wants \(in q1 v1\) to"):
        next(method.checkpoints(configure(method, variant)[1], wrong, tmp_path, 1, "cpu"))


@pytest.mark.parametrize("encoding", ["changes", "internal", None])
def test_negative_goals_are_refused_in_planning(encoding, courier):
    if encoding is None:
        encoder = RelationalEncoder(courier.domain_text)
        value = LearnedValue(encoder, RelationalModel(encoder.relations, RelationalShape(1, 4)), "cpu")
        policy = LowestValue(value)
    else:
        encoder = sgp.data.tree_encoder(courier.domain_text, sgp.data.TreeConfig(encoding))
        model = LookaheadModel(encoder.relations, RelationalShape(1, 4), encoder.config.copied)
        policy = TreeScores(encoder, model, "cpu")
    rollout = sgp.Planner(policy).solve(courier)
    assert rollout.outcome is sgp.Outcome.REFUSED
    assert "wants (in q1 v1) to be false" in rollout.reason
