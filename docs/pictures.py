"""Take the pictures of docs/dashboard.md and of the README: `python docs/pictures.py [PAGE ...]`, in Chromium.

The dashboard is started here with an empty store; each page is seen on two screens, in light and in dark colours.
"player" is the animation of the README: every step of a recorded rollout in the player.
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
from playwright.sync_api import Browser, sync_playwright

import sgp
from sgp.cli.showing import free_port, server_command
from sgp.datasets.recorded import read_recorded
from sgp.viewer.library import recorded_folder

PAGES = {
    **{name: name for name in ("what_if", "coverage", "scaling", "next_state", "own_problem", "tour", "guess")},
    "start": "",
    "rollout": "rollout?domain=blocksworld&step=5",
    "compare": "compare?domain=blocksworld",
    "failures": "failures?domains=logistics",
}
ROLLOUT = recorded_folder() / "blocksworld-state-centric-wl-xgboost-state-p01-solved.jsonl.gz"
VIEWS = [(width, height, theme) for width, height in ((1366, 768), (1920, 1080)) for theme in ("light", "dark")]
DRAWN = """() => !document.querySelector("[data-testid=stSkeleton]")
    && [...document.querySelectorAll("[data-testid=stPlotlyChart]")].every(plot => plot.querySelector(".main-svg"))"""


def animate_player(chromium: Browser, folder: Path, file: Path) -> None:
    """Write a GIF with a picture of the player at every step of `ROLLOUT`."""
    sgp.viz.export_html(ROLLOUT, folder / "player.html")
    page = chromium.new_page(viewport={"width": 1200, "height": 675})
    page.goto((folder / "player.html").as_uri())
    frames = []
    for _ in range(len(read_recorded(ROLLOUT)[0].steps) + 1):
        page.wait_for_timeout(1000)  # milliseconds, for animations
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("P", palette=Image.Palette.ADAPTIVE, colors=32))
        page.keyboard.press("ArrowRight")
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=1200, loop=0, optimize=True)
    page.close()


port = free_port(8600)
with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
    environment = {**os.environ, "SGP_HOME": home}
    server = subprocess.Popen(server_command(port, browser=False), stdout=subprocess.DEVNULL, env=environment)
    try:
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://localhost:{port}/_stcore/health"):
                break
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in sys.argv[1:] or ["player", *PAGES]:
            if name == "player":
                animate_player(chromium, Path(home), Path(__file__).parent / "pictures" / "player.gif")
                continue
            for width, height, theme in VIEWS:
                page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                page.set_default_timeout(120_000)  # milliseconds: the first visit of a page reads its data
                page.goto(f"http://localhost:{port}/{PAGES[name]}")
                page.wait_for_selector("[data-testid=stElementContainer]", state="attached")
                page.wait_for_selector("[data-test-script-state=notRunning]")
                page.wait_for_function(DRAWN)
                page.wait_for_timeout(2000)  # milliseconds, for animations
                file = Path(__file__).parent / "pictures" / f"{name}-{width}-{theme}.webp"
                Image.open(io.BytesIO(page.screenshot())).save(file, quality=80, method=6)
                page.close()
    finally:
        server.terminate()
        server.wait()
