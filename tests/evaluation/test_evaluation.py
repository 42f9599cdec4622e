from __future__ import annotations

import pytest
from rich.console import Console

import sgp
from sgp.api import load_planner
from sgp.datasets.importing import import_folder
from sgp.errors import DomainMismatch, SuiteError
from sgp.evaluation import parallel
from sgp.evaluation.coverage import Attempt, Subject, scores
from sgp.evaluation.figures import coverage_figure
from sgp.evaluation.parallel import Work, run_all
from sgp.evaluation.scores import Score
from sgp.evaluation.tables import OTHER_INSTANCES, Column, cell, columns_of, coverage_markdown, coverage_table
from sgp.planning.planner import NO_LIMIT, Limit
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from tests.conftest import BLOCKS, COURIER, COURIER_PROBLEM, blocks_problem

SUITE = sgp.load_suite("state-centric")
SUBJECT = Subject("m", "v", "d", "s", "validation", 13)


def attempts():
    def one(name, size, outcome, plan, seconds):
        return Attempt(name, name * 8, size, outcome, tuple(["(a)"] * plan), plan + 1, seconds)

    return [
        one("p", 4, Outcome.SOLVED, 6, 0.5),
        one("q", 4, Outcome.HORIZON, 0, 1.5),
        one("r", 6, Outcome.SOLVED, 10, 1.0),
        one("s", 6, Outcome.SOLVED, 0, 1.0),
    ]


def test_scores_by_hand():
    found = {
        (each.metric, each.size): each
        for each in scores(SUBJECT, attempts(), {"pppppppp": 4, "rrrrrrrr": 10, "ssssssss": 0})
    }
    values = {key: (score.value, score.count) for key, score in found.items()}
    assert values["coverage", None] == (0.75, 4)
    assert values["coverage", 4] == (0.5, 2)
    assert values["coverage", 6] == (1.0, 2)
    assert values["plan_length", None] == (16 / 3, 3)
    assert values["plan_length_ratio", None] == ((6 / 4 + 1.0) / 2, 2)
    assert values["seconds", None] == (1.0, 4)
    assert values["decisions", None] == ((7 + 1 + 11 + 1) / 4, 4)
    assert values["outcome_solved", None] == (3, 4)
    assert values["outcome_horizon", None] == (1, 4)
    assert ("outcome_stuck", None) not in values
    assert all(score.paper == "" and score.seed == 13 for score in found.values())


def test_attempts_survive_json():
    for each in attempts():
        assert Attempt.from_record(each.to_record()) == each


def test_an_evaluation_counts_only_plans_that_val_accepts(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    run = quick_run("state-centric", "visitall")
    found = sgp.evaluate([run.folder], "state-centric", ["interpolation"])
    tried = found.attempts[str(run.folder), "interpolation"]
    problems = SUITE.problems("visitall", "interpolation")
    assert [each.problem for each in tried] == [problem.name for problem in problems]
    for each, problem in zip(tried, problems, strict=True):
        verdict = sgp.validate(problem, sgp.parse_plan("\n".join(each.plan)))
        assert verdict.valid is each.solved
    coverage = [score for score in found.scores if score.metric == "coverage" and score.size is None]
    assert [(score.value, score.count) for score in coverage] == [(sum(each.solved for each in tried) / 37, 37)]
    assert sum(score.count for score in found.scores if score.metric == "coverage" and score.size is not None) == 37


def test_the_number_of_processes_changes_no_attempt(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    monkeypatch.setattr(parallel, "CHUNK", 3)
    runs = [quick_run(key, "blocksworld").folder for key in ("state-centric", "random-successor")]

    def judged(jobs):
        found = sgp.evaluate(runs, "state-centric", ["validation", "interpolation"], jobs, Limit(actions=30))
        return {
            key: [(each.outcome, each.plan, each.decisions) for each in tried] for key, tried in found.attempts.items()
        }

    assert judged(1) == judged(2)


def test_an_interrupted_evaluation_goes_on_where_it_stopped(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    monkeypatch.setattr(parallel, "CHUNK", 4)
    folder = str(quick_run("random-successor", "visitall").folder)
    work = Work(folder, "identity", SUITE.problems("visitall", "interpolation")[:12], NO_LIMIT)
    tried = []
    real = parallel.attempt

    def counting(planner, problems, limit, stop_at=99):
        if len(tried) == stop_at:
            raise KeyboardInterrupt
        tried.append([problem.name for problem in problems])
        return real(planner, problems, limit)

    whole = run_all([work], load_planner, 1, "whole")
    monkeypatch.setattr(parallel, "attempt", lambda *args: counting(*args, stop_at=2))
    with pytest.raises(KeyboardInterrupt):
        run_all([work], load_planner, 1, "interrupted")
    assert len(tried) == 2
    monkeypatch.setattr(parallel, "attempt", counting)
    resumed = run_all([work], load_planner, 1, "resumed")
    assert len(tried) == 3, "the two finished chunks are not tried again"
    plans = [[(each.problem, each.outcome, each.plan) for each in found[0]] for found in (whole, resumed)]
    assert plans[0] == plans[1]
    run_all([work], load_planner, 1, "afresh")
    assert len(tried) == 6, "a finished evaluation measures again"


def test_a_cut_chunk_is_tried_again(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    folder = str(quick_run("random-successor", "gripper").folder)
    work = Work(folder, "identity", SUITE.problems("gripper", "validation"), Limit(actions=20))
    work.kept.parent.mkdir(parents=True, exist_ok=True)
    work.kept.write_text('[{"problem"')
    assert len(run_all([work], load_planner, 1, "again")[0]) == 2


def test_a_run_plans_on_another_suite_of_its_domain(quick_run, shared_home, tmp_path, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    (tmp_path / "tower" / "test").mkdir(parents=True)
    (tmp_path / "tower" / "domain.pddl").write_text(BLOCKS.replace("(domain blocksworld)", "(domain blocksworld)"))
    problem = blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)")
    (tmp_path / "tower" / "test" / "p.pddl").write_text(problem.problem_pddl)
    import_folder(tmp_path, "towers")
    found = sgp.evaluate([quick_run("state-centric", "blocksworld").folder], "towers", ["test"])
    coverage = next(score for score in found.scores if score.metric == "coverage")
    assert (coverage.domain, coverage.suite) == ("tower", "towers")
    assert coverage.note.endswith("; trained on state-centric")


def test_a_suite_without_the_domain_says_what_differs(quick_run, shared_home, tmp_path, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    (tmp_path / "domain.pddl").write_text(COURIER)
    (tmp_path / "p.pddl").write_text(COURIER_PROBLEM)
    import_folder(tmp_path, "couriers")
    run = quick_run("state-centric", "gripper")
    with pytest.raises(DomainMismatch, match=r"lacks the predicates at-robby/1, ball/1.*adds the predicates closed/1"):
        sgp.evaluate([run.folder], "couriers", ["problems"])
    with pytest.raises(SuiteError, match="has no split 'hard'"):
        sgp.evaluate([run.folder], "state-centric", ["hard"])


def published(method, variant, value):
    return Score(paper="paper", table="1", method=method, variant=variant, domain="blocks", suite="published",
                 split="validation", metric="coverage", value=value, count=3, spread=0.1)  # fmt: skip


def ours(method, variant, value, seed=13, domain="blocksworld"):
    return Score(method=method, variant=variant, domain=domain, suite="s", split="validation", metric="coverage",
                 value=value, count=3, seed=seed)  # fmt: skip


def test_tables_put_the_published_column_beside_ours():
    theirs = [published("m", "v", 0.67), published("x", "y", 0.1)]
    mine = [ours("m", "v", 1.0), ours("n", "w", 0.0)]
    assert columns_of(mine, theirs) == [Column("", "m", "v"), Column("paper", "m", "v"), Column("", "n", "w")]
    text = coverage_markdown(mine, theirs)
    assert "| blocksworld | validation | 3 | 1.00 [0.44, 1.00] | 0.67 [0.21, 0.94] | 0.00 [0.00, 0.56] |" in text
    assert OTHER_INSTANCES in text
    console = Console(width=140, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(coverage_table(mine, theirs, "title"))
    shown = console.export_text()
    assert "0.67 [0.21, 0.94]" in shown
    assert "other instances of the same sizes" in shown


def test_seeds_are_averaged_with_their_spread():
    found = cell([ours("m", "v", value, seed) for seed, value in ((1, 0.0), (2, 0.5), (3, 1.0))])
    assert (found.value, found.count, found.seeds) == (0.5, 3, 3)
    assert found.spread == pytest.approx((1 / 6) ** 0.5)
    assert str(found).startswith("0.50 ±0.41 [")
    assert cell([]) is None


def test_the_figure_has_a_mark_for_every_cell_and_escapes_names():
    mine = [ours("m<script>", "v", 1.0), ours("n", "w", 0.0), ours("n", "w", 0.5, domain="gripper")]
    drawn = coverage_figure(mine, [published("n", "w", 0.2)])
    assert drawn.startswith("<svg")
    assert "<script>" not in drawn
    assert "m&lt;script&gt;" in drawn
    assert drawn.count("<circle") == 2  # legend and one cell
    assert drawn.count("<rect") == 4  # background, legend and two cells of n
    assert drawn.count("<polygon") == 2  # legend and the published cell
    import xml.etree.ElementTree as ET

    ET.fromstring(drawn)


def test_tasks_are_made_one_batch_at_a_time(quick_run, monkeypatch):
    from sgp.evaluation import coverage

    alive = []
    monkeypatch.setattr(coverage, "Task", lambda problem: alive.append(problem.name) or Task(problem))
    planner = load_planner(str(quick_run("random-successor", "gripper").folder))
    planner = sgp.Planner(planner.policy, batch=1)
    coverage.attempt(planner, SUITE.problems("gripper", "train"), Limit(actions=5))
    assert alive == ["p1", "p2", "p3", "p4"]
