"""Pictures of the dashboard's pages, as docs/dashboard.md shows them: `python docs/pictures.py`, one or all.

A small screen and a large one, in light colours and in dark ones, in the installed Chromium. The dashboard's server,
which is looked at, is started here, with an empty store.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from sgp.progress import track
from sgp.viewer.dashboard import command, free_port

FOLDER = Path(__file__).parent / "pictures"
SEEN = [(*size, theme) for size in ((1366, 768), (1920, 1080)) for theme in ("light", "dark")]
PAGES = {  # what is looked at, in the order of the menu
    "rollout": "?domain=blocksworld&step=5",
    "what_if": "what_if",
    "compare": "compare?domain=blocksworld",
    "coverage": "coverage",
    "scaling": "scaling",
    "failures": "failures?domains=logistics",
    "next_state": "next_state",
    "own_problem": "own_problem",
    "tour": "tour",
    "guess": "guess",
}
STILL = 2000  # milliseconds after all is there: animations have ended then
# What stands in for an element that is not there yet, or a plot that is not drawn.
DRAWN = """() => !document.querySelector("[data-testid=stSkeleton]")
    && [...document.querySelectorAll("[data-testid=stPlotlyChart]")].every(plot => plot.querySelector(".main-svg"))"""


def main() -> None:
    """Takes the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", choices=[*PAGES, []], help="only these")
    asked = parser.parse_args().pages or list(PAGES)
    port = free_port(8600)
    address = f"http://localhost:{port}"
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        os.environ["SGP_HOME"] = home
        server = subprocess.Popen(command(port, browser=False), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(address)
            chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            views = [(name, *seen) for name in asked for seen in SEEN]
            for name, width, height, theme in track(views, "pictures"):
                page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                page.set_default_timeout(60_000)
                page.goto(f"{address}/{PAGES[name]}")
                page.wait_for_selector("[data-testid=stMainBlockContainer] [data-testid=stElementContainer]")
                page.wait_for_selector("[data-test-script-state=notRunning]")
                page.wait_for_function(DRAWN)
                page.wait_for_timeout(STILL)
                picture = Image.open(io.BytesIO(page.screenshot()))
                picture.save(FOLDER / f"{name}-{width}-{theme}.webp", quality=80, method=6)
                page.close()
            chromium.close()
        finally:
            server.terminate()
            server.wait()


def wait_for(address: str) -> None:
    """Returns once the server answers."""
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health"):
            return
        time.sleep(0.1)


if __name__ == "__main__":
    main()
