"""Transport: vehicles of limited capacity carry packages over a network of roads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


def generate(rng: Generator, vehicles: int, packages: int, locations: int, capacity: int) -> str:
    """Vehicles and packages at random locations of a connected map; every package is wanted at another location.

    A vehicle holds 1 to `capacity` packages. Each location but the first has a road to a random earlier one; half as
    many further roads join random pairs.
    """
    cars, boxes, places = (
        [f"{letter}{number}" for number in range(1, count + 1)]
        for letter, count in (("v", vehicles), ("p", packages), ("l", locations))
    )
    sizes = [f"capacity-{number}" for number in range(capacity + 1)]
    roads = {(int(rng.integers(place)), place) for place in range(1, locations)}
    for _ in range(locations // 2):
        first, second = sorted(rng.choice(locations, 2, replace=False).tolist())
        roads.add((first, second))
    init = [f"(capacity-predecessor {less} {more})" for less, more in pairwise(sizes)]
    for first, second in sorted(roads):
        init += [f"(road {places[first]} {places[second]})", f"(road {places[second]} {places[first]})"]
    for car in cars:
        init.append(f"(at {car} {places[int(rng.integers(locations))]})")
        init.append(f"(capacity {car} {sizes[int(rng.integers(1, capacity + 1))]})")
    goal = []
    for box in boxes:
        start, wanted = rng.choice(locations, 2, replace=False).tolist()
        init.append(f"(at {box} {places[start]})")
        goal.append(f"(at {box} {places[wanted]})")
    objects = typed({"location": places, "size": sizes, "vehicle": cars, "package": boxes})
    return problem_pddl(f"transport-{vehicles}-{packages}-{locations}", "transport", objects, init, goal)


DOMAIN = builtin_domain(
    "transport",
    Sizes(
        bounds={"vehicles": (1, None), "packages": (1, None), "locations": (2, None), "capacity": (1, None)},
        # The capacities are 0 to the greatest (dynamic validation, section 2).
        count=lambda vehicles, packages, locations, capacity: vehicles + packages + locations + capacity + 1,
    ),
    generate,
    # Capacities as in the competitions of 2008 to 2014, and no more vehicles than packages.
    tracked=lambda vehicles, packages, locations, capacity: capacity <= 4 and vehicles <= packages,
)
