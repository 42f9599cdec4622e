"""Pictures of a task's states, as shown in notebooks."""

import xml.etree.ElementTree as ElementTree

import pytest

import sgp
from sgp.errors import ConfigurationError, InputError
from tests.conftest import blocks_problem

SVG = "{http://www.w3.org/2000/svg}"


def test_pictures_show_the_state_or_the_goal_and_stand_side_by_side_below_their_captions(two_blocks):
    first, start = sgp.viz.picture(two_blocks)._repr_svg_(), two_blocks.init
    assert first.startswith("<svg")
    assert sgp.viz.picture(two_blocks, start).svg == first
    (after, *_) = two_blocks.successors(start)
    assert sgp.viz.picture(two_blocks, after.state).svg != first
    assert sgp.viz.goal_picture(two_blocks).svg != first
    assert shown(sgp.viz.lookahead_picture(two_blocks, []))[0] == ["the state"]
    assert "the state" not in shown(sgp.viz.encoding_picture(two_blocks, start, []))[0]
    one = sgp.viz.picture(two_blocks)
    row = ElementTree.fromstring(sgp.viz.side_by_side([("<one>", one), ("two", one), ("three", one)], columns=2).svg)
    inside = row.findall(f"{SVG}svg")
    places = [(float(each.attrib["x"]), float(each.attrib["y"])) for each in inside]
    assert places[0][1] == places[1][1] < places[2][1]
    assert places[0][0] == places[2][0] < places[1][0]
    assert [each.text for each in row.findall(f"{SVG}text")] == ["<one>", "two", "three"]
    right, bottom = (float(row.attrib[name]) for name in ("width", "height"))
    for (x, y), each in zip(places, inside, strict=True):
        assert x + float(each.attrib["width"]) <= right
        assert y + float(each.attrib["height"]) <= bottom


@pytest.fixture
def graph(two_blocks):
    encoder = sgp.data.WLEncoder.fit(sgp.data.WLConfig(iterations=1), [(two_blocks, [two_blocks.init])])
    return sgp.data.coloured_graph(encoder.vocabulary, two_blocks, two_blocks.init)


def test_a_graph_is_drawn_bare_and_with_the_colours_of_a_round(graph):
    texts = [text.text for text in ElementTree.fromstring(sgp.viz.graph_picture(graph).svg).iter(f"{SVG}text")]
    assert set(graph.nodes[:2]) < set(texts)
    for level in (0, 1):
        shown = ElementTree.fromstring(sgp.viz.graph_picture(graph, level).svg)
        texts = [text.text for text in shown.iter(f"{SVG}text")]
        for colour in set(graph.colours[level]):
            assert texts.count(str(colour)) == graph.colours[level].count(colour)
        assert len(list(shown.iter(f"{SVG}line"))) == len(graph.edges)
    with pytest.raises(InputError, match="round 2; choose one from 0 to 1"):
        sgp.viz.graph_picture(graph, 2)


def shown(picture):
    root = ElementTree.fromstring(picture.svg)
    titles = [part.find(f"{SVG}title").text for part in root.iter(f"{SVG}g")]
    return [text.text for text in root.iter(f"{SVG}text")], titles


def test_a_lookahead_is_drawn_as_a_tree():
    task = sgp.Task(blocks_problem("a b c", "(ontable a) (on c a) (clear c) (ontable b) (clear b)", "(on c b)"))
    candidates = sgp.successors_for("aiw")(task, task.init)
    texts, titles = shown(sgp.viz.lookahead_picture(task, candidates))
    assert texts[0] == "the state"
    assert sorted(texts[1:]) == sorted(f"{n} {each.actions[-1]}" for n, each in enumerate(candidates, start=1))
    assert {f"{n} {each.actions[-1]}: depth {len(each.actions)}" for n, each in enumerate(candidates, start=1)} == {
        title.removesuffix(", a goal state") for title in titles[1:]
    }
    goals = sum(task.is_goal(each.state) for each in candidates)
    assert goals > 0
    assert sum(title.endswith(", a goal state") for title in titles) == goals
    root = ElementTree.fromstring(sgp.viz.lookahead_picture(task, candidates).svg)
    assert len(list(root.iter(f"{SVG}path"))) == len(candidates)
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    for box in root.iter(f"{SVG}rect"):
        x, y, across, down = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert (x + across <= width, y + down <= height) == (True, True)


@pytest.mark.parametrize("depths", [True, False])
def test_every_tuple_of_an_encoded_tree_is_drawn(three_blocks, depths):
    candidates = sgp.successors_for("aiw")(three_blocks, three_blocks.init)
    config = sgp.data.TreeConfig(depths=depths)
    trees = sgp.data.tree_encoder(three_blocks.domain_text, config).encode(three_blocks, three_blocks.init, candidates)
    texts, titles = shown(sgp.viz.encoding_picture(three_blocks, three_blocks.init, candidates, config))
    names = [thing.name for thing in three_blocks.objects]
    names += [f"{n} {each.actions[-1]}" for n, each in enumerate(candidates, start=1)]
    names += [f"depth {n}" for n in range(1, int(trees.depths[0]) + 1)]
    assert all(name in texts for name in names)
    assert len(names) == trees.graphs.objects[0]
    assert sorted(titles) == sorted(
        f"{name.lstrip(':')}({', '.join(names[node] for node in row)})"
        for name, relation in trees.graphs.relations.items()
        for row in relation.arguments
    )


def test_only_graphs_whose_candidates_are_nodes_are_drawn(three_blocks, courier):
    start = three_blocks, three_blocks.init
    successors = three_blocks.successors(three_blocks.init)
    applied = sgp.viz.encoding_picture(*start, successors, sgp.data.TreeConfig("actions"))
    assert any("applied" in title for title in shown(applied)[1])
    words = "trees' encoding is external, whose candidates are many nodes; expected changes"
    with pytest.raises(InputError, match=words):
        sgp.viz.encoding_picture(*start, successors, sgp.data.TreeConfig("external"))
    with pytest.raises(InputError, match="has no graph to draw: the goal wants"):
        sgp.viz.encoding_picture(courier, courier.init, [])
    with pytest.raises(ConfigurationError, match="expected candidates one-step"):
        sgp.viz.encoding_picture(*start, sgp.successors_for("iw")(*start), sgp.data.TreeConfig("actions"))
