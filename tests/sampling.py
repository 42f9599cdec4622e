"""Samples of states, and of combinations of parameters whose full product takes minutes and finds no more errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from sgp.planning.task import State, Task


def walked(task: Task, count: int, seed: int) -> Iterator[State]:
    """States of a random walk from the initial state, which ends early where no action is applicable."""
    rng, state = np.random.default_rng(seed), task.init
    for _ in range(count):
        yield state
        choice = task.successors(state)
        if not choice:
            return
        state = choice[int(rng.integers(len(choice)))].state


def each_value(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which every value of every axis occurs: as many as the longest axis has values."""
    longest = max(map(len, axes))
    return [tuple(axis[(place + place // len(axis)) % len(axis)] for axis in axes) for place in range(longest)]


def pairwise(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which every two values of different axes occur together, chosen greedily from the product."""

    def pairs(case: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
        return set(combinations(enumerate(case), 2))

    cases = list(product(*(range(len(axis)) for axis in axes)))
    missing = set().union(*map(pairs, cases))
    chosen = []
    while missing:
        best = max(cases, key=lambda case: len(pairs(case) & missing))
        missing -= pairs(best)
        chosen.append(tuple(axis[place] for axis, place in zip(axes, best, strict=True)))
    return chosen
