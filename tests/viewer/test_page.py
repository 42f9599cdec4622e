from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import sgp
from sgp.errors import InputError, StoreError
from sgp.planning.recorded import read_recorded
from sgp.planning.recording import read_rollouts, write_rollouts
from sgp.viewer.comparison import comparison
from sgp.viewer.playback import playback
from tests.recorded import recorded_lines
from tests.viewer.conftest import IMAGE, SCRIPT


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)


def test_the_page_holds_hostile_names_as_data_alone(hostile, tmp_path):
    sgp.export_html(hostile, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert Tags(page).found.count("script") == 2
    assert "img" not in Tags(page).found
    embedded = re.search(r'<script type="application/json" id="rollout">(.*?)</script>', page, re.DOTALL).group(1)
    assert "<" not in embedded
    assert json.loads(embedded) == playback(hostile)
    assert json.loads(embedded)["reason"] == IMAGE
    assert SCRIPT not in page


def test_the_page_asks_for_nothing_from_outside(hostile):
    page = sgp.viewer.html_page(playback(hostile))
    assert "default-src 'none'" in page
    assert not re.findall(r"(?:src|href)=[\"']?https?:", page)
    assert set(re.findall(r"https?://[^\"'\\ ]+", page)) == {"http://www.w3.org/2000/svg"}


def test_the_player_never_makes_markup_of_text():
    script = sgp.viewer.script("player")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import(", "</"):
        assert word not in script, word
    assert script.count("parseFromString") == 1
    assert '"image/svg+xml"' in script


def test_a_living_rollout_a_recorded_one_and_a_file_give_the_same_page(solved, tmp_path):
    about = {"method": "m", "variant": "v"}
    write_rollouts(tmp_path / "r.jsonl", [solved], about)
    sgp.export_html(solved, tmp_path / "living.html", about)
    sgp.export_html(tmp_path / "r.jsonl", tmp_path / "file.html")
    sgp.export_html(read_recorded(tmp_path / "r.jsonl")[0], tmp_path / "recorded.html")
    pages = {(tmp_path / f"{name}.html").read_text() for name in ("living", "file", "recorded")}
    assert len(pages) == 1
    assert "<title>p: m v</title>" in pages.pop()


def test_what_holds_no_rollout_is_named(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match=r"empty\.jsonl contains no rollout"):
        sgp.export_html(tmp_path / "empty.jsonl", tmp_path / "x.html")
    (tmp_path / "picture.jsonl").write_bytes(b"\x89PNG\xff")
    with pytest.raises(StoreError, match="is no text"):
        sgp.export_html(tmp_path / "picture.jsonl", tmp_path / "x.html")
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
sgp.export_html(found.rollouts[0], {str(tmp_path / "page.html")!r})
print([name for name in ("torch", "pymimir", "wlplan", "xgboost", "numba", "pandas") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_the_recorded_rollouts_are_complete_and_small():
    found = sgp.recorded_rollouts()
    assert not found.damaged
    assert sum(file.stat().st_size for file in sgp.viewer.recorded_folder().iterdir()) < 12_000_000
    suite = sgp.load_suite("state-centric")
    outcomes = {(each.about.domain, each.head["outcome"] == "solved") for each in found.rollouts}
    assert outcomes >= {(domain, True) for domain in suite.domains}
    assert {domain for domain, solved in outcomes if not solved} == set(suite.domains)
    assert len({each.about.method + each.about.variant for each in found.rollouts}) >= 3
    for recorded in found.rollouts:
        about = recorded.about
        known = {problem.sha256: problem.name for problem in suite.problems(about.domain, about.split)}
        assert known[recorded.head["sha256"]] == recorded.head["name"]


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


def test_one_recorded_rollout_of_each_domain_replays(tmp_path):
    seen = set()
    for recorded in sgp.recorded_rollouts().rollouts:
        if recorded.about.domain not in seen and recorded.head["outcome"] == "solved":
            seen.add(recorded.about.domain)
            (rollout,) = read_rollouts(recorded.source)
            assert sgp.validate(rollout.task.problem, rollout.plan).valid


def test_a_comparison_has_a_page_of_its_own_without_markup_of_names(hostile):
    data = comparison(hostile, sgp.viewer.expert_rollout(hostile))
    page = sgp.viewer.html_page(data)
    assert sgp.viewer.script("compare") in page
    assert Tags(page).found.count("script") == 2
    assert "img" not in Tags(page).found
    assert json.loads(re.search(r'id="rollout">(.*?)</script>', page, re.DOTALL).group(1)) == data
