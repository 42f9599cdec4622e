"""Satellite: satellites turn their instruments to directions and take images in several modes."""

from __future__ import annotations

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed


def generate(rng: Generator, satellites: int, instruments: int, modes: int, directions: int) -> str:
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


DOMAIN = builtin_domain(
    "satellite",
    generate,
    count=lambda satellites, instruments, modes, directions: satellites + instruments + modes + directions,
    allowed=lambda satellites, instruments, modes, directions: instruments >= satellites,
    # No more modes than instruments, and no more instruments than directions.
    tracked=lambda satellites, instruments, modes, directions: modes <= instruments <= directions,
)
