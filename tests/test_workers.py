"""Tasks run in this process, in worker processes and on a Ray cluster of two machines, one of which may fail."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import sgp
from sgp.cli.commands import FAILED
from sgp.datasets.recorded import read_recorded
from sgp.datasets.runs import list_runs
from sgp.errors import ConfigurationError, PddlError, SuiteError, ToolError
from sgp.evaluation.attempts import RolloutRecorder
from sgp.evaluation.scaling import ScalingConfig
from sgp.experiments.grid import grid_cells, run_grid
from sgp.workers import ONE_THREAD, Cluster, Folder, Local, executor, one_thread, worker_count
from tests.test_cli import call

TINY = 100 * 2**20  # bytes of each machine's object store
SPLITS = ("validation", "interpolation")


def on_cluster(test):
    """Mark a test that needs the cluster; the first of them waits for its machines to start."""
    return pytest.mark.cluster(pytest.mark.timeout(900)(test))


@pytest.fixture(scope="module")
def machines():
    """Start a head without CPUs and two machines with one CPU each; end them afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # same priority as the tests
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(sgp.__file__).parents[1]), *sys.path]))
        import ray
        from ray.cluster_utils import Cluster as Machines

        prompt = {"health_check_period_ms": 1000}  # so that a lost machine is noticed within seconds
        head = {"num_cpus": 0, "object_store_memory": TINY, "include_dashboard": False, "_system_config": prompt}
        found = Machines(initialize_head=True, head_node_args=head)
        for _ in range(2):
            found.add_node(num_cpus=1, object_store_memory=TINY)
        yield found
        ray.shutdown()
        found.shutdown()


@pytest.fixture
def cluster(machines):
    return Cluster(machines.address)


def squared(number, folder=None):
    return number**2, folder and sorted(path.name for path in Path(folder).iterdir())


def refuse(number):
    if number == 3:
        raise PddlError("3 is one too many", "numbers.pddl", 7)
    return number


def die_once(number, mark):
    """Kill the own process in the first call, as a machine out of memory does."""
    if number == 2 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), 9)
    return number, os.getpid()


def die(number):
    os.kill(os.getpid(), 9)


def add_up(numbers, runner):
    return sum(result for _, (result, _) in runner.map(squared, [(number,) for number in numbers]))


every_kind = pytest.mark.parametrize(
    "runner",
    [Local(), Local(2), pytest.param("cluster", marks=[pytest.mark.cluster, pytest.mark.timeout(900)])],
    ids=["here", "processes", "cluster"],
    indirect=True,
)


@pytest.fixture
def runner(request):
    """Return the executor of a kind; the cluster is started on first use."""
    return request.getfixturevalue("cluster") if request.param == "cluster" else request.param


@every_kind
def test_every_kind_of_workers_gives_the_same_results(runner, tmp_path):
    assert executor(runner) == runner
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)))
    tasks = [(number, Folder(tmp_path)) for number in range(7)]
    assert dict(runner.map(squared, tasks)) == {number: (number**2, ["a.txt", "b.bin"]) for number in range(7)}
    assert dict(runner.map(squared, [])) == {}
    sums = dict(runner.map_nested(add_up, [((1, 2, 3),), ((4, 5),), ((),)]))
    assert sums == {0: 14, 1: 41, 2: 0}


def test_a_number_of_processes_is_an_executor_of_as_many():
    assert (executor(1), executor(3)) == (Local(), Local(3))


@every_kind
def test_an_error_comes_back_as_it_was_raised(runner):
    with pytest.raises(PddlError) as raised:
        list(runner.map(refuse, [(number,) for number in range(5)]))
    assert str(raised.value) == "numbers.pddl, line 7: 3 is one too many"
    assert (raised.value.source, raised.value.line) == ("numbers.pddl", 7)
    assert dict(runner.map(refuse, [(1,), (2,)])) == {0: 1, 1: 2}, "the workers go on"


@on_cluster
def test_a_task_whose_process_was_killed_is_done_again(cluster, tmp_path):
    found = dict(cluster.map(die_once, [(number, str(tmp_path / "died")) for number in range(4)]))
    assert [found[place][0] for place in range(4)] == [0, 1, 2, 3]
    assert os.getpid() not in {process for _, process in found.values()}
    assert (tmp_path / "died").exists()


@on_cluster
def test_a_task_that_always_kills_its_process_is_a_sentence(cluster):
    with pytest.raises(ToolError, match=r"lost a task for good, after 3 more tries .*give it more memory, then"):
        list(cluster.map(die, [(1,)]))


def comparable(attempts):
    return {where: [replace(each, seconds=0.0, memory=0) for each in tried] for where, tried in attempts.items()}


@on_cluster
def test_a_machine_lost_in_the_middle_loses_and_changes_nothing(machines, cluster, quick_run, home, monkeypatch):
    """The machine is removed after the first of many chunks, while it computes others."""
    monkeypatch.setattr("sgp.evaluation.attempts.CHUNK", 1)
    run = quick_run("contrastive-jumps", "gripper", "one-step").folder
    alone = sgp.evaluate([run], "state-centric", SPLITS)
    lost = next(iter(machines.worker_nodes))
    real = Cluster.map

    def losing(*arguments):
        for each in real(*arguments):
            if lost in machines.worker_nodes:
                machines.remove_node(lost, allow_graceful=False)
            yield each

    monkeypatch.setattr(Cluster, "map", losing)
    found = sgp.evaluate([run], "state-centric", SPLITS, cluster)
    machines.add_node(num_cpus=1, object_store_memory=TINY)
    assert lost not in machines.worker_nodes
    assert comparable(found.attempts) == comparable(alone.attempts)
    assert {note.split(", ")[1] for note in found.scores.note} == {"a Ray cluster"}
    assert not list(home.glob("cache/evaluations/*.json"))


@on_cluster
def test_a_grid_on_a_cluster_gives_the_same_scores_and_keeps_its_runs_here(cluster, tmp_path, monkeypatch):
    variants = {"state-centric": ["wl-xgboost-delta"], "random-successor": ["unvisited"]}
    settings = {"boosting.rounds": "2"}
    cells = grid_cells("state-centric", ["gripper"], variants, (1, 2), ("interpolation",), settings)
    found = []
    for name, runner in (("here", Local()), ("cluster", cluster)):
        monkeypatch.setenv("SGP_HOME", str(tmp_path / name))
        results = run_grid(cells, runner, diagnostics=True)
        scores = results.scores[~results.scores.metric.str.endswith(("seconds", "memory"))]
        texts = results.attempts.drop(columns="seconds").to_csv(), scores.drop(columns="note").to_csv(index=False)
        found.append((*texts, [(run.key, run.training, run.record["data"]) for run in list_runs()]))
        assert run_grid(cells, runner, diagnostics=True).scores.equals(results.scores)
    assert found[0] == found[1]
    assert len(found[0][2]) == 3


@on_cluster
def test_training_scaling_and_rollouts_come_home_from_a_cluster(cluster, home, tmp_path):
    run = sgp.train("contrastive-jumps", "gripper", "state-centric", "one-step", jobs=cluster)
    again = sgp.train("contrastive-jumps", "gripper", "state-centric", "one-step", jobs=1)
    assert again.sha256 == run.sha256, "it is in the store and not trained again"
    quick = ScalingConfig(epsilon=0.3, largest=6)
    (home / "scaling").mkdir()
    curves = [sgp.experiments.scaling(run.folder, quick, bound=40, jobs=cluster)]
    (home / "scaling").rename(tmp_path / "kept")
    curves.append(sgp.experiments.scaling(run.folder, quick, bound=40))
    of_curve = [[(each.size, comparable({"": each.attempts})) for each in curve.points] for curve in curves]
    assert of_curve[0] == of_curve[1]
    sgp.evaluate([run.folder], "state-centric", ["interpolation"], cluster, rollouts=tmp_path / "rollouts")
    names = {problem.name for problem in sgp.load_suite("state-centric").problems("gripper", "interpolation")}
    files = sorted((tmp_path / "rollouts").glob("*.jsonl"))
    assert {read_recorded(file)[0].head["name"] for file in files} == names
    about = read_recorded(files[0])[0].about
    assert {RolloutRecorder(tmp_path / "rollouts", about).path(name) for name in names} == set(files)


@on_cluster
def test_what_fails_in_one_thread_ends_the_others(cluster):
    started = time.monotonic()
    with pytest.raises(SuiteError, match="no such suite"):
        list(cluster.map_nested(fail_or_wait, [(False,), (True,)]))
    assert threading.active_count() < 50
    assert time.monotonic() - started < 60, "the other one would take five minutes"


def fail_or_wait(failing, runner):
    if failing:
        raise SuiteError("no such suite")
    return list(runner.map(time.sleep, [(300,)]))


@pytest.mark.parametrize("address", ["head", "ray://head:10001", "head:port", ":6379", "head:70000"])
def test_an_address_of_another_form_is_a_sentence(address):
    with pytest.raises(ConfigurationError, match=f"cluster is '{address}'; expected HOST:PORT of its head"):
        Cluster(address)


@on_cluster
def test_a_cluster_that_is_not_there_is_a_sentence(home):
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code, _, error = call("grid", "--domains", "gripper", "--variants", "zero-change", "--cluster", f"127.0.0.1:{port}")
    assert code == FAILED
    assert f"sgp: no Ray cluster answers at 127.0.0.1:{port}" in error
    assert "or leave --cluster out to work here" in error


def test_ray_that_is_missing_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ToolError, match="'--cluster' needs the library ray"):
        list(Cluster("127.0.0.1:6379").map(squared, [(1,)]))


def test_one_thread_computes_for_a_while_and_as_many_as_before_afterwards():
    import torch

    def interrupted():
        with one_thread():
            assert torch.get_num_threads() == 1
            raise KeyboardInterrupt

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def _threads_and_share():
    import torch

    return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"], worker_count()


@pytest.mark.slow
def test_each_of_several_processes_has_one_thread_and_knows_how_many_work():
    found = [each for _, each in Local(2).map(_threads_and_share, [(), ()])]
    assert found == [(1, "1", 2)] * 2
    assert worker_count() == 1


def test_the_command_line_computes_with_one_thread_unless_the_user_asks_for_more():
    code = "from sgp.workers import compute_with_one_thread as calm; calm(); import os; print(os.environ['{}'])"
    for asked, name, value in (
        ({}, "OMP_NUM_THREADS", "1"),
        ({"OMP_NUM_THREADS": "3"}, "OMP_NUM_THREADS", "3"),
        ({}, "OMP_WAIT_POLICY", "PASSIVE"),
    ):
        own = {key: each for key, each in os.environ.items() if key not in ONE_THREAD}
        command = [sys.executable, "-c", code.format(name)]
        found = subprocess.run(command, env={**own, **asked}, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == value
