"""Whether two problems are one problem with its objects renamed: canonical forms by igraph's BLISS."""

from __future__ import annotations

from hashlib import sha256

import igraph
import numpy as np

from sgp.planning.task import Task


def canonical_form(task: Task) -> str:
    """Equal for two problems exactly where renaming objects makes one the other.

    Objects, initial atoms and goal literals are the coloured nodes of a graph; an atom's arguments hang on nodes that
    carry their positions. Domain constants keep their names. The form is a SHA-256 of the graph in canonical order.
    """
    colours: list[str] = []
    edges: list[tuple[int, int]] = []

    def node(colour: str) -> int:
        colours.append(colour)
        return len(colours) - 1

    constants = {constant.name for constant in task.domain_text.constants}
    objects = {
        thing.name: node(f"constant {thing.name}" if thing.name in constants else f"object {sorted(thing.types)}")
        for thing in task.objects
    }
    facts = [(f"init {atom.predicate}", atom) for atom in task.atoms(task.init)]
    facts += [(f"goal {literal.atom.predicate} {literal.positive}", literal.atom) for literal in task.goal]
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
