"""Contract of domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import Formatter
from typing import ClassVar

import numpy as np
import pytest

from sgp.domains import canonical_name, get_domain, serving
from sgp.domains.domain import Domain
from sgp.errors import ConfigurationError
from sgp.planning.experts import find_plan
from sgp.planning.pddl import Problem, read_domain
from sgp.planning.task import Task, replay
from sgp.planning.validation import validate

_GENERATED, _SOLVED = 14, 12  # sizes below which problems are generated, and solved by an expert


def _sizes(domain: Domain, end: int) -> list[int]:
    return [size for size in range(1, end) if domain.sizes.has(size)]


def _problem(domain: Domain, seed: int, size: int) -> Problem:
    return Problem("generated", domain.pddl, domain.generate_size(np.random.default_rng(seed), size))


class DomainContract:
    """The contract of the domains in `names`; each must have a problem of fewer than 12 objects.

    An expert solves a problem of each of the `smallest` sizes.
    """

    names: ClassVar[Sequence[str]] = ()
    smallest: ClassVar[int] = 3

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test for every domain."""
        assert self.names, f"{type(self).__name__} names no domain; expected some in 'names'"
        metafunc.parametrize("domain", [get_domain(name) for name in self.names], ids=list(self.names))

    def test_a_problem_of_size_n_has_exactly_n_objects_and_is_unsolved(self, domain: Domain) -> None:
        """Constants of the domain do not count; the smallest problems may be solved."""
        sizes = _sizes(domain, _GENERATED)
        for size in sizes:
            for seed in range(3):
                task = Task(_problem(domain, seed, size))
                assert len(task.text.objects) == size == task.size - len(task.domain_text.constants)
                assert task.text.domain == task.domain_text.name
                assert size not in sizes[-3:] or not task.is_goal(task.init)

    def test_solutions_of_the_size_equation_have_the_size_and_are_distinct(self, domain: Domain) -> None:
        """All solutions are enumerated once."""
        for size in _sizes(domain, 30):
            solutions = list(domain.sizes.solutions(size))
            assert all(domain.sizes.count(**solution) == size for solution in solutions)
            assert len({tuple(solution.items()) for solution in solutions}) == len(solutions)

    def test_arguments_are_drawn_uniformly_from_all_solutions(self, domain: Domain) -> None:
        """The size with the most solutions, up to 12, is tested."""
        solutions_of = {
            size: {tuple(solution.items()) for solution in domain.sizes.solutions(size)}
            for size in _sizes(domain, _GENERATED)
        }
        size = max((size for size in solutions_of if len(solutions_of[size]) <= 12), key=lambda n: len(solutions_of[n]))
        rng = np.random.default_rng(2)
        drawn = Counter(tuple(domain.sizes.draw(rng, size).items()) for _ in range(200 * len(solutions_of[size])))
        assert set(drawn) == solutions_of[size]
        # 200 expected of each, with a standard deviation of 14.
        assert all(abs(count - 200) < 70 for count in drawn.values()), drawn

    def test_grounded_and_lifted_tasks_have_the_same_actions(self, domain: Domain) -> None:
        """Types, hierarchies and constants have the same meaning in both models."""
        problem = _problem(domain, 7, max(_sizes(domain, _GENERATED)))
        grounded, lifted = (Task(problem, mode) for mode in ("grounded", "lifted"))
        state, other = grounded.init, lifted.init
        for step in range(4):
            successors, others = grounded.successors(state), lifted.successors(other)
            assert [each.actions for each in successors] == [each.actions for each in others]
            state, other = (each[step % len(each)].state for each in (successors, others))

    def test_the_smallest_problems_are_solvable(self, domain: Domain) -> None:
        """The simulator and VAL accept Fast Downward's plan."""
        if not domain.solvable:
            pytest.skip("generated problems may have no plan")
        for seed, size in enumerate(_sizes(domain, _SOLVED)[: self.smallest]):
            problem = _problem(domain, seed, size)
            plan = find_plan(problem).plan
            assert plan is not None
            task = Task(problem)
            assert task.is_goal(replay(task, plan)[-1])
            assert validate(problem, plan).valid

    def test_a_seed_determines_the_problem(self, domain: Domain) -> None:
        """Different seeds give different problems."""
        size = max(_sizes(domain, _SOLVED))
        texts = [domain.generate_size(np.random.default_rng(seed), size) for seed in (1, 1, 2, 3, 4, 5)]
        assert texts[0] == texts[1]
        assert len(set(texts)) > 2

    def test_wrong_sizes_and_arguments_are_refused(self, domain: Domain) -> None:
        """A size without a solution; an argument out of bounds, unknown or missing."""
        name, (least, _) = next(iter(domain.sizes.bounds.items()))
        smallest = {other: bounds[0] for other, bounds in domain.sizes.bounds.items()}
        rng = np.random.default_rng(0)
        for arguments, words in (
            ({**smallest, name: least - 1}, f"{name} is {least - 1}; expected {least}"),
            ({"colour": 1}, "unknown argument colour"),
            ({}, f"argument {name} is missing"),
        ):
            with pytest.raises(ConfigurationError, match=words):
                domain.generate(rng, **arguments)
        with pytest.raises(ConfigurationError, match=f"of exactly 0 objects; try {min(_sizes(domain, _GENERATED))}$"):
            domain.generate_size(rng, 0)

    def test_a_domain_is_found_by_name_alias_and_signature(self, domain: Domain) -> None:
        """Letter case does not matter."""
        for name in (domain.name, *domain.aliases):
            assert get_domain(name.upper()) is domain
            assert canonical_name(name) == domain.name
        for model in domain.models.values():
            assert serving(read_domain(model)) is domain

    def test_every_predicate_and_action_has_a_template_with_each_argument_once(self, domain: Domain) -> None:
        """Of all its models; templates of external models have other names."""
        atoms: dict[str, int] = {}
        actions: dict[str, int] = {}
        for text in domain.texts.values():
            atoms.update(text.predicates)
            actions.update((name, len(schema.parameters)) for name, schema in text.schemas.items())
        words, others = domain.words, domain.others_words
        for templates, external, arities, more in (
            (words.atoms, others.atoms, atoms, ["not"]),
            (words.actions, others.actions, actions, []),
        ):
            assert templates.keys() == arities.keys()
            assert not external.keys() & arities.keys()
            for name, template in {**templates, **external}.items():
                fields = [part[1:] for part in Formatter().parse(template) if part[1] is not None]
                arity = arities.get(name, len(fields) - len(more))
                assert sorted(fields) == sorted((each, "", None) for each in [*map(str, range(arity)), *more]), name
