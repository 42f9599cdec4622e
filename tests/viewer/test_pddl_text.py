"""PDDL as numbered, coloured lines, with all markup escaped."""

from __future__ import annotations

import re
from html import unescape

from sgp.viewer.pddl_text import AROUND, MOST_LINES, pddl_html
from tests.conftest import COURIER
from tests.viewer.conftest import HOSTILE_DOMAIN, HOSTILE_PROBLEM


def lines_of(html):
    """Return the visible lines, without their numbers."""
    return [unescape(re.sub(r"<[^>]+>", "", each)) for each in re.findall(r"<code>(.*?)</code>", html)]


def test_the_lines_are_those_of_the_text_and_words_have_their_kinds():
    html = pddl_html(COURIER + "; the end", "domain")
    assert lines_of(html) == (COURIER + "; the end").split("\n")
    for kind, words in (("keyword", ":action"), ("variable", "?v"), ("word", "not"), ("comment", "; the end")):
        assert f'<span class="{kind}">{words}</span>' in html
    assert 'class="marked"' not in html


def test_the_line_of_an_error_is_marked_among_those_around_it():
    text = "\n".join(f"(line{number})" for number in range(1, 41))
    html = pddl_html(text, "problem", 20)
    assert lines_of(html) == [f"(line{number})" for number in range(20 - AROUND, 21 + AROUND)]
    (marked,) = re.findall(r'<div class="marked".*?</div>', html)
    assert lines_of(marked) == ["(line20)"]
    assert lines_of(pddl_html(text, "problem", 1))[0] == "(line1)"
    assert lines_of(pddl_html(text, "problem", 40))[-1] == "(line40)"


def test_markup_stays_text():
    for text in (HOSTILE_DOMAIN, HOSTILE_PROBLEM):
        html = pddl_html(text, '"><img src=x>')
        assert not re.search(r"<(img|script)", html)
        assert lines_of(html) == text.split("\n")


def test_what_is_long_is_cut_and_says_so():
    html = pddl_html("(x)\n" * 5_000, "problem")
    assert len(lines_of(html)) == MOST_LINES + 1
    assert lines_of(html)[-1] == "4,601 more lines"
    assert len(pddl_html("(" * 1_000_000, "problem")) < 200_000
