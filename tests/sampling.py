"""Samples of states, and of combinations of parameters whose full product takes minutes and finds no more errors."""

import random
from dataclasses import replace

import numpy as np

from sgp.planning.pddl import Problem, format_problem
from sgp.planning.task import Task


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


def with_twins(problem, seed, most=8):
    """Add objects that share all atoms and goals of another one but for their own name."""
    text, rng = Task(problem).text, random.Random(seed)
    objects, init, goal = list(text.objects), set(text.init), set(text.goal)
    for number, own in enumerate(rng.sample(text.objects, min(2, len(text.objects)))):
        for twin in (f"twin{number}-{copy}" for copy in range(rng.randint(1, most))):
            objects.append(own._replace(name=twin))
            names = {own.name: twin}
            init |= {
                atom._replace(objects=tuple(names.get(name, name) for name in atom.objects))
                for atom in text.init
                if own.name in atom.objects
            }
            goal |= {literal.renamed(names) for literal in text.goal if own.name in literal.atom.objects}
    grown = replace(text, objects=tuple(objects), init=tuple(sorted(init)), goal=tuple(sorted(goal)))
    return Problem("twins", problem.domain_pddl, format_problem(grown))


def few_instances(problem, most=1000):
    """Whether every schema and predicate has at most so many instances, so that embedding takes little time."""
    task = Task(problem)
    arities = [len(schema.parameters) for schema in task.domain_text.schemas.values()]
    return len(task.objects) ** max([0, *arities, *task.domain_text.predicates.values()]) <= most
