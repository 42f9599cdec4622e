import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from sgp.datasets import store
from sgp.datasets.runs import Origin, RunKey, find_run, new_run, open_run, run_folders
from sgp.datasets.store import data_folder, draft_folder, put_in_place
from sgp.datasets.suite import list_suites, load_suite
from sgp.evaluation.scores import to_frame
from sgp.reports.card import save_scores

KEY = RunKey("zero-change", "variant", "suite", "domain", 13)
ORIGIN = Origin({}, {"domain": "(define (domain d))"}, {"sha256": "", "train": 1, "validation": 1}, "cpu", ())


def save(mark: str):
    with new_run(KEY, ORIGIN) as draft:
        (draft.folder / "model").write_text(mark * 2000)
        (draft.folder / "encoder").write_text(mark)
        draft.facts["mark"] = mark


def save_often(home, mark, times):
    os.environ["SGP_HOME"] = str(home)
    for _ in range(times):
        save(mark)


def read_often(home, found, end):
    os.environ["SGP_HOME"] = str(home)
    try:
        while not end.is_set():
            open_run(KEY.folder)
    except Exception as error:
        found.put(repr(error))
    found.put("")


@pytest.mark.slow
def test_two_trainings_of_one_run_and_a_reader_do_not_disturb_each_other(home):
    save("first")
    start = multiprocessing.get_context("spawn")
    found, end = start.Queue(), start.Event()
    writers = [start.Process(target=save_often, args=(home, mark, 60)) for mark in "ab"]
    reader = start.Process(target=read_often, args=(home, found, end))
    for process in (*writers, reader):
        process.start()
    for process in writers:
        process.join(100)
    end.set()
    assert found.get(timeout=100) == ""
    reader.join(100)
    assert [process.exitcode for process in writers] == [0, 0]
    run = open_run(KEY.folder)
    assert (run.folder / "encoder").read_text() == run.record["facts"]["mark"]
    assert [path.name for path in KEY.folder.parent.glob("[!.]*")] == ["seed13"]
    assert not list(KEY.folder.parent.glob(".seed13*"))


def test_a_failed_writer_leaves_the_old_run(home):
    save("a")
    with pytest.raises(ZeroDivisionError), new_run(KEY, ORIGIN):
        1 / 0  # noqa: B018
    assert open_run(KEY.folder).record["facts"]["mark"] == "a"
    assert [path.name for path in KEY.folder.parent.glob("[!.]*")] == ["seed13"]
    assert not list(KEY.folder.parent.glob(".seed13*"))


KILLED = """
import os, pathlib, signal, sys
from sgp.datasets import store
rename = os.replace
def killed(*paths):
    rename(*paths)
    os.kill(os.getpid(), signal.SIGKILL)
store.os.replace = killed
with store.whole_folder(pathlib.Path(sys.argv[1])) as draft:
    (draft / "file").write_text("new")
"""


READS = {
    "find": lambda: find_run(KEY),
    "open": lambda: open_run(KEY.folder),
    "list": lambda: open_run(*run_folders()),
    "write": lambda: save("a") or open_run(KEY.folder),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_process_that_is_killed_between_two_renames_loses_no_run(read, home):
    save("a")
    assert subprocess.run([sys.executable, "-c", KILLED, str(KEY.folder)]).returncode == -signal.SIGKILL
    assert not KEY.folder.exists()
    assert read().record["facts"]["mark"] == "a"
    save("b")
    assert open_run(KEY.folder).record["facts"]["mark"] == "b"
    assert not list(KEY.folder.parent.glob(".seed13*"))


def test_a_suite_survives_too(home):
    shutil.copytree(data_folder() / "benchmarks" / "state-centric", home / "suites" / "mine")
    subprocess.run([sys.executable, "-c", KILLED, str(home / "suites" / "mine")])
    assert "mine" in list_suites()
    subprocess.run([sys.executable, "-c", KILLED, str(home / "suites" / "mine")])
    assert load_suite("mine").name == "mine"


LEAVE = """
import pathlib, sys, time
from sgp.datasets.store import draft_folder
with draft_folder(pathlib.Path(sys.argv[1]), "seed13") as draft:
    (draft / "half").write_text("x")
    print(draft.name, flush=True)
    time.sleep(100)
"""


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_waited_for(tmp_path):
    killed = subprocess.Popen([sys.executable, "-c", LEAVE, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    left = tmp_path / killed.stdout.readline().strip()
    assert (left / "half").exists()
    waiting = subprocess.Popen([sys.executable, "-c", LEAVE, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    assert waiting.poll() is None
    assert (left / "half").exists()
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert waiting.stdout.readline().strip() == left.name
    waiting.kill()
    waiting.wait()
    with draft_folder(tmp_path, "seed13") as draft:
        assert not list(draft.iterdir())


def test_a_block_of_one_folder_waits_for_the_other_and_says_so_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    order = []

    def second():
        with store.locked(tmp_path):
            order.append("second")

    with store.locked(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.5)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert [each.getMessage() for each in caplog.records] == [f"waiting for another process that writes {tmp_path}"]


def test_a_folder_is_put_beside_others_with_readable_rights(tmp_path):
    with draft_folder(tmp_path, "x") as draft:
        put_in_place(draft, tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o755


def test_scores_of_a_run_that_was_trained_again_are_not_kept_beside_the_new_one(home):
    save("a")
    run = open_run(KEY.folder)
    save("b")
    with pytest.warns(UserWarning, match="was trained again while it was evaluated, so its scores are not saved"):
        save_scores(run, to_frame([]))
    assert not (KEY.folder / "card.md").exists()
    save_scores(open_run(KEY.folder), to_frame([]))
    assert (KEY.folder / "card.md").is_file()
