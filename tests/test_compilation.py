from __future__ import annotations

import ast
import ctypes
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching

import sgp
from sgp import compilation

PACKAGE = Path(sgp.__file__).parent
CALLEE = "from sgp.compilation import compiled\n\n@compiled\ndef callee(value):\n    return value + {}\n"
CALLER = "from sgp.callee import callee\nfrom sgp.compilation import compiled\n\n@compiled\ndef caller(value):\n"
CALLER += "    return 2 * callee(value)\n"
CALL = "from sgp.caller import caller; print(caller({}), sum(caller.stats.cache_hits.values()))"


@pytest.fixture
def anew(monkeypatch):
    """Forget cached folders and the messages already given."""
    monkeypatch.setattr(compilation._Cache, "_reported", False)
    monkeypatch.setattr(compilation._Cache, "_unsaved", False)
    compilation.kernel_folder.cache_clear()
    yield
    compilation.kernel_folder.cache_clear()


def double(value):
    return 2 * value


def triple(value):
    return 3 * value


def test_kernels_compile_in_memory_where_no_cache_can_be_written(monkeypatch, caplog, anew):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/dev/null/none")
    assert [compilation.compiled(function)(4) for function in (double, triple)] == [8, 12]
    (record,) = caplog.records
    assert "set NUMBA_CACHE_DIR to one that can" in record.getMessage()


def test_kernels_compile_in_memory_where_the_disk_is_full(tmp_path, monkeypatch, caplog, anew):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
    assert [compilation.compiled(function)(4) for function in (double, triple)] == [8, 12]
    (message,) = [record.getMessage() for record in caplog.records if "No space left" in record.getMessage()]
    assert str(tmp_path) in message


def test_a_folder_below_tmpdir_that_others_can_write_is_not_used(tmp_path):
    base, other = tmp_path / "kernels", tmp_path / "other"
    other.mkdir(mode=0o700)
    for unsafe in (lambda: base.mkdir() or base.chmod(0o777), lambda: base.symlink_to(other)):
        unsafe()
        with pytest.raises(PermissionError, match="no folder of this user alone"):
            compilation._opened(base, "name", tmp_path / "none", private=True)
        base.unlink() if base.is_symlink() else base.rmdir()
    assert compilation._opened(base, "name", tmp_path / "none", private=True).is_dir()
    assert base.stat().st_mode & 0o777 == 0o700
    assert not list(other.iterdir())


@pytest.fixture
def package(tmp_path):
    """A copy of the package with two more kernels in separate files, one of which calls the other."""
    shutil.copytree(PACKAGE, tmp_path / "sgp", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sgp" / "callee.py").write_text(CALLEE.format(1))
    (tmp_path / "sgp" / "caller.py").write_text(CALLER)
    return tmp_path


def started(package, argument, **other):
    environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": "", **other}
    command = [sys.executable, "-c", CALL.format(argument)]
    return subprocess.Popen(
        command,
        cwd=package,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=forget_that_root_writes_anywhere,  # noqa: PLW1509  these tests start no threads
    )


def forget_that_root_writes_anywhere():
    """Remove the superuser's capability to override permissions from programs started later."""
    drop_from_bounding_set, override_permissions = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, override_permissions)


def said(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.split()


def test_an_edited_callee_in_another_file_is_compiled_into_its_caller(package):
    saved = package / "sgp" / "__pycache__" / "kernels"
    assert said(started(package, 3)) == ["8", "0"]
    assert said(started(package, 3)) == ["8", "1"]  # from the disk
    assert len(list(saved.rglob("caller*.nb?"))) == 2
    (package / "sgp" / "callee.py").write_text(CALLEE.format(10))
    assert said(started(package, 3)) == ["26", "0"]
    assert len([path for path in saved.iterdir() if path.is_dir()]) == 2
    for value in range(20, 23):  # only some of the older versions stay
        (package / "sgp" / "callee.py").write_text(CALLEE.format(value))
        assert said(started(package, 3)) == [str(2 * (3 + value)), "0"]
    assert len([path for path in saved.iterdir() if path.is_dir()]) == compilation._VERSIONS


@pytest.mark.slow
def test_processes_that_compile_at_once_keep_each_signature_apart(package):
    running = [(started(package, each), value) for each, value in {"3": "8", "3.5": "9.0", "3 + 0j": "(8+0j)"}.items()]
    for process, expected in running:
        assert said(process)[0] == expected
    assert said(started(package, "3), caller(3.5), caller(3 + 0j"))[:3] == ["8", "9.0", "(8+0j)"]


def test_kernels_beside_a_package_that_cannot_be_written_are_read_and_others_go_below_tmpdir(package):
    assert said(started(package, 3)) == ["8", "0"]
    (package / "temporary").mkdir()
    beside = package / "sgp" / "__pycache__"
    before = sorted(beside.rglob("*"))
    for folder in (beside, *(path for path in before if path.is_dir())):
        folder.chmod(0o555)
    elsewhere = {"TMPDIR": str(package / "temporary"), "XDG_CACHE_HOME": "/dev/null/none"}
    elsewhere["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        first = started(package, "3), caller(3.5", **elsewhere)
        out, err = first.communicate(timeout=120)
        assert out.split() == ["8", "9.0", "1"]  # one was compiled beforehand
        assert err.count("\n") == 1
        (folder,) = (package / "temporary").iterdir()
        assert str(folder) in err
        assert folder.stat().st_mode & 0o777 == 0o700
        second = started(package, "3), caller(3.5", **elsewhere)
        assert second.communicate(timeout=120) == ("8 9.0 2\n", "")
        assert sorted(beside.rglob("*")) == before
    finally:
        for folder in (beside, *(path for path in before if path.is_dir())):
            folder.chmod(0o755)


def kernel_files():
    return [file for file in PACKAGE.rglob("*.py") if "compilation import" in file.read_text()]


def test_what_kernels_take_from_other_files_stands_in_files_of_kernels():
    """Numba compiles constants into the machine code; the source hash would miss one from another file."""
    of_kernels = {"compilation"} | {file.stem for file in kernel_files()}
    wrong = []
    for file in kernel_files():
        tree = ast.parse(file.read_text())
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module.startswith("sgp.")]
        source = {name.asname or name.name: node.module for node in imports for name in node.names}
        kernels = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
        for kernel in kernels:
            if not {"compiled", "inlined"} & {each.id for each in kernel.decorator_list if isinstance(each, ast.Name)}:
                continue
            for name in (node.id for part in kernel.body for node in ast.walk(part) if isinstance(node, ast.Name)):
                if name in source and source[name].rpartition(".")[2] not in of_kernels:
                    wrong.append(f"{file.name}: {kernel.name} uses {name} of {source[name]}")
    assert not wrong


def test_the_hash_covers_every_file_of_kernels(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "small_package"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    hashes = []
    for file in ("kernels.py", "inner/others.py", "plain.py"):
        (folder / file).write_text("x = 1\n" if file == "plain.py" else "import numba\n")
        compilation.sources_sha256.cache_clear()
        hashes.append(compilation.sources_sha256("small_package"))
    compilation.sources_sha256.cache_clear()
    assert hashes[0] != hashes[1] == hashes[2]
    assert compilation.sources_sha256("sgp") != compilation.sources_sha256("__main__")
