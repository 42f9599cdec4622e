"""A domain whose plan lengths are known by counting, with planners for it that are right or wrong on purpose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sgp.evaluation.scaling import EvaluatedPlanner
from sgp.planning.domain import Domain, Sizes, problem_pddl
from sgp.planning.planner import Planner
from sgp.planning.policy import REPLACE, Ranking, Rules

PDDL = """\
(define (domain walking)
  (:requirements :strips)
  (:predicates (at ?r) (door ?a ?b) (fresh) (tired))
  (:action walk
    :parameters (?a ?b)
    :precondition (and (at ?a) (door ?a ?b) (fresh))
    :effect (and (at ?b) (tired) (not (at ?a)) (not (fresh))))
  (:action rest
    :parameters ()
    :precondition (tired)
    :effect (and (fresh) (not (tired)))))
"""


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


@dataclass(frozen=True)
class Walker:
    """Goes to the last room (`way` 1) or away from it (-1); -1 fails unless the goal is next door."""

    way: int
    rules: Rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        rooms = [[room(node.task, each.state) for each in own] for node, own in zip(nodes, choices, strict=True)]
        return [Ranking(-self.way * np.array(own, dtype=float)) for own in rooms]


def room(task, state):
    return next(int(atom.objects[0][1:]) for atom in task.atoms(state) if atom.predicate == "at")


WALKERS = {
    name: EvaluatedPlanner(name, name, lambda name, decoding: Planner(Walker({"right": 1, "wrong": -1}[name])))
    for name in ("right", "wrong")
}
