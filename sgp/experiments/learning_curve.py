"""Learning curves: coverage by the number of training problems, over several draws of them.

The state-centric paper trains on a handful of problems (its Table 5); how many are needed is asked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import learning_texts
from sgp.errors import ConfigurationError
from sgp.experiments.grid import SEEDS, Cell, grid_cells
from sgp.methods import get_method

DRAWS = 5
_FEW = (1, 2, 4)


def counts_of(problems: int) -> list[int]:
    """1, 2, 4, half and all of so many training problems, each number once."""
    return sorted({count for count in (*_FEW, -(-problems // 2), problems) if count <= problems})


def learning_cells(
    suite: str,
    domains: Sequence[str] = (),
    methods: Mapping[str, Sequence[str]] | None = None,
    draws: int = DRAWS,
    seed: int = SEEDS[0],
    splits: Sequence[str] = (),
) -> list[Cell]:
    """The cells of `grid_cells` with 1, 2, 4, half and all training problems, `draws` draws of each but the last.

    Problems are drawn from those that a method learns from, so without those that no expert solved or whose goal holds
    at first; missing expert plans are made. All draws of a domain are the same for every method that learns from plans,
    and those of one draw contain those of fewer problems. Raises ConfigurationError for a number of draws below 1 or a
    variant that is none, InputError for an unknown method, SuiteError for an unknown suite, domain or split,
    MissingLibrary where a method's library is not installed, ToolError and StoreError where plans cannot be made or
    kept.
    """
    if draws < 1:
        raise ConfigurationError(f"draws is {draws}; expected at least 1")
    cells, source = [], load_suite(suite)
    known: dict[tuple[str, str], int] = {}  # how many problems there are to draw from, by kind of data and domain
    for cell in grid_cells(suite, domains, methods, (seed,), splits):
        kind = get_method(cell.method).learns_from
        place = kind.__name__, cell.domain
        if place not in known:
            known[place] = len(learning_texts(kind, source, [cell.domain]).to_draw)
        problems = known[place]
        for count in counts_of(problems):
            cells += [replace(cell, drawn=(count, draw)) for draw in range(draws if count < problems else 1)]
    return cells
