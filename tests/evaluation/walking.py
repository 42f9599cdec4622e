"""A domain whose plan lengths are known by counting, with planners for it that are right or wrong on purpose."""

import re
from itertools import pairwise
from pathlib import Path

from sgp.domains.domain import Domain, Sizes, problem_pddl
from sgp.evaluation.scaling import EvaluatedPlanner
from sgp.planning.planner import Planner
from tests.planning.test_planner import Costs

PDDL = Path(__file__).with_suffix(".pddl").read_text()


def corridor(rooms, start, closed=False):
    """Corridor problem from room `start` to the last room, a rest after each walk: 2 (rooms - start) - 1 actions.

    If `closed`, the last room has no door.
    """
    names = [f"r{number}" for number in range(1, rooms + 1)]
    pairs = list(pairwise(names))[: rooms - 1 - closed]
    doors = [f"(door {a} {b}) (door {b} {a})" for a, b in pairs]
    return problem_pddl("walk", "walking", names, [f"(at r{start})", "(fresh)", *doors], [f"(at {names[-1]})"])


def walking(generator, solvable=True):
    sizes = Sizes(bounds={"rooms": (2, None)}, count=lambda rooms: rooms)
    return Domain("walking", "Walking", {"untyped": PDDL}, sizes, generator, solvable=solvable)


def start_of(problem):
    return int(re.search(r"\(at r(\d+)\)", problem.problem_pddl)[1])


ANYWHERE = walking(lambda rng, rooms: corridor(rooms, int(rng.integers(1, rooms))))
SOMETIMES_CLOSED = walking(
    lambda rng, rooms: corridor(rooms, int(rng.integers(1, rooms)), closed=bool(rng.integers(2))), solvable=False
)


def walker(way):
    """Goes to the last room (`way` 1) or away from it (-1); -1 fails unless the goal is next door."""
    return Planner(Costs(lambda task, action, state: -way * room(task, state)))


def room(task, state):
    return next(int(atom.objects[0][1:]) for atom in task.atoms(state) if atom.predicate == "at")


WALKERS = {
    name: EvaluatedPlanner(name, name, lambda name, decoding: walker({"right": 1, "wrong": -1}[name]))
    for name in ("right", "wrong")
}
