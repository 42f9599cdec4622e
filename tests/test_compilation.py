"""The extension module of the kernels, and kernels as Python where there is none."""

import ast
import shutil
from pathlib import Path

import numpy as np
import pytest

import sgp
from sgp import compilation
from sgp.compilation import KERNEL_MODULES, loaded_extension
from sgp.planning.clock import resident_memory
from sgp.planning.exploration import goal_distances
from sgp.planning.joins import row_order
from sgp.planning.operators import CSR, state_identity
from tests.conftest import python

PACKAGE = Path(sgp.__file__).parent
PLANS = """
import sgp
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Task
from sgp.solving import run_for

suite = sgp.load_suite("state-centric")
for domain in ("gripper", "logistics", "visitall"):
    problem = suite.problems(domain, "train")[-1]
    planner = sgp.load_planner(run_for(problem))
    for mode in ("grounded", "lifted"):
        print([str(action) for action in planner.solve(Task(problem, mode)).plan])
space = StateSpace.expand(Task(suite.problems("blocksworld", "train")[0]), 500, up_to_symmetry=True)
print(space and sorted(space.distances.tolist()))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package with one source of kernels edited, so that it has no extension module."""
    skipped = shutil.ignore_patterns("__pycache__", "_kernels_*")
    shutil.copytree(PACKAGE, tmp_path / "sgp", ignore=skipped)
    shutil.copytree(PACKAGE.parent / "data", tmp_path / "data", ignore=shutil.ignore_patterns("recorded", "measured"))
    with (tmp_path / "sgp" / "planning" / "joins.py").open("a") as file:
        file.write("\n# edited\n")
    return tmp_path


def run_python(package, code, **environment):
    done = python("-c", code, paths=[package], cwd=package, XDG_CACHE_HOME=package / "cache", **environment)
    assert done.returncode == 0, done.stderr
    return done


def test_kernels_as_python_give_the_same_plans(package):
    (package / "bin").mkdir()  # no C compiler there
    without_compiler = {"PATH": str(package / "bin"), "CC": ""}
    plain = run_python(package, PLANS, **without_compiler)
    assert plain.stdout == run_python(PACKAGE.parent, PLANS).stdout
    assert plain.stderr.count("a compiler of C and C++ (or the package ziglang) is missing") == 1


def test_instances_with_many_objects_are_ordered_by_kernels_as_python():
    rows = np.random.default_rng(1).integers(0, 20_000, (500, 4), dtype=np.int32)  # with schemas as the first column
    assert (rows[row_order(rows, 20_000)] == rows[np.lexsort(rows.T[::-1])]).all()  # a compiled function runs as Python


@pytest.mark.slow
def test_a_background_process_compiles_and_the_running_program_goes_on_with_machine_code(package):
    with (package / "sgp" / "compilation.py").open("a") as file:  # two modules take seconds, all of them a minute
        file.write('\nKERNEL_MODULES = ("planning.hash_table", "planning.operators")\n')
    wait = (
        "import time\nfrom sgp.compilation import loaded_extension\nfrom sgp.planning.operators import state_identity\n"
    )
    wait += "import numpy as np\nfluents = np.arange(9, dtype=np.int32)\nfirst = state_identity(fluents)\n"
    wait += "assert loaded_extension() is None\n"
    wait += "while loaded_extension() is None: time.sleep(1); state_identity(fluents)\n"
    wait += "print((state_identity(fluents) == first).all())"
    assert run_python(package, wait).stdout == "True\n"
    assert len(list((package / "sgp").glob("_kernels_*"))) == 1
    loaded = "from sgp.compilation import loaded_extension; print(bool(loaded_extension()))"
    assert run_python(package, loaded).stdout == "True\n"


def test_arrays_of_another_type_are_refused():
    fluents = np.arange(8, dtype=np.int32)
    for wrong in (fluents.astype(np.int64), fluents.astype(np.float32), fluents[::2], fluents.reshape(2, 4)):
        with pytest.raises(TypeError, match="expected a contiguous array of int32 with 1 dimensions"):
            state_identity(wrong)
    pairs = CSR(fluents.astype(np.int64), fluents)
    with pytest.raises(TypeError, match="found one of int64"):
        goal_distances(pairs, np.ones(7, np.bool_))


def test_the_memory_of_arrays_is_freed():
    """Kernels count references to their arrays: the result is in use, the queue is not."""
    count = 1_000_000
    edges, goals = CSR(np.zeros(count + 1, np.int32), np.zeros(0, np.int32)), np.ones(count, np.bool_)
    results = [goal_distances(edges, goals) for _ in range(3)]
    before = resident_memory()
    for _ in range(50):
        assert len(goal_distances(edges, goals)) == count
    assert resident_memory() - before < 10 * results[0].nbytes
    assert not any(map(np.any, results))


def test_the_extension_module_stands_in_the_cache_where_the_package_cannot_be_written(package):
    built = Path(loaded_extension().__file__)
    moved = package / "cache" / "sgp" / "kernels" / built.name
    moved.parent.mkdir(parents=True)
    shutil.copy(built, moved)
    shutil.copy(PACKAGE / "planning" / "joins.py", package / "sgp" / "planning" / "joins.py")
    code = "from sgp.compilation import loaded_extension; print(loaded_extension().__file__)"
    assert run_python(package, code).stdout.strip() == str(moved)


def decorated(tree):
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and {"kernel", "compiled", "inlined"} & {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    }


def test_every_file_with_compiled_functions_is_listed():
    files = {file for file in PACKAGE.rglob("*.py") if decorated(ast.parse(file.read_text()))}
    assert files == {PACKAGE.joinpath(*name.split(".")).with_suffix(".py") for name in KERNEL_MODULES}


def test_kernels_take_constants_only_from_files_of_kernels():
    """Constants are part of the machine code; the hash of the sources would miss one from another file."""
    wrong = []
    for name in KERNEL_MODULES:
        tree = ast.parse(PACKAGE.joinpath(*name.split(".")).with_suffix(".py").read_text())
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module.startswith("sgp.")]
        source = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
        for function in decorated(tree).values():
            for used in (node.id for part in function.body for node in ast.walk(part) if isinstance(node, ast.Name)):
                if used in source and source[used].removeprefix("sgp.") not in KERNEL_MODULES:
                    wrong.append(f"{name}: {function.name} uses {used} of {source[used]}")
    assert not wrong


def test_the_name_of_the_extension_module_depends_on_every_source(package, monkeypatch):
    names = set()
    monkeypatch.setattr(compilation, "_FOLDER", package / "sgp")
    for name in KERNEL_MODULES:
        with (package / "sgp").joinpath(*name.split(".")).with_suffix(".py").open("a") as file:
            file.write("# edited\n")
        names.add(compilation.extension_name.__wrapped__())
    assert len(names) == len(KERNEL_MODULES)
