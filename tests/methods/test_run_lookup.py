"""Planning without a given run: a shipped one, or the user's latest, of this domain."""

import logging
import shutil

import pytest

import sgp
from sgp.datasets.runs import open_run
from sgp.errors import DomainMismatch
from sgp.methods.loading import find_run_for_domain, is_shipped, shipped_folders
from tests.conftest import COURIER, COURIER_PROBLEM

MOST_BYTES = 10_000_000  # of all shipped runs together


def test_every_trainable_domain_has_a_shipped_planner_and_nothing_is_written_beside_it(home):
    domains = {name for suite in ("state-centric", "scaling", "track") for name in sgp.load_suite(suite).domains}
    assert domains == {folder.name for folder in shipped_folders()}
    files = [file for folder in shipped_folders() for file in folder.iterdir()]
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    (folder,) = [each for each in shipped_folders() if each.name == "gripper"]
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    sgp.evaluate([folder], "state-centric", ["validation"])
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("folder", shipped_folders(), ids=lambda folder: folder.name)
def test_a_shipped_planner_loads_plans_and_tells_its_coverage(folder, home):
    run = open_run(folder)
    assert is_shipped(run)
    card = (folder / "card.md").read_text()
    assert "coverage, 95 % Wilson interval" in card
    assert "Not evaluated yet" not in card
    problem = sgp.load_suite(run.key.suite).problems(run.key.domain, "train")[0]
    assert sgp.run_for(problem).folder == run.folder
    assert sgp.solve(problem).solved


EVERY = COURIER.replace("(and (at ?v ?a)", "(and (at ?v ?a) (forall (?q - parcel) (not (in ?q ?v)))", 1)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (COURIER, "no trained run plans in domain courier; train one: 'sgp import"),
        (EVERY, "none can be trained on it, because its quantifiers range over a problem's"),
    ],
)
def test_a_domain_without_a_run_is_reported_with_what_trains_one_or_why_none_does(domain, words, home):
    with pytest.raises(DomainMismatch, match=words):
        sgp.solve(sgp.Problem("courier-1", domain, COURIER_PROBLEM))


def test_the_users_latest_run_is_taken_where_none_is_shipped(home, quick_run, monkeypatch, caplog):
    run = quick_run("random-successor", "gripper")
    monkeypatch.setattr("sgp.methods.loading.shipped_folders", list)
    older, later = (home / "random-successor" / "unvisited" / "state-centric" / "gripper" / f"seed{n}" for n in (1, 2))
    for place, year in ((older, 2020), (later, 2021)):
        shutil.copytree(run.folder, place)
        record = (place / "run.json").read_text()
        (place / "run.json").write_text(record.replace(run.record["trained"], f"{year}-01-01T00:00:00+00:00"))
    assert find_run_for_domain(run.domain_text, "gripper").folder == later
    (later / "run.json").write_text("{")
    with caplog.at_level(logging.WARNING):
        assert find_run_for_domain(run.domain_text, "gripper").folder == older
    assert "is no complete JSON" in caplog.text


def test_a_run_that_left_training_problems_out_is_not_the_users_latest(home, monkeypatch):
    for module in ("sgp.methods.loading", "sgp.solving"):
        monkeypatch.setattr(f"{module}.shipped_folders", list)
    (problem, *_) = sgp.load_suite("state-centric").problems("gripper", "validation")
    sgp.train("random-successor", "gripper", "state-centric", drawn=(2, 0))
    with pytest.raises(DomainMismatch, match="no trained run plans in domain gripper"):
        sgp.run_for(problem)
    whole = sgp.train("random-successor", "gripper", "state-centric")
    sgp.train("random-successor", "gripper", "state-centric", without="p1")
    assert sgp.run_for(problem).folder == whole.folder
