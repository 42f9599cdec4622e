"""Engine for unified-planning: `OneshotPlanner(name="sgp", params={"run": FOLDER})`.

The library knows the engine after `import sgp`, or by the lines of `up.ini`. It has no operation mode for few-shot
planning, so that the problems to learn from are a parameter:
`OneshotPlanner(name="sgp", params={"problems": [...]})`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any
from warnings import warn

from unified_planning.engines import Credits, Engine, PlanGenerationResult
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines.mixins import OneshotPlannerMixin
from unified_planning.engines.results import LogLevel, LogMessage
from unified_planning.environment import Environment, get_environment
from unified_planning.exceptions import UPException
from unified_planning.io import PDDLWriter
from unified_planning.model import AbstractProblem, ProblemKind, State
from unified_planning.model import Problem as UnifiedProblem
from unified_planning.model.problem_kind_versioning import LATEST_PROBLEM_KIND_VERSION
from unified_planning.plans import ActionInstance, Plan, SequentialPlan

import sgp
from sgp.datasets.runs import Run, open_run
from sgp.errors import (
    DomainMismatch,
    InputError,
    PddlError,
    PlanError,
    SuiteError,
    ToolError,
    ValidationDisagreement,
    expected_one_of,
)
from sgp.planning.pddl import parse_plan
from sgp.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from sgp.planning.pddl import Action, Problem
    from sgp.planning.task import Task

NAME = "sgp"
# Quantifiers that depend on the objects are refused in training; action costs are read and not minimised.
FEATURES = (
    *("ACTION_BASED", "FLAT_TYPING", "HIERARCHICAL_TYPING", "NEGATIVE_CONDITIONS", "EQUALITIES", "PLAN_LENGTH"),
    *("DISJUNCTIVE_CONDITIONS", "EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"),
    *("CONDITIONAL_EFFECTS", "FORALL_EFFECTS", "ACTIONS_COST", "STATIC_FLUENTS_IN_ACTIONS_COST"),
    *("INT_NUMBERS_IN_ACTIONS_COST", "REAL_NUMBERS_IN_ACTIONS_COST"),
)
LEARNING = ("method", "variant", "seed", "device", "jobs", "overrides")  # parameters of `sgp.train_on`
CREDITS = Credits(
    "sgp",
    "The sgp developers",
    "",
    "",
    "GPL-3.0-or-later",
    "Learned generalized planning.",
    "Plans by a policy that was learned from a few small problems of the domain.",
)


def register(environment: Environment | None = None) -> None:
    """Register the engine in an environment of unified-planning (None: the global one)."""
    factory = (environment or get_environment()).factory
    if NAME not in factory.engines:
        factory.add_engine(NAME, __name__, SgpEngine.__name__)


class SgpEngine(Engine, OneshotPlannerMixin):  # type: ignore[misc]  # unified-planning has no types
    """Plans by a trained run, which stays loaded.

    The run is in the folder `run`, or trained on `problems` of the library (few-shot planning; `plans` has a plan or
    None for each) with the parameters `learning` of `sgp.api.train_on`, or else found by `sgp.run_for` for each
    problem. `decoding` names the decoding; `memory` limits the bytes of this process.
    """

    def __init__(
        self,
        run: Path | str | None = None,
        problems: Sequence[UnifiedProblem] = (),
        plans: Sequence[Plan | None] | None = None,
        decoding: str = "default",
        memory: int | None = None,
        **learning: Any,
    ):
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        known = ["run", "problems", "plans", "decoding", "memory", *LEARNING]
        for name in learning:
            if name not in LEARNING:
                raise InputError(f"unknown parameter '{name}' of the engine; {expected_one_of(known, name)}")
        if (run is not None and problems) or (learning and not problems):
            unused = (
                "'run' and 'problems' are both" if problems else f"{', '.join(sorted(learning))} without 'problems'"
            )
            raise InputError(f"{unused} given to the engine; expected a trained run, or problems to learn from and how")
        self._memory, self._decoding = memory, decoding
        self._run: Run | None = None
        if problems:
            self._run = _learned(problems, plans, learning)
        elif run is not None:
            self._run = open_run(run)
        if self._run is not None:
            sgp.load_planner(self._run.folder, decoding)

    @property
    def name(self) -> str:
        """The engine's name."""
        return NAME

    @staticmethod
    def supported_kind() -> ProblemKind:
        """Return the supported features."""
        return ProblemKind(set(FEATURES), version=LATEST_PROBLEM_KIND_VERSION)

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Whether problems of a kind are read; whether a run fits a problem is known when it is solved."""
        return bool(problem_kind <= SgpEngine.supported_kind())

    @staticmethod
    def get_credits(**_: Any) -> Credits:
        """Return the engine's credits."""
        return CREDITS

    def _solve(self, *request: Any) -> PlanGenerationResult:
        return self._solve_with_params(*request)

    def _solve_with_params(
        self,
        problem: AbstractProblem,
        heuristic: Callable[[State], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
        warm_start_plan: Plan | None = None,
        **_: Any,
    ) -> PlanGenerationResult:
        if heuristic is not None:
            warn("sgp plans by a learned policy and ignores the heuristic", stacklevel=2)
        started = time.perf_counter()
        status, message, plan = self._outcome(problem, timeout, warm_start_plan, started)
        level = LogLevel.INFO if plan is not None else LogLevel.WARNING
        result = PlanGenerationResult(
            status,
            plan,
            engine_name=NAME,
            metrics={"engine_internal_time": str(time.perf_counter() - started)},
            log_messages=[LogMessage(level, message)],
        )
        if output_stream is not None:
            output_stream.writelines(f"{message}\n" for message in result.log_messages)
        return result

    def _outcome(
        self, unified: AbstractProblem, timeout: float | None, start: Plan | None, started: float
    ) -> tuple[Status, str, SequentialPlan | None]:
        """Return status, message and plan. Raises only for unusable files of a run or missing programs."""
        if type(unified) is not UnifiedProblem:
            kind = type(unified).__name__
            return Status.UNSUPPORTED_PROBLEM, f"problem is a {kind}; expected one of actions alone", None
        from sgp.planning.validation import confirm
        from sgp.solving import stated_for, with_default

        try:
            writer, problem = _written(unified)
            run = self._run or sgp.run_for(problem)
            tasks = [sgp.Task(alternative) for alternative in stated_for(problem, run).alternatives()]
        except (UPException, NotImplementedError, PddlError, DomainMismatch) as error:
            return Status.UNSUPPORTED_PROBLEM, str(error), None
        if isinstance(start, SequentialPlan) and (actions := _valid(tasks, writer.get_plan(start))) is not None:
            return Status.SOLVED_SATISFICING, "the plan to start from holds", _plan(actions, unified, writer)
        seconds = None if timeout is None else timeout - (time.perf_counter() - started)
        if seconds is not None and seconds <= 0:
            return Status.TIMEOUT, f"reading the problem took more than {timeout} s", None
        planner = sgp.load_planner(run.folder, self._decoding)
        rollouts = planner.solve_many(tasks, with_default(sgp.Limit(seconds=seconds, memory=self._memory)))
        rollout = next((rollout for rollout in rollouts if rollout.solved), rollouts[0])
        try:
            verdict = confirm(rollout, reduced=True)
        except (ToolError, ValidationDisagreement) as error:
            return Status.INTERNAL_ERROR, str(error), None
        plan = _plan(rollout.reduced_plan, unified, writer) if verdict.valid else None
        words = ": ".join(filter(None, (rollout.outcome.value, rollout.reason, verdict.note)))
        if rollout.outcome is sgp.Outcome.REFUSED and planner.policy.refuses(rollout.task) is not None:
            status = Status.UNSUPPORTED_PROBLEM
        else:  # a policy that finds no plan proves nothing
            statuses = {
                sgp.Outcome.SOLVED: Status.SOLVED_SATISFICING,
                sgp.Outcome.TIMEOUT: Status.TIMEOUT,
                sgp.Outcome.MEMORY: Status.MEMOUT,
            }
            status = statuses.get(rollout.outcome, Status.UNSOLVABLE_INCOMPLETELY)
        return status, f"{words}, {counted(len(rollout.reduced_plan), 'action')}", plan


def _learned(problems: Sequence[UnifiedProblem], plans: Sequence[Plan | None] | None, learning: dict[str, Any]) -> Run:
    """Train a run on problems of the library."""
    written = list(map(_written, problems))
    texts = None
    if plans is not None:
        if len(plans) != len(problems):
            raise SuiteError(f"{len(plans)} plans are given for {len(problems)} problems; expected as many")
        pairs = zip(written, plans, strict=True)
        texts = [None if plan is None else writer.get_plan(plan) for (writer, _), plan in pairs]
    from sgp.api import train_on

    settings = {"method": "contrastive-jumps", **learning}
    run: Run = train_on(problems=[problem for _, problem in written], plans=texts, **settings)
    return run


def _written(unified: UnifiedProblem) -> tuple[PDDLWriter, Problem]:
    """Convert a problem of the library to PDDL."""
    writer, name = PDDLWriter(unified, empty_preconditions=True), unified.name or "problem"
    domain, text = writer.get_domain(), writer.get_problem()  # in this order: names of the domain are assigned first
    return writer, sgp.Problem(name, domain, text, f"domain of {name}", f"problem {name}")


def _valid(tasks: Sequence[Task], text: str) -> tuple[Action, ...] | None:
    """Return the actions of a plan that solves one of the tasks; None if it solves none."""
    from sgp.planning.task import Trajectory

    actions: tuple[Action, ...] = parse_plan(text)
    for task in tasks:
        with suppress(PlanError):
            Trajectory.of(task, actions)
            return actions
    return None


def _plan(actions: Sequence[Action], unified: UnifiedProblem, writer: PDDLWriter) -> SequentialPlan:
    """Convert a plan to the library's names."""
    reference, named = unified.environment.expression_manager.ObjectExp, writer.get_item_named
    return SequentialPlan(
        [ActionInstance(named(name), tuple(reference(named(each)) for each in objects)) for name, objects in actions],
        unified.environment,
    )
