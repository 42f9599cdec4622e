"""The syntax of PDDL: text as nested lists of words, each with its line, so that errors name file and line.

PDDL ignores case and pymimir, which does the planning, does not: all text is lower-cased, with lines kept in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sgp.errors import PddlError


class Word(str):
    """A word of PDDL and the line it stands on."""

    line: int


class Block(list["Word | Block"]):
    """A parenthesised list of PDDL and the line it opens on."""

    line: int

    @property
    def head(self) -> str:
        """The first word, or "" where the list is empty or begins with a list."""
        return self[0] if self and isinstance(self[0], Word) else ""


def normalise(text: str) -> str:
    """The text in lower case without comments; every line keeps its number."""
    return re.sub(r";[^\n]*", "", text).lower()


def read_sections(text: str, kind: str, source: str) -> tuple[str, list[Block]]:
    """The name in `(define (kind name) ...)`, of a domain or a problem, and the sections `(:keyword ...)` after it.

    Raises PddlError for parentheses that do not match, for text outside them, and for anything else in these places.
    """
    top = _read(normalise(text), source)
    naming = top[1] if len(top) > 1 else None
    if not isinstance(naming, Block) or naming.head != kind or len(naming) != 2:
        found = f"'({naming.head} ...)'" if isinstance(naming, Block) else "nothing"
        raise PddlError(f"expected '({kind} NAME)' after 'define', found {found}", source, top.line)
    sections = []
    for section in top[2:]:
        if not isinstance(section, Block) or not section.head.startswith(":"):
            raise PddlError("expected a section '(:keyword ...)'", source, section.line)
        sections.append(section)
    return str(naming[1]), sections


def words_of(block: Block, start: int, source: str) -> Iterator[Word]:
    """The items of a list from a place on, which are all words. Raises PddlError for a list among them."""
    for item in block[start:]:
        if isinstance(item, Block):
            raise PddlError(f"expected a name, found a list '({item.head} ...'", source, item.line)
        yield item


def _read(text: str, source: str) -> Block:
    """The one `(define ...)` of a text."""
    stack: list[Block] = []
    top: Block | None = None
    line = 1
    for match in re.finditer(r"\n|[()]|[^\s()]+", text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token == "(":
            block = Block()
            block.line = line
            if stack:
                stack[-1].append(block)
            elif top is None:
                top = block
            else:
                raise PddlError(
                    "a second list begins after the end of '(define ...)'; one file holds one", source, line
                )
            stack.append(block)
        elif token == ")":
            if not stack:
                raise PddlError("')' without a '(' before it; remove it or add the '('", source, line)
            stack.pop()
        else:
            if not stack:
                raise PddlError(f"'{token[:40]}' stands outside of '(define ...)'; expected '('", source, line)
            word = Word(token)
            word.line = line
            stack[-1].append(word)
    if stack:
        raise PddlError(
            f"the '(' of this line is never closed; {len(stack)} ')' are missing at the end", source, stack[-1].line
        )
    if top is None or top.head != "define":
        raise PddlError("expected '(define (domain ...) ...)' or '(define (problem ...) ...)'", source, 1)
    return top
