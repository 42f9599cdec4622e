"""wlplan, called state by state on objects of its own parser, is the oracle of the WL encoder."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from wlplan.feature_generator import load_feature_generator
from wlplan.planning import Atom, Predicate, parse_problem
from wlplan.planning import Domain as WlDomain
from wlplan.planning import Problem as WlProblem
from wlplan.planning import State as WlState

import sgp
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.encoders.wl_vocabulary import Vocabulary
from sgp.errors import ConfigurationError, StoreError
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from tests.conftest import COURIER, COURIER_PROBLEM
from tests.sampling import each_value

SUITE = sgp.load_suite("state-centric")
DOMAINS = ["blocksworld", "gripper", "logistics", "visitall"]
EACH_DOMAIN = [*DOMAINS[:3], pytest.param("visitall", marks=pytest.mark.slow)]  # which has hundreds of problems


class Oracle:
    """wlplan itself: features from a saved vocabulary, and a new graph for every state.

    Problems come from wlplan's own parser, which takes up to half a second each; `parse` False builds them directly.
    """

    def __init__(self, encoder, folder, parse=True):
        self.folder, self.parse = folder, parse
        encoder.save(folder / "vocabulary.json")
        self.features = load_feature_generator(str(folder / "vocabulary.json"), quiet=True)

    def embed(self, task, states):
        """Rows of the states, then of the goal."""
        problem = self.parsed(task) if self.parse else self.made(task)
        self.features.set_problem(problem)
        predicates = {predicate.name: predicate for predicate in problem.domain.predicates}
        every = [*map(task.atoms, states), task.goal_atoms]
        return np.array(
            [
                self.features.embed(WlState([Atom(predicates[atom.predicate], list(atom.objects)) for atom in atoms]))
                for atoms in every
            ]
        )

    def parsed(self, task):
        (self.folder / "d.pddl").write_text(task.problem.domain_pddl)
        (self.folder / "p.pddl").write_text(task.problem.problem_pddl)
        return parse_problem(str(self.folder / "d.pddl"), str(self.folder / "p.pddl"))

    def made(self, task):
        predicates = {name: Predicate(name, arity) for name, arity in task.domain_text.predicates.items()}
        domain = WlDomain("d", sorted(predicates.values(), key=repr), [], [], [])
        goal = [Atom(predicates[atom.predicate], list(atom.objects)) for atom in task.goal_atoms]
        return WlProblem(domain, sorted(thing.name for thing in task.objects), goal, [])


def ours(encoder, task, states):
    return np.vstack([encoder.embed(task, states), encoder.embed_goal(task)])


def trajectories(domain, split="train"):
    plans = sgp.expert_plans(SUITE, domain, split)
    return [Trajectory.of(Task(problem), plans[problem.sha256].plan) for problem in SUITE.problems(domain, split)]


def fit(domain, config=None, most=None):
    return WLEncoder.fit(config or WLConfig(), [(each.task, each.states) for each in trajectories(domain)[:most]])


def walk(task, steps, seed=0):
    rng = random.Random(seed)
    states = [task.init]
    while len(states) <= steps and (successors := task.successors(states[-1])):
        states.append(rng.choice(successors).state)
    return states


@pytest.mark.parametrize("domain", EACH_DOMAIN)
def test_vectors_equal_wlplans_on_every_bundled_problem(domain, tmp_path):
    encoder = fit(domain)
    oracle = Oracle(encoder, tmp_path, parse=False)
    for split in SUITE.domain(domain).splits:
        for problem in SUITE.problems(domain, split):
            task = Task(problem)
            states = walk(task, 2)
            assert np.array_equal(ours(encoder, task, states), oracle.embed(task, states)), problem.name


OPTIONS = [WLConfig(k, kind) for k in (0, 1, 2, 3) for kind in ("multiset", "set")]
OPTIONS += [WLConfig(2, kind, pruning) for kind in ("multiset", "set") for pruning in ("a-m", "i-m", "i-f", "i-mf")]


@pytest.mark.parametrize(("config", "domain"), each_value(OPTIONS, ["gripper", "logistics"]), ids=str)
def test_vectors_equal_wlplans_for_all_options(domain, config, tmp_path):
    encoder = fit(domain, config)
    oracle = Oracle(encoder, tmp_path)
    for problem in [*SUITE.problems(domain, "train")[:2], *SUITE.problems(domain, "extrapolation")[::6]]:
        task = Task(problem)
        states = walk(task, 6, seed=3)
        assert np.array_equal(ours(encoder, task, states), oracle.embed(task, states))


def test_vectors_equal_wlplans_with_types_constants_and_negative_goals(courier, tmp_path):
    states = walk(courier, 5)
    encoder = WLEncoder.fit(WLConfig(), [(courier, states)])
    oracle = Oracle(encoder, tmp_path)
    other = Task(Problem("other", COURIER, COURIER_PROBLEM.replace("(at q1 depot)", "(at q1 mill)")))
    for task in (courier, other):
        states = walk(task, 5)
        assert np.array_equal(ours(encoder, task, states), oracle.embed(task, states))
    assert encoder.embed(other, [other.init]).sum() < encoder.embed(courier, [courier.init]).sum(), "unseen are dropped"


@pytest.mark.slow
def test_the_dimension_of_gripper_and_visitall_is_the_published_one():
    """In Gripper and VisitAll colours do not depend on random instances; in the other domains they do."""
    assert fit("gripper").dimension == 302
    assert fit("visitall").dimension == 138


ENCODER = fit("blocksworld")


def test_a_vocabulary_of_another_version_or_kind_is_refused():
    data = json.loads(ENCODER.vocabulary.text)
    for change, words in (
        ({"package_version": "3.0.0"}, r"written by wlplan 3\.0\.0, this package reads that of 2\.1\.0"),
        ({"graph_representation": "aoag"}, "not of 'wl' features on the graph 'ilg'"),
    ):
        with pytest.raises(StoreError, match=words):
            Vocabulary(json.dumps(data | change))
    with pytest.raises(StoreError, match="no complete JSON"):
        Vocabulary(ENCODER.vocabulary.text[:-20])


def test_a_vocabulary_needs_states():
    with pytest.raises(ConfigurationError, match="at least one training task"):
        WLEncoder.fit(WLConfig(), [])


def test_collecting_prints_nothing(capfd):
    fit("blocksworld", most=2)
    assert capfd.readouterr().out == ""
