"""Samples of states, and of combinations of parameters whose full product takes minutes and finds no more errors."""

import numpy as np


def walked(task, count, seed):
    """States of a random walk from the initial state, which ends early where no action is applicable."""
    rng, state = np.random.default_rng(seed), task.init
    for _ in range(count):
        yield state
        choice = task.successors(state)
        if not choice:
            return
        state = choice[int(rng.integers(len(choice)))].state


def each_value(*axes):
    """Combinations in which every value of every axis occurs: as many as the longest axis has values."""
    longest = max(map(len, axes))
    return [tuple(axis[(place + place // len(axis)) % len(axis)] for axis in axes) for place in range(longest)]


def connected(start, edges):
    """Return what can be reached over directed edges."""
    found, edges = {start}, set(edges)
    while new := {second for first, second in edges if first in found} - found:
        found |= new
    return found
