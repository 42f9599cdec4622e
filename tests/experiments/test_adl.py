"""An ADL domain from import to the last plan: users see the actions of their file."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sgp
from sgp.cli import app
from sgp.datasets.recorded import read_recorded
from sgp.datasets.recording import read_rollouts
from sgp.service.jobs import read, replay, solve
from sgp.viewer.playback import expert_states, playback

FOLDER = Path(__file__).parents[1] / "planning" / "adl"
LIGHTS = (FOLDER / "lights" / "domain.pddl").read_text()
EITHER = "(or (forall (?x - lamp) (not (on ?x))) (forall (?x - lamp) (on ?x)))"


def lamps(count: int, on: str, goal: str = "(forall (?x - lamp) (not (on ?x)))") -> str:
    names = [f"l{number}" for number in range(count)]
    init = [f"(on l{each})" for each in on] + [f"(beside {a} {b})" for a, b in pairwise(names)]
    objects, atoms = " ".join(names), " ".join(init)
    return f"(define (problem lamps) (:domain lights) (:objects {objects} - lamp) (:init {atoms})\n (:goal {goal}))"


def call(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def trained(home, tmp_path, caplog):
    """An imported folder with a domain and problems, and a run trained on it."""
    files = {"domain.pddl": LIGHTS, "train/p1.pddl": lamps(3, "02"), "train/p2.pddl": lamps(3, "12")}
    files |= {"test/p3.pddl": lamps(5, "34"), "train/p1.plan": "(press l0 l1)\n(press l1 l2)\n"}
    for name, text in files.items():
        path = tmp_path / "in" / "lights" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert call("import", tmp_path / "in", "--suite", "mine")[0] == 0
    assert caplog.text.count("are compiled to actions of STRIPS") == 1
    assert "press (4); plans are shown in the actions of the file" in caplog.text
    code, out, _ = call("train", "--method", "zero-change", "--domain", "lights", "--suite", "mine")
    assert code == 0
    return tmp_path / "in" / "lights", out.strip().splitlines()[-1]


def test_what_was_learned_solves_larger_problems_and_other_goals_in_the_actions_of_the_file(trained, tmp_path, caplog):
    folder, run = trained
    (folder / "large.pddl").write_text(lamps(9, "78"))
    files = ["--plan", tmp_path / "plan", "--rollout", tmp_path / "r.jsonl", "--html", tmp_path / "r.html"]
    code, out, err = call("solve", folder / "domain.pddl", folder / "large.pddl", "--run", run, *files)
    assert (code, out.splitlines()[0]) == (0, "(press l7 l8)")
    assert "the same for all problems: press (4)" in caplog.text
    assert "VAL accepts the plan" in err
    assert call("validate", folder / "domain.pddl", folder / "large.pddl", tmp_path / "plan")[0] == 0
    (rollout,) = read_rollouts(tmp_path / "r.jsonl")
    assert [str(each) for each in rollout.plan] == ["(press l7 l8)"]
    (step,) = rollout.steps
    assert {each.actions[0].name for each in step.candidates} < {f"press-{case}" for case in range(1, 5)}
    assert playback(read_recorded(tmp_path / "r.jsonl")[0])["length"] == 1
    (folder / "either.pddl").write_text(lamps(4, "01", EITHER))
    files = ["--rollout", tmp_path / "r.jsonl"]
    code, out, _ = call("solve", folder / "domain.pddl", folder / "either.pddl", "--run", run, *files)
    assert (code, out.splitlines()[0]) == (0, "(press l0 l1)")
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])["goal"] in (0, 1)
    (rollout,) = read_rollouts(tmp_path / "r.jsonl")
    assert rollout.solved
    assert len(rollout.task.goal) == 4


def test_expert_plans_are_replayed_evaluated_plans_are_of_the_file_and_the_dashboard_shows_it(trained):
    suite = sgp.load_suite("mine")
    (kept, *_) = sgp.datasets.training_data.demonstrations(suite, "lights", "train")
    assert [str(each) for each in kept.plan] == ["(press l0 l1)", "(press l1 l2)"]
    trajectory = kept.replayed()
    first = frozenset(trajectory.task.atoms(trajectory.states[0]))
    states = expert_states(trajectory.task.domain_text, first, trajectory.actions)
    assert states[-1] == frozenset(trajectory.task.atoms(trajectory.states[-1]))
    found = sgp.evaluate([trained[1]], "mine", ["test"])
    ((attempt,),) = found.attempts.values()
    assert attempt.plan == ("(press l3 l4)",)
    run = trained[1]
    for text, plan in ((lamps(3, "12"), "(press l1 l2)"), (lamps(4, "01", EITHER), "(press l2 l3)")):
        problem = {"name": "", "domain": LIGHTS, "problem": text}
        assert [each["folder"] for each in read(print, problem)["runs"]] == [run]
        assert solve(lambda **_: None, run, problem, 20.0)["valid"]
        replayed = replay(print, problem, plan)
        assert (replayed["valid"], replayed["stopped"], replayed["data"]["length"]) == (True, "", 1)
