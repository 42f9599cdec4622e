import json
from dataclasses import replace

import pytest

import sgp
from sgp.datasets import experts as store
from sgp.datasets.experts import expert_plans, experts_file, saved_plans
from sgp.datasets.importing import import_folder
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import load_training_data
from sgp.errors import StoreError, SuiteError, UnsolvableProblem
from sgp.planning.experts import Stage, find_plan
from tests.conftest import BLOCKS, blocks_problem

TABLE = "(ontable a) (ontable b) (clear a) (clear b)"
PROBLEMS = {
    "p1": blocks_problem("a b", TABLE, "(on a b)"),
    "p2": blocks_problem("a b", TABLE, "(on b a)"),
    "p3": blocks_problem("a b c", f"{TABLE} (ontable c) (clear c)", "(on a b) (on b c)"),
}


def make_suite(folder, problems, split="train", name="small"):
    (folder / "blocks" / split).mkdir(parents=True)
    (folder / "blocks" / "domain.pddl").write_text(BLOCKS)
    for number, problem in problems.items():
        (folder / "blocks" / split / f"{number}.pddl").write_text(problem.problem_pddl)
    return import_folder(folder, name)


@pytest.fixture
def suite(home, tmp_path):
    return make_suite(tmp_path / "in", PROBLEMS)


@pytest.fixture
def searched(monkeypatch):
    """Names of the problems that are searched for; `interrupt` in it ends the search of p3 as Ctrl-C does."""
    names = []

    def recorded(problem, *arguments, **options):
        if problem.name == "p3" and "interrupt" in names:
            raise KeyboardInterrupt
        names.append(problem.name)
        return find_plan(problem, *arguments, **options)

    monkeypatch.setattr(store, "find_plan", recorded)
    return names


def test_plans_are_made_saved_and_not_made_again(suite, searched):
    plans = expert_plans(suite, "blocks", "train", jobs=2)
    assert sorted(len(plan.plan) for plan in plans.values()) == [2, 2, 4]
    records = [json.loads(line) for line in experts_file(suite, "blocks", "train").read_text().splitlines()]
    assert [record["problem"] for record in records] == ["p1", "p2", "p3"]
    assert records[0].keys() == {"problem", "sha256", "planner", "configuration", "seconds", "plan"}
    searched.clear()
    assert expert_plans(suite, "blocks", "train") == plans
    assert searched == []


def test_an_interrupted_run_resumes(suite, searched):
    searched.append("interrupt")
    with pytest.raises(KeyboardInterrupt):
        expert_plans(suite, "blocks", "train")
    assert not experts_file(suite, "blocks", "train").exists()
    assert set(searched) == {"interrupt", "p1", "p2"}
    searched.clear()
    assert len(expert_plans(suite, "blocks", "train")) == 3
    assert searched == ["p3"]


def test_an_unsolvable_problem_is_an_error_and_the_other_plans_are_kept(home, tmp_path):
    broken = {**PROBLEMS, "p0": blocks_problem("a b", TABLE, "(on a b) (on b a)")}
    suite = make_suite(tmp_path / "in", broken)
    with pytest.raises(UnsolvableProblem, match="p0 has no plan"):
        expert_plans(suite, "blocks", "train")
    assert sorted(plan.problem for plan in saved_plans(suite, "blocks", "train").values()) == ["p1", "p2", "p3"]


def test_what_no_stage_solved_is_saved_as_such_and_tried_again_on_request(suite):
    short = [Stage("two-actions", 30, search="astar(lmcut(), bound=3)")]
    plans = expert_plans(suite, "blocks", "train", short)
    assert [plan.plan is None for plan in plans.values()].count(True) == 1
    assert expert_plans(suite, "blocks", "train") == plans
    retried = expert_plans(suite, "blocks", "train", retry=True)
    assert all(plan.plan is not None for plan in retried.values())


def test_a_cut_file_of_plans_is_refused_with_its_line(suite):
    expert_plans(suite, "blocks", "train")
    file = experts_file(suite, "blocks", "train")
    file.write_text(file.read_text()[:-30])
    with pytest.raises(StoreError, match=r"train\.jsonl, line 3: no complete expert plan"):
        saved_plans(suite, "blocks", "train")


def test_trajectories_are_replayed_from_plans(home):
    data = load_training_data(sgp.load_suite("state-centric"), "gripper")
    assert [len(trajectory) for trajectory in data.train] == [5, 11, 17, 23]
    assert [len(trajectory) for trajectory in data.validation] == [27, 29]
    for trajectory in data.train:
        assert len(trajectory.states) == len(trajectory) + 1
        assert trajectory.task.is_goal(trajectory.states[-1])
        assert not any(trajectory.task.is_goal(state) for state in trajectory.states[:-1])


def test_what_is_held_out_where_there_is_no_validation_split(home, tmp_path):
    ten = load_training_data(make_suite(tmp_path / "ten", {f"p{n}": PROBLEMS["p3"] for n in range(1, 11)}), "blocks")
    assert [trajectory.task.name for trajectory in ten.validation] == ["p5", "p10"], "every fifth problem"
    assert len(ten.train) == 8
    one = load_training_data(make_suite(tmp_path / "one", {"p3": PROBLEMS["p3"]}, "few", "one"), "blocks")
    assert (len(one.train), len(one.validation)) == (1, 1)
    solved = make_suite(tmp_path / "none", {"p1": blocks_problem("a b", TABLE, "(clear a)")}, name="none")
    with pytest.raises(SuiteError, match="has no train problem with an expert plan of at least one action"):
        load_training_data(solved, "blocks")


def test_the_hash_of_training_data_follows_the_data(home, tmp_path):
    one = load_training_data(make_suite(tmp_path / "one", PROBLEMS), "blocks").sha256
    import_folder(tmp_path / "one", "same")
    assert load_training_data(sgp.load_suite("same"), "blocks").sha256 == one
    (tmp_path / "one" / "blocks" / "train" / "p1.pddl").write_text(PROBLEMS["p2"].problem_pddl)
    assert load_training_data(import_folder(tmp_path / "one", "other"), "blocks").sha256 != one


def test_a_split_is_given_up_after_so_many_problems_in_a_row(monkeypatch, tmp_path):
    """Earlier plans stay and later problems are saved as not attempted, whatever the number of jobs."""
    monkeypatch.setenv("SGP_HOME", str(tmp_path))
    source = load_suite("state-centric")
    hopeless = (Stage("hopeless", 1.0, search="let(h, lmcut(), astar(h, bound=1))"),)
    given_up = (None, "not searched: 2 problems in a row without a plan")
    for jobs in (1, 3):
        suite = replace(source, experts=tmp_path / str(jobs))
        plans = expert_plans(suite, "gripper", "train", hopeless, jobs, patience=2).values()
        found = [(plan.plan, plan.configuration) for plan in plans]
        assert found == [(None, "hopeless 1s")] * 2 + [given_up] * 2


def test_a_resumed_run_writes_the_plans_of_before_too(suite, tmp_path, monkeypatch):
    """Plans in the file stay when missing plans are added, whatever the present request."""
    short = [Stage("two-actions", 30, search="astar(lmcut(), bound=3)")]
    expert_plans(suite, "blocks", "train", short)
    lines = experts_file(suite, "blocks", "train").read_text().splitlines()
    experts_file(suite, "blocks", "train").write_text(lines[0] + "\n")
    monkeypatch.setattr(store, "_cached", lambda sha, stages: tmp_path / f"empty-{sha}.json")
    expert_plans(suite, "blocks", "train")
    found = [json.loads(line) for line in experts_file(suite, "blocks", "train").read_text().splitlines()]
    assert [each["problem"] for each in found] == ["p1", "p2", "p3"]
    assert json.dumps(found[0]) == json.dumps(json.loads(lines[0])), "the first stands as it was"
    assert all(each["plan"] for each in found)


RECORD = b'{"problem": "p", "sha256": "", "planner": "", "configuration": "", "seconds": %s, "plan": %s}'


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"3", b"[]", b'{"plan": 3}', b"NaN", b"null", b"[" * 100_000]
    + [RECORD % pair for pair in ((b"1", b"3"), (b'"x"', b"[]"), (b"-1", b"[]"), (b"1", b"[3]"), (b"[]", b"[]"))]
    + [RECORD % (b"1", b'["no action"]')],
)
def test_a_file_of_other_things_than_plans_is_refused_in_a_sentence(home, tmp_path, content):
    (tmp_path / "train.jsonl").write_bytes(content)
    with pytest.raises(StoreError, match=r"train\.jsonl.* (is no text|no complete expert plan) .*bundle experts"):
        store.read_plans(tmp_path / "train.jsonl")
    (tmp_path / "cached.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"cached\.json.* (is no complete JSON|no expert plan) "):
        store._read_cached(tmp_path / "cached.json")


def test_what_an_interrupted_retry_found_is_seen(suite, searched):
    short = [Stage("one-action", 30, search="astar(lmcut(), bound=1)")]
    assert all(plan.plan is None for plan in expert_plans(suite, "blocks", "train", short).values())
    searched.append("interrupt")
    with pytest.raises(KeyboardInterrupt):
        expert_plans(suite, "blocks", "train", retry=True)
    found = saved_plans(suite, "blocks", "train").values()
    assert {plan.problem: plan.plan is None for plan in found} == {"p1": False, "p2": False, "p3": True}
    assert len(load_training_data(suite, "blocks").train) == 1  # the other plan is for validation
