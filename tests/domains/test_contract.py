from collections import Counter
from itertools import chain

import numpy as np
import pytest

from sgp.contracts import DomainContract
from sgp.domains import builtin_domains, canonical_name, get_domain, words_of
from sgp.domains.blocksworld import _arrangements, _cut, _placed
from sgp.domains.domain import Domain, Sizes, Words
from sgp.errors import ConfigurationError, InputError
from sgp.planning.experts import find_plan
from sgp.planning.pddl import Action, Atom, Literal, Problem, read_domain
from sgp.planning.task import Task
from tests.conftest import COURIER


class TestBuiltin(DomainContract):
    names = tuple(domain.name for domain in builtin_domains())


def problem_of(domain, text):
    return Problem("generated", domain.pddl, text)


def test_an_unknown_domain_is_named_with_those_there_are():
    with pytest.raises(InputError, match="unknown domain 'sokobanana'; expected one of barman, blocksworld, childsn"):
        get_domain("sokobanana")
    assert canonical_name("sokobanana") == "sokobanana"


@pytest.mark.parametrize("draw", [_placed, _cut])
def test_blocksworld_draws_arrangements_uniformly(draw):
    rng = np.random.default_rng(3)
    drawn = Counter(tuple(sorted(map(tuple, draw(rng, 3)))) for _ in range(13_000))
    assert len(drawn) == 13 == _arrangements(3)[3][0]  # arrangements of three labelled blocks
    # 1000 expected of each; the 13 counts have a standard deviation of 30.
    assert all(abs(count - 1000) < 150 for count in drawn.values()), drawn
    assert [_arrangements(5)[blocks][0] for blocks in (1, 2, 3, 4, 5)] == [1, 3, 13, 73, 501]


def test_towers_of_thousands_of_blocks_are_as_many_as_of_a_thousand_placed_ones():
    """The mean number of towers is about the square root of the number of blocks."""
    rng = np.random.default_rng(5)
    for blocks, draw in ((900, _placed), (900, _cut), (10_000, _cut)):
        drawn = [draw(rng, blocks) for _ in range(20)]
        assert all(sorted(chain.from_iterable(towers)) == list(range(blocks)) for towers in drawn)
        assert abs(np.mean([len(towers) for towers in drawn]) - blocks**0.5) < 0.15 * blocks**0.5


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


@pytest.mark.parametrize("most", [(2, 3), (None, 2), (2, None), (3, 1)])
def test_the_solutions_of_a_size_are_all_arguments_within_their_bounds(most):
    bounds = {name: (1, end) for name, end in zip(("rows", "columns"), most, strict=True)}
    sizes = Sizes(bounds, lambda rows, columns: 2 * rows + columns)
    for size in range(1, 15):
        pairs = [(rows, size - 2 * rows) for rows in range(1, (most[0] or size) + 1)]
        assert list(sizes.solutions(size)) == [
            {"rows": rows, "columns": columns} for rows, columns in pairs if 1 <= columns <= (most[1] or size)
        ]


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
    assert [sparse.sizes.nearest(size) for size in (7, 8, 10, 30)] == [5, 10, 10, 20]


def test_larger_arguments_grow_from_those_of_a_smaller_problem():
    sizes, rng = get_domain("logistics").sizes, np.random.default_rng(7)
    smaller = {"cities": 2, "locations": 2, "airplanes": 1, "packages": 4}
    drawn = [sizes.draw(rng, 130, smaller=smaller) for _ in range(200)]
    for grown in drawn:
        assert sizes.count(**grown) == 130
        assert all(smaller[name] <= value <= 20 * smaller[name] for name, value in grown.items()), "13 objects: tenfold"
    for name, least in smaller.items():
        values = {grown[name] for grown in drawn}
        assert min(values) == least
        assert max(values) >= 6 * least


@pytest.mark.parametrize("name", ["childsnack", "floortile", "satellite", "sokoban", "transport"])
def test_larger_arguments_keep_the_proportions_of_the_domain(name):
    sizes, rng = get_domain(name).tracked, np.random.default_rng(8)
    for _ in range(10):
        smaller = sizes.draw(rng, sizes.nearest(40))
        size = sizes.nearest(int(rng.integers(80, 400)))
        grown = sizes.draw(rng, size, smaller=smaller)
        assert (sizes.count(**grown), sizes.allowed(**grown)) == (size, True)


def test_arguments_that_cannot_grow_are_drawn_anew():
    sizes = Sizes({"rows": (1, 3), "columns": (1, 3)}, lambda rows, columns: rows + columns)
    smaller = {"rows": 3, "columns": 2}
    assert sizes.draw(np.random.default_rng(0), 6, smaller=smaller) == {"rows": 3, "columns": 3}
    assert sum(sizes.draw(np.random.default_rng(0), 3, smaller=smaller).values()) == 3


def test_sizes_without_problems_are_refused():
    none = Sizes({"n": (1, None)}, lambda n: n, allowed=lambda n: False)
    with pytest.raises(ConfigurationError, match="no size near 7 has problems"):
        none.nearest(7)
    with pytest.raises(ConfigurationError, match="no arguments give exactly 7 objects"):
        none.draw(np.random.default_rng(0), 7)
    with pytest.raises(ConfigurationError, match="exactly 10 objects"):
        get_domain("visitall").generate_scaled(np.random.default_rng(0), 10)


@pytest.mark.parametrize(
    ("domain", "said", "sentence"),
    [
        ("ferry", Atom("at", ("c1", "l0")), "c1 is at l0"),
        ("ferry", Literal(Atom("at", ("c1", "l0")), False), "c1 is not at l0"),
        ("blocksworld", Literal(Atom("ontable", ("b2",)), False), "b2 is not on the table"),
        ("miconic", Atom("above", ("f1", "f2")), "f2 is above f1"),
        ("rovers", Literal(Atom("have_image", ("r", "o", "colour")), False), "r has not taken an image of o in colour"),
        (
            "transport",
            Action("pick-up", ("v1", "l1", "p1", "capacity-0", "capacity-1")),
            "load p1 into v1 at l1 and lower the room left from capacity-1 to capacity-0",
        ),
    ],
)
def test_sentences(domain, said, sentence):
    assert get_domain(domain).words.sentence(said) == sentence


def test_an_atom_and_an_action_of_one_name_differ():
    words = Words(atoms={"move": "{0} is {not}a move"}, actions={"move": "move {0}"})
    assert words.sentence(Atom("move", ("a",))) == "a is a move"
    assert words.sentence(Action("move", ("a",))) == "move a"


def test_what_has_no_template_stays_pddl():
    words = words_of(read_domain(COURIER))  # no built-in domain
    assert words.sentence(Action("drive", ("van", "a", "b"))) == "(drive van a b)"
    assert words.sentence(Literal(Atom("at", ("van", "a")), False)) == "(not (at van a))"
    ferry = get_domain("ferry")
    assert words_of(ferry.texts["typed"]) is ferry.words
    for objects in ((), ("c1",), ("c1", "l0", "l1")):  # other arity than Ferry's predicate of this name
        assert ferry.words.sentence(Atom("at", objects)) == str(Atom("at", objects))


@pytest.mark.parametrize("name", ["{0}", "{not}", "}}", "{0.__class__}", "%s"])
def test_names_come_out_as_they_are(name):
    words = get_domain("ferry").words
    assert words.sentence(Atom("at", (name, "l0"))) == f"{name} is at l0"
    assert words.sentence(Literal(Atom("at", ("c1", name)), False)) == f"c1 is not at {name}"
    assert words.sentence(Action("sail", (name, name))) == f"sail from {name} to {name}"
    assert words.sentence(Action(name, (name,))) == f"({name} {name})"
