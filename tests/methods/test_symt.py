"""symt rejects invalid input and settings with one sentence each."""

import json
import shutil
from dataclasses import replace

import pytest

import sgp
from sgp.errors import ConfigurationError, StoreError
from sgp.methods.configuration import configure
from sgp.models.transformer import PAPER
from sgp.planning.task import Trajectory
from tests.conftest import QUICK_VIEWS

SUITE = sgp.load_suite("state-centric")
METHOD = sgp.get_method("symt")


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
    words = f"has {largest} objects to name, and the vocabulary 8 names; train with names={largest} or more; leave it"
    with pytest.raises(ConfigurationError, match=words):
        next(METHOD.checkpoints(training, data, tmp_path, 1, "cpu"))


def test_more_objects_than_names_end_a_rollout_and_a_run_of_another_token_table_is_refused(run, tmp_path):
    task = max(map(sgp.Task, SUITE.problems("gripper", "extrapolation")), key=lambda each: len(each.objects))
    few = sgp.train("symt", "gripper", "state-centric", device="cpu", overrides=QUICK_VIEWS | {"names": "20"})
    rollout = sgp.load_planner(few.folder).solve(task)
    assert rollout.outcome is sgp.Outcome.REFUSED
    count = len(task.objects)
    words = f"the problem has {count} objects to name, and the vocabulary 20 names; train with names={count} or more"
    assert rollout.reason == words
    assert sgp.load_planner(run.folder).policy.refuses(task) is None
    # The files are intact, but the weights have another number of tokens than the settings.
    folder = shutil.copytree(run.folder, tmp_path / run.folder.name)
    record = json.loads((folder / "run.json").read_text())
    record["training"]["names"] -= 1
    (folder / "run.json").write_text(json.dumps(record))
    words = r"seed13/model\.safetensors holds no weights of this network; train the run again"
    with pytest.raises(StoreError, match=words):
        sgp.load_planner(folder)


def goal_at_the_start():
    problem = SUITE.problems("gripper", "train")[0]
    task = sgp.Task(problem)
    begin = problem.problem_pddl.index("(:goal")
    init = " ".join(f"({atom.predicate} {' '.join(atom.objects)})" for atom in task.atoms(task.init))
    return sgp.Task(sgp.Problem("p", problem.domain_pddl, f"{problem.problem_pddl[:begin]}(:goal (and {init})))"))


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
