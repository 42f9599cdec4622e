import hashlib
import importlib.util
import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from sgp.domains import words_of
from sgp.domains.domain import Words
from sgp.encoders.text import (
    MPNET_FOLDER,
    PRETRAINED,
    SENTENCE_ENCODERS,
    CachedSentences,
    HashedWords,
    Symbols,
    TextEncoder,
    sentence_vectors,
)
from sgp.errors import ConfigurationError, MissingLibrary, StoreError
from sgp.planning.pddl import Action
from sgp.planning.task import replay

HERE = Path(__file__).parent
TEXTS = ["b1 is on b2", "b2 is clear", "der Kran fährt", ""]


@pytest.fixture(scope="module", params=PRETRAINED)
def pretrained(request):
    """Each pretrained encoder whose files are installed."""
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("sentence-transformers is missing; install the extra 'text'")
    if request.param == "mpnet" and MPNET_FOLDER not in os.environ:
        pytest.skip(f"{MPNET_FOLDER} names no folder")
    return sentence_vectors(request.param)


def reference(key):
    """Texts, and their vectors as computed by `reference_vectors.py`."""
    with safe_open(HERE / f"{key}-vectors.safetensors", "np") as file:
        return json.loads(file.metadata()["texts"]), file.get_tensor("vectors")


def test_vectors_are_the_reference_and_no_network_is_tried(pretrained, monkeypatch):
    def tried(*args):
        raise AssertionError(f"network: {args}")

    monkeypatch.setattr(socket, "getaddrinfo", tried)
    monkeypatch.setattr(socket.socket, "connect", tried)
    texts, expected = reference(pretrained.key)
    vectors = pretrained.vectors(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), pretrained.dimension), np.float32)
    assert np.abs(vectors - expected).max() < 1e-5
    assert PRETRAINED[pretrained.key].sha256["model.safetensors"] in pretrained.identity


def test_a_vector_depends_neither_on_other_texts_nor_on_the_order(pretrained):
    texts, _ = reference(pretrained.key)
    alone = np.concatenate([pretrained.vectors([text]) for text in texts])
    many = pretrained.vectors(texts[::-1] + texts[:3] * 5)
    assert np.array_equal(many[: len(texts)][::-1], alone)
    assert np.allclose(np.linalg.norm(many, axis=1), 1, atol=1e-6)
    assert pretrained.vectors([]).shape == (0, pretrained.dimension)


def test_a_text_beyond_the_limit_is_refused_and_never_cut(pretrained):
    longest = reference(pretrained.key)[0][-1]
    limit = pretrained.limit
    assert pretrained.lengths(["", "block", longest, longest + " block"]) == [2, 3, limit, limit + 1]
    refusal = rf"{limit + 2} tokens \('first block .* \.\.\.'\); expected at most {limit} .*mode atoms"
    with pytest.raises(ConfigurationError, match=refusal):
        pretrained.vectors(["block", "first " + longest + " last"])


def test_an_encoder_is_chosen_by_name(monkeypatch):
    assert SENTENCE_ENCODERS == ("minilm", "mpnet", "hashed", "symbols")
    assert sentence_vectors("hashed").identity == HashedWords().identity
    with pytest.raises(ConfigurationError, match=r"'minillm'; expected one of minilm, .* \(did you mean 'minilm'"):
        sentence_vectors("minillm")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingLibrary, match=r'pip install "sgp-planning\[text\]"'):
        sentence_vectors("minilm")


def test_files_with_another_sha256_are_refused(tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers")
    monkeypatch.delenv(MPNET_FOLDER, raising=False)
    with pytest.raises(ConfigurationError, match=f"download .*all-mpnet-base-v2 .* set .* {MPNET_FOLDER} to its f"):
        sentence_vectors("mpnet")
    monkeypatch.setenv(MPNET_FOLDER, str(tmp_path))
    with pytest.raises(StoreError, match=r"model\.safetensors of .* sha256 none, it is missing; .* download it again"):
        sentence_vectors("mpnet")
    contents = {"model.safetensors": b"weights", "tokenizer.json": b"{}"}
    sha256 = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    small = replace(PRETRAINED["mpnet"], sha256=sha256)
    with pytest.raises(StoreError, match="is not a folder of sentence-transformers"):
        small.vectors(["block"])
    (tmp_path / "tokenizer.json").write_bytes(b"[]")
    found = hashlib.sha256(b"[]").hexdigest()
    with pytest.raises(StoreError, match=rf"has sha256 {found}; expected {sha256['tokenizer.json']}"):
        small.folder()


def test_hashed_words_are_the_same_in_every_process():
    bits = np.unpackbits(np.frombuffer(hashlib.sha256(b"0  ").digest(), np.uint8))  # a pair of empty words
    assert np.array_equal(HashedWords().vectors([""])[0], (2.0 * bits - 1) / 16)
    assert HashedWords(300).identity != HashedWords().identity


def test_hashed_words_tell_the_order_of_words_and_similar_texts_are_near():
    texts = ["b1 is on b2", "b2 is on b1", "b1 is on b3", "the crane is free", "", "crane"]
    vectors = HashedWords().vectors(texts)
    assert (vectors.shape, vectors.dtype) == ((6, 256), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    near = vectors @ vectors.T
    assert (near[~np.eye(6, dtype=bool)] < 0.99).all()
    assert min(near[0, 1], near[0, 2]) > 0.4 > near[0, 3]
    assert np.array_equal(vectors[2], HashedWords().vectors(texts[2:3])[0])
    assert HashedWords().vectors([]).shape == (0, 256)


@pytest.mark.parametrize("dimension", [64, 255, 600])
def test_hashed_words_have_any_dimension_from_64(dimension):
    vectors = HashedWords(dimension).vectors(["lift", "drop"])
    assert vectors.shape == (2, dimension)
    assert abs(vectors[0] @ vectors[1]) < 0.5
    with pytest.raises(ConfigurationError, match="hashed words have 10 numbers; expected at least 64"):
        HashedWords(10)
    assert HashedWords().lengths(["b1 is on b2.", "", "word " * 3000]) == [5, 0, 3000]


class Counting(HashedWords):
    def __init__(self):
        super().__init__()
        self.computed = []

    def vectors(self, texts):
        self.computed += texts
        return super().vectors(texts)


def test_the_cache_computes_each_text_once():
    counting = Counting()
    cache = CachedSentences(counting)
    assert (cache.key, cache.dimension, cache.limit, cache.identity) == ("hashed", 256, None, HashedWords().identity)
    assert cache.lengths(TEXTS) == HashedWords().lengths(TEXTS)
    vectors = cache.vectors([*TEXTS, *TEXTS[::-1]])
    assert np.array_equal(vectors, HashedWords().vectors([*TEXTS, *TEXTS[::-1]]))
    vectors[:] = 0  # the caller's array, not the cache's
    assert np.array_equal(cache.vectors(["new", TEXTS[2]]), HashedWords().vectors(["new", TEXTS[2]]))
    assert counting.computed == [*TEXTS, "new"]
    assert cache.vectors([]).shape == (0, 256)
    cache.save()  # without a file nothing is written


def test_the_cache_is_stored_for_the_next_process(tmp_path):
    file = tmp_path / "folder" / "cache.safetensors"
    first = CachedSentences(HashedWords(), file)
    first.save()
    assert not file.exists()
    first.vectors(TEXTS)
    first.save()
    counting = Counting()
    later = CachedSentences(counting, file)
    assert len(later) == len(TEXTS)
    assert np.array_equal(later.vectors(TEXTS), HashedWords().vectors(TEXTS))
    written = file.stat().st_mtime_ns, file.stat().st_ino
    later.save()
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == written, "nothing was new"
    later.vectors(["new", *TEXTS])
    later.save()
    assert np.array_equal(CachedSentences(counting, file).vectors(["new"]), HashedWords().vectors(["new"]))
    assert counting.computed == ["new"]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("content", [b"", b"\x08\0\0\0\0\0\0\0{}", b"no vectors"])
def test_a_damaged_cache_or_one_of_another_encoder_is_refused(tmp_path, content):
    file = tmp_path / "cache.safetensors"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="holds no vectors of sentences"):
        CachedSentences(HashedWords(), file)
    save_file({"other": np.zeros(3)}, file)
    with pytest.raises(StoreError, match="holds no vectors of sentences"):
        CachedSentences(HashedWords(), file)
    file.unlink()
    cache = CachedSentences(HashedWords(), file)
    cache.vectors(TEXTS)
    cache.save()
    with pytest.raises(StoreError, match="hashed with 256 numbers'; expected 'hashed with 300 numbers'; delete it"):
        CachedSentences(HashedWords(300), file)


class Short(Symbols):
    limit = 10

    def lengths(self, texts):
        return [len(text.split()) for text in texts]


def encoder_of(task, mode="atoms", vectors=None):
    return TextEncoder(vectors or Symbols(64), words_of(task.domain_text), task.domain_text, mode)


def test_a_states_embedding_is_the_sum_of_its_atoms_sentences(three_blocks):
    encoder, symbols = encoder_of(three_blocks), Symbols(64)
    plan = [Action("unstack", ("c", "a")), Action("put-down", ("c",)), Action("pick-up", ("b",))]
    states = replay(three_blocks, plan)
    found = encoder.embed(three_blocks, states)
    assert found.shape == (4, 64)
    last = ["c is on the table", "a is on the table", "a is clear", "c is clear", "the hand is holding b"]
    assert sorted(encoder.text(three_blocks, states[-1]).split(". ")) == sorted(last)
    assert np.allclose(found[-1], symbols.vectors(last).sum(axis=0), atol=1e-6)
    atoms = [three_blocks.fluent(number) for number in three_blocks.fluents(states[-1])]
    assert np.allclose(found[-1], encoder.embed_atoms(atoms))


def test_one_text_a_state_in_mode_sentence(three_blocks):
    encoder = encoder_of(three_blocks, "sentence")
    text = encoder.text(three_blocks, three_blocks.init)
    assert np.array_equal(encoder.embed(three_blocks, [three_blocks.init])[0], Symbols(64).vectors([text])[0])
    assert np.array_equal(encoder.embed_goal(three_blocks), Symbols(64).vectors(["a is on b. b is on c"])[0])
    action = encoder.embed_actions([Action("pick-up", ("b",))])
    assert np.array_equal(action, Symbols(64).vectors(["pick b up from the table"]))


def test_static_facts_are_not_said_and_what_has_no_sentence_is_named(courier, caplog):
    encoder = TextEncoder(Symbols(64), Words(atoms={"at": "{0} is {not}at {1}"}), courier.domain_text)
    (record,) = caplog.records
    assert record.getMessage().startswith("closed, in, road, drive, load, unload of domain courier have no sentence")
    text = encoder.text(courier, courier.init)
    assert "road" not in text
    assert "q1 is at depot" in text


def test_a_text_over_the_limit_is_told_with_the_remedy(three_blocks):
    encoder = encoder_of(three_blocks, "sentence", Short(64))
    assert encoder.refuses(three_blocks) == (
        "the text of its initial state has 24 tokens, and the encoder reads 10: embed it atom by atom (mode atoms)"
    )
    assert encoder_of(three_blocks, "atoms", Short(64)).refuses(three_blocks) is None
