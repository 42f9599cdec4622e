"""Whether two problems are one problem with its objects renamed: canonical forms by igraph's BLISS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from hashlib import sha256

import igraph
import numpy as np

from sgp.planning.pddl import DomainText, ProblemText
from sgp.planning.task import Task


def canonical_form(task: Task) -> str:
    """Equal for two problems of a domain exactly where renaming objects makes one the other."""
    return form_of(task.domain_text, task.text)


class Distinct:
    """Problems of one domain, of which the first with each canonical form is known by its name.

    A form is only found once another problem has as many objects, initial atoms and goals of each kind.
    """

    def __init__(self, domain: DomainText):
        self._domain = domain
        self._lone: dict[Hashable, tuple[str, ProblemText]] = {}  # by outline: first problems, their forms not found
        self._names: dict[str, str] = {}  # by form

    def first(self, name: str, problem: ProblemText) -> str:
        """The name of the first problem that this one equals up to renaming of objects: its own where none does."""
        outline = _outline(problem)
        if outline not in self._lone:
            self._lone[outline] = name, problem
            return name
        before, first = self._lone[outline]
        self._names.setdefault(form_of(self._domain, first), before)
        return self._names.setdefault(form_of(self._domain, problem), name)


def _outline(problem: ProblemText) -> Hashable:
    """What is equal for equal problems, and quickly told."""
    types = Counter(tuple(sorted(thing.types)) for thing in problem.objects)
    init = Counter(atom.predicate for atom in set(problem.init))
    goal = Counter((literal.atom.predicate, literal.positive) for literal in set(problem.goal))
    return tuple(frozenset(each.items()) for each in (types, init, goal))


def form_of(domain: DomainText, problem: ProblemText) -> str:
    """Equal for two problems of a domain exactly where renaming objects makes one the other.

    Objects, initial atoms and goal literals are the coloured nodes of a graph; an atom's arguments hang on nodes that
    carry their positions. Domain constants keep their names. The form is a SHA-256 of the graph in canonical order.
    """
    colours: list[str] = []
    edges: list[tuple[int, int]] = []

    def node(colour: str) -> int:
        colours.append(colour)
        return len(colours) - 1

    objects = {thing.name: node(f"constant {thing.name}") for thing in domain.constants}
    objects |= {thing.name: node(f"object {sorted(thing.types)}") for thing in problem.objects}
    facts = [(f"init {atom.predicate}", atom) for atom in set(problem.init)]
    facts += [(f"goal {literal.atom.predicate} {literal.positive}", literal.atom) for literal in set(problem.goal)]
    for colour, atom in facts:
        fact = node(colour)
        for position, name in enumerate(atom.objects):
            argument = node(f"argument {position}")
            edges += [(fact, argument), (argument, objects[name])]
    known, numbers = np.unique(colours, return_inverse=True)
    graph = igraph.Graph(len(colours), edges, vertex_attrs={"colour": numbers.tolist()})
    canonical = graph.permute_vertices(graph.canonical_permutation(color=numbers.tolist()))
    order = sorted(tuple(sorted(edge)) for edge in canonical.get_edgelist())
    return sha256(repr((known.tolist(), canonical.vs["colour"], order)).encode()).hexdigest()
