"""symt rejects invalid input and settings with one sentence each."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

import sgp
from sgp.errors import ConfigurationError, StoreError
from sgp.methods import get_method
from sgp.methods.configuration import configure
from sgp.models.transformer import PAPER
from sgp.planning.pddl import Problem
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.training.two_views import TwoViews
from tests.conftest import LONE, QUICK_VIEWS

SUITE = sgp.load_suite("state-centric")
METHOD = get_method("symt")


@pytest.fixture(scope="module")
def data():
    return sgp.load_training_data(SUITE, "gripper")


@pytest.fixture(scope="module")
def run(quick_run):
    return quick_run("symt", "gripper")


def test_settings_that_must_agree_are_set_together():
    """The number of heads of the paper's size divides only the width of that size."""
    settings = {"shape.hidden": "768", "shape.layers": "12", "shape.heads": "12"}
    assert configure(METHOD, "ed", settings)[1].shape == PAPER


def test_a_vocabulary_under_the_largest_training_problem_tells_both_numbers(data, tmp_path):
    largest = max(len(each.task.objects) for each in (*data.train, *data.validation))
    assert largest > len(data.train[0].task.objects)
    training = configure(METHOD, "ed", QUICK_VIEWS | {"names": "8"})[1]
    words = (
        f"has {largest} objects to name, and the vocabulary 8 names; train with names={largest} or more; leave it out"
    )
    with pytest.raises(ConfigurationError, match=words):
        next(METHOD.checkpoints(training, data, tmp_path, 1, "cpu"))


def test_more_objects_than_names_end_a_rollout_with_both_numbers(run):
    task = max(map(Task, SUITE.problems("gripper", "extrapolation")), key=lambda each: len(each.objects))
    few = sgp.train("symt", "gripper", "state-centric", device="cpu", overrides=QUICK_VIEWS | {"names": "20"})
    rollout = sgp.load_planner(few.folder).solve(task)
    assert rollout.outcome is Outcome.REFUSED
    assert rollout.reason == (
        f"the problem has {len(task.objects)} objects to name, and the vocabulary 20 names; train with "
        f"names={len(task.objects)} or more"
    )
    assert sgp.load_planner(run.folder).policy.refuses(task) is None


def test_an_action_over_an_object_that_occurs_in_no_atom_is_written():
    """The object's name is no token of the state, yet an action over it is valid."""
    task = Task(LONE)
    for how in ("applicable", "regrounding", "ranked"):
        rollout = untrained(METHOD.variants["ed"], task, how).solve(task)
        assert rollout.solved
        assert len(rollout.plan) == 1


def untrained(training, task, how):
    network = METHOD.network(training, task.domain_text, 1).eval()
    learned = METHOD.learned(training, task.domain_text, network, "cpu")
    return METHOD.planner(training, learned, METHOD.decodings[how])


def test_the_last_good_state_is_kept_where_the_loss_is_no_number(data, tmp_path, monkeypatch):
    """After the first epoch the steps are far too large; with other settings the training continues."""
    training = configure(METHOD, "ed", QUICK_VIEWS | {"training.epochs": "3"})[1]
    whole = [each.loss for each in METHOD.checkpoints(training, data, tmp_path / "whole", 1, "cpu")]
    epochs = METHOD.checkpoints(training, data, tmp_path / "cut", 1, "cpu")
    first = next(epochs).loss
    with monkeypatch.context() as patch:
        patch.setattr(TwoViews, "rate", lambda self, step: 1e30)
        with pytest.raises(
            ConfigurationError, match=r"step 2 of epoch 2 has the loss (nan|inf); .* earlier epochs stay saved"
        ):
            next(epochs)
    rest = [each.loss for each in METHOD.checkpoints(training, data, tmp_path / "cut", 1, "cpu", after=1)]
    assert [first, *rest] == whole


def test_a_run_of_another_token_table_is_refused(run, tmp_path):
    """The files are intact, but the weights have another number of tokens than the settings."""
    folder = shutil.copytree(run.folder, tmp_path / run.folder.name)
    record = json.loads((folder / "run.json").read_text())
    record["training"]["names"] -= 1
    (folder / "run.json").write_text(json.dumps(record))
    words = r"seed13/model\.safetensors holds no weights of this network; train the run again"
    with pytest.raises(StoreError, match=words):
        sgp.load_planner(folder)


def goal_at_the_start():
    problem = SUITE.problems("gripper", "train")[0]
    task = Task(problem)
    begin = problem.problem_pddl.index("(:goal")
    init = " ".join(f"({atom.predicate} {' '.join(atom.objects)})" for atom in task.atoms(task.init))
    return Task(Problem("p", problem.domain_pddl, f"{problem.problem_pddl[:begin]}(:goal (and {init})))"))


@pytest.mark.parametrize("variant", list(METHOD.variants))
def test_a_goal_that_holds_at_the_start_takes_no_actions(variant, quick_run):
    there = goal_at_the_start()
    for how, decoding in METHOD.decodings.items():
        if decoding.how == "best" or (decoding.how == "lowest") == (variant == "e"):
            rollout = sgp.load_planner(quick_run("symt", "gripper", variant).folder, how).solve(there)
            assert (rollout.solved, rollout.plan) == (True, ())


@pytest.mark.parametrize(("part", "of"), [("train", "training"), ("validation", "validation")])
def test_problems_whose_goals_all_hold_at_the_start_teach_nothing(part, of, data, tmp_path):
    there = goal_at_the_start()
    wrong = replace(data, **{part: (Trajectory(there, (), (there.init,)),)})
    words = f"no {of} problem of gripper has a plan with actions; expected one whose initial state is no goal state"
    with pytest.raises(ConfigurationError, match=words):
        next(METHOD.checkpoints(configure(METHOD, "ed", QUICK_VIEWS)[1], wrong, tmp_path, 1, "cpu"))
