"""Gripper: a robot with two grippers carries balls from one room to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sgp.planning.domain import Domain, Sizes, Slots, problem_pddl
from sgp.planning.pddl import Atom

UNTYPED = """\
(define (domain gripper)
  (:requirements :strips)
  (:predicates (room ?r) (ball ?b) (gripper ?g) (at-robby ?r) (at ?b ?r) (free ?g) (carry ?o ?g))
  (:action move
    :parameters (?from ?to)
    :precondition (and (room ?from) (room ?to) (at-robby ?from))
    :effect (and (at-robby ?to) (not (at-robby ?from))))
  (:action pick
    :parameters (?obj ?room ?gripper)
    :precondition (and (ball ?obj) (room ?room) (gripper ?gripper) (at ?obj ?room) (at-robby ?room) (free ?gripper))
    :effect (and (carry ?obj ?gripper) (not (at ?obj ?room)) (not (free ?gripper))))
  (:action drop
    :parameters (?obj ?room ?gripper)
    :precondition (and (ball ?obj) (room ?room) (gripper ?gripper) (carry ?obj ?gripper) (at-robby ?room))
    :effect (and (at ?obj ?room) (free ?gripper) (not (carry ?obj ?gripper)))))
"""


def generate(rng: np.random.Generator, balls: int) -> str:
    """All balls and the robot in one room, all balls wanted in the other; the order of the balls is random."""
    names = [f"ball{number + 1}" for number in rng.permutation(balls)]
    init = ["(room rooma)", "(room roomb)", "(gripper left)", "(gripper right)"]
    init += [f"(ball {name})" for name in names]
    init += ["(at-robby rooma)", "(free left)", "(free right)", *(f"(at {name} rooma)" for name in names)]
    goal = [f"(at {name} roomb)" for name in names]
    return problem_pddl(f"gripper-{balls}", "gripper", ["rooma", "roomb", "left", "right", *names], init, goal)


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """The robot's room; a ball's room, or -j in gripper j; a gripper is 0 or holds ball j (state-centric, Table 6)."""
    found = {}
    for predicate, names in atoms:
        if predicate == "at-robby":
            found[0] = number[names[0]]
        elif predicate == "at":
            found[number[names[0]]] = number[names[1]]
        elif predicate == "carry":
            ball, gripper = (number[name] for name in names)
            found[ball], found[gripper] = -gripper, ball
        elif predicate == "free":
            found[number[names[0]]] = 0
    return found


DOMAIN = Domain(
    name="gripper",
    title="Gripper",
    models={"untyped": UNTYPED},
    sizes=Sizes(bounds={"balls": (1, None)}, count=lambda balls: balls + 4),
    generator=generate,
    slots=Slots(slot_values, has_global=True),
    splits={
        # Counts and sizes: state-centric, Table 5.
        "state-centric": {
            "train": [{"balls": n} for n in (2, 4, 6, 8)],
            "validation": [{"balls": n} for n in (9, 10)],
            "interpolation": [{"balls": n} for n in (3, 5, 7)],
            "extrapolation": [{"balls": n} for n in range(12, 43, 2)],
        },
        "selection": {f"{n}-balls": [{"balls": n}] * 5 for n in (20, 50)},
        "harder": {f"{n}-balls": [{"balls": n}] * 5 for n in (84, 150)},
    },
)
