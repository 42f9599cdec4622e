from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import sgp
from sgp import compilation

PACKAGE = Path(sgp.__file__).parent
CALLEE = "from sgp.compilation import compiled\n\n@compiled\ndef callee(value):\n    return value + {}\n"
CALLER = "from sgp.callee import callee\nfrom sgp.compilation import compiled\n\n@compiled\ndef caller(value):\n"
CALLER += "    return 2 * callee(value)\n"
CALL = "from sgp.caller import caller; print(caller({}), sum(caller.stats.cache_hits.values()))"


def test_kernels_compile_in_memory_where_no_cache_can_be_written(monkeypatch):
    def double(value):
        return 2 * value

    with monkeypatch.context() as patch:
        patch.setattr(compilation._Implementation, "_locator_classes", [])
        with pytest.warns(UserWarning, match="so double is compiled again .* set NUMBA_CACHE_DIR to a writable folder"):
            assert compilation.compiled(double)(4) == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compilation.compiled(double)(4) == 8


@pytest.fixture
def package(tmp_path):
    """A copy of the package with two kernels more, one of which calls the other, in another file."""
    shutil.copytree(PACKAGE, tmp_path / "sgp", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sgp" / "callee.py").write_text(CALLEE.format(1))
    (tmp_path / "sgp" / "caller.py").write_text(CALLER)
    return tmp_path


def started(package, argument):
    environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": ""}
    command = [sys.executable, "-c", CALL.format(argument)]
    return subprocess.Popen(command, cwd=package, env=environment, stdout=subprocess.PIPE, text=True)


def said(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.split()


def test_an_edited_callee_in_another_file_is_compiled_into_its_caller(package):
    kept = package / "sgp" / "__pycache__"
    assert said(started(package, 3)) == ["8", "0"]
    assert said(started(package, 3)) == ["8", "1"]  # from the disk
    before = set(kept.glob("caller*.nb?"))
    assert len(before) == 2
    (package / "sgp" / "callee.py").write_text(CALLEE.format(10))
    assert said(started(package, 3)) == ["26", "0"]
    after = set(kept.glob("caller*.nb?"))
    assert len(after) == 2  # what the older sources gave is gone
    assert not before & after


@pytest.mark.slow
def test_processes_that_compile_at_once_keep_each_signature_apart(package):
    running = [(started(package, each), value) for each, value in {"3": "8", "3.5": "9.0", "3 + 0j": "(8+0j)"}.items()]
    for process, expected in running:
        assert said(process)[0] == expected
    assert said(started(package, "3), caller(3.5), caller(3 + 0j"))[:3] == ["8", "9.0", "(8+0j)"]


def kernel_files():
    return [file for file in PACKAGE.rglob("*.py") if "compilation import" in file.read_text()]


def test_what_kernels_take_from_other_files_stands_in_files_of_kernels():
    """Numba freezes a constant into the machine code; one of another file would not be in the hash of the sources."""
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
