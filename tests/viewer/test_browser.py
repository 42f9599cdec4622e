"""The player in a real browser: keys, play, scrub, plan rows, hostile names; the page and the Streamlit host."""

from __future__ import annotations

from pathlib import Path

import pytest

import sgp
from tests.browsing import expect_playing_beyond, expect_step, needs_chromium, press, watched
from tests.viewer.conftest import IMAGE, SCRIPT

pytestmark = needs_chromium


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a rollout's exported page; what it asked for, logged and raised is in the lists of the result."""
    contexts = []

    def open_(rollout, hash_="", **options):
        file = tmp_path / "page.html"
        sgp.export_html(rollout, file)
        contexts.append(browser.new_context(**options))
        page = watched(contexts[-1].new_page())
        page.on("console", lambda message: page.wrong.append(message.text))
        page.goto(f"file://{file}{hash_}")
        page.wait_for_selector(".sgp[data-step]")
        return page

    yield open_
    for context in contexts:
        context.close()


def recorded(domain, model, solved=True):
    return next(
        each
        for each in sgp.recorded_rollouts().rollouts
        if (each.about.domain, each.about.method, each.head["outcome"] == "solved") == (domain, model, solved)
    )


@pytest.fixture(scope="module")
def blocks():
    return recorded("blocksworld", "state-centric", solved=False)


def test_keys_step_through_the_whole_rollout_and_lose_none(open_page, blocks):
    page, last = open_page(blocks), len(blocks.steps)
    assert last >= 90
    for _ in range(60):
        page.keyboard.down("ArrowRight")  # held: the same key again without going up
    expect_step(page, 60)
    page.keyboard.up("ArrowRight")
    press(page, "j", "ArrowLeft", "k")
    expect_step(page, 59)
    press(page, "End", "ArrowRight")
    expect_step(page, last)
    assert page.locator(".place").inner_text() == "end"
    press(page, "Home", "ArrowLeft")
    expect_step(page, 0)
    assert not page.wrong
    assert [url.split(":")[0] for url in page.asked] == ["file"]


def test_the_step_stands_in_the_address_and_comes_from_it(open_page, blocks):
    page = open_page(blocks, "#step=12")
    expect_step(page, 11)
    press(page, "k")
    page.wait_for_url("**#step=13")
    assert open_page(blocks, "#step=nonsense").locator('.sgp[data-step="0"]').count() == 1


def test_play_pause_and_speed(open_page, blocks):
    page = open_page(blocks)
    page.select_option(".controls select", "8")
    page.locator(".sgp").focus()
    press(page, "Space")
    expect_playing_beyond(page, range(5))
    press(page, "Space")
    page.wait_for_selector('.sgp[data-playing="no"]')
    stopped = page.locator(".sgp").get_attribute("data-step")
    page.wait_for_timeout(300)
    assert page.locator(".sgp").get_attribute("data-step") == stopped
    press(page, "End", "ArrowLeft", "Space")
    expect_step(page, len(blocks.steps))
    page.wait_for_selector('.sgp[data-playing="no"]')
    press(page, "Space")  # at the end, play begins again
    expect_playing_beyond(page, [0, len(blocks.steps)])


def test_scrub_plan_rows_and_curves(open_page, blocks):
    page = open_page(blocks)
    page.locator("input[type=range]").fill("30")
    expect_step(page, 30)
    page.locator("input[type=range]").focus()
    press(page, "ArrowRight")
    expect_step(page, 31)
    page.locator(".plan button").nth(50).click()
    expect_step(page, 50)
    assert page.locator(".plan [aria-current=step]").inner_text().split()[0] == "51"
    box = page.locator(".curves svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 20)
    expect_step(page, len(blocks.steps))


def test_digits_pick_candidates_and_escape_goes_back(open_page, blocks):
    page = open_page(blocks)
    shown = sgp.playback(blocks)
    step = shown["steps"][0]
    other = 1 if step["chosen"] == 0 else 0
    press(page, str(other + 1))
    page.wait_for_selector("tr.picked")
    candidate = step["candidates"][other]
    assert page.locator("tr.picked td").first.inner_text() == str(candidate["rank"])
    added = page.locator(".change > div").first.locator("code").all_inner_texts()
    assert added == [shown["atoms"][each] for each in candidate["add"]]
    assert "Picked" in page.locator(".why").inner_text()
    press(page, "Escape")
    page.wait_for_selector("tr.picked", state="detached")
    assert "Chosen" in page.locator(".why").inner_text()
    page.locator(".scroll").first.focus()
    press(page, "ArrowDown")
    assert page.locator("tr.picked td").first.inner_text() == str(step["chosen"] + 2)


def test_actions_atoms_and_open_goals_are_said_in_english(open_page, blocks):
    page, shown = open_page(blocks), sgp.playback(blocks)
    step = shown["steps"][0]
    words = sgp.get_domain("blocksworld").words

    def said(candidate):
        return words.sentence(*sgp.parse_plan(shown["actions"][candidate["actions"][0]]))

    assert page.locator("p.words").inner_text() == f"In words: {said(step['candidates'][step['chosen']])}."
    for row, candidate in zip(page.locator("tbody tr").all(), step["candidates"], strict=False):
        assert row.locator("td[title]").get_attribute("title") == said(candidate)
    (added,) = step["candidates"][step["chosen"]]["add"][:1]
    expected = words.sentence(sgp.Atom(*sgp.parse_plan(shown["atoms"][added])[0]))
    assert page.locator(".change code").first.get_attribute("title") == expected
    (goal,) = page.locator("h3[title]").all()
    titles = goal.get_attribute("title").splitlines()
    assert titles[0] == "Open:"
    assert len(titles) == 1 + min(shown["frames"][0]["open"], 13)
    assert {"b5 is on b6"} < {goal for goal, _ in shown["wanted"]}
    press(page, "2" if step["chosen"] == 0 else "1")
    page.wait_for_selector("tr.picked")
    assert page.locator("p.words").inner_text() == f"In words: {said(step['candidates'][0 if step['chosen'] else 1])}."
    press(page, "End")
    expect_step(page, len(blocks.steps))
    assert page.locator("p.words").inner_text() == ""
    assert not page.wrong


def test_ties_plateau_and_help(open_page, solved):
    page = open_page(solved)
    data = sgp.playback(sgp.read_recorded(_written(solved, page))[0])
    ties = [place for place, step in enumerate(data["steps"]) if step["tie"]]
    press(page, "End", "t")
    expect_step(page, ties[0])
    for place in ties[1:]:
        press(page, "t")
        expect_step(page, place)
    press(page, "End", "p")
    expect_step(page, data["plateau"][0])
    press(page, "?")
    assert page.locator(".help").is_visible()
    assert "Space" in page.locator(".help").inner_text()
    press(page, "Escape")
    assert not page.locator(".help").is_visible()


def test_divergences_from_the_expert_are_walked(open_page, blocks):
    page = open_page(blocks)
    found = sgp.playback(blocks)["expert"]["divergences"]
    assert found
    for place in (*found, found[0]):
        press(page, "d")
        expect_step(page, place)
    assert f"leaves its states at step {found[0] + 1}" in page.locator("header").inner_text()


def test_a_rollout_without_an_expert_says_so(open_page, solved):
    page = open_page(solved)
    press(page, "d")
    assert page.locator(".why").inner_text() == "No expert's plan was recorded for this problem."


def test_the_features_behind_a_choice_are_listed(open_page, blocks):
    page = open_page(blocks)
    step = sgp.playback(blocks)["steps"][0]
    assert f"(rank {step['against'] + 1})" in page.locator(".reasons summary").inner_text()
    for row, reason in zip(page.locator(".reasons li").all(), step["why"], strict=False):
        assert reason["feature"] in row.inner_text()
        assert ("against" if reason["share"] > 0 else "for") in row.inner_text().split()
    assert not page.wrong


def test_the_map_shows_the_step_and_changes_its_projection(open_page, hostile):
    page = open_page(hostile)
    points = page.locator(".map .point:visible")
    assert points.count() == 2
    before = [point.get_attribute("transform") for point in points.all()]
    page.get_by_role("button", name="PCA").click()
    assert page.locator(".map [aria-pressed=true]").inner_text() == "PCA"
    assert [point.get_attribute("transform") for point in points.all()] != before
    assert "two of 7 dimensions; they hold 75 % of the training points' variance" in page.locator(".map").inner_text()
    points.first.focus()
    words = points.first.get_attribute("aria-label")
    assert page.locator(".map .said").inner_text() == words
    assert words.startswith("rank 2, cost ∞: ")
    assert IMAGE in words
    press(page, "Enter")  # picks it
    page.wait_for_selector("tr.picked")
    assert page.locator("tr.picked td").first.inner_text() == "2"
    press(page, "End")
    expect_step(page, 1)
    assert points.count() == 0
    assert not page.wrong


def test_large_drawings_take_the_whole_width(open_page, blocks):
    page = open_page(blocks, viewport={"width": 1200, "height": 800})
    before = page.locator(".picture").first.bounding_box()["width"]
    press(page, "z")
    assert page.locator(".picture").first.bounding_box()["width"] > 1.5 * before
    press(page, "z")
    assert page.locator(".picture").first.bounding_box()["width"] == before


def _written(rollout, page):
    file = Path(page.url.removeprefix("file://").split("#")[0]).with_suffix(".jsonl")
    sgp.write_rollouts(file, [rollout])
    return file


def test_marks_are_symbols_with_words(open_page, hostile, solved):
    assert open_page(hostile).locator("tr.chosen .badge").all_inner_texts() == ["✔ chosen", "★ goal", "▲ expert"]
    words = open_page(solved).locator("tbody").inner_text()
    assert "= tied" in words


def test_hostile_names_are_shown_as_words_and_do_nothing(open_page, hostile):
    page = open_page(hostile)
    press(page, "2", "k", "Home", "?")
    page.wait_for_timeout(200)
    assert page.evaluate("window.harmed") is None
    assert page.locator("img, .sgp script").count() == 0
    assert page.locator("header b").inner_text() == SCRIPT
    assert IMAGE in page.locator("tbody").inner_text()
    assert IMAGE in page.locator("header").inner_text()
    assert not page.locator("p.words").is_visible(), "nobody knows the words of this domain"
    assert SCRIPT in page.locator("h3[title]").get_attribute("title"), "its goals stay PDDL"
    written = page.locator("p.written")
    press(page, "Escape")
    for key, said in (
        ("Home", f"Written: {IMAGE} 0.50  {SCRIPT} 1.00  "),
        ("End", f"Written last, which no candidate is: {SCRIPT} 0.25  "),
    ):
        press(page, key)
        page.get_by_text(said.strip()[:40]).wait_for()
        assert written.text_content() == said
    assert not page.wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system(open_page, hostile, scheme):
    page = open_page(hostile, color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.querySelector('.sgp')).backgroundColor")
    red = int(background.removeprefix("rgb(").split(",")[0])
    assert (red > 200) == (scheme == "light")


def test_a_narrow_window_needs_no_sideways_scrolling(open_page, blocks):
    page = open_page(blocks, viewport={"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_streamlit_plays_the_rollout_and_keeps_the_step_in_the_address(browser, address):
    page = watched(browser.new_page(viewport={"width": 1300, "height": 900}))
    page.goto(f"{address}/?domain=gripper&step=4")
    expect_step(page, 3, seconds=60)
    for _ in range(10):
        press(page, "ArrowRight")
    expect_step(page, 13)
    page.wait_for_url("**step=14*")
    press(page, "k")  # the player is the same one after the page ran again
    expect_step(page, 14)
    page.wait_for_url("**step=15*")
    page.reload()
    expect_step(page, 14, seconds=60)
    assert page.locator(".sgp header span").first.inner_text().startswith("gripper")
    assert all(url.startswith((address, "data:", "blob:")) for url in page.asked), page.asked
    page.close()


@pytest.mark.parametrize("modifier", ["Control", "Meta", "Alt"])
def test_keys_of_the_browser_are_left_to_it(open_page, blocks, modifier):
    page = open_page(blocks)
    press(page, "k", "k")
    expect_step(page, 2)
    for key in ("k", "j", "ArrowDown", "1"):
        press(page, f"{modifier}+{key}")
    expect_step(page, 2)
    assert page.locator("tr.picked").count() == 0
