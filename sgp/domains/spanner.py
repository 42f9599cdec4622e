"""Spanner: a man walks one way from the shed to the gate and must pick up spanners for the nuts there."""

from __future__ import annotations

from itertools import pairwise

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed


def generate(rng: Generator, spanners: int, nuts: int, locations: int) -> str:
    """Place the man in the shed, spanners at random locations of the way, and all nuts at the gate, its end.

    A spanner tightens one nut, and no way leads back: leaving too many spanners behind is a dead end.
    """
    tools, screws, places = numbered("spanner", spanners), numbered("nut", nuts), numbered("location", locations)
    way = ["shed", *places, "gate"]
    init = ["(at bob shed)"]
    for tool in tools:
        init += [f"(at {tool} {pick(rng, places)})", f"(usable {tool})"]
    for screw in screws:
        init += [f"(loose {screw})", f"(at {screw} gate)"]
    init += [f"(link {here} {there})" for here, there in pairwise(way)]
    objects = typed({"man": ["bob"], "spanner": tools, "nut": screws, "location": way})
    goal = [f"(tightened {screw})" for screw in screws]
    return problem_pddl(f"spanner-{spanners}-{nuts}-{locations}", "spanner", objects, init, goal)


DOMAIN = builtin_domain(
    "spanner",
    generate,
    count=lambda spanners, nuts, locations: spanners + nuts + locations + 3,  # a man, the shed and the gate
    allowed=lambda spanners, nuts, locations: spanners >= nuts,
)
