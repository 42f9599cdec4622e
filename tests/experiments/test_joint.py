"""One training, and the planners selected from it by three validation methods."""

import re
from dataclasses import replace
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from sgp.cli import app
from sgp.datasets.experts import expert_plans
from sgp.datasets.importing import import_folder
from sgp.datasets.runs import open_run, run_folders
from sgp.datasets.training_data import load_training_data
from sgp.errors import InputError, StoreError, UnsolvableProblem
from sgp.evaluation.attempts import Attempt
from sgp.evaluation.scores import read_scores
from sgp.experiments import joint
from sgp.methods import get_method
from sgp.methods.loading import load_planner, shipped_folders
from sgp.planning.experts import find_plan
from sgp.planning.planner import Limit
from sgp.planning.policy import one_step
from sgp.planning.rollout import Outcome
from sgp.planning.strategies import OtherPlanner
from sgp.planning.task import Task, Trajectory
from tests.evaluation.walking import PDDL, corridor

RULES = joint.DynamicConfig(problems=2, threshold=0.9)


@pytest.fixture
def method(home, monkeypatch):
    """A sweep of two planners, the first with zero weights because of its regularisation."""
    found = get_method("contrastive-jumps")
    sweep = [{"candidates": "one-step", "labels.source": "expert", "loss.l2": l2} for l2 in ("1e12", "0.1")]
    monkeypatch.setattr(type(found), "sweep", sweep)
    return found


def train(**arguments):
    given = {"domain": "logistics", "suite": "scaling", "config": RULES, **arguments}
    return joint.train_jointly("contrastive-jumps", **given)


def test_every_validation_selects_from_the_same_checkpoints(method, home):
    seen = []
    found = train(watch=seen.append)
    assert seen == list(found.checkpoints)
    assert [each.name.rpartition(" ")[2] for each in found.checkpoints] == ["1e12", "0.1"]
    untrained, trained = found.checkpoints
    assert untrained.loss > trained.loss
    assert untrained.coverage < trained.coverage
    assert untrained.dynamic < trained.dynamic
    assert found.selected == dict.fromkeys(joint.VALIDATIONS, 1)
    for by, run in found.runs.items():
        assert (run.key.variant, run.record["facts"]["selection"]["by"]) == (f"aiw+by={by}", by)
        assert run.training["loss"]["l2"] == 0.1
    assert len({found.runs[by].planner_sha256 for by in ("loss", "coverage")}) == 1, "one planner under two names"
    assert len({run.sha256 for run in found.runs.values()}) == 3
    assert set(run_folders()) == {run.folder for run in found.runs.values()}, "checkpoints are no runs of the store"
    planner = load_planner(str(found.runs["dynamic"].folder))
    (problem, *_) = joint.load_suite("scaling").problems("logistics", "validation")
    assert planner.solve(Task(problem), Limit(60)).solved


@pytest.mark.slow
def test_a_selected_run_holds_the_second_best_for_portfolios_and_damage_is_a_sentence(method, home):
    found = train()
    run = found.runs["dynamic"]
    assert run.record["facts"]["selection"]["second"].endswith("1e12")
    assert (run.training["loss"]["l2"], run.second.training["loss"]["l2"]) == (0.1, 1e12)
    portfolio = load_planner(run.folder, "portfolio")
    (second,) = [each.planner for each in portfolio.fallbacks if isinstance(each, OtherPlanner)]
    assert abs(second.policy.weights).max() < 1e-6 < abs(portfolio.policy.weights).max()
    assert "second" not in found.runs["loss"].record["facts"]
    run.file("second.delta.safetensors").write_bytes(b"cut")
    with pytest.raises(StoreError, match="cut or changed"):
        load_planner(run.folder, "portfolio")
    with pytest.raises(InputError, match="makes one planner"):
        joint.train_jointly("zero-change", "gripper", "scaling")
    train(watch=lambda validated: None)
    (file,) = home.glob("joint/*/snapshots.json")
    file.write_text('[{"name": 1}]')
    with pytest.raises(StoreError, match=r"snapshots\.json holds no validated checkpoints"):
        train()


@pytest.mark.slow
def test_a_setting_that_changes_nothing_is_not_validated_again(method, home, monkeypatch):
    one = {"candidates": "one-step", "labels.source": "expert"}
    sweep = [one, {**one, "embedding.walk_growth": "1.5"}, {**one, "loss.l2": "0.5"}]
    monkeypatch.setattr(type(method), "sweep", sweep)
    validated, tried = joint._Trial.validated, []
    monkeypatch.setattr(
        joint._Trial, "validated", lambda self, name, *others: tried.append(name) or validated(self, name, *others)
    )
    found = train()
    assert len(found.checkpoints) == 3
    assert len(tried) == 2
    first, same, _ = found.checkpoints
    assert same.name.endswith("walk_growth 1.5")
    assert replace(same, name=first.name) == first
    assert train() == found


@pytest.mark.slow
def test_an_interrupted_training_goes_on_and_a_finished_one_is_not_done_again(method, home, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        train(watch=Mock(side_effect=KeyboardInterrupt))
    seen = []
    found = train(watch=seen.append)
    assert (len(seen), len(found.checkpoints)) == (1, 2)
    monkeypatch.setattr(type(method), "checkpoints", lambda *_: pytest.fail("trained once more"))
    again = train()
    assert again.checkpoints == found.checkpoints
    assert [run.sha256 for run in again.runs.values()] == [run.sha256 for run in found.runs.values()]


@pytest.mark.slow
def test_checkpoints_whose_score_later_ones_change_are_kept_to_the_end(method, home):
    counts, rules = [], joint.DynamicConfig(problems=1, multiples=(1.5, 2.0), seconds=0.2)
    found = train(config=rules, watch=lambda _: counts.append(len(list(home.glob("joint/*/[0-9]")))))
    assert counts == [1, 2]
    assert all(found.checkpoints[place].lengths for place in found.selected.values())
    assert len(list(home.glob("joint/*/[0-9]"))) == len({*found.selected.values(), joint._second(found.checkpoints)})


@pytest.mark.slow
def test_a_state_centric_planner_is_selected_among_rounds(home):
    tiny = {"parts": "2", "wl.iterations": "0", "boosting.rounds": "6", "boosting.depth": "3"}
    found = joint.train_jointly("state-centric", "gripper", "scaling", overrides=tiny, device="cpu", config=RULES)
    assert len(found.checkpoints) == 2
    rounds = [int(each.name.removeprefix("round ")) for each in found.checkpoints]
    for by, run in found.runs.items():
        assert run.record["facts"]["rounds"] == rounds[found.selected[by]]
        assert run.record["facts"]["selection"]["by"] == by
        assert load_planner(str(run.folder)).width == 3


def test_the_first_of_equally_good_checkpoints_is_selected():
    one = joint.Validated("one", 2.0, 0.5, {16: 1.0, 17: 0.5})
    other = joint.Validated("other", 1.0, 0.5, {16: 1.0, 17: 0.9, 18: 0.1})
    assert joint._selected([one, other]) == {"loss": 1, "coverage": 0, "dynamic": 1}
    long = replace(one, lengths={16: (10, 30), 17: (0, 50)})
    short = replace(one, sizes={16: 0.5, 17: 0.5}, lengths={16: (0, 10), 17: (0, 25)})
    assert joint._quality([long, short]) == pytest.approx([(1 + 1 / 3) / 2 + 1 / 4, 1])
    assert joint._selected([long, short])["dynamic"] == 1, "three of four plans, but twice to three times as long"
    alike = replace(short, lengths={16: (0, 10), 17: (0, 25.2)})
    assert joint._selected([alike, short])["dynamic"] == 0, "about as good, and faster by its place"
    weak, strong = replace(alike, validation_lengths=(0, 20)), replace(short, validation_lengths=(30, 10))
    assert joint._quality([weak, strong]) == pytest.approx([1 / 4 + 1 / 2 + 25 / 25.2 / 2, 1 + 1 / 2 + 1 / 2])
    assert joint._selected([weak, strong])["dynamic"] == 1, "the validation split counts as one more size"
    assert joint._second([one, other]) == 0
    assert joint._second([one, replace(one, name="alike")]) is None, "no portfolio of one planner under two names"
    gap, fast = (
        replace(long, name="gap", lengths={16: (9, 9), 17: (9, 0)}),
        replace(long, lengths={16: (9, 9), 17: (0, 0)}),
    )
    fills = replace(long, name="fills", lengths={16: (0, 0), 17: (0, 99)})
    assert joint._second([gap, fast, fills]) == 2, "a portfolio needs it for the problem that the best does not solve"
    assert joint._second([gap, fast]) == 1
    first, later = replace(long, lengths={16: (10, 20)}), replace(long, name="later", lengths={16: (21, 10)})
    short = replace(long, name="short", lengths={16: (5, 0)})
    assert [joint._selected([first, later])["dynamic"], joint._selected([first, later, short])["dynamic"]] == [0, 1]
    sheet = joint.joint_table(joint.JointTraining({}, [one, other], {"loss": 1, "coverage": 0, "dynamic": 1}), "title")
    assert "loss, dynamic" in sheet.markdown()


@pytest.mark.slow
def test_the_verbs_train_and_measure_what_a_validation_selects(method, home, monkeypatch):
    monkeypatch.setattr(joint, "PAPER_CONFIG", RULES)
    words = ["--method", "contrastive-jumps", "--domain", "logistics", "--suite", "scaling", "--jobs", "1"]
    trained = CliRunner().invoke(app, ["train", *words, "--by", "coverage"])
    assert trained.exit_code == 0, trained.output
    assert trained.output.splitlines()[-1].endswith("aiw+by=coverage/scaling/logistics/seed13")
    assert "selected by" in trained.output
    measured = CliRunner().invoke(app, ["scaling", *words, "--largest", "6", "--csv", str(home / "curve.csv")])
    assert measured.exit_code == 0, measured.output
    scores = read_scores(home / "curve.csv")
    assert set(zip(scores.variant, scores.selected_by, strict=True)) == {("aiw", "dynamic")}, "selects by default"
    assert set(scores.split) == {"scaling"}
    wrong = CliRunner().invoke(app, ["train", *words, "--by", "luck"])
    assert wrong.exit_code == 2
    assert "validation is 'luck'; expected one of loss, coverage, dynamic, none" in wrong.output


@pytest.mark.slow
def test_elsewhere_than_in_the_papers_suite_larger_problems_validate(method, home, monkeypatch):
    rules = replace(joint.LARGER_SIZES, problems=2, multiples=(2, 3))
    monkeypatch.setattr(joint, "LARGER_SIZES", rules)
    found = joint.train_jointly("contrastive-jumps", "gripper", "state-centric")
    largest = max(each.size for each in joint.load_suite("state-centric").domains["gripper"].splits["train"])
    for each in found.checkpoints:
        assert list(each.sizes) == [2 * largest, 3 * largest][: len(each.sizes)]
    assert max(length for lengths in found.checkpoints[1].lengths.values() for length in lengths) > largest


def test_expert_iteration_learns_from_own_plans_until_a_round_brings_nothing(method, home, monkeypatch):
    monkeypatch.setattr(type(method), "sweep", [{**method.sweep[0], "decoding": "restarts"}])  # zero weights
    monkeypatch.setattr(joint, "_keep_selected", lambda *arguments: None)
    monkeypatch.setattr(joint, "PROBLEMS_OF_A_ROUND", 12)
    rules = joint.DynamicConfig(problems=1, multiples=(4,), seconds=0.3, rounds=3)
    found = train(config=rules, suite="state-centric", domain="visitall")
    assert [each.name for each in found.checkpoints[1:]] == ["expert iteration, round 1"]
    assert (found.selected["dynamic"], found.checkpoints[1].loss) == (0, None)
    assert train(config=rules, suite="state-centric", domain="visitall").checkpoints == found.checkpoints
    first, second = (open_run(folder) for folder in sorted((home / "joint").glob("*/[01]")))
    assert second.record["facts"]["own_plans"] > 0
    assert second.record["facts"]["decisions"] > first.record["facts"]["decisions"]
    assert second.training == first.training


def test_plans_on_larger_problems_count_without_their_redundant_actions():
    problem = joint.load_suite("state-centric").problems("gripper", "interpolation")[0]
    plan = [str(action) for action in find_plan(problem).plan]
    away, back = "(move rooma roomb)", "(move roomb rooma)"
    attempt = Attempt(problem.name, problem.sha256, 1, Outcome.SOLVED, (away, back, *plan), len(plan) + 2, 0.0)
    assert replace(RULES, multiples=(2,)).length(attempt, problem) == len(plan)
    assert RULES.length(attempt, problem) == len(plan) + 2
    assert RULES.length(replace(attempt, outcome=Outcome.HORIZON), problem) == 0


def test_own_plans_are_of_problems_whose_actions_can_be_instantiated(home, monkeypatch):
    monkeypatch.setattr(joint, "PROBLEMS_OF_A_ROUND", 3)
    data, rules = load_training_data("track", "satellite"), joint.DynamicConfig(multiples=(2, 5), seconds=10)
    source = joint.generator_for(data.domain_pddl, "satellite", joint.VALIDATION_SEED, tracked=True)
    trial = joint._Trial(data, source, 0, rules, get_method("contrastive-jumps"), 1)
    (folder,) = [each for each in shipped_folders() if each.name == "satellite"]
    plans = trial.own_plans(open_run(folder), 1)
    assert all(each.task.model is not None for each in plans)
    assert len(plans) == 2, "the third problem has five times as many objects"


def test_own_plans_with_the_most_candidates_are_left_out_where_all_would_need_too_much_memory(monkeypatch, caplog):
    suite, plans = joint.load_suite("state-centric"), []
    for problem in suite.problems("gripper", "interpolation")[:3]:
        task = Task(problem)
        plans.append(Trajectory.of(task, find_plan(problem).plan))
    counts = [len(plan) * len(one_step(plan.task, plan.task.init)) for plan in plans]
    assert joint.within_memory(plans, one_step) == plans
    monkeypatch.setattr(joint, "MOST_CANDIDATES", sum(counts) - 1)
    kept = joint.within_memory(plans, one_step)
    assert kept == [plan for plan, count in zip(plans, counts, strict=True) if count < max(counts)]
    assert "1 of 3 own plans are left out" in caplog.text


def corridors(folder, texts, domain=PDDL):
    """Import training problems, without plans, of a domain without a built-in generator, as a suite."""
    (folder / "walking" / "train").mkdir(parents=True)
    (folder / "walking" / "domain.pddl").write_text(domain)
    for number, text in enumerate(texts):
        (folder / "walking" / "train" / f"p{number}.pddl").write_text(text)
    return import_folder(folder / "walking", "corridors")


def test_where_no_problems_can_be_generated_the_largest_are_used_and_that_is_told(method, home, caplog, tmp_path):
    corridors(tmp_path, [corridor(rooms, 1) for rooms in range(3, 11)])
    found = joint.train_jointly("contrastive-jumps", "walking", "corridors")
    assert "no problems of walking with more than " in caplog.text
    assert "the validation falls back on the 2 largest of suite corridors" in caplog.text
    assert {tuple(each.sizes) for each in found.checkpoints} == {(9, 10)}
    assert found.checkpoints[1].dynamic == 2


def test_a_domain_without_a_generator_has_no_round_unless_a_training_problem_has_no_expert_plan(
    method, home, monkeypatch, tmp_path
):
    monkeypatch.setattr(type(method), "sweep", [method.sweep[0]])  # zero weights
    corridors(tmp_path, [corridor(rooms, 1) for rooms in range(30, 33)])
    rules = replace(joint.LARGER_SIZES, seconds=0.01)
    found = joint.train_jointly("contrastive-jumps", "walking", "corridors", config=rules)
    assert found.checkpoints[0].dynamic == 0
    assert len(found.checkpoints) == 1


def test_atoms_of_passed_objects_are_told_where_there_can_be_some(method, home, monkeypatch, tmp_path):
    def paired(text):
        return re.sub(r"\(at ([^)]+)\)", r"(at \1 \1)", text).replace("(at ?r ?r)", "(at ?r ?q)")

    one = {"candidates": "one-step", "labels.source": "expert"}
    monkeypatch.setattr(type(method), "sweep", [one, {**one, "embedding.passed_atoms": "true"}])
    corridors(tmp_path, [paired(corridor(rooms, 1)) for rooms in range(3, 7)], paired(PDDL))
    data = load_training_data(joint.load_suite("corridors"), "walking")
    plain, passing = method.checkpoints(method.variants["aiw"], data, tmp_path, 1, "cpu")
    assert (passing.like, passing.loss) == (plain.name, plain.loss)
    data = load_training_data(joint.load_suite("state-centric"), "blocksworld")
    plain, passing = method.checkpoints(method.variants["aiw"], data, tmp_path, 1, "cpu")
    assert not passing.like
    assert passing.loss != plain.loss


def test_a_training_problem_that_has_no_plan_is_named(method, home, tmp_path):
    corridors(tmp_path, [corridor(5, 1), corridor(5, 1, closed=True)])
    with pytest.raises(UnsolvableProblem, match=r"p1 has no plan .*remove or mend the problem"):
        joint.train_jointly("contrastive-jumps", "walking", "corridors")


def test_one_training_problem_will_do_and_missing_plans_are_made_soon(method, home, tmp_path):
    suite = corridors(tmp_path, [corridor(5, 1)])
    assert joint.train_jointly("contrastive-jumps", "walking", "corridors").checkpoints[1].coverage == 1
    (made,) = expert_plans(suite, "walking", "train").values()
    assert made.configuration == "astar-lmcut 2s"
