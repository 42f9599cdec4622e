"""Instances with several initial states: their plans are optimal and distinct, and all states are of one task."""

from __future__ import annotations

import shutil

import pytest

import sgp
from sgp.datasets import walks
from sgp.datasets.importing import import_folder
from sgp.datasets.store import cache_folder
from sgp.datasets.walks import instance, instances
from sgp.domains import words_of
from sgp.errors import StoreError, SuiteError
from sgp.files import read_json, write_json
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Task

SUITE = sgp.load_suite("acpbench")


def test_the_suite_has_nine_domains_of_which_all_is_said():
    assert len(SUITE.domains) == 9
    assert sum(len(domain.splits) for domain in SUITE.domains.values()) == 69
    for name in SUITE.domains:
        text = SUITE.domain_text(name)
        assert not words_of(text).lacking(text), name
    assert (SUITE.folder / "LICENSE").read_text().startswith("Community Data License Agreement - Permissive")


@pytest.mark.parametrize(("domain", "split"), [("ferry", "p04"), ("blocksworld", "p06"), ("depot", "p01")])
def test_walks_are_distinct_optimal_plans_from_states_that_can_be_reached(home, domain, split):
    found = instance(SUITE, domain, split)
    assert found.optimal
    assert len(found.walks) == walks.MOST_PLANS
    assert len({(walk.states[0], walk.actions) for walk in found.walks}) == len(found.walks)
    space = StateSpace.expand(Task(SUITE.problems(domain, split)[0]), walks.MOST_STATES)
    for walk in found.walks:
        assert found.task.is_goal(walk.states[-1])
        atoms = [each for each in found.task.atoms(walk.states[0]) if each.predicate in found.task.changing]
        place = space.place(space.task.state_with(atoms))
        assert space.distances[place] == len(walk) > 0
    assert len(found.transitions) <= walks.MOST_TRANSITIONS
    assert len({(each.before, each.action) for each in found.transitions}) == len(found.transitions)
    for each in found.transitions[:20]:
        assert found.task.apply(each.before, each.action) == each.after
    assert len(found.sampled) == min(len(space), walks.SAMPLED)


def test_all_starts_of_an_instance_have_walks_in_its_first_ones(home):
    found = instance(SUITE, "ferry", "p03")
    starts = [Task(problem) for problem in SUITE.problems("ferry", "p03")]
    begun = [found.task.atoms(walk.states[0]) for walk in found.walks[: len(starts)]]
    assert [set(each.atoms(each.init)) for each in starts] == list(map(set, begun))


def test_what_was_found_is_kept_and_found_again(home):
    first, again = instance(SUITE, "ferry", "p02"), instance(SUITE, "ferry", "p02")
    assert [walk.actions for walk in first.walks] == [walk.actions for walk in again.walks]
    (file,) = (cache_folder() / "walks").iterdir()
    write_json(file, {**read_json(file), "plans": [[[10_000], ["(sail l0 l1)"]]]})
    with pytest.raises(StoreError, match=r"holds no plans .*; remove it, and they are made again"):
        instance(SUITE, "ferry", "p02")
    file.unlink()
    instance(SUITE, "ferry", "p02")
    kept = read_json(file)
    write_json(file, {**kept, "plans": [[kept["plans"][0][0], ["(debark c0 c0)"]]]})
    not_applicable = r"does not fit .*action \(debark c0 c0\) is not applicable in p02; .*; remove it, and it is made"
    with pytest.raises(StoreError, match=not_applicable):
        instance(SUITE, "ferry", "p02")
    file.unlink()
    assert [walk.actions for walk in instance(SUITE, "ferry", "p02").walks] == [walk.actions for walk in first.walks]


def test_experts_plans_serve_where_the_state_space_is_too_large(home, monkeypatch):
    monkeypatch.setattr(walks, "MOST_STATES", 20)
    found = instance(SUITE, "ferry", "p02")
    assert not found.optimal
    assert len(found.walks) == len(SUITE.problems("ferry", "p02"))
    assert len(found.sampled) == 40, "random steps meet the whole state space of so small an instance"


@pytest.fixture
def folder(tmp_path):
    """A folder of PDDL with two instances of Ferry, each a split."""
    for split in ("p01", "p02"):
        shutil.copytree(SUITE.folder / "ferry" / split, tmp_path / "acp" / "ferry" / split)
    shutil.copy(SUITE.folder / "ferry" / "domain.pddl", tmp_path / "acp" / "ferry")
    return tmp_path / "acp"


def test_problems_of_a_split_must_be_starts_of_one_instance(home, folder):
    shutil.copy(folder / "ferry/p02/start01.pddl", folder / "ferry/p01/start09.pddl")
    suite = import_folder(folder, "mixed")
    with pytest.raises(SuiteError, match=r"start09\.pddl has other objects, static facts or another goal than"):
        instances(suite, "ferry")


def test_an_instance_without_a_plan_is_refused_by_name(home, folder):
    for file in (folder / "ferry/p01").iterdir():
        text = file.read_text()
        start = text.index("(:goal")
        file.write_text(f"{text[:start]}(:goal (and (on c0) (empty-ferry))))\n")
    suite = import_folder(folder, "hopeless")
    with pytest.raises(SuiteError, match=r"instance p01 of ferry in suite hopeless has no start with a plan"):
        instances(suite, "ferry")
