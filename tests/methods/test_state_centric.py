"""The planners that are checkpoints of a state-centric training."""

from itertools import pairwise

import pytest

import sgp
from sgp.datasets.runs import RunKey, new_run, open_run
from sgp.methods.configuration import configure
from sgp.training import fit
from tests.conftest import origin_of

METHOD = sgp.get_method("state-centric")
LSTM = {"lstm.training.epochs": "7", "lstm.shape.hidden": "16", "parts": "3"}
TINY = {
    "wl-xgboost-delta": {"boosting.rounds": "12", "boosting.depth": "2", "parts": "3"},
    "fsf-lstm-delta": LSTM,
    "wl-lstm-state": LSTM,
}
every_kind = pytest.mark.parametrize("variant", TINY)


@pytest.fixture(scope="module")
def data():
    return sgp.load_training_data(sgp.load_suite("state-centric"), "gripper")


def checkpoints(variant, data, folder, after=0):
    return METHOD.checkpoints(configure(METHOD, variant, TINY[variant])[1], data, folder, 13, "cpu", after)


def described(found):
    return [(each.name, each.loss, each.training) for each in found]


@every_kind
def test_one_planner_a_part_and_the_one_that_train_gives_among_them(variant, data, home, tmp_path):
    found = list(checkpoints(variant, data, tmp_path / "training"))
    assert len(found) == 3
    chosen = min(found, key=lambda each: each.loss)
    numbers = [int(each.name.split()[1]) for each in found]
    ends = (0, 4, 8, 12) if "xgboost" in variant else (0, 2, 4, 7)
    assert [low < number <= high for number, (low, high) in zip(numbers, pairwise(ends), strict=True)] == [True] * 3
    trained = sgp.train(METHOD.key, "gripper", "state-centric", variant, overrides=TINY[variant], device="cpu")
    runs = []
    for each in found:
        folder, key = tmp_path / each.name, RunKey(METHOD.key, variant, "state-centric", "gripper", 13)
        with new_run(key, origin_of(METHOD, each.training, data), folder) as draft:
            each.save(draft)
        runs.append(open_run(folder))
        sgp.load_planner(runs[-1])
    assert len({run.planner_sha256 for run in runs}) == 3
    assert runs[found.index(chosen)].planner_sha256 == trained.planner_sha256


@pytest.mark.slow
@every_kind
def test_the_first_ones_are_skipped_exactly(variant, data, tmp_path):
    """With and without the files of the earlier training, and for any number of skipped planners."""
    every = described(checkpoints(variant, data, tmp_path / "kept"))
    for after in (1, 3):
        for folder in ("kept", f"none{after}"):
            assert described(checkpoints(variant, data, tmp_path / folder, after)) == every[after:]


def test_a_network_s_training_goes_on_where_it_was_interrupted(data, tmp_path, monkeypatch):
    every = described(checkpoints("wl-lstm-state", data, tmp_path / "whole"))
    interrupted = checkpoints("wl-lstm-state", data, tmp_path / "kept")
    next(interrupted)
    next(interrupted)  # the first is processed, the second is not
    interrupted.close()
    assert sorted(file.name for file in (tmp_path / "kept").iterdir()) == ["epoch2.safetensors", "epoch4.safetensors"]
    epochs, train_epoch = [], fit._train_epoch

    def counted(model, optimizer, schedule, number, *further):
        epochs.append(number)
        return train_epoch(model, optimizer, schedule, number, *further)

    monkeypatch.setattr(fit, "_train_epoch", counted)
    assert described(checkpoints("wl-lstm-state", data, tmp_path / "kept", 1)) == every[1:]
    assert epochs == [3, 4, 5, 6, 7]
    assert described(checkpoints("wl-lstm-state", data, tmp_path / "kept", 3)) == []
    assert epochs == [3, 4, 5, 6, 7]
