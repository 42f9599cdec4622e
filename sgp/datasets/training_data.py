"""What methods are trained on: demonstrations, problems or transitions of a suite's domains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from random import Random
from typing import Generic, NamedTuple, Self, TypeVar

from numpy.random import Generator

from sgp.datasets.experts import expert_plans
from sgp.datasets.suite import Suite
from sgp.errors import SuiteError
from sgp.planning.experts import STAGES, Stage
from sgp.planning.pddl import Action, Problem
from sgp.planning.task import State, Task
from sgp.planning.trajectory import Trajectory

MOST_ACTIONS = 50  # actions of a state that a loss contrasts (embedplan, section 3)
_HELD_OUT = 5  # every fifth
SEVERAL = "+"  # between the names of domains that are learned from together
Part = TypeVar("Part", "Demonstration", Problem)


@dataclass(frozen=True)
class Demonstration:
    """A problem with an expert's plan, as text: what processes and machines exchange."""

    problem: Problem
    plan: tuple[Action, ...]

    @property
    def name(self) -> str:
        """The problem's name."""
        return self.problem.name

    def replayed(self) -> Trajectory:
        """The trajectory."""
        return Trajectory.of(Task(self.problem), self.plan)


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """Expert trajectories to train on and to validate on, of one domain of one suite.

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
    def domains(self) -> Mapping[str, str]:
        """The domain's PDDL by its name."""
        return {self.domain: self.domain_pddl}

    @property
    def facts(self) -> dict[str, str | int]:
        """What the record of a run tells of its data."""
        return {
            "sha256": self.sha256,
            "train": len(self.train),
            "validation": len(self.validation),
            "transitions": sum(map(len, self.train)),
        }


@dataclass(frozen=True)
class _ProblemSet(Generic[Part]):
    """Problems, or demonstrations, to train on and to validate on, of one domain of one suite, as text.

    `sha256` covers the PDDL of all problems and their plans; `largest` is the largest number of objects in the suite.
    """

    suite: str
    domain: str
    domain_pddl: str
    train: tuple[Part, ...]
    validation: tuple[Part, ...]
    sha256: str
    largest: int

    @property
    def domains(self) -> Mapping[str, str]:
        """The domain's PDDL by its name."""
        return {self.domain: self.domain_pddl}

    @property
    def to_draw(self) -> tuple[Part, ...]:
        """The training problems that random subsets are drawn from."""
        return self.train

    def without(self, problem: str) -> Self:
        """The same without one training problem."""
        names = [part.name for part in self.train]
        rest = tuple(part for part in self.train if part.name != problem)
        if len(rest) == len(self.train) or not rest:
            raise SuiteError(
                f"training problem '{problem}' cannot be left out of {self.domain}; expected one of several: "
                f"{', '.join(names)}"
            )
        return replace(self, train=rest, sha256=_sha256_with(self.sha256, f"without {problem}"))

    def drawn(self, count: int, draw: int) -> Self:
        """The same with `count` of the training problems, or all if there are fewer.

        They are in their order; those of one draw contain those of a smaller count.
        """
        if count < 1 or draw < 0:
            raise SuiteError(
                f"asked for {count} training problems of draw {draw}; expected at least 1, of a draw from 0 on"
            )
        order = list(range(len(self.to_draw)))
        Random(draw).shuffle(order)
        train = tuple(self.to_draw[place] for place in sorted(order[:count]))
        return replace(self, train=train, sha256=_sha256_with(self.sha256, f"{count} of draw {draw}"))


@dataclass(frozen=True)
class DemonstrationTexts(_ProblemSet[Demonstration]):
    """Demonstrations as text. States do not leave their process, texts do."""

    @property
    def to_draw(self) -> tuple[Demonstration, ...]:
        """The training problems whose plans have actions."""
        return tuple(part for part in self.train if part.plan)

    def replayed(self) -> Demonstrations:
        """The trajectories."""
        return Demonstrations(
            suite=self.suite,
            domain=self.domain,
            domain_pddl=self.domain_pddl,
            train=tuple(part.replayed() for part in self.train),
            validation=tuple(part.replayed() for part in self.validation),
            sha256=self.sha256,
            largest=self.largest,
        )


@dataclass(frozen=True)
class Problems(_ProblemSet[Problem]):
    """Problems without plans, for methods that find plans themselves, such as reinforcement learning."""

    @property
    def facts(self) -> dict[str, str | int]:
        """What the record of a run says about its data."""
        return {"sha256": self.sha256, "train": len(self.train), "validation": len(self.validation)}

    def replayed(self) -> Problems:
        """Itself: problems are text."""
        return self


class Transition(NamedTuple):
    """A state, an action that is applicable there, and the state after."""

    task: Task
    before: State
    action: Action
    after: State


@dataclass(frozen=True, eq=False)
class Transitions:
    """Transitions of one or several domains of a suite, to train on and to validate on.

    `domains` has each domain's PDDL by its name; `sha256` covers all problems and plans that they come from.
    """

    suite: str
    domains: Mapping[str, str]
    train: tuple[Transition, ...]
    validation: tuple[Transition, ...]
    sha256: str

    @property
    def domain(self) -> str:
        """The names of all domains in one."""
        return SEVERAL.join(self.domains)

    @property
    def facts(self) -> dict[str, str | int]:
        """What the record of a run tells of its data: numbers of problems, and of transitions to train on."""
        train, validation = ({each.task for each in part} for part in (self.train, self.validation))
        return {
            "sha256": self.sha256,
            "train": len(train),
            "validation": len(validation),
            "transitions": len(self.train),
        }


@dataclass(frozen=True)
class TransitionTexts:
    """Transitions as text: the demonstrations that they come from, by domain."""

    suite: str
    of: Mapping[str, DemonstrationTexts]

    @property
    def domain(self) -> str:
        """The names of all domains in one."""
        return SEVERAL.join(self.of)

    @property
    def sha256(self) -> str:
        """Hash of all problems and plans."""
        return _sha256_of(self.of.values())

    def replayed(self) -> Transitions:
        """The transitions."""
        live = {name: each.replayed() for name, each in self.of.items()}
        return Transitions(
            self.suite,
            {name: each.domain_pddl for name, each in live.items()},
            tuple(step for each in live.values() for one in each.train for step in steps_of(one)),
            tuple(step for each in live.values() for one in each.validation for step in steps_of(one)),
            self.sha256,
        )

    def without(self, problem: str) -> TransitionTexts:
        """The same without the training problem of this name. Raises SuiteError where there is none, or no other."""
        holders = [name for name, each in self.of.items() if problem in {one.problem.name for one in each.train}]
        if len(holders) != 1:
            raise SuiteError(
                f"training problem '{problem}' is in {len(holders)} of the domains {', '.join(self.of)}; "
                "expected one that a single domain has"
            )
        return replace(self, of={**self.of, holders[0]: self.of[holders[0]].without(problem)})

    def drawn(self, count: int, draw: int) -> TransitionTexts:
        """The same with the transitions of `count` training problems of each domain; see `Problems.drawn`."""
        return replace(self, of={name: each.drawn(count, draw) for name, each in self.of.items()})

    @property
    def to_draw(self) -> tuple[Demonstration, ...]:
        """Those of the domain that has fewest."""
        return min((each.to_draw for each in self.of.values()), key=len)


Texts = DemonstrationTexts | Problems | TransitionTexts
DataKind = type[Demonstrations] | type[Problems] | type[Transitions]  # what a method learns from


def learning_texts(
    kind: DataKind,
    suite: Suite,
    domains: Sequence[str],
    stages: Sequence[Stage] = STAGES,
    jobs: int = 1,
) -> Texts:
    """What a method that learns from this kind of data is trained on, as text; missing expert plans are made first.

    Raises SuiteError for several domains where the kind is of one, and what `training_texts` raises.
    """
    asked = {suite.domain(name).name for name in domains}
    if not asked:
        raise SuiteError(f"no domain is named; expected some of suite {suite.name}: {', '.join(suite.domains)}")
    names = [name for name in suite.domains if name in asked]
    if kind is Transitions:
        return TransitionTexts(suite.name, {name: training_texts(suite, name, stages, jobs) for name in names})
    if len(names) != 1:
        raise SuiteError(
            f"domains are {', '.join(names) or 'none'}; expected one, because the method learns from the "
            f"{kind.__name__.lower()} of one domain: train a run for each"
        )
    return problem_texts(suite, names[0]) if kind is Problems else training_texts(suite, names[0], stages, jobs)


def load_training_data(suite: Suite, domain: str, stages: Sequence[Stage] = STAGES, jobs: int = 1) -> Demonstrations:
    """The trajectories of splits `train` and `validation`; missing expert plans are made first.

    Problems for which no plan was found are left out. A domain with a single split is trained on that; without a split
    `validation`, every fifth training problem (at least the last) is held out as one.
    """
    return training_texts(suite, domain, stages, jobs).replayed()


def training_texts(suite: Suite, domain: str, stages: Sequence[Stage] = STAGES, jobs: int = 1) -> DemonstrationTexts:
    """What `load_training_data` replays, as text."""
    name = suite.domain(domain).name
    train, validation = _parts(suite, name, lambda split: demonstrations(suite, name, split, stages, jobs))
    for split, found in (("train", train), ("validation", validation)):
        if not any(each.plan for each in found):
            raise SuiteError(
                f"{name} of suite {suite.name} has no {split} problem with an expert plan of at least one action; "
                "add problems, or give the expert planner more time with 'sgp experts --retry'"
            )
    return DemonstrationTexts(
        suite=suite.name,
        domain=name,
        domain_pddl=suite.domain_pddl(name),
        train=tuple(train),
        validation=tuple(validation),
        sha256=hash_of(each for found in (train, validation) for each in found),
        largest=suite.largest[name],
    )


def problem_texts(suite: Suite, domain: str) -> Problems:
    """The problems of splits `train` and `validation`, held out as in `load_training_data`; no plan is asked for."""
    name = suite.domain(domain).name
    train, validation = _parts(suite, name, lambda split: suite.problems(name, split))
    return Problems(
        suite=suite.name,
        domain=name,
        domain_pddl=suite.domain_pddl(name),
        train=tuple(train),
        validation=tuple(validation),
        sha256=hash_of(each for found in (train, validation) for each in found),
        largest=suite.largest[name],
    )


def hash_of(parts: Iterable[Demonstration | Problem]) -> str:
    """Hash of the PDDL of problems and of their plans, where they have some."""
    digest = sha256()
    for each in parts:
        digest.update((each.problem if isinstance(each, Demonstration) else each).sha256.encode())
        if isinstance(each, Demonstration):
            digest.update("\n".join(map(str, each.plan)).encode())
    return digest.hexdigest()


def _parts(suite: Suite, domain: str, read: Callable[[str], Sequence[Part]]) -> tuple[Sequence[Part], Sequence[Part]]:
    """What a domain is trained on and what is held out for validation."""
    splits = list(suite.domain(domain).splits)
    train = read(splits[0] if len(splits) == 1 else "train")
    return (train, read("validation")) if "validation" in splits else held_out(train)


def held_out(train: Sequence[Part]) -> tuple[Sequence[Part], Sequence[Part]]:
    """What is left to train on, and every fifth part (at least the last) to validate on; one alone serves as both."""
    validation = train[_HELD_OUT - 1 :: _HELD_OUT] or train[-1:]
    return [each for each in train if each not in validation] or train, validation


def _sha256_with(digest: str, change: str) -> str:
    return sha256(f"{digest} {change}".encode()).hexdigest()


def _sha256_of(parts: Iterable[DemonstrationTexts]) -> str:
    return sha256(" ".join(each.sha256 for each in parts).encode()).hexdigest()


def told_apart(transition: Transition, rng: Generator, most: int = MOST_ACTIONS) -> list[Action]:
    """The action of a transition, then others that are applicable before it, drawn: `most` in all."""
    task, before, action, _ = transition
    others = [other for other in task.applicable(before) if other != action]
    return [action, *(others[place] for place in rng.permutation(len(others))[: most - 1])]


def steps_of(trajectory: Trajectory) -> list[Transition]:
    """The transitions of a trajectory."""
    steps = zip(trajectory.states, trajectory.actions, trajectory.states[1:], strict=False)
    return [Transition(trajectory.task, before, action, after) for before, action, after in steps]


def trajectories(
    suite: Suite, domain: str, split: str, stages: Sequence[Stage] = STAGES, jobs: int = 1
) -> list[Trajectory]:
    """The expert trajectories of a split, replayed; problems without a plan are left out."""
    return [each.replayed() for each in demonstrations(suite, domain, split, stages, jobs)]


def demonstrations(
    suite: Suite, domain: str, split: str, stages: Sequence[Stage] = STAGES, jobs: int = 1
) -> list[Demonstration]:
    """The problems of a split with their expert plans, which are made where missing; those without one are left out."""
    plans = expert_plans(suite, domain, split, stages, jobs)
    found = [(problem, plans[problem.sha256].plan) for problem in suite.problems(domain, split)]
    return [Demonstration(problem, plan) for problem, plan in found if plan is not None]
