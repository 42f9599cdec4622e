"""The words that name a planner and the problems that it is evaluated on."""

from __future__ import annotations

import pytest

from sgp.planning.subject import PlannerName, Subject, Variant, read_subject


def test_a_records_names_are_read_as_they_are_written_today():
    record = {"method": "contrastive_jumps", "variant": "aiw+by=dynamic", "seed": "13", "other": 5}
    assert read_subject(record) == Subject(method="contrastive-jumps", variant="aiw", seed=13, selected_by="dynamic")
    assert read_subject({"seed": None, "suite": None}) == Subject()
    again = Subject(method="m", variant="v", domain="d", split="s", seed=0, decoding="greedy", selected_by="loss")
    assert read_subject(again.record()) == again


def test_the_methods_own_decoding_has_one_word():
    assert Subject(method="m", decoding="default") == Subject(method="m") == read_subject({"method": "m"})


def test_a_planner_is_told_with_what_sets_it_apart():
    assert PlannerName("m", "v").title == "m v"
    assert PlannerName("m", "m").title == "m"
    assert PlannerName("m", "").title == "m"
    assert PlannerName("m", "v", "greedy", "loss").title == "m v · greedy by loss"
    assert Subject(method="m", variant="v", seed=0).model == "m v seed 0"
    assert Subject().model == "a model that the file does not name"


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("aiw", Variant("aiw")),
        ("aiw+loss.l2=2+by=dynamic", Variant("aiw+loss.l2=2", selected_by="dynamic")),
        ("ed+training.epochs=25+drawn=4.0", Variant("ed+training.epochs=25", drawn=(4, 0))),
        ("aiw+without=p3", Variant("aiw", left_out="p3")),
        ("pca+protocol=few.500+shots=2", Variant("pca", protocol="few", max_transitions=500, shots=2)),
        ("pca+protocol=few", Variant("pca", protocol="few")),
        ("pca+most=500+shots=2+from=ferry", Variant("pca", max_transitions=500, shots=2, source="ferry")),
    ],
)
def test_variants_are_written_and_parsed(text, variant):
    assert str(variant) == text
    assert Variant.parse(text) == variant
