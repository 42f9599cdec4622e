"""Miconic: a lift brings passengers from floor to floor."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


def generate(rng: Generator, passengers: int, floors: int) -> str:
    """Passengers and the lift on random floors; every passenger wants to another one. `(above f1 f2)`: f2 is higher."""
    people = [f"p{number}" for number in range(1, passengers + 1)]
    levels = [f"f{number}" for number in range(1, floors + 1)]
    init = [f"(above {lower} {upper})" for lower, upper in combinations(levels, 2)]
    for person in people:
        start, wanted = rng.choice(floors, 2, replace=False).tolist()
        init += [f"(origin {person} {levels[start]})", f"(destin {person} {levels[wanted]})"]
    init.append(f"(lift-at {levels[int(rng.integers(floors))]})")
    objects = typed({"passenger": people, "floor": levels})
    goal = [f"(served {person})" for person in people]
    return problem_pddl(f"miconic-{passengers}-{floors}", "miconic", objects, init, goal)


DOMAIN = builtin_domain(
    "miconic",
    Sizes(bounds={"passengers": (1, None), "floors": (2, None)}, count=lambda passengers, floors: passengers + floors),
    generate,
)
