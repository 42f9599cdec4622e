"""Depot: hoists stack crates on pallets, and trucks carry them between depots and distributors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.domains.drawing.tokens import natural
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


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
    """A pallet and a hoist at every place, further ones and trucks at random places, crates in random piles.

    Another arrangement of the crates is drawn likewise, and what `goals` of them (None: all) stand on there is wanted.
    Every problem has a plan: a truck holds any number of crates and every place has a hoist, so that one truck can
    fetch all crates, then bring each to its place in the other arrangement, the lowest ones first.
    """
    stores, shops, vehicles, bases, cranes, boxes = (
        [f"{word}{number}" for number in range(1, count + 1)]
        for word, count in (
            ("depot", depots),
            ("distributor", distributors),
            ("truck", trucks),
            ("pallet", pallets),
            ("hoist", hoists),
            ("crate", crates),
        )
    )
    places = [*stores, *shops]
    above = _arranged(rng, bases, boxes)
    init = [f"(available {crane})" for crane in cranes]
    init += [f"(at {name} {place})" for name, place in _spread(rng, cranes, places).items()]
    init += [f"(at {name} {places[int(rng.integers(len(places)))]})" for name in vehicles]
    for base, place in _spread(rng, bases, places).items():
        init += [f"(at {name} {place})" for name in _pile(above, base)]
    init += [f"(clear {surface})" for surface in (*bases, *boxes) if surface not in above]
    start = _on(above)
    goal = start
    while set(goal) <= set(start):
        wanted = _on(_arranged(rng, bases, boxes))
        goal = [wanted[number] for number in sorted(rng.choice(crates, goals or crates, replace=False).tolist())]
    objects = typed(
        {"depot": stores, "distributor": shops, "truck": vehicles, "pallet": bases, "hoist": cranes, "crate": boxes}
    )
    name = f"depot-{depots}-{distributors}-{trucks}-{pallets}-{hoists}-{crates}"
    return problem_pddl(name, "depots", objects, init + start, goal)


def _spread(rng: Generator, names: Sequence[str], places: Sequence[str]) -> dict[str, str]:
    """Where objects stand: one at each place, the others at random ones."""
    further = rng.integers(len(places), size=len(names) - len(places)).tolist()
    return dict(zip(names, [*places, *(places[number] for number in further)], strict=True))


def _arranged(rng: Generator, pallets: Sequence[str], crates: Sequence[str]) -> dict[str, str]:
    """What stands on each surface that is not clear, uniform over all arrangements of the crates.

    One crate after the other comes between a surface, each as likely as another, and what stands there.
    """
    surfaces, above = list(pallets), dict[str, str]()
    for crate in crates:
        surface = surfaces[int(rng.integers(len(surfaces)))]
        if surface in above:
            above[crate] = above[surface]
        above[surface] = crate
        surfaces.append(crate)
    return above


def _on(above: Mapping[str, str]) -> list[str]:
    """What crates stand on, as facts in the order of the crates."""
    return sorted((f"(on {crate} {surface})" for surface, crate in above.items()), key=natural)


def _pile(above: Mapping[str, str], lowest: str) -> list[str]:
    """A surface and all that stands on it, from bottom to top."""
    pile = [lowest]
    while pile[-1] in above:
        pile.append(above[pile[-1]])
    return pile


def _fits(
    depots: int, distributors: int, trucks: int, pallets: int, hoists: int, crates: int, goals: int | None = None
) -> bool:
    """Every place has a pallet and a hoist, and not more crates can have goals than there are."""
    return min(pallets, hoists) >= depots + distributors and (goals is None or goals <= crates)


DOMAIN = builtin_domain(
    "depot",
    Sizes(
        bounds={
            "depots": (1, None),
            "distributors": (1, None),
            "trucks": (1, None),
            "pallets": (2, None),
            "hoists": (2, None),
            "crates": (1, None),
            "goals": (1, None),
        },
        count=lambda depots, distributors, trucks, pallets, hoists, crates, goals=None: (
            depots + distributors + trucks + pallets + hoists + crates
        ),
        allowed=_fits,
        free=frozenset({"goals"}),
    ),
    generate,
)
