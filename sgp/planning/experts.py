"""Expert plans by Fast Downward, run as a subprocess through its driver."""

from __future__ import annotations

import importlib.util
import logging
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sgp.errors import ConfigurationError, PddlError, ToolError, UnsolvableProblem, check_fields
from sgp.planning.pddl import Action, Problem, parse_plan
from sgp.planning.pddl_syntax import normalise
from sgp.planning.pddl_writing import rewritten

logger = logging.getLogger(__name__)

# Exit codes of Fast Downward's driver (its module returncodes).
_SUCCESS = {0, 1, 2, 3}
_UNSOLVABLE = {10, 11}
_OUT_OF_TIME = 256 - signal.SIGXCPU  # also if the translator is killed
_GAVE_UP = {12, 13, 20, 21, 22, 23, 24, _OUT_OF_TIME}
_NOT_READ = {30, 31}  # by the translator
_NOT_SUPPORTED = 34  # by the search: conditional effects, axioms
_GRACE_SECONDS = 30.0  # for the driver to stop its components after the limit
_OVERHEAD_SECONDS = 10.0  # of the driver and the translator, in addition to the search limit
_SUPERVISED = Path(__file__).with_name("supervised.py")


@dataclass(frozen=True)
class Stage:
    """One planner call: driver arguments after the input files (or an alias), and search limits."""

    name: str
    seconds: float
    search: str = ""
    alias: str = ""
    megabytes: int = 4096

    def __post_init__(self) -> None:
        check_fields(self, f"expert stage {self.name}:", ["seconds", "megabytes"])
        if bool(self.search) == bool(self.alias):
            raise ConfigurationError(f"expert stage {self.name} needs either a search or an alias, not both")


OPTIMAL = Stage("astar-lmcut", 60.0, search="astar(lmcut())")  # state-centric, appendix G.1
SATISFICING = Stage("gbfs-ff", 300.0, search="eager_greedy([ff()])")  # state-centric, appendix G.1
STAGES = (OPTIMAL, SATISFICING)
# Dynamic validation, section 4, with its limits of 20 minutes and 64 GB scaled to a desktop machine.
MERGE_AND_SHRINK = Stage("seq-opt-merge-and-shrink", 60.0, alias="seq-opt-merge-and-shrink", megabytes=8192)
PATTERN_DATABASES = Stage("astar-ipdb", 60.0, search="astar(ipdb(max_time=4))")  # Haslum et al. 2007
LAMA_FIRST = Stage("lama-first", 300.0, alias="lama-first")  # LAMA's first plan (Richter and Westphal 2010)
LAMA = Stage("lama", 60.0, alias="seq-sat-lama-2011")  # anytime: plans of decreasing cost until the time limit
# For problems that are mostly too large for optimal plans: an optimal plan if A* is fast, else any plan.
QUICK = (replace(OPTIMAL, seconds=2.0), replace(LAMA_FIRST, seconds=10.0))
TEACHERS: Mapping[str, Sequence[Stage]] = {
    "state-centric": STAGES,
    "dynamic-validation": (MERGE_AND_SHRINK,),
    "lama": (LAMA,),
    "track": QUICK,
}


@dataclass(frozen=True)
class ExpertPlan:
    """An expert's plan (None if no stage found one), the planner and its configuration."""

    problem: str
    sha256: str
    plan: tuple[Action, ...] | None
    planner: str
    configuration: str
    seconds: float


def fast_downward_driver() -> Path:
    """Return the path of Fast Downward's driver. Raises ToolError if it is missing."""
    package = importlib.util.find_spec("up_fast_downward")
    driver = Path(package.origin).parent / "downward" / "fast-downward.py" if package and package.origin else None
    if driver is None or not driver.is_file():
        raise ToolError("Fast Downward is missing; install it with 'pip install up-fast-downward==1.0.0'")
    return driver


def find_plan(
    problem: Problem, stages: Sequence[Stage] = STAGES, driver: Path | None = None, strict: bool = False
) -> ExpertPlan:
    """Return the plan of the first stage that finds one; None if all stages reach their limits.

    Plans have low cost if the problem has a metric, else few actions. With `strict`, a stage's seconds include the
    driver and the translator. Raises UnsolvableProblem if a stage proves that no plan exists.
    """
    driver = driver or fast_downward_driver()
    whole = problem.with_whole_costs()
    started = time.perf_counter()
    plan: tuple[Action, ...] | None = None
    attempted: list[Stage] = []
    for stage in stages:
        attempted.append(stage)
        plan = _attempt(whole, stage, driver, (0.0, 0.0) if strict else (_OVERHEAD_SECONDS, _GRACE_SECONDS))
        if plan is not None:
            attempted = [stage]
            break
    configuration = ", ".join(f"{stage.name} {stage.seconds:g}s" for stage in attempted)
    seconds = round(time.perf_counter() - started, 3)
    return ExpertPlan(problem.name, problem.sha256, plan, "fast-downward", configuration, seconds)


def _attempt(
    problem: Problem, stage: Stage, driver: Path, beyond: tuple[float, float], texts: tuple[str, str] | None = None
) -> tuple[Action, ...] | None:
    """Return one stage's plan, for the rewritten `texts` if Fast Downward rejects the original text.

    `beyond` has the additional seconds for the driver and the translator, and for stopping them.
    """
    overhead, grace = beyond
    started = time.perf_counter()
    seconds = max(1, round(stage.seconds))
    command = [sys.executable, str(_SUPERVISED), str(os.getpid()), str(driver)]
    command += ["--plan-file", "plan", "--sas-file", "output.sas", "--search-time-limit", f"{seconds}s"]
    command += ["--overall-time-limit", f"{seconds + round(overhead)}s"]
    command += ["--overall-memory-limit", f"{stage.megabytes}M", *(["--alias", stage.alias] if stage.alias else [])]
    command += ["domain.pddl", "problem.pddl", *(["--search", stage.search] if stage.search else [])]
    with tempfile.TemporaryDirectory(prefix="sgp-fd-") as folder:
        domain, instance = texts or (normalise(problem.domain_pddl), normalise(problem.problem_pddl))
        Path(folder, "domain.pddl").write_text(domain, encoding="utf-8")
        Path(folder, "problem.pddl").write_text(instance, encoding="utf-8")
        code, output = _run(command, folder, stage.seconds + overhead + grace)
        plan = _last_plan(Path(folder)) if code in _SUCCESS | _GAVE_UP else None
    if plan is not None:
        actions = parse_plan(plan, f"Fast Downward's plan for {problem.name}")
        return actions if texts is None else tuple(map(problem.read()[0].original, actions))
    if code in _GAVE_UP:
        return None
    if code in _UNSOLVABLE:
        raise UnsolvableProblem(f"{problem.name} has no plan (Fast Downward, {stage.name}); remove or mend the problem")
    if code in _NOT_READ | {_NOT_SUPPORTED} and texts is None:
        with suppress(PddlError):
            left = max(1.0, stage.seconds - (0 if grace else time.perf_counter() - started))
            return _attempt(problem, replace(stage, seconds=left), driver, beyond, rewritten(*problem.read()))
    if code == _NOT_SUPPORTED:
        return None
    lines = (line.strip() for line in output.splitlines() if line.strip() and not line.startswith("INFO"))
    raise ToolError(
        f"Fast Downward ({stage.name}) failed on {problem.name} with exit code {code}: "
        f"{next(lines, 'it printed nothing')}; check the PDDL and the installation of up-fast-downward"
    )


def _run(command: Sequence[str], folder: str, seconds: float) -> tuple[int, str]:
    """Run the driver in a folder and return its exit code and output; no child process outlives this call."""
    logger.debug("%s", shlex.join(command))
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, cwd=folder, stdout=pipe, stderr=pipe, text=True, errors="replace", start_new_session=True
        )
    except OSError as error:
        raise ToolError(f"Fast Downward could not be started ({error}); reinstall up-fast-downward") from error
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return _OUT_OF_TIME, ""  # an anytime configuration may have found plans
            raise
    return process.returncode, err + out


def _last_plan(folder: Path) -> str | None:
    """Return the last complete plan; anytime configurations number their plans by decreasing cost."""
    for file in sorted(folder.glob("plan*"), key=lambda file: int(file.suffix.lstrip(".") or 0), reverse=True):
        text = file.read_text(encoding="utf-8")
        if text.rstrip().rpartition("\n")[2].startswith("; cost"):
            return text
    return None
