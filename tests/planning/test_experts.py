import dataclasses
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from sgp.errors import ConfigurationError, ToolError, UnsolvableProblem
from sgp.planning import experts
from sgp.planning.experts import OPTIMAL, SATISFICING, Stage, find_plan
from sgp.planning.task import replay
from tests.conftest import blocks_problem


def test_the_first_stage_finds_an_optimal_plan(three_blocks):
    found = find_plan(three_blocks.problem)
    assert len(found.plan) == 6
    assert three_blocks.is_goal(replay(three_blocks, found.plan)[-1])
    assert (found.planner, found.configuration) == ("fast-downward", "astar-lmcut 60s")
    assert found.sha256 == three_blocks.problem.sha256


def test_the_second_stage_is_tried_when_the_first_gives_up(three_blocks):
    hopeless = Stage("depth-one", 30, search="astar(lmcut(), bound=2)")
    found = find_plan(three_blocks.problem, [hopeless, SATISFICING])
    assert found.configuration == "gbfs-ff 300s"
    assert three_blocks.is_goal(replay(three_blocks, found.plan)[-1])
    nothing = find_plan(three_blocks.problem, [hopeless])
    assert nothing.plan is None
    assert nothing.configuration == "depth-one 30s"


def test_an_unsolvable_problem_is_named():
    problem = blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b) (on b a)")
    with pytest.raises(UnsolvableProblem, match=r"p has no plan \(Fast Downward, astar-lmcut\); remove or mend"):
        find_plan(problem)


def test_a_missing_fast_downward_is_named_with_its_remedy(three_blocks, monkeypatch):
    monkeypatch.setattr(experts.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolError, match="Fast Downward is missing; install it with 'pip install up-fast-downward"):
        find_plan(three_blocks.problem)


def driver(folder, body):
    path = folder / "driver.py"
    path.write_text(textwrap.dedent(body))
    return path


def driver_with_child(folder):
    """A driver that starts the search as a process of its own, and the file that gets this process's number."""
    number = folder / "child"
    body = f"""
        import pathlib, subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        draft = pathlib.Path({str(folder / "draft")!r})
        draft.write_text(str(child.pid))
        draft.rename({str(number)!r})
        child.wait()
        """
    return driver(folder, body), number


def ends(number):
    """Whether the process with the number in a file ends within seconds."""
    child = Path("/proc", number.read_text(), "stat")
    for _ in range(100):
        if not child.exists() or child.read_text().split()[2] == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def no_grace(monkeypatch):
    """The time limit of Fast Downward is exact."""
    monkeypatch.setattr(experts, "_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(experts, "_OVERHEAD_SECONDS", 0)


def test_a_failing_fast_downward_is_an_error_and_no_plan(three_blocks, tmp_path):
    broken = driver(tmp_path, "import sys; sys.exit('search: cannot open shared object')")
    with pytest.raises(ToolError, match=r"failed on p with exit code 1: search: cannot open|exit code 1"):
        find_plan(three_blocks.problem, driver=broken)
    crashing = driver(tmp_path, "import sys; print('Segmentation fault', file=sys.stderr); sys.exit(247)")
    with pytest.raises(ToolError, match="failed on p with exit code 247: Segmentation fault"):
        find_plan(three_blocks.problem, driver=crashing)


def test_out_of_time_or_memory_is_no_error(three_blocks, tmp_path, no_grace):
    for code in (21, 22, 23):
        gave_up = driver(tmp_path, f"import sys; sys.exit({code})")
        assert find_plan(three_blocks.problem, driver=gave_up).plan is None
    endless = driver(tmp_path, "import time; time.sleep(60)")
    assert find_plan(three_blocks.problem, [Stage("quick", 0.2, search="x")], driver=endless).plan is None


def test_no_process_outlives_the_time_limit(three_blocks, tmp_path, no_grace):
    parent, number = driver_with_child(tmp_path)
    assert find_plan(three_blocks.problem, (Stage("slow", 1.0, search="x"),), driver=parent).plan is None
    assert ends(number)


@pytest.mark.parametrize("end", ["sys.exit(2)", "sys.exit(23)", "time.sleep(60)"])
def test_the_last_complete_plan_of_an_anytime_planner_counts(three_blocks, tmp_path, no_grace, end):
    write = """
for number in range(1, 12):
    open(f"plan.{number}", "w").write(f"(put-down b{number})\\n; cost = 1 (unit cost)\\n")
open("plan.12", "w").write("(put-down b12)\\n(put-d")
"""
    endings = driver(tmp_path, f"import sys, time{write}{end}")
    found = find_plan(three_blocks.problem, [Stage("anytime", 2.0, alias="lama")], driver=endings)
    assert list(map(str, found.plan)) == ["(put-down b11)"]


def test_stages_check_themselves():
    for seconds in (0, float("nan")):
        with pytest.raises(ConfigurationError, match=f"seconds is {seconds}; expected above 0"):
            dataclasses.replace(OPTIMAL, seconds=seconds)
    with pytest.raises(ConfigurationError, match="either a search or an alias"):
        Stage("both", 1.0, search="astar(lmcut())", alias="lama")


def test_no_search_outlives_a_parent_that_is_killed(tmp_path):
    search, number = driver_with_child(tmp_path)
    parent = subprocess.Popen(
        [sys.executable, "-c", "from pathlib import Path; from sgp.planning.experts import STAGES, find_plan\n"
         "from tests.conftest import blocks_problem\n"
         f"find_plan(blocks_problem('a', '(ontable a) (clear a)', '(holding a)'), STAGES, Path({str(search)!r}))"],
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    for _ in range(600):
        if number.exists():
            break
        time.sleep(0.1)
    assert Path("/proc", number.read_text(), "stat").exists()
    parent.kill()
    parent.wait()
    assert ends(number)
