"""Spanner: a man walks one way from the shed to the gate and must pick up spanners for the nuts there."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


def generate(rng: Generator, spanners: int, nuts: int, locations: int) -> str:
    """The man in the shed, spanners at random ones of `locations` places on the way, all nuts at the gate at its end.

    A spanner tightens one nut, and nobody walks back: who leaves too many spanners behind is in a dead end.
    """
    tools, screws, places = (
        [f"{word}{number}" for number in range(1, count + 1)]
        for word, count in (("spanner", spanners), ("nut", nuts), ("location", locations))
    )
    way = ["shed", *places, "gate"]
    init = ["(at bob shed)"]
    for tool in tools:
        init += [f"(at {tool} {places[int(rng.integers(locations))]})", f"(usable {tool})"]
    for screw in screws:
        init += [f"(loose {screw})", f"(at {screw} gate)"]
    init += [f"(link {here} {there})" for here, there in pairwise(way)]
    objects = typed({"man": ["bob"], "spanner": tools, "nut": screws, "location": way})
    goal = [f"(tightened {screw})" for screw in screws]
    return problem_pddl(f"spanner-{spanners}-{nuts}-{locations}", "spanner", objects, init, goal)


DOMAIN = builtin_domain(
    "spanner",
    Sizes(
        bounds={"spanners": (1, None), "nuts": (1, None), "locations": (1, None)},
        # A man, the shed and the gate are always there.
        count=lambda spanners, nuts, locations: spanners + nuts + locations + 3,
        allowed=lambda spanners, nuts, locations: spanners >= nuts,
    ),
    generate,
)
