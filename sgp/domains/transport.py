"""Transport: vehicles of limited capacity carry packages over a network of roads."""

from __future__ import annotations

from itertools import pairwise

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed


def generate(rng: Generator, vehicles: int, packages: int, locations: int, capacity: int) -> str:
    """Place vehicles and packages on a random connected map; the goal of each package is another location.

    A vehicle holds 1 to `capacity` packages. Each location but the first has a road to a random earlier one; half as
    many further roads join random pairs.
    """
    cars, boxes, places = numbered("v", vehicles), numbered("p", packages), numbered("l", locations)
    sizes = [f"capacity-{number}" for number in range(capacity + 1)]
    roads = {(int(rng.integers(place)), place) for place in range(1, locations)}
    for _ in range(locations // 2):
        first, second = sorted(rng.choice(locations, 2, replace=False).tolist())
        roads.add((first, second))
    init = [f"(capacity-predecessor {less} {more})" for less, more in pairwise(sizes)]
    for first, second in sorted(roads):
        init += [f"(road {places[first]} {places[second]})", f"(road {places[second]} {places[first]})"]
    for car in cars:
        init += [f"(at {car} {pick(rng, places)})", f"(capacity {car} {pick(rng, sizes[1:])})"]
    goal = []
    for box in boxes:
        start, end = rng.choice(locations, 2, replace=False).tolist()
        init.append(f"(at {box} {places[start]})")
        goal.append(f"(at {box} {places[end]})")
    objects = typed({"location": places, "size": sizes, "vehicle": cars, "package": boxes})
    return problem_pddl(f"transport-{vehicles}-{packages}-{locations}", "transport", objects, init, goal)


DOMAIN = builtin_domain(
    "transport",
    generate,
    # The capacities are 0 to the greatest (dynamic validation, section 2).
    count=lambda vehicles, packages, locations, capacity: vehicles + packages + locations + capacity + 1,
    # Capacities as in the competitions of 2008 to 2014, and no more vehicles than packages.
    tracked=lambda vehicles, packages, locations, capacity: capacity <= 4 and vehicles <= packages,
)
