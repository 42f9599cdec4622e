"""Rollouts recorded for the dashboard, and planners that come with the package."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import pytest

import sgp
from sgp.datasets.recorded import map_file, read_recorded
from sgp.datasets.recording import replayed, write_rollouts
from sgp.datasets.runs import open_run
from sgp.datasets.store import data_folder
from sgp.errors import ConfigurationError, InputError
from sgp.evaluation.scores import select
from sgp.experiments import bundle, joint
from sgp.experiments.bundle import COUNT, MEASURED_ON, ship
from sgp.experiments.record import SPLIT, Recording, add_distances, record, record_attempted
from sgp.reports.card import saved_scores
from sgp.viewer.playback import playback


@pytest.mark.slow
def test_all_planners_are_recorded_on_the_problems_that_most_leave_unsolved(home, monkeypatch, tmp_path):
    suite = sgp.load_suite("state-centric")
    one = replace(suite, domains={"blocksworld": suite.domain("blocksworld")})
    monkeypatch.setattr("sgp.experiments.record.load_suite", lambda name: one)
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


@pytest.mark.slow
def test_a_planner_is_measured_on_distinct_problems_twice_as_large(home, tmp_path, monkeypatch, caplog):
    for part in ("domain.pddl", "train", "validation"):
        source = data_folder() / "benchmarks" / "state-centric" / "gripper" / part
        target = tmp_path / "some" / "gripper" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    suite = sgp.import_folder(tmp_path / "some", "some")
    monkeypatch.setattr(joint, "LARGER_SIZES", joint.DynamicConfig(problems=1, multiples=(2.0,), seconds=5.0))
    with pytest.raises(InputError, match="no training problems of domain 'griper'; expected one of gripper"):
        ship(tmp_path / "planners", suites=["some"], domains=["griper"])
    (folder,) = ship(tmp_path / "planners", suites=["some"], domains=["gripper"])
    assert folder == tmp_path / "planners" / "gripper"
    run = open_run(folder)
    assert (run.key.method, run.key.suite) == ("contrastive-jumps", "some")
    (whole,) = select(saved_scores(run), metric="coverage", size=None).itertuples()
    problems = sgp.load_suite(MEASURED_ON).problems("gripper", MEASURED_ON)
    assert whole.n == len(problems) == len({sgp.data.canonical_form(sgp.Task(each)) for each in problems}) == COUNT
    largest = max(entry.size for entry in suite.domain("gripper").splits["train"])
    assert {sgp.Task(problem).size for problem in problems} == {2 * largest}
    assert f"of {COUNT} |" in (folder / "card.md").read_text()
    assert open_run(folder).second.record["facts"]
    monkeypatch.setattr(bundle, "MOST_SECOND", 100)
    (alone,) = ship(tmp_path / "alone", suites=["some"], domains=["gripper"])
    assert not list(alone.glob("second.*"))
    weights = [(place / "delta.safetensors").read_bytes() for place in (folder, alone)]
    assert weights[0] == weights[1]
    with pytest.raises(ConfigurationError, match="holds one planner alone"):
        sgp.load_planner(alone, "portfolio")
    monkeypatch.setattr(bundle, "LIMIT", sgp.Limit(decisions=1))
    assert ship(tmp_path / "others", suites=["some"]) == [], "the same training, which now solves nothing"
    assert "gripper: the planner solves none of the problems" in caplog.text
    assert not (tmp_path / "others").exists()


def test_planners_of_the_track_are_measured_on_problems_within_its_proportions(home):
    suite = bundle._larger(sgp.load_suite("track"), "sokoban")
    for problem in suite.problems("sokoban", MEASURED_ON):
        sizes = Counter(type_ for item in sgp.Task(problem).text.objects for type_ in item.types)
        assert sizes["box"] ** 2 <= sizes["location"]


def test_distances_are_added_once_and_never_to_a_file_of_several_rollouts(tmp_path):
    problem = sgp.load_suite("state-centric").problems("gripper", "validation")[0]
    rollout = sgp.solve(problem)
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    write_rollouts(one, [rollout])
    write_rollouts(two, [rollout, rollout])
    texts = one.read_bytes(), two.read_bytes()
    with pytest.raises(InputError, match=r"two\.jsonl has 2 rollouts; expected one"):
        list(add_distances([one, two], space=100_000, seconds=1))
    assert (one.read_bytes(), two.read_bytes()) == texts
    assert list(add_distances([one], space=100_000, seconds=1)) == [one]
    (recorded,) = read_recorded(one)
    space = sgp.state_space(problem)
    replay = replayed(recorded, space.task)
    states = [*(step.state for step in replay.steps), replay.end]
    assert recorded.head["left"] == space.distance(states).tolist()
    for step, written in zip(replay.steps, recorded.steps, strict=True):
        distances = space.distance([each.state for each in step.candidates]).tolist()
        assert [each["left"] for each in written["candidates"]] == distances
    assert list(add_distances([one], space=100_000, seconds=1)) == []
