"""The words that name a planner and what it is tried on."""

from __future__ import annotations

from sgp.planning.subject import PlannerName, Subject, parted_variant, read_subject, selected_variant


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


def test_a_run_is_named_by_its_variant_and_what_selected_it():
    for variant, selected_by in (("aiw", ""), ("aiw+loss.l2=2", "dynamic")):
        assert parted_variant(selected_variant(variant, selected_by)) == (variant, selected_by)
