"""The expert's way through a recorded problem, by the effects that the PDDL declares: no planning library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sgp.planning.pddl import Action, Atom, DomainText

State = frozenset[Atom]


def expert_states(text: DomainText, initial: State, plan: Iterable[Action]) -> list[State]:
    """The states of a plan, the initial one first. Raises KeyError for an action that the domain does not have."""
    states = [initial]
    for action in plan:
        schema = text.schemas[action.name]
        names = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
        deleted, added = (
            {
                Atom(literal.atom.predicate, tuple(names.get(each, each) for each in literal.atom.objects))
                for literal in schema.effect
                if literal.positive is sign
            }
            for sign in (False, True)
        )
        states.append((states[-1] - deleted) | added)
    return states


class Expert:
    """Where states stand on the expert's way."""

    def __init__(self, states: Sequence[State]):
        self._places = {state: place for place, state in enumerate(states)}  # the last place of a state
        self._sizes = {len(state) for state in states}
        self.length = len(states) - 1

    def place(self, state: State) -> int | None:
        """After how many actions the expert is in a state; None where it never is."""
        return self._places.get(state) if len(state) in self._sizes else None


def divergences(places: Sequence[int | None]) -> list[int]:
    """The steps that leave the expert's states: in one of them before, in none after."""
    return [step for step in range(len(places) - 1) if places[step] is not None and places[step + 1] is None]
