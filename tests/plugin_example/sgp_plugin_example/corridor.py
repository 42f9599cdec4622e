"""Corridor: rooms in a row, some of which must be painted."""

from itertools import pairwise

from sgp.domains.domain import Domain, Sizes, Words, problem_pddl

UNTYPED = """\
(define (domain corridor)
  (:requirements :strips)
  (:predicates (door ?a ?b) (in-room ?a) (painted ?a))
  (:action walk
    :parameters (?from ?to)
    :precondition (and (door ?from ?to) (in-room ?from))
    :effect (and (in-room ?to) (not (in-room ?from))))
  (:action paint
    :parameters (?room)
    :precondition (in-room ?room)
    :effect (painted ?room)))
"""


def generate(rng, rooms):
    """Generate a problem with at least one room to paint."""
    names = [f"room{n}" for n in range(rooms)]
    pairs = [pair for one, two in pairwise(names) for pair in ((one, two), (two, one))]
    init = [f"(door {one} {two})" for one, two in pairs] + [f"(in-room {rng.choice(names)})"]
    wanted = rng.choice(names, size=rng.integers(1, rooms + 1), replace=False)
    return problem_pddl(f"corridor-{rooms}", "corridor", names, init, [f"(painted {room})" for room in wanted])


DOMAIN = Domain(
    name="corridor",
    title="Corridor",
    models={"untyped": UNTYPED},
    sizes=Sizes(bounds={"rooms": (2, None)}, count=lambda rooms: rooms),
    generator=generate,
    words=Words(
        atoms={
            "door": "a door {not}leads from {0} to {1}",
            "in-room": "the painter is {not}in {0}",
            "painted": "{0} is {not}painted",
        },
        actions={"walk": "walk from {0} to {1}", "paint": "paint {0}"},
    ),
)
