from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from sgp.errors import StoreError
from sgp.training.checkpoint import Best, Checkpoints, Moment, identify, read_checkpoint, write_checkpoint


class Tied(nn.Module):
    """A network of words with dropout, whose head is its embedding."""

    def __init__(self, width=8):
        super().__init__()
        self.embedding = nn.Embedding(6, width)
        self.inner = nn.Sequential(nn.Linear(width, width), nn.Dropout(0.3), nn.LayerNorm(width))
        self.head = nn.Linear(width, 6, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        return self.head(self.inner(self.embedding(words)))


class ByStep:
    """A training by steps: a schedule of the learning rate, batches by numpy, dropout by torch's global generator."""

    def __init__(self, folder, training="t", keep=2):
        torch.manual_seed(1)
        self.model = Tied()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.05)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 3, 0.5)
        self.batches = np.random.default_rng(2)
        self.moment = Moment(0)
        self.checkpoints = Checkpoints(folder, training, "step", keep)

    @property
    def parts(self):
        return {
            "model": self.model,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
            "batches": self.batches,
            "dropout": torch.default_generator,
        }

    def resume(self, latest=None):
        self.moment = self.checkpoints.resume(self.parts, latest)
        return self

    def train(self, until, every=2):
        for number in range(self.moment.number + 1, until + 1):
            words = torch.as_tensor(self.batches.integers(0, 6, 16))
            loss = nn.functional.cross_entropy(self.model(words), (words + 1) % 6)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            best = self.moment.best
            if best is None or loss.item() < best.facts["loss"]:
                weights = {name: value.clone() for name, value in self.model.state_dict().items()}
                best = Best(number, {"loss": loss.item()}, weights)
            self.moment = Moment(number, best)
            if number % every == 0:
                self.checkpoints.save(self.moment, self.parts)
        return self


def same(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("stop", [2, 5, 8])
def test_what_trains_by_steps_goes_on_as_if_it_had_not_been_interrupted(stop, tmp_path):
    whole = ByStep(tmp_path / "whole").train(11)
    ByStep(tmp_path / "cut").train(stop)
    torch.rand(100)  # whatever else drew from torch's generator
    resumed = ByStep(tmp_path / "cut").resume()
    assert resumed.moment.number == stop - stop % 2
    resumed.train(11)
    assert same(resumed.model.state_dict(), whole.model.state_dict())
    assert resumed.schedule.get_last_lr() == whole.schedule.get_last_lr()
    assert (resumed.moment.best.number, resumed.moment.best.facts) == (
        whole.moment.best.number,
        whole.moment.best.facts,
    )
    assert same(resumed.moment.best.weights, whole.moment.best.weights)
    assert torch.equal(resumed.model.head.weight, resumed.model.embedding.weight)


def test_the_last_moments_are_kept_and_those_after_an_earlier_one_are_not(tmp_path):
    ByStep(tmp_path).train(8)
    assert names(tmp_path) == ["step6.safetensors", "step8.safetensors"]
    assert ByStep(tmp_path).resume(7).moment.number == 6
    assert ByStep(tmp_path).resume(5).moment.number == 0
    ByStep(tmp_path).resume(5).train(4)
    assert names(tmp_path) == ["step2.safetensors", "step4.safetensors"]
    ByStep(tmp_path, keep=1).resume().train(6)
    assert names(tmp_path) == ["step6.safetensors"]


def test_without_a_moment_all_stays_as_it_is(tmp_path):
    fresh, other = ByStep(tmp_path), ByStep(tmp_path).resume()
    assert (other.moment.number, other.moment.best) == (0, None)
    assert same(fresh.model.state_dict(), other.model.state_dict())


def test_another_training_is_refused(tmp_path):
    ByStep(tmp_path).train(4)
    with pytest.raises(StoreError, match=r"step4\.safetensors is of another training; delete .* and train again$"):
        ByStep(tmp_path, "other").resume()


def test_what_is_no_checkpoint_is_refused(tmp_path):
    ByStep(tmp_path).train(2)
    file, parts = tmp_path / "step2.safetensors", ByStep(tmp_path).parts
    wanted = r"holds no moment of this training; delete .* and train again$"
    with pytest.raises(StoreError, match=wanted):
        read_checkpoint(file, "t", parts | {"another": torch.Generator()})
    with pytest.raises(StoreError, match=wanted):
        read_checkpoint(file, "t", parts | {"model": Tied(width=4)})
    with pytest.raises(StoreError, match=wanted):
        read_checkpoint(tmp_path / "none.safetensors", "t", parts)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StoreError, match=wanted):
        ByStep(tmp_path).resume()


def test_an_interrupted_write_leaves_the_moments_before(tmp_path, monkeypatch):
    training = ByStep(tmp_path).train(4)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("sgp.models.weights.save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        training.train(6)
    assert names(tmp_path) == ["step2.safetensors", "step4.safetensors"]
    assert ByStep(tmp_path).resume().moment.number == 4


def test_a_file_holds_its_moment_whatever_is_trained_afterwards(tmp_path):
    training, again = ByStep(tmp_path / "a"), ByStep(tmp_path / "b")
    write_checkpoint(tmp_path / "file.safetensors", "t", training.train(1).moment, training.parts)
    then = {name: value.clone() for name, value in training.model.state_dict().items()}
    training.train(3)
    read_checkpoint(tmp_path / "file.safetensors", "t", again.parts)
    (tmp_path / "file.safetensors").unlink()
    assert same(again.model.state_dict(), then)


def test_a_training_is_known_by_what_it_is_told_and_given():
    given = torch.arange(6, dtype=torch.float32)
    assert identify(("a", 1), [given]) == identify(("a", 1), [given.clone()])
    others = [
        identify(("a", 2), [given]),
        identify(("a", 1), [given + 1]),
        identify(("a", 1), [given.reshape(2, 3)]),
        identify(("a", 1), [given.bfloat16()]),
        identify(("a", 1)),
    ]
    assert len({identify(("a", 1), [given]), *others}) == 6
