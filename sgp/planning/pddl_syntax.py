"""The syntax of PDDL: text as nested lists of words, each with its place, so that errors show where.

PDDL ignores case and pymimir, which does the planning, does not: all text is lower-cased, with lines kept in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sgp.errors import PddlError
from sgp.planning.clock import looking

_WIDTH = 76  # of a line that an error shows
_LONGEST_NAME = 40  # in a sentence


class Word(str):
    """A word of PDDL, the line that it stands on and where in it, from 0."""

    __slots__ = ("column", "line")
    line: int
    column: int


class Block(list["Word | Block"]):
    """A parenthesised list of PDDL, the line that it opens on and where in it, from 0."""

    __slots__ = ("column", "line")
    line: int
    column: int

    @property
    def head(self) -> str:
        """The first word, or "" where the list is empty or begins with a list."""
        return self[0] if self and isinstance(self[0], Word) else ""


@dataclass
class Source:
    """A text that is read, its name, and what was noticed: sentences on what other planners read otherwise."""

    name: str
    text: str
    _remarks: dict[str, list[int]] = field(default_factory=dict)

    def refusal(
        self, message: str, at: Word | Block | None = None, kind: type[PddlError] = PddlError, line: int = 1
    ) -> PddlError:
        """The error for what stands `at` a place, which is shown with a mark under it."""
        if at is None:
            return kind(message, self.name, line)
        return kind(message, self.name, at.line, marked(self.text.split("\n")[at.line - 1], at.column))

    def remark(self, message: str, at: Word | Block) -> None:
        """Keeps that something was read though the letter of PDDL forbids it; each kind once, with its first line."""
        self._remarks.setdefault(message, []).append(at.line)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was noticed, one sentence each, beginning with file and line."""
        return tuple(
            f"{self.name}, line {lines[0]}: {message}" + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")
            for message, lines in self._remarks.items()
        )


def shown(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name of the user's in a sentence: cut, and what is not printable as its number."""
    cut = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return printable(cut)


def marked(line: str, column: int) -> str:
    """A line of the user's, cut around a place, with a mark under it."""
    begin = 0 if len(line) <= _WIDTH else max(0, min(column - _WIDTH // 3, len(line) - _WIDTH))
    before, after = ("…" if begin else ""), ("…" if begin + _WIDTH < len(line) else "")
    left = before + printable(line[begin:column].replace("\t", " "))
    right = printable(line[column : begin + _WIDTH].replace("\t", " ").rstrip()) + after
    return f"    {left}{right}\n    {' ' * len(left)}^"


def printable(text: str) -> str:
    """A text of the user's with what is not printable as its number."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def placed(source: Source, name: str) -> Word | None:
    """A name as the word that it first stands as."""
    waiting: list[Word | Block] = [_read(source)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Block):
            waiting += reversed(item)
        elif item == name:
            return item
    return None


def normalise(text: str) -> str:
    """The text in lower case without comments and byte order mark; every word keeps its line and place."""
    return re.sub(r"^\ufeff", " ", re.sub(r";[^\n]*", "", text)).lower()


def read_sections(source: Source, kind: str) -> tuple[str, list[Block]]:
    """The name in `(define (kind name) ...)`, of a domain or a problem, and the sections `(:keyword ...)` after it.

    Raises PddlError for parentheses that do not match, for text outside them, and for anything else in these places.
    """
    top = _read(source)
    naming = top[1] if len(top) > 1 else None
    if not isinstance(naming, Block) or naming.head != kind or len(naming) != 2 or not isinstance(naming[1], Word):
        found = f"'({shown(naming.head)} ...)'" if isinstance(naming, Block) else "nothing"
        raise source.refusal(f"expected '({kind} NAME)' after 'define', found {found}", top)
    sections = []
    for section in top[2:]:
        if not isinstance(section, Block) or not section.head.startswith(":"):
            raise source.refusal("expected a section '(:keyword ...)'", section)
        sections.append(section)
    return str(naming[1]), sections


def words_of(block: Block, start: int, source: Source) -> Iterator[Word]:
    """The items of a list from a place on, which are all words. Raises PddlError for a list among them."""
    for item in block[start:]:
        if isinstance(item, Block):
            raise source.refusal(f"expected a name, found a list '({shown(item.head)} ...'", item)
        yield item


def _read(source: Source) -> Block:
    """The one `(define ...)` of a text. As for Fast Downward and VAL, '?' begins a word wherever it stands."""
    stack: list[Block] = []
    top: Block | None = None
    line, begin, end = 1, 0, -1  # of the line, and of the last word
    for match in looking(re.finditer(r"\n|[()]|\??[^\s()?]+|\?", normalise(source.text))):
        token = match.group()
        if token == "\n":
            line, begin = line + 1, match.end()
            continue
        item: Word | Block = Word(token) if token not in "()" else Block()
        item.line, item.column = line, match.start() - begin
        if token == ")":
            if not stack:
                raise source.refusal("')' without a '(' before it; remove it or add the '('", item)
            stack.pop()
        elif isinstance(item, Word):
            if not stack:
                raise source.refusal(f"'{shown(token)}' stands outside of '(define ...)'; expected '('", item)
            if match.start() == end:
                source.remark("a variable begins without a space before it, and is read as if there were one", item)
            end = match.end()
            stack[-1].append(item)
        else:
            if stack:
                stack[-1].append(item)
            elif top is None:
                top = item
            else:
                raise source.refusal("a second list begins after the end of '(define ...)'; one file holds one", item)
            stack.append(item)
    if stack:
        raise source.refusal(
            f"the '(' of this line is never closed; {len(stack)} ')' are missing at the end", stack[-1]
        )
    if top is None or top.head != "define":
        raise source.refusal("expected '(define (domain ...) ...)' or '(define (problem ...) ...)'", top)
    return top
