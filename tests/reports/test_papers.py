"""Papers beside our measurements: found by their files, their tables by number or short form."""

from __future__ import annotations

import pytest

import sgp
from sgp.errors import InputError
from sgp.evaluation.scores import Score, load_scores, to_frame
from sgp.methods import all_methods
from sgp.reports.papers import all_papers, find_table, get_paper, listed, table_inputs


def test_every_paper_has_its_numbers_and_the_papers_of_the_methods_are_among_them():
    keys = {paper.key for paper in all_papers()}
    assert {method.paper for method in all_methods()} - {""} <= keys
    for paper in all_papers():
        assert set(load_scores(f"published/{paper.key}").paper) == {paper.key}
        assert {*paper.beside} <= set(paper.tables)
        assert paper.suite in {*sgp.suite_names(), "track"}, "the track's suite need not be installed"
        assert all(len(paper.printed(number)) for number in paper.tables)


def test_a_table_has_a_long_and_a_short_name():
    for names in ((), ("1",), ("state-centric", "1")):
        paper, number = find_table(names)
        assert (paper.key, number) == ("state-centric", "1")
    for names in (("scaling",), ("dynamic-validation", "1")):
        paper, number = find_table(names)
        assert (paper.key, number) == ("dynamic-validation", "1")
    shorts = [form for paper in all_papers() for table in paper.tables.values() for form in table.get("short", ())]
    assert len(shorts) == len(set(shorts)), "a short form means one table"
    assert ("state-centric", "5", "problems", "5") in set(listed())
    with pytest.raises(InputError, match="there is no table 'state-centric' here; expected 1, 3, 4, 5, scaling, or a"):
        find_table(["state-centric"])
    with pytest.raises(InputError, match="unknown paper 'magic'; expected one of aiw-ad, dynamic-validation, embed"):
        get_paper("magic")


def symt_scores(variant, domain, **facts):
    words = {"method": "symt", "suite": "state-centric", "split": "extrapolation", "metric": "coverage", "value": 0.5}
    return [Score(variant=variant, domain=domain, seed=seed, count=18, **(words | facts)) for seed in (13, 14)]


def test_fewer_epochs_stand_beside_the_printed_where_no_longer_training_was_measured():
    short, other = "plangpt+training.epochs=25", "ed+training.attention=0+training.hidden=0"
    ours = symt_scores(short, "logistics", decoding="greedy") + symt_scores("plangpt", "gripper", decoding="greedy")
    ours += symt_scores(short, "gripper", decoding="greedy") + symt_scores(other, "gripper", decoding="greedy")
    sheet = sgp.paper_table("symt", 2, to_frame(ours))
    names = [row.words[0] for row in sheet.rows if not row.published and not row.heading]
    assert sorted(names) == ["symt plangpt · greedy x2", f"symt {short} · greedy x2"]
    assert sheet.caption.endswith("symt plangpt was trained for 25 epochs in logistics.")


def test_sizes_of_our_transformers_stand_once_for_all_domains():
    sizes = {"blocksworld": 10.0, "gripper": 30.0, "visitall": 20.0}
    ours = [each for name, of in sizes.items() for each in symt_scores("ed", name, metric="parameters", value=of)]
    assert [row.words for row in sgp.paper_table("symt", 1, to_frame(ours)).rows if not row.published] == [
        ("symt ed", "10 to 30", "by domain")
    ]


@pytest.mark.slow
def test_a_table_is_made_of_the_committed_scores_or_of_ones_own():
    committed = table_inputs(["1"])
    assert set(committed.ours.suite) == {get_paper("state-centric").suite}
    assert committed.drawing().startswith("<svg")
    own = table_inputs(["scaling"], to_frame([]), "mine")
    assert len(own.scores) == len(own.printed), "curves are of no suite"
