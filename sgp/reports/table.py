"""Tables of text, rendered for a terminal, in Markdown and in HTML."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rich import table as rich_table
from rich.markup import escape as plain

CAPTIONS = tomllib.loads((Path(__file__).parent / "captions.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Row:
    """A table row. Published rows are dimmed; a heading row names the rows that follow it."""

    words: tuple[str, ...]
    published: bool = False
    heading: bool = False


@dataclass(frozen=True)
class Table:
    """A title, headings, rows with as many words each, and a caption."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str = ""

    @classmethod
    def of(cls, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> Table:
        """Return a table of plain rows."""
        return cls(title, tuple(headings), tuple(Row(tuple(words)) for words in rows), caption)

    def terminal(self) -> rich_table.Table:
        """Return the table for a terminal, with markup in cells escaped."""
        table = rich_table.Table(title=plain(self.title), caption=plain(self.caption), caption_justify="left")
        for heading in self.headings:
            table.add_column(plain(heading), vertical="bottom")
        for place, row in enumerate(self.rows):
            last = place + 1 == len(self.rows) or self.rows[place + 1].heading
            style = "bold" if row.heading else "dim" if row.published else None
            table.add_row(*map(plain, row.words), style=style, end_section=last)
        return table

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.headings, ("---",) * len(self.headings)]
        for row in self.rows:
            lines.append(tuple(f"**{word}**" if row.heading and word else word for word in row.words))
        body = "".join(f"| {' | '.join(word.strip().replace('|', '/') for word in words)} |\n" for words in lines)
        return body + (f"\n{self.caption}\n" if self.caption else "")

    def html(self) -> str:
        """Return the table in HTML, every word escaped."""

        def cells(words: Sequence[str], tag: str) -> str:
            tags = (tag if word else "td" for word in words)  # a header cell has words
            return "".join(f"<{tag}>{escape(word)}</{tag}>" for tag, word in zip(tags, words, strict=True))

        rows = "".join(
            f'<tr class="{"heading" if row.heading else "published" if row.published else "own"}">'
            f"{cells(row.words, 'td')}</tr>\n"
            for row in self.rows
        )
        caption = f"<p>{escape(self.caption)}</p>\n" if self.caption else ""
        return (
            f"<h3>{escape(self.title)}</h3>\n<table>\n<thead><tr>{cells(self.headings, 'th')}</tr></thead>\n"
            f"<tbody>\n{rows}</tbody>\n</table>\n{caption}"
        )

    _repr_html_ = html  # what a notebook's cell shows
