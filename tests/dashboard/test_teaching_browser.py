"""Teaching pages in a real browser: the tour on a projector, guessing moves by keyboard, links from failures."""

from __future__ import annotations

import re

import pytest

import sgp
from sgp.viewer.playback import playback
from tests.browsing import expect_stop, press, watched

pytestmark = pytest.mark.browser

SMALLEST = """() => {
  const host = document.querySelector("[data-testid=stBidiComponentRegular]") ?? document;
  const inside = [host, ...[...host.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean)];
  const words = inside.flatMap((root) => [...root.querySelectorAll(".row svg text, .row td, .row figcaption")]);
  return words.filter((each) => each.textContent.trim() && each.closest("figure.chart, figcaption")).map((each) => {
    const scale = each.getScreenCTM ? each.getScreenCTM().d : 1;
    return parseFloat(getComputedStyle(each).fontSize) * scale;
  });
}"""


@pytest.fixture
def page(browser, address):
    context = browser.new_context(viewport={"width": 1366, "height": 768}, reduced_motion="reduce")
    page = watched(context.new_page())
    page.set_default_timeout(60_000)
    yield page
    assert not page.wrong
    context.close()


def test_every_stop_of_the_tour_fits_on_a_projector_in_letters_that_can_be_read(page, address):
    stops = len(sgp.viewer.tour_titles())
    page.goto(f"{address}/tour")
    for stop in range(1, stops + 1):
        page.wait_for_url(f"**stop={stop}" if stop > 1 else "**/tour*")
        expect_stop(page, stop)
        if stop == 7:
            page.locator(".scenes svg").nth(1).wait_for()  # state and goal are shown before the guess
            page.get_by_text("Show the ranking without a guess").click()
            page.locator(".row .chart table").wait_for()
            page.evaluate("document.activeElement.blur()")  # within the answers, arrow keys choose an answer
        if stop < stops:
            page.locator(".row figure").first.wait_for()
            page.wait_for_timeout(300)
            sizes = page.evaluate(SMALLEST)
            assert min(sizes, default=14) >= 13.9, (stop, min(sizes))
        main = page.locator("[data-testid=stMain]")
        over = main.evaluate("(each) => [each.scrollWidth - each.clientWidth, each.scrollHeight - each.clientHeight]")
        assert over[0] <= 0, stop
        bottoms = page.locator(".row figure").evaluate_all(
            "(all) => all.map((each) => each.getBoundingClientRect().bottom)"
        )
        assert max(bottoms, default=0) <= 768, (stop, bottoms)
        press(page, "ArrowRight")


def test_moves_are_guessed_by_keyboard_and_scored(page, address):
    library = sgp.recorded_rollouts()
    recorded = next(
        each
        for each in library.rollouts
        if (each.about.domain, each.about.method, each.head["outcome"])
        == ("blocksworld", "contrastive-jumps", "solved")
    )
    data = playback(recorded)
    page.goto(f"{address}/guess?{'&'.join(f'{name}={value}' for name, value in library.address_of(recorded).items())}")
    page.wait_for_selector('.sgp.guess[data-step="0"]')
    assert page.locator(".guess .pictures svg").count() == 2
    assert page.locator(".guess .models").count() == 0, "nothing tells before the guess"
    press(page, "1")
    page.wait_for_selector('.sgp.guess[data-answered="yes"]')
    step = data["steps"][0]
    chosen = " ".join(data["actions"][each] for each in step["candidates"][step["chosen"]]["actions"])
    assert page.locator(".guess .models code").inner_text() == chosen
    first = page.locator(".guess .choice").first
    agreed = "models" in first.get_attribute("class")
    score = page.locator(".guess .score").inner_text()
    assert score.startswith(f"Matched the model {int(agreed)} of 1")
    press(page, "2")
    assert page.locator(".guess .score").inner_text() == score, "one guess a decision"
    press(page, "ArrowRight")
    page.wait_for_selector('.sgp.guess[data-step="1"][data-answered="no"]')
    step = data["steps"][1]
    chosen = " ".join(data["actions"][each] for each in step["candidates"][step["chosen"]]["actions"])
    page.locator(".guess .choice").filter(has=page.locator(f'code:text-is("{chosen}")')).click()
    page.wait_for_selector('.sgp.guess[data-answered="yes"]')
    assert page.locator(".guess .verdict").inner_text().startswith("Yes: the model takes")
    assert page.locator(".guess .score").inner_text().startswith(f"Matched the model {1 + agreed} of 2")
    page.wait_for_url("**step=2*")
    press(page, "ArrowRight", "a")
    page.wait_for_selector('.sgp.guess[data-step="2"][data-answered="yes"]')
    assert "of 2" in page.locator(".guess .score").inner_text(), "what was told is no guess"
    page.wait_for_url("**step=3*")  # the address has the step
    page.reload()
    page.wait_for_selector('.sgp.guess[data-step="2"]')


def test_from_a_sentence_to_its_evidence_and_to_another_choice(page, address):
    page.goto(f"{address}/failures?domains=logistics&models=state-centric+wl-xgboost-delta+seed+13")
    card = page.locator(".failures article").first
    sentence = card.locator("li").first
    assert "an action that changes nothing ranks first" in sentence.inner_text()
    step = int(re.search(r"\d+", sentence.locator("a").first.inner_text())[0])
    sentence.locator("a").first.click()
    page.wait_for_selector(f'.sgp[data-step="{step - 1}"]')
    page.go_back()
    page.locator(".failures article").first.get_by_text("Try another choice there").click()
    page.wait_for_url("**/what_if*")
    page.wait_for_selector(".sgp[data-step]")
    page.go_back()
    page.locator(".failures article").first.get_by_text("which solves it").click()
    page.wait_for_selector(".compare[data-step]")
    assert page.locator(".compared").count() == 2


def test_filters_of_failures_are_as_wide_as_their_options(page, address):
    page.goto(f"{address}/failures")
    page.locator(".failures.list article").first.wait_for()
    groups = page.locator("[data-testid=stButtonGroup]")
    groups.nth(2).wait_for()  # their script may load after the cards
    gaps = groups.evaluate_all("""(all) => {
        const right = (each) => each.getBoundingClientRect().right;
        return all.map((each) => right(each) - Math.max(...[...each.querySelectorAll("button")].map(right)));
    }""")
    assert len(gaps) >= 3
    assert max(gaps) < 40
