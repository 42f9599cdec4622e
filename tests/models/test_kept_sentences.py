from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import save_file

from sgp.errors import StoreError
from sgp.models.kept_sentences import KeptSentences
from sgp.models.sentences import HashedWords, SentenceVectors

TEXTS = ["b1 is on b2", "b2 is clear", "der Kran fährt", ""]


class Counting(HashedWords):
    """Tells what it was asked for."""

    def __init__(self, dimension=256):
        super().__init__(dimension)
        self.asked = []

    def vectors(self, texts):
        self.asked += texts
        return super().vectors(texts)


def test_each_text_is_asked_for_once():
    counting = Counting()
    kept: SentenceVectors = KeptSentences(counting)
    assert np.array_equal(kept.vectors([*TEXTS, *TEXTS[::-1]]), HashedWords().vectors([*TEXTS, *TEXTS[::-1]]))
    assert np.array_equal(kept.vectors(["new", TEXTS[2]]), HashedWords().vectors(["new", TEXTS[2]]))
    assert counting.asked == [*TEXTS, "new"]
    assert kept.vectors([]).shape == (0, 256)


def test_what_is_given_away_can_be_changed():
    kept = KeptSentences(HashedWords())
    kept.vectors(TEXTS)[:] = 0
    assert np.array_equal(kept.vectors(TEXTS), HashedWords().vectors(TEXTS))


def test_it_is_the_encoder_that_it_asks():
    kept = KeptSentences(HashedWords(300))
    assert (kept.key, kept.dimension, kept.limit) == ("hashed", 300, None)
    assert kept.identity == HashedWords(300).identity
    assert kept.lengths(TEXTS) == HashedWords().lengths(TEXTS)


def test_a_file_knows_them_for_the_next_process(tmp_path):
    file = tmp_path / "folder" / "kept.safetensors"
    first = KeptSentences(HashedWords(), file, "plain")
    first.vectors(TEXTS)
    assert not file.exists()
    first.save()
    counting = Counting()
    later = KeptSentences(counting, file, "plain")
    assert len(later) == len(TEXTS)
    assert np.array_equal(later.vectors(["new", *TEXTS]), HashedWords().vectors(["new", *TEXTS]))
    assert counting.asked == ["new"]
    later.save()
    counting = Counting()
    assert np.array_equal(KeptSentences(counting, file, "plain").vectors(["new"]), HashedWords().vectors(["new"]))
    assert not counting.asked


def test_it_is_written_where_something_is_new_alone(tmp_path):
    file = tmp_path / "kept.safetensors"
    empty = KeptSentences(HashedWords(), file)
    empty.save()
    assert not file.exists()
    empty.vectors(TEXTS)
    empty.save()
    written = file.stat().st_mtime_ns, file.stat().st_ino
    empty.vectors(TEXTS)
    empty.save()
    again = KeptSentences(HashedWords(), file)
    again.vectors(TEXTS[:2])
    again.save()
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == written
    KeptSentences(HashedWords()).save()


def test_of_two_that_write_the_last_ones_file_stays(tmp_path):
    file = tmp_path / "kept.safetensors"
    one, other = (KeptSentences(HashedWords(), file) for _ in range(2))
    one.vectors(TEXTS[:3])
    other.vectors(TEXTS[2:])
    one.save()
    other.save()
    counting = Counting()
    assert np.array_equal(KeptSentences(counting, file).vectors(TEXTS), HashedWords().vectors(TEXTS))
    assert counting.asked == TEXTS[:2]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_file_of_another_encoder_or_template_is_refused(tmp_path):
    file = tmp_path / "kept.safetensors"
    kept = KeptSentences(HashedWords(), file, "plain")
    kept.vectors(TEXTS)
    kept.save()
    other = HashedWords(300).identity
    with pytest.raises(
        StoreError, match=f"'{HashedWords().identity}' and .* expected encoder '{other}' .*; delete it or"
    ):
        KeptSentences(HashedWords(300), file, "plain")
    with pytest.raises(StoreError, match=r"template 'plain'; expected .* template 'pddl'; delete it or"):
        KeptSentences(HashedWords(), file, "pddl")


@pytest.mark.parametrize("content", [b"", b"\x08\0\0\0\0\0\0\0{}", b"no vectors"])
def test_a_damaged_file_is_refused(tmp_path, content):
    file = tmp_path / "kept.safetensors"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="holds no vectors of sentences"):
        KeptSentences(HashedWords(), file)
    save_file({"other": np.zeros(3)}, file)
    with pytest.raises(StoreError, match="holds no vectors of sentences"):
        KeptSentences(HashedWords(), file)
