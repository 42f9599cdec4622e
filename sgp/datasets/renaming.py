"""Renaming of a problem's objects, and canonical forms up to renaming, by igraph's BLISS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

import igraph
import numpy as np

from sgp.planning.pddl import DomainText, Literal, Problem, ProblemText, format_problem
from sgp.planning.task import Task


def with_names(task: Task, names: Mapping[str, str], order: Sequence[int] | None = None) -> Problem:
    """Rename all objects but constants, by a map of old to new names, and optionally reorder them."""
    text = task.text
    objects = [thing._replace(name=names[thing.name]) for thing in text.objects]
    renamed = replace(
        text,
        objects=tuple(objects if order is None else (objects[place] for place in order)),
        init=tuple(Literal(atom, True).renamed(names).atom for atom in text.init),
        goal=tuple(literal.renamed(names) for literal in text.goal),
    )
    return Problem("renamed", task.problem.domain_pddl, format_problem(renamed))


def canonical_form(task: Task) -> str:
    """Return a hash that is equal for two problems of a domain iff they are equal up to renaming of objects."""
    return form_of(task.domain_text, task.text)


class Distinct:
    """Index of the problems of one domain that finds duplicates up to renaming of objects.

    A canonical form is computed only if another problem has as many objects, initial atoms and goals of each kind.
    """

    def __init__(self, domain: DomainText):
        self._domain = domain
        self._lone: dict[Hashable, tuple[str, ProblemText]] = {}  # first problem of each outline
        self._names: dict[str, str] = {}  # by form

    def first(self, name: str, problem: ProblemText) -> str:
        """Return the name of the first problem equal up to renaming of objects, which may be this problem."""
        outline = _outline(problem)
        if outline not in self._lone:
            self._lone[outline] = name, problem
            return name
        before, first = self._lone[outline]
        self._names.setdefault(form_of(self._domain, first), before)
        return self._names.setdefault(form_of(self._domain, problem), name)


def _outline(problem: ProblemText) -> Hashable:
    """Cheap properties that equal problems share."""
    types = Counter(tuple(sorted(object_.types)) for object_ in problem.objects)
    init = Counter(atom.predicate for atom in set(problem.init))
    goal = Counter((literal.atom.predicate, literal.positive) for literal in set(problem.goal))
    return tuple(frozenset(each.items()) for each in (types, init, goal))


def form_of(domain: DomainText, problem: ProblemText) -> str:
    """Return a hash that is equal for two problems of a domain iff they are equal up to renaming of objects.

    Objects, initial atoms and goal literals are the coloured nodes of a graph; an atom is linked to its arguments by
    nodes coloured by position. Domain constants keep their names.
    """
    colours: list[str] = []
    edges: list[tuple[int, int]] = []

    def node(colour: str) -> int:
        colours.append(colour)
        return len(colours) - 1

    objects = {object_.name: node(f"constant {object_.name}") for object_ in domain.constants}
    objects |= {object_.name: node(f"object {sorted(object_.types)}") for object_ in problem.objects}
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
