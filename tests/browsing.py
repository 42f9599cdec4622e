"""Shared functions of the browser tests: browser, dashboard server, keys and steps of the player."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request

from sgp.cli.showing import server_command

LETTERS = "(all) => all.map((each) => parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().d)"  # pixels
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextlib.contextmanager
def serving(home):
    """Yield the address of a dashboard that runs with a store."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SGP_HOME": str(home)}
    server = subprocess.Popen(server_command(port, browser=False), stdout=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(480):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://localhost:{port}/_stcore/health"):
                break
            time.sleep(0.25)
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.wait()


def watched(page):
    """Return the page with a list `asked` of its requests and a list `wrong` of uncaught errors of its scripts."""
    page.asked, page.wrong = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("response", lambda answer: page.wrong.append(answer.url) if answer.status >= 400 else None)
    return page


def expect(locator):
    """Return Playwright's assertions, which retry until they are satisfied."""
    from playwright.sync_api import expect

    expect.set_options(timeout=60_000)
    return expect(locator)


def expect_stop(page, stop):
    """Wait for a stop of the tour, counted from 1, and for the whole page, whose listener receives the next key."""
    page.locator("[data-testid=stBaseButton-primary]", has_text=f"{stop} ").wait_for()
    page.wait_for_selector("[data-test-script-state=notRunning]")


def expect_step(page, place, seconds=30):
    page.wait_for_selector(f'.sgp[data-step="{place}"]', timeout=1000 * seconds)


def expect_playing_beyond(page, places):
    """Wait for a step other than these; a single played step is too short to wait for."""
    others = "".join(f':not([data-step="{place}"])' for place in places)
    page.wait_for_selector(f'.sgp[data-playing="yes"]{others}', timeout=30_000)


def choose(page, box, option, attempts=12):
    """Choose an option of a select box; open its list again where the page was drawn anew, which closes it."""
    from playwright.sync_api import TimeoutError as Timeout

    for attempt in range(1, attempts + 1):
        page.get_by_role("combobox", name=box).press("ArrowDown")
        try:
            page.get_by_role("option", name=option).click(timeout=10_000)
            break
        except Timeout:
            if attempt == attempts:
                raise


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def lane_words(page):
    """Return the words at the left of the lanes, without their titles."""
    return page.locator(".lanes > svg > text").evaluate_all("(all) => all.map((each) => each.lastChild.data)")
