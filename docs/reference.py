"""The sources of the reference: the facade's names, by what a user does with them, and the command line's verbs.

Both are read from the package, so that neither can go stale.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

import sgp
from sgp.cli import app
from sgp.files import write_text


@dataclass(frozen=True)
class Chapter:
    """Names that a user wants together: those whose module begins with one of the prefixes."""

    file: str
    title: str
    about: str
    homes: tuple[str, ...]


CHAPTERS = (
    Chapter(
        "train",
        "Train, plan, evaluate",
        "The verbs, and grids of them.",
        (
            "sgp.api",
            "sgp.experiments.grid",
            "sgp.experiments.joint",
            "sgp.experiments.retrieval",
            "sgp.experiments.retrieval_record",
            "sgp.experiments.scaling_runs",
            "sgp.experiments.selection",
            "sgp.methods",
            "sgp.workers",
        ),
    ),
    Chapter(
        "plan",
        "Problems, planners, rollouts",
        "What a problem is, what decides at every step, and what came of it.",
        ("sgp.planning", "sgp.domains", "sgp.errors"),
    ),
    Chapter("data", "Suites, expert plans, runs", "Where problems, plans and models are kept.", ("sgp.datasets",)),
    Chapter("encode", "States become vectors", "Encoders and their features.", ("sgp.encoders",)),
    Chapter(
        "measure",
        "Scores, diagnostics, plots",
        "How good a planner is, and why.",
        ("sgp.evaluation", "sgp.analysis", "sgp.reports"),
    ),
    Chapter("look", "Pictures and players", "What a rollout looks like.", ("sgp.viewer",)),
    Chapter("worker", "A process of its own", "Planning and training that can be ended.", ("sgp.service",)),
)


def chapters() -> dict[Chapter, list[str]]:
    """The names of the facade by chapter, in alphabetical order. Raises LookupError for a module without a chapter."""
    found: dict[Chapter, list[str]] = {chapter: [] for chapter in CHAPTERS}
    for name in sgp.__all__:
        home = getattr(sgp, name).__module__
        fits = [each for each in CHAPTERS if any(f"{home}.".startswith(f"{prefix}.") for prefix in each.homes)]
        if len(fits) != 1:
            raise LookupError(f"sgp.{name} is of {home}, which stands in no chapter of docs/reference.py; add its room")
        found[fits[0]].append(name)
    return found


def write_reference(folder: Path) -> None:
    """Writes a page for each chapter, and one that leads to them."""
    pages = chapters()
    lead = (
        "Everything that ``import sgp`` gives. Names are imported when they are first used. Shapes are written\n"
        "``[n, N + 1]``; every error is a ``sgp.SgpError`` whose message says what to do.\n"
    )
    tree = "".join(f"   {chapter.file}\n" for chapter in pages)
    write_text(folder / "index.rst", f"{_heading('Reference', '=')}{lead}\n.. toctree::\n   :maxdepth: 2\n\n{tree}")
    for chapter, names in pages.items():
        blocks = [_heading(chapter.title, "="), f"{chapter.about}\n", *map(_directive, names)]
        write_text(folder / f"{chapter.file}.rst", "\n".join(blocks))


def write_command_line(file: Path) -> None:
    """Writes one page with the help of every verb."""
    command = get_command(app)
    verbs: Iterable[str] = command.commands  # type: ignore[attr-defined]
    lead = "Every verb of ``sgp``, as ``sgp VERB --help`` prints it. Exit codes: 0 done, 1 not solved, 2 an error, "
    lead += "70 an error that nobody foresaw, with a file that says where.\n"
    blocks = [_heading("Command line", "="), lead]
    for verb in verbs:
        result = CliRunner().invoke(app, [verb, "--help"], prog_name="sgp", terminal_width=96, catch_exceptions=False)
        lines = "".join(f"   {line}\n" for line in result.output.strip().splitlines())
        blocks += [_heading(f"sgp {verb}", "-"), f".. code-block:: text\n\n{lines}"]
    write_text(file, "\n".join(blocks))


def _directive(name: str) -> str:
    """What has Sphinx read a name's docstring."""
    thing = getattr(sgp, name)
    if not inspect.isclass(thing):
        return f"{_heading(name, '-')}.. autofunction:: sgp.{name}\n"
    kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
    options = ":members:"
    if issubclass(thing, Enum):
        options += "\n   :undoc-members:"  # the values
    if issubclass(thing, tuple):
        options += f"\n   :exclude-members: {', '.join(getattr(thing, '_fields', ()))}"  # the docstring tells of them
    return f"{_heading(name, '-')}.. {kind}:: sgp.{name}\n   {options}\n"


def _heading(words: str, line: str) -> str:
    """A heading of reStructuredText."""
    return f"{words}\n{line * len(words)}\n\n"
