"""What every domain must keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import Formatter
from typing import ClassVar

import numpy as np
import pytest

from sgp.domains import canonical_name, get_domain, serving
from sgp.errors import ConfigurationError
from sgp.planning.domain import Domain
from sgp.planning.experts import find_plan
from sgp.planning.pddl import Problem, read_domain
from sgp.planning.task import Task, replay
from sgp.planning.validation import validate

_MANY, _FEW = 14, 12  # sizes below which problems are generated, and solved by an expert


def _sizes(domain: Domain, most: int) -> list[int]:
    return [size for size in range(1, most) if domain.sizes.has(size)]


def _problem(domain: Domain, seed: int, size: int) -> Problem:
    return Problem("generated", domain.pddl, domain.generate_size(np.random.default_rng(seed), size))


class DomainContract:
    """The contract of the domains that a subclass names; each has a problem of fewer than 12 objects.

    `smallest` is how many of the smallest sizes an expert solves.
    """

    names: ClassVar[Sequence[str]] = ()
    smallest: ClassVar[int] = 3

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Every test runs over every domain."""
        assert self.names, f"{type(self).__name__} names no domain; expected some in 'names'"
        if "domain" in metafunc.fixturenames:
            metafunc.parametrize("domain", [get_domain(name) for name in self.names], ids=list(self.names))

    def test_a_problem_of_size_n_has_exactly_n_objects(self, domain: Domain) -> None:
        """Constants of the domain are not among them."""
        for size in _sizes(domain, _MANY):
            for seed in range(3):
                task = Task(_problem(domain, seed, size))
                assert len(task.text.objects) == size == task.size - len(task.domain_text.constants)
                assert task.text.domain == task.domain_text.name

    def test_every_solution_of_the_size_equation_counts_right(self, domain: Domain) -> None:
        """And none is given twice."""
        for size in _sizes(domain, 30):
            solutions = list(domain.sizes.solutions(size))
            assert all(domain.sizes.count(**solution) == size for solution in solutions)
            assert len({tuple(solution.items()) for solution in solutions}) == len(solutions)

    def test_arguments_are_drawn_from_all_solutions_alike(self, domain: Domain) -> None:
        """Each of the solutions of one size as often as another."""
        sizes = {size: [tuple(each.items()) for each in domain.sizes.solutions(size)] for size in _sizes(domain, _MANY)}
        size, solutions = max((each for each in sizes.items() if len(each[1]) <= 12), key=lambda each: len(each[1]))
        rng = np.random.default_rng(2)
        drawn = Counter(tuple(domain.sizes.draw(rng, size).items()) for _ in range(200 * len(solutions)))
        assert set(drawn) == set(solutions)
        # 200 expected of each, with a standard deviation of 14.
        assert all(abs(count - 200) < 70 for count in drawn.values()), drawn

    def test_problems_begin_unsolved(self, domain: Domain) -> None:
        """There is something to do."""
        for size in _sizes(domain, _MANY)[-3:]:
            for seed in range(4):
                task = Task(_problem(domain, seed, size))
                assert not task.is_goal(task.init)

    def test_actions_are_the_same_before_and_while_searching(self, domain: Domain) -> None:
        """Types, hierarchies and constants mean the same to both ways of instantiating actions."""
        problem = _problem(domain, 7, max(_sizes(domain, _MANY)))
        grounded, lifted = (Task(problem, mode) for mode in ("grounded", "lifted"))
        here, there = grounded.init, lifted.init
        for step in range(4):
            ours, theirs = grounded.successors(here), lifted.successors(there)
            assert [each.actions for each in ours] == [each.actions for each in theirs]
            here, there = (each[step % len(each)].state for each in (ours, theirs))

    def test_the_smallest_problems_are_solvable(self, domain: Domain) -> None:
        """By Fast Downward, whose plan VAL and our simulator accept."""
        if not domain.solvable:
            pytest.skip("claims no plans")
        for seed, size in enumerate(_sizes(domain, _FEW)[: self.smallest]):
            problem = _problem(domain, seed, size)
            plan = find_plan(problem).plan
            assert plan is not None
            task = Task(problem)
            assert task.is_goal(replay(task, plan)[-1])
            assert validate(problem, plan).valid

    def test_the_same_seed_gives_the_same_problem_and_others_differ(self, domain: Domain) -> None:
        """Problems are drawn from the generator that is handed in, and from nothing else."""
        size = max(_sizes(domain, _FEW))
        texts = [domain.generate_size(np.random.default_rng(seed), size) for seed in (1, 1, 2, 3, 4, 5)]
        assert texts[0] == texts[1]
        assert len(set(texts)) > 2

    def test_a_size_without_solution_says_so(self, domain: Domain) -> None:
        """With the size to try."""
        least = min(_sizes(domain, _MANY))
        with pytest.raises(ConfigurationError, match=f"no problem of exactly 0 objects; try {least}$"):
            domain.generate_size(np.random.default_rng(0), 0)

    def test_arguments_are_checked(self, domain: Domain) -> None:
        """One out of bounds, one unknown, one missing."""
        name, (least, _) = next(iter(domain.sizes.bounds.items()))
        rng = np.random.default_rng(0)
        smallest = {other: bounds[0] for other, bounds in domain.sizes.bounds.items()}
        with pytest.raises(ConfigurationError, match=f"{name} is {least - 1}; expected {least}"):
            domain.generate(rng, **{**smallest, name: least - 1})
        with pytest.raises(ConfigurationError, match="unknown argument colour"):
            domain.generate(rng, colour=1)
        with pytest.raises(ConfigurationError, match=f"argument {name} is missing"):
            domain.generate(rng)

    def test_a_domain_is_found_by_name_alias_and_signature(self, domain: Domain) -> None:
        """Whatever the case of its letters."""
        for name in (domain.name, *domain.aliases):
            assert get_domain(name.upper()) is domain
            assert canonical_name(name) == domain.name
        for model in domain.models.values():
            assert serving(read_domain(model)) is domain

    def test_every_predicate_and_action_has_a_template_that_mentions_each_argument_once(self, domain: Domain) -> None:
        """In words, of all its models; those for models of others stand apart, and are no second ones."""
        atoms: dict[str, int] = {}
        actions: dict[str, int] = {}
        for text in domain.texts.values():
            atoms.update(text.predicates)
            actions.update((name, len(schema.parameters)) for name, schema in text.schemas.items())
        words, others = domain.words, domain.others_words
        for templates, foreign, arities, more in (
            (words.atoms, others.atoms, atoms, ["not"]),
            (words.actions, others.actions, actions, []),
        ):
            assert templates.keys() == arities.keys()
            assert not foreign.keys() & arities.keys()
            for name, template in {**templates, **foreign}.items():
                fields = [part[1:] for part in Formatter().parse(template) if part[1] is not None]
                arity = arities.get(name, len(fields) - len(more))
                assert sorted(fields) == sorted((each, "", None) for each in [*map(str, range(arity)), *more]), name
