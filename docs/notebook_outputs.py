"""Execute notebooks and store their outputs with static pictures: `python docs/notebook_outputs.py [NN ...]`.

Each notebook is updated from its script first. Every plot gets a PNG beside its interactive form and every player is
replaced by a picture, so that the notebooks can be read where no code runs. The interactive forms of the largest plots
are left out of a notebook that would become larger than `LIMIT`. Needs the installed Chromium.
"""

from __future__ import annotations

import base64
import io
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from build import ROOT, executed
from nbformat import NotebookNode
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from plotly.offline import get_plotlyjs

import sgp
from sgp.files import write_text

LIMIT = 300_000  # bytes of a notebook
PLOT, PLAYER, STATE = (
    f"application/vnd.{name}+json" for name in ("plotly.v1", "jupyter.widget-view", "jupyter.widget-state")
)
DRAW = "figure => Plotly.newPlot(document.body.firstElementChild, figure.data, figure.layout, {staticPlot: true})"


def main() -> None:
    """Execute the notebooks whose names begin with one of the arguments, or all."""
    chosen = tuple(sys.argv[1:]) or ("",)
    for script in sorted(file for file in (ROOT / "notebooks").glob("*.py") if file.name.startswith(chosen)):
        subprocess.run([sys.executable, "-m", "jupytext", "--quiet", "--to", "ipynb", "--update", script], check=True)
        file, started, cpu = script.with_suffix(".ipynb"), time.monotonic(), cpu_seconds()
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(file, Path(folder), execute=True)
        seconds, cpu = time.monotonic() - started, cpu_seconds() - cpu
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            illustrate(notebook, browser.new_page(viewport={"width": 900, "height": 620}))
        write_text(file, nbformat.writes(notebook))
        print(f"{script.stem}: {seconds:.0f} s, {cpu:.0f} s of CPU, {file.stat().st_size / 1000:.0f} kB", flush=True)


def cpu_seconds() -> float:
    """CPU time of the child processes that ended, the kernels among them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def illustrate(notebook: NotebookNode, page: Page) -> None:
    """Add static pictures to the outputs, and remove what needs a kernel or changes with every execution."""
    widgets = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    plots = []
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of day
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if view := data.pop(PLAYER, None):
                widget = widgets[view["model_id"]]["state"]
                data["image/png"] = player_picture(page, widget["data"], widget["step"])
            elif len(data) > 1 and "text/plain" in data:  # the repr of a table or picture
                data["text/plain"] = data["text/plain"][:200]
            if PLOT in data:
                data["image/png"] = plot_picture(page, data[PLOT])
                plots.append(data)
    plots.sort(key=lambda data: len(nbformat.writes(nbformat.v4.new_notebook(metadata={"x": data[PLOT]}))))
    while plots and len(nbformat.writes(notebook)) > LIMIT:
        plots.pop().pop(PLOT)


def plot_picture(page: Page, figure: dict[str, Any]) -> str:
    """A figure of plotly as PNG, in base64."""
    layout = {"width": 900, "height": 450, **figure["layout"]}
    page.set_content(f"<div style='width: {layout['width']}px; height: {layout['height']}px'></div>")
    page.add_script_tag(content=get_plotlyjs())
    page.evaluate(f"async {DRAW}.then(() => null)", {"data": figure["data"], "layout": layout})
    return small(page.locator("div").first.screenshot())


def player_picture(page: Page, data: dict[str, Any], step: int) -> str:
    """The player at a step as PNG, in base64."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "player.html"
        write_text(file, sgp.viewer.html_page(data))
        page.goto("about:blank")  # so that the step in the address is read again
        page.goto(f"{file.as_uri()}#step={step}")
        page.wait_for_timeout(1500)  # milliseconds, for the animation
        return small(page.screenshot())


def small(picture: bytes) -> str:
    """A picture with at most 128 colours, in base64; rare colours, those of marks, are kept."""
    out, image = io.BytesIO(), Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(128, Image.Quantize.MAXCOVERAGE).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


if __name__ == "__main__":
    main()
