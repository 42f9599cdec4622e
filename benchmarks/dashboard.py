"""Latency and CPU time of the dashboard, with goals: `python benchmarks/dashboard.py --csv dashboard.csv`.

Measured in headless Chromium on this machine. Client steps are those of a recorded Blocksworld rollout of at least 100
steps: CPU time of the main thread per step, frames per second at 8 steps per second and faster, and key presses that
repeat faster than frames. Server interactions are choices that make the page run again, timed from the key press to the
visible change. A cold start is the time from the start of the server to the first drawing. A model is trained first,
for the first frame of page What if.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measuring import add_csv, note, write
from player import ARGUMENTS, milliseconds
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

import sgp
from sgp.cli.showing import free_port, server_command
from sgp.datasets.recorded import Recorded
from sgp.evaluation.attempts import subject_of
from sgp.evaluation.scores import Score
from sgp.files import write_text
from sgp.viewer.playback import playback

STEPS, STARTS = 100, 6  # number of timed steps; number of first steps from which a branch begins


@dataclass(frozen=True)
class Line:
    """A row of the table: measured quantity, value, unit, goal in words, and whether the goal was reached."""

    what: str
    value: float
    unit: str
    goal: str
    reached: bool


def longest_rollout() -> Recorded:
    """Return the first recorded Blocksworld rollout of at least 100 steps."""
    found = sgp.recorded_rollouts().rollouts
    return next(each for each in found if each.about.domain == "blocksworld" and len(each.steps) >= STEPS)


def client(page: Page, folder: Path) -> Iterator[Line]:
    """Measure a step in the browser alone."""
    write_text(folder / "page.html", sgp.viewer.html_page(playback(longest_rollout())))
    page.goto(f"file://{folder}/page.html")
    page.wait_for_selector(".sgp[data-step]")
    cost = milliseconds(page, STEPS)["TaskDuration"]
    yield Line("client step, processor time", cost, "ms", "at most 16", cost <= 16)

    page.keyboard.press("Home")
    rate = page.evaluate(
        """() => new Promise((done) => {
          let frames = 0;
          const key = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key }));
          const started = performance.now();
          const tick = (now) => {
            frames += 1;
            key("k");  // a step in every frame, faster than any speed of the player
            if (now - started < 2000) requestAnimationFrame(tick);
            else done((1000 * frames) / (now - started));
          };
          requestAnimationFrame(tick);
        })"""
    )
    yield Line("frames a second, a step in each", rate, "1/s", "at least 30", rate >= 30)

    page.keyboard.press("Home")
    page.wait_for_selector('.sgp[data-step="0"]')
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    lost = 60 - int(page.locator(".sgp").get_attribute("data-step") or 0)
    yield Line("held arrow key, steps lost of 60", lost, "", "none", lost == 0)


def timed(page: Page, act: Callable[[], object], seen: Callable[[], object]) -> float:
    """Milliseconds from the key press of `act`, as the page receives it, until an element is visible.

    Excludes Playwright's check that the page is stable, which takes a tenth of a second.
    """
    page.evaluate(
        """() => {
          const hear = () => (window.pressed = performance.timeOrigin + performance.now());
          const once = { capture: true, once: true };
          for (const kind of ["pointerdown", "keydown", "input"]) addEventListener(kind, hear, once);
        }"""
    )
    act()
    seen()
    ended = 1000 * time.time()
    pressed: float = page.evaluate("() => window.pressed")
    return ended - pressed


def interactions(page: Page, address: str) -> Iterator[Line]:
    """Measure the server's answers, each page once warm."""
    times: list[float] = []
    page.goto(f"{address}/rollout")
    page.wait_for_selector(".sgp[data-step]")
    header = page.locator(".sgp header span").first
    for domain in ("gripper", "visitall", "logistics", "blocksworld") * 4:
        page.wait_for_selector("[data-test-script-state=notRunning]")  # wait until the previous player is gone
        choose = partial(page.get_by_label("Domain").select_option, domain)
        times.append(timed(page, choose, header.filter(has_text=f"{domain},").wait_for))
    yield from spread("another rollout", times[4:])
    yield Line("another rollout, the first time", max(times[:4]), "ms", "", True)

    page.goto(f"{address}/coverage?domains=gripper")
    page.locator(".js-plotly-plot .point").first.wait_for()
    times = []
    for view, words in (
        ("size", "Coverage over size"),
        ("time", "Coverage over time"),
        ("instances", "Each column"),
    ) * 5:
        page.wait_for_selector("[data-test-script-state=notRunning]")
        button = page.get_by_role("radio", name=view, exact=True)
        times.append(timed(page, button.click, page.get_by_text(words).last.wait_for))
    yield from spread("coverage, another view", times[3:])

    page.goto(f"{address}/failures")
    page.locator(".failures.list").wait_for()
    times = []
    for view, words in (("measured attempts", "Select a row"), ("recorded rollouts", "at the failure")) * 6:
        page.wait_for_selector("[data-test-script-state=notRunning]")  # wait until the text of the earlier view is gone
        button = page.get_by_role("radio", name=view)
        times.append(timed(page, button.click, page.get_by_text(words).first.wait_for))
    yield from spread("failures, recorded or measured", times[2:])


def first_frames(page: Page, address: str) -> Iterator[Line]:
    """Time from the key that selects another candidate to the first picture after it, with the model loaded."""
    model = subject_of(sgp.train("contrastive-jumps", "blocksworld", "state-centric")).model
    seen = (each for each in sgp.recorded_rollouts().rollouts if each.about.domain == "blocksworld")
    problem = next(each.head["name"] for each in seen if each.about.model == model and len(each.steps) > STARTS)
    asked = {"domain": "blocksworld", "model": model, "problem": problem}
    times: list[float] = []
    for step in range(1, STARTS + 1):
        page.goto(f"{address}/what_if?{urllib.parse.urlencode({**asked, 'step': step})}")
        page.wait_for_selector(".tree button")
        page.wait_for_selector(f'.sgp[data-step="{step - 1}"]')
        page.wait_for_timeout(1500)  # the worker loads the model meanwhile
        rank = page.locator("tr.chosen td").first.inner_text()
        page.keyboard.press("2" if rank == "1" else "1")
        page.wait_for_selector("tr.picked")
        shown = page.locator(f'.sgp[data-step="{step}"]')
        times.append(timed(page, lambda: page.keyboard.press("b"), shown.wait_for))
    p50, most = statistics.median(times[1:]), max(times[1:])
    yield Line(f"what if, first frame, p50 of {len(times) - 1}", p50, "ms", "at most 500", p50 <= 500)
    yield Line("what if, first frame, slowest", most, "ms", "at most 500", most <= 500)


def spread(what: str, times: list[float]) -> Iterator[Line]:
    """Return the median and 95th percentile of times."""
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20, method="inclusive")[-1]
    yield Line(f"{what}, p50 of {len(times)}", p50, "ms", "at most 250", p50 <= 250)
    yield Line(f"{what}, p95", p95, "ms", "at most 500", p95 <= 500)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_csv(parser)
    options = parser.parse_args()
    port = free_port(8600)
    address = f"http://localhost:{port}"
    asked: list[str] = []
    lines: list[Line] = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = chromium.new_page(viewport={"width": 1360, "height": 900})
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.append(request.url))
        lines += client(page, Path(folder))
        started = time.perf_counter()
        os.environ["SGP_HOME"] = folder  # the server's store, and that of the run below
        server = subprocess.Popen(server_command(port, browser=False), stdout=subprocess.DEVNULL)
        try:
            while True:
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health"):
                    break
                time.sleep(0.05)
            page.goto(f"{address}/rollout")
            page.wait_for_selector(".sgp[data-step]")
            cold = time.perf_counter() - started
            lines.append(Line("cold start to first drawing", cold, "s", "at most 4", cold <= 4))
            lines += interactions(page, address)
            lines += first_frames(page, address)
        finally:
            server.terminate()
            server.wait()
        chromium.close()
    outside = sorted({url for url in asked if not url.startswith((address, "file:", "data:", "blob:"))})
    lines.append(Line(f"requests that leave the machine, of {len(asked)}", len(outside), "", "none", not outside))
    about = note("streamlit", "playwright")
    write(
        options.csv,
        [
            Score(
                method="dashboard",
                variant=each.what,
                metric=each.unit or "number",
                value=each.value,
                n=0,
                note=about,
            )
            for each in lines
        ],
    )
    table = Table("measured", "value", "unit", "goal", "")
    for line in lines:
        reached = "" if not line.goal else "reached" if line.reached else "missed"
        table.add_row(line.what, f"{line.value:.1f}".removesuffix(".0"), line.unit, line.goal, reached)
    (Console() if sys.stdout.isatty() else Console(width=110)).print(table)
    for url in outside:
        print(f"left the machine: {url}")


if __name__ == "__main__":
    main()
