"""Attempts of planners, their scores, their rollout files, and tables of coverage."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import pytest

import sgp
from sgp.datasets.subject import Subject
from sgp.errors import ConfigurationError, DomainMismatch, InputError, SuiteError
from sgp.evaluation import attempts as evaluation_attempts
from sgp.evaluation.attempts import (
    MEGABYTE,
    Attempt,
    ProblemBatch,
    RolloutRecorder,
    attempt,
    run_all,
    scores,
    split_batch,
)
from sgp.evaluation.scores import Measurement, Score, to_frame
from sgp.planning import validation
from sgp.planning.pddl import parse_plan
from sgp.planning.planner import NO_LIMIT, Limit, Planner
from sgp.reports.table import CAPTIONS
from sgp.reports.tables import coverage_figure
from tests.conftest import BLOCKS, COURIER, COURIER_PROBLEM, blocks_problem
from tests.planning.test_planner import by_name

SUITE = sgp.load_suite("state-centric")
SUBJECT = Measurement(method="m", variant="v", domain="d", suite="s", split="validation", seed=13)


def attempts():
    def one(name, size, outcome, plan, seconds):
        memory = round(seconds * 4 * MEGABYTE)
        return Attempt(name, name * 8, size, outcome, tuple(["(a)"] * plan), plan + 1, seconds, memory=memory)

    return [
        one("p", 4, sgp.Outcome.SOLVED, 6, 0.5),
        one("q", 4, sgp.Outcome.HORIZON, 0, 1.5),
        one("r", 6, sgp.Outcome.SOLVED, 10, 1.0),
        one("s", 6, sgp.Outcome.SOLVED, 0, 1.0),
    ]


def test_scores_by_hand_and_coverage_with_its_number_of_distinct_problems():
    experts = {"pppppppp": 4, "rrrrrrrr": 10, "ssssssss": 0}
    found = {(each.metric, each.size): each for each in scores(SUBJECT, attempts(), experts)}
    values = {key: (score.value, score.n) for key, score in found.items()}
    expected = {
        **{("coverage", None): (0.75, 4), ("coverage", 4): (0.5, 2), ("coverage", 6): (1.0, 2)},
        **{("plan_length", None): (16 / 3, 3), ("plan_length_ratio", None): ((6 / 4 + 1.0) / 2, 2)},
        **{("seconds", None): (1.0, 4), ("decisions", None): ((7 + 1 + 11 + 1) / 4, 4), ("memory", None): (6, 4)},
        **{("outcome_solved", None): (3, 4), ("outcome_horizon", None): (1, 4)},
    }
    assert {key: values[key] for key in expected} == expected
    assert not {("memory", 4), ("outcome_stuck", None)} & values.keys(), "memory is of a process, not of a problem"
    assert all(score.paper == "" and score.seed == 13 for score in found.values())

    def distinct(likes):
        found = scores(SUBJECT, attempts(), {}, likes)
        return {each.size: each.n_distinct for each in found if each.metric == "coverage"}, found

    assert distinct({})[0] == {None: 4, 4: 2, 6: 2}
    counted, found = distinct({"qqqqqqqq": "p", "rrrrrrrr": "s"})
    assert counted == {None: 2, 4: 1, 6: 1}
    (whole,) = [each for each in found if (each.metric, each.size) == ("coverage", None)]
    assert (whole.value, whole.n) == (0.75, 4), "the value counts every problem of the split"
    assert {each.n_distinct for each in found if each.metric != "coverage"} == {None}
    assert distinct(None)[0] == {None: None, 4: None, 6: None}, "of a sample to draw one again is part of it"


def test_an_evaluation_counts_only_plans_that_val_accepts(quick_run, in_shared_home):
    run = quick_run("state-centric", "visitall")
    found = sgp.evaluate([run.folder], "state-centric", ["interpolation"])
    tried = found.attempts[str(run.folder), "default", "interpolation"]
    problems = SUITE.problems("visitall", "interpolation")
    assert [each.problem for each in tried] == [problem.name for problem in problems]
    for each, problem in zip(tried, problems, strict=True):
        verdict = sgp.validate(problem, parse_plan("\n".join(each.plan)))
        assert verdict.valid is each.solved
    coverage = found.scores[found.scores.metric == "coverage"]
    solved = sum(each.solved for each in tried) / 37
    whole = coverage[coverage["size"].isna()]
    assert whole[["value", "n", "n_distinct"]].values.tolist() == [[solved, 37, 16]]
    assert coverage["n"].sum() == 2 * 37


@pytest.mark.slow
def test_the_number_of_processes_changes_no_attempt(quick_run, in_shared_home, monkeypatch):
    monkeypatch.setattr(evaluation_attempts, "CHUNK", 3)
    runs = [quick_run(key, "blocksworld").folder for key in ("state-centric", "random-successor")]

    def judged(jobs):
        found = sgp.evaluate(runs, "state-centric", ["validation", "interpolation"], jobs, Limit(actions=30))
        tried = found.attempts.items()
        return {key: [(each.outcome, each.plan, each.decisions) for each in of] for key, of in tried}

    assert judged(1) == judged(2)


def test_an_interrupted_evaluation_goes_on_where_it_stopped(quick_run, in_shared_home, monkeypatch):
    monkeypatch.setattr(evaluation_attempts, "CHUNK", 4)
    folder = str(quick_run("random-successor", "visitall").folder)
    work = ProblemBatch(folder, "identity", SUITE.problems("visitall", "interpolation")[:12], NO_LIMIT)
    whole = run_all([work], sgp.load_planner, 1, "whole")
    tried = Mock(wraps=evaluation_attempts.attempt, side_effect=[DEFAULT, DEFAULT, KeyboardInterrupt])
    monkeypatch.setattr(evaluation_attempts, "attempt", tried)
    with pytest.raises(KeyboardInterrupt):
        run_all([work], sgp.load_planner, 1, "interrupted")
    assert tried.call_count == 3
    tried.side_effect = None
    resumed = run_all([work], sgp.load_planner, 1, "resumed")
    assert tried.call_count == 4, "the two finished chunks are not tried again"
    plans = [[(each.problem, each.outcome, each.plan) for each in found[0]] for found in (whole, resumed)]
    assert plans[0] == plans[1]
    run_all([work], sgp.load_planner, 1, "afresh")
    assert tried.call_count == 7, "a finished evaluation measures again"


def test_a_run_plans_on_another_suite_of_its_domain(quick_run, in_shared_home, tmp_path):
    (tmp_path / "tower" / "test").mkdir(parents=True)
    (tmp_path / "tower" / "domain.pddl").write_text(BLOCKS)
    problem = blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)")
    (tmp_path / "tower" / "test" / "p.pddl").write_text(problem.problem_pddl)
    sgp.import_folder(tmp_path, "towers")
    found = sgp.evaluate([quick_run("state-centric", "blocksworld").folder], "towers", ["test"])
    coverage = next(found.scores[found.scores.metric == "coverage"].itertuples())
    assert (coverage.domain, coverage.suite) == ("tower", "towers")
    assert coverage.note.endswith("; trained on state-centric")


def test_a_suite_without_the_domain_says_what_differs(quick_run, in_shared_home, tmp_path):
    (tmp_path / "domain.pddl").write_text(COURIER)
    (tmp_path / "p.pddl").write_text(COURIER_PROBLEM)
    sgp.import_folder(tmp_path, "couriers")
    run = quick_run("state-centric", "gripper")
    with pytest.raises(DomainMismatch, match=r"lacks the predicates at-robby/1, ball/1.*adds the predicates closed/1"):
        sgp.evaluate([run.folder], "couriers", ["problems"])
    with pytest.raises(SuiteError, match="has no split 'hard'"):
        sgp.evaluate([run.folder], "state-centric", ["hard"])


def published(method, variant, value):
    return Score(paper="paper", table="1", method=method, variant=variant, domain="blocks", suite="published",
                 split="validation", metric="coverage", value=value, n=3, spread=0.1)  # fmt: skip


def ours(method, variant, value, seed=13, domain="blocksworld"):
    return Score(method=method, variant=variant, domain=domain, suite="s", split="validation", metric="coverage",
                 value=value, n=3, seed=seed)  # fmt: skip


def table(scores, title="title", *args, **options):
    return sgp.experiments.coverage_table(to_frame(scores), title, *args, **options)


def cell(scores):
    (found,) = sgp.experiments.pool_seeds(to_frame(scores), ()).itertuples()
    return found


def words(shown):
    return [row.words for row in shown.rows]


def test_tables_put_the_published_line_below_ours():
    theirs = [published("m", "v", 0.67), published("x", "x", 0.1)]
    mine = [ours("m", "v", 1.0), ours("n", "w", 0.0)]
    shown = table([*mine, *theirs])
    assert words(shown) == [
        ("validation", "n = 3"),
        ("m v x1", "1.00 [.44, 1.00]"),
        ("  published", ".67 ±.10 [.21, .94]"),
        ("n w x1", ".00 [.00, .56]"),
    ]
    assert shown.headings == ("planner", "blocksworld")  # one split: a column for each domain
    assert words(table([*mine, *theirs], all_published=True))[-1] == ("x, published", ".10 ±.10 [.01, .64]")
    assert CAPTIONS["other_instances"] in shown.caption
    assert CAPTIONS["other_instances"] not in table(mine).caption
    assert "<td>m v x1</td><td>1.00 [.44, 1.00]</td>" in shown._repr_html_()


def test_tables_have_a_section_for_each_domain_and_a_column_for_each_split():
    mine = [ours("m", "v", 1.0), replace(ours("m", "v", 0.5), split="extrapolation", n=40)]
    mine += [ours("m", "v", 0.0, domain="gripper")]
    shown = table(mine)
    assert shown.headings == ("planner", "validation", "extrapolation")
    assert words(shown) == [
        ("blocksworld", "n = 3", "n = 40"),
        ("m v x1", "1.00 [.44, 1.00]", ".50 [.35, .65]"),
        ("gripper", "n = 3", ""),
        ("m v x1", ".00 [.00, .56]", ""),
    ]
    assert table(mine, splits=["extrapolation"]).headings == ("planner", "blocksworld", "gripper")
    mine = [replace(ours("m", "v", 1.0), split=split, n=5) for split in ("20-blocks", "34-blocks")]
    mine += [replace(ours("m", "v", 0.0, domain="gripper"), split="84-balls", n=5)]
    shown = table(mine)
    assert shown.headings == ("planner", "", ""), "domains with splits of their own name them"
    assert words(shown) == [
        ("blocksworld", "20-blocks, n = 5", "34-blocks, n = 5"),
        ("m v x1", "1.00 [.57, 1.00]", "1.00 [.57, 1.00]"),
        ("gripper", "84-balls, n = 5", ""),
        ("m v x1", ".00 [.00, .43]", ""),
    ]


def test_intervals_of_tables_are_on_distinct_problems():
    mine = [replace(ours("m", "v", value), n=40, n_distinct=10, seed=seed) for seed, value in ((1, 0.25), (2, 0.75))]
    shown = cell(mine)
    assert (shown.value, shown.count, shown.trials, shown.n) == (0.5, 40, 10, "40 (10 distinct)")
    assert (shown.low, shown.high) == sgp.wilson(0.5, 10)
    assert words(table(mine)) == [("validation", "n = 40 (10 distinct)"), ("m v x2", ".50 ±.25 [.24, .76]")]
    assert "n = 40 (10 distinct)" in coverage_figure(to_frame(mine))


@pytest.mark.parametrize(("value", "count", "distinct", "starred"), [
    (0.1, 20, 20, True), (0.9, 20, 20, False), (0.5, 400, 400, True), (0.5, 400, 2, False),
])  # fmt: skip
def test_published_numbers_whose_intervals_do_not_meet_ours_are_marked(value, count, distinct, starred):
    theirs = replace(published("m", "v", value), n=20)
    mine = replace(ours("m", "v", 1.0), n=count, n_distinct=distinct)
    assert words(table([mine, theirs]))[-1][-1].endswith(" *") is starred


def test_the_figure_has_a_mark_for_every_cell_and_escapes_names():
    mine = [ours("m<script>", "v", 1.0), ours("n", "w", 0.0), ours("n", "w", 0.5, domain="gripper")]
    scores = to_frame([*mine, published("n", "w", 0.2)])
    drawn = coverage_figure(scores)
    assert drawn.startswith("<svg")
    assert "<script>" not in drawn
    assert "m&lt;script&gt;" in drawn
    assert drawn.count("<circle") == 4  # legend and three cells
    assert drawn.count("<polygon") == 2  # legend and the published cell
    import xml.etree.ElementTree as ET

    ET.fromstring(drawn)
    assert coverage_figure(scores, ["none"]).count("<polygon") == 1


@pytest.mark.slow
def test_the_papers_other_tables_have_their_counterparts():
    def ours_of(metric, variant, value, domain):
        named = {"method": "state-centric", "suite": "s", "split": "", "n": 0, "seed": 13}
        return Score(**named, variant=variant, domain=domain, metric=metric, value=value)

    mine = to_frame(
        [
            ours_of("dimension", "wl-xgboost-delta", 302, "gripper"),
            ours_of("parameters", "wl-lstm-state", 1552942, "gripper"),
            ours_of("parameters", "wl-lstm-state", 1253292, "blocksworld"),
            ours_of("nodes", "wl-xgboost-delta", 1234, "gripper"),
        ]
    )
    third = sgp.experiments.paper_table("state-centric", 3, mine)
    assert third.rows[0].words == ("gripper", "", "302", "1,552,942", "", "", "1,234")
    assert third.rows[1].words == ("  published", "46", "302", "1,552,942", "", "", "128,310")
    fourth = [row.words for row in sgp.experiments.paper_table("state-centric", "4", mine).rows]
    assert fourth[0] == ("state-centric wl-lstm", "parameters", "1,253,292 to 1,552,942", "")
    assert ("symt-ed, published", "parameters", "about 25,000,000 to 35,000,000", "Transformer") in fourth
    fifth = {row.words[:2]: row.words[2:] for row in sgp.experiments.paper_table("state-centric", 5, to_frame([])).rows}
    assert fifth["gripper", "train"] == ("4", "4 (2, 4, 6, 8 balls)", "6 / 9 / 12", "2 / 5 / 8", "5 / 14 / 23")
    assert len(fifth) == 16
    with pytest.raises(InputError, match="there is no table 2 of state-centric here; expected one of 1, 3, 4, 5"):
        sgp.experiments.paper_table("state-centric", 2, to_frame([]))


def test_an_evaluation_goes_on_where_val_fails_and_says_who_judged(monkeypatch):
    table = "(ontable a) (ontable b) (clear a) (clear b)"
    planner = sgp.Planner(by_name(pick_up=0.0, stack=0.0))
    problems = [blocks_problem("a b", table, goal) for goal in ("(on a b)", "(on a b) (on b a)", "(ontable a)")]
    before = evaluation_attempts.attempt(planner, problems, NO_LIMIT)
    monkeypatch.setattr(validation, "val_program", lambda: Path("/bin/false-friend"))
    found = evaluation_attempts.attempt(planner, problems, NO_LIMIT)
    assert [(each.outcome, each.plan) for each in found] == [(each.outcome, each.plan) for each in before]
    assert [each.solved for each in found] == [True, False, True]
    assert all(("judged by sgp's simulator" in each.reason) == each.solved for each in found)
    assert not any("judged by" in each.reason for each in before)


ABOUT = Subject(method="m", variant="v", domain="blocksworld", suite="state-centric", split="validation", seed=7)


def problems():
    return sgp.load_suite("state-centric").problems("blocksworld", "interpolation")


def test_every_attempt_leaves_a_file_that_the_dashboard_shows_and_planners_have_files_of_their_own(home, tmp_path):
    recording = RolloutRecorder(sgp.data.own_rollouts_folder(), ABOUT)
    costs = by_name(pick_up=0.2, stack=0.1, unstack=0.2, put_down=0.2)
    attempts = attempt(Planner(costs), problems(), NO_LIMIT, recording)
    library = sgp.recorded_rollouts(sgp.data.own_rollouts_folder())
    assert not library.damaged
    recorded = {each.head["name"]: each.head["outcome"] for each in library.rollouts}
    assert recorded == {each.problem: each.outcome.value for each in attempts}
    assert {each.about for each in library.rollouts} == {ABOUT}
    assert all(step["note"] == {} for each in library.rollouts for step in each.steps)
    made = [RolloutRecorder(tmp_path, replace(ABOUT, decoding=name)).path("p") for name in ("", "default", "greedy")]
    made.append(RolloutRecorder(tmp_path, replace(ABOUT, selected_by="loss")).path("p"))
    variants = "v", "v", "v-greedy", "v-loss"
    names = [f"blocksworld-m-{variant}-seed7-state-centric-validation-p.jsonl" for variant in variants]
    assert [file.name for file in made] == names
    bare = ProblemBatch("planner", "identity", problems(), NO_LIMIT)
    recording = ProblemBatch("planner", "identity", problems(), NO_LIMIT, RolloutRecorder(tmp_path, ABOUT))
    assert bare.file != recording.file, "attempts without rollouts are made again"
    assert all(chunk.recorder == recording.recorder for chunk in split_batch(recording))


def test_what_is_kept_of_rollouts_that_nobody_records_is_refused(quick_run):
    run = quick_run("random-successor", "gripper")
    with pytest.raises(ConfigurationError, match="keep is 'steps'"):
        sgp.evaluate([run.folder], "state-centric", ["validation"], keep="steps")
    with pytest.raises(ConfigurationError, match="keep is 'stpes'; expected one of auto, steps, plan"):
        sgp.evaluate([run.folder], "state-centric", ["validation"], keep="stpes")
