"""What a method is trained on: the trajectories of a suite's domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from sgp.datasets.experts import expert_plans
from sgp.datasets.suite import Suite
from sgp.errors import SuiteError
from sgp.planning.experts import STAGES, Stage
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory

_HELD_OUT = 5  # every fifth


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Trajectories to train on and to validate on, of one domain of one suite.

    `sha256` covers the PDDL of all problems and their plans; `largest` is the largest number of objects in the suite.
    """

    suite: str
    domain: str
    domain_pddl: str
    train: tuple[Trajectory, ...]
    validation: tuple[Trajectory, ...]
    sha256: str
    largest: int

    @property
    def facts(self) -> dict[str, str | int]:
        """What the record of a run tells of its data."""
        return {
            "sha256": self.sha256,
            "train": len(self.train),
            "validation": len(self.validation),
            "transitions": sum(map(len, self.train)),
        }

    def without(self, problem: str) -> TrainingData:
        """The same without one training problem. Raises SuiteError where there is none of this name, or no other."""
        kept = tuple(each for each in self.train if each.task.name != problem)
        if len(kept) == len(self.train) or not kept:
            raise SuiteError(
                f"training problem '{problem}' cannot be left out of {self.domain}; expected one of several: "
                f"{', '.join(each.task.name for each in self.train)}"
            )
        return replace(self, train=kept, sha256=sha256(f"{self.sha256} without {problem}".encode()).hexdigest())


def load_training_data(suite: Suite, domain: str, stages: Sequence[Stage] = STAGES, jobs: int = 1) -> TrainingData:
    """The trajectories of splits `train` and `validation`; missing expert plans are made first.

    Problems for which no plan was found are left out. A domain with a single split is trained on that; without a
    split `validation`, every fifth training problem (at least the last) is held out as one. Raises SuiteError where
    nothing is left, ToolError where Fast Downward fails, PddlError and PlanError for texts that cannot be used,
    StoreError for damaged expert plans.
    """
    name, splits = suite.domain(domain).name, list(suite.domain(domain).splits)
    train = trajectories(suite, name, splits[0] if len(splits) == 1 else "train", stages, jobs)
    if "validation" in splits:
        validation = trajectories(suite, name, "validation", stages, jobs)
    else:
        validation = train[_HELD_OUT - 1 :: _HELD_OUT] or train[-1:]
        train = [trajectory for trajectory in train if trajectory not in validation] or train
    for split, found in (("train", train), ("validation", validation)):
        if not any(len(trajectory) for trajectory in found):
            raise SuiteError(
                f"{name} of suite {suite.name} has no {split} problem with an expert plan of at least one action; "
                "add problems, or give the expert planner more time with 'sgp experts --retry'"
            )
    digest = sha256()
    for trajectory in (*train, *validation):
        digest.update(trajectory.task.problem.sha256.encode())
        digest.update("\n".join(map(str, trajectory.actions)).encode())
    return TrainingData(
        suite=suite.name,
        domain=name,
        domain_pddl=suite.domain_pddl(name),
        train=tuple(train),
        validation=tuple(validation),
        sha256=digest.hexdigest(),
        largest=suite.largest[name],
    )


def trajectories(
    suite: Suite, domain: str, split: str, stages: Sequence[Stage] = STAGES, jobs: int = 1
) -> list[Trajectory]:
    """The expert trajectories of a split, replayed; problems without a plan are left out.

    Raises ToolError where Fast Downward fails, PddlError and PlanError for texts that cannot be used, StoreError for
    damaged expert plans.
    """
    plans = expert_plans(suite, domain, split, stages, jobs)
    found = []
    for problem in suite.problems(domain, split):
        plan = plans[problem.sha256].plan
        if plan is not None:
            found.append(Trajectory.of(Task(problem), plan))
    return found
