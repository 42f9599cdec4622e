"""Translation of problems between equivalent domains: other names, argument orders, and types for static predicates.

Two domains are equivalent if a bijection of their actions maps preconditions onto preconditions and effects onto
effects. Plans of the translated problem are then plans of the original one, whichever bijection is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple, TypeAlias

from sgp.planning.declarations import OBJECT, Action, Atom, DomainText, Literal, Parameter, ProblemText

_MOST_STEPS = 100_000  # of the search for a bijection


class _Relation(NamedTuple):
    """A predicate, or a type as a static predicate of one argument."""

    name: str
    is_type: bool
    fluent: bool


class _Condition(NamedTuple):
    """A literal of a precondition or effect."""

    is_effect: bool
    positive: bool
    relation: _Relation
    terms: tuple[str, ...]

    @property
    def shape(self) -> tuple[bool, bool, bool, int]:
        """What is equal for conditions that may be mapped onto each other."""
        return self.is_effect, self.positive, self.relation.fluent, len(self.terms)


Schemas: TypeAlias = Mapping[str, tuple[Sequence[Parameter], Sequence[_Condition]]]
Relations: TypeAlias = Mapping[_Relation, tuple[_Relation, tuple[int, ...]]]
"""The counterpart of each relation of a model: argument i of the model is its argument `places[i]`."""


def translated(domain: DomainText, problem: ProblemText, model: DomainText) -> tuple[DomainText, ProblemText] | None:
    """Translate a problem of `domain` to the equivalent domain `model`; None if they are not equivalent.

    The first result is the model; the `original` of each schema is the action of `domain`, and so are costs.
    """
    types = domain.types_of((*domain.constants, *problem.objects))
    unary: dict[str, set[str]] = {}
    for atom in problem.init:
        if len(atom.objects) == 1 and atom.predicate not in domain.fluent_predicates:
            unary.setdefault(atom.predicate, set()).update(atom.objects)
    common = {OBJECT}.union(*types.values()).intersection(*types.values())
    common |= {name for name, objects in unary.items() if objects >= types.keys()}  # all objects satisfy these
    found = _match(domain, model) or _match(domain, model, common)
    return None if found is None else _translation(domain, problem, model, types, *found)


def are_equivalent(domain: DomainText, model: DomainText) -> bool:
    """Whether problems of `domain` can be translated to `model`, except for single problems with unusual types."""
    return _match(domain, model) is not None


def _match(
    domain: DomainText, model: DomainText, left_out: Collection[str] = ()
) -> tuple[Relations, dict[str, Action]] | None:
    """Find a bijection from a model to a domain, without conditions of the domain on the relations `left_out`."""
    ours, theirs = _schemas(model, {_only_type(model)}), _schemas(domain, {_only_type(domain), *left_out})
    return _Matching(ours, theirs).find()


def _only_type(text: DomainText) -> str:
    """The type of all parameters of all schemas; `object` if there are several."""
    types = {types for schema in text.schemas.values() for _, types in schema.parameters}
    return " ".join(next(iter(types))) if len(types) == 1 else OBJECT


def _schemas(text: DomainText, left_out: Collection[str]) -> Schemas:
    """The parameters and conditions of each schema, without conditions on the relations `left_out`."""
    found = {}
    for name, schema in text.schemas.items():
        typed = [
            _Condition(False, True, _Relation(" ".join(types), True, False), (variable,))
            for variable, types in schema.parameters
        ]
        literals = [
            _Condition(is_effect, positive, _Relation(predicate, False, predicate in text.fluent_predicates), terms)
            for is_effect, listed in ((False, schema.precondition), (True, schema.effect))
            for (predicate, terms), positive in listed
        ]
        conditions = dict.fromkeys(each for each in typed + literals if each.relation.name not in {OBJECT, *left_out})
        found[name] = schema.parameters, list(conditions)
    return found


@dataclass
class _Matching:
    """Search for a bijection from the schemas of a model to those of a domain; equal names are tried first."""

    ours: Schemas
    theirs: Schemas
    steps: int = 0

    def find(self) -> tuple[Relations, dict[str, Action]] | None:
        """Return the relations, and the domain's action for each schema of the model, over the model's variables."""
        if len(self.ours) != len(self.theirs):
            return None
        return self._extend(sorted(self.ours, key=lambda name: -len(self.ours[name][1])), {}, {})

    def _extend(
        self, names: Sequence[str], relations: Relations, actions: dict[str, Action]
    ) -> tuple[Relations, dict[str, Action]] | None:
        if not names:
            return relations, actions
        name, *rest = names
        variables, conditions = self.ours[name]
        taken = {action.name for action in actions.values()}
        shapes = sorted(each.shape for each in conditions)
        for other in sorted(self.theirs.keys() - taken, key=lambda other: (other != name, other)):
            parameters, wanted = self.theirs[other]
            if len(parameters) != len(variables) or sorted(each.shape for each in wanted) != shapes:
                continue
            for extended, terms in self._map(conditions, wanted, relations, {}):
                back = {there: here for here, there in terms.items()}
                free = iter([each.name for each in variables if each.name not in terms])  # in no condition
                objects = tuple(back[each.name] if each.name in back else next(free) for each in parameters)
                found = self._extend(rest, extended, actions | {name: Action(other, objects)})
                if found is not None:
                    return found
        return None

    def _map(
        self,
        conditions: Sequence[_Condition],
        others: Sequence[_Condition],
        relations: Relations,
        terms: Mapping[str, str],
    ) -> Iterator[tuple[Relations, Mapping[str, str]]]:
        """Yield the extensions of a partial bijection that map all conditions onto the others."""
        if not conditions:
            yield relations, terms
            return
        first, *rest = sorted(conditions, key=lambda each: each.relation not in relations)
        relation, taken = first.relation, {there for there, _ in relations.values()}
        for other in sorted(others, key=lambda each: each.relation.name != relation.name):
            known = relations.get(relation)
            fits = other.relation not in taken if known is None else other.relation == known[0]
            if other.shape != first.shape or not fits or (relation.name == "=") != (other.relation.name == "="):
                continue
            for places in permutations(range(len(first.terms))) if known is None else [known[1]]:
                self.steps += 1
                bound = _bound(terms, first.terms, [other.terms[place] for place in places])
                if bound is not None and self.steps <= _MOST_STEPS:
                    left = [each for each in others if each is not other]
                    yield from self._map(rest, left, {**relations, relation: (other.relation, places)}, bound)


def _bound(terms: Mapping[str, str], ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str] | None:
    """Extend a bijection of variables; constants are mapped to those of the same name. None if it is none."""
    bound = dict(terms)
    for here, there in zip(ours, theirs, strict=True):
        if here.startswith("?") != there.startswith("?") or (here != there and not here.startswith("?")):
            return None
        if here.startswith("?") and bound.setdefault(here, there) != there:
            return None
    return bound if len(set(bound.values())) == len(bound) else None


def _translation(
    domain: DomainText,
    problem: ProblemText,
    model: DomainText,
    types: Mapping[str, frozenset[str]],
    relations: Relations,
    actions: Mapping[str, Action],
) -> tuple[DomainText, ProblemText] | None:
    """Apply a bijection; None if an object has no type of the model, or a goal's predicate has no counterpart."""
    unused = model.predicates.keys() - {relation.name for relation in relations if not relation.is_type}
    same = {name for name in unused if domain.predicates.get(name) == model.predicates[name]}
    back = {name: (_Relation(name, False, False), tuple(range(model.predicates[name]))) for name in same}
    back |= {there.name: (here, places) for here, (there, places) in relations.items() if not there.is_type}
    held: dict[str, set[str]] = {name: set() for name in types}  # the model's types of the objects
    atoms = dict[Atom, None]()
    for here, (there, _) in relations.items():
        for name in [name for name in types if there.is_type and there.name in types[name]]:
            if here.is_type:
                held[name].add(here.name)
            else:
                atoms[Atom(here.name, (name,))] = None
    for atom in problem.init:
        if atom.predicate in back:
            here, places = back[atom.predicate]
            if here.is_type:
                held[atom.objects[0]].add(here.name)
            else:
                atoms[Atom(here.name, tuple(atom.objects[place] for place in places))] = None
    matched = {relation.name for relation in relations if relation.is_type}
    kinds = {frozenset[str](): _only_type(model)}
    parents = {parent for above in model.types.values() for parent in above}
    # Types without subtypes first: problems rarely declare an object of another one.
    for name in sorted((OBJECT, *model.types), key=lambda name: (name in parents, len(model.supertypes(name)))):
        kinds.setdefault(frozenset(model.supertypes(name) & matched), name)
    constants = {constant.name for constant in model.constants}
    if not constants <= types.keys() or any(frozenset(each) not in kinds for each in held.values()):
        return None
    goal = []
    for (predicate, objects), positive in problem.goal:
        here, places = back.get(predicate, (_Relation(predicate, predicate != "=", False), (0, 1)))
        if here.is_type:
            return None
        goal.append(Literal(Atom(here.name, tuple(objects[place] for place in places)), positive))
    schemas = {}
    for name, schema in model.schemas.items():
        other, variables = domain.schemas[actions[name].name], actions[name].objects
        names = {each.name: variable for each, variable in zip(other.parameters, variables, strict=True)}
        declared = other.original or Action(other.name, tuple(names))
        original = Action(declared.name, tuple(names.get(term, term) for term in declared.objects))
        call = [names.get(word, word) for word in other.cost.strip("()").split()]
        cost = f"({' '.join(call)})" if other.cost.startswith("(") else other.cost
        schemas[name] = replace(schema, original=original, cost=cost)
    text = replace(model, schemas=schemas, functions=domain.functions, costs=domain.costs, remarks=domain.remarks)
    typed = tuple(Parameter(name, (kinds[frozenset(each)],)) for name, each in held.items() if name not in constants)
    return text, replace(problem, domain=model.name, objects=typed, init=tuple(atoms), goal=tuple(goal))
