"""Recorded explanations as the player's data, their features in English."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sgp.planning.pddl import Atom, Literal
from sgp.planning.words import Words

_ATOM = re.compile(r"\(([^()\s]+(?: [^()\s]+)*)\)( becomes true| becomes false)?")
_PHRASES = ((", a goal that holds", " (a goal that holds)"), (", an open goal", " (an open goal)"))
_ANY = {"·": "something"}  # an object that a feature does not name
Numbered = Callable[[str], int]


def explanations(record: Mapping[str, Any], order: Sequence[int], numbered: Numbered) -> list[dict[str, Any]]:
    """A step's explanations, that against the runner-up first; none in old records and where nothing was explained.

    `order` has the candidates' places in rank order: the other candidate is told by its rank (from 0). A reason is
    [feature, value of the chosen one, value of the other one, share]; `numbered` gives a feature's number.
    """
    return [
        {
            "against": order.index(each["against"]),
            "measure": each["measure"],
            "reasons": [[numbered(one["feature"]), one["chosen"], one["other"], one["share"]] for one in each["why"]],
        }
        for each in (*([record] if "why" in record else []), *record.get("others", ()))
    ]


def in_english(feature: str, words: Words) -> str:
    """A feature with its atoms as sentences; what no template fits stays as it is."""
    said = _ATOM.sub(lambda found: _sentence(found, words), feature)
    for phrase, better in _PHRASES:
        said = said.replace(phrase, better)
    return said.replace(" with ", " where ") if said != feature else feature


def _sentence(found: re.Match[str], words: Words) -> str:
    predicate, *objects = found[1].split()
    atom = Atom(predicate, tuple(_ANY.get(each, each) for each in objects))
    said = words.sentence(Literal(atom, found[2] != " becomes false"))
    if said.startswith("("):  # PDDL, which no template fits
        return found[0]
    return f"now {said}" if found[2] else said
