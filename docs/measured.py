"""The numbers in README and docs: each comes from a file under `data/measured`.

A page marks what was measured, a table or some lines of text:

    <!-- measured: NAME -->
    ...
    <!-- end -->

and `SOURCES[NAME]` of `all_sources.py` makes it: the whole table, or the numbers in the order in which they are read.
`python docs/measured.py` writes them into the pages; with `--check` it writes nothing and exits with 1 if any page
differs from the files.
"""

from __future__ import annotations

import argparse
import re
import sys
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


def main(words: Sequence[str] | None = None, pages: Sequence[Path] = PAGES) -> int:
    """Write the numbers into the pages, or only compare them; the exit code is 1 if a compared page differs."""
    parser = argparse.ArgumentParser(description="Write measured numbers into README and docs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page differs")
    check = parser.parse_args(words).check
    differing = 0
    for path in pages:
        before = path.read_text(encoding="utf-8")
        after = renewed(before)
        if after == before:
            continue
        differing += 1
        if check:
            print(f"{path}: numbers differ from data/measured; run 'python docs/measured.py'", file=sys.stderr)
        else:
            write_text(path, after)
            print(f"{path} has new numbers")
    return int(check and differing > 0)


if __name__ == "__main__":
    sys.exit(main())
