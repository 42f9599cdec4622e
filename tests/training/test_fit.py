"""The training loop and its checkpoints."""

from unittest.mock import Mock

import pytest
import torch
from torch import nn

from sgp.errors import ConfigurationError, StoreError
from sgp.training.fit import Checkpoints, FitContext, LossPart, Schedule, TrainingProgress, fit


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


def parts_of(width=8):
    torch.manual_seed(1)
    model = Tied(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    return {"model": model, "optimizer": optimizer, "batches": torch.Generator().manual_seed(2)}


def train(folder, epochs=6, after=0, rate=0.05, seed=2, validation=None, pieces=1, **limits):
    """Batches come from a generator whose state is part of a checkpoint, dropout from torch's own."""
    torch.manual_seed(1)
    model, rng, dropout = Tied(), torch.Generator().manual_seed(seed), torch.default_generator
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.0)

    def losses(words):
        for part in words.chunk(pieces):
            errors = nn.functional.cross_entropy(model(part), (part + 1) % 6, reduction="sum")
            yield LossPart(errors / len(words), errors.detach(), len(part))

    def validate():
        words = torch.arange(6)
        loss = nn.functional.cross_entropy(model(words), (words + 1) % 6).item()
        return validation if validation is not None else loss

    schedule = Schedule(epochs, lambda epoch, batch: rate / epoch, clip=1.0, **limits)
    context = FitContext(0, "cpu", folder, "t", after)
    batches = lambda epoch: (torch.randint(0, 6, (16,), generator=rng) for _ in range(3))  # noqa: E731
    others = {"batches": rng, "dropout": dropout}
    return fit(model, optimizer, schedule, batches, losses, validate, context, others)


def same(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def equal(one, two):
    return (one.number, one.facts) == (two.number, two.facts) and same(one.weights, two.weights)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_interrupted_training_resumes_as_if_it_had_not_been(tmp_path):
    whole = list(train(tmp_path / "whole"))
    assert [each.number for each in whole] == [1, 2, 3, 4, 5, 6]
    running = train(tmp_path / "cut")
    for _ in range(3):
        next(running)
    running.close()
    torch.rand(100)  # other code may draw from torch's generator
    # The caller recorded three epochs; two, so that the third is returned again; none.
    for after in (3, 2, 0):
        rest = list(train(tmp_path / "cut", after=after))
        assert [each.number for each in rest] == list(range(after + 1, 7))
        assert all(map(equal, rest, whole[after:]))
        assert names(tmp_path / "cut") == ["epoch5.safetensors", "epoch6.safetensors"]


def test_training_lowers_the_loss_by_the_seed_whatever_the_threads_and_ends_when_it_no_longer_falls(tmp_path):
    found = []
    for place, (seed, threads) in enumerate(((3, 1), (3, 2), (4, 1))):
        torch.set_num_threads(threads)
        found.append(list(train(tmp_path / str(place), seed=seed)))
        assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    assert found[0][-1].validation_loss < 0.8 * found[0][0].validation_loss
    assert all(map(equal, found[0], found[1]))
    assert not same(found[0][-1].weights, found[2][-1].weights)
    assert len(list(train(tmp_path, epochs=50, validation=1.0, patience=3))) == 4
    assert list(train(tmp_path, epochs=50, validation=1.0, patience=3, after=4)) == []


def test_a_loss_that_is_not_finite_is_an_error_and_the_epochs_before_stay(tmp_path):
    with pytest.raises(ConfigurationError, match=r"step 2 of epoch 1 has the loss (nan|inf); .* learning_rate below"):
        list(train(tmp_path / "a", rate=1e30))
    with pytest.raises(ConfigurationError, match="epoch 1 has the validation loss nan; expected a finite number"):
        list(train(tmp_path / "b", validation=float("nan")))
    list(train(tmp_path / "c", epochs=2))
    with pytest.raises(ConfigurationError, match="epoch 3 has the validation loss nan"):
        list(train(tmp_path / "c", epochs=3, validation=float("nan"), after=2))
    assert [each.number for each in train(tmp_path / "c", epochs=3, after=2)] == [3]


def test_the_last_checkpoints_are_kept_and_those_of_others_or_damaged_ones_are_refused(tmp_path):
    checkpoints, parts = Checkpoints(tmp_path, "t"), parts_of()
    for number in (2, 4, 6):
        checkpoints.save(TrainingProgress(number, 2, 0.5), parts)
    assert names(tmp_path) == ["epoch4.safetensors", "epoch6.safetensors"]
    assert checkpoints.resume(parts, 5) == (4, 2, 0.5)
    assert checkpoints.resume(parts, 3) == TrainingProgress()
    checkpoints.save(TrainingProgress(2), parts)
    assert names(tmp_path) == ["epoch2.safetensors"]
    checkpoints.save(TrainingProgress(2), parts)
    with pytest.raises(StoreError, match=r"epoch2\.safetensors is of another training; delete .* and train again$"):
        Checkpoints(tmp_path, "other").resume(parts)
    wanted = r"holds no checkpoint of this training; delete .* and train again$"
    for other in (parts | {"another": torch.Generator()}, parts_of(width=4)):
        with pytest.raises(StoreError, match=wanted):
            checkpoints.resume(other)
    file = tmp_path / "epoch2.safetensors"
    for damaged in (file.read_bytes()[:-9], b"", b"no checkpoint"):
        file.write_bytes(damaged)
        with pytest.raises(StoreError, match=wanted):
            checkpoints.resume(parts)


def test_an_interrupted_write_leaves_the_checkpoints_before_which_are_copies_of_the_weights(tmp_path, monkeypatch):
    checkpoints, parts, again = Checkpoints(tmp_path, "t"), parts_of(), parts_of()
    then = {name: value.clone() for name, value in parts["model"].state_dict().items()}
    checkpoints.save(TrainingProgress(1), parts)
    monkeypatch.setattr("sgp.training.fit.save_file", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(TrainingProgress(2), parts)
    assert names(tmp_path) == ["epoch1.safetensors"]
    with torch.no_grad():
        for model in (parts["model"], again["model"]):
            model.embedding.weight.zero_()
    checkpoints.resume(again)
    assert same(again["model"].state_dict(), then)
    assert torch.equal(again["model"].head.weight, again["model"].embedding.weight)
