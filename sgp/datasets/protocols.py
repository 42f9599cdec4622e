"""Protocols of transition learning: which transitions are training data and which are test data.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), appendix A.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from sgp.datasets.store import home
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import SEVERAL, Transition, Transitions, steps_of
from sgp.datasets.walks import Instance, distinct_transitions, instances
from sgp.errors import InputError, SuiteError, expected_one_of
from sgp.planning.pddl import Action, Atom
from sgp.planning.task import Trajectory

logger = logging.getLogger(__name__)

Protocol = Literal["interpolation", "plan-variant", "extrapolation", "multi-domain", "cross-domain", "leave-one-out"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
OF_SEVERAL = ("multi-domain", "cross-domain", "leave-one-out")  # protocols that need several domains
_SHARE = 0.8  # training share of transitions, plans or instances (embedplan, appendix A)
_VALIDATION = 0.1  # share of the training transitions that select a model; ours


@dataclass(frozen=True, eq=False)
class Part:
    """Training or test part of one domain: transitions, and whole plans where plans or instances are split."""

    domain: str
    transitions: tuple[Transition, ...]
    walks: tuple[Trajectory, ...] = ()


@dataclass(frozen=True)
class ProtocolSplit:
    """Training and test domains of one model; `shots` training transitions of each schema of a test domain left out."""

    suite: str
    protocol: Protocol
    train_domains: tuple[str, ...]
    test_domains: tuple[str, ...]
    seed: int
    max_transitions: int | None = None
    shots: int = 0

    @property
    def domain(self) -> str:
        """The names of all training domains in one."""
        return SEVERAL.join(self.train_domains)

    @property
    def sha256(self) -> str:
        """Hash of everything that determines the training data."""
        walks = (each.sha256 for name in self._learned for each in domain_instances(self.suite, name))
        numbers = map(str, (self.seed, self.max_transitions, _SHARE, _VALIDATION))
        shots = [f"{self.shots} shots"] if self.shots else []
        parts = self.protocol, *self.train_domains, *numbers, *walks, *shots
        return sha256(" ".join(parts).encode()).hexdigest()

    def replayed(self) -> Transitions:
        """The training transitions, a tenth of them for validation."""
        suite = load_suite(self.suite)
        rng = np.random.default_rng([self.seed, 1])
        train, validation = list[Transition](), list[Transition]()
        for name in self.train_domains:
            found = split_instances(self.protocol, domain_instances(self.suite, name), self.seed)[0].transitions
            chosen = [found[place] for place in rng.permutation(len(found))[: self.max_transitions]]
            held = max(round(_VALIDATION * len(chosen)), 1)
            validation += chosen[:held]
            train += chosen[held:]
        train += [shot for name in self._shown for shot in self._shots(name)]
        if not train:
            raise SuiteError(
                f"{self.domain} of suite {self.suite} has one transition to learn from in protocol {self.protocol}; "
                "expected at least two: add instances, or longer ones"
            )
        domains = {name: suite.domain_pddl(name) for name in self._learned}
        return Transitions(self.suite, domains, tuple(train), tuple(validation), self.sha256)

    def held_out(self, domain: str) -> Part:
        """The test part of a domain."""
        part = split_instances(self.protocol, domain_instances(self.suite, domain), self.seed)[1]
        if domain not in self._shown:
            return part
        shots = self._shots(domain)
        read = {_read(each) for each in shots}
        walks = tuple(each for each in part.walks if read.isdisjoint(map(_read, steps_of(each))))
        return replace(_unlike(part, shots), walks=walks)

    @property
    def _shown(self) -> tuple[str, ...]:
        """Test domains of which a few transitions are training data."""
        return self.test_domains if self.shots else ()

    @property
    def _learned(self) -> tuple[str, ...]:
        return (*self.train_domains, *self._shown)

    def _shots(self, domain: str) -> list[Transition]:
        """`shots` drawn transitions of each schema; those of fewer shots are among those of more."""
        found = split_instances(self.protocol, domain_instances(self.suite, domain), self.seed)[1].transitions
        of: dict[str, list[Transition]] = {}
        for place in np.random.default_rng([self.seed, 2]).permutation(len(found)):
            of.setdefault(found[place].action.name, []).append(found[place])
        return [each for some in of.values() for each in some[: self.shots]]


def protocol_splits(
    suite: str, protocol: str, domains: Sequence[str] = (), seed: int = 0, most: int | None = None, shots: int = 0
) -> tuple[ProtocolSplit, ...]:
    """The splits of a protocol over the named domains of a suite, by default all."""
    if protocol not in PROTOCOLS:
        raise InputError(f"unknown protocol '{protocol}'; {expected_one_of(PROTOCOLS, protocol)}")
    if shots < 0 or (shots and protocol != "leave-one-out"):
        raise InputError(
            f"{shots} transitions of each schema in protocol {protocol}; expected 0, or at least 1 in leave-one-out"
        )
    source = load_suite(suite)
    requested = {source.domain(name).name for name in domains}
    names = [name for name in source.domains if not requested or name in requested]
    if protocol in OF_SEVERAL and len(names) < 2:
        raise SuiteError(
            f"protocol {protocol} needs at least two domains; there is {', '.join(names)} alone: name more, or another "
            "protocol"
        )

    def make(train: Sequence[str], test: Sequence[str]) -> ProtocolSplit:
        return ProtocolSplit(source.name, protocol, tuple(train), tuple(test), seed, most, shots)

    others = {name: [other for other in names if other != name] for name in names}
    match protocol:
        case "multi-domain":
            return (make(names, names),)
        case "cross-domain":
            return tuple(make([name], others[name]) for name in names)
        case "leave-one-out":
            return tuple(make(others[name], [name]) for name in names)
        case _:
            return tuple(make([name], [name]) for name in names)


def domain_instances(suite: str, domain: str) -> tuple[Instance, ...]:
    """The instances of a domain, cached in the process: training and measurement share their tasks."""
    return _instances(suite, load_suite(suite).manifest_sha256, home(), domain)


@lru_cache(maxsize=32)
def _instances(suite: str, manifest: str, store: Path, domain: str) -> tuple[Instance, ...]:
    return instances(load_suite(suite), domain)


def split_instances(protocol: Protocol, of: Sequence[Instance], seed: int) -> tuple[Part, Part]:
    """The training and the test part of a domain (embedplan, eq. 4, 12), or all where domains are split."""
    rng = np.random.default_rng([seed, PROTOCOLS.index("extrapolation" if protocol == "multi-domain" else protocol)])
    match protocol:
        case "interpolation":
            return _by_transitions(of, rng)
        case "plan-variant":
            return _by_plans(of, rng)
        case "extrapolation" | "multi-domain":
            return _by_instances(of, rng)
        case _:
            everything = _part(of[0].domain, list(chain.from_iterable(each.walks for each in of)))
            return everything, everything


def _by_transitions(of: Sequence[Instance], rng: np.random.Generator) -> tuple[Part, Part]:
    found = [each for instance in of for each in instance.transitions]
    if len(found) < 2:
        raise SuiteError(f"{of[0].domain} has {len(found)} transition; expected at least two, one to measure on")
    train, test = (Part(of[0].domain, tuple(found[place] for place in side)) for side in _parted(len(found), rng))
    return train, _unlike(test, train.transitions)


def _by_plans(of: Sequence[Instance], rng: np.random.Generator) -> tuple[Part, Part]:
    sides: tuple[list[Trajectory], list[Trajectory]] = ([], [])
    for instance in of:
        if len(instance.walks) > 1:  # instances of one plan are excluded (embedplan, A.2)
            for side, places in zip(sides, _parted(len(instance.walks), rng), strict=True):
                side += [instance.walks[place] for place in places]
        else:
            _warn_of_excluded(instance.domain, instance.name)
    if not sides[0]:
        raise SuiteError(
            f"every instance of {of[0].domain} has one plan alone; protocol plan-variant needs one with two"
        )
    return _part(of[0].domain, sides[0]), _part(of[0].domain, sides[1])


@cache  # every model is measured on the same split
def _warn_of_excluded(domain: str, name: str) -> None:
    logger.warning(
        "instance %s of %s has one plan alone; it is left out of protocol plan-variant, which parts an instance's "
        "plans: add starts to measure it",
        name,
        domain,
    )


def _by_instances(of: Sequence[Instance], rng: np.random.Generator) -> tuple[Part, Part]:
    groups: dict[tuple[frozenset[object], ...], list[Instance]] = {}
    for each in of:
        groups.setdefault((frozenset(each.task.objects), frozenset(each.task.static_atoms)), []).append(each)
    if len(groups) < 2:
        raise SuiteError(
            f"{of[0].domain} has {len(of)} instance with objects and static facts of its own; protocol extrapolation "
            "needs at least two that differ in these"
        )
    equivalent = list(groups.values())
    train, test = (
        _part(of[0].domain, [walk for place in side for instance in equivalent[place] for walk in instance.walks])
        for side in _parted(len(equivalent), rng)
    )
    return train, _unlike(test, train.transitions)


def _part(domain: str, walks: Sequence[Trajectory]) -> Part:
    return Part(domain, distinct_transitions(walks), tuple(walks))


def _unlike(test: Part, learned_from: Sequence[Transition]) -> Part:
    """A test part without transitions that read like a training one. Raises SuiteError where nothing is left."""
    learned = {_read(each) for each in learned_from}
    unread = tuple(each for each in test.transitions if _read(each) not in learned)
    if not unread:
        raise SuiteError(
            f"every transition of {test.domain} that was held out reads like one that is learned from; expected "
            "instances that differ more, or another seed"
        )
    return replace(test, transitions=unread)


def _read(transition: Transition) -> tuple[frozenset[Atom], Action]:
    """A transition as models read it: without the task's static facts and goal."""
    task, before, action, _ = transition
    return frozenset(map(task.fluent, task.fluents(before))), action


def _parted(count: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Random split of the numbers below `count` (at least 2) into a training and a test part."""
    order = rng.permutation(count).tolist()
    learned = min(max(round(_SHARE * count), 1), count - 1)
    return sorted(order[:learned]), sorted(order[learned:])
