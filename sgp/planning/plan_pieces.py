"""Long plans cut into pieces, each a problem of its own, for judges that read so many actions at most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sgp.planning.pddl import Action, Literal, Problem
from sgp.planning.pddl_writing import write_domain, write_problem
from sgp.planning.task import Task


def pieces(problem: Problem, plan: tuple[Action, ...], most: int) -> Iterator[tuple[Problem, tuple[Action, ...]]]:
    """Problems and their plans of at most `most` actions, which are valid together where the whole plan is.

    Each but the last is to reach exactly the state that the next one begins in: its goal says of every atom that was
    true on the way whether it is at the end. So whoever judges all of them has judged the plan, and the simulator that
    cut it is not trusted. Raises PlanError, after the pieces before it, for a piece with an inapplicable action, and
    PddlError for text that cannot be used.
    """
    domain, text = problem.read()
    task = Task(problem)
    state, domain_pddl = task.init, write_domain(domain)
    for first in range(0, len(plan), most):
        piece, init = plan[first : first + most], task.atoms(state)
        met, goal = set(init), text.goal
        for action in piece if first + most < len(plan) else ():
            state = task.apply(state, action)
            met.update(map(task.fluent, task.fluents(state)))
        if first + most < len(plan):
            held = set(task.atoms(state))
            goal = tuple(Literal(atom, atom in held) for atom in sorted(met))
        begun = replace(text, init=init, goal=goal, values=())
        yield Problem(f"{problem.name}, from action {first + 1}", domain_pddl, write_problem(domain, begun)), piece
