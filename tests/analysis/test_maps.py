import json
from itertools import pairwise

import numpy as np
import pytest

import sgp
from sgp.analysis import maps
from sgp.api import map_run
from sgp.datasets.recorded import map_file, read_recorded
from sgp.datasets.runs import open_run
from sgp.errors import InputError
from sgp.methods.baselines import RandomSuccessor
from sgp.viewer.playback import playback


def solved_by(run, place=0, actions=30):
    problem = sgp.load_suite("state-centric").problems("gripper", "interpolation")[place]
    return sgp.load_planner(str(run.folder)).solve(sgp.Task(problem), sgp.Limit(actions=actions))


@pytest.fixture(scope="module")
def transition_run(quick_run):
    return quick_run("contrastive-jumps", "gripper", "one-step")


@pytest.fixture(scope="module")
def state_run(quick_run):
    return quick_run("state-centric", "gripper", "wl-xgboost-delta")


def write(file, rollout, run):
    recorded = sgp.data.as_recorded(rollout, run.folder)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in (recorded.head, *recorded.steps)))
    return file


@pytest.fixture(scope="module")
def train():
    return sgp.trajectories(sgp.load_suite("state-centric"), "gripper", "train")


@pytest.mark.slow
def test_a_run_of_transitions_is_mapped_and_the_player_reads_it(transition_run, tmp_path):
    """UMAP and PCA maps are written with the run and beside the file, and are found by rank."""
    rollout = solved_by(transition_run, 2)
    file = write(tmp_path / "r.jsonl", rollout, transition_run)
    assert map_run(transition_run.folder, [file]) == [transition_run.folder / "map.json", map_file(file)]
    data = playback(read_recorded(file)[0])
    shown = data["map"]
    assert (shown["of"], shown["umap"]) == ("transitions", True)
    assert shown["dimensions"] == sgp.load_planner(str(transition_run.folder)).policy.encoder.dimension
    assert 0 < sum(shown["explained"]) <= 1
    assert len(shown["steps"]) == len(rollout.steps)
    for step, points in zip(data["steps"], shown["steps"], strict=True):
        assert (points["state"], points["predicted"]) == (None, None)
        ranks = [rank for rank, *_ in points["candidates"]]
        assert step["chosen"] in ranks
        assert len(ranks) == min(maps.CANDIDATES, len(step["candidates"]))
    every = np.array([*shown["context"], *(point[1:] for step in shown["steps"] for point in step["candidates"])])
    assert (every.shape[1], every.min(), every.max()) == (4, 0, 1000)
    again = json.loads((transition_run.folder / "map.json").read_text())
    map_run(transition_run.folder, [file])
    assert json.loads((transition_run.folder / "map.json").read_text()) == again, "the seed is fixed"
    assert open_run(transition_run.folder).sha256 == transition_run.sha256, "a map does not change the run"


def test_states_have_their_points_and_predicted_ones(state_run, train, monkeypatch):
    projected = []
    monkeypatch.setattr(
        maps, "project_neighbours", lambda rows: [projected.extend(rows), np.zeros((len(rows), 2), np.int64)][1]
    )
    planner = sgp.load_planner(str(state_run.folder))
    rollout = solved_by(state_run, 1, actions=8)
    ground, (drawn,) = maps.make_map(planner.policy, planner.successors, train, [rollout])
    assert ground["of"] == "states"
    steps = drawn["steps"]
    points = [each for step in steps for each in (step["state"], step["predicted"], *step["candidates"].values())]
    flat, _ = maps.project_linearly(np.array(projected[: len(ground["context"])]), np.array(projected))
    assert sorted(points) == sorted([*point, 0, 0] for point in flat[len(ground["context"]) :].tolist())
    for place, (step, after) in enumerate(pairwise(steps)):
        assert step["candidates"][str(rollout.steps[place].chosen)] == after["state"]
    with pytest.raises(InputError, match=r"steps together, more than fit on a map of 4000 points; map fewer at once"):
        maps.make_map(planner.policy, planner.successors, train, [rollout] * 400)


def test_the_nearest_training_point_is_told_in_the_embedding(state_run, train):
    planner = sgp.load_planner(str(state_run.folder))
    policy, suite = planner.policy, sgp.load_suite("state-centric")
    near = sgp.Task(suite.problems("gripper", "train")[0])
    far = sgp.Task(suite.problems("gripper", "extrapolation")[-1])
    rollouts = [planner.solve(task, sgp.Limit(actions=4)) for task in (near, far)]
    made, drawn = maps.make_map(policy, planner.successors, train, rollouts, False)
    training, sources = maps._training(policy, planner.successors, train)
    of_problem = {each.task.name: each for each in train}
    for vector, (problem, before, actions) in zip(training, sources, strict=True):
        assert not actions
        trajectory = of_problem[problem]
        assert (policy.embed(trajectory.task, [trajectory.states[before]])[0] == vector).all()
    ground = training[list(maps.evenly_spaced(len(training), maps.CONTEXT))].astype(float)
    apart = [np.sort(np.linalg.norm(ground - each, axis=1))[1] for each in ground]
    near = maps._Near(ground.astype(np.float32))
    assert near.usual == pytest.approx(np.percentile(apart, 99), rel=1e-4)
    for rollout, of in zip(rollouts, drawn, strict=True):
        for view, step in zip(policy.views(rollout.task, rollout.steps), of["steps"], strict=True):
            distances = np.linalg.norm(ground - view.state, axis=1)
            assert near.to(view.state)[1] == pytest.approx(distances.min(), abs=1e-3)
            assert step["distance"] == pytest.approx(near.to(view.state)[1], rel=1e-3)
            assert distances[step["nearest"]] == pytest.approx(distances.min(), abs=1e-3)
    assert drawn[0]["steps"][0]["distance"] == pytest.approx(0, abs=1e-3), "the start of a training problem"
    assert drawn[1]["steps"][0]["distance"] > made["usual"], "the largest problem of all"
    assert made["usual"] == pytest.approx(near.usual, rel=1e-3)


def test_pca_is_fitted_to_the_training_points_alone_and_coordinates_keep_their_shape():
    rng = np.random.default_rng(0)
    training = (rng.normal(size=(50, 3)) * [9.0, 3.0, 0.0]).astype(np.float32)
    far = np.array([[0, 0, 1000]], np.float32)
    flat, (first, second) = maps.project_linearly(training, np.vstack([training, far]))
    without, _ = maps.project_linearly(training, training)
    assert np.array_equal(flat[:50], without), "an outlier off the axes moves nothing"
    assert first + second == pytest.approx(1.0, abs=1e-3)
    assert first > 0.75
    spread = np.abs(without - without.mean(axis=0)).max(axis=0)
    assert spread[0] > spread[1]
    assert maps.scaled_to_square(np.array([[0, 0], [4, 1], [2, 2]])).tolist() == [[0, 0], [1000, 250], [500, 500]]
    assert maps.scaled_to_square(np.array([[3, 3], [3, 3]])).tolist() == [[0, 0], [0, 0]]


def test_what_has_no_map_says_why(transition_run, two_blocks, tmp_path, home):
    rollout = solved_by(transition_run)
    file = write(tmp_path / "r.jsonl", rollout, transition_run)
    (recorded,) = read_recorded(file)
    assert playback(recorded)["map"] == {"missing": "No map available; create one with 'sgp map'"}
    entry = {"line": 1, "chosen": "another", "steps": []}
    map_file(file).write_text(json.dumps({"format": 1, "rollouts": [entry]}))
    told = {"missing": "The map belongs to another rollout; create it again with 'sgp map'"}
    assert playback(recorded)["map"] == told
    walk = sgp.train("random-successor", "gripper", "state-centric")
    walked = sgp.Planner(RandomSuccessor(1)).solve(rollout.task, sgp.Limit(actions=4))
    file = write(tmp_path / "walk.jsonl", walked, walk)
    map_run(walk.folder, [file])
    assert playback(read_recorded(file)[0])["map"] == {"missing": "this model has no embedding"}
    with pytest.raises(InputError, match=r"r\.jsonl has no rollout of .*seed13; give a file that this run's"):
        map_run(walk.folder, [tmp_path / "r.jsonl"])
