"""Domains in which something is brought to its place.

These are Barman, Childsnack, Depot, Ferry, Miconic, Spanner and Transport.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from sgp.domains import builtin_domain
from sgp.domains.domain import Generator, numbered, pick, problem_pddl, typed
from sgp.domains.drawing.tokens import natural

# Barman: two hands fill shots from dispensers, and mix two ingredients to a cocktail in a shaker.
_LEVELS = ["l0", "l1", "l2"]


def _barman(rng: Generator, shots: int, ingredients: int, cocktails: int) -> str:
    """Make a recipe of two random ingredients for every cocktail; all shots but the last want a random beverage.

    Each cocktail is wanted at least once. The last shot carries the ingredients to the shaker, so every problem has a
    plan.
    """
    glasses, liquids, mixes = (
        numbered("shot", shots),
        numbered("ingredient", ingredients),
        numbered("cocktail", cocktails),
    )
    taps = numbered("dispenser", ingredients)
    init = ["(ontable shaker1)", "(clean shaker1)", "(empty shaker1)"]
    init += ["(shaker-empty-level shaker1 l0)", "(shaker-level shaker1 l0)"]
    init += [f"(next {below} {above})" for below, above in pairwise(_LEVELS)]
    init += ["(handempty left)", "(handempty right)"]
    for glass in glasses:
        init += [f"(ontable {glass})", f"(clean {glass})", f"(empty {glass})"]
    init += [f"(dispenses {tap} {liquid})" for tap, liquid in zip(taps, liquids, strict=True)]
    for mix in mixes:
        first, second = rng.choice(ingredients, 2, replace=False).tolist()
        init += [f"(cocktail-part1 {mix} {liquids[first]})", f"(cocktail-part2 {mix} {liquids[second]})"]
    wanted = [*mixes, *(pick(rng, [*liquids, *mixes]) for _ in range(shots - 1 - cocktails))]
    order = rng.permutation(len(wanted)).tolist()
    goal = [f"(contains {glass} {wanted[place]})" for glass, place in zip(glasses[:-1], order, strict=True)]
    objects = {"hand": ["left", "right"], "level": _LEVELS, "dispenser": taps, "shaker": ["shaker1"], "shot": glasses}
    objects |= {"ingredient": liquids, "cocktail": mixes}
    return problem_pddl(f"barman-{shots}-{ingredients}-{cocktails}", "barman", typed(objects), init, goal)


BARMAN = builtin_domain(
    "barman",
    _barman,
    # A dispenser for each ingredient, a shaker, two hands and three levels.
    count=lambda shots, ingredients, cocktails: shots + 2 * ingredients + cocktails + 6,
    allowed=lambda shots, ingredients, cocktails: shots > cocktails,
)


# Childsnack: sandwiches are made, put on trays and served to children, some of whom must not eat gluten.
_TABLES = ["table1", "table2", "table3"]


def _childsnack(rng: Generator, children: int, trays: int, sandwiches: int, allergic: int | None = None) -> str:
    """Place children at three tables and trays in the kitchen, with a portion of bread and of content for each child.

    `allergic` children (None: drawn uniformly) must not eat gluten. As many portions are free of it, so that a sandwich
    given to another child cannot be replaced.
    """
    if allergic is None:
        allergic = int(rng.integers(children + 1))
    eaters, breads, contents = (numbered(word, children) for word in ("child", "bread", "content"))
    plates, snacks = numbered("tray", trays), numbered("sandw", sandwiches)
    init = [f"(at {tray} kitchen)" for tray in plates]
    for portions, kind in ((breads, "bread"), (contents, "content")):
        free = set(rng.choice(children, allergic, replace=False).tolist())
        init += [f"(at_kitchen_{kind} {portion})" for portion in portions]
        init += [f"(no_gluten_{kind} {portion})" for number, portion in enumerate(portions) if number in free]
    careful = set(rng.choice(children, allergic, replace=False).tolist())
    for number, child in enumerate(eaters):
        init.append(f"({'allergic_gluten' if number in careful else 'not_allergic_gluten'} {child})")
        init.append(f"(waiting {child} {pick(rng, _TABLES)})")
    init += [f"(notexist {snack})" for snack in snacks]
    portions_of = {"bread-portion": breads, "content-portion": contents}
    objects = typed({"child": eaters, **portions_of, "tray": plates, "place": _TABLES, "sandwich": snacks})
    goal = [f"(served {child})" for child in eaters]
    return problem_pddl(f"childsnack-{children}-{allergic}", "childsnack", objects, init, goal)


CHILDSNACK = builtin_domain(
    "childsnack",
    _childsnack,
    # A portion of bread and one of content for each child, three tables; the kitchen is a constant (dynamic
    # validation, section 2).
    count=lambda children, trays, sandwiches, allergic=None: 3 * children + trays + sandwiches + 3,
    allowed=lambda children, trays, sandwiches, allergic=None: sandwiches >= children >= (allergic or 0),
    # Many children and few trays; at most half as many sandwiches again as children.
    tracked=lambda children, trays, sandwiches, **free: trays <= children and 2 * sandwiches <= 3 * children,
)


# Depot: hoists stack crates on pallets, and trucks carry them between depots and distributors.
def _depot(
    rng: Generator, depots: int, distributors: int, trucks: int, pallets: int, hoists: int, crates: int, goals: int = 0
) -> str:
    """Place a pallet and a hoist at every place, further ones and trucks at random places, crates in random piles.

    The goal is what `goals` crates (0: all) stand on in another random arrangement. Every problem has a plan: a
    truck holds any number of crates and every place has a hoist, so that one truck can fetch all crates, then bring
    each to its place in the other arrangement, the lowest ones first.
    """
    stores, shops, lorries = map(numbered, ("depot", "distributor", "truck"), (depots, distributors, trucks))
    bases, cranes, boxes = numbered("pallet", pallets), numbered("hoist", hoists), numbered("crate", crates)
    places = [*stores, *shops]
    above = _arrangement(rng, bases, boxes)
    init = [f"(available {crane})" for crane in cranes]
    init += [f"(at {name} {place})" for name, place in _spread(rng, cranes, places).items()]
    init += [f"(at {name} {pick(rng, places)})" for name in lorries]
    for base, place in _spread(rng, bases, places).items():
        init += [f"(at {name} {place})" for name in _pile(above, base)]
    init += [f"(clear {surface})" for surface in (*bases, *boxes) if surface not in above]
    start = _on(above)
    goal = start
    while set(goal) <= set(start):
        ends = _on(_arrangement(rng, bases, boxes))
        goal = [ends[number] for number in sorted(rng.choice(crates, goals or crates, replace=False).tolist())]
    objects = typed(
        {"depot": stores, "distributor": shops, "truck": lorries, "pallet": bases, "hoist": cranes, "crate": boxes}
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


DEPOT = builtin_domain(
    "depot",
    _depot,
    count=lambda depots, distributors, trucks, pallets, hoists, crates, goals=None: (
        depots + distributors + trucks + pallets + hoists + crates
    ),
    # Every place can have a pallet and a hoist, and every goal a crate.
    allowed=lambda depots, distributors, pallets, hoists, crates, goals=0, **others: (
        min(pallets, hoists) >= depots + distributors and goals <= crates
    ),
)


# Ferry: a ferry that holds one car brings cars from location to location.
def _ferry(rng: Generator, cars: int, locations: int) -> str:
    """Place the cars and the empty ferry at random; the goal of each car is another location."""
    places, names, goal = numbered("l", locations), numbered("c", cars), []
    init = [f"(at-ferry {pick(rng, places)})", "(empty-ferry)"]
    for name in names:
        start, end = rng.choice(locations, 2, replace=False).tolist()
        init.append(f"(at {name} {places[start]})")
        goal.append(f"(at {name} {places[end]})")
    return problem_pddl(f"ferry-{cars}-{locations}", "ferry", typed({"car": names, "location": places}), init, goal)


FERRY = builtin_domain("ferry", _ferry, count=lambda cars, locations: cars + locations)


# Miconic: a lift brings passengers from floor to floor.
def _miconic(rng: Generator, passengers: int, floors: int) -> str:
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


MICONIC = builtin_domain("miconic", _miconic, count=lambda passengers, floors: passengers + floors)


# Spanner: a man walks one way from the shed to the gate and must pick up spanners for the nuts there.
def _spanner(rng: Generator, spanners: int, nuts: int, locations: int) -> str:
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


SPANNER = builtin_domain(
    "spanner",
    _spanner,
    count=lambda spanners, nuts, locations: spanners + nuts + locations + 3,  # a man, the shed and the gate
    allowed=lambda spanners, nuts, locations: spanners >= nuts,
)


# Transport: vehicles of limited capacity carry packages over a network of roads.
def _transport(rng: Generator, vehicles: int, packages: int, locations: int, capacity: int) -> str:
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


TRANSPORT = builtin_domain(
    "transport",
    _transport,
    # The capacities are 0 to the greatest (dynamic validation, section 2).
    count=lambda vehicles, packages, locations, capacity: vehicles + packages + locations + capacity + 1,
    # Capacities as in the competitions of 2008 to 2014, and no more vehicles than packages.
    tracked=lambda vehicles, packages, locations, capacity: capacity <= 4 and vehicles <= packages,
)
