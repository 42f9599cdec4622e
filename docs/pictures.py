"""Take the pictures of docs/dashboard.md: `python docs/pictures.py [PAGE ...]`, in the installed Chromium.

The dashboard is started here with an empty store; each page is seen on two screens, in light and in dark colours.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from sgp.cli.showing import free_port, server_command

PAGES = {
    **{name: name for name in ("what_if", "coverage", "scaling", "next_state", "own_problem", "tour", "guess")},
    "rollout": "?domain=blocksworld&step=5",
    "compare": "compare?domain=blocksworld",
    "failures": "failures?domains=logistics",
}
VIEWS = [(width, height, theme) for width, height in ((1366, 768), (1920, 1080)) for theme in ("light", "dark")]
DRAWN = """() => !document.querySelector("[data-testid=stSkeleton]")
    && [...document.querySelectorAll("[data-testid=stPlotlyChart]")].every(plot => plot.querySelector(".main-svg"))"""

port = free_port(8600)
with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
    environment = {**os.environ, "SGP_HOME": home}
    server = subprocess.Popen(server_command(port, browser=False), stdout=subprocess.DEVNULL, env=environment)
    try:
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://localhost:{port}/_stcore/health"):
                break
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in sys.argv[1:] or PAGES:
            for width, height, theme in VIEWS:
                page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                page.goto(f"http://localhost:{port}/{PAGES[name]}")
                page.wait_for_selector("[data-testid=stElementContainer]")
                page.wait_for_selector("[data-test-script-state=notRunning]")
                page.wait_for_function(DRAWN)
                page.wait_for_timeout(2000)  # milliseconds, for animations
                file = Path(__file__).parent / "pictures" / f"{name}-{width}-{theme}.webp"
                Image.open(io.BytesIO(page.screenshot())).save(file, quality=80, method=6)
                page.close()
    finally:
        server.terminate()
        server.wait()
