"""Depot: hoists stack crates on pallets, and trucks carry them between depots and distributors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sgp.domains import builtin_domain
from sgp.domains.drawing.tokens import natural
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed


def generate(
    rng: Generator,
    depots: int,
    distributors: int,
    trucks: int,
    pallets: int,
    hoists: int,
    crates: int,
    goals: int | None = None,
) -> str:
    """Place a pallet and a hoist at every place, further ones and trucks at random places, crates in random piles.

    The goal is what `goals` crates (None: all) stand on in another random arrangement. Every problem has a plan: a
    truck holds any number of crates and every place has a hoist, so that one truck can fetch all crates, then bring
    each to its place in the other arrangement, the lowest ones first.
    """
    stores, shops, vehicles = (
        numbered("depot", depots),
        numbered("distributor", distributors),
        numbered("truck", trucks),
    )
    bases, cranes, boxes = numbered("pallet", pallets), numbered("hoist", hoists), numbered("crate", crates)
    places = [*stores, *shops]
    above = _arrangement(rng, bases, boxes)
    init = [f"(available {crane})" for crane in cranes]
    init += [f"(at {name} {place})" for name, place in _spread(rng, cranes, places).items()]
    init += [f"(at {name} {pick(rng, places)})" for name in vehicles]
    for base, place in _spread(rng, bases, places).items():
        init += [f"(at {name} {place})" for name in _pile(above, base)]
    init += [f"(clear {surface})" for surface in (*bases, *boxes) if surface not in above]
    start = _on(above)
    goal = start
    while set(goal) <= set(start):
        ends = _on(_arrangement(rng, bases, boxes))
        goal = [ends[number] for number in sorted(rng.choice(crates, goals or crates, replace=False).tolist())]
    objects = typed(
        {"depot": stores, "distributor": shops, "truck": vehicles, "pallet": bases, "hoist": cranes, "crate": boxes}
    )
    name = f"depot-{depots}-{distributors}-{trucks}-{pallets}-{hoists}-{crates}"
    return problem_pddl(name, "depots", objects, init + start, goal)


def _spread(rng: Generator, names: Sequence[str], places: Sequence[str]) -> dict[str, str]:
    """Assign one object to each place, the others to random places."""
    further = rng.integers(len(places), size=len(names) - len(places)).tolist()
    return dict(zip(names, [*places, *(places[number] for number in further)], strict=True))


def _arrangement(rng: Generator, pallets: Sequence[str], crates: Sequence[str]) -> dict[str, str]:
    """Return the crate on each surface that is not clear, uniform over all arrangements.

    Each crate in turn is inserted on a uniformly drawn surface, below the crate that stands there.
    """
    surfaces, above = list(pallets), dict[str, str]()
    for crate in crates:
        surface = pick(rng, surfaces)
        if surface in above:
            above[crate] = above[surface]
        above[surface] = crate
        surfaces.append(crate)
    return above


def _on(above: Mapping[str, str]) -> list[str]:
    """Return the surface of each crate as facts, in the order of the crates."""
    return sorted((f"(on {crate} {surface})" for surface, crate in above.items()), key=natural)


def _pile(above: Mapping[str, str], lowest: str) -> list[str]:
    """Return a surface and all that stands on it, from bottom to top."""
    pile = [lowest]
    while pile[-1] in above:
        pile.append(above[pile[-1]])
    return pile


def _allowed(
    depots: int, distributors: int, trucks: int, pallets: int, hoists: int, crates: int, goals: int | None = None
) -> bool:
    """Whether every place can have a pallet and a hoist, and every goal a crate."""
    return min(pallets, hoists) >= depots + distributors and (goals is None or goals <= crates)


DOMAIN = builtin_domain(
    "depot",
    generate,
    count=lambda depots, distributors, trucks, pallets, hoists, crates, goals=None: (
        depots + distributors + trucks + pallets + hoists + crates
    ),
    allowed=_allowed,
)
