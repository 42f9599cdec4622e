from __future__ import annotations

from collections import Counter

import pytest

import sgp
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.encoders.wl_vocabulary import coloured_graph
from sgp.planning.task import Task


def two_steps(task):
    return [task.init, *(each.state for each in task.successors(task.init))]


@pytest.mark.parametrize("domain", sgp.load_suite("state-centric").domains)
@pytest.mark.parametrize("hash_", ["multiset", "set"])
def test_the_nodes_colours_counted_are_the_embedding(domain, hash_):
    suite = sgp.load_suite("state-centric")
    small, larger = Task(suite.problems(domain, "train")[1]), Task(suite.problems(domain, "interpolation")[-1])
    encoder = WLEncoder.fit(WLConfig(hash=hash_), [(small, two_steps(small))])
    for task in (small, larger):
        for state in two_steps(task):
            graph = coloured_graph(encoder.vocabulary, task, state)
            (row,) = encoder.embed(task, [state])
            counted = Counter(colour for colours in graph.colours for colour in colours if colour >= 0)
            assert counted == {colour: count for colour, count in enumerate(row.tolist()) if count}


def test_negated_goals_have_no_edges_and_say_what_they_are(courier):
    encoder = WLEncoder.fit(WLConfig(iterations=1), [(courier, [courier.init])])
    graph = coloured_graph(encoder.vocabulary, courier, courier.init)
    kinds = dict(zip(graph.nodes, graph.kinds, strict=True))
    assert kinds["(in q1 v1)"] == "not goal, open" or kinds["(in q1 v1)"] == "not goal, true"
    assert kinds["(at q1 shop)"] == "goal, open"
    assert kinds["v1"] == "object"
    negated = graph.nodes.index("(in q1 v1)")
    assert all(atom != negated for atom, _, _ in graph.edges)
    assert (graph.nodes.index("(at q1 shop)"), graph.nodes.index("shop"), 2) in graph.edges


def test_names_tell_what_a_colour_stands_for(two_blocks):
    encoder = WLEncoder.fit(WLConfig(), [(two_blocks, [two_blocks.init])])
    graph = coloured_graph(encoder.vocabulary, two_blocks, two_blocks.init)
    colour = graph.colours[1][graph.nodes.index("(on a b)")]
    assert graph.names[colour] == "on (goal, open) with [object at argument 1; object at argument 2]"
    later = graph.names[graph.colours[2][graph.nodes.index("(on a b)")]]
    assert later.startswith(f"colour {colour} with [colour ")
