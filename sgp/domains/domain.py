"""A domain: PDDL, problem generator, size equation, English sentences and drawing."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sgp.errors import ConfigurationError
from sgp.planning.pddl import Action, Atom, DomainText, Literal, Parameter, read_domain

if TYPE_CHECKING:
    import numpy as np

Generator: TypeAlias = "np.random.Generator"  # a string, because the dashboard draws without importing numpy
Arguments: TypeAlias = Mapping[str, int]
Item = TypeVar("Item")
_MOST_EMPTY = 200  # consecutive sizes without problems before the search ends
_MOST_GROWTHS = 100  # draws of exponents for the arguments of a larger problem


def any_arguments(**arguments: int) -> bool:
    """Accept all arguments within the bounds."""
    return True


@dataclass(frozen=True)
class Sizes:
    """The generator's arguments and the size equation.

    `bounds` has the least and greatest value of each argument (None: unbounded). `count` returns the number of declared
    objects, without constants; it increases with every argument. `allowed` checks constraints between arguments. `free`
    arguments are optional and omitted from enumerations of sizes (such as the number of packages with a goal).
    """

    bounds: Mapping[str, tuple[int, int | None]]
    count: Callable[..., int]
    allowed: Callable[..., bool] = any_arguments
    free: frozenset[str] = frozenset()

    def check(self, arguments: Arguments) -> None:
        """Raise ConfigurationError for unknown, missing, conflicting or out-of-bounds arguments."""
        for name in arguments:
            if name not in self.bounds:
                raise ConfigurationError(f"unknown argument {name}; expected {', '.join(self.bounds)}")
        for name, (least, most) in self.bounds.items():
            if name in arguments:
                value = arguments[name]
                if value < least or (most is not None and value > most):
                    raise ConfigurationError(f"{name} is {value}; expected {least} to {most or 'any number'}")
            elif name not in self.free:
                raise ConfigurationError(f"argument {name} is missing; expected {', '.join(self.bounds)}")
        if not self.allowed(**arguments):
            values = ", ".join(f"{name} {value}" for name, value in arguments.items())
            raise ConfigurationError(f"the arguments conflict ({values}); see the domain's size constraints")

    def solutions(self, size: int) -> Iterator[dict[str, int]]:
        """Enumerate all arguments, without free ones, that give exactly `size` objects."""
        least = {name: self.bounds[name][0] for name in self._required}
        return (solution for solution in self._enumerate(self._required, least, size) if self.allowed(**solution))

    def has(self, size: int) -> bool:
        """Whether a problem of exactly `size` objects exists."""
        return next(self.solutions(size), None) is not None

    def nearest(self, size: int) -> int:
        """Return the nearest size with problems, the smaller on a tie. Raises ConfigurationError if none is near."""
        near = (place for step in range(abs(size) + _MOST_EMPTY) for place in (size - step, size + step))
        if (nearest := next(filter(self.has, near), None)) is not None:
            return nearest
        raise ConfigurationError(f"no size near {size} has problems; expected arguments that fit some size")

    def only(self, fits: Callable[..., bool]) -> Sizes:
        """Restrict the sizes to arguments that also satisfy `fits`."""
        return replace(self, allowed=lambda **arguments: fits(**arguments) and self.allowed(**arguments))

    def above(self, size: int) -> Iterator[int]:
        """Yield the sizes above `size` that have problems, until too long a gap."""
        empty = 0
        while empty < _MOST_EMPTY:
            size += 1
            empty = 0 if self.has(size) else empty + 1
            if not empty:
                yield size

    def draw(
        self, rng: Generator, size: int, free: Sequence[str] = (), smaller: Arguments | None = None
    ) -> dict[str, int]:
        """Draw a solution of the size equation, then the named `free` arguments.

        The solution is uniform or, where that is possible, grown from the arguments of a `smaller` problem. A free
        argument is uniform over the values, at most `size`, that the others allow.
        """
        if not self.has(size):
            raise ConfigurationError(f"no arguments give exactly {size} objects; expected a size that has problems")
        solution = None if smaller is None else self._grown(rng, size, smaller)
        solution = solution or self._uniform(rng, size)
        for name in free:
            low, most = self.bounds[name]
            values = range(low, min(size, most or size) + 1)
            solution[name] = int(rng.choice([v for v in values if self.allowed(**{**solution, name: v})]))
        return solution

    def _uniform(self, rng: Generator, size: int) -> dict[str, int]:
        """Draw a solution uniformly.

        Rejection sampling avoids the enumeration of up to hundreds of thousands of solutions. All arguments but the
        last are drawn from their possible values until the last one, which has at most one value, completes them.
        """
        *names, last = self._required
        least = {name: self.bounds[name][0] for name in self._required}
        ends = {name: self._first(least, name, size + 1) for name in names}
        solutions: list[dict[str, int]] = []
        while not solutions:
            drawn = {name: int(rng.integers(least[name], ends[name])) for name in names}
            solutions = [each for each in self._enumerate([last], {**least, **drawn}, size) if self.allowed(**each)]
        return solutions[0]

    def _grown(self, rng: Generator, size: int, smaller: Arguments) -> dict[str, int] | None:
        """Draw a solution whose arguments have grown by different powers of one factor; None if none was found.

        The exponents are uniform between 0 and 1: one argument may stay as it is while another grows. None grows by
        more than twice the factor of the size.
        """
        names, most = self._required, 2 * size / self.count(**smaller)
        for _ in range(_MOST_GROWTHS):
            arguments = self._multiplied(size, smaller, dict(zip(names, rng.random(len(names)).tolist(), strict=True)))
            for name in rng.permutation(names).tolist():  # the first that adds the missing objects
                for solution in self._enumerate([name], arguments, size):
                    fits = all(smaller[each] <= solution[each] <= most * smaller[each] for each in names)
                    if fits and self.allowed(**solution):
                        return solution
        return None

    def _multiplied(self, size: int, smaller: Arguments, exponents: Mapping[str, float]) -> dict[str, int]:
        """Multiply arguments by powers of the largest factor (of hundredths) that gives at most `size` objects."""

        def grown(step: int) -> dict[str, int]:
            values = {name: int(smaller[name] * (1 + step / 100) ** power) for name, power in exponents.items()}
            return {name: min(value, self.bounds[name][1] or value) for name, value in values.items()}

        steps = bisect_right(range(100 * size), size, key=lambda step: self.count(**grown(step)))
        return grown(max(steps - 1, 0))

    @property
    def _required(self) -> list[str]:
        return [name for name in self.bounds if name not in self.free]

    def _first(self, chosen: Arguments, name: str, size: int) -> int:
        """Return the least value of an argument that gives at least `size` objects, or its maximum plus one."""
        least, most = self.bounds[name]
        last = size + least if most is None else most  # every argument adds at least one object
        return bisect_left(range(last + 1), size, lo=least, key=lambda value: self.count(**{**chosen, name: value}))

    def _enumerate(self, names: Sequence[str], chosen: dict[str, int], size: int) -> Iterator[dict[str, int]]:
        """Enumerate arguments; a value is pruned if the minimum of the others exceeds the size."""
        name, rest = names[0], names[1:]
        if rest:
            for value in range(self.bounds[name][0], self._first(chosen, name, size + 1)):
                yield from self._enumerate(rest, {**chosen, name: value}, size)
            return
        solution = {**chosen, name: self._first(chosen, name, size)}
        most = self.bounds[name][1]
        if self.count(**solution) == size and (most is None or solution[name] <= most):
            yield solution


MOST_OBJECTS = 100_000  # of a generated problem


@dataclass(frozen=True)
class Scaling:
    """Problem sizes for training, selection and measurement (dynamic validation, Tables 2 and 3).

    `train` and `validation` are disjoint numbers of objects. `bound` limits the plan length in validation (None: three
    times the mean length of expert plans for the largest training problems). Problems are drawn from the solutions of
    the size equation that satisfy `only`; `drawn` free arguments are uniform, `given` ones fixed.
    """

    train: Sequence[int]
    validation: Sequence[int]
    bound: int | None = None
    only: Callable[..., bool] = any_arguments
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
    """Least and greatest numbers of objects of each split in the IPC 2023 learning track (AIW-AD, Table 8).

    Generated problems are solutions of the size equation that satisfy `only`.
    """

    train: Sequence[int]
    validation: Sequence[int]
    test: Sequence[int]
    only: Callable[..., bool] = any_arguments

    def __post_init__(self) -> None:
        if not 0 < self.train[0] <= self.train[1] < self.test[1]:
            raise ConfigurationError(
                f"training has {self.train[0]} to {self.train[1]} objects and tests have {self.test[1]} at most; "
                "expected more in tests than in training"
            )


@dataclass(frozen=True)
class Growth:
    """The generator's arguments of suite `huge`, whose problems have up to 50,000 objects.

    A problem of at most n objects has the `fixed` arguments, and those of `per` times the largest whole number that n
    allows. `most` is the largest n whose problems are generated within 20 s and 4 GB. Where a size has one problem,
    the value of the argument `numbered` is the problem's number minus one, so that the five problems differ.
    """

    per: Mapping[str, int]
    fixed: Mapping[str, int] = field(default_factory=dict)
    most: int = MOST_OBJECTS
    numbered: str = ""

    def arguments(self, sizes: Sizes, size: int, number: int) -> dict[str, int]:
        """Return the arguments of problem `number` (from 1) of at most `size` objects."""
        own = {**self.fixed, self.numbered: number - 1} if self.numbered else self.fixed

        def grown(step: int) -> dict[str, int]:
            return {**own, **{name: share * step for name, share in self.per.items()}}

        return grown(bisect_right(range(size + 2), size, lo=1, key=lambda step: sizes.count(**grown(step))) - 1)


@dataclass(frozen=True)
class Slots:
    """State variables of a fixed-size factored encoding (state-centric, Table 6).

    `values` maps object numbers (from 1) and atoms to slot values. Slot 0 is the global variable (always 0 without
    `has_global`); slot i belongs to object i.
    """

    values: Callable[[Mapping[str, int], Iterable[Atom]], dict[int, int]]
    has_global: bool = False


Place = tuple[str, ...]  # a place in a drawing, named by its domain


@dataclass(frozen=True, eq=False)
class Places:
    """Positions of objects in a series of drawings: the slot (from 0) of each object in a place."""

    slots: Mapping[tuple[str, Place], int]
    capacity: Mapping[Place, int]  # over the whole series
    sizes: dict[Place, tuple[float, float]] = field(default_factory=dict)  # width and height of the drawn places


@dataclass(frozen=True)
class Scene:
    """The content of a drawing: objects (with constants), all true atoms (also static ones), and the goal.

    If `partial`, the atoms are a goal and all other atoms are undetermined. A scene of a series has `places`, so that
    unaffected objects keep their positions. Without `counted`, no line below it has the number of satisfied goals.
    """

    objects: tuple[Parameter, ...]
    atoms: frozenset[Atom]
    goal: tuple[Literal, ...]
    partial: bool = False
    places: Places | None = None
    counted: bool = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Object names in PDDL order."""
        return tuple(name for name, _ in self.objects)

    @cached_property
    def place(self) -> dict[str, int]:
        """Index of each object in PDDL order."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def ordered(self) -> tuple[Atom, ...]:
        """Atoms in a deterministic order: by predicate and by the order of their objects."""
        last = len(self.objects)

        def key(atom: Atom) -> tuple[str, list[tuple[int, str]]]:
            return atom.predicate, [(self.place.get(name, last), name) for name in atom.objects]

        return tuple(sorted(self.atoms, key=key))

    @cached_property
    def _by_predicate(self) -> dict[tuple[str, int], list[tuple[str, ...]]]:
        tuples: dict[tuple[str, int], list[tuple[str, ...]]] = {}
        for predicate, objects in self.ordered:
            tuples.setdefault((predicate, len(objects)), []).append(objects)
        return tuples

    @cached_property
    def about(self) -> dict[str, list[Atom]]:
        """Atoms by first object."""
        atoms: dict[str, list[Atom]] = {}
        for atom in self.ordered:
            if atom.objects:
                atoms.setdefault(atom.objects[0], []).append(atom)
        return atoms

    @cached_property
    def goals_of(self) -> dict[str, list[Literal]]:
        """Positive goal literals by first object of the scene; none if the scene is the goal."""
        goals: dict[str, list[Literal]] = {}
        for literal in () if self.partial else self.goal:
            if literal.positive and literal.atom.objects and literal.atom.objects[0] in self.place:
                goals.setdefault(literal.atom.objects[0], []).append(literal)
        return goals

    def unary(self, predicate: str) -> list[str]:
        """Return the objects of which a unary predicate is true."""
        return [name for (name,) in self._by_predicate.get((predicate, 1), ())]

    def pairs(self, predicate: str) -> list[tuple[str, str]]:
        """Return the object pairs of which a predicate is true."""
        return [(first, second) for first, second in self._by_predicate.get((predicate, 2), ())]

    def holds(self, literal: Literal) -> bool:
        """Whether a goal literal is satisfied in the scene."""
        return (literal.atom in self.atoms) == literal.positive


@dataclass(frozen=True)
class Words:
    """Sentence templates: `atoms` by predicate, `actions` by action, of all models of a domain.

    `{0}` is the first object, `{1}` the second. In an atom's template, `{not}` is the negation.
    """

    atoms: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)

    def sentence(self, fact: Atom | Literal | Action) -> str:
        """Describe an atom, literal or action in English; as PDDL if no template fits."""
        atom, positive = fact if isinstance(fact, Literal) else (fact, True)
        name, objects = atom
        template = (self.actions if isinstance(fact, Action) else self.atoms).get(name)
        if template is None or not _fits(template, len(objects)):
            return str(fact)
        return template.format(*objects, **{"not": "" if positive else "not "})

    def __or__(self, more: Words) -> Words:
        """Merge two sets of templates."""
        return Words({**self.atoms, **more.atoms}, {**self.actions, **more.actions})

    def lacking(self, text: DomainText) -> list[str]:
        """Return a domain's predicates and actions without a template of their arity."""
        kinds = zip((self.atoms, self.actions), text.signature, strict=True)
        return [name for templates, names in kinds for name, arity in names if not _fits(templates.get(name), arity)]


def _fits(template: str | None, arity: int) -> bool:
    return template is not None and template.replace("{not}", "").count("{") == arity


@dataclass(frozen=True)
class Domain:
    """A planning domain; all extras are optional.

    `models` maps vocabularies ("untyped", "typed") to PDDL. `generator` makes a problem of the first model from a
    random generator and checked arguments; the problem has a plan unless `solvable` is false. `renamed` has the
    predicate names of other models. `splits` maps bundled suites to splits, and each split to generator arguments, one
    entry per problem. `scaling` configures measurement over sizes, `track` the sizes of the IPC 2023, and `huge` the
    arguments of suite `huge`. `slots` are the variables of the fixed-size encoding. `words` has English templates of
    atoms and actions; `others_words` has those of external models. `draw` makes an SVG of a scene or a partial goal.
    `arrange` assigns places to the scenes of a series, each with the index of its predecessor (-1: none).
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
    huge: Growth | None = None
    slots: Slots | None = None
    words: Words = field(default_factory=Words)
    others_words: Words = field(default_factory=Words)
    draw: Callable[[Scene], str] | None = None
    arrange: Callable[[Sequence[Scene], Sequence[int]], Sequence[Scene]] | None = None
    solvable: bool = True

    @property
    def pddl(self) -> str:
        """The model of generated problems and bundled suites."""
        return next(iter(self.models.values()))

    @cached_property
    def texts(self) -> dict[str, DomainText]:
        """The declarations of each model."""
        return {model: read_domain(pddl, f"{self.name} ({model})") for model, pddl in self.models.items()}

    def generate(self, rng: Generator, **arguments: int) -> str:
        """Generate a problem. Raises ConfigurationError for arguments that the sizes do not allow."""
        self.sizes.check(arguments)
        return self.generator(rng, **arguments)

    def generate_size(self, rng: Generator, size: int) -> str:
        """Generate a problem of exactly `size` objects, uniform over the solutions of the size equation."""
        self.check_size(size)
        return self.generate(rng, **self.sizes.draw(rng, size))

    @cached_property
    def scaled(self) -> Sizes:
        """Sizes of the problems of `scaling`."""
        return self.sizes if self.scaling is None else self.sizes.only(self.scaling.only)

    @cached_property
    def tracked(self) -> Sizes:
        """Sizes of the problems of `track`."""
        return self.scaled if self.track is None else self.scaled.only(self.track.only)

    def generate_scaled(
        self, rng: Generator, size: int, tracked: bool = False, smaller: Arguments | None = None
    ) -> str:
        """Generate a problem of `size` objects as in `scaling`, if `tracked` of a size in `track`.

        With the arguments of a `smaller` problem it is a larger one of the same kind (see `Sizes.draw`).
        """
        drawn, given = (self.scaling.drawn, self.scaling.given) if self.scaling else ((), {})
        sizes = self.tracked if tracked else self.scaled
        return self.generate(rng, **sizes.draw(rng, size, drawn, smaller), **given)

    def check_size(self, size: int) -> None:
        """Raise ConfigurationError, with the nearest sizes, if no problem has exactly `size` objects."""
        if size > MOST_OBJECTS:
            raise ConfigurationError(
                f"size is {size:,} objects; expected at most {MOST_OBJECTS:,}, because larger problems of {self.name} "
                "would take hours to write and to read"
            )
        if not self.sizes.has(size):
            below, above = range(size - 1, 0, -1), range(size + 1, 2 * size + 99)
            nearest = [next(filter(self.sizes.has, sizes), None) for sizes in (below, above)]
            near = " or ".join(str(other) for other in nearest if other) or "another size"
            raise ConfigurationError(f"{self.name} has no problem of exactly {size} objects; try {near}")

    def translated(self, problem: str, model: str) -> str:
        """Translate a generated problem to another model. Raises ConfigurationError for an unknown model."""
        if model not in self.models:
            raise ConfigurationError(f"{self.name} has no model '{model}'; expected one of {', '.join(self.models)}")
        names = self.renamed.get(model, {})
        return re.sub(r"(?<=\()[^\s()]+", lambda word: names.get(word[0], word[0]), problem)

    def serves(self, text: DomainText) -> bool:
        """Whether the text has the predicates and actions of one of this domain's models."""
        return any(text.signature == model.signature for model in self.texts.values())


def numbered(word: str, count: int) -> list[str]:
    """Return the names `word1`, `word2`, ... of `count` objects."""
    return [f"{word}{number}" for number in range(1, count + 1)]


def pick(rng: Generator, items: Sequence[Item]) -> Item:
    """Draw an item uniformly."""
    return items[int(rng.integers(len(items)))]


def typed(objects: Mapping[str, Sequence[str]]) -> list[str]:
    """Format typed objects for the `:objects` section."""
    return [word for kind, names in objects.items() if names for word in (*names, "-", kind)]


def problem_pddl(name: str, domain: str, objects: Sequence[str], init: Sequence[str], goal: Sequence[str]) -> str:
    """Format a problem, one fact a line."""
    true, wanted = ("".join(f"\n    {fact}" for fact in facts) for facts in (init, goal))
    return (
        f"(define (problem {name})\n  (:domain {domain})\n  (:objects {' '.join(objects)})\n"
        f"  (:init{true})\n  (:goal (and{wanted})))\n"
    )
