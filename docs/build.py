"""Build the documentation site: `python docs/build.py` writes `build/site/index.html`.

The site has the README, the pages of `docs/`, the executed notebooks, the API reference and the help of all commands,
and can be read without a network. An executed notebook is kept until its text changes.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import shutil
import sys
from hashlib import sha256
from html import escape
from importlib import import_module
from pathlib import Path

import nbformat
import plotly.io
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode
from plotly.offline import get_plotlyjs
from sphinx.application import Sphinx
from typer._click import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

import sgp
from sgp.cli import app
from sgp.files import write_text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = Path("data", "measured", "coverage.svg")
SPHINX = {
    "project": "sgp",
    "extensions": ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"],
    "root_doc": "README",
    "default_role": "literal",  # `name` in docstrings
    "html_theme": "theme",
    "html_theme_path": [str(ROOT / "docs")],
    "html_title": "sgp",
    "html_copy_source": False,
    "html_use_index": False,
    "html_show_search_summary": False,  # a browser fetches no summary for pages in a folder
    "nb_execution_mode": "off",
    "nb_ipywidgets_js": {},
    "nb_merge_streams": True,
    "nb_render_markdown_format": "myst",
    "myst_heading_anchors": 3,
    "autodoc_member_order": "bysource",
    "autodoc_preserve_defaults": True,
    "python_use_unqualified_type_names": True,
    "python_maximum_signature_line_length": 100,
}


def main() -> int:
    """Execute notebooks, write the sources and build the site; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="folder of the site")
    parser.add_argument("--no-execute", action="store_true", help="show new notebooks without outputs")
    parser.add_argument("--only", default="", metavar="NN", help="only notebooks whose names begin with NN")
    parser.add_argument("--notebooks", type=Path, default=ROOT / "notebooks", help="folder of the notebooks")
    options = parser.parse_args()
    out = options.out.resolve()
    work = out.with_name(f"{out.name}.work")
    source, extra = work / "source", work / "extra"
    for folder in (source, extra):
        shutil.rmtree(folder, ignore_errors=True)
    extra.mkdir(parents=True)
    try:
        for file in sorted(options.notebooks.glob(f"{options.only}*.ipynb")):
            notebook = executed(file, work / "executed", not options.no_execute)
            text = nbformat.writes(static(notebook, file.stem, extra / "players"))
            write_text(source / "notebooks" / file.name, text)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    write_text(extra / "plotly.js", get_plotlyjs())
    write_pages(source)
    shutil.rmtree(out, ignore_errors=True)
    overrides = {**SPHINX, "html_extra_path": [str(extra)]}
    site = Sphinx(source, None, out, work / "doctrees", "html", overrides, None, warningiserror=True, freshenv=True)
    site.build()
    if site.statuscode == 0:
        shutil.copy(out / "README.html", out / "index.html")
        print(out / "index.html")
    return site.statuscode


def executed(file: Path, folder: Path, execute: bool) -> NotebookNode:
    """A notebook with its outputs, from `folder` if its text is the same. Raises ValueError naming a failed cell."""
    notebook = nbformat.read(file, as_version=4)
    key = sha256("\0".join(f"{cell.cell_type}\0{cell.source}" for cell in notebook.cells).encode()).hexdigest()[:16]
    saved = folder / f"{file.stem}-{key}.ipynb"
    if saved.exists():
        print(f"{file.stem}: unchanged", flush=True)
        return nbformat.read(saved, as_version=4)
    if not execute:
        return notebook
    print(f"{file.stem}: executing", flush=True)
    started: list[int] = []
    options = {"resources": {"metadata": {"path": str(file.parent)}}, "timeout": None, "kernel_name": "python3"}
    client = NotebookClient(notebook, on_cell_start=lambda cell, cell_index: started.append(cell_index), **options)
    try:
        client.execute(env={**os.environ, "PLOTLY_RENDERER": "plotly_mimetype", "SGP_PROGRESS": "0"})
    except (CellExecutionError, DeadKernelError) as error:
        cell = notebook.cells[started[-1]].source
        raise ValueError(f"{file}, cell {started[-1] + 1} of {len(notebook.cells)}: {error}\n{cell}") from error
    write_text(saved, nbformat.writes(notebook))
    return notebook


def static(notebook: NotebookNode, name: str, players: Path) -> NotebookNode:
    """The notebook with plots, pictures and players as HTML that needs no kernel; `players` receives their pages.

    Raises ValueError for another widget.
    """
    widgets = notebook.metadata.pop("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    outputs = [(place, output) for place, cell in enumerate(notebook.cells) for output in cell.get("outputs", [])]
    plotly_js = '<script src="../plotly.js"></script>\n'  # once a page, before the first plot
    for number, (place, output) in enumerate(outputs, start=1):
        data = output.get("data", {})
        if view := data.get("application/vnd.jupyter.widget-view+json"):
            widget = widgets[view["model_id"]]["state"]
            if "step" not in widget or "data" not in widget:
                raise ValueError(f"{name}, cell {place + 1} shows a widget that is no player of 'sgp.show'")
            write_text(players / f"{name}-{number}.html", sgp.viewer.html_page(widget["data"]))
            address = f"../players/{name}-{number}.html#step={widget['step']}"
            title = escape(f"Rollout of {widget['data']['problem']}")
            html = f'<iframe class="player" title="{title}" src="{address}" loading="lazy"></iframe>'
            html += f'<p class="alone"><a href="{address}">The player on a page of its own</a></p>'
        elif figure := data.get("application/vnd.plotly.v1+json"):
            title = escape(figure["layout"].get("title", {}).get("text", "plot"))
            shown = {"data": figure["data"], "layout": figure["layout"]}
            options = {"validate": False, "default_height": 450, "config": {"responsive": True, "displaylogo": False}}
            drawn = plotly.io.to_html(shown, include_plotlyjs=False, full_html=False, **options)
            html = f'{plotly_js}<div class="plot" role="figure" aria-label="{title}">{drawn}</div>'
            plotly_js = ""
        elif picture := data.get("image/svg+xml"):
            html = f'<div class="picture">{picture}</div>'
        else:
            continue
        output["data"] = nbformat.from_dict({"text/html": html})
    return notebook


def write_pages(source: Path) -> None:
    """Write the pages into the source folder, each in its place in the repository: their links stay valid."""
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns("*.py", "theme", "index.md"))
    write_text(source / PICTURE, (ROOT / PICTURE).read_text(encoding="utf-8"))
    shutil.copy(ROOT / "CONTRIBUTING.md", source)
    readme, contents = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/index.md"))
    write_text(source / "README.md", f"{readme}\n{contents}")
    page = source / "docs" / "notebooks.md"

    def built_link(link: re.Match[str]) -> str:
        """The link to a notebook, or its words alone where the notebook is not part of the site."""
        return link[0] if (page.parent / link[2]).exists() else link[1]

    write_text(page, re.sub(r"\[(\w+)\]\((\S+\.ipynb)\)", built_link, page.read_text(encoding="utf-8")))
    command = get_command(app)
    help_text = get_docs_for_click(obj=command, ctx=Context(command, info_name="sgp"), name="sgp")
    write_text(source / "docs" / "command_line.md", help_text.replace("# `sgp`", "# Command line", 1))
    index = "# Reference\n\nThe names that `import sgp` gives, and those of its namespaces.\n\n```{toctree}\n"
    for space in ("sgp", "sgp.analysis", "sgp.data", "sgp.experiments", "sgp.viz"):
        index += f"{space}\n"
        module = import_module(space)
        summary = str(module.__doc__).partition("\n")[0]
        entries = "".join(f"## {name}\n\n```{{eval-rst}}\n{directive(space, name)}\n```\n\n" for name in module.__all__)
        write_text(source / "docs" / "reference" / f"{space}.md", f"# {space}\n\n{summary}\n\n{entries}")
    write_text(source / "docs" / "reference" / "index.md", f"{index}```\n")


def directive(space: str, name: str) -> str:
    """The directive that has Sphinx read the docstring of a public name."""
    entry, path = getattr(import_module(space), name), f"{space}.{name}"
    if not inspect.isclass(entry):
        return f".. autofunction:: {path}" if callable(entry) else f".. autodata:: {path}"
    kind = "autoexception" if issubclass(entry, BaseException) else "autoclass"
    fields = getattr(entry, "_fields", ()) if issubclass(entry, tuple) else ()
    hidden = f"\n   :exclude-members: {', '.join(fields)}" if fields else ""
    return f".. {kind}:: {path}\n   :members:{hidden}"


if __name__ == "__main__":
    sys.exit(main())
