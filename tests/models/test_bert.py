"""The forward pass against published vectors stands in `test_sentences.py`; here is what needs no weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from sgp.errors import StoreError
from sgp.models.bert import SHAPES, Bert, _buckets, _in_file, read_bert

SMALL = {"layers": 2, "hidden": 24, "heads": 4, "tokens": 50, "places": 40}


def small(key):
    torch.manual_seed(3)
    return Bert(replace(SHAPES[key], **SMALL)).eval()


@pytest.mark.parametrize("key", SHAPES)
def test_vectors_have_unit_length_and_padding_says_nothing(key):
    model = small(key)
    texts = [[1, 2, 3], list(range(30)), [4]]
    together = model.vectors(texts)
    assert together.shape == (3, 24)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert np.allclose(together, np.concatenate([model.vectors([text]) for text in texts]), atol=1e-6)


@pytest.mark.parametrize("key", SHAPES)
def test_the_order_of_tokens_matters(key):
    one, other = small(key).vectors([[1, 2, 3, 4], [1, 3, 2, 4]])
    assert not np.allclose(one, other, atol=1e-3)


def test_near_tokens_have_a_bucket_each_and_far_ones_share_one():
    ways = _buckets(300, 32)
    assert ways[:8, 0].tolist() == list(range(8))
    assert ways[0, 1:8].tolist() == [16 + way for way in range(1, 8)]
    assert ways[8:299, 0].diff().min() == 0
    assert (ways[11, 0], ways[12, 0], ways[127, 0], ways[299, 0]) == (8, 9, 15, 15)
    assert (ways.max(), ways[0, 299]) == (31, 31)


@pytest.mark.parametrize("key", SHAPES)
def test_weights_are_read_by_the_names_that_they_have_in_files(key, tmp_path):
    model = small(key)
    state = {_in_file(name, model.shape): value for name, value in model.state_dict().items()}
    save_file({**state, "pooler.dense.bias": torch.zeros(24)}, tmp_path / "some.safetensors")
    before = torch.random.get_rng_state()
    read = read_bert(tmp_path / "some.safetensors", model.shape, "cpu")
    assert torch.equal(before, torch.random.get_rng_state()), "a training beside it draws what it would have drawn"
    assert not any(weights.requires_grad for weights in read.parameters())
    assert np.array_equal(read.vectors([[1, 2, 3]]), model.vectors([[1, 2, 3]]))


def test_a_file_of_another_network_is_refused(tmp_path):
    model = small("minilm")
    with pytest.raises(StoreError, match="holds no weights of this encoder"):
        read_bert(tmp_path / "missing.safetensors", model.shape, "cpu")
    save_file(model.state_dict(), tmp_path / "ours.safetensors")
    with pytest.raises(StoreError, match="holds no weights of this encoder"):
        read_bert(tmp_path / "ours.safetensors", model.shape, "cpu")
    state = {_in_file(name, model.shape): value for name, value in model.state_dict().items()}
    save_file(state, tmp_path / "small.safetensors")
    with pytest.raises(StoreError, match="holds no weights of this encoder"):
        read_bert(tmp_path / "small.safetensors", SHAPES["minilm"], "cpu")
