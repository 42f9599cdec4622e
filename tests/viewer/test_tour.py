from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

import sgp
from sgp.errors import StoreError
from sgp.experiments.bundle import record_tour
from sgp.planning.recording import read_rollouts
from sgp.viewer.tour import tour_titles


@pytest.fixture(scope="module")
def tour():
    return sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")


def test_every_stop_has_words_with_its_numbers_and_drawings(tour):
    numbers = {
        "State": len(tour.data["atoms"]),
        "Graph": len(tour.data["graph"]["edges"]),
        "Embedding": len(tour.data["embedding"]),
        "Training": tour.data["training"]["transitions"],
        "Prediction": 2 * len(tour.data["embedding"]),
        "Another method": tour.data["contrast"]["decisions"],
        "A failure": tour.data["failure"]["idle"],
    }
    for place, title in enumerate(tour_titles()):
        for level in range(tour.rounds + 1):
            stop = tour.stop(place, level)
            assert str(numbers.get(title, "")) in stop.words
            drawings = [drawing for _, drawing in stop.scenes] + [stop.graph] * bool(stop.graph)
            assert bool(drawings or stop.bars) == (title != "Next steps")
            for drawing in drawings:
                assert ElementTree.fromstring(drawing).tag.endswith("svg")


def test_the_recorded_numbers_belong_together(tour):
    data = tour.data
    counted = [colour for colours in data["graph"]["colours"] for colour in colours if colour >= 0]
    assert [counted.count(colour) for colour in range(len(data["embedding"]))] == data["embedding"]
    distance = sum((one - two) ** 2 for one, two in zip(data["predicted"], data["chosen"], strict=True)) ** 0.5
    assert data["metric"] == "euclidean"
    candidates = tour.rollout.steps[tour.step - 1]["candidates"]
    assert candidates[tour.chosen]["cost"] == pytest.approx(distance, abs=1e-4)
    costs = [candidates[place]["cost"] for place in tour.order]
    assert costs == sorted(costs)
    assert len(data["atoms"]) == sum(kind in ("true", "goal, true") for kind in data["graph"]["kinds"])


def test_the_example_of_training_is_a_step_of_the_experts_plan(tour):
    training = tour.data["training"]
    assert training["change"], "something changes"
    assert set(training["change"]) <= set(training["names"])
    assert set(training["before"]) != set(training["after"])


def test_the_failure_is_one_of_predicting_nearly_no_change(tour):
    failure = tour.data["failure"]
    step = tour.failure.steps[0]
    assert len(failure["lengths"]) == len(step["candidates"])
    still = [not each["add"] and not each["delete"] for each in step["candidates"]]
    assert [length == 0 for length in failure["lengths"]] == still
    costs = [each["cost"] for each in step["candidates"]]
    assert still[costs.index(min(costs))]
    assert failure["predicted"] < min(length for length in failure["lengths"] if length)
    (recorded,) = [
        each
        for each in sgp.recorded_rollouts().rollouts
        if (each.head["sha256"], each.about.planner) == (tour.failure.head["sha256"], tour.failure.about.planner)
    ]
    assert f"On {failure['idle']} of {failure['steps']} steps" in sgp.diagnosis(recorded)[0].sentence


@pytest.mark.slow
def test_it_is_what_the_model_does(monkeypatch, tmp_path, shared_home, quick_run):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    monkeypatch.setattr(
        "sgp.experiments.bundle.train",
        lambda method, domain, suite, variant=None, jobs=1: quick_run(method, domain, variant),
    )
    recorded = sgp.viewer.read_tour(record_tour(tmp_path, "state-centric", "blocksworld"))
    rollout = read_rollouts(_as_lines(recorded, tmp_path))[0]
    assert rollout.solved
    assert str(rollout.steps[recorded.step - 1].successor.actions[0]) == recorded.actions[recorded.chosen]


def _as_lines(tour, folder):
    file = folder / "rollout.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in tour.data["records"]))
    return file


def test_another_file_is_one_sentence(tmp_path):
    file = tmp_path / "tour.json"
    file.write_text("[]")
    with pytest.raises(StoreError, match="is not a tour"):
        sgp.viewer.read_tour(file)
    assert "PageDown" in sgp.viewer.script("tour")
