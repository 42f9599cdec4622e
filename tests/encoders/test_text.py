"""States as sentences: the sum over atoms is exact, texts keep the order of atoms, cut texts are reported."""

from __future__ import annotations

import numpy as np

from sgp.domains import words_of
from sgp.encoders.sentences import Symbols
from sgp.encoders.text import TextEncoder
from sgp.planning.domain import Words
from sgp.planning.pddl import Action, Problem, read_domain
from sgp.planning.task import Task, replay
from tests.conftest import COURIER, COURIER_PROBLEM


class Short(Symbols):
    """Symbols with a limit of ten words."""

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
    assert np.allclose(
        found[-1], encoder.embed_atoms([three_blocks.fluent(n) for n in three_blocks.fluents(states[-1])])
    )
    # The embeddings depend neither on the order of states nor on the batch size.
    assert np.array_equal(encoder_of(three_blocks).embed(three_blocks, states[::-1])[::-1], found)
    assert np.array_equal(encoder.embed(three_blocks, states[2:3])[0], found[2])


def test_one_text_a_state_in_mode_sentence(three_blocks):
    encoder = encoder_of(three_blocks, "sentence")
    text = encoder.text(three_blocks, three_blocks.init)
    assert np.array_equal(encoder.embed(three_blocks, [three_blocks.init])[0], Symbols(64).vectors([text])[0])
    assert np.array_equal(encoder.embed_goal(three_blocks), Symbols(64).vectors(["a is on b. b is on c"])[0])
    assert np.array_equal(
        encoder.embed_actions([Action("pick-up", ("b",))]), Symbols(64).vectors(["pick b up from the table"])
    )


def test_static_facts_are_not_said():
    task = Task(Problem("courier", COURIER, COURIER_PROBLEM))
    encoder = TextEncoder(Symbols(64), Words(), task.domain_text)
    assert "(road depot shop)" not in encoder.text(task, task.init)
    assert "(at q1 depot)" in encoder.text(task, task.init)


def test_what_has_no_sentence_is_named(caplog):
    TextEncoder(Symbols(64), Words(atoms={"at": "{0} is {not}at {1}"}), read_domain(COURIER))
    (record,) = caplog.records
    assert record.getMessage().startswith("closed, in, road, drive, load, unload of domain courier have no sentence")


def test_a_text_over_the_limit_is_told_with_the_remedy(three_blocks):
    encoder = encoder_of(three_blocks, "sentence", Short(64))
    assert encoder.refuses(three_blocks) == (
        "the text of its initial state has 24 tokens, and the encoder reads 10: embed it atom by atom (mode atoms)"
    )
    assert encoder_of(three_blocks, "atoms", Short(64)).refuses(three_blocks) is None
