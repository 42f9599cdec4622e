"""Browser time per step of the player: `python benchmarks/player.py` prints a table.

Steps through exported pages in headless Chromium by key presses and divides the main thread's time by the number of
steps. The last row plays a Blocksworld rollout whose candidates were repeated until each step has 60. A second table
has the time from a key press in the dashboard to the drawn step, and from opening the address to the first drawing.
"""

from __future__ import annotations

import copy
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

import sgp
from sgp.cli.showing import server_command
from sgp.files import write_text
from sgp.viewer.playback import playback

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PARTS = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration", "TaskDuration")
PORT = 8971


def widened(data: dict, count: int) -> dict:
    """Return the data with every step's candidates repeated up to `count`."""
    wide = copy.deepcopy(data)
    for step in wide["steps"]:
        given = list(step["candidates"])
        while len(step["candidates"]) < count:
            again = given[len(step["candidates"]) % len(given)]
            step["candidates"].append({**again, "rank": len(step["candidates"]) + 1})
    return wide


def milliseconds(page: Page, steps: int) -> dict[str, float]:
    """Main-thread CPU milliseconds per step, by part, over all steps in sequence."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU time, independent of other programs

    def read() -> dict[str, float]:
        found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        return {name: found[name] for name in PARTS}

    before = read()
    page.evaluate(
        """async (steps) => {
          for (let step = 0; step < steps; step += 1) {
            document.dispatchEvent(new KeyboardEvent("keydown", { key: "k" }));
            await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
          }
        }""",
        steps,
    )
    after = read()
    return {name: 1000 * (after[name] - before[name]) / steps for name in PARTS}


def player_table(page: Page, folder: Path) -> Table:
    """Return a row for each recorded rollout."""
    table = Table("rollout", "steps", "candidates", "KB", "script ms", "style ms", "layout ms", "all ms a step")
    shown = [(Path(each.source).stem, playback(each)) for each in sgp.recorded_rollouts().rollouts]
    longest = max((each for each in shown if each[0].startswith("blocksworld")), key=lambda each: len(each[1]["steps"]))
    for name, data in [*shown, (f"{longest[0]}, widened", widened(longest[1], 60))]:
        write_text(folder / "page.html", sgp.viewer.html_page(data))
        page.goto(f"file://{folder}/page.html")
        page.wait_for_selector(".sgp[data-step]")
        cost = milliseconds(page, len(data["steps"]))
        widest = max((len(step["candidates"]) for step in data["steps"]), default=0)
        size = (folder / "page.html").stat().st_size // 1000
        table.add_row(name, str(len(data["steps"])), str(widest), str(size), *(f"{cost[part]:.1f}" for part in PARTS))
    return table


def dashboard_table(page: Page) -> Table:
    """Time the opening of the page, key presses, and the choice of another rollout, which the server answers."""
    table = Table("dashboard", "median ms", "slowest ms", "times")

    def row(name: str, times: list[float]) -> None:
        table.add_row(name, f"{statistics.median(times):.0f}", f"{max(times):.0f}", str(len(times)))

    opening, choosing, pressing = [], [], []
    for _ in range(3):
        started = time.perf_counter()
        page.goto(f"http://localhost:{PORT}")
        page.wait_for_selector(".sgp[data-step]", timeout=60_000)
        opening.append(1000 * (time.perf_counter() - started))
    for place in range(1, 11):
        started = time.perf_counter()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f'.sgp[data-step="{place}"]')
        pressing.append(1000 * (time.perf_counter() - started))
    for domain in ("gripper", "visitall", "logistics", "blocksworld") * 3:
        page.get_by_role("combobox").first.click()
        started = time.perf_counter()
        page.get_by_role("option", name=domain).click()
        page.locator(".sgp header span", has_text=f"{domain},").wait_for()
        choosing.append(1000 * (time.perf_counter() - started))
    row("open, to the first drawing", opening)
    row("key press, with the driver's own time", pressing)
    row("another domain", choosing)
    return table


def main() -> None:
    """Measure and print."""
    server = subprocess.Popen(server_command(PORT, browser=False), stdout=subprocess.DEVNULL)
    try:
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
            chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
            page = chromium.new_page(viewport={"width": 1360, "height": 900})
            console = Console(width=140) if not sys.stdout.isatty() else Console()
            console.print(player_table(page, Path(folder)))
            console.print(dashboard_table(page))
            chromium.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
