"""Domains of space missions: Rovers and Satellite."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sgp.domains import builtin_domain
from sgp.domains.domain import Generator, numbered, pick, problem_pddl, typed

# Rovers: rovers sample soil and rock, take images, and send their data to a lander.
_MODES = ["colour", "high_res", "low_res"]


def _rovers(rng: Generator, rovers: int, waypoints: int, cameras: int, objectives: int) -> str:
    """Make a mission with at least one reachable goal; all goals are drawn from the reachable ones.

    Each waypoint but the first sees a random earlier one, and half as many further pairs see each other. A rover can
    traverse a tree of at least half of the waypoints, one beside the lander among them, and starts somewhere on it.
    Samples lie at a third of the waypoints; half of the data that can be communicated are goals.
    """
    while True:
        text = _mission(rng, rovers, waypoints, cameras, objectives)
        if text is not None:
            return text


def _mission(rng: Generator, rovers: int, waypoints: int, cameras: int, objectives: int) -> str | None:
    """Draw a problem; None if it has no reachable goal."""
    crafts, places, stores = numbered("rover", rovers), numbered("waypoint", waypoints), numbered("store", rovers)
    devices, aims = numbered("camera", cameras), numbered("objective", objectives)
    near = _visibility(rng, waypoints)
    lander = int(rng.integers(waypoints))
    init = [f"(at_lander general {places[lander]})"]
    init += [f"(visible {places[here]} {places[there]})" for here in near for there in sorted(near[here])]
    reachable: list[list[int]] = []
    carrier = rng.integers(rovers, size=cameras).tolist()
    equipped = {kind: set(_some(rng, rovers, 0.5)) for kind in ("soil", "rock")}
    for rover, craft in enumerate(crafts):
        tree = _tree(rng, near, lander)
        reachable.append(sorted({place for edge in tree for place in edge}))
        for here, there in tree:
            for first, second in ((here, there), (there, here)):
                init.append(f"(can_traverse {craft} {places[first]} {places[second]})")
        init.append(f"(at {craft} {places[pick(rng, reachable[rover])]})")
        init += [f"(equipped_for_{kind}_analysis {craft})" for kind in equipped if rover in equipped[kind]]
        init += [f"(equipped_for_imaging {craft})"] if rover in carrier else []
        init += [f"(store_of {stores[rover]} {craft})", f"(empty {stores[rover]})"]
    goals = []
    for kind in ("soil", "rock"):
        samples = _some(rng, waypoints, 1 / 3)
        init += [f"(at_{kind}_sample {places[place]})" for place in samples]
        reached = {place for rover in equipped[kind] for place in reachable[rover]}
        goals += [f"(communicated_{kind}_data {places[place]})" for place in samples if place in reached]
    views = [_some(rng, waypoints, 1 / 3) or [int(rng.integers(waypoints))] for _ in aims]
    init += [f"(visible_from {aim} {places[place]})" for aim, seen in zip(aims, views, strict=True) for place in seen]
    possible: dict[int, set[str]] = {aim: set() for aim in range(objectives)}
    for device, rover in zip(devices, carrier, strict=True):
        modes = [_MODES[mode] for mode in _some(rng, len(_MODES), 0.5)] or [pick(rng, _MODES)]
        target = int(rng.integers(objectives))
        init += [f"(on_board {device} {crafts[rover]})", f"(calibration_target {device} {aims[target]})"]
        init += [f"(supports {device} {mode})" for mode in modes]
        if set(views[target]) & set(reachable[rover]):
            for aim, seen in enumerate(views):
                possible[aim] |= set(modes) if set(seen) & set(reachable[rover]) else set()
    for aim, modes_of in possible.items():
        if modes_of:
            goals.append(f"(communicated_image_data {aims[aim]} {pick(rng, sorted(modes_of))})")
    if not goals:
        return None
    chosen = [goals[number] for number in _some(rng, len(goals), 0.5)] or [pick(rng, goals)]
    objects = {"lander": ["general"], "mode": _MODES, "rover": crafts, "store": stores, "waypoint": places}
    objects |= {"camera": devices, "objective": aims}
    return problem_pddl(f"rovers-{rovers}-{waypoints}", "rover", typed(objects), init, chosen)


def _some(rng: Generator, count: int, share: float) -> list[int]:
    """Draw numbers below `count`, each with probability `share`."""
    return [number for number in range(count) if rng.random() < share]


def _visibility(rng: Generator, waypoints: int) -> dict[int, set[int]]:
    """Return the waypoints that each waypoint sees: a connected, symmetric relation."""
    near: dict[int, set[int]] = {place: set() for place in range(waypoints)}
    pairs = [(int(rng.integers(place)), place) for place in range(1, waypoints)]
    pairs += [tuple(rng.choice(waypoints, 2, replace=False).tolist()) for _ in range(waypoints // 2)]
    for first, second in pairs:
        near[first].add(second)
        near[second].add(first)
    return near


def _tree(rng: Generator, near: Mapping[int, Collection[int]], lander: int) -> list[tuple[int, int]]:
    """Return the edges of a random tree of at least half of the waypoints (two or more), rooted beside the lander."""
    first = pick(rng, sorted(near[lander]))
    size = int(rng.integers(max(2, (len(near) + 1) // 2), len(near) + 1))
    reached, tree = {first}, list[tuple[int, int]]()
    while len(reached) < size:
        edge = pick(
            rng, [(here, there) for here in sorted(reached) for there in sorted(near[here]) if there not in reached]
        )
        tree.append(edge)
        reached.add(edge[1])
    return tree


ROVERS = builtin_domain(
    "rovers",
    _rovers,
    # Every rover has a store; there are a lander and three modes (dynamic validation, section 2).
    count=lambda rovers, waypoints, cameras, objectives: 2 * rovers + waypoints + cameras + objectives + 4,
)


# Satellite: satellites turn their instruments to directions and take images in several modes.
def _satellite(rng: Generator, satellites: int, instruments: int, modes: int, directions: int) -> str:
    """Equip every satellite with an instrument and every mode with an instrument that supports it; all are off.

    Goals: an image of each direction in a random mode with probability one half (at least one image), and a random
    direction for each satellite with probability one quarter.
    """
    crafts, devices = numbered("satellite", satellites), numbered("instrument", instruments)
    kinds, skies = numbered("mode", modes), numbered("direction", directions)
    carriers = [*range(satellites), *rng.integers(satellites, size=instruments - satellites).tolist()]
    supported = [{int(rng.integers(modes))} for _ in devices]
    for mode, device in enumerate(rng.integers(instruments, size=modes).tolist()):
        supported[device].add(mode)
    init = []
    for device, carrier, able in zip(devices, carriers, supported, strict=True):
        init += [f"(supports {device} {kinds[mode]})" for mode in sorted(able)]
        init += [f"(calibration_target {device} {pick(rng, skies)})", f"(on_board {device} {crafts[carrier]})"]
    for craft in crafts:
        init += [f"(power_avail {craft})", f"(pointing {craft} {pick(rng, skies)})"]
    targets = [sky for sky in skies if rng.random() < 0.5] or [pick(rng, skies)]
    goal = [f"(have_image {sky} {pick(rng, kinds)})" for sky in targets]
    goal += [f"(pointing {craft} {pick(rng, skies)})" for craft in crafts if rng.random() < 0.25]
    objects = typed({"satellite": crafts, "instrument": devices, "mode": kinds, "direction": skies})
    return problem_pddl(f"satellite-{satellites}-{directions}", "satellite", objects, init, goal)


SATELLITE = builtin_domain(
    "satellite",
    _satellite,
    count=lambda satellites, instruments, modes, directions: satellites + instruments + modes + directions,
    allowed=lambda satellites, instruments, modes, directions: instruments >= satellites,
    # No more modes than instruments, and no more instruments than directions.
    tracked=lambda satellites, instruments, modes, directions: modes <= instruments <= directions,
)
