"""Whether two problems are one problem with its objects renamed: canonical forms by nauty."""

from __future__ import annotations

from pymimir.advanced import graphs

from sgp.planning.task import Task


def canonical_form(task: Task) -> graphs.NautySparseGraph:
    """Equal and of equal hash for two problems exactly where renaming objects makes one the other.

    Objects, initial atoms and goal literals are the coloured nodes of a graph; an atom's arguments hang on nodes that
    carry their positions. Domain constants keep their names.
    """
    graph = graphs.StaticPyGraph()

    def node(colour: str) -> int:
        return int(graph.add_vertex(graphs.PropertyValue(graphs.PyProperty(colour))))

    edge = graphs.PropertyValue(graphs.PyProperty(""))
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
            graph.add_undirected_edge(fact, argument, edge)
            graph.add_undirected_edge(argument, objects[name], edge)
    return graphs.NautySparseGraph(graph).canonize()
