"""Recording rollouts for the dashboard: selection, maps, and no repeated recording."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sgp
from sgp.experiments.record import SPLIT, Recording, record, record_attempted
from sgp.planning.recorded import map_file
from sgp.viewer.playback import playback


@pytest.mark.slow
def test_all_planners_are_recorded_on_the_problems_that_most_leave_unsolved(home, monkeypatch, tmp_path):
    suite = sgp.load_suite("state-centric")
    monkeypatch.setattr(
        "sgp.experiments.record.load_suite",
        lambda name: replace(suite, domains={"blocksworld": suite.domain("blocksworld")}),
    )
    monkeypatch.setattr("sgp.experiments.record._SPACE", 20_000)
    monkeypatch.setattr("sgp.experiments.record._SEARCHED", 16)  # so that LAMA searches from few states
    (tmp_path / "old.jsonl").write_text("")
    jumps, others = ("contrastive-jumps", "one-step"), (("random-successor", "unvisited"), ("zero-change", "wl"))
    files = record(tmp_path, "state-centric", Recording(foremost=(jumps,), others=others, shared=1, among=2))
    library = sgp.recorded_rollouts(tmp_path)
    assert not library.damaged
    assert {str(each) for each in files} == {str(each) for each in tmp_path.glob("*.json*")}, "what is old has gone"
    solved = {}
    for each in library.rollouts:
        solved.setdefault(each.about.method, []).append((each.head["name"], each.head["outcome"] == "solved"))
    (shared,) = set.intersection(*({name for name, _ in each} for each in solved.values()))
    smallest = sorted(suite.problems("blocksworld", SPLIT), key=lambda each: (len(each.read()[1].objects), each.name))
    assert shared in {each.name for each in smallest[:2]}
    assert solved["random-successor"] == solved["zero-change"] == [(shared, False)]
    assert all(outcome for _, outcome in solved["contrastive-jumps"])
    assert len(solved["contrastive-jumps"]) == 2, "beside the shared one the largest that it solves"


@pytest.mark.slow
def test_some_of_what_was_tried_is_recorded_for_the_dashboard(quick_run, shared_home, monkeypatch, tmp_path):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    found = sgp.evaluate([run.folder], "state-centric", [SPLIT], limit=sgp.Limit(actions=34))
    tried = found.attempts[str(run.folder), "default", SPLIT]
    solved = sorted((each.size, each.problem) for each in tried if each.solved)
    assert 0 < len(solved) < len(tried), "the test wants both"
    files = record_attempted(tmp_path, run, "state-centric", tried)
    library = sgp.recorded_rollouts(tmp_path)
    assert not library.damaged
    assert {str(file) for file in files} == {each.source for each in library.rollouts}
    median = solved[len(solved) // 2][1]
    smallest = min((each.size, each.problem) for each in tried if not each.solved)[1]
    assert sorted(each.head["name"] for each in library.rollouts) == sorted([median, smallest])
    for each in library.rollouts:
        assert each.about.split == SPLIT
        shown = playback(each)
        assert shown["expert"] is not None
        assert any(step["why"] for step in shown["steps"])
        assert shown["map"]["umap"] is False
        assert len(shown["map"]["steps"]) == len(shown["steps"])
    written = {file: (file.stat().st_mtime_ns, map_file(file).stat().st_mtime_ns) for file in files}
    assert record_attempted(tmp_path, run, "state-centric", tried) == files
    assert written == {file: (file.stat().st_mtime_ns, map_file(file).stat().st_mtime_ns) for file in files}
    assert json.loads((run.folder / "map.json").read_text())["run"]["variant"] == run.key.variant
