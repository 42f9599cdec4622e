"""Every page in both themes and several sizes: violations of WCAG found by axe, requests that fail, and its width."""

from importlib.resources import files

import pytest

from tests.browsing import watched

pytestmark = pytest.mark.browser
SECONDS = 90_000
PAGES = ("", "rollout", "what_if", "compare", "coverage", "scaling", "failures", "next_state", "own_problem", "tour")
# Theme and size in CSS pixels; 911 x 512 is 1366 x 768 at a zoom of 150 %.
SCREENS = [("light", 1366, 768), ("dark", 1366, 768), ("light", 911, 512), ("dark", 800, 600), ("dark", 1920, 1080)]
# Streamlit's file box is a <section role="presentation"> with a name: its own markup, which no page can change.
STREAMLITS_OWN = {"presentation-role-conflict"}


@pytest.fixture(scope="module", params=SCREENS, ids=lambda screen: "-".join(map(str, screen)))
def page(request, browser, address):
    theme, width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    page = watched(context.new_page())
    page.set_default_timeout(SECONDS)
    page.goto(f"{address}/rollout")
    page.wait_for_selector(".sgp[data-step]")
    yield page
    assert not page.wrong
    context.close()


def violations(page):
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
def test_axe_finds_nothing_on_a_page_and_it_fits_the_width(page, address, name):
    page.goto(f"{address}/{name}")
    page.wait_for_selector("[data-testid=stMainBlockContainer] [data-testid=stElementContainer]:visible")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


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
