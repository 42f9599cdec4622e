"""Exports of a rollout, read back by VAL, pandas and Pillow."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from PIL import Image, ImageChops, ImageSequence

import sgp
from sgp.errors import InputError
from sgp.planning.pddl import parse_plan
from sgp.viewer.export import (
    HIGHEST,
    WIDEST,
    file_stem,
    gif,
    plan_text,
    run_id,
    shown_frames,
    steps_csv,
    steps_parquet,
)
from tests.viewer.conftest import as_recorded

ABOUT = {"method": "m", "variant": "v", "suite": "s", "domain": "blocksworld", "split": "t", "seed": 7}


def test_val_accepts_the_exported_plan(solved):
    text = plan_text(as_recorded(solved, **ABOUT))
    assert parse_plan(text) == solved.plan
    assert text.startswith("; solved; run m/v/s/blocksworld/seed7\n")
    assert text.count(f"; cost = {len(solved.plan)} (unit cost)\n") == 1
    assert sgp.validate(solved.task.problem, parse_plan(text)).valid


def test_the_plan_of_an_unsolved_problem_says_so(unsolved):
    text = plan_text(as_recorded(unsolved))
    assert text.startswith("; not a solution: the goal is not reached\n; stuck; run unknown\n")
    assert parse_plan(text) == unsolved.plan


def test_steps_as_csv_and_parquet_are_the_same_rows(solved):
    recorded = as_recorded(solved, **ABOUT)
    csv = pd.read_csv(io.BytesIO(steps_csv(recorded)))
    parquet = pd.read_parquet(io.BytesIO(steps_parquet(recorded)))
    pd.testing.assert_frame_equal(csv, parquet, check_dtype=False)
    assert list(csv["step"]) == list(range(1, len(solved.steps) + 1))
    assert set(csv["run"]) == {"m/v/s/blocksworld/seed7"}
    assert set(csv["sha256"]) == {solved.task.problem.sha256}
    assert csv["actions"][0] == str(solved.plan[0])
    assert list(csv["open_goals"])[-1] == 0
    assert list(csv["actions_so_far"])[-1] == len(solved.plan)


def test_a_gif_has_a_frame_for_each_state(solved):
    heard = []
    image = Image.open(io.BytesIO(gif(as_recorded(solved), advance=heard.append)))
    assert image.width <= WIDEST + 100
    assert image.height <= HIGHEST + 200
    # Equal consecutive frames would be merged; these states differ.
    assert sum(1 for _ in ImageSequence.Iterator(image)) == len(solved.steps) + 1
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def test_a_gif_shows_at_most_as_many_states_as_asked_for(solved):
    image = Image.open(io.BytesIO(gif(as_recorded(solved), most=3)))
    assert sum(1 for _ in ImageSequence.Iterator(image)) == 3
    assert shown_frames(7, 3) == [0, 3, 6]
    assert shown_frames(3, 200) == [0, 1, 2]
    assert len(set(shown_frames(1001, 200))) == 200
    for most in (1, 201):
        with pytest.raises(InputError, match=f"{most} frames were requested"):
            shown_frames(5, most)


def test_hostile_names_make_harmless_files(hostile):
    assert file_stem(hostile).replace("-", "").replace(".", "").isalnum()
    assert "\n" not in run_id(hostile)
    assert Image.open(io.BytesIO(gif(hostile))).format == "GIF"
    assert len(pd.read_csv(io.BytesIO(steps_csv(hostile)))) == 1


def ink(frame, box):
    """Dark pixels of a part of a frame; colours differ slightly between frames, which have their own palettes."""
    return frame.crop(box).convert("L").point(lambda value: 255 * (value < 128))


def test_a_gif_says_who_planned_and_what_was_done_and_is_cropped_to_the_drawing(solved):
    image = Image.open(io.BytesIO(gif(as_recorded(solved, **ABOUT))))
    frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
    caption, action = (0, 0, image.width, 26), (0, 26, image.width, 48)
    assert ink(frames[0], caption).getbbox()
    assert len({ink(frame, caption).tobytes() for frame in frames}) == 1
    assert len({ink(frame, action).tobytes() for frame in frames}) == len(frames), "every step has its action"
    drawn = [ImageChops.invert(frame.convert("L")).point(lambda value: 255 * (value > 8)).getbbox() for frame in frames]
    left, top, bottom = min(each[0] for each in drawn), min(each[1] for each in drawn), max(each[3] for each in drawn)
    assert (left, top) < (30, 30)
    assert image.height - bottom < 60
