"""Builds the site: the README, the pages of `docs/`, the executed notebooks and the reference; it needs no network.

`python docs/build.py` executes the notebooks that changed (fast path, runs in the store that `SGP_HOME` names) and
writes `build/site/index.html` and what belongs to it. Interrupted, it goes on after the last notebook that ended.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from execution import CellFailed, execute, prepared
from nbformat import NotebookNode, writes
from pages import for_the_site
from plotly.offline import get_plotlyjs
from reference import write_command_line, write_reference
from sphinx.cmd.build import build_main

from sgp.errors import InputError
from sgp.files import write_text

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PICTURE = ROOT / "data" / "measured" / "coverage.svg"
PICTURES = HERE / "pictures"  # of the dashboard's pages
# The repository's pages, and what they are called in the site; `docs/index.md` has their order.
PAGES = {
    ROOT / "README.md": "index.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    **{page: page.name for page in HERE.glob("*.md") if page.name != "index.md"},
}
LINK = re.compile(r"(?<=\]\()(?P<path>[^)#\s:]+)(?=[)#])")  # the path of [words](path) and [words](path#heading)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command's arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where the site is written")
    path = parser.add_mutually_exclusive_group()
    path.add_argument("--fast", action="store_true", help="the notebooks' fast path (the default)")
    path.add_argument("--full", action="store_true", help="the full one, FAST = False: hours")
    parser.add_argument(
        "--no-execute", action="store_true", help="show what was executed before, and else the code alone"
    )
    parser.add_argument("--again", action="store_true", help="execute what did not change, too: after a change of sgp")
    parser.add_argument("--only", action="append", metavar="NN", help="only notebooks whose names begin so; repeatable")
    parser.add_argument("--notebooks", type=Path, default=ROOT / "notebooks", help="the folder of the notebooks")
    return parser.parse_args(words)


def main() -> int:
    """Executes, writes the pages' sources and builds; the exit code is 0 where all of it succeeded."""
    chosen = arguments()
    out: Path = chosen.out.resolve()
    work = out.with_name(f"{out.name}.work")
    files = sorted(chosen.notebooks.glob("*.ipynb"))
    if chosen.only:
        files = [file for file in files if file.name.startswith(tuple(chosen.only))]
    if not files:
        return refused(f"no notebook to show in {chosen.notebooks}; see --only and --notebooks")
    notebooks, failures = {}, []
    for file in files:
        try:
            notebooks[file.stem] = with_outputs(file, work / "executed", chosen)
        except CellFailed as failed:
            failures.append(str(failed))
            print(f"{file.stem}: failed", flush=True)
    if failures:
        return refused("\n".join(failures))
    source, extra = work / "source", work / "extra"
    try:
        write_sources(source, extra, notebooks)
    except InputError as error:
        return refused(str(error))
    shutil.rmtree(out, ignore_errors=True)
    places = ["-c", str(HERE), "-d", str(work / "doctrees"), "-D", f"html_extra_path={extra}", str(source), str(out)]
    status = build_main(["-q", "-W", "--keep-going", "-E", *places])
    if status:
        return status
    outside = asked_outside(out)
    if outside:
        return refused("\n".join(outside))
    print(out / "index.html")
    return 0


def with_outputs(file: Path, kept: Path, chosen: argparse.Namespace) -> NotebookNode:
    """A notebook with its outputs: those kept from before where its text is the same, else of an execution now."""
    notebook = prepared(file, chosen.full)
    if chosen.no_execute:
        return notebook.kept(kept) or notebook.content
    found = None if chosen.again else notebook.kept(kept)
    if found is not None:
        print(f"{file.stem}: unchanged", flush=True)
        return found
    started = time.monotonic()
    print(f"{file.stem}: executing", flush=True)
    executed = execute(notebook, kept)
    print(f"{file.stem}: {time.monotonic() - started:.0f} s", flush=True)
    return executed


def write_sources(source: Path, extra: Path, notebooks: dict[str, NotebookNode]) -> None:
    """Writes what Sphinx reads: our own pages, the notebooks, the reference; and what it copies as it is."""
    for folder in (source, extra):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for page, name in PAGES.items():
        text = with_links(page.read_text(encoding="utf-8"), page.parent)
        if name == "index.md":
            text += "\n" + (HERE / name).read_text(encoding="utf-8")
        write_text(source / name, text)
    shutil.copy(PICTURE, source)
    shutil.copytree(PICTURES, source / PICTURES.name)
    for name, notebook in notebooks.items():
        text = writes(for_the_site(notebook, name, extra / "players"))
        write_text(source / "notebooks" / f"{name}.ipynb", text)
    write_text(extra / "plotly.js", get_plotlyjs())
    write_reference(source / "reference")
    write_command_line(source / "command_line.rst")


def with_links(text: str, folder: Path) -> str:
    """A page's Markdown with its links to other pages as the site has them, not as `folder` of the repository has."""

    places = {**PAGES, PICTURE: PICTURE.name}

    def moved(link: re.Match[str]) -> str:
        return places.get((folder / link["path"]).resolve(), link["path"])

    return LINK.sub(moved, text)


def asked_outside(site: Path) -> list[str]:
    """A sentence for each page with something that a browser would ask another machine for."""
    asks = re.compile(
        r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"' >]+|<link\b[^>]*//[^\"' >]+"
    )
    return [
        f"{page.relative_to(site)} asks for something outside: {found.group()[:200]}"
        for page in sorted(site.rglob("*.html"))
        for found in asks.finditer(page.read_text(encoding="utf-8"))
    ]


def refused(reason: str) -> int:
    """Says why there is no site; the exit code."""
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
