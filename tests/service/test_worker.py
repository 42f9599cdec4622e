"""The worker process: answers, errors as sentences, limits, cancellation; no process outlives it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from multiprocessing import Pipe
from pathlib import Path

import pytest

import sgp
from sgp.errors import InputError
from sgp.service import jobs
from sgp.service import worker as service_worker
from sgp.service.worker import GIGABYTE, Worker
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


@pytest.fixture
def worker(monkeypatch, shared_home):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    worker = Worker()
    yield worker
    worker.close()


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


def test_a_run_solves_is_branched_from_and_forced(worker, quick_run):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    (problem, *_) = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")
    ended(worker.submit("load", 60, run=str(run.folder)))
    solved = ended(worker.submit("solve", 60, run=str(run.folder), problem=text_of(problem), seconds=30))
    assert solved.state == "done", solved.error
    assert solved.progress["decisions"] == len(solved.result["data"]["steps"])
    assert solved.result["valid"] is True
    before = solved.result["records"]
    shown = solved.result["data"]["steps"][1]
    rank = next(each["rank"] for each in shown["candidates"] if each["rank"] - 1 != shown["chosen"])
    asked = worker.submit("branch", 60, run=str(run.folder), before=before[:3], step=2, rank=rank, seconds=30)
    branched = ended(asked).result
    step = branched["data"]["steps"][1]
    assert step["chosen"] == rank - 1
    assert {"chosen", "forced"} <= set(step["candidates"][rank - 1]["marks"])
    assert [each["actions"] for each in step["candidates"]] == [
        [branched["data"]["actions"].index(solved.result["data"]["actions"][number]) for number in each["actions"]]
        for each in shown["candidates"]
    ]
    assert branched["records"][1] == before[1]
    refused = ended(worker.submit("branch", 60, run=str(run.folder), before=before, step=1, rank=999, seconds=30))
    assert "rank 999 at step 1" in refused.error


def test_a_feature_has_its_influences_and_another_weight(worker, quick_run):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    (problem, *_) = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")
    solved = ended(worker.submit("solve", 60, run=str(run.folder), problem=text_of(problem), seconds=30)).result
    place, why = next((place, each["why"][0]) for place, each in enumerate(solved["data"]["steps"]) if each["why"])
    feature = solved["data"]["features"][why["reasons"][0][0]]
    asked = {"run": str(run.folder), "before": solved["records"][: place + 2], "step": place + 1}
    asked |= {"rank": why["against"] + 1, "feature": feature}
    report = ended(worker.submit("attribute_weight", 120, **asked))
    assert report.state == "done", report.error
    assert report.result["attributed"] == pytest.approx(report.result["weight"], rel=0.05, abs=0.05)
    trained = {each.name for each in sgp.load_suite("state-centric").problems("blocksworld", "train")}
    for each in report.result["influences"]:
        assert each["problem"] in trained
        assert each["step"] is None or each["step"] >= 1
        assert each["right"] != each["wrong"]
        assert each["picture"].startswith("<svg")
    assert any(each["step"] for each in report.result["influences"])
    same = ended(worker.submit("reweighted", 60, factor=1.0, seconds=30, **asked)).result
    assert same["records"][1:] == solved["records"][1:]
    turned = ended(worker.submit("reweighted", 60, factor=-1.0, seconds=30, **asked)).result
    assert turned["records"][1:] != solved["records"][1:], "costs and reasons are those of the changed weight"
    none = ended(worker.submit("attribute_weight", 60, **{**asked, "feature": "the moon"}))
    assert "'the moon' does not distinguish these candidates of step" in none.error
    trees = quick_run("state-centric", "blocksworld", "wl-xgboost-delta")
    refused = ended(worker.submit("attribute_weight", 60, **{**asked, "run": str(trees.folder)}))
    assert "the weights of state-centric are not sums over training decisions" in refused.error
    changed = ended(worker.submit("reweighted", 60, factor=0.0, seconds=30, **{**asked, "run": str(trees.folder)}))
    assert "have no weights" in changed.error


def unexplained(steps):
    """Return steps without explanations, which are reported when the rollout has ended."""
    return [{**each, "why": []} for each in steps]


def test_a_rollout_is_shown_while_it_grows(quick_run, monkeypatch):
    """A preview of every decision here; by default every half second."""
    monkeypatch.setattr(jobs, "PREVIEW_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "PREVIEW_SHARE", math.inf)
    run = str(quick_run("contrastive-jumps", "blocksworld", "one-step").folder)
    (problem, *_) = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")
    messages = []
    solved = jobs.solve(lambda **each: messages.append(each), run, text_of(problem), 30)
    previews = [each["preview"] for each in messages if "preview" in each]
    assert [each["length"] for each in previews] == list(range(1, solved["data"]["length"] + 1))
    assert {each["outcome"] for each in previews} == {jobs.PLANNING}
    assert previews[-1]["steps"] == unexplained(solved["data"]["steps"])
    assert previews[2]["steps"] == unexplained(solved["data"]["steps"][:3])
    messages.clear()
    place, rank = next(
        (place, each["rank"])
        for place, step in enumerate(solved["data"]["steps"])
        for each in step["candidates"]
        if not {"chosen", "visited"} & set(each["marks"])
    )
    branched = jobs.branch(
        lambda **each: messages.append(each), run, solved["records"][: place + 2], place + 1, rank, 30
    )
    previews = [each["preview"] for each in messages if "preview" in each]
    assert [len(each["steps"]) for each in previews] == list(range(place + 1, len(branched["data"]["steps"]) + 1))
    assert len(previews) > 1
    assert unexplained(previews[-1]["steps"]) == unexplained(branched["data"]["steps"])
    assert len(previews[-1]["steps"][place]["candidates"]) > 1, "the given steps keep all their candidates"
    assert "why" in solved["data"]["steps"][place], "there was another one to choose"
    assert not branched["data"]["steps"][place]["why"], "the model did not choose what was forced"
    assert any("why" in each for each in branched["data"]["steps"][place + 1 :])


def test_a_plan_is_replayed_and_judged(worker, problem):
    good = ended(worker.submit("replay", 60, problem=problem, plan="(pick-up a)\n(stack a b)")).result
    assert (good["valid"], good["stopped"], good["data"]["outcome"]) == (True, "", "solved")
    short = ended(worker.submit("replay", 60, problem=problem, plan="(pick-up a)")).result
    assert (short["valid"], short["data"]["outcome"]) == (False, "the plan does not reach the goal")
    wrong = ended(worker.submit("replay", 60, problem=problem, plan="(pick-up a)\n(stack b a)")).result
    assert wrong["valid"] is False
    assert wrong["stopped"].startswith("step 2 of 2: action (stack b a) is not applicable")
    assert len(wrong["data"]["steps"]) == 1


def test_errors_are_sentences_with_their_line(worker, problem):
    broken = {**problem, "problem": problem["problem"].replace("(:init", "\n(:init (nothing")}
    report = ended(worker.submit("read", 60, problem=broken))
    assert (report.state, report.source) == ("failed", "problem")
    assert report.line is not None
    _, *marked = report.error.splitlines()
    assert marked, "the line is shown, with a mark under the place"
    assert all(line.startswith("    ") for line in marked)
    missing = ended(worker.submit("load", 60, run="/nowhere"))
    assert "holds no run.json" in missing.error


@pytest.mark.slow
def test_ten_thousand_objects_and_five_megabytes_are_sentences(worker, problem):
    many = {**problem, "problem": problem["problem"].replace("a b)", f"a b {MANY})", 1)}
    assert "10,002 objects" in ended(worker.submit("read", 60, problem=many)).error
    long = {**problem, "problem": problem["problem"] + ";" * 1_500_000}
    assert "characters" in ended(worker.submit("read", 60, problem=long)).error
    with pytest.raises(InputError, match="characters"):
        worker.submit("read", 60, problem={**problem, "problem": ";" * 5_000_000})
    nested = {**problem, "problem": "(" * 200_000 + ")" * 200_000}
    assert ended(worker.submit("read", 60, problem=nested)).state == "failed"
    assert ended(worker.submit("read", 60, problem=problem)).state == "done"


def test_cancel_ends_the_process_and_the_next_job_has_a_new_one(worker, problem):
    first = worker.submit("train", 300, **LONG)
    while first.report().state == "waiting":
        time.sleep(0.02)
    number = worker._process.popen.pid
    first.cancel()
    assert first.report().state == "cancelled"
    assert gone(number)
    assert ended(worker.submit("read", 60, problem=problem)).state == "done"


def test_a_job_over_its_seconds_is_ended(worker):
    ended(worker.submit("load", 60, run="/nowhere"))  # the libraries are loaded
    report = ended(worker.submit("train", 1, **LONG))
    assert report.error == service_worker.out_of_time(1)


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
def test_a_machine_that_is_busy_takes_no_seconds(worker, quick_run):
    """The process is suspended for longer than the job's limit, as on a busy machine."""
    run = str(quick_run("contrastive-jumps", "blocksworld", "one-step").folder)
    names = [f"b{number}" for number in range(60)]
    on_table = " ".join(f"(ontable {each}) (clear {each})" for each in names)
    tower = " ".join(f"(on {one} {other})" for one, other in pairwise(names))
    sixty = text_of(blocks_problem(" ".join(names), on_table, tower))
    ended(worker.submit("load", 60, run=run))
    job = worker.submit("solve", 60, run=run, problem=sixty, seconds=30)
    while job.report().state == "waiting":
        time.sleep(0.001)
    number = worker._process.popen.pid
    os.kill(number, signal.SIGSTOP)
    assert job.report().state == "running"
    job._begun -= 65  # simulates elapsed wall-clock seconds
    assert job.report().state == "running"
    os.kill(number, signal.SIGCONT)
    assert ended(job).result["data"]["outcome"] == "solved"


def test_a_job_that_hangs_is_ended_by_the_clock_at_last(worker, quick_run):
    run = str(quick_run("contrastive-jumps", "blocksworld", "one-step").folder)
    ended(worker.submit("load", 60, run=run))
    job = worker.submit("train", 300, **LONG)
    while job.report().state == "waiting":
        time.sleep(0.001)
    job._begun -= 300 * service_worker.PATIENCE + 10
    assert job.report().error == service_worker.out_of_patience(300 * service_worker.PATIENCE + 3)
    assert not worker.alive


@pytest.mark.slow
def test_the_job_after_one_that_ran_out_of_time_has_a_process(worker, problem):
    """The process ends itself after the report; a job submitted in between must not be lost."""
    for _ in range(5):
        late = worker.submit("read", 0.001, problem=problem)
        while not late.report().ended:
            pass
        after = ended(worker.submit("read", 60, problem=problem))
        assert after.state == "done", after.error


@pytest.mark.slow
def test_jobs_are_done_in_the_order_in_which_they_were_asked_for(worker, problem):
    """A request larger than the pipe's buffer is neither overtaken by another nor mixed with it."""
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
    assert "memory" in report.error.lower() or "without an answer" in report.error


@pytest.mark.slow
def test_the_process_ends_with_its_worker(problem):
    worker = Worker()
    ended(worker.submit("read", 60, problem=problem))
    number = worker._process.popen.pid
    del worker
    assert gone(number)


@pytest.mark.slow
def test_workers_are_few(monkeypatch, problem):
    monkeypatch.setattr(service_worker, "MOST_WORKERS", 1)
    first, second = Worker(), Worker()
    ended(first.submit("read", 60, problem=problem))
    ended(second.submit("read", 60, problem=problem))
    assert not first.alive, "the idle one makes room"
    busy = second.submit("train", 300, **LONG)
    with pytest.raises(InputError, match="1 jobs at a time"):
        first.submit("read", 60, problem=problem)
    busy.cancel()


def test_it_is_light_to_import():
    heavy = "('torch', 'pymimir', 'numpy', 'xgboost')"
    code = f"import sys; from sgp.service.worker import Worker; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.slow
def test_the_least_forced_choices_of_an_unsolved_rollout(worker, quick_run):
    run = str(quick_run("state-centric", "blocksworld", "wl-xgboost-delta").folder)
    for problem in sgp.load_suite("state-centric").problems("blocksworld", "extrapolation"):
        start = ended(worker.submit("solve", 60, run=run, problem=text_of(problem), seconds=30)).result
        if start["data"]["outcome"] != "solved":
            break
    limits = {"free": 0, "seconds": 20.0, "ranks": 3, "most": 2}
    report = ended(worker.submit("override", 60, run=run, before=start["records"], **limits))
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
