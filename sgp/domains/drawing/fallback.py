"""Drawing of any domain: a layout that follows from its actions, or tables if the objects are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle

from sgp.domains.domain import Scene
from sgp.domains.drawing.boxes import Box, column, flow, framed, paragraph, words
from sgp.domains.drawing.layout import Kind, Layout, Rule
from sgp.domains.drawing.places import from_names
from sgp.domains.drawing.standing import Standing
from sgp.domains.drawing.tokens import PLAIN, WIDEST, hint, token, whole
from sgp.planning.pddl import OBJECT, Atom, DomainText, Parameter

MOST_DRAWN = 60  # objects; more are listed
_MOST_STATIC = 12  # shown static atoms of one predicate
_COLOURS = ("orange", "blue", "pink", "sky", "yellow", "brown", "grey")
_LETTERS, _GAP = 12, 16  # sizes of labels, as of the names of objects, and of gaps between places


def draw_any(text: DomainText, scenes: Sequence[Scene], before: Sequence[int]) -> list[str]:
    """Draw a series of scenes of a domain without a drawing of its own; `before` as in `Layout.arrange`.

    An object stands in the other argument of a fluent atom if the actions keep the number of such atoms of an object
    from growing. Static atoms of two places are links, all other atoms are labels of their first objects. A goal shows
    the objects that it mentions. With more than 60 objects, all atoms are listed by predicate.
    """
    if len(scenes[0].objects) > MOST_DRAWN:
        return [_listed(text, scene) for scene in scenes]
    layout, kinds = _layout(text, scenes[0])
    typed = [replace(scene, objects=tuple(Parameter(name, (kinds[name],)) for name in scene.names)) for scene in scenes]
    if scenes[0].partial:
        return [_goal(text, layout, scene) for scene in typed]
    return [layout.draw(scene) for scene in layout.arrange(typed, before)]


def _goal(text: DomainText, layout: Layout, scene: Scene) -> str:
    """Draw a goal; the objects that it does not mention are named in the title alone."""
    names = {name for atom in scene.atoms if atom.predicate in text.fluent_predicates for name in atom.objects}
    objects = tuple(each for each in scene.objects if each.name in names)
    shown = text.fluent_predicates | {*layout.links}
    atoms = frozenset(atom for atom in scene.atoms if atom.predicate in shown and names.issuperset(atom.objects))
    others = ", ".join(name for name in scene.names if name not in names)
    title = f"{text.name}, anywhere: {others};" if others else text.name
    return replace(layout, title=title).draw(replace(scene, objects=objects, atoms=atoms))


def _layout(text: DomainText, scene: Scene) -> tuple[Layout, Mapping[str, str]]:
    """The layout of a domain for the objects of a scene, and the kind of each object."""
    kind_of, facts = _kinds(text, scene)
    standing = Standing.of(text, facts)
    inner, outer = ({pair[side] for pair in standing.edges if pair[0] != pair[1]} for side in (0, 1))
    piles = [name for name, pairs in standing.pairs.items() if all(first == second for first, second in pairs)]
    pile, piled = (piles[0], {first for first, _ in standing.pairs[piles[0]]}) if piles else ("", set[str]())
    places = facts.keys() - inner - piled
    static = Counter(atom.predicate for atom in scene.ordered if atom.predicate not in text.fluent_predicates)
    links = [name for name in static if text.predicates[name] == 2 and _kinds_in(scene, name, kind_of) <= places]
    linked = [(atom.objects[0], atom.objects[1]) for atom in scene.ordered if atom.predicate in links]
    named = from_names([name for name in scene.names if kind_of[name] in places], linked) if links else None
    properties = frozenset[str]().union(*facts.values())
    many = [name for name, count in static.items() if count > _MOST_STATIC and name not in {*links, *properties}]
    hidden = [*many, *(name for name in static if name in properties)]
    labels = {
        name: Rule("0", label=_label(name, arity))
        for name, arity in text.predicates.items()
        if arity and name not in {*standing.inside, *links, *hidden}
    }
    labelled = {kind_of[atom.objects[0]] for atom in scene.atoms if atom.predicate in labels}
    labelled |= {kind for name in labels for kind in standing.kinds_of(name)}
    kinds = {}
    colours = cycle(_COLOURS)
    for kind in standing.outermost_first():
        look = "frame" if kind in outer | labelled else "token"
        look = "place" if kind in places else "pile" if kind in piled else look
        kinds[kind] = Kind(kind, look, "plain" if look == "place" else next(colours))
    layout = Layout(
        title=text.name,
        kinds=kinds,
        layout="cells" if named else "graph",
        inside={name: Rule(str(place), str(1 - place)) for name, place in standing.inside.items() if name != pile},
        labels=labels,
        styles={},
        goals={},
        pile=pile,
        links=links,
        hidden=hidden,
        letters=_LETTERS,
        gap=_GAP,
        frame=(1, 2) if scene.partial else (6, 5),  # in the player
        legend=len(kinds) > 1,
        notes=[] if scene.partial else [f"{name}: {static[name]} atoms that never change" for name in many],
    )
    return layout, kind_of


def _kinds_in(scene: Scene, predicate: str, kind_of: Mapping[str, str]) -> set[str]:
    """The kinds of the objects in the atoms of a predicate."""
    return {kind_of[name] for atom in scene.atoms if atom.predicate == predicate for name in atom.objects}


def _label(predicate: str, arity: int) -> str:
    """The template of a label: the predicate and its other arguments."""
    return " ".join([predicate.replace("{", "{{").replace("}", "}}"), *map("{{{}}}".format, range(1, arity))])


def _kinds(text: DomainText, scene: Scene) -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """The kind of each object (its type, or its static properties in an untyped domain), and what is true of a kind."""
    kind_of, facts = dict[str, str](), dict[str, frozenset[str]]()
    types = text.types_of(scene.objects)
    for name, declared in scene.objects:
        own = [each for each in declared if each != OBJECT]
        single = [atom.predicate for atom in scene.about.get(name, ()) if len(atom.objects) == 1 and not own]
        properties = [predicate for predicate in single if predicate not in text.fluent_predicates]
        kind_of[name] = " or ".join(own) or " ".join(properties) or OBJECT
        facts.setdefault(kind_of[name], types[name] | {*properties})
    return kind_of, facts


def _object(text: DomainText, scene: Scene, name: str) -> Box:
    return token(scene, name, name, PLAIN, hint(scene, name, *sorted(text.fluent_predicates)), round_=True)


def _listed(text: DomainText, scene: Scene) -> str:
    """List the objects by type, then the atoms."""
    by_type: dict[tuple[str, ...], list[str]] = {}
    for name, kinds in scene.objects:
        by_type.setdefault(kinds, []).append(name)
    frames = [
        framed(
            words(" or ".join(types), 12, font_weight="bold"),
            flow([_object(text, scene, name) for name in names], WIDEST - 16),
            WIDEST,
            hint=f"{len(names)} of type {' or '.join(types)}",
        )
        for types, names in by_type.items()
    ]
    sentence = f"{text.name} with {len(scene.objects)} objects and {len(scene.atoms)} true atoms"
    return whole(scene, sentence, column([*frames, _tables(text, scene.ordered, WIDEST)], gap=10))


def _tables(text: DomainText, atoms: Sequence[Atom], width: float) -> Box:
    """List atoms by predicate, fluent ones first, and only some of the static ones, which never change."""
    by_predicate: dict[str, list[Atom]] = {}
    for atom in sorted(atoms, key=lambda atom: atom.predicate not in text.fluent_predicates):
        by_predicate.setdefault(atom.predicate, []).append(atom)
    frames = []
    for predicate, there in by_predicate.items():
        fluent = predicate in text.fluent_predicates
        shown = [str(atom) for atom in (there if fluent else there[:_MOST_STATIC])]
        rest = [f"and {len(there) - len(shown)} more"] if len(shown) < len(there) else []
        title = f"{predicate}: {len(there)}{'' if fluent else ', never changing'}"
        listed = paragraph([*shown, *rest], width - 16)
        frames.append(framed(words(title, 12, font_weight="bold"), listed, width, hint=title))
    return column(frames)
