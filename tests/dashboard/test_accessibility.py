"""Every page in both themes and several sizes: violations of WCAG found by axe, requests that fail, and its width."""

from importlib.resources import files

import pytest

from tests.browsing import watched

pytestmark = pytest.mark.browser
SECONDS = 90_000
EXAMPLE, ERROR = "own_problem with an example", "own_problem with an error"
PAGES = (
    *("", "rollout", "what_if", "compare", "coverage", "scaling", "failures", "next_state", "own_problem", "tour"),
    *("guess", EXAMPLE, ERROR),
)
# Theme and size in CSS pixels; 911 x 512 is 1366 x 768 at a zoom of 150 %.
SCREENS = [("light", 1366, 768), ("dark", 1366, 768), ("light", 911, 512), ("dark", 800, 600), ("dark", 1920, 1080)]
# Streamlit's file box is a <section role="presentation"> with a name: its own markup, which no page can change.
STREAMLITS_OWN = {"presentation-role-conflict"}
AXE = files("axe_playwright_python").joinpath("axe.min.js")


@pytest.fixture(scope="module")
def page(browser, address):
    context = browser.new_context()
    page = watched(context.new_page())
    page.set_default_timeout(SECONDS)
    page.goto(f"{address}/rollout")
    page.wait_for_selector(".sgp[data-step]")
    yield page
    assert not page.wrong
    context.close()


@pytest.fixture(scope="module", params=PAGES)
def opened(request, page, address):
    """A page that is opened once for all screens."""
    show(page, *SCREENS[0])
    page.goto(f"{address}/{request.param.partition(' ')[0]}")
    page.wait_for_selector("[data-testid=stMainBlockContainer] [data-testid=stElementContainer]:visible")
    if request.param in (EXAMPLE, ERROR):
        page.get_by_role("button", name="Blocksworld").click()
        page.get_by_text("Domain blocksworld: 5 objects").wait_for()
    if request.param == ERROR:
        page.get_by_text("Domain and problem", exact=True).click()
        box = page.get_by_label("Problem in PDDL")
        box.fill("(define (problem p) (:domain blocksworld)\n  (:init (on a)")
        box.press("Control+Enter")
        page.get_by_text("►").wait_for()
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.wait_for_timeout(1500)  # all content is drawn
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page


def show(page, theme, width, height):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)


def violations(page):
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {[check['message'] for check in node['any']]}"
        for each in found
        if each["id"] not in STREAMLITS_OWN
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: "-".join(map(str, screen)))
def test_axe_finds_nothing_on_a_page_and_it_fits_the_width(opened, screen):
    show(opened, *screen)
    opened.wait_for_selector("[data-test-script-state=notRunning]")
    opened.wait_for_timeout(500)  # fading in has ended
    ground = opened.locator(".stApp").evaluate("(app) => getComputedStyle(app).colorScheme")
    assert ground == screen[0], "the page follows the theme"
    assert violations(opened) == []
    assert opened.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
