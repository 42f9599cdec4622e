"""Samples of combinations of parameters, for tests whose full product takes minutes and finds no more errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def each_value(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which every value of every axis occurs: as many as the longest axis has values."""
    return [
        tuple(axis[(place + place // len(axis)) % len(axis)] for axis in axes) for place in range(max(map(len, axes)))
    ]


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
