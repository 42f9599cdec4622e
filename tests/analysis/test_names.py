from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import sgp
from sgp.analysis.diagnostics import name_sensitivity
from sgp.errors import ConfigurationError
from sgp.methods.loading import load_planner
from sgp.planning.pddl import with_names
from sgp.planning.planner import Planner
from sgp.planning.policy import ADD_UP, Ranking
from sgp.planning.task import Task

SUITE = sgp.load_suite("state-centric")


@dataclass(frozen=True)
class ByName:
    """Policy that prefers the action whose text is first, i.e. depends on names alone."""

    rules = ADD_UP

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [Ranking(np.argsort(np.argsort([str(each.actions) for each in choice])) * 1.0) for choice in choices]


@pytest.mark.parametrize("method", ["contrastive-jumps", "state-centric", "nameless"])
@pytest.mark.parametrize("domain", ["gripper", "blocksworld"])
def test_methods_that_know_no_names_decide_the_same(method, domain, quick_run):
    run = quick_run(method, domain)
    # A lookahead prunes by the order in which atoms become novel, which depends on names.
    planner = sgp.load_planner(str(run.folder), "default+candidates=one-step" if "jumps" in method else "default")
    data = sgp.load_training_data(SUITE, domain)
    shares = name_sensitivity(planner, data.train[:3], renamings=4)
    assert len(shares) == sum(map(len, data.train[:3]))
    assert set(shares) == {0.0}


@pytest.mark.parametrize(
    ("method", "variant", "decoding"),
    [
        ("symt", "e", "lowest"),
        ("symt", "plangpt", "applicable"),
        ("symt", "plangpt", "ranked"),
        ("nameless", "random-names", "default"),
    ],
)
def test_what_can_tell_names_apart_is_found_out_before_it_has_learned_much(method, variant, decoding, quick_run):
    planner = sgp.load_planner(quick_run(method, "blocksworld", variant).folder, decoding)
    shares = name_sensitivity(planner, sgp.load_training_data(SUITE, "blocksworld").train[-1:], renamings=3)
    assert 0 < np.mean(shares) <= 1


def test_a_policy_that_looks_at_names_is_found_out():
    data = sgp.load_training_data(SUITE, "blocksworld")
    shares = name_sensitivity(Planner(ByName()), data.train[-2:], renamings=5)
    assert np.mean(shares) > 0.1


def test_what_is_measured_beside_plays_no_part():
    train = sgp.load_training_data(SUITE, "blocksworld").train
    together = name_sensitivity(Planner(ByName()), train[:2], renamings=3)
    assert together[len(train[0]) :] == name_sensitivity(Planner(ByName()), train[1:2], renamings=3)
    with pytest.raises(ConfigurationError, match="renamings is 0; expected at least 1"):
        name_sensitivity(Planner(ByName()), train[:1], renamings=0)


def test_interchangeable_objects_are_no_other_decision():
    """At first all balls are interchangeable: which one is picked is no decision; moving or picking is."""
    data = sgp.load_training_data(SUITE, "gripper")

    class Picks(ByName):
        def rank(self, nodes, choices):
            found = super().rank(nodes, choices)
            for ranking, choice in zip(found, choices, strict=True):
                ranking.costs[[each.actions[0].name != "pick" for each in choice]] += 1000
            return found

    shares = name_sensitivity(Planner(Picks()), data.train[1:2], renamings=6)
    assert shares[0] == 0.0


def test_a_renamed_problem_is_the_same_problem():
    task = Task(SUITE.problems("logistics", "train")[0])
    names = {thing.name: f"{thing.name}-other" for thing in task.text.objects}
    other = Task(with_names(task, names, range(len(names))[::-1]))
    assert [thing.name for thing in other.text.objects] == [f"{each.name}-other" for each in task.text.objects][::-1]
    assert len(other.successors(other.init)) == len(task.successors(task.init))
    again = Task(with_names(other, {new: old for old, new in names.items()}, range(len(names))[::-1]))
    assert set(again.atoms(again.init)) == set(task.atoms(task.init))


@pytest.mark.slow
def test_diagnose_tells_it_where_it_is_asked(quick_run):
    run = quick_run("symt", "blocksworld")
    assert load_planner(run).policy.rules.additive
    plain = sgp.diagnose([run.folder], "state-centric", ["validation"])
    asked = sgp.diagnose(
        [run.folder], "state-centric", ["validation"], decodings=["ranked", "regrounding"], renamings=2
    )
    assert "name_sensitivity" not in set(plain["metric"])
    found = {score.decoding: score for score in asked.itertuples() if score.metric == "name_sensitivity"}
    assert set(found) == {"ranked", "regrounding"}
    for score in found.values():
        assert 0 < score.value <= 1
        assert score.count == sum(map(len, sgp.load_training_data(SUITE, "blocksworld").validation))
