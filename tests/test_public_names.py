"""What a caller of the library meets: names, short representations, and one sentence for a wrong argument."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sgp
from sgp.errors import InputError, SgpError


def test_representations_are_short(two_blocks):
    suite = sgp.load_suite("state-centric")
    problem = suite.problems("gripper", "interpolation")[0]
    rollout = sgp.solve(problem)
    run = sgp.run_for(problem)
    for value in (suite, problem, rollout, run, sgp.load_planner(run)):
        assert len(repr(value)) < 400, type(value)
    assert "solved" in repr(rollout)


@pytest.mark.parametrize("call", [sgp.Task, sgp.solve, sgp.run_for])
def test_a_path_is_no_problem(call):
    with pytest.raises(InputError, match=r"domain.pddl.*from_files"):
        call("domain.pddl")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed": "a"}, "seed is 'a'.*whole number"),
        ({"overrides": {"wl.iterations": object()}}, "wl.iterations"),
        ({"overrides": {"wl": {"iterations": 1}}}, "wl"),
        ({"domain": 3}, "3"),
        ({"suite": 3}, "suite is 3"),
        ({"method": 3}, "method is 3"),
    ],
)
def test_wrong_types_are_one_sentence(given, words, home):
    arguments = {"method": "zero-change", "domain": "gripper", "suite": "state-centric", **given}
    with pytest.raises(SgpError, match=words):
        sgp.train(**arguments)


def test_settings_are_text_or_numbers(home):
    by_text = sgp.train("zero-change", "gripper", "state-centric", overrides={"wl.iterations": "1"})
    assert sgp.train("zero-change", "gripper", "state-centric", overrides={"wl.iterations": 1}).folder == by_text.folder


def test_lists_have_one_naming_pattern(home):
    assert "goal-count" in sgp.list_methods()
    assert "state-centric" in sgp.list_suites()
    run = sgp.train("goal-count", "gripper", "state-centric")
    assert [each.folder for each in sgp.list_runs()] == [run.folder]
    assert sgp.__version__


def test_what_names_no_run_is_one_sentence():
    for run in ("state-centric", "/nowhere"):
        with pytest.raises(SgpError, match=rf"{run} holds no run.json"):
            sgp.evaluate(run, "state-centric")
    with pytest.raises(SgpError, match="sgp train"):
        sgp.evaluate([3], "state-centric")


def fewest_open_goals(task, state, candidates):
    goals = set(task.goal_atoms)
    return [len(goals - set(task.atoms(each.state))) for each in candidates]


def test_a_function_is_evaluated_beside_a_planner_a_run_and_a_baseline(home, registered):
    sgp.register_policy("fewest-open-goals")(fewest_open_goals)
    problems = sgp.load_suite("state-centric").problems("gripper", "interpolation")
    run = sgp.run_for(problems[0])
    planners = [sgp.load_planner(run, "default+beam=1"), run, "goal-count", "fewest-open-goals"]
    scores = sgp.evaluate(planners, problems).scores
    coverage = scores[(scores["metric"] == "coverage") & scores["size"].isna()]
    found = dict(zip(coverage["method"] + " " + coverage["decoding"], coverage["value"], strict=True))
    assert list(found) == [
        *("contrastive-jumps default+beam=1", "contrastive-jumps default"),
        *("goal-count default", "fewest-open-goals default"),
    ]
    own = sgp.evaluate("fewest-open-goals", "state-centric", "interpolation", decodings=["default+beam=3"]).scores
    beam3 = own[(own["metric"] == "coverage") & own["size"].isna() & (own["domain"] == "gripper")]
    assert list(beam3["value"]) == [found["goal-count default"]], "the same costs in the same beam"


def test_a_function_may_choose_by_index_and_is_replaced_when_it_is_registered_again(home, registered):
    problem = sgp.load_suite("state-centric").problems("gripper", "interpolation")[0]
    for place in (1, 2):
        sgp.register_policy("always", lambda task, state, candidates, place=place: min(place, len(candidates) - 1))
        run = sgp.train("always", "gripper", "state-centric")
        episode = sgp.load_planner(run).start(problem)
        table = episode.candidates()
        assert list(table["action"][table["selected"]]) == [
            str(sgp.Task(problem).applicable(sgp.Task(problem).init)[place])
        ]


@pytest.mark.parametrize("returned", [None, "first", [1.0], float("nan"), 10**6, -1])
def test_what_a_function_must_not_return_is_one_sentence(returned, home, registered):
    sgp.register_policy("wrong", lambda task, state, candidates: returned)
    with pytest.raises(InputError, match=r"policy wrong returned .* candidates; expected the cost of each"):
        sgp.evaluate("wrong", "state-centric", "interpolation")


@pytest.mark.parametrize(
    ("name", "function", "words"),
    [
        ("goal-count", len, "has the name of a method"),
        ("Two Words", len, "lower-case letters"),
        (3, len, "policy is 3"),
        ("number", 3, "expected a function"),
    ],
)
def test_what_cannot_be_registered_is_one_sentence(name, function, words):
    with pytest.raises(InputError, match=words):
        sgp.register_policy(name, function)


def test_a_registered_function_stays_in_its_process(home, registered):
    sgp.register_policy("mine", fewest_open_goals)
    with pytest.raises(InputError, match="in this process alone; evaluate it with jobs=1"):
        sgp.evaluate("mine", "state-centric", "interpolation", jobs=2)


def test_a_planner_of_no_run_and_other_arguments_are_one_sentence(home):
    problems = sgp.load_suite("state-centric").problems("gripper", "interpolation")
    planner = replace(sgp.load_planner(sgp.run_for(problems[0])), width=2)
    with pytest.raises(InputError, match="was not loaded from a run"):
        sgp.evaluate(planner, problems)
    with pytest.raises(SgpError, match=r"expected a list of sgp\.Problem"):
        sgp.evaluate("goal-count", [3])
    with pytest.raises(SgpError, match="another domain file"):
        sgp.evaluate("goal-count", [problems[0], sgp.load_suite("state-centric").problems("visitall", "train")[0]])


def test_a_folder_of_pddl_is_a_suite_and_is_learned_from(home, tmp_path):
    folder = tmp_path / "garden"
    folder.mkdir()
    given = sgp.load_suite("state-centric").problems("gripper", "train")
    (folder / "domain.pddl").write_text(given[0].domain_pddl)
    for number, problem in enumerate(given, start=1):
        (folder / f"p{number}.pddl").write_text(problem.problem_pddl)
    suite = sgp.load_suite(folder)
    (domain,) = suite.domains
    assert [each.sha256 for each in suite.problems(domain, "problems")] == [each.sha256 for each in given]
    assert sgp.load_suite(str(folder)).name == suite.name
    run = sgp.train_on("contrastive-jumps", folder, overrides={"labels.states": 200})
    assert run.record["suite"] == suite.name
    assert sgp.solve(sgp.load_suite("state-centric").problems("gripper", "extrapolation")[0], run).solved
    (folder / "p1.pddl").write_text(given[1].problem_pddl)
    assert sgp.load_suite(folder).name != suite.name, "other files are another suite"
    with pytest.raises(SgpError, match="is no folder"):
        sgp.train_on("contrastive-jumps", tmp_path / "nothing")


PROBLEM = sgp.load_suite("state-centric").problems("gripper", "interpolation")[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sgp.solve(sgp.run_for(PROBLEM)), "is no problem"),
        (lambda: sgp.Task(sgp.run_for(PROBLEM)), "is no problem"),
        (lambda: sgp.load_planner(PROBLEM), "is no run"),
        (lambda: sgp.load_planner(sgp.load_planner(sgp.run_for(PROBLEM))), "is no run"),
        (lambda: sgp.load_planner(sgp.run_for(PROBLEM), 3), "decoding is 3"),
        (lambda: sgp.load_portfolio("nowhere"), "nowhere holds no run.json"),
        (lambda: sgp.Problem.from_files(3, 4), "file is 3; expected the path"),
        (lambda: sgp.Limit(seconds="5"), "limit on seconds is '5'; expected a positive number"),
        (lambda: sgp.solve(PROBLEM, limit=5), r"limit is 5; expected one as in sgp.Limit"),
        (lambda: sgp.state_space(PROBLEM, "many"), "max_states is 'many'"),
        (lambda: sgp.validate("p.pddl", ()), "is no problem"),
        (lambda: sgp.Task("x" * 9999), "is no problem"),
        (lambda: sgp.train(sgp.get_method("goal-count"), "gripper", "state-centric"), "expected its key"),
        (lambda: sgp.get_domain(3), "domain is 3"),
        (lambda: sgp.train("goal-count", "gripper", "state-centric", overrides=["a"]), "expected a dictionary"),
        (lambda: sgp.train_on("contrastive-jumps", ["a"]), "'a' is no problem"),
        (lambda: sgp.train_on("contrastive-jumps", PROBLEM), "expected a list of at least one"),
        (lambda: sgp.evaluate("goal-count", 3), "expected a list of sgp"),
        (lambda: sgp.evaluate("goalcount", "state-centric"), "did you mean 'goal-count'"),
        (lambda: sgp.evaluate("state-centric", "state-centric"), "a method that learns is trained first"),
        (lambda: sgp.evaluate("goal-count", "state-centric", 3), "split is 3"),
        (lambda: sgp.evaluate("goal-count", "state-centric", jobs="2"), "jobs is '2'; expected a number of processes"),
        (lambda: sgp.load_suite("state-centric").problems("gripper", 3), "split is 3"),
        (lambda: sgp.viz.coverage([1]), "expected a DataFrame"),
        (lambda: sgp.viz.coverage(sgp.load_scores("nothing*")), "no score of coverage"),
        (lambda: sgp.load_scores("measured/scalings"), "expected one of .*did you mean 'measured/scaling'"),
        (lambda: sgp.viz.coverage(sgp.load_scores(), "exploration"), "no scores of split 'exploration'"),
        (lambda: sgp.viz.projection([[1.0]], [1.0, 2.0]), r"shape \(1, 1\) have colors of shape \(2,\)"),
        (lambda: sgp.viz.projection([[1.0]], [1.0], "umap"), "method is 'umap' for 1 points"),
        (lambda: sgp.viz.picture(sgp.Task(PROBLEM)).save("state.gif"), "expected .svg, .png or .pdf"),
    ],
)
def test_a_wrong_argument_is_one_sentence(call, words, home):
    with pytest.raises(SgpError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_a_suite_may_be_given_by_its_name(home):
    suite = sgp.load_suite("state-centric")
    assert len(sgp.load_training_data("state-centric", "gripper").train) == len(suite.problems("gripper", "train"))
    assert len(sgp.trajectories("state-centric", "gripper", "train")) == len(suite.problems("gripper", "train"))
    assert sgp.data.expert_plans("state-centric", "gripper", "train").keys() == {
        problem.sha256 for problem in suite.problems("gripper", "train")
    }


def test_a_plan_may_be_text_and_a_planner_takes_a_problem():
    rollout = sgp.load_planner(sgp.run_for(PROBLEM)).solve(PROBLEM, sgp.Limit(seconds=60))
    assert sgp.validate(PROBLEM, sgp.format_plan(rollout.plan)).valid


def test_scores_are_tidy_and_their_picture_is_saved(tmp_path):
    scores = sgp.load_scores()
    assert {"seed": "Int64", "size": "Int64", "n": "Int64", "n_distinct": "Int64"}.items() <= scores.dtypes.astype(
        str
    ).to_dict().items()
    assert "default" in set(scores["decoding"])
    assert "" not in set(scores["decoding"])
    assert set(scores["pool"]) == {"", "paper", "hard"}
    assert set(scores["training.epochs"].dropna()) == {20, 25, 90, 12}
    assert not scores["configuration"].str.contains("[+=]").any()
    coverage = scores[(scores["metric"] == "coverage") & scores["size"].isna() & (scores["method"] == "goal-count")]
    assert coverage["value"].between(coverage["low"], coverage["high"]).all()
    trials = coverage["n_distinct"].fillna(coverage["n"])
    assert [tuple(pair) for pair in zip(coverage["low"], coverage["high"], strict=True)] == [
        sgp.wilson(value, int(n)) for value, n in zip(coverage["value"], trials, strict=True)
    ]
    assert scores.loc[scores["metric"] == "seconds", "low"].isna().all()
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        sgp.viz.coverage(coverage, "extrapolation").save(tmp_path / f"coverage{ending}")
        assert (tmp_path / f"coverage{ending}").read_bytes().startswith(start)


def test_html_views_escape_names(home):
    rollout = sgp.solve(replace(PROBLEM, name="<i>p</i>"))
    suite = sgp.load_suite("state-centric")
    evaluation = sgp.evaluate("goal-count", [replace(PROBLEM, name="<i>p</i>")])
    for value in (rollout, suite, sgp.run_for(PROBLEM), evaluation):
        html = value._repr_html_()
        assert "<table" in html
        assert "<i>" not in html
    assert "Rollout of &lt;i&gt;p&lt;/i&gt;" in rollout._repr_html_()
