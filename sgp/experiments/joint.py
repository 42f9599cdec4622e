"""Joint training: one training whose best checkpoint is selected by each of three validation methods.

So the selected planners differ only by validation. Source: "Per-Domain Generalizing Policies: On Validation Instances
and Scaling Behavior" (dynamic validation), section 4.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any, Literal, get_args

from sgp.api import DEFAULT_SEED
from sgp.datasets import runs as run_store
from sgp.datasets.generation import SCALING_SUITE
from sgp.datasets.store import home
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.errors import StoreError
from sgp.evaluation import dynamic_validation
from sgp.evaluation.parallel import run_all
from sgp.evaluation.scaling import EvaluatedPlanner, ProblemSource
from sgp.experiments.scaling_runs import generator_for, plan_bound
from sgp.files import read_json, write_json
from sgp.methods import get_method, planning_method, recorded_libraries, selectable
from sgp.methods.configuration import configure, configure_decoding, decoded_identity
from sgp.methods.contract import Checkpoint, PlanningMethod
from sgp.methods.loading import load_planner
from sgp.models.device import choose_device
from sgp.planning.experts import QUICK, STAGES
from sgp.planning.pddl import Problem
from sgp.planning.subject import Variant
from sgp.policies.decoding import DEFAULT, PORTFOLIO
from sgp.reports.table import Table
from sgp.workers import Jobs, processes

logger = logging.getLogger(__name__)
By = Literal["loss", "coverage", "dynamic"]
VALIDATIONS: tuple[By, ...] = get_args(By)
LENGTH_TOLERANCE = 1.02  # plans count as equally long up to this factor
_DONE = "snapshots.json"


@dataclass(frozen=True)
class Validated:
    """A checkpoint and its validation: loss and coverage on the validation split, dynamic coverage by size."""

    name: str
    loss: float
    coverage: float
    sizes: Mapping[int, float]
    actions: float = 0.0  # mean length of the plans of dynamic coverage; 0 if it breaks no ties

    @property
    def dynamic(self) -> float:
        """The sum of the coverages of all sizes (algorithm 2)."""
        return sum(self.sizes.values())

    def score(self, by: By) -> float:
        """The higher, the better."""
        return {"loss": -self.loss, "coverage": self.coverage, "dynamic": self.dynamic}[by]

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Validated:
        """The checkpoint in a record."""
        return cls(**{**record, "sizes": {int(size): float(value) for size, value in record["sizes"].items()}})


@dataclass(frozen=True)
class JointTraining:
    """The run selected by each validation method, all checkpoints, and the place (from 0) of each selected one."""

    runs: Mapping[By, run_store.Run]
    checkpoints: Sequence[Validated]
    selected: Mapping[By, int]


def train_jointly(
    method: str,
    domain: str,
    suite: str,
    variant: str | None = None,
    seed: int = DEFAULT_SEED,
    device: str = "auto",
    jobs: Jobs = 1,
    overrides: Mapping[str, str] | None = None,
    config: dynamic_validation.DynamicConfig | None = None,
    again: bool = False,
    watch: Callable[[Validated], None] = lambda validated: None,
) -> JointTraining:
    """Train once, validate every checkpoint in three ways, and save the best by each (the first if tied) as a run.

    The variants are named `VARIANT+by=loss`, `+by=coverage` (both on the suite's split `validation`) and
    `+by=dynamic` (on generated problems larger than all training problems, or on the largest of the suite if none can
    be generated). Without a `config`, suite `scaling` uses its paper's rules and others `LARGER_SIZES`. Missing expert
    plans are made by `QUICK`; a problem without a plan is left out of later trainings, too, until
    `sgp experts --retry`. Without a limit on seconds, plans have at most L actions: the domain's bound, or three times
    the mean length of the expert plans for the largest training problems.

    `watch` is called with every validated checkpoint. Results are stored, so that an interrupted training resumes.
    Validation uses `jobs` processes or workers.
    """
    learner, checkpointed = get_method(method), selectable(method)
    rules = config or (dynamic_validation.PAPER_CONFIG if suite == SCALING_SUITE else dynamic_validation.LARGER_SIZES)
    name, settings = configure(learner, variant, overrides)
    planning = planning_method(method)
    configure_decoding(planning, settings.decoding)  # raises before anything is trained
    chosen = choose_device(device)
    data = load_training_data(load_suite(suite), domain, STAGES if suite == SCALING_SUITE else QUICK, processes(jobs))
    source = generator_for(
        data.domain_pddl, data.domain, dynamic_validation.VALIDATION_SEED, tracked=bool(rules.multiples)
    )
    bound = plan_bound(None if source is None else source.domain, lambda: data)
    trial = _Trial(data, source, bound, rules, planning, jobs)
    trial.warn()
    versions = run_store.library_versions(recorded_libraries(learner))
    with_second = PORTFOLIO in planning.decodings  # whether the second best is saved beside the best
    facts = [
        learner.key,
        with_second,
        asdict(settings),
        [asdict(each) for each in planning.decodings.values()],
        checkpointed.sweep,
        LENGTH_TOLERANCE,
        seed,
        data.sha256,
        trial.bound,
        asdict(rules),
        versions,
    ]
    identity = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    keys = {
        by: run_store.RunKey(learner.key, str(Variant(name, selected_by=by)), data.suite, data.domain, seed)
        for by in VALIDATIONS
    }
    folder = home() / "joint" / identity
    if again:
        shutil.rmtree(folder, ignore_errors=True)
    done = _read(folder / _DONE)
    if done and all(_is_of(key, identity) for key in keys.values()):
        return JointTraining({by: run_store.open_run(key.folder) for by, key in keys.items()}, done, _selected(done))
    for checkpoint in checkpointed.checkpoints(settings, data, folder / "training", seed, chosen, len(done)):
        place = folder / str(len(done))
        origin = run_store.Origin(
            asdict(checkpoint.training), data.domains, data.facts, chosen, recorded_libraries(learner)
        )
        same = next((each for each in done if each.name == checkpoint.like), None)
        if same is None:
            with run_store.new_run(keys["dynamic"], origin, place) as draft:
                checkpoint.save(draft)
        done.append(
            trial.validated(checkpoint, run_store.open_run(place))
            if same is None
            else replace(same, name=checkpoint.name)
        )
        write_json(folder / _DONE, [asdict(each) for each in done])
        for each in set(range(len(done))).difference(
            (*_selected(done).values(), _second(done) if with_second else None)
        ):
            shutil.rmtree(folder / str(each), ignore_errors=True)
        watch(done[-1])
    best, second = _selected(done), _second(done) if with_second else None
    for by, key in keys.items():
        selection = {"joint": identity, "by": by, "snapshot": done[best[by]].name}
        beside_best = None
        if by == "dynamic" and second is not None:
            selection["second"], beside_best = done[second].name, run_store.open_run(folder / str(second))
        _save(run_store.open_run(folder / str(best[by])), key, selection, beside_best)
    return JointTraining({by: run_store.open_run(key.folder) for by, key in keys.items()}, done, best)


@dataclass(frozen=True)
class _Trial:
    """The problems and limits that all checkpoints are validated by."""

    data: Demonstrations
    source: ProblemSource | None
    bound: int
    rules: dynamic_validation.DynamicConfig
    method: PlanningMethod
    jobs: Jobs

    @cached_property
    def given(self) -> tuple[Problem, ...]:
        """The largest quarter of the suite's problems if no larger ones can be generated, else none."""
        if self.source is not None and next(self.rules.sizes(self.source.sizes, self.largest), None):
            return ()
        tasks = sorted((each.task for each in (*self.data.train, *self.data.validation)), key=lambda task: task.size)
        return tuple(dict.fromkeys(task.problem for task in tasks[-(-3 * len(tasks) // 4) :] or tasks))

    @property
    def largest(self) -> int:
        """Objects of the largest training problem, without constants."""
        return max(each.task.size - len(each.task.domain_text.constants) for each in self.data.train)

    def warn(self) -> None:
        """Warn if the validation has no larger problems."""
        if self.given:
            logger.warning(
                "no problems of %s with more than %d objects can be generated: the validation falls back on the %d "
                "largest of suite %s, most of which were trained on",
                self.data.domain,
                self.largest,
                len(self.given),
                self.data.suite,
            )

    def validated(self, checkpoint: Checkpoint, run: run_store.Run) -> Validated:
        identity = decoded_identity(self.method, run.planner_sha256, run.training, DEFAULT)
        planner = EvaluatedPlanner(str(run.folder), identity, load_planner)
        fixed = tuple(each.task.problem for each in self.data.validation)
        (attempts,) = run_all(
            [planner.work(fixed, self.rules.limit(self.bound))],
            load_planner,
            self.jobs,
            f"{checkpoint.name}, {self.data.domain} validation",
        )
        if self.given or self.source is None:
            found = dynamic_validation.coverage_of_given(planner, self.given, self.bound, self.rules, self.jobs)
        else:
            found = dynamic_validation.dynamic_coverage(
                planner, self.source, self.largest, self.bound, self.rules, self.jobs
            )
        coverage = mean(each.solved for each in attempts)
        actions = found.actions if self.rules.multiples else 0.0  # the paper breaks no ties
        return Validated(checkpoint.name, checkpoint.loss, coverage, found.sizes, actions)


def _selected(checkpoints: Sequence[Validated]) -> dict[By, int]:
    """The place of the first checkpoint that is best by each validation method."""
    return {by: _first_best(checkpoints, range(len(checkpoints)), by) for by in VALIDATIONS}


def _second(checkpoints: Sequence[Validated]) -> int | None:
    """The place of the first that is second best by dynamic validation; None if all are equivalent."""
    best = checkpoints[_selected(checkpoints)["dynamic"]]
    others = [place for place, each in enumerate(checkpoints) if replace(each, name=best.name) != best]
    return _first_best(checkpoints, others, "dynamic") if others else None


def _first_best(checkpoints: Sequence[Validated], places: Sequence[int], by: By) -> int:
    """The first of some places with the highest score; by dynamic validation, among those with about shortest plans."""
    highest = max(checkpoints[place].score(by) for place in places)
    best = [place for place in places if checkpoints[place].score(by) == highest]
    if by != "dynamic":
        return best[0]
    most = LENGTH_TOLERANCE * min(checkpoints[place].actions for place in best)
    return next(place for place in best if checkpoints[place].actions <= most)


def _save(
    run: run_store.Run, key: run_store.RunKey, selection: Mapping[str, str], second: run_store.Run | None
) -> None:
    """Copy a checkpoint's run to its folder in the store, with the second best beside it."""
    record = run.record
    with run_store.new_run(key, run.origin) as draft:
        for name in record["files"]:
            shutil.copyfile(run.folder / name, draft.folder / name)
        draft.facts.update(record["facts"], selection=dict(selection))
        draft.check.update(record["check"])
        if second is not None:
            for name in second.record["files"]:
                shutil.copyfile(second.folder / name, draft.folder / f"{run_store.SECOND}{name}")
            facts = {
                name: value
                for name, value in second.record["facts"].items()
                if name not in run_store.BESIDE_THE_PLANNER
            }
            own = {name: second.record[name] for name in ("training", "check")}
            draft.facts["second"] = {**own, "facts": facts}


def _is_of(key: run_store.RunKey, identity: str) -> bool:
    """Whether the store has an undamaged run of this joint training."""
    try:
        run = run_store.find_run(key)
    except StoreError:
        return False
    return run is not None and run.record["facts"].get("selection", {}).get("joint") == identity


def _read(file: Path) -> list[Validated]:
    if not file.is_file():
        return []
    try:
        return [Validated.from_record(record) for record in read_json(file)]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{file} holds no validated checkpoints ({error!r}); remove its folder and train again"
        ) from error


def joint_table(found: JointTraining, title: str) -> Table:
    """The checkpoints, one a row, with the validations that selected them."""
    chosen: dict[int, list[str]] = {}
    for by, place in found.selected.items():
        chosen.setdefault(place, []).append(by)
    rows = [
        (
            each.name,
            f"{each.loss:.3f}",
            f"{each.coverage:.2f}",
            f"{each.dynamic:.1f}",
            str(max(each.sizes, default="")),
            ", ".join(chosen.get(place, ())),
        )
        for place, each in enumerate(found.checkpoints)
    ]
    headings = ("planner", "loss", "coverage", "dynamic", "largest size", "selected by")
    return Table.of(title, headings, rows)
