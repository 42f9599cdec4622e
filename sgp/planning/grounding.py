"""Grounds the problem given on standard input (domain and problem text, split by a NUL) and ends.

`Task` runs this as a separate process under a time limit, because grounding cannot be interrupted from Python.
"""

from __future__ import annotations

import sys

from pymimir.advanced import formalism, search


def main() -> None:
    """Grounds and ends; a time limit is the caller's."""
    domain, problem = sys.stdin.read().split("\0")
    parser = formalism.Parser(domain, "", formalism.ParserOptions())
    parsed = parser.parse_problem(problem, "", formalism.ParserOptions())
    search.SearchContext.create(parsed, search.SearchContextOptions(search.GroundedOptions()))


if __name__ == "__main__":
    main()
