"""Recorded retrievals have the models' ranks, nearest states and points; a damaged file is reported."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import sgp
from sgp.api import train_split
from sgp.datasets.protocols import ProtocolSplit, domain_instances
from sgp.errors import InputError
from sgp.evaluation.retrieval import queries, rank, similarities
from sgp.experiments.retrieval import MOST, NEAREST, RetrievalConfig, learners_of, record_retrievals
from sgp.methods.loading import load_model
from sgp.planning.recorded import atom_of
from sgp.planning.task import Task
from sgp.viewer.retrieved import retrieved_files

CONFIG = RetrievalConfig(("paper", "hard"), size=16)
LEARNERS = ["displacements:schema", "displacements:renamed"]
SYMBOLS = {"text.sentences": "symbols"}


@pytest.fixture(scope="module")
def recorded(in_shared_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("retrieved")
    learners = learners_of(LEARNERS, SYMBOLS)
    (file,) = record_retrievals(folder, "acpbench", ["extrapolation"], learners, ["ferry"], 42, CONFIG, 150, "cpu")
    assert file.name == "acpbench-ferry-extrapolation-42-most150.json"
    (found,), damaged = retrieved_files(folder)
    assert damaged == []
    return found


def test_steps_are_those_of_instances_held_out(recorded):
    split = ProtocolSplit("acpbench", "extrapolation", ("ferry",), ("ferry",), 42, 150)
    held = {
        (
            each.task.name,
            frozenset(each.task.atoms(each.before)),
            str(each.action),
            frozenset(each.task.atoms(each.after)),
        )
        for each in split.held_out("ferry").transitions
    }
    assert len(recorded.steps) == MOST
    for place, each in enumerate(recorded.record["steps"]):
        before, after = recorded.states(place)
        problem = recorded.record["problems"][recorded.record["states"][before][0]]
        task = Task(sgp.Problem("it", recorded.record["domain_pddl"], problem["pddl"]))
        static = frozenset(task.static_atoms)
        ends = (recorded.atoms(before) | static, each["action"], recorded.atoms(after) | static)
        assert (problem["name"], *ends) in held
        assert recorded.steps[place].startswith(f"{place + 1}. {problem['name']}: ")


def test_ranks_and_nearest_states_are_the_models(recorded):
    split = ProtocolSplit("acpbench", "extrapolation", ("ferry",), ("ferry",), 42, 150)
    of = domain_instances("acpbench", "ferry")
    known = {
        (each.task.name, frozenset(each.task.atoms(each.before)), str(each.action)): each
        for each in split.held_out("ferry").transitions
    }
    for learner, model in zip(learners_of(LEARNERS, SYMBOLS), recorded.models, strict=True):
        live = load_model(train_split(learner.method, split, learner.variant, SYMBOLS, "cpu").folder)
        for place, each in enumerate(recorded.record["steps"]):
            before, after = recorded.states(place)
            name = recorded.problem_of(before)
            (task,) = [one.task for one in of if one.task.name == name]
            step = known[name, recorded.atoms(before) | frozenset(task.static_atoms), each["action"]]
            found = model.found(place, "hard")
            asked = queries("hard", [step], of, False, split.seed, CONFIG.size)
            (similar,) = similarities(live, asked)
            assert (found.better, found.tied, found.size) == rank(similar)
            assert [near.similarity for near in found.nearest] == pytest.approx(
                np.sort(similar)[::-1][:NEAREST].tolist(), abs=1e-4
            )
            if found.better == 0 and found.tied == 0:
                assert found.nearest[0].state == after
                assert found.words.startswith("Hit")
    first, lifted = ([model.found(place, "hard").word for place in range(MOST)] for model in recorded.models)
    assert set(lifted) == {"hit"}, "lifted displacements are exact"
    assert "miss" in first


def test_a_map_has_every_state_that_is_shown_and_none_where_states_look_different(recorded):
    schema, lifted = recorded.models
    assert lifted.training == []
    assert all(near.point is None for near in lifted.found(0, "paper").nearest)
    points = dict(schema.training)
    for place in range(MOST):
        before, _ = recorded.states(place)
        ends = schema.points(place)
        assert {len(point) for point in ends.values()} == {4}
        assert points.get(before, ends["state"]) == ends["state"]
        for pools in recorded.pools:
            for near in schema.found(place, pools).nearest:
                assert points.setdefault(near.state, near.point) == near.point
    one, other = schema.explained
    assert 0 < other <= one < 1


def test_differences_say_what_holds_in_one_alone(recorded):
    for place in range(MOST):
        before, after = recorded.states(place)
        told = recorded.differences(before, after)
        assert {sign for sign, _ in told} == {"+", "-"}
        assert len(told) == len(recorded.atoms(before) ^ recorded.atoms(after))
        assert recorded.differences(after, after) == []
    assert "<svg" in recorded.drawing(recorded.states(0)[0])
    assert atom_of(recorded.record["atoms"][0]).predicate in {"at", "at-ferry", "on", "empty-ferry"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda record: record.update(format=9), "is not a recorded retrieval of format 1"),
        (lambda record: record.pop("states"), r"is a damaged recorded retrieval \(KeyError\('states'\)\)"),
        (lambda record: record["models"][0]["steps"].pop(), "is a damaged recorded retrieval"),
        (lambda record: record["pools"].clear(), "is a damaged recorded retrieval .*there are no pools"),
        (lambda record: [each.pop("pddl") for each in record["problems"]], r"retrieval \(KeyError\('pddl'\)\)"),
        (lambda record: record["models"][0]["ground"][0][1].pop(), "have different numbers of coordinates"),
    ],
)
def test_a_damaged_file_is_told_and_others_are_shown(recorded, tmp_path, change, words):
    record = json.loads(json.dumps(recorded.record))
    (tmp_path / "whole.json").write_text(json.dumps(record))
    change(record)
    (tmp_path / "cut.json").write_text(json.dumps(record))
    found, (told,) = retrieved_files(tmp_path)
    assert [each.source for each in found] == [str(tmp_path / "whole.json")]
    assert re.search(words, told)


@pytest.mark.slow
def test_a_model_that_cannot_read_a_domain_is_left_out_and_told(in_shared_home, tmp_path, caplog):
    learners = [*learners_of(["wl-displacements"]), *learners_of(["displacements:schema"], SYMBOLS)]
    given = ("acpbench", ["leave-one-out"], learners, ["ferry", "satellite"], 42, CONFIG, 60, "cpu")
    files = record_retrievals(tmp_path, *given, shots=(0, 2))
    told = [each.getMessage() for each in caplog.records if "is not recorded" in each.getMessage()]
    assert told == [
        f"wl-displacements schema is not recorded in {name}: domain {name} was not learned from, and WL features are "
        "of one domain each"
        for name in ("ferry", "satellite")
    ]
    found, damaged = retrieved_files(tmp_path)
    assert damaged == []
    assert {each.source for each in found} == {str(file) for file in files}
    assert [len(each.models) for each in found] == [1 if "shots" not in each.source else 2 for each in found]
    assert len({each.title for each in found}) == 4
    with pytest.raises(InputError, match="pools are all; expected paper, batch or hard"):
        record_retrievals(
            tmp_path, "acpbench", ["extrapolation"], learners, ["ferry"], config=RetrievalConfig(("all",))
        )
