"""Rollout files of an evaluation: location, content, and their use by the dashboard."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.evaluation.attempts import RolloutRecorder, Work, attempt, split_work
from sgp.planning.planner import NO_LIMIT, Planner
from sgp.planning.subject import Subject
from tests.planning.test_planner import by_name

ABOUT = Subject(method="m", variant="v", domain="blocksworld", suite="state-centric", split="validation", seed=7)
COSTS = by_name(pick_up=0.2, stack=0.1, unstack=0.2, put_down=0.2)


def problems():
    return sgp.load_suite("state-centric").problems("blocksworld", "interpolation")


def test_every_attempt_leaves_a_file_that_the_dashboard_shows(home):
    recording = RolloutRecorder(sgp.own_rollouts_folder(), ABOUT)
    attempts = attempt(Planner(COSTS), problems(), NO_LIMIT, recording)
    library = sgp.recorded_rollouts(sgp.own_rollouts_folder())
    assert not library.damaged
    assert {each.head["name"]: each.head["outcome"] for each in library.rollouts} == {
        each.problem: each.outcome.value for each in attempts
    }
    assert {each.about for each in library.rollouts} == {ABOUT}
    assert all(step["note"] == {} for each in library.rollouts for step in each.steps)


def test_planners_that_differ_in_decoding_or_selection_have_files_of_their_own(tmp_path):
    made = [
        RolloutRecorder(tmp_path, replace(ABOUT, decoding=name)).path("p").name for name in ("", "default", "greedy")
    ]
    chosen = RolloutRecorder(tmp_path, replace(ABOUT, selected_by="loss")).path("p").name
    assert made[0] == made[1] == "blocksworld-m-v-seed7-state-centric-validation-p.jsonl"
    assert made[2] == "blocksworld-m-v-greedy-seed7-state-centric-validation-p.jsonl"
    assert chosen == "blocksworld-m-v-loss-seed7-state-centric-validation-p.jsonl"


def test_attempts_that_were_kept_without_rollouts_are_made_again(home, tmp_path):
    bare = Work("planner", "identity", problems(), NO_LIMIT)
    recording = Work("planner", "identity", problems(), NO_LIMIT, RolloutRecorder(tmp_path, ABOUT))
    assert bare.file != recording.file
    assert all(chunk.recorder == recording.recorder for chunk in split_work(recording))


def test_what_is_kept_of_rollouts_that_nobody_records_is_refused(quick_run):
    run = quick_run("random-successor", "gripper")
    with pytest.raises(ConfigurationError, match="keep is 'steps'"):
        sgp.evaluate([run.folder], "state-centric", ["validation"], keep="steps")
    with pytest.raises(ConfigurationError, match="keep is 'stpes'; expected one of auto, steps, plan"):
        sgp.evaluate([run.folder], "state-centric", ["validation"], keep="stpes")
