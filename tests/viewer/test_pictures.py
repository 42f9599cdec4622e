"""Pictures of a task's states, as a notebook shows them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import sgp
from sgp.errors import InputError

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_shows_the_state_and_the_goal(two_blocks):
    first = sgp.picture(two_blocks)._repr_svg_()
    assert first.startswith("<svg")
    assert sgp.picture(two_blocks, two_blocks.init).svg == first
    (after, *_) = two_blocks.successors(two_blocks.init)
    assert sgp.picture(two_blocks, after.state).svg != first
    assert sgp.goal_picture(two_blocks).svg != first


@pytest.fixture
def graph(two_blocks):
    encoder = sgp.WLEncoder.fit(sgp.WLConfig(iterations=1), [(two_blocks, [two_blocks.init])])
    return sgp.coloured_graph(encoder.vocabulary, two_blocks, two_blocks.init)


def test_a_graph_is_drawn_bare_and_with_the_colours_of_a_round(graph):
    texts = [text.text for text in ElementTree.fromstring(sgp.graph_picture(graph).svg).iter(f"{SVG}text")]
    assert set(graph.nodes[:2]) < set(texts)
    for level in (0, 1):
        shown = ElementTree.fromstring(sgp.graph_picture(graph, level).svg)
        texts = [text.text for text in shown.iter(f"{SVG}text")]
        for colour in set(graph.colours[level]):
            assert texts.count(str(colour)) == graph.colours[level].count(colour)
        assert len(list(shown.iter(f"{SVG}line"))) == len(graph.edges)
    with pytest.raises(InputError, match="round 2; choose one from 0 to 1"):
        sgp.graph_picture(graph, 2)


def test_pictures_stand_side_by_side_below_their_captions(two_blocks):
    one = sgp.picture(two_blocks)
    row = ElementTree.fromstring(sgp.side_by_side([("<one>", one), ("two", one), ("three", one)], columns=2).svg)
    inside = row.findall(f"{SVG}svg")
    places = [(float(each.attrib["x"]), float(each.attrib["y"])) for each in inside]
    assert places[0][1] == places[1][1] < places[2][1]
    assert places[0][0] == places[2][0] < places[1][0]
    assert [each.text for each in row.findall(f"{SVG}text")] == ["<one>", "two", "three"]
    right, bottom = (float(row.attrib[name]) for name in ("width", "height"))
    for (x, y), each in zip(places, inside, strict=True):
        assert x + float(each.attrib["width"]) <= right
        assert y + float(each.attrib["height"]) <= bottom
