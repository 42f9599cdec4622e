"""Kernels are compiled before the first job's seconds begin, by one process for all."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from sgp import compilation
from sgp.service import first_use
from sgp.service.client import Worker
from tests.conftest import blocks_problem
from tests.service.test_client import ended, text_of

ASK = "from sgp.service import first_use; print(first_use.are_compiled()); first_use.compile_kernels()"
ASK += "; from sgp.planning.novelty import novel_states; print(sum(novel_states.stats.cache_misses.values()))"


def test_a_job_waits_for_the_kernels_without_its_seconds_and_others_read_them(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    worker, begun = Worker(), time.monotonic()
    problem = text_of(blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)"))
    job = worker.ask("read", 10, problem=problem)
    while (job.report().progress or {}).get("doing") is None:
        assert time.monotonic() - begun < 60
        time.sleep(0.05)
    assert job.report().state == "waiting"
    assert "compiling kernels" in job.report().progress["doing"]
    beside = subprocess.check_output([sys.executable, "-c", ASK], text=True)
    report = ended(job)
    worker.close()
    assert report.state == "done"
    assert report.progress["doing"] == ""
    assert beside.split() == ["False", "0"]
    assert len(list(tmp_path.rglob("kernels-ready-*"))) == 1


def test_where_nothing_can_be_kept_every_process_compiles_once(monkeypatch):
    monkeypatch.setattr(compilation.mix, "_cache", None)
    monkeypatch.setattr(first_use, "_TRIED", [])
    trained = []
    monkeypatch.setattr(first_use, "_train", lambda: trained.append(True))
    assert compilation.kept_kernels() is None
    assert not first_use.are_compiled()
    first_use.compile_kernels()
    assert first_use.are_compiled()
    assert trained == [True]


def test_what_was_compiled_by_other_sources_does_not_count(monkeypatch):
    monkeypatch.setattr(first_use, "_TRIED", [])
    assert first_use.are_compiled()
    monkeypatch.setattr(compilation, "sources_sha256", lambda package: os.urandom(8).hex())
    assert not first_use.are_compiled()
