"""Ferry: a ferry that holds one car brings cars from location to location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


def generate(rng: Generator, cars: int, locations: int) -> str:
    """Cars and the empty ferry at random locations; every car is wanted at another one."""
    places = [f"l{number}" for number in range(1, locations + 1)]
    init = [f"(at-ferry {places[int(rng.integers(locations))]})", "(empty-ferry)"]
    names, goal = [f"c{number}" for number in range(1, cars + 1)], []
    for name in names:
        start, wanted = rng.choice(locations, 2, replace=False).tolist()
        init.append(f"(at {name} {places[start]})")
        goal.append(f"(at {name} {places[wanted]})")
    objects = typed({"car": names, "location": places})
    return problem_pddl(f"ferry-{cars}-{locations}", "ferry", objects, init, goal)


DOMAIN = builtin_domain(
    "ferry",
    Sizes(bounds={"cars": (1, None), "locations": (2, None)}, count=lambda cars, locations: cars + locations),
    generate,
)
