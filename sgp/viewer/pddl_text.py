"""PDDL as HTML for people: numbered lines, coloured by what a word is, one of them marked."""

from __future__ import annotations

import re
from html import escape

MOST_LINES, MOST_CHARACTERS = 400, 40_000  # that are shown; what a browser lays out at once
AROUND = 6  # lines before and after the marked one
_TOKEN = re.compile(
    r"(?P<comment>;.*)|(?P<keyword>:[^\s()?]+)|(?P<variable>\?[^\s()?]*)|(?P<bracket>[()]+)|(?P<name>[^\s()?;]+)"
)
_WORDS = frozenset(
    ("define", "domain", "problem", "and", "or", "not", "imply", "forall", "exists", "when", "either", "increase")
)
# Each has a contrast of 4.5 and more on the papers of both themes.
_STYLE = """<style>
.pddl { font: 13px/1.5 ui-monospace, monospace; margin: 0; padding: 8px 0; max-height: 300px; overflow: auto;
  border: 1px solid #8886; border-radius: 8px; }
.pddl div { display: grid; grid-template-columns: 5ch minmax(0, 1fr); gap: 12px; padding: 0 12px 0 0; }
.pddl div > span { text-align: right; color: light-dark(#5c6470, #a2aab6); user-select: none; }
.pddl code { font: inherit; background: none; color: inherit; padding: 0; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.pddl .keyword { color: light-dark(#0067a5, #63b3ed); font-weight: 600; }
.pddl .variable { color: light-dark(#8a3c00, #ff9e57); }
.pddl .word { color: light-dark(#6a3d9a, #c9a6f5); }
.pddl .comment { color: light-dark(#47703d, #8fc581); font-style: italic; }
.pddl .bracket { color: light-dark(#5c6470, #a2aab6); }
.pddl .marked { background: light-dark(#ffe3de, #5a2018); } .pddl .marked > span { color: inherit; font-weight: 700; }
.pddl .marked .bracket, .pddl .marked .comment { color: inherit; }
</style>"""


def pddl_html(text: str, name: str, line: int | None = None) -> str:
    """A text as numbered, coloured lines; where a line (from 1) is given, that one marked and those around it alone.

    `name` says to screen readers what it is. The text is escaped. Long texts are cut, and their last line says so.
    """
    lines = text.split("\n")
    first, last = (0, len(lines)) if line is None else (max(0, line - 1 - AROUND), min(len(lines), line + AROUND))
    rows: list[str] = []
    characters = 0
    for number in range(first, last):
        if len(rows) == MOST_LINES or characters >= MOST_CHARACTERS:
            rows.append(f"<div><span>…</span><code>{len(lines) - number:,} more lines</code></div>")
            break
        shown = lines[number][: MOST_CHARACTERS - characters]
        characters += len(shown) + 1
        cut = "…" if len(shown) < len(lines[number]) else ""
        if number + 1 == line:
            start = f'<div class="marked" role="group" aria-label="The line of the error"><span>►\u00a0{number + 1}'
        else:
            start = f"<div><span>{number + 1}"
        rows.append(f"{start}</span><code>{_coloured(shown)}{cut}</code></div>")
    return f'{_STYLE}<div class="pddl" role="region" tabindex="0" aria-label="{escape(name)}">{"".join(rows)}</div>'


def _coloured(line: str) -> str:
    """One line, each token in a span of its kind."""
    parts, end = [], 0
    for found in _TOKEN.finditer(line):
        parts.append(escape(line[end : found.start()]))
        kind, words = str(found.lastgroup), found.group()
        end = found.end()
        if kind == "name":
            kind = "word" if words.lower() in _WORDS else ""
        parts.append(f'<span class="{kind}">{escape(words)}</span>' if kind else escape(words))
    return "".join(parts) + escape(line[end:])
