"""Childsnack: sandwiches are made, put on trays and served to children, some of whom must not eat gluten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgp.domains import builtin_domain
from sgp.planning.domain import Sizes, problem_pddl, typed

if TYPE_CHECKING:  # the dashboard draws without numpy, which takes a tenth of a second to import
    from numpy.random import Generator

_TABLES = ["table1", "table2", "table3"]


def generate(rng: Generator, children: int, trays: int, sandwiches: int, allergic: int | None = None) -> str:
    """Children at three tables and trays in the kitchen, with one portion of bread and of content for each child.

    `allergic` children (None: drawn uniformly) must not eat gluten; just as many portions are free of it, so that a
    sandwich wasted on another child cannot be replaced.
    """
    if allergic is None:
        allergic = int(rng.integers(children + 1))
    eaters, breads, contents = (
        [f"{word}{number}" for number in range(1, children + 1)] for word in ("child", "bread", "content")
    )
    plates = [f"tray{number}" for number in range(1, trays + 1)]
    snacks = [f"sandw{number}" for number in range(1, sandwiches + 1)]
    init = [f"(at {tray} kitchen)" for tray in plates]
    for portions, kind in ((breads, "bread"), (contents, "content")):
        free = set(rng.choice(children, allergic, replace=False).tolist())
        init += [f"(at_kitchen_{kind} {portion})" for portion in portions]
        init += [f"(no_gluten_{kind} {portion})" for number, portion in enumerate(portions) if number in free]
    careful = set(rng.choice(children, allergic, replace=False).tolist())
    for number, child in enumerate(eaters):
        init.append(f"({'allergic_gluten' if number in careful else 'not_allergic_gluten'} {child})")
        init.append(f"(waiting {child} {_TABLES[int(rng.integers(len(_TABLES)))]})")
    init += [f"(notexist {snack})" for snack in snacks]
    objects = typed(
        {
            "child": eaters,
            "bread-portion": breads,
            "content-portion": contents,
            "tray": plates,
            "place": _TABLES,
            "sandwich": snacks,
        }
    )
    goal = [f"(served {child})" for child in eaters]
    return problem_pddl(f"childsnack-{children}-{allergic}", "childsnack", objects, init, goal)


def _fits(children: int, trays: int, sandwiches: int, allergic: int | None = None) -> bool:
    """Every child gets a sandwich of its own."""
    return sandwiches >= children and (allergic is None or allergic <= children)


DOMAIN = builtin_domain(
    "childsnack",
    Sizes(
        bounds={"children": (1, None), "trays": (1, None), "sandwiches": (1, None), "allergic": (0, None)},
        # A child has a portion of bread and one of content; three tables, the kitchen is the domain's (dynamic
        # validation, section 2).
        count=lambda children, trays, sandwiches, allergic=None: 3 * children + trays + sandwiches + 3,
        allowed=_fits,
        free=frozenset({"allergic"}),
    ),
    generate,
    # Many children and few trays; at most half as many sandwiches again as children.
    tracked=lambda children, trays, sandwiches, **free: trays <= children and 2 * sandwiches <= 3 * children,
)
