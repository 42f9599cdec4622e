"""Satellite: satellites turn their instruments to directions and take images in several modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator


def generate(rng: Generator, satellites: int, instruments: int, modes: int, directions: int) -> str:
    """Every satellite has an instrument, every mode an instrument that supports it; all instruments are off.

    Each direction is wanted in one random mode with probability one half (at least one is), and each satellite is
    wanted pointing to a random direction with probability one quarter.
    """
    crafts, devices, kinds, skies = (
        [f"{word}{number}" for number in range(1, count + 1)]
        for word, count in (
            ("satellite", satellites),
            ("instrument", instruments),
            ("mode", modes),
            ("direction", directions),
        )
    )
    carriers = [*range(satellites), *rng.integers(satellites, size=instruments - satellites).tolist()]
    supported = [{int(rng.integers(modes))} for _ in devices]
    for mode, device in enumerate(rng.integers(instruments, size=modes).tolist()):
        supported[device].add(mode)
    init = []
    for device, carrier, able in zip(devices, carriers, supported, strict=True):
        init += [f"(supports {device} {kinds[mode]})" for mode in sorted(able)]
        init.append(f"(calibration_target {device} {skies[int(rng.integers(directions))]})")
        init.append(f"(on_board {device} {crafts[carrier]})")
    for craft in crafts:
        init += [f"(power_avail {craft})", f"(pointing {craft} {skies[int(rng.integers(directions))]})"]
    wanted = [sky for sky in skies if rng.random() < 0.5] or [skies[int(rng.integers(directions))]]
    goal = [f"(have_image {sky} {kinds[int(rng.integers(modes))]})" for sky in wanted]
    goal += [f"(pointing {craft} {skies[int(rng.integers(directions))]})" for craft in crafts if rng.random() < 0.25]
    objects = typed({"satellite": crafts, "instrument": devices, "mode": kinds, "direction": skies})
    return problem_pddl(f"satellite-{satellites}-{directions}", "satellite", objects, init, goal)


DOMAIN = builtin_domain(
    "satellite",
    Sizes(
        bounds={"satellites": (1, None), "instruments": (1, None), "modes": (1, None), "directions": (2, None)},
        # Satellites, instruments, modes and directions (dynamic validation, section 2).
        count=lambda satellites, instruments, modes, directions: satellites + instruments + modes + directions,
        allowed=lambda satellites, instruments, modes, directions: instruments >= satellites,
    ),
    generate,
    # No more modes than instruments, and no more instruments than directions.
    tracked=lambda satellites, instruments, modes, directions: modes <= instruments <= directions,
)
