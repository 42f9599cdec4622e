"""Rollouts that are recorded for the dashboard: which ones, with maps, and not again."""

from __future__ import annotations

import json

import sgp
from sgp.experiments.record import SPLIT, record_attempted
from sgp.planning.recorded import map_file


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
    assert [each.head["name"] for each in library.rollouts] == sorted([median, smallest])
    for each in library.rollouts:
        assert each.about.split == SPLIT
        shown = sgp.playback(each)
        assert shown["expert"] is not None
        assert any("why" in step for step in shown["steps"])
        assert shown["map"]["umap"] is False
        assert len(shown["map"]["steps"]) == len(shown["steps"])
    written = {file: (file.stat().st_mtime_ns, map_file(file).stat().st_mtime_ns) for file in files}
    assert record_attempted(tmp_path, run, "state-centric", tried) == files
    assert written == {file: (file.stat().st_mtime_ns, map_file(file).stat().st_mtime_ns) for file in files}
    assert json.loads((run.folder / "map.json").read_text())["run"]["variant"] == run.key.variant
