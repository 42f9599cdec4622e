"""Ferry: a ferry that holds one car brings cars from location to location."""

from __future__ import annotations

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed


def generate(rng: Generator, cars: int, locations: int) -> str:
    """Place the cars and the empty ferry at random; the goal of each car is another location."""
    places, names, goal = numbered("l", locations), numbered("c", cars), []
    init = [f"(at-ferry {pick(rng, places)})", "(empty-ferry)"]
    for name in names:
        start, end = rng.choice(locations, 2, replace=False).tolist()
        init.append(f"(at {name} {places[start]})")
        goal.append(f"(at {name} {places[end]})")
    return problem_pddl(f"ferry-{cars}-{locations}", "ferry", typed({"car": names, "location": places}), init, goal)


DOMAIN = builtin_domain("ferry", generate, count=lambda cars, locations: cars + locations)
