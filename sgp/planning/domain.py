"""What the house knows of a domain beyond its PDDL: sizes, a generator, and extras for people."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count as count_up
from typing import TYPE_CHECKING, Any

from sgp.errors import ConfigurationError
from sgp.planning.pddl import Atom, DomainText, Literal, Parameter, read_domain
from sgp.planning.words import Words

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

Arguments = Mapping[str, int]
_MOST_EMPTY = 200


def _always(**arguments: int) -> bool:
    return True


@dataclass(frozen=True)
class Sizes:
    """The arguments of a generator and the size equation.

    `bounds` gives each argument's least and greatest value (None: unbounded), `count` the number of objects that a
    problem declares (those of the domain, its constants, not among them), growing with every argument, and `allowed`
    what else the arguments must satisfy together.
    `free` are arguments that may be left out, and that an enumeration of all sizes leaves out (how many packages have
    a goal, say).
    """

    bounds: Mapping[str, tuple[int, int | None]]
    count: Callable[..., int]
    allowed: Callable[..., bool] = _always
    free: frozenset[str] = frozenset()

    def check(self, arguments: Arguments) -> None:
        """Raises ConfigurationError for arguments that are unknown, missing, out of bounds or in conflict."""
        for name in arguments:
            if name not in self.bounds:
                raise ConfigurationError(f"unknown argument {name}; expected {', '.join(self.bounds)}")
        for name, (least, most) in self.bounds.items():
            if name not in arguments:
                if name in self.free:
                    continue
                raise ConfigurationError(f"argument {name} is missing; expected {', '.join(self.bounds)}")
            value = arguments[name]
            if value < least or (most is not None and value > most):
                raise ConfigurationError(f"{name} is {value}; expected {least} to {most or 'any number'}")
        if not self.allowed(**arguments):
            listed = ", ".join(f"{name} {value}" for name, value in arguments.items())
            raise ConfigurationError(f"the arguments conflict ({listed}); see the domain's size constraints")

    def solutions(self, size: int) -> Iterator[dict[str, int]]:
        """All arguments (free ones left out) with exactly `size` objects, by plain enumeration."""
        least = {name: self.bounds[name][0] for name in self._named}
        return (found for found in self._enumerate(self._named, least, size) if self.allowed(**found))

    def has(self, size: int) -> bool:
        """Whether there is a problem of exactly `size` objects."""
        return next(self.solutions(size), None) is not None

    def nearest(self, size: int) -> int:
        """The size nearest to one that has problems, the smaller of two. Hangs where no size has any."""
        return next(each for away in count_up() for each in (size - away, size + away) if self.has(each))

    def only(self, fits: Callable[..., bool]) -> Sizes:
        """The sizes of the problems whose arguments fit, too."""
        return replace(self, allowed=lambda **arguments: fits(**arguments) and self.allowed(**arguments))

    def above(self, size: int) -> Iterator[int]:
        """The sizes above one that have problems, until so many in a row have none that no larger one is looked for."""
        empty = 0
        while empty < _MOST_EMPTY:
            size += 1
            empty = 0 if self.has(size) else empty + 1
            if not empty:
                yield size

    def draw(self, rng: Generator, size: int, free: Sequence[str] = ()) -> dict[str, int]:
        """One of the solutions for a size that has some, all equally probable; then the `free` ones that are named.

        Solutions can be hundreds of thousands: all arguments but the last are drawn, each from all values that it can
        have alone, and drawn again until the last one, of which at most one value fits, completes them. A free
        argument is uniform over the values, `size` at most, that the others allow.
        """
        found = self._draw(rng, size)
        for name in free:
            least, most = self.bounds[name]
            values = [value for value in range(least, min(size, most or size) + 1) if self._fits(found, name, value)]
            found[name] = int(rng.choice(values))
        return found

    def _fits(self, found: Arguments, name: str, value: int) -> bool:
        return self.allowed(**{**found, name: value})

    def _draw(self, rng: Generator, size: int) -> dict[str, int]:
        *names, last = self._named
        least = {name: self.bounds[name][0] for name in self._named}
        ends = {name: self._first(least, name, size + 1) for name in names}
        while True:
            drawn = {name: int(rng.integers(least[name], ends[name])) for name in names}
            for found in self._enumerate([last], {**least, **drawn}, size):
                if self.allowed(**found):
                    return found

    @property
    def _named(self) -> list[str]:
        return [name for name in self.bounds if name not in self.free]

    def _first(self, chosen: Mapping[str, int], name: str, size: int) -> int:
        """The least value of an argument that gives `size` objects or more, or one more than it can have."""
        least, most = self.bounds[name]
        last = size + least if most is None else most  # every argument adds an object at least
        return bisect_left(range(last + 1), size, lo=least, key=lambda value: self.count(**{**chosen, name: value}))

    def _enumerate(self, names: Sequence[str], chosen: dict[str, int], size: int) -> Iterator[dict[str, int]]:
        """Raises each argument but the last in turn while the least that the others can add still fits."""
        name, rest = names[0], names[1:]
        if rest:
            for value in range(self.bounds[name][0], self._first(chosen, name, size + 1)):
                yield from self._enumerate(rest, {**chosen, name: value}, size)
            return
        found = {**chosen, name: self._first(chosen, name, size)}
        most = self.bounds[name][1]
        if self.count(**found) == size and (most is None or found[name] <= most):
            yield found


MOST_OBJECTS = 100_000  # of a generated problem


@dataclass(frozen=True)
class Scaling:
    """How a planner for the domain is trained, selected and measured over sizes (dynamic validation, Tables 2 and 3).

    `train` and `validation` are numbers of objects, none in both; `bound` is the most actions of a plan in validation
    (None: three times the mean length of the expert plans for the largest training problems). Problems are drawn from
    those solutions of the size equation that satisfy `only`, with the free arguments in `drawn` drawn uniformly and
    those in `given` given.
    """

    train: Sequence[int]
    validation: Sequence[int]
    bound: int | None = None
    only: Callable[..., bool] = _always
    drawn: Sequence[str] = ()
    given: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.train or not self.validation or max(self.train) >= min(self.validation):
            raise ConfigurationError(
                f"training sizes are {list(self.train)}, validation sizes {list(self.validation)}; expected some of "
                "each, the latter larger"
            )


@dataclass(frozen=True)
class Track:
    """The domain's least and most objects in the IPC 2023 learning track (AIW-AD, Table 8).

    Of its training, validation and test problems. Those of ours are drawn from the solutions of the size equation that
    satisfy `only`.
    """

    train: tuple[int, int]
    validation: tuple[int, int]
    test: tuple[int, int]
    only: Callable[..., bool] = _always

    def __post_init__(self) -> None:
        if not 0 < self.train[0] <= self.train[1] < self.test[1]:
            raise ConfigurationError(
                f"training has {self.train[0]} to {self.train[1]} objects and tests have {self.test[1]} at most; "
                "expected more in tests than in training"
            )


@dataclass(frozen=True)
class Slots:
    """The state variables of a fixed-size factored encoding (state-centric, Table 6).

    `values` maps a numbering of the objects (from 1) and atoms to what the atoms say: slot 0 is the global variable
    (where `has_global`; else it is always 0), slot i that of object i.
    """

    values: Callable[[Mapping[str, int], Iterable[Atom]], dict[int, int]]
    has_global: bool = False


Place = tuple[str, ...]  # of a drawing, as its domain names it


@dataclass(frozen=True, eq=False)
class Places:
    """Where objects stand in a drawing of a series: their slots (from 0) in places, and how many each place needs."""

    slots: Mapping[tuple[str, Place], int]
    rooms: Mapping[Place, int]  # in the whole series


@dataclass(frozen=True)
class Scene:
    """What a drawing shows: the objects (constants included), all true atoms, static ones too, and the goal.

    Where `partial`, the atoms are what a goal asks for: whatever they leave open may be anything. A scene of a series
    has `places`, so that no step moves what it does not touch.
    """

    objects: tuple[Parameter, ...]
    atoms: frozenset[Atom]
    goal: tuple[Literal, ...]
    partial: bool = False
    places: Places | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The objects' names, in the order of the PDDL."""
        return tuple(each.name for each in self.objects)

    @cached_property
    def place(self) -> dict[str, int]:
        """Every object's place in the order of the PDDL."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def ordered(self) -> tuple[Atom, ...]:
        """The atoms by predicate and by their objects' places, so that equal scenes are drawn alike."""
        return tuple(self._sorted(self.atoms))

    def _sorted(self, atoms: Iterable[Atom]) -> list[Atom]:
        last = len(self.objects)
        return sorted(
            atoms, key=lambda atom: (atom.predicate, [(self.place.get(name, last), name) for name in atom.objects])
        )

    @cached_property
    def _by_predicate(self) -> dict[tuple[str, int], list[Atom]]:
        found: dict[tuple[str, int], list[Atom]] = {}
        for atom in self.atoms:
            found.setdefault((atom.predicate, len(atom.objects)), []).append(atom)
        return found

    @cached_property
    def about(self) -> dict[str, list[Atom]]:
        """The atoms by their first object."""
        found: dict[str, list[Atom]] = {}
        for atom in self.ordered:
            if atom.objects:
                found.setdefault(atom.objects[0], []).append(atom)
        return found

    @cached_property
    def wishes(self) -> dict[str, list[Literal]]:
        """The goal's positive literals by their first object, one of the scene's; none where the scene is the goal."""
        found: dict[str, list[Literal]] = {}
        for literal in () if self.partial else self.goal:
            if literal.positive and literal.atom.objects and literal.atom.objects[0] in self.place:
                found.setdefault(literal.atom.objects[0], []).append(literal)
        return found

    def typed(self, kind: str) -> list[str]:
        """The objects declared with a type."""
        return [each.name for each in self.objects if kind in each.types]

    def tuples(self, predicate: str, arity: int) -> list[tuple[str, ...]]:
        """The tuples of objects of which a predicate is true."""
        return [atom.objects for atom in self._sorted(self._by_predicate.get((predicate, arity), ()))]

    def unary(self, predicate: str) -> list[str]:
        """The objects of which a predicate is true."""
        return [name for _, (name,) in self._sorted(self._by_predicate.get((predicate, 1), ()))]

    def pairs(self, predicate: str) -> list[tuple[str, str]]:
        """The pairs of objects of which a predicate is true."""
        return [(first, second) for _, (first, second) in self._sorted(self._by_predicate.get((predicate, 2), ()))]

    def holds(self, literal: Literal) -> bool:
        """Whether a literal of the goal is true here."""
        return (literal.atom in self.atoms) == literal.positive


@dataclass(frozen=True)
class Domain:
    """One planning domain. A domain without extras still plans.

    `models` holds the domain's PDDL per vocabulary ("untyped", "typed"); `generator` makes a problem's PDDL, of the
    first of them, from a random generator and checked arguments: one that has a plan, unless `solvable` is false;
    `renamed` tells what further models call predicates of the first; `splits` maps a bundled suite's name to its splits
    and, for each split, to the generator's arguments, one entry per problem; `scaling` says how planners are measured
    over sizes; `track` how large the IPC 2023's problems are; `slots` are the variables of the fixed-size encoding;
    `words` says atoms and actions in English, `others_words` what models of others have beside them; `draw` makes an
    SVG of a scene, a goal's (partial) one included, and `arrange` gives the scenes
    of a series their places, each following the one whose number (-1: none) stands beside.
    """

    name: str
    title: str
    models: Mapping[str, str]
    sizes: Sizes
    generator: Callable[..., str]
    aliases: tuple[str, ...] = ()
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    splits: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = field(default_factory=dict)
    scaling: Scaling | None = None
    track: Track | None = None
    slots: Slots | None = None
    words: Words = field(default_factory=Words)
    others_words: Words = field(default_factory=Words)
    draw: Callable[[Scene], str] | None = None
    arrange: Callable[[Sequence[Scene], Sequence[int]], Sequence[Scene]] | None = None
    solvable: bool = True

    @property
    def pddl(self) -> str:
        """The model that generated problems, and so the bundled suites, are of."""
        return next(iter(self.models.values()))

    @cached_property
    def texts(self) -> dict[str, DomainText]:
        """What each model declares."""
        return {
            vocabulary: read_domain(pddl, f"{self.name} ({vocabulary})") for vocabulary, pddl in self.models.items()
        }

    def generate(self, rng: Generator, **arguments: int) -> str:
        """One problem's PDDL. Raises ConfigurationError for arguments that the sizes do not allow."""
        self.sizes.check(arguments)
        return self.generator(rng, **arguments)

    def generate_size(self, rng: Generator, size: int) -> str:
        """One problem of exactly `size` objects, its arguments uniform over the solutions of the size equation.

        Raises ConfigurationError where there are none.
        """
        self.check_size(size)
        return self.generate(rng, **self.sizes.draw(rng, size))

    @cached_property
    def scaled(self) -> Sizes:
        """The sizes of problems on which planners are measured over sizes."""
        return self.sizes if self.scaling is None else self.sizes.only(self.scaling.only)

    @cached_property
    def tracked(self) -> Sizes:
        """The sizes of problems like those of the IPC 2023 learning track."""
        return self.scaled if self.track is None else self.scaled.only(self.track.only)

    def generate_scaled(self, rng: Generator, size: int) -> str:
        """One of the problems of `size` objects on which planners are measured over sizes.

        Hangs where `scaled` has none.
        """
        return self._generate_of(self.scaled, rng, size)

    def generate_tracked(self, rng: Generator, size: int) -> str:
        """One of them like those of the IPC 2023 learning track. Hangs where `tracked` has none of `size` objects."""
        return self._generate_of(self.tracked, rng, size)

    def _generate_of(self, sizes: Sizes, rng: Generator, size: int) -> str:
        drawn, given = (self.scaling.drawn, self.scaling.given) if self.scaling else ((), {})
        return self.generate(rng, **sizes.draw(rng, size, drawn), **given)

    def check_size(self, size: int) -> None:
        """Raises ConfigurationError, with the nearest sizes, where no problem has exactly `size` objects."""
        if size > MOST_OBJECTS:
            raise ConfigurationError(
                f"size is {size:,} objects; expected at most {MOST_OBJECTS:,}, because larger problems of {self.name} "
                "would take hours to write and to read"
            )
        if self.sizes.has(size):
            return
        nearest = (
            next(filter(self.sizes.has, tried), None)
            for tried in (range(size - 1, 0, -1), range(size + 1, 2 * size + 99))
        )
        near = " or ".join(str(other) for other in nearest if other) or "another size"
        raise ConfigurationError(f"{self.name} has no problem of exactly {size} objects; try {near}")

    def translated(self, problem: str, model: str) -> str:
        """A generated problem in the words of another model. Raises ConfigurationError with the models there are."""
        if model not in self.models:
            raise ConfigurationError(f"{self.name} has no model '{model}'; expected one of {', '.join(self.models)}")
        names = self.renamed.get(model, {})
        return re.sub(r"(?<=\()[^\s()]+", lambda word: names.get(word[0], word[0]), problem)

    def serves(self, text: DomainText) -> bool:
        """Whether a domain's text has the predicates and actions of one of this domain's models."""
        return any(text.signature == own.signature for own in self.texts.values())


def typed(objects: Mapping[str, Sequence[str]]) -> list[str]:
    """Objects by their types as words of a problem's list of objects."""
    return [word for kind, names in objects.items() if names for word in (*names, "-", kind)]


def problem_pddl(name: str, domain: str, objects: Sequence[str], init: Sequence[str], goal: Sequence[str]) -> str:
    """The text of a problem, one fact a line."""

    def lines(facts: Sequence[str]) -> str:
        return "".join(f"\n    {fact}" for fact in facts)

    return (
        f"(define (problem {name})\n  (:domain {domain})\n  (:objects {' '.join(objects)})\n"
        f"  (:init{lines(init)})\n  (:goal (and{lines(goal)})))\n"
    )
