"""The numbers in README and docs: each comes from a file under `data/measured`.

A page marks what was measured, a table or some lines of text:

    <!-- measured: NAME -->
    ...
    <!-- end -->

and `SOURCES[NAME]` of `all_sources.py` makes it: the whole table, or the numbers in the order in which they are read.
`python docs/measured.py` writes them into the pages; a test holds that they stand there, and that no number that looks
measured stands anywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from all_sources import SOURCES

from sgp.errors import InputError
from sgp.files import write_text

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

BLOCK = re.compile(r"(<!-- measured: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(\n?<!-- end -->)", re.DOTALL)
# Not text: fenced code, code, comments, where links lead.
_NO_TEXT = r"^ *```.*?^ *```$|`[^`\n]*`|<!--.*?-->|(?<=\])\([^)\s]*\)"
_NUMBER = r"(?<![\w.])(?:\d{4}-\d\d-\d\d|\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?|\.\d+)(?!\w)"
_TOKEN = re.compile(f"(?P<skipped>{_NO_TEXT})|(?P<number>{_NUMBER})", re.DOTALL | re.MULTILINE)
_UNITS = "s|ms|KB|MB|GB|%|times|seconds|minutes|hours"
# Shares and means, amounts with a unit, counts of a whole, and cells of tables with nothing but a number.
_LOOKS_MEASURED = re.compile(
    rf"(?<![\w.])(?:\d*\.\d+(?!\w)|\d[\d,]*\s?(?:{_UNITS})(?!\w)|\d[\d,]* of \d[\d,]*)|\| *\d[\d,]* *(?=\|)"
)


def renewed(page: str) -> str:
    """A page with every block as its source makes it.

    Raises InputError for a block without a source, or whose text has another number of numbers.
    """
    return BLOCK.sub(lambda block: f"{block[1]}{_renewed(block['name'], block['text'])}{block[4]}", page)


def _renewed(name: str, text: str) -> str:
    if name not in SOURCES:
        raise InputError(f"nothing makes the block '{name}'; expected one of {', '.join(SOURCES)}")
    made = SOURCES[name]()
    return made if isinstance(made, str) else with_numbers(name, text, made)


def with_numbers(name: str, text: str, numbers: Sequence[str | None]) -> str:
    """Text whose numbers, in the order of reading, are those given; None leaves the one that stands there.

    Raises InputError where the text has more or fewer.
    """
    found = [match["number"] for match in _TOKEN.finditer(text) if match["number"]]
    if len(found) != len(numbers):
        raise InputError(
            f"block '{name}' has the {len(found)} numbers {', '.join(found)}; its source makes {len(numbers)}: "
            f"{', '.join(each or '(any)' for each in numbers)}"
        )
    waiting = iter(numbers)
    return _TOKEN.sub(lambda match: match[0] if match["skipped"] else next(waiting) or match[0], text)


def unsourced(page: str, given: Sequence[str] = ()) -> list[str]:
    """What looks measured and stands outside of all blocks; words in `given` have numbers that nobody measured."""
    text = re.sub(_NO_TEXT, "", BLOCK.sub("", page), flags=re.DOTALL | re.MULTILINE)
    for words in given:
        text = text.replace(words, "")
    return [match[0].strip("| ") for match in _LOOKS_MEASURED.finditer(text)]


def main() -> None:
    """Writes the numbers into the pages."""
    for path in PAGES:
        before = path.read_text(encoding="utf-8")
        after = renewed(before)
        if after != before:
            write_text(path, after)
            print(f"{path.relative_to(ROOT)} has new numbers")


if __name__ == "__main__":
    main()
