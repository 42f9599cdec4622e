"""The package as an engine of unified-planning, on the library's own problems."""

from io import StringIO
from itertools import pairwise

import pytest

import sgp
from sgp.datasets.runs import list_runs
from sgp.errors import InputError, SuiteError

pytest.importorskip("unified_planning", reason="unified-planning is missing; install the extra 'dev'")
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines import SequentialPlanValidator
from unified_planning.environment import Environment
from unified_planning.exceptions import UPUsageError
from unified_planning.io import PDDLReader
from unified_planning.model import Problem as UnifiedProblem
from unified_planning.plans import SequentialPlan
from unified_planning.shortcuts import (
    BoolType,
    Fluent,
    InstantaneousAction,
    Not,
    OneshotPlanner,
    Or,
    Replanner,
    UserType,
    get_environment,
)
from unified_planning.test.examples import get_example_problems

from sgp.engine import SgpEngine, register
from tests.conftest import ROOT, python

SUITE = sgp.load_suite("state-centric")
EXAMPLES = {name: case.problem for name, case in get_example_problems().items()}


@pytest.fixture(scope="module", autouse=True)
def registered():
    get_environment().credits_stream = None
    register()


@pytest.fixture(scope="module")
def run(quick_run):
    return quick_run("contrastive-jumps", "gripper").folder


def unified(problem):
    return PDDLReader().parse_problem_string(problem.domain_pddl, problem.problem_pddl)


def gripper(split="interpolation"):
    return unified(SUITE.problems("gripper", split)[0])


def walker(rooms=3, wanted="room 2", there="there"):
    """A robot in a row of rooms, with names that PDDL does not allow."""
    room = UserType("The Room")
    at, beside = Fluent("robot at", BoolType(), r=room), Fluent("define", BoolType(), a=room, b=room)
    problem = UnifiedProblem("a walk")
    problem.add_fluent(at, default_initial_value=False)
    problem.add_fluent(beside, default_initial_value=False)
    things = [problem.add_object(f"room {number}", room) for number in range(rooms)]
    go = InstantaneousAction("and", here=room, **{there: room})
    go.add_precondition(at(go.here))
    go.add_precondition(beside(go.here, go.parameter(there)))
    go.add_effect(at(go.here), False)
    go.add_effect(at(go.parameter(there)), True)
    problem.add_action(go)
    problem.set_initial_value(at(things[0]), True)
    for one, two in pairwise(things):
        problem.set_initial_value(beside(one, two), True)
    problem.add_goal(at(problem.object(wanted)))
    return problem


def engine(**params):
    return OneshotPlanner(name="sgp", params=params)


def valid(problem, result):
    """Whether a problem is solved by a plan that the library's validator accepts."""
    assert result.status is Status.SOLVED_SATISFICING
    return bool(SequentialPlanValidator().validate(problem, result.plan))


def first_goal(problem):
    (goal,) = problem.goals
    return goal.args[0] if goal.is_and() else goal


def test_the_librarys_problems_of_supported_kinds():
    supported = [name for name, problem in EXAMPLES.items() if SgpEngine.supports(problem.kind)]
    assert len(supported) == 21  # tests/planning/test_sweep.py compares them with what is read


def test_a_run_plans_a_problem_of_the_library(run):
    problem = gripper()
    with OneshotPlanner(name="sgp", params={"run": str(run)}) as planner:
        assert planner.name == "sgp"
        said = StringIO()
        result = planner.solve(problem, output_stream=said)
        again = planner.solve(problem, timeout=600)
    assert result.status is again.status is Status.SOLVED_SATISFICING
    assert result.engine_name == "sgp"
    assert isinstance(result.plan, SequentialPlan)
    assert SequentialPlanValidator().validate(problem, result.plan)
    assert again.plan == result.plan
    assert said.getvalue() == f"[INFO] solved, {len(result.plan.actions)} actions\n"
    assert float(result.metrics["engine_internal_time"]) > 0


@pytest.mark.parametrize("there", ["there", "after"])
def test_names_that_pddl_or_val_does_not_allow_are_mapped_back(home, there):
    planner = engine(problems=[walker(rooms, there=there) for rooms in (3, 4)], method="zero-change")
    result = planner.solve(walker(6, "room 4", there))
    assert valid(walker(6, "room 4", there), result)
    assert [str(action) for action in result.plan.actions] == [f"and(room {n}, room {n + 1})" for n in range(4)]


def test_it_learns_from_a_few_problems_and_given_plans(home, monkeypatch):
    problems = [walker(rooms) for rooms in (3, 4, 5)]
    params = {"problems": problems, "method": "contrastive-jumps", "variant": "one-step", "seed": 2}
    first = engine(**params)
    results = [first.solve(problem) for problem in problems]
    assert all(map(valid, problems, results))
    plans = [result.plan for result in results]
    (trained,) = list_runs()
    assert (trained.key.variant, trained.key.seed, trained.record["data"]["train"]) == ("one-step", 2, 2)

    def no_expert(problems, *_):
        assert not list(problems), "a plan is asked for where one was given"
        return {}, {}

    monkeypatch.setattr("sgp.datasets.experts.plans_of", no_expert)
    engine(**params, plans=plans)
    assert len(list_runs()) == 1, "what was trained before is not trained again"
    with pytest.raises(SuiteError, match="1 plans are given for 3 problems"):
        engine(**params, plans=plans[:1])


def test_a_policy_never_proves_that_there_is_no_plan(run, home):
    unreachable = walker(3, "room 0")
    unreachable.set_initial_value(unreachable.fluent("robot at")(unreachable.object("room 0")), False)
    unreachable.set_initial_value(unreachable.fluent("robot at")(unreachable.object("room 1")), True)
    result = engine(problems=[walker(3), walker(4)], method="zero-change").solve(unreachable)
    assert (result.status, result.plan) == (Status.UNSOLVABLE_INCOMPLETELY, None)
    assert str(result.log_messages[0]).startswith("[WARNING] stuck")


def test_time_and_memory_end_a_problem(run):
    problem = gripper("extrapolation")
    late, large = engine(run=run).solve(problem, timeout=1e-6), engine(run=run, memory=1).solve(problem)
    assert (late.status, late.plan, large.status, large.plan) == (Status.TIMEOUT, None, Status.MEMOUT, None)


def test_what_it_cannot_read_is_unsupported(run):
    planner = engine(run=run)
    other = planner.solve(unified(SUITE.problems("visitall", "train")[0]))
    assert (other.status, other.plan) == (Status.UNSUPPORTED_PROBLEM, None)
    assert "lacks the predicate" in other.log_messages[0].message
    numeric = EXAMPLES["basic_numeric"]
    with pytest.warns(UserWarning, match="cannot establish"):  # selected by name, the engine runs all the same
        refused = planner.solve(numeric)
    assert refused.status is Status.UNSUPPORTED_PROBLEM
    assert "numeric conditions" in refused.log_messages[0].message
    planner.skip_checks = True
    for name in ("sched:basic", "htn-go"):
        assert planner.solve(EXAMPLES[name]).status is Status.UNSUPPORTED_PROBLEM
    planner.skip_checks = False
    planner.error_on_failed_checks = True
    with pytest.raises(UPUsageError, match="sgp can solve this problem"):
        planner.solve(numeric)


def test_a_goal_with_alternatives_is_reached_by_one_of_them(run):
    problem, planner = gripper("train"), engine(run=run)
    at, ball = problem.fluent("at"), first_goal(problem).args[0]
    rooms = [each for each in problem.all_objects if each.name.startswith("room")]
    problem.clear_goals()
    problem.add_goal(Or(at(ball, each) for each in rooms))
    for each in rooms:
        problem.set_initial_value(at(ball, each), False)
    problem.set_initial_value(problem.fluent("carry")(ball, problem.object("left")), True)
    result = planner.solve(problem)
    assert valid(problem, result)
    assert planner.solve(problem, warm_start_plan=result.plan).plan == result.plan


def test_a_plan_to_start_from_is_kept_while_it_holds(run, monkeypatch):
    problem, planner = gripper(), engine(run=run)
    found = planner.solve(problem)
    short = SequentialPlan([*found.plan.actions[:1]])
    anew = planner.solve(problem, warm_start_plan=short)
    assert anew.plan == found.plan, "a plan that does not reach the goal is passed over"
    monkeypatch.setattr("sgp.planning.planner.Planner.solve", lambda *_: pytest.fail("it planned"))
    kept = planner.solve(problem, warm_start_plan=found.plan)
    assert (kept.status, kept.plan) == (Status.SOLVED_SATISFICING, found.plan)
    with pytest.warns(UserWarning, match="ignores the heuristic"):
        planner.solve(problem, heuristic=lambda state: 0.0, warm_start_plan=found.plan)


def test_it_replans_when_the_problem_changes(run):
    problem = gripper("train")
    with Replanner(problem, name="replanner[sgp]", params={"run": str(run)}) as replanner:
        before = replanner.resolve()
        assert before.status is Status.SOLVED_SATISFICING
        goal, at = first_goal(problem), problem.fluent("at-robby")
        here = next(each for each in problem.all_objects if problem.initial_value(at(each)).is_true())
        there = next(each for each in problem.all_objects if each.name.startswith("room") and each is not here)
        replanner.update_initial_value(at(here), False)
        replanner.update_initial_value(at(there), True)
        moved, changed = replanner.resolve(), problem.clone()
        assert moved.plan != before.plan
        changed.set_initial_value(at(here), False)
        changed.set_initial_value(at(there), True)
        assert valid(changed, moved)
        replanner.add_goal(Not(goal))
        assert replanner.resolve().status is Status.UNSOLVABLE_INCOMPLETELY
        replanner.remove_goal(Not(goal))
        replanner.remove_action("drop")
        assert replanner.resolve().status is Status.UNSUPPORTED_PROBLEM, "another domain than the run's"


def test_parameters_are_checked(run):
    for params, words in (
        ({"run": run, "problems": [walker()]}, "'run' and 'problems' are both given"),
        ({"run": run, "seed": 3}, "seed without 'problems' given"),
        ({"problems": [walker()], "method": "magic"}, "unknown method 'magic'"),
        ({"problems": [walker()], "methods": "goal-count"}, r"unknown parameter 'methods'.*did you mean 'method'"),
        ({"runs": run}, r"unknown parameter 'runs'.*did you mean 'run'"),
    ):
        with pytest.raises(InputError, match=words):
            engine(**params)


def test_without_a_run_it_takes_one_that_fits_the_domain(home):
    with OneshotPlanner(name="sgp") as planner:
        assert planner.solve(gripper()).status is Status.SOLVED_SATISFICING, "by a run that comes with the package"
        unknown = planner.solve(walker())
    assert unknown.status is Status.UNSUPPORTED_PROBLEM
    assert "no trained run plans in domain" in unknown.log_messages[0].message


def test_an_environment_of_its_own_is_given_the_engine_once():
    environment = Environment()
    for _ in range(2):
        register(environment)
    names = environment.factory.engines
    assert names.count("sgp") == environment.factory.preference_list.count("sgp") == 1
    assert "replanner[sgp]" in names


@pytest.mark.parametrize("before", ["", "import unified_planning.shortcuts as up; up.get_environment()\n"])
def test_importing_the_package_registers_the_engine_and_loads_little(before):
    code = (
        "import sys\n{}import sgp\n"
        "light = not {{'numpy', 'torch', 'unified_planning'}} & set(sys.modules)\n"
        "from unified_planning.shortcuts import OneshotPlanner, get_environment\n"
        "get_environment().credits_stream = None\n"
        "assert light or {!r}\n"
        "with OneshotPlanner(name='sgp') as planner: print(planner.name)\n"
        "print(get_environment().factory.engines.count('sgp'))"
    )
    done = python("-c", code.format(before, before))
    assert done.stdout.split() == ["sgp", "1"], done.stderr


SCRIPT = """\
import sys
from unified_planning.shortcuts import OneshotPlanner, get_environment
get_environment().credits_stream = None
assert not {"pymimir", "torch", "sgp.api"} & set(sys.modules), "the engine is known before the package is loaded"
from unified_planning.io import PDDLReader
problem = PDDLReader().parse_problem(*sys.argv[1:3])
print(OneshotPlanner(name="sgp", params={"run": sys.argv[3]}).solve(problem).status.name)
"""


@pytest.mark.slow
def test_the_library_finds_it_by_its_own_configuration_file(run, tmp_path):
    (block,) = [part for part in (ROOT / "docs/library.md").read_text().split("```") if part.startswith("ini\n")]
    (tmp_path / "up.ini").write_text(block.removeprefix("ini\n"))
    problem = SUITE.problems("gripper", "train")[0]
    for name, text in (("domain", problem.domain_pddl), ("problem", problem.problem_pddl)):
        (tmp_path / f"{name}.pddl").write_text(text)
    (tmp_path / "script.py").write_text(SCRIPT)
    done = python("script.py", "domain.pddl", "problem.pddl", run, cwd=tmp_path)
    assert done.stdout.split() == ["SOLVED_SATISFICING"], done.stderr
