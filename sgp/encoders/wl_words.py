"""WL colours in words: the neighbourhood that a colour stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sgp.encoders.wl_vocabulary import OBJECT_COLOUR, Vocabulary, predicate_colour

_LISTED = 4  # neighbours that a text names
_GOALS = {(None, True): "", (True, True): "a goal that holds", (True, False): "an open goal"} | {
    (False, True): "a goal not to be, and true",
    (False, False): "a goal not to be, and false",
}


class _Colour(NamedTuple):
    """What a colour stands for: a predicate (None: an object), its place in the goal, and the neighbours."""

    predicate: str | None
    arity: int
    goal: str
    around: tuple[tuple[int, int, int], ...] = ()  # position, colour, how often


class ColourWords:
    """Every colour of a vocabulary in words. Predicates are given with their arities."""

    def __init__(self, vocabulary: Vocabulary, predicates: dict[str, int]):
        self._colours: dict[int, _Colour] = {vocabulary.initial(OBJECT_COLOUR): _Colour(None, 0, "")}
        names = sorted(predicates.items(), key=lambda item: f"{item[0]}/{item[1]}")
        for place, (name, arity) in enumerate(names):
            for (goal, true), said in _GOALS.items():
                self._colours[vocabulary.initial(predicate_colour(place, goal, true))] = _Colour(name, arity, said)
        for level in range(1, vocabulary.iterations + 1):
            for own, members, column in vocabulary.neighbourhoods(level):
                if own in self._colours:  # pruning leaves some out
                    self._colours[column] = self._colours[own]._replace(around=tuple(members))

    def of(self, columns: Sequence[int]) -> list[str]:
        """What the columns of an embedding count."""
        return [self._node(self._colours[column]) if column in self._colours else "a colour" for column in columns]

    def _node(self, colour: _Colour) -> str:
        if colour.predicate is None:
            return f"objects x with {self._around(colour)}" if colour.around else "objects"
        names = "xyzuvw"[: colour.arity] if colour.arity <= 6 else [f"x{place}" for place in range(colour.arity)]
        said = ", ".join(filter(None, (f"atoms ({' '.join((colour.predicate, *names))})", colour.goal)))
        seen = [
            f"{names[position]} with {self._around(self._colours[each])}"
            for position, each, _ in sorted(colour.around)
            if each in self._colours and self._colours[each].around and position < colour.arity
        ]
        return "; ".join((said, *seen))

    def _around(self, colour: _Colour) -> str:
        """The atoms around an object, x where it stands in them; goals first."""
        members = [(position, self._colours[each], times) for position, each, times in colour.around]
        members.sort(key=lambda member: (not member[1].goal, member[1].predicate or "", member[0]))
        said = []
        for position, each, times in members:
            places = ["x" if place == position else "·" for place in range(each.arity)]
            atom = f"({' '.join((each.predicate or '', *places))})"
            said.append(f"{f'{times} of ' if times > 1 else ''}{atom}{f', {each.goal}' if each.goal else ''}")
        more = f", and {len(said) - _LISTED} more kinds" if len(said) > _LISTED else ""
        return (", ".join(said[:_LISTED]) or "nothing") + more
