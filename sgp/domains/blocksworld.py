"""Blocksworld with four operators: blocks are stacked one at a time by one hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from sgp.planning.domain import Domain, Sizes, Slots, problem_pddl
from sgp.planning.pddl import Atom

UNTYPED = """\
(define (domain blocksworld)
  (:requirements :strips)
  (:predicates (on ?x ?y) (ontable ?x) (clear ?x) (handempty) (holding ?x))
  (:action pick-up
    :parameters (?x)
    :precondition (and (clear ?x) (ontable ?x) (handempty))
    :effect (and (holding ?x) (not (ontable ?x)) (not (clear ?x)) (not (handempty))))
  (:action put-down
    :parameters (?x)
    :precondition (holding ?x)
    :effect (and (ontable ?x) (clear ?x) (handempty) (not (holding ?x))))
  (:action stack
    :parameters (?x ?y)
    :precondition (and (holding ?x) (clear ?y))
    :effect (and (on ?x ?y) (clear ?x) (handempty) (not (holding ?x)) (not (clear ?y))))
  (:action unstack
    :parameters (?x ?y)
    :precondition (and (on ?x ?y) (clear ?x) (handempty))
    :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (handempty)))))
"""


def generate(rng: np.random.Generator, blocks: int) -> str:
    """Towers drawn uniformly over all arrangements, to be rebuilt as one tower in another order."""
    names = [f"b{number}" for number in range(1, blocks + 1)]
    goal = rng.permutation(blocks).tolist()  # bottom first
    towers = _towers(rng, blocks)
    while towers == [goal]:
        towers = _towers(rng, blocks)
    init = ["(handempty)"]
    for tower in towers:
        init += [f"(ontable {names[tower[0]]})", f"(clear {names[tower[-1]]})", *_stacked(tower, names)]
    return problem_pddl(f"blocksworld-{blocks}", "blocksworld", names, sorted(init), _stacked(goal, names))


def _stacked(tower: Sequence[int], names: Sequence[str]) -> list[str]:
    return [f"(on {names[upper]} {names[lower]})" for lower, upper in pairwise(tower)]


def _towers(rng: np.random.Generator, blocks: int) -> list[list[int]]:
    """Towers of blocks, bottom first, uniform over all arrangements (Slaney and Thiebaux 2001, section 2).

    Every block begins as a floating tower; one after the other is placed on the table or on another tower, with
    probabilities from the number of arrangements that can still be reached.
    """
    floating = [[int(block)] for block in rng.permutation(blocks)]
    grounded: list[list[int]] = []
    while floating:
        tower = floating.pop()
        places = len(floating) + len(grounded)
        on_table = _arrangements(len(floating), len(grounded) + 1) / _arrangements(len(floating) + 1, len(grounded))
        if rng.random() < on_table:
            grounded.append(tower)
        else:
            # Every other tower is equally likely; a tower lands on the top of the one below it.
            other = int(rng.integers(places))
            (floating + grounded)[other].extend(tower)
    return grounded


def _arrangements(floating: int, grounded: int) -> int:
    """Number of ways to place `floating` towers onto each other or the table when `grounded` towers stand there."""
    counts = [1] * (floating + grounded + 1)  # no floating towers left, for every number of grounded ones
    for placed in range(1, floating + 1):
        remaining = range(floating + grounded + 1 - placed)
        counts = [(placed - 1 + towers) * counts[towers] + counts[towers + 1] for towers in remaining]
    return counts[grounded]


def slot_values(number: Mapping[str, int], atoms: Iterable[Atom]) -> dict[int, int]:
    """A block is 0 on the table, -1 in the hand, j on block j (state-centric, Table 6)."""
    found = {}
    for predicate, names in atoms:
        if predicate == "on":
            found[number[names[0]]] = number[names[1]]
        elif predicate in ("ontable", "holding"):
            found[number[names[0]]] = 0 if predicate == "ontable" else -1
    return found


DOMAIN = Domain(
    name="blocksworld",
    title="Blocksworld",
    aliases=("blocks",),
    models={"untyped": UNTYPED},
    sizes=Sizes(bounds={"blocks": (2, None)}, count=lambda blocks: blocks),
    generator=generate,
    slots=Slots(slot_values),
    splits={
        # Counts and sizes: state-centric, Table 5.
        "state-centric": {
            "train": [{"blocks": n} for n in (4, 6, 7) for _ in range(3)],
            "validation": [{"blocks": 8}] * 3,
            "interpolation": [{"blocks": 5}] * 3,
            "extrapolation": [
                {"blocks": n}
                for n, count in {9: 3, 10: 3, 11: 2, 12: 3, 13: 2, 14: 2, 15: 2, 16: 2, 17: 1}.items()
                for _ in range(count)
            ],
        },
        "selection": {f"{n}-blocks": [{"blocks": n}] * 5 for n in (12, 20, 30)},
        "harder": {f"{n}-blocks": [{"blocks": n}] * 5 for n in (20, 34, 50, 100)},
    },
)
