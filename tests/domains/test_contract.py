"""What every domain of the house must keep."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sgp.domains import all_domains, canonical_name, get_domain, serving
from sgp.domains.blocksworld import _arrangements, _towers
from sgp.errors import ConfigurationError, InputError
from sgp.planning.domain import Domain, Sizes
from sgp.planning.experts import find_plan
from sgp.planning.pddl import Problem, read_domain
from sgp.planning.task import Task, replay
from sgp.planning.validation import validate

every_domain = pytest.mark.parametrize("domain", all_domains(), ids=lambda domain: domain.name)


def sizes_of(domain, most):
    return [size for size in range(1, most) if domain.sizes.has(size)]


def problem_of(domain, text):
    return Problem("generated", domain.pddl, text)


@every_domain
def test_a_problem_of_size_n_has_exactly_n_objects(domain):
    for size in sizes_of(domain, 14):
        for seed in range(3):
            task = Task(problem_of(domain, domain.generate_size(np.random.default_rng(seed), size)))
            assert len(task.text.objects) == size == task.size - len(task.domain_text.constants)
            assert task.text.domain == task.domain_text.name


@every_domain
def test_every_solution_of_the_size_equation_counts_right(domain):
    for size in sizes_of(domain, 30):
        solutions = list(domain.sizes.solutions(size))
        assert all(domain.sizes.count(**solution) == size for solution in solutions)
        assert len({tuple(solution.items()) for solution in solutions}) == len(solutions)


@every_domain
def test_arguments_are_drawn_from_all_solutions_alike(domain):
    sizes = {size: [tuple(each.items()) for each in domain.sizes.solutions(size)] for size in sizes_of(domain, 14)}
    size, solutions = max((each for each in sizes.items() if len(each[1]) <= 12), key=lambda each: len(each[1]))
    rng = np.random.default_rng(2)
    drawn = Counter(tuple(domain.sizes.draw(rng, size).items()) for _ in range(200 * len(solutions)))
    assert set(drawn) == set(solutions)
    # 200 expected of each, with a standard deviation of 14.
    assert all(abs(count - 200) < 70 for count in drawn.values()), drawn


@every_domain
def test_problems_begin_unsolved(domain):
    for size in sizes_of(domain, 14)[-3:]:
        for seed in range(4):
            task = Task(problem_of(domain, domain.generate_size(np.random.default_rng(seed), size)))
            assert not task.is_goal(task.init)


@every_domain
def test_actions_are_the_same_before_and_while_searching(domain):
    """Types, hierarchies and constants mean the same to both ways of instantiating actions."""
    size = max(sizes_of(domain, 14))
    problem = problem_of(domain, domain.generate_size(np.random.default_rng(7), size))
    grounded, lifted = (Task(problem, mode) for mode in ("grounded", "lifted"))
    here, there = grounded.init, lifted.init
    for step in range(4):
        ours, theirs = grounded.successors(here), lifted.successors(there)
        assert [each.actions for each in ours] == [each.actions for each in theirs]
        here, there = (each[step % len(each)].state for each in (ours, theirs))


@pytest.mark.parametrize("domain", [each for each in all_domains() if each.solvable], ids=lambda domain: domain.name)
def test_the_smallest_problems_are_solvable(domain):
    for seed, size in enumerate(sizes_of(domain, 12)[:3]):
        problem = problem_of(domain, domain.generate_size(np.random.default_rng(seed), size))
        plan = find_plan(problem).plan
        task = Task(problem)
        assert task.is_goal(replay(task, plan)[-1])
        assert validate(problem, plan).valid


@every_domain
def test_the_same_seed_gives_the_same_problem_and_others_differ(domain):
    size = max(sizes_of(domain, 12))
    texts = [domain.generate_size(np.random.default_rng(seed), size) for seed in (1, 1, 2, 3, 4, 5)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 2


@every_domain
def test_a_size_without_solution_says_so(domain):
    least = min(sizes_of(domain, 14))
    with pytest.raises(ConfigurationError, match=f"no problem of exactly 0 objects; try {least}$"):
        domain.generate_size(np.random.default_rng(0), 0)


@every_domain
def test_arguments_are_checked(domain):
    name, (least, _) = next(iter(domain.sizes.bounds.items()))
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigurationError, match=f"{name} is {least - 1}; expected {least}"):
        domain.generate(rng, **{other: bounds[0] for other, bounds in domain.sizes.bounds.items()} | {name: least - 1})
    with pytest.raises(ConfigurationError, match="unknown argument colour"):
        domain.generate(rng, colour=1)
    with pytest.raises(ConfigurationError, match=f"argument {name} is missing"):
        domain.generate(rng)


@every_domain
def test_a_domain_is_found_by_name_alias_and_signature(domain):
    for name in (domain.name, *domain.aliases):
        assert get_domain(name.upper()) is domain
        assert canonical_name(name) == domain.name
    for model in domain.models.values():
        assert serving(read_domain(model)) is domain


def test_an_unknown_domain_is_named_with_those_there_are():
    with pytest.raises(
        InputError, match="unknown domain 'sokobanana'; expected one of blocksworld, childsnack, ferry, "
    ):
        get_domain("sokobanana")
    assert canonical_name("sokobanana") == "sokobanana"


def test_blocksworld_draws_arrangements_uniformly():
    rng = np.random.default_rng(3)
    drawn = Counter(tuple(sorted(map(tuple, _towers(rng, 3)))) for _ in range(13_000))
    assert len(drawn) == 13 == _arrangements(3)[3][0]  # arrangements of three labelled blocks
    # 1000 expected of each; the 13 counts have a standard deviation of 30.
    assert all(abs(count - 1000) < 150 for count in drawn.values()), drawn
    assert [_arrangements(5)[blocks][0] for blocks in (1, 2, 3, 4, 5)] == [1, 3, 13, 73, 501]


def test_the_sizes_of_the_four_domains():
    assert get_domain("gripper").sizes.count(balls=8) == 12
    assert get_domain("logistics").sizes.count(cities=5, locations=2, airplanes=2, packages=15) == 37
    assert list(get_domain("visitall").sizes.solutions(6)) == [
        {"width": 1, "height": 6},
        {"width": 2, "height": 3},
        {"width": 3, "height": 2},
        {"width": 6, "height": 1},
    ]
    assert list(get_domain("logistics").sizes.solutions(6)) == [
        {"cities": 1, "locations": 2, "airplanes": 1, "packages": 1}
    ]


def test_logistics_packages_with_a_goal_start_elsewhere():
    domain = get_domain("logistics")
    for seed in range(20):
        text = domain.generate(np.random.default_rng(seed), cities=2, locations=2, airplanes=1, packages=4, goals=2)
        task = Task(problem_of(domain, text))
        assert len(task.goal) == 2
        assert not {literal.atom for literal in task.goal} & set(task.atoms(task.init))


def test_gripper_needs_three_actions_a_ball_less_one():
    domain = get_domain("gripper")
    for balls in (2, 4):
        problem = problem_of(domain, domain.generate(np.random.default_rng(0), balls=balls))
        assert len(find_plan(problem).plan) == 3 * balls - 1


def test_blocksworld_speaks_two_vocabularies():
    domain = get_domain("blocksworld")
    text = domain.generate(np.random.default_rng(1), blocks=4)
    ours = Task(problem_of(domain, text))
    theirs = Task(Problem("p", domain.models["ipc-2023"], domain.translated(text, "ipc-2023")))
    assert theirs.domain_text.signature != ours.domain_text.signature
    assert len(find_plan(ours.problem).plan) == len(find_plan(theirs.problem).plan)
    number = {thing.name: place for place, thing in enumerate(ours.objects, start=1)}
    values = domain.slots.values
    assert values(number, ours.atoms(ours.init)) == values(number, theirs.atoms(theirs.init))
    with pytest.raises(ConfigurationError, match="no model 'typed'; expected one of untyped, ipc-2023"):
        domain.translated(text, "typed")


def test_a_size_between_others_is_told_both():
    with pytest.raises(ConfigurationError, match="logistics has no problem of exactly 4 objects; try 6"):
        get_domain("logistics").check_size(4)
    odd = Sizes(bounds={"pairs": (1, None)}, count=lambda pairs: 2 * pairs)
    domain = Domain("odd", "Odd", {}, odd, lambda rng, pairs: "")
    with pytest.raises(ConfigurationError, match="odd has no problem of exactly 5 objects; try 4 or 6"):
        domain.generate_size(np.random.default_rng(0), 5)
    sparse = Domain("sparse", "Sparse", {}, Sizes({"n": (1, 4)}, lambda n: 5 * n), lambda rng, n: "")
    with pytest.raises(ConfigurationError, match="no problem of exactly 12 objects; try 10 or 15"):
        sparse.check_size(12)
    with pytest.raises(ConfigurationError, match=r"no problem of exactly 23 objects; try 20$"):
        sparse.check_size(23)
