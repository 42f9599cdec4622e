"""What methods are trained on: demonstrations, problems or transitions, of a suite's domains or of given problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from numpy.random import Generator

from sgp.errors import SuiteError
from sgp.planning.experts import STAGES, Stage
from sgp.planning.pddl import Action, DomainText, Problem, parse_plan, read_domain, read_problem, require_problem
from sgp.planning.states import State
from sgp.planning.task import Task, Trajectory

if TYPE_CHECKING:
    from sgp.datasets.suite import Suite

MOST_ACTIONS = 50  # actions of a state that a loss contrasts (embedplan, section 3)
SEVERAL = "+"  # between the names of domains that are learned from together
_HELD_OUT = 5  # every fifth
_HASH_LENGTH = 12  # of the name that a list of problems has among suites

Plan: TypeAlias = Sequence[Action] | str | None
"""A plan as actions or as text; None: made by the expert planners."""
Example = TypeVar("Example")
Item = TypeVar("Item")


class Transition(NamedTuple):
    """A state, an action that is applicable there, and the state after."""

    task: Task
    before: State
    action: Action
    after: State


@dataclass(frozen=True, eq=False)
class TrainingData(Generic[Example]):
    """Examples to train on and to validate on; `domains` has PDDL by name, `largest` is the suite's largest problem."""

    suite: str
    domains: Mapping[str, str]
    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    sha256: str
    largest: int = 0

    @property
    def domain(self) -> str:
        """The names of all domains in one."""
        return SEVERAL.join(self.domains)

    @property
    def domain_pddl(self) -> str:
        """The PDDL of the domain, where there is one."""
        (text,) = self.domains.values()
        return text

    @property
    def facts(self) -> dict[str, str | int]:
        """What a run records about its data."""
        return {"sha256": self.sha256, "train": len(self.train), "validation": len(self.validation)}


class Demonstrations(TrainingData[Trajectory]):
    """Expert trajectories of one domain."""

    def extended(self, train: Iterable[Trajectory]) -> Demonstrations:
        """The same with further trajectories to train on."""
        return Demonstrations(
            self.suite, self.domains, (*self.train, *train), self.validation, self.sha256, self.largest
        )

    @property
    def facts(self) -> dict[str, str | int]:
        """What a run records about its data."""
        return {**super().facts, "transitions": sum(map(len, self.train))}


class Problems(TrainingData[Problem]):
    """Problems of one domain, for methods that find plans themselves, such as reinforcement learning."""


class Transitions(TrainingData[Transition]):
    """Transitions of one or several domains."""

    @property
    def facts(self) -> dict[str, str | int]:
        """What a run records about its data: numbers of problems, and of transitions to train on."""
        train, validation = (len({each.task for each in part}) for part in (self.train, self.validation))
        return {"sha256": self.sha256, "train": train, "validation": validation, "transitions": len(self.train)}


DataKind = type[Demonstrations] | type[Problems] | type[Transitions]  # what a method learns from


@dataclass(frozen=True)
class Demonstration:
    """A problem with an expert's plan, or without one, as text."""

    problem: Problem
    plan: tuple[Action, ...] | None = None

    def replayed(self) -> Trajectory:
        """The trajectory of the plan."""
        return Trajectory.of(Task(self.problem), self.plan or ())


@dataclass(frozen=True)
class DomainTexts:
    """Problems of one domain, with their expert plans where the method learns from plans."""

    name: str
    pddl: str
    train: tuple[Demonstration, ...]
    validation: tuple[Demonstration, ...]
    sha256: str
    largest: int

    @property
    def drawable(self) -> tuple[Demonstration, ...]:
        """The training problems that random subsets are drawn from: those whose plan has no action are left out."""
        return tuple(each for each in self.train if each.plan != ())


@dataclass(frozen=True)
class Texts:
    """Training data as text, by domain: what processes and machines exchange, since states do not leave a process."""

    kind: DataKind
    suite: str
    parts: tuple[DomainTexts, ...]

    @property
    def domain(self) -> str:
        """The names of all domains in one."""
        return SEVERAL.join(each.name for each in self.parts)

    @property
    def sha256(self) -> str:
        """Hash of all problems and plans."""
        joined = " ".join(each.sha256 for each in self.parts)
        return _hash(joined) if self.kind is Transitions else joined

    @property
    def drawable(self) -> int:
        """How many training problems random subsets are drawn from, in the domain that has fewest."""
        return min(len(each.drawable) for each in self.parts)

    def without(self, problem: str) -> Texts:
        """The same without the training problem of this name. Raises SuiteError where there is none, or no other."""
        holders = [each for each in self.parts if problem in {shown.problem.name for shown in each.train}]
        if len(holders) != 1 and len(self.parts) > 1:
            raise SuiteError(
                f"training problem '{problem}' is in {len(holders)} of the domains {self.domain}; "
                "expected one that a single domain has"
            )
        chosen = (holders or self.parts)[0]
        rest = tuple(each for each in chosen.train if each.problem.name != problem)
        if not holders or not rest:
            raise SuiteError(
                f"training problem '{problem}' cannot be left out of {chosen.name}; expected one of several: "
                f"{', '.join(each.problem.name for each in chosen.train)}"
            )
        changed = replace(chosen, train=rest, sha256=_hash(f"{chosen.sha256} without {problem}"))
        return replace(self, parts=tuple(changed if each is chosen else each for each in self.parts))

    def drawn(self, count: int, draw: int) -> Texts:
        """The same with `count` of the training problems of each domain, or all if there are fewer."""
        if count < 1 or draw < 0:
            raise SuiteError(
                f"{count} training problems of draw {draw} requested; expected at least 1, and a draw from 0 on"
            )
        parts = []
        for part in self.parts:
            order = list(range(len(part.drawable)))
            Random(draw).shuffle(order)
            train = tuple(part.drawable[place] for place in sorted(order[:count]))
            parts.append(replace(part, train=train, sha256=_hash(f"{part.sha256} {count} of draw {draw}")))
        return replace(self, parts=tuple(parts))

    def replayed(self) -> Demonstrations | Problems | Transitions:
        """The data to train on."""

        def data(kind: Callable[..., Item], read: Callable[[Demonstration], Iterable[object]]) -> Item:
            train, validation = (
                tuple(example for each in self.parts for shown in getattr(each, side) for example in read(shown))
                for side in ("train", "validation")
            )
            domains = {each.name: each.pddl for each in self.parts}
            return kind(self.suite, domains, train, validation, self.sha256, max(each.largest for each in self.parts))

        if self.kind is Problems:
            return data(Problems, lambda shown: [shown.problem])
        if self.kind is Demonstrations:
            return data(Demonstrations, lambda shown: [shown.replayed()])
        return data(Transitions, lambda shown: steps_of(shown.replayed()))


def learning_texts(
    kind: DataKind, suite: Suite, domains: Sequence[str], stages: Sequence[Stage] = STAGES, jobs: int = 1
) -> Texts:
    """What a method is trained on, as text: splits `train` and `validation`, if any; missing plans are made."""
    requested = {suite.domain(name).name for name in domains}
    if not requested:
        raise SuiteError(f"no domain is named; expected some of suite {suite.name}: {', '.join(suite.domains)}")
    names = [name for name in suite.domains if name in requested]
    if kind is not Transitions and len(names) != 1:
        raise SuiteError(
            f"domains are {', '.join(names)}; expected one, because the method learns from the "
            f"{kind.__name__.lower()} of one domain: train a run for each"
        )

    def read(domain: str, split: str) -> Sequence[Demonstration]:
        if kind is Problems:
            return [Demonstration(problem) for problem in suite.problems(domain, split)]
        return demonstrations(suite, domain, split, stages, jobs)

    parts = []
    for name in names:
        train = read(name, training_split(suite, name))
        has_validation = "validation" in suite.domain(name).splits
        train, validation = (train, read(name, "validation")) if has_validation else _held_out(train)
        for split, part in (("train", train), ("validation", validation)):
            if kind is not Problems and not any(each.plan for each in part):
                raise SuiteError(
                    f"{name} of suite {suite.name} has no {split} problem with an expert plan of at least one action; "
                    "add problems, or give the expert planner more time with "
                    "'python -m sgp.experiments.bundle experts --retry'"
                )
        parts.append(_texts(name, suite.domain_pddl(name), train, validation, suite.largest[name]))
    return Texts(kind, suite.name, tuple(parts))


def training_split(suite: Suite, domain: str) -> str:
    """The name of a domain's split to train on: its only one, otherwise `train`."""
    splits = list(suite.domain(domain).splits)
    return splits[0] if len(splits) == 1 else "train"


def load_training_data(
    suite: Suite | str, domain: str, stages: Sequence[Stage] = STAGES, jobs: int = 1
) -> Demonstrations:
    """The expert trajectories of splits `train` and `validation` of a domain; see `learning_texts`."""
    from sgp.datasets.suite import load_suite

    data = learning_texts(Demonstrations, load_suite(suite), [domain], stages, jobs).replayed()
    assert isinstance(data, Demonstrations)
    return data


def given_texts(
    kind: DataKind, problems: Sequence[Problem], plans: Sequence[Plan] | None = None, jobs: int = 1
) -> Texts:
    """What a method is trained on where problems of one domain are given, as text; missing plans are made."""
    if isinstance(problems, Problem) or not problems:
        raise SuiteError(f"the problems to learn from are {problems!r:.80}; expected a list of at least one")
    for each in problems:
        require_problem(each)
    domain, largest = _domain_of(problems)
    if kind is Problems:
        train, validation = _held_out([Demonstration(problem) for problem in problems])
    else:
        train, validation = _held_out(_demonstrations(problems, plans, jobs))
        if not all(any(each.plan for each in part) for part in (train, validation)):
            raise SuiteError(
                f"of {len(problems)} problems, those to train on or to validate on have no plan of at least one "
                "action; give more problems, their plans, or the experts more time"
            )
    texts = _texts(_name(domain), problems[0].domain_pddl, train, validation, largest)
    return Texts(kind, f"problems-{texts.sha256[:_HASH_LENGTH]}", (texts,))


def _texts(
    name: str, pddl: str, train: Sequence[Demonstration], validation: Sequence[Demonstration], largest: int
) -> DomainTexts:
    digest = sha256()
    for each in (*train, *validation):
        digest.update(each.problem.sha256.encode())
        digest.update("\n".join(map(str, each.plan or ())).encode())
    return DomainTexts(name, pddl, tuple(train), tuple(validation), digest.hexdigest(), largest)


def _held_out(train: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """What is left to train on, and every fifth item (at least the last) to validate on; one alone serves as both."""
    validation = train[_HELD_OUT - 1 :: _HELD_OUT] or train[-1:]
    return [each for each in train if each not in validation] or train, validation


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _domain_of(problems: Sequence[Problem]) -> tuple[DomainText, int]:
    """The one domain of all problems, and the largest number of objects, the domain's constants among them."""
    first, largest = read_domain(problems[0].domain_pddl, problems[0].domain_source), 0
    for problem in problems:
        text = read_domain(problem.domain_pddl, problem.domain_source)
        if text.signature != first.signature:
            raise SuiteError(
                f"the problems are of several domains: {problem.name} {first.difference(text)}, other than "
                f"{problems[0].name}; learn from those of one"
            )
        objects = read_problem(problem.problem_pddl, problem.problem_source, text).objects
        largest = max(largest, len({each.name for each in (*text.constants, *objects)}))
    return first, largest


def _name(domain: DomainText) -> str:
    """The name of the built-in domain that serves a domain, or its own as far as it can name a folder."""
    from sgp.domains import serving  # here, because planning needs no built-in domains

    known = serving(domain)
    return known.name if known else re.sub(r"[^a-z0-9_-]+", "-", domain.name.lower()).strip("-") or "domain"


def _demonstrations(problems: Sequence[Problem], plans: Sequence[Plan] | None, jobs: int) -> list[Demonstration]:
    """Given problems with their plans, those that the experts do not solve left out."""
    from sgp.datasets.experts import plans_of  # here, because planning needs no experts

    given: list[Plan] = [None] * len(problems) if plans is None else list(plans)
    if len(given) != len(problems):
        raise SuiteError(f"{len(given)} plans are given for {len(problems)} problems; expected one of each, or none")
    missing = [problem for problem, plan in zip(problems, given, strict=True) if plan is None]
    made, errors = plans_of(missing, STAGES, jobs, "expert plans")
    for error in errors.values():
        raise error
    shown = []
    for problem, plan in zip(problems, given, strict=True):
        known = made[problem.sha256].plan if plan is None else plan
        if known is not None:
            actions = parse_plan(known, f"plan of {problem.name}") if isinstance(known, str) else tuple(known)
            shown.append(Demonstration(problem, actions))
    return shown


def contrasted_actions(transition: Transition, rng: Generator, most: int = MOST_ACTIONS) -> list[Action]:
    """The action of a transition, then others that are applicable before it, drawn: `most` in all."""
    task, before, action, _ = transition
    others = [other for other in task.applicable(before) if other != action]
    return [action, *(others[place] for place in rng.permutation(len(others))[: most - 1])]


def steps_of(trajectory: Trajectory) -> list[Transition]:
    """The transitions of a trajectory."""
    steps = zip(trajectory.states, trajectory.actions, trajectory.states[1:], strict=False)
    return [Transition(trajectory.task, before, action, after) for before, action, after in steps]


def trajectories(suite: Suite | str, domain: str, split: str) -> list[Trajectory]:
    """The expert trajectories of a split, replayed; problems without a plan are left out."""
    from sgp.datasets.suite import load_suite

    return [each.replayed() for each in demonstrations(load_suite(suite), domain, split)]


def demonstrations(
    suite: Suite, domain: str, split: str, stages: Sequence[Stage] = STAGES, jobs: int = 1
) -> list[Demonstration]:
    """The problems of a split with their expert plans, which are made where missing; those without one are left out."""
    from sgp.datasets.experts import expert_plans

    plans = expert_plans(suite, domain, split, stages, jobs)
    found = [(problem, plans[problem.sha256].plan) for problem in suite.problems(domain, split)]
    return [Demonstration(problem, plan) for problem, plan in found if plan is not None]
