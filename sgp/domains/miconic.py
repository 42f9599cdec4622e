"""Miconic: a lift brings passengers from floor to floor."""

from __future__ import annotations

from itertools import combinations

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed


def generate(rng: Generator, passengers: int, floors: int) -> str:
    """Place passengers and lift on random floors; the goal of each passenger is another floor.

    `(above f1 f2)` means that f2 is higher.
    """
    people, levels = numbered("p", passengers), numbered("f", floors)
    init = [f"(above {lower} {upper})" for lower, upper in combinations(levels, 2)]
    for person in people:
        start, end = rng.choice(floors, 2, replace=False).tolist()
        init += [f"(origin {person} {levels[start]})", f"(destin {person} {levels[end]})"]
    init.append(f"(lift-at {pick(rng, levels)})")
    objects = typed({"passenger": people, "floor": levels})
    return problem_pddl(
        f"miconic-{passengers}-{floors}", "miconic", objects, init, [f"(served {person})" for person in people]
    )


DOMAIN = builtin_domain("miconic", generate, count=lambda passengers, floors: passengers + floors)
