"""Features in words: every feature has words, and the words tell what the feature is."""

from __future__ import annotations

import numpy as np
import pytest

from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.encoders.marked_words import Depths, TransitionWords
from tests.encoders.test_marked_transition import DOMAINS, SUITE, transitions


@pytest.mark.parametrize("config", [MarkedConfig(), MarkedConfig(3, 2, 2)], ids=["default", "deep"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_hashes_met_in_words_are_those_of_the_kernels(domain, config):
    depths = Depths(config.iterations, config.open_atoms, config.closed_atoms)
    count = 0
    for task, state, choice in transitions(SUITE.problems(domain, "train")[2::5][:3]):
        encoder, _ = MarkedTransitionEncoder.fit(config, [(task, state, choice)])
        graph = encoder._graph(task)
        words = TransitionWords(depths, task, state, graph.object_colours, graph.kind, encoder.walked)
        embedded = encoder.embed(task, state, choice)
        for row, successor in enumerate(choice):
            columns = embedded.columns[embedded.first[row] : embedded.first[row + 1]]
            assert set(words.of(successor.state)) == set(map(int, encoder.hashes[columns]))
            count += len(columns)
    assert count > 100


def test_what_a_stacked_block_is_told_to_change(two_blocks):
    held = two_blocks.successors(two_blocks.init)[0].state
    choice = two_blocks.successors(held)
    encoder, (embedded,) = MarkedTransitionEncoder.fit(MarkedConfig(1, 1, 0), [(two_blocks, held, choice)])
    said = {
        str(choice[row].actions[0]): set(encoder.in_words(two_blocks, held, [choice[row]], columns))
        for row, columns in enumerate(np.split(embedded.columns, embedded.first[1:-1]))
    }
    assert "(on a b) becomes true, a goal" in said["(stack a b)"]
    assert "(clear b) becomes false" in said["(stack a b)"]
    assert "(ontable a) becomes true" in said["(put-down a)"]
    assert not any("(on a b) becomes" in words for words in said["(put-down a)"])
    assert "b changes, beside it (ontable b)" in said["(stack a b)"]
    assert encoder.in_words(two_blocks, held, choice, [encoder.dimension - 1]) == ["the goal is reached"]
