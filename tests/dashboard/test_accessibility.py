"""Every page in both themes: violations of WCAG found by axe, and requests that fail."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tests.browsing import watched

pytestmark = pytest.mark.browser
SECONDS = 90_000
PAGES = ("", "what_if", "compare", "coverage", "scaling", "failures", "next_state", "own_problem", "tour")
# Streamlit's file box is a <section role="presentation"> with a name: its own markup, which no page can change.
STREAMLITS_OWN = {"presentation-role-conflict"}
# Streamlit requests its server below the address of a page before the root; this cannot be switched off.
PROBES = re.compile(r"/\w+/_stcore/(health|host-config)$")


@pytest.fixture(scope="module", params=["light", "dark"])
def page(request, browser, address):
    """Open a page in a theme; its failed requests are in its list `missing`."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, color_scheme=request.param)
    page = watched(context.new_page())
    page.missing = []
    page.on("response", lambda response: response.status >= 400 and page.missing.append(response.url))
    page.set_default_timeout(SECONDS)
    page.goto(address)
    page.wait_for_selector(".sgp[data-step]")
    yield page
    assert not page.wrong
    assert [url for url in page.missing if not PROBES.search(url)] == []
    context.close()


def violations(page):
    """Return the violations found by axe, a line for each element."""
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.wait_for_timeout(1500)  # all content is drawn, and fading in has ended
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {[check['message'] for check in node['any']]}"
        for each in found
        if each["id"] not in STREAMLITS_OWN
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_on_a_page(page, address, name):
    page.goto(f"{address}/{name}")
    page.wait_for_selector("[data-testid=stMainBlockContainer] [data-testid=stElementContainer]")
    assert violations(page) == []


def test_axe_finds_nothing_beside_an_error(page, address):
    page.goto(f"{address}/own_problem")
    page.get_by_role("button", name="Blocksworld").click()
    page.get_by_text("Domain blocksworld: 5 objects").wait_for()
    assert violations(page) == []
    page.get_by_text("Domain and problem", exact=True).click()
    box = page.get_by_label("Problem in PDDL")
    box.fill("(define (problem p) (:domain blocksworld)\n  (:init (on a)")
    box.press("Control+Enter")
    page.get_by_text("►").wait_for()
    assert violations(page) == []
