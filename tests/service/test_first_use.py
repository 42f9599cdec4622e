"""Kernels are compiled before the time limit of the first job starts, by one process for all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from sgp import compilation
from sgp.datasets.folders import locked
from sgp.service import first_use
from sgp.service.worker import Worker
from tests.conftest import blocks_problem
from tests.service.test_worker import ended, text_of

ASK = "from sgp.service import first_use; print(first_use.are_compiled())"


def copied_kernels(target: Path) -> Path:
    """The compiled kernels in a folder for `NUMBA_CACHE_DIR`, without the mark 'ready'."""
    source = compilation.kernel_folder()
    folder = target / "sgp" / source.name
    return shutil.copytree(source, folder, ignore=shutil.ignore_patterns("kernels-ready", "*lock*"))


def test_a_job_waits_for_the_kernels_without_its_seconds_and_other_processes_read_them(tmp_path, monkeypatch):
    folder = copied_kernels(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    worker, begun = Worker(), time.monotonic()
    problem = text_of(blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)"))
    with locked(folder):  # as a compiling process does
        job = worker.submit("read", 10, problem=problem)
        while (job.report().progress or {}).get("doing") is None:
            assert time.monotonic() - begun < 60
            time.sleep(0.05)
        assert job.report().state == "waiting"
        assert "compiling kernels" in job.report().progress["doing"]
        assert subprocess.check_output([sys.executable, "-c", ASK], text=True) == "False\n"
    report = ended(job)
    worker.close()
    assert report.state == "done"
    assert report.progress["doing"] == ""
    assert subprocess.check_output([sys.executable, "-c", ASK], text=True) == "True\n"
    assert len(list(tmp_path.rglob("kernels-ready"))) == 1


def test_where_nothing_can_be_kept_every_process_compiles_once(tmp_path, monkeypatch):
    monkeypatch.setattr(first_use, "kernel_folder", lambda: None)
    monkeypatch.setattr(first_use, "_TRIED", [])
    trained = []
    monkeypatch.setattr(first_use, "_train", lambda: trained.append(True))
    assert not first_use.are_compiled()
    first_use.compile_kernels()
    assert first_use.are_compiled()
    assert trained == [True]
    assert not list(tmp_path.iterdir())


def test_what_was_compiled_by_other_sources_does_not_count(monkeypatch):
    monkeypatch.setattr(first_use, "_TRIED", [])
    assert first_use.are_compiled()
    monkeypatch.setattr(compilation, "sources_sha256", lambda package: os.urandom(8).hex())
    compilation.kernel_folder.cache_clear()
    assert not first_use.are_compiled()
    compilation.kernel_folder.cache_clear()
