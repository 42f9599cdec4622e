"""Atoms and actions in English: every domain has a sentence for each, and names stay unchanged."""

from __future__ import annotations

import pytest

from sgp.domains import get_domain, words_of
from sgp.planning.domain import Words
from sgp.planning.pddl import Action, Atom, Literal, read_domain
from tests.conftest import COURIER


@pytest.mark.parametrize(
    ("domain", "said", "sentence"),
    [
        ("ferry", Atom("at", ("c1", "l0")), "c1 is at l0"),
        ("ferry", Literal(Atom("at", ("c1", "l0")), False), "c1 is not at l0"),
        ("blocksworld", Literal(Atom("ontable", ("b2",)), False), "b2 is not on the table"),
        ("miconic", Atom("above", ("f1", "f2")), "f2 is above f1"),
        ("rovers", Literal(Atom("have_image", ("r", "o", "colour")), False), "r has not taken an image of o in colour"),
        (
            "transport",
            Action("pick-up", ("v1", "l1", "p1", "capacity-0", "capacity-1")),
            "load p1 into v1 at l1 and lower the room left from capacity-1 to capacity-0",
        ),
    ],
)
def test_sentences(domain, said, sentence):
    assert get_domain(domain).words.sentence(said) == sentence


def test_an_atom_and_an_action_of_one_name_differ():
    words = Words(atoms={"move": "{0} is {not}a move"}, actions={"move": "move {0}"})
    assert words.sentence(Atom("move", ("a",))) == "a is a move"
    assert words.sentence(Action("move", ("a",))) == "move a"


def test_what_has_no_template_stays_pddl():
    words = words_of(read_domain(COURIER))  # no built-in domain
    assert words.sentence(Action("drive", ("van", "a", "b"))) == "(drive van a b)"
    assert words.sentence(Literal(Atom("at", ("van", "a")), False)) == "(not (at van a))"
    ferry = get_domain("ferry")
    assert words_of(ferry.texts["typed"]) is ferry.words
    for objects in ((), ("c1",), ("c1", "l0", "l1")):  # other arity than Ferry's predicate of this name
        assert ferry.words.sentence(Atom("at", objects)) == str(Atom("at", objects))


@pytest.mark.parametrize("name", ["{0}", "{not}", "}}", "{0.__class__}", "%s"])
def test_names_come_out_as_they_are(name):
    words = get_domain("ferry").words
    assert words.sentence(Atom("at", (name, "l0"))) == f"{name} is at l0"
    assert words.sentence(Literal(Atom("at", ("c1", name)), False)) == f"c1 is not at {name}"
    assert words.sentence(Action("sail", (name, name))) == f"sail from {name} to {name}"
    assert words.sentence(Action(name, (name,))) == f"({name} {name})"
