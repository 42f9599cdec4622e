"""Kernels are compiled before the first job's seconds begin, by one process for all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from numba.core import caching

import sgp
from sgp import compilation
from sgp.datasets.folders import locked
from sgp.service import first_use
from sgp.service.client import Worker
from tests.conftest import blocks_problem
from tests.service.test_client import ended, text_of

PACKAGE = Path(sgp.__file__).parent
ASK = "from sgp.service import first_use; print(first_use.are_compiled())"


def copied_kernels(target: Path) -> Path:
    """A cache folder for `NUMBA_CACHE_DIR` with the package's compiled kernels; the folder of the mark 'ready'."""

    def place(folder: Path) -> Path:
        return target / caching._CacheLocator.get_suitable_cache_subpath(str(folder / "module.py"))

    for index in PACKAGE.rglob("__pycache__/*.nb?"):
        copy = place(index.parents[1])
        copy.mkdir(parents=True, exist_ok=True)
        shutil.copy2(index, copy)
    place(PACKAGE).mkdir(parents=True, exist_ok=True)
    return place(PACKAGE)


def test_a_job_waits_for_the_kernels_without_its_seconds_and_other_processes_read_them(tmp_path, monkeypatch):
    folder = copied_kernels(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    worker, begun = Worker(), time.monotonic()
    problem = text_of(blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)"))
    with locked(folder):  # as another process holds it that compiles
        job = worker.ask("read", 10, problem=problem)
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
    assert len(list(tmp_path.rglob("kernels-ready-*"))) == 1


def test_where_nothing_can_be_kept_every_process_compiles_once(tmp_path, monkeypatch):
    nowhere = compilation.kept_kernels()._replace(folders=[tmp_path], some=False, writable=False)
    monkeypatch.setattr(first_use, "kept_kernels", lambda: nowhere)
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
    assert not first_use.are_compiled()
