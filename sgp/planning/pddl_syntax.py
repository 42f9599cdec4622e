"""PDDL text as nested lists of words with positions for error messages.

All text is lower-cased, because PDDL ignores case. Lines and columns are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sgp.errors import PddlError, UnsupportedPddl
from sgp.planning.clock import with_limit_checks

_WIDTH = 76  # characters of a line in an error
_LONGEST_NAME = 40  # characters in a sentence


class Word(str):
    """A PDDL word with its line and its column, from 0."""

    __slots__ = ("column", "line")
    line: int
    column: int


class Block(list["Word | Block"]):
    """A parenthesised PDDL list with the line and the column, from 0, of its parenthesis."""

    __slots__ = ("column", "line")
    line: int
    column: int

    @property
    def head(self) -> str:
        """The first word; "" if the list is empty or begins with a list."""
        return self[0] if self and isinstance(self[0], Word) else ""

    @property
    def flat(self) -> bool:
        """Whether the list contains no lists."""
        return bool(self) and all(isinstance(item, Word) for item in self)

    def __str__(self) -> str:
        return f"({' '.join(map(str, self))})"


@dataclass
class Source:
    """A named text, which collects remarks on unusual PDDL."""

    name: str
    text: str
    _remarks: dict[str, list[int]] = field(default_factory=dict)

    def refusal(self, message: str, at: Word | Block | None = None, kind: type[PddlError] = PddlError) -> PddlError:
        """Build an error that quotes the line of a position with a mark below it."""
        if at is None:
            return kind(message, self.name, 1)
        return kind(message, self.name, at.line, _marked(self.text.split("\n")[at.line - 1], at.column))

    def unsupported(self, message: str, at: Word | Block | None) -> PddlError:
        """Build the error for correct PDDL that the package does not handle."""
        return self.refusal(message, at, UnsupportedPddl)

    def require(self, holds: object, message: str, at: Word | Block | None) -> None:
        """Raise PddlError with the message unless the condition holds."""
        if not holds:
            raise self.refusal(message, at)

    def word(self, item: Word | Block, what: str) -> Word:
        """Return the item if it is a word. Raises PddlError."""
        if isinstance(item, Block):
            raise self.refusal(f"expected {what}, found a list '({shown(item.head)} ...'", item)
        return item

    def words(self, block: Block, start: int = 1) -> Iterator[Word]:
        """Yield the items from an index on, all of them words. Raises PddlError."""
        return (self.word(item, "a name") for item in block[start:])

    def block(self, item: Word | Block, expected: str = "a list '(predicate ...)'") -> Block:
        """Return the item if it is a list. Raises PddlError."""
        if isinstance(item, Word):
            raise self.refusal(f"expected {expected}, found '{shown(item)}'", item)
        return item

    def remark(self, message: str, at: Word | Block) -> None:
        """Record unusual PDDL; a repeated message is reported once, with its first line."""
        self._remarks.setdefault(message, []).append(at.line)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks, one sentence each, beginning with file and line."""
        return tuple(
            f"{self.name}, line {lines[0]}: {message}" + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")
            for message, lines in self._remarks.items()
        )


def shown(name: str, longest: int = _LONGEST_NAME) -> str:
    """Shorten and escape a name from a user's file for a message."""
    return printable(name if len(name) <= longest else f"{name[: longest - 1]}…")


def printable(text: str) -> str:
    """Escape unprintable characters."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _marked(line: str, column: int) -> str:
    """Cut a line around a column, with a mark below the column."""
    begin = 0 if len(line) <= _WIDTH else max(0, min(column - _WIDTH // 3, len(line) - _WIDTH))
    before, after = ("…" if begin else ""), ("…" if begin + _WIDTH < len(line) else "")
    left = before + printable(line[begin:column].replace("\t", " "))
    right = printable(line[column : begin + _WIDTH].replace("\t", " ").rstrip()) + after
    return f"    {left}{right}\n    {' ' * len(left)}^"


def first_place(source: Source, name: str) -> Word | None:
    """Return the first word of a text that equals a name."""
    waiting: list[Word | Block] = [_read(source)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Block):
            waiting += reversed(item)
        elif item == name:
            return item
    return None


def normalise(text: str) -> str:
    """Lower-case a text without comments and byte order mark; words keep their lines and columns."""
    return re.sub(r"^\ufeff", " ", re.sub(r";[^\n]*", "", text)).lower()


def read_sections(source: Source, kind: str) -> tuple[str, list[Block]]:
    """Return name and sections `(:keyword ...)` of a `(define (kind name) ...)`. Raises PddlError."""
    top = _read(source)
    naming = top[1] if len(top) > 1 and isinstance(top[1], Block) else Block()
    got = f"'({shown(naming.head)} ...)'" if naming else "nothing"
    named = naming.head == kind and len(naming) == 2 and naming.flat
    source.require(named, f"expected '({kind} NAME)' after 'define', found {got}", top)
    sections = []
    for section in top[2:]:
        if not isinstance(section, Block) or not section.head.startswith(":"):
            raise source.refusal("expected a section '(:keyword ...)'", section)
        sections.append(section)
    return str(naming[1]), sections


def _read(source: Source) -> Block:
    """Parse the only `(define ...)` of a text. As in Fast Downward and VAL, '?' always begins a word."""
    stack: list[Block] = []
    top: Block | None = None
    line, begin = 1, 0
    for match in with_limit_checks(re.finditer(r"\n|[()]|\??[^\s()?]+|\?", normalise(source.text))):
        token = match.group()
        if token == "\n":
            line, begin = line + 1, match.end()
            continue
        item: Word | Block = Word(token) if token not in "()" else Block()
        item.line, item.column = line, match.start() - begin
        if token == ")":
            source.require(stack, "')' without a '(' before it; remove it or add the '('", item)
            stack.pop()
        elif isinstance(item, Word):
            if not stack:
                raise source.refusal(f"'{shown(token)}' outside of '(define ...)'; expected '('", item)
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
        missing = f"{len(stack)} ')' {'is' if len(stack) == 1 else 'are'} missing at the end"
        raise source.refusal(f"the '(' of this line is never closed; {missing}", stack[-1])
    if top is None or top.head != "define":
        raise source.refusal("expected '(define (domain ...) ...)' or '(define (problem ...) ...)'", top)
    return top
