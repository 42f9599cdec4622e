"""Childsnack: sandwiches are made, put on trays and served to children, some of whom must not eat gluten."""

from __future__ import annotations

from sgp.domains import builtin_domain
from sgp.planning.domain import Generator, numbered, pick, problem_pddl, typed

_TABLES = ["table1", "table2", "table3"]


def generate(rng: Generator, children: int, trays: int, sandwiches: int, allergic: int | None = None) -> str:
    """Place children at three tables and trays in the kitchen, with a portion of bread and of content for each child.

    `allergic` children (None: drawn uniformly) must not eat gluten. As many portions are free of it, so that a sandwich
    given to another child cannot be replaced.
    """
    if allergic is None:
        allergic = int(rng.integers(children + 1))
    eaters, breads, contents = (numbered(word, children) for word in ("child", "bread", "content"))
    plates, snacks = numbered("tray", trays), numbered("sandw", sandwiches)
    init = [f"(at {tray} kitchen)" for tray in plates]
    for portions, kind in ((breads, "bread"), (contents, "content")):
        free = set(rng.choice(children, allergic, replace=False).tolist())
        init += [f"(at_kitchen_{kind} {portion})" for portion in portions]
        init += [f"(no_gluten_{kind} {portion})" for number, portion in enumerate(portions) if number in free]
    careful = set(rng.choice(children, allergic, replace=False).tolist())
    for number, child in enumerate(eaters):
        init.append(f"({'allergic_gluten' if number in careful else 'not_allergic_gluten'} {child})")
        init.append(f"(waiting {child} {pick(rng, _TABLES)})")
    init += [f"(notexist {snack})" for snack in snacks]
    portions_of = {"bread-portion": breads, "content-portion": contents}
    objects = typed({"child": eaters, **portions_of, "tray": plates, "place": _TABLES, "sandwich": snacks})
    goal = [f"(served {child})" for child in eaters]
    return problem_pddl(f"childsnack-{children}-{allergic}", "childsnack", objects, init, goal)


DOMAIN = builtin_domain(
    "childsnack",
    generate,
    # A portion of bread and one of content for each child, three tables; the kitchen is a constant (dynamic
    # validation, section 2).
    count=lambda children, trays, sandwiches, allergic=None: 3 * children + trays + sandwiches + 3,
    allowed=lambda children, trays, sandwiches, allergic=None: sandwiches >= children >= (allergic or 0),
    # Many children and few trays; at most half as many sandwiches again as children.
    tracked=lambda children, trays, sandwiches, **free: trays <= children and 2 * sandwiches <= 3 * children,
)
