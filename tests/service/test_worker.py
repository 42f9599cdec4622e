"""The worker process: answers, errors as sentences, limits, cancellation; no process outlives it."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import chain, pairwise
from multiprocessing import Pipe
from pathlib import Path

import pytest

import sgp
from sgp.analysis import diagnostics
from sgp.datasets.recorded import decode_bounds
from sgp.errors import InputError, ToolError
from sgp.planning import experts
from sgp.planning.experts import QUICK
from sgp.service import jobs
from sgp.service import worker as service_worker
from sgp.service.worker import GIGABYTE, Worker
from sgp.viewer.comparison import PLANNING, branch_start
from sgp.viewer.playback import playback
from tests.conftest import blocks_problem

# A training that takes longer than any limit below.
LONG = {"method": "state-centric", "variant": "wl-lstm-delta", "domain": "visitall"}
LONG |= {"suite": "state-centric", "seed": 99}
MANY = " ".join(f"b{number}" for number in range(10_000))


def text_of(problem):
    return {"name": problem.name, "domain": problem.domain_pddl, "problem": problem.problem_pddl}


@pytest.fixture(scope="module")
def problem():
    return text_of(blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)"))


@pytest.fixture(scope="module")
def five_blocks():
    return text_of(sgp.load_suite("state-centric").problems("blocksworld", "interpolation")[0])


@pytest.fixture
def run(quick_run):
    return str(quick_run("contrastive-jumps", "blocksworld", "one-step").folder)


@pytest.fixture
def worker(in_shared_home):
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture
def ask(worker):
    """Return the report of a job that has ended."""
    return lambda kind, limit=60, /, **request: ended(worker.submit(kind, limit, **request))


def ended(job, seconds=120):
    until = time.monotonic() + seconds
    while not job.report().ended:
        assert time.monotonic() < until
        time.sleep(0.02)
    return job.report()


def gone(number, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not os.path.exists(f"/proc/{number}") or "(zombie)" in Path(f"/proc/{number}/status").read_text():
            return True
        time.sleep(0.05)
    return False


def test_a_run_solves_is_branched_from_and_forced(ask, run, five_blocks):
    ask("load", run=run)
    solved = ask("solve", run=run, problem=five_blocks, seconds=30)
    assert solved.state == "done", solved.error
    assert (solved.progress["decisions"], solved.result["valid"]) == (len(solved.result["data"]["steps"]), True)
    found = solved.progress["found"]  # remains if the job ends while it explains the choices
    assert found["valid"]
    assert len(found["plan"].splitlines()) == solved.result["data"]["length"]
    before = solved.result["records"]
    shown = solved.result["data"]["steps"][1]
    rank = next(each["rank"] for each in shown["candidates"] if each["rank"] - 1 != shown["chosen"])
    plan = [action for each in before[1:] for action in each["candidates"][each["chosen"]]["actions"]]
    before = [{**before[0], "expert": plan}, *before[1:]]
    branched = ask("branch", run=run, before=before[:3], step=2, rank=rank, seconds=30).result
    assert branched["records"][0]["expert"] == plan
    assert len(branched["data"]["map"]["steps"]) == len(branched["data"]["steps"])
    step = branched["data"]["steps"][1]
    assert step["chosen"] == rank - 1
    assert {"chosen", "forced"} <= set(step["candidates"][rank - 1]["marks"])
    assert [each["actions"] for each in step["candidates"]] == [
        [branched["data"]["actions"].index(solved.result["data"]["actions"][number]) for number in each["actions"]]
        for each in shown["candidates"]
    ]
    assert branched["records"][1] == before[1]
    refused = ask("branch", run=run, before=before, step=1, rank=999, seconds=30)
    assert "rank 999 at step 1" in refused.error


def first_other(steps):
    """The place, from 0, and the rank of the first candidate that is neither chosen nor visited."""
    candidates = ((place, each) for place, step in enumerate(steps) for each in step["candidates"])
    others = ((place, each["rank"]) for place, each in candidates if not {"chosen", "visited"} & set(each["marks"]))
    return next(others)


def without_distances(record):
    left = {name: value for name, value in record.items() if name != "left"}
    return {**left, "candidates": list(map(without_distances, left["candidates"]))} if "candidates" in left else left


def test_a_branch_has_the_actions_left_by_a_star_where_the_state_space_is_large(run, five_blocks, monkeypatch):
    shown = []

    def keep(preview=None, **others):
        shown.extend([preview] * (preview is not None))

    def branch(before):
        found = jobs.branch(keep, run, before, place + 1, rank, 30)["records"]
        around = [[decode_bounds(one["left"]) for one in each["candidates"]] for each in found[1:]]
        return found, list(map(decode_bounds, found[0]["left"])), list(chain.from_iterable(around))

    def missing():
        raise ToolError("Fast Downward is missing")

    solved = jobs.solve(keep, run, five_blocks, 30)
    place, rank = first_other(solved["data"]["steps"])
    before = solved["records"][: place + 2]
    bare = list(map(without_distances, before))
    records, states, candidates = branch(bare)
    exact = [low for low, _ in candidates]
    assert [high for _, high in candidates] == exact, "the state space is small"
    monkeypatch.setattr(diagnostics, "_CHEAP", 1)
    monkeypatch.setattr(jobs, "DISTANCE_SECONDS", 600.0)
    shown.clear()
    _, searched, bounds = branch(bare)
    assert searched[place + 1 :] == states[place + 1 :]
    assert all(low <= each <= high for (low, high), each in zip(bounds, exact, strict=True))
    assert len(shown[-1]["steps"]) == len(records) - 1, "the whole branch is shown before the search"
    assert shown[-1]["marks"] is None
    monkeypatch.setattr(jobs, "DISTANCE_SECONDS", 0.0)
    _, unsearched, bounds = branch(bare)
    assert unsearched[place + 1 :] != states[place + 1 :]
    assert all(low <= each <= high for (low, high), each in zip(bounds, exact, strict=True))
    monkeypatch.setattr(jobs, "DISTANCE_SECONDS", 600.0)
    monkeypatch.setattr(experts, "fast_downward_driver", missing)
    assert branch(bare)[1] == unsearched
    found, _, _ = branch(before)
    assert found[1 : place + 2] == records[1 : place + 2], "those of the given steps are known"


def test_a_feature_has_its_influences_and_another_weight(ask, run, five_blocks, quick_run):
    solved = ask("solve", run=run, problem=five_blocks, seconds=30).result
    place, why = next((place, each["why"][0]) for place, each in enumerate(solved["data"]["steps"]) if each["why"])
    feature = solved["data"]["features"][why["reasons"][0][0]]
    asked = {"run": run, "before": solved["records"][: place + 2], "step": place + 1}
    asked |= {"rank": why["against"] + 1, "feature": feature}
    report = ask("attribute_weight", 120, **asked)
    assert report.state == "done", report.error
    assert report.result["attributed"] == pytest.approx(report.result["weight"], rel=0.05, abs=0.05)
    trained = {each.name for each in sgp.load_suite("state-centric").problems("blocksworld", "train")}
    for each in report.result["influences"]:
        assert each["problem"] in trained
        assert each["step"] is None or each["step"] >= 1
        assert each["right"] != each["wrong"]
        assert each["picture"].startswith("<svg")
    assert any(each["step"] for each in report.result["influences"])
    same, turned = (ask("reweighted", factor=factor, seconds=30, **asked).result for factor in (1.0, -1.0))
    assert same["records"][1:] == solved["records"][1:]
    assert turned["records"][1:] != solved["records"][1:], "costs and reasons are those of the changed weight"
    none = ask("attribute_weight", **asked | {"feature": "the moon"})
    assert "'the moon' does not distinguish these candidates of step" in none.error
    asked["run"] = str(quick_run("state-centric", "blocksworld", "wl-xgboost-delta").folder)
    refused = ask("attribute_weight", **asked)
    assert "the weights of state-centric are not sums over training decisions" in refused.error
    assert "have no weights" in ask("reweighted", factor=0.0, seconds=30, **asked).error


def unexplained(steps):
    """Steps without explanations and actions left, which are reported when the rollout has ended."""
    bare = []
    for step in steps:
        candidates = [{name: value for name, value in each.items() if name != "left"} for each in step["candidates"]]
        rest = {name: value for name, value in step.items() if name != "best"}
        bare.append({**rest, "why": [], "candidates": candidates})
    return bare


def test_a_rollout_is_shown_while_it_grows(run, five_blocks, monkeypatch):
    """A preview of every decision here; by default every half second."""
    monkeypatch.setattr(jobs, "PREVIEW_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "PREVIEW_SHARE", math.inf)
    previews = []

    def keep(preview=None, **others):
        previews.extend([preview] * (preview is not None))

    solved = jobs.solve(keep, run, five_blocks, 30)
    steps = solved["data"]["steps"]
    assert [each["length"] for each in previews] == list(range(1, solved["data"]["length"] + 1))
    assert {each["outcome"] for each in previews} == {PLANNING}
    assert list(map(unexplained, (previews[-1]["steps"], previews[2]["steps"]))) == [
        unexplained(steps),
        unexplained(steps[:3]),
    ]
    previews.clear()
    place, rank = first_other(steps)
    before = solved["records"][: place + 2]
    branched = jobs.branch(keep, run, before, place + 1, rank, 30)["data"]["steps"]
    assert [len(each["steps"]) for each in previews] == list(range(place + 2, len(branched) + 1))
    assert len(previews) > 1
    assert unexplained(previews[-1]["steps"]) == unexplained(branched)
    assert len(previews[-1]["steps"][place]["candidates"]) > 1, "the given steps keep all their candidates"
    monkeypatch.setattr(jobs, "MOST_PREVIEWED", 4)
    previews.clear()
    jobs.solve(keep, run, five_blocks, 30)
    assert not previews, "a preview of a large problem would take the time of planning"
    start = playback(branch_start(before, place + 1, rank))
    assert start["outcome"] == PLANNING
    assert unexplained(start["steps"][:place]) == unexplained(branched[:place])
    assert start["steps"][place]["chosen"] == branched[place]["chosen"] == rank - 1
    assert "why" in steps[place], "there was another one to choose"
    assert not branched[place]["why"], "the model did not choose what was forced"
    assert any("why" in each for each in branched[place + 1 :])


def test_a_plan_is_replayed_and_judged_and_errors_are_sentences_with_their_line(ask, problem):
    plans = (f"(pick-up a){more}" for more in ("\n(stack a b)", "", "\n(stack b a)"))
    first, short, wrong = (ask("replay", problem=problem, plan=plan).result for plan in plans)
    assert (first["valid"], first["stopped"], first["data"]["outcome"]) == (True, "", "solved")
    assert (short["valid"], short["data"]["outcome"]) == (False, "the plan does not reach the goal")
    assert (wrong["valid"], len(wrong["data"]["steps"])) == (False, 1)
    assert wrong["stopped"].startswith("step 2 of 2: action (stack b a) is not applicable")
    report = ask("read", problem={**problem, "problem": problem["problem"].replace("(:init", "\n(:init (nothing")})
    assert (report.state, report.source) == ("failed", "problem")
    assert report.line is not None
    _, *marked = report.error.splitlines()
    assert marked, "the line is shown, with a mark under the place"
    assert all(line.startswith("    ") for line in marked)
    assert "holds no run.json" in ask("load", run="/nowhere").error


def test_a_classical_planners_plan_is_there_to_compare_with(ask, problem, monkeypatch):
    found = ask("reference", problem=problem).result
    assert found == {"planner": "astar-lmcut", "length": 2, "optimal": True, "costs": False}
    closed = problem["problem"].replace("(clear a)", "")
    assert "has no plan" in ask("reference", problem={**problem, "problem": closed}).error
    monkeypatch.setattr(jobs, "QUICK", QUICK[1:])
    found = jobs.reference(lambda **_: None, problem)
    assert found == {"planner": "lama-first", "length": 2, "optimal": False, "costs": False}
    names = MANY.split()[:500]
    tables = " ".join(f"(ontable {each}) (clear {each})" for each in names)
    large = text_of(blocks_problem(" ".join(names), tables, "(on b0 b1)"))
    monkeypatch.setattr(jobs, "QUICK", [replace(stage, seconds=1.0) for stage in QUICK])
    assert jobs.reference(lambda **_: None, large) == {"planner": None, "length": None}


@pytest.mark.slow
def test_ten_thousand_objects_and_five_megabytes_are_sentences(worker, ask, problem):
    many = {**problem, "problem": problem["problem"].replace("a b)", f"a b {MANY})", 1)}
    assert "10,002 objects" in ask("read", problem=many).error
    assert "characters" in ask("read", problem={**problem, "problem": problem["problem"] + ";" * 1_500_000}).error
    with pytest.raises(InputError, match="characters"):
        worker.submit("read", 60, problem={**problem, "problem": ";" * 5_000_000})
    assert ask("read", problem={**problem, "problem": "(" * 200_000 + ")" * 200_000}).state == "failed"
    assert ask("read", problem=problem).state == "done"


def begun(job):
    """Return the job when it has begun."""
    while job.report().state == "waiting":
        time.sleep(0.001)
    return job


def test_a_job_that_is_cancelled_or_over_its_seconds_ends_and_the_next_has_a_new_process(worker, ask, problem):
    first = begun(worker.submit("train", 300, **LONG))
    number = worker._process.popen.pid
    first.cancel()
    assert first.report().state == "cancelled"
    assert gone(number)
    assert ask("read", problem=problem).state == "done"
    ask("load", run="/nowhere")  # the libraries are loaded
    assert ask("train", 1, **LONG).error == service_worker.out_of_time(1)


WAITING = """
import time
from sgp.service import jobs, worker
from sgp.service.worker import Worker

def wait(report):
    time.sleep(1.5)
    return {"waited": True}

def compute(report):
    while True:
        pass

jobs.JOBS = {"wait": wait, "compute": compute}
worker.main()
"""


@pytest.mark.slow
def test_limits_count_cpu_seconds_not_wall_clock_seconds():
    """A job that waits longer than its limit has used no CPU time; a job that computes is ended."""
    near, far = Pipe()
    command = [sys.executable, "-c", WAITING, str(far.fileno()), str(6 * GIGABYTE)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[far.fileno()])
    far.close()
    for job in ("wait", "compute"):
        near.send((job, 0.5, {}))
    messages = [near.recv()]
    while messages[-1][0] != "last":
        messages.append(near.recv())
    process.communicate()
    assert ("result", {"waited": True}) in messages
    assert messages[-1] == ("last", {"error": service_worker.out_of_time(0.5)})


@pytest.mark.slow
def test_a_machine_that_is_busy_takes_no_seconds(worker, ask, run):
    """The process is suspended for longer than the job's limit, as on a busy machine."""
    names = [f"b{number}" for number in range(60)]
    on_table = " ".join(f"(ontable {each}) (clear {each})" for each in names)
    tower = " ".join(f"(on {one} {other})" for one, other in pairwise(names))
    sixty = text_of(blocks_problem(" ".join(names), on_table, tower))
    ask("load", run=run)
    job = begun(worker.submit("solve", 60, run=run, problem=sixty, seconds=30))
    number = worker._process.popen.pid
    os.kill(number, signal.SIGSTOP)
    assert job.report().state == "running"
    job._begun -= 65  # simulates elapsed wall-clock seconds
    assert job.report().state == "running"
    os.kill(number, signal.SIGCONT)
    assert ended(job).result["data"]["outcome"] == "solved"


def test_a_job_that_hangs_is_ended_by_the_clock_at_last(worker, ask, run):
    ask("load", run=run)
    job = begun(worker.submit("train", 300, **LONG))
    job._begun -= 300 * service_worker.PATIENCE + 10
    assert job.report().error == service_worker.out_of_patience(300 * service_worker.PATIENCE + 3)
    assert not worker.alive


@pytest.mark.slow
def test_jobs_are_done_in_their_order_also_after_one_that_ran_out_of_time(worker, ask, problem):
    """The process ends itself after the report; a job submitted in between must not be lost."""
    for _ in range(5):
        late = worker.submit("read", 0.001, problem=problem)
        while not late.report().ended:
            pass
        after = ask("read", problem=problem)
        assert after.state == "done", after.error
    # A request larger than the pipe's buffer is neither overtaken by another nor mixed with it.
    large = {**problem, "problem": problem["problem"] + ";" + " " * 900_000}
    asked = [worker.submit("read", 60, problem=each) for each in [large, problem] * 5]
    for place in reversed(range(len(asked))):
        assert ended(asked[place]).state == "done", asked[place].report().error
        assert all(each.report().ended for each in asked[:place])


def test_too_little_memory_is_a_sentence(problem):
    worker = Worker(memory=GIGABYTE // 16)
    report = ended(worker.submit("read", 60, problem=problem))
    worker.close()
    assert report.state == "failed"
    assert "memory" in report.error.lower() or "before it answered" in report.error


@pytest.mark.slow
def test_the_process_ends_with_its_worker_and_processes_are_few(problem, monkeypatch):
    worker = Worker()
    ended(worker.submit("read", 60, problem=problem))
    number = worker._process.popen.pid
    del worker
    assert gone(number)
    monkeypatch.setattr(service_worker, "MOST_PROCESSES", 1)
    first, second = Worker(), Worker()
    ended(first.submit("read", 60, problem=problem))
    number = first._process.popen.pid
    ended(second.submit("read", 60, problem=problem))
    assert second._process.popen.pid == number, "the idle process is taken over"
    assert not first.alive
    del first
    assert ended(second.submit("read", 60, problem=problem)).state == "done"
    first = Worker()
    busy = second.submit("train", 300, **LONG)
    with pytest.raises(InputError, match="1 jobs at a time"):
        first.submit("read", 60, problem=problem)
    busy.cancel()


def test_it_is_light_to_import():
    heavy = "('torch', 'pymimir', 'numpy', 'xgboost')"
    code = f"import sys; from sgp.service.worker import Worker; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.slow
def test_the_least_forced_choices_of_an_unsolved_rollout(ask, quick_run):
    run = str(quick_run("state-centric", "blocksworld", "wl-xgboost-delta").folder)
    for problem in sgp.load_suite("state-centric").problems("blocksworld", "extrapolation"):
        start = ask("solve", run=run, problem=text_of(problem), seconds=30).result
        if start["data"]["outcome"] != "solved":
            break
    report = ask("override", run=run, before=start["records"], free=0, seconds=20.0, ranks=3, most=2)
    found = report.result
    assert report.progress["searched"] == list(found["counts"])
    if found["overrides"] is None:
        assert found["complete"] == [1, 2] or found["seconds"] >= 20
        return
    (step, rank), *more = found["overrides"]
    assert len(found["rollouts"]) == 1 + len(more)
    forced = found["rollouts"][0]["data"]["steps"][step - 1]["candidates"][rank - 1]
    assert {"chosen", "forced"} <= set(forced["marks"])
    assert found["rollouts"][-1]["data"]["outcome"] == "solved"
