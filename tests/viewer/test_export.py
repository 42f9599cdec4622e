"""Exports of a rollout: HTML pages, and files that VAL, pandas and Pillow read back."""

import gzip
import io
import json
import re
import subprocess
import sys
from base64 import b64decode
from html.parser import HTMLParser

import pandas as pd
import pytest
from PIL import Image, ImageChops, ImageSequence

import sgp
from sgp.datasets.recorded import read_recorded
from sgp.datasets.recording import read_rollouts, write_rollouts
from sgp.errors import InputError, StoreError
from sgp.planning.pddl import parse_plan
from sgp.viewer.comparison import comparison
from sgp.viewer.export import HIGHEST, WIDEST, file_stem, gif, plan_text, run_id, shown_frames, steps_csv, steps_parquet
from sgp.viewer.playback import playback
from tests.recorded import recorded_lines
from tests.viewer.conftest import IMAGE, SCRIPT, as_recorded

ABOUT = {"method": "m", "variant": "v", "suite": "s", "domain": "blocksworld", "split": "t", "seed": 7}


def test_val_accepts_the_exported_plan_and_steps_as_csv_and_parquet_are_the_same_rows(solved, unsolved):
    text = plan_text(as_recorded(solved, **ABOUT))
    assert parse_plan(text) == solved.plan
    assert text.startswith("; solved; run m/v/s/blocksworld/seed7\n")
    assert text.count(f"; cost = {len(solved.plan)} (unit cost)\n") == 1
    assert sgp.validate(solved.task.problem, parse_plan(text)).valid
    text = plan_text(as_recorded(unsolved))
    assert text.startswith("; not a solution: the goal is not reached\n; stuck; run unknown\n")
    assert parse_plan(text) == unsolved.plan
    recorded = as_recorded(solved, **ABOUT)
    csv = pd.read_csv(io.BytesIO(steps_csv(recorded)))
    parquet = pd.read_parquet(io.BytesIO(steps_parquet(recorded)))
    pd.testing.assert_frame_equal(csv, parquet, check_dtype=False)
    assert list(csv["step"]) == list(range(1, len(solved.steps) + 1))
    assert set(zip(csv["run"], csv["sha256"], strict=True)) == {("m/v/s/blocksworld/seed7", solved.task.problem.sha256)}
    assert csv["actions"][0] == str(solved.plan[0])
    assert list(csv[["open_goals", "actions_so_far"]].iloc[-1]) == [0, len(solved.plan)]


def test_a_gif_has_a_frame_for_each_state_or_as_many_as_requested_and_a_caption(solved):
    heard = []
    image = Image.open(io.BytesIO(gif(as_recorded(solved, **ABOUT), advance=heard.append)))
    assert image.width <= WIDEST + 100
    assert image.height <= HIGHEST + 200
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    frames = [frame.convert("L") for frame in ImageSequence.Iterator(image)]
    # Equal consecutive frames would be merged; these states differ.
    assert len(frames) == len(solved.steps) + 1

    def ink(frame, top, bottom):
        """Dark pixels; colours differ slightly between frames, which have their own palettes."""
        return frame.crop((0, top, image.width, bottom)).point(lambda value: 255 * (value < 128))

    assert ink(frames[0], 0, 26).getbbox()
    assert len({ink(frame, 0, 26).tobytes() for frame in frames}) == 1, "who planned"
    assert len({ink(frame, 26, 48).tobytes() for frame in frames}) == len(frames), "every step has its action"
    drawn = [ImageChops.invert(frame).point(lambda value: 255 * (value > 8)).getbbox() for frame in frames]
    left, top, bottom = min(each[0] for each in drawn), min(each[1] for each in drawn), max(each[3] for each in drawn)
    assert (left, top) < (30, 30)
    assert image.height - bottom < 60
    image = Image.open(io.BytesIO(gif(as_recorded(solved), most=3)))
    assert sum(1 for _ in ImageSequence.Iterator(image)) == 3
    assert [shown_frames(*each) for each in ((7, 3), (3, 200))] == [[0, 3, 6], [0, 1, 2]]
    assert len(set(shown_frames(1001, 200))) == 200
    for most in (1, 201):
        with pytest.raises(InputError, match=f"{most} frames were requested"):
            shown_frames(5, most)


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)


def embedded_in(page):
    """Return the JSON text that a page contains, compressed."""
    (packed,) = re.findall(r'<script type="application/gzip" id="rollout">([\w+/=]*)</script>', page)
    return gzip.decompress(b64decode(packed)).decode()


def test_hostile_names_are_data_alone_in_pages_and_files_that_request_nothing_from_outside(hostile, tmp_path):
    sgp.viz.export_html(hostile, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page == sgp.viewer.html_page(playback(hostile))
    assert Tags(page).found.count("script") == 2
    assert "img" not in Tags(page).found
    embedded = embedded_in(page)
    assert json.loads(embedded) == playback(hostile)
    assert json.loads(embedded)["reason"] == IMAGE
    assert SCRIPT not in page
    assert "default-src 'none'" in page
    assert not re.findall(r"(?:src|href)=[\"']?https?:", page)
    assert set(re.findall(r"https?://[^\"'\\ ]+", page)) == {"http://www.w3.org/2000/svg"}
    script = sgp.viewer.script("player")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import(", "</"):
        assert word not in script, word
    assert script.count("parseFromString") == 1
    assert '"image/svg+xml"' in script
    assert file_stem(hostile).replace("-", "").replace(".", "").isalnum()
    assert "\n" not in run_id(hostile)
    assert Image.open(io.BytesIO(gif(hostile))).format == "GIF"
    assert len(pd.read_csv(io.BytesIO(steps_csv(hostile)))) == 1
    data = comparison(hostile, sgp.viewer.expert_rollout(hostile))
    page = sgp.viewer.html_page(data)
    assert sgp.viewer.script("compare") in page
    assert (Tags(page).found.count("script"), Tags(page).found.count("img")) == (2, 0)
    assert json.loads(embedded_in(page)) == data


def test_a_living_rollout_a_recorded_one_and_a_file_give_the_same_page_and_other_files_are_named(solved, tmp_path):
    about = {"method": "m", "variant": "v"}
    write_rollouts(tmp_path / "r.jsonl", [solved], about)
    sgp.viz.export_html(solved, tmp_path / "living.html", about)
    sgp.viz.export_html(tmp_path / "r.jsonl", tmp_path / "file.html")
    sgp.viz.export_html(read_recorded(tmp_path / "r.jsonl")[0], tmp_path / "recorded.html")
    pages = {(tmp_path / f"{name}.html").read_text() for name in ("living", "file", "recorded")}
    assert len(pages) == 1
    assert "<title>p: m: v</title>" in pages.pop()
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match=r"empty\.jsonl contains no rollout"):
        sgp.viz.export_html(tmp_path / "empty.jsonl", tmp_path / "x.html")
    (tmp_path / "picture.jsonl").write_bytes(b"\x89PNG\xff")
    with pytest.raises(StoreError, match="is no text"):
        sgp.viz.export_html(tmp_path / "picture.jsonl", tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


@pytest.mark.slow
def test_recorded_rollouts_show_without_a_planning_or_learning_library(tmp_path):
    code = f"""
import sys, sgp
from sgp.viewer.comparison import comparison
from sgp.viewer.playback import playback
found = sgp.recorded_rollouts()
for recorded in found.rollouts:
    playback(recorded)
sgp.viz.export_html(found.rollouts[0], {str(tmp_path / "page.html")!r})
print([name for name in ("torch", "pymimir", "wlplan", "xgboost", "numba", "pandas") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_the_recorded_rollouts_are_complete_and_small_and_one_of_each_domain_replays():
    found = sgp.recorded_rollouts()
    assert not found.damaged
    assert sum(file.stat().st_size for file in sgp.viewer.recorded_folder().iterdir()) < 12_000_000
    suite = sgp.load_suite("state-centric")
    solved = {each.about.domain: each for each in found.rollouts if each.head["outcome"] == "solved"}
    assert solved.keys() >= suite.domains.keys()
    unsolved = {each.about.domain for each in found.rollouts if each.head["outcome"] != "solved"}
    assert unsolved == set(suite.domains)
    assert len({each.about.method + each.about.variant for each in found.rollouts}) >= 3
    for recorded in found.rollouts:
        known = {each.sha256: each.name for each in suite.problems(recorded.about.domain, recorded.about.split)}
        assert known[recorded.head["sha256"]] == recorded.head["name"]
    for recorded in solved.values():
        (rollout,) = read_rollouts(recorded.source)
        assert sgp.validate(rollout.task.problem, rollout.plan).valid


def test_steps_are_read_when_they_are_looked_at(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n".join(recorded_lines("blocksworld-state-centric-wl-*-horizon")) + "\n")
    (listed,) = sgp.recorded_rollouts(tmp_path).rollouts
    (whole,) = read_recorded(tmp_path / "a.jsonl")
    assert len(listed.steps) == len(whole.steps)
    assert playback(listed) == playback(whole)
    again = sgp.recorded_rollouts(tmp_path).rollouts[0]
    (tmp_path / "a.jsonl").unlink()
    assert list(again.steps) == list(whole.steps), "what was read is kept"
    (tmp_path / "b.jsonl").write_text("\n".join(recorded_lines("gripper-state-centric-wl-*-horizon")) + "\n")
    (other,) = sgp.recorded_rollouts(tmp_path).rollouts
    (tmp_path / "b.jsonl").unlink()
    with pytest.raises(StoreError, match="is missing"):
        list(other.steps)
