"""Features in words: every feature has a correct description."""

from __future__ import annotations

import numpy as np
import pytest

import sgp
from sgp.encoders.fsf import FSFEncoder
from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.encoders.marked_words import Depths, TransitionWords
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.planning.pddl import Problem
from tests.conftest import COURIER, COURIER_PROBLEM
from tests.encoders.test_marked_transition import CONFIGS, DOMAINS, SUITE, transitions

COURIER_TASK = Problem("courier", COURIER, COURIER_PROBLEM)  # types, constants, a negative goal


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("domain", [*DOMAINS, "courier"])
def test_descriptions_have_the_hashes_of_the_kernels(domain, config):
    """Descriptions and kernels share their hash functions; the independent oracle is in test_marked_transition."""
    depths = Depths(config.iterations, config.open_atoms, config.closed_atoms, config.passed_atoms)
    problems = SUITE.problems(domain, "train")[2::5][:3] if domain in DOMAINS else [COURIER_TASK]
    count = 0
    for task, state, choice in transitions(problems):
        encoder, _ = MarkedTransitionEncoder.fit(config, [(task, state, choice)])
        graph = encoder._graph(task)
        words = TransitionWords(depths, task, state, graph.object_colours, graph.kind, encoder.walked)
        embedded = encoder.embed(task, state, choice)
        for row, successor in enumerate(choice):
            columns = embedded.columns[embedded.first[row] : embedded.first[row + 1]]
            assert set(words.of(successor.state)) == set(map(int, encoder.hashes[columns]))
            count += len(columns)
    assert count > (100 if domain in DOMAINS else 10)


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


def counted(encoder, task, state):
    """Return a state's histogram in words; colours of several levels may have equal descriptions."""
    (row,) = encoder.embed(task, [state])
    columns = np.flatnonzero(row).tolist()
    said = encoder.in_words(task, columns)
    return sorted((words, int(row[column])) for words, column in zip(said, columns, strict=True))


def test_first_colours_count_objects_and_atoms(two_blocks):
    held = two_blocks.successors(two_blocks.init)[0].state  # a is held, b is on the table
    encoder = WLEncoder.fit(WLConfig(iterations=0), [(two_blocks, [two_blocks.init, held])])
    assert counted(encoder, two_blocks, two_blocks.init) == [
        ("atoms (clear x)", 2),
        ("atoms (handempty)", 1),
        ("atoms (on x y), an open goal", 1),
        ("atoms (ontable x)", 2),
        ("objects", 2),
    ]
    assert ("atoms (holding x)", 1) in counted(encoder, two_blocks, held)


def test_further_colours_tell_the_neighbourhood(two_blocks):
    held = two_blocks.successors(two_blocks.init)[0].state
    encoder = WLEncoder.fit(WLConfig(iterations=2), [(two_blocks, [held])])
    said = dict(counted(encoder, two_blocks, held))
    assert said["objects x with (on x ·), an open goal, (holding x)"] == 1  # a
    assert said["objects x with (on · x), an open goal, (clear x), (ontable x)"] == 1  # b
    around_b = "x with (on · x), an open goal, (clear x), (ontable x)"
    assert f"atoms (clear x); {around_b}" in said
    assert all(words for words in encoder.in_words(two_blocks, range(encoder.dimension)))


def test_pruned_vocabularies_have_words_for_what_is_left(three_blocks):
    states = [three_blocks.init, *(each.state for each in three_blocks.successors(three_blocks.init))]
    encoder = WLEncoder.fit(WLConfig(pruning="i-m"), [(three_blocks, states)])
    assert len(encoder.in_words(three_blocks, range(encoder.dimension))) == encoder.dimension


def test_slots_are_named_by_their_objects(two_blocks):
    encoder = FSFEncoder(sgp.get_domain("blocksworld"), 3)
    assert encoder.in_words(two_blocks, [0, 1, 2, 3]) == [
        "the global variable",
        "the slot of a",
        "the slot of b",
        "a slot without an object",
    ]
