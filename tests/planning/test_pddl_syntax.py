from __future__ import annotations

import pytest

from sgp.errors import PddlError
from sgp.planning.pddl_syntax import Block, Source, normalise, read_sections

TEXT = """\
; a comment (with parentheses
(define (Domain D) ; another
  (:Types van
    - thing)
  (:action))
"""


def test_a_text_is_read_as_nested_lists_whose_items_know_their_lines():
    name, (types, action) = read_sections(Source("my.pddl", TEXT), "domain")
    assert name == "d"
    assert (types, action) == ([":types", "van", "-", "thing"], [":action"])
    assert [(word, word.line) for word in Source("my.pddl", TEXT).words(types)] == [
        ("van", 3),
        ("-", 4),
        ("thing", 4),
    ]
    assert (types.head, types.line, action.head, action.line) == (":types", 3, ":action", 5)
    assert (Block().head, Block([Block(["a"])]).head) == ("", "")


def test_case_and_comments_go_and_lines_stay():
    assert normalise(TEXT).splitlines() == ["", "(define (domain d) ", "  (:types van", "    - thing)", "  (:action))"]


def test_a_list_among_words_is_refused_with_its_line():
    source = Source("my.pddl", "(define (problem p)\n (:objects a\n  (b c)))")
    _, (section,) = read_sections(source, "problem")
    with pytest.raises(PddlError, match=r"my\.pddl, line 3: expected a name, found a list '\(b \.\.\.'"):
        list(source.words(section))


def test_a_remark_names_the_first_line_and_how_many_more_there_are():
    source = Source("my.pddl", "(define (domain d)\n (:types a\n a b b))")
    _, (types,) = read_sections(source, "domain")
    for word in types[2:]:
        source.remark(f"'{word}' is odd", word)
    assert source.remarks == ("my.pddl, line 3: 'a' is odd", "my.pddl, line 3: 'b' is odd (and 1 more)")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("(define (domain d)\n (:predicates (p))\n (:action a :effect (p))", 1, "never closed"),
        ("(define (domain d))\n)", 2, "')' without a '('"),
        ("hello (define (domain d))", 1, "stands outside"),
        ("", 1, "expected '(define"),
        ("(define (problem p))", 1, "expected '(domain NAME)'"),
        ("(define (domain d))\n\n(define (domain e))", 3, "a second list begins after the end"),
        ("(define (domain d)\n (:types a)\n b)", 3, "expected a section '(:keyword ...)'"),
        ("(define (domain d)\n (types a))", 2, "expected a section '(:keyword ...)'"),
        ("(define)", 1, "expected '(domain NAME)' after 'define', found nothing"),
        ("(defined (domain d))", 1, "expected '(define"),
    ],
)
def test_a_text_of_another_form_is_refused_with_its_line(text, line, words):
    with pytest.raises(PddlError) as caught:
        read_sections(Source("my.pddl", text), "domain")
    assert caught.value.line == line
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"my.pddl, line {line}: ")
