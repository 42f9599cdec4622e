"""The pages in a real browser: links from cells and failures to rollouts, comparison, export, copied links."""

from __future__ import annotations

import re

import pytest

import sgp
from sgp.evaluation.scores import select
from sgp.planning.pddl import parse_plan
from sgp.viewer.playback import playback
from tests.browsing import expect, watched

pytestmark = pytest.mark.browser
SECONDS = 60_000


@pytest.fixture(scope="module")
def page(browser, address):
    """Return one page of one browser; its requests and errors are in its lists."""
    context = browser.new_context(viewport={"width": 1360, "height": 1000}, accept_downloads=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = watched(context.new_page())
    page.set_default_timeout(SECONDS)
    page.goto(address)
    page.wait_for_selector(".sgp[data-step]")
    yield page
    assert not page.wrong
    assert all(url.startswith((address, "data:", "blob:")) for url in page.asked), page.asked
    context.close()


def recorded(outcome, domain):
    found = sgp.recorded_rollouts().rollouts
    return next(each for each in found if (each.head["outcome"], each.about.domain) == (outcome, domain))


def test_a_mark_of_the_map_opens_its_rollout(page, address):
    about = recorded("horizon", "blocksworld").about
    page.goto(f"{address}/coverage?domains=blocksworld&planners={about.method}+{about.variant}")
    rows = [
        row
        for row in sgp.load_attempts().itertuples()
        if (row.domain, row.split, row.planner) == (about.domain, about.split, about.planner.title)
    ]
    expect(page.locator(".js-plotly-plot .point")).to_have_count(len(rows))
    page.wait_for_selector("[data-test-script-state=notRunning]")
    name = recorded("horizon", "blocksworld").head["name"]
    ordered = sorted(rows, key=lambda row: (row.size, row.split, row.problem))
    unsolved = [row.problem for row in ordered if not row.solved]
    solved = len(rows) - len(unsolved)
    box = page.locator(".js-plotly-plot .point").nth(solved + unsolved.index(name)).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_role("dialog").get_by_text("Watch the recorded rollout").click()
    expect(page.locator(".sgp header b")).to_have_text(name)
    page.wait_for_url(f"**problem={name}*")


def test_a_cell_of_the_coverage_opens_the_failures_behind_it(page, address):
    about = recorded("horizon", "logistics").about
    page.goto(f"{address}/coverage?domains=logistics&planners={about.planner.title.replace(' ', '+')}")
    page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
    page.wait_for_selector("[data-test-script-state=notRunning]")
    box = page.locator("[data-testid=stDataFrame]").bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 52)  # the only row, below the headings
    place = ("logistics", about.planner.title, about.split)
    attempts = sgp.load_attempts().itertuples()
    unsolved = sum((row.domain, row.planner, row.split) == place and not row.solved for row in attempts)
    page.get_by_role("link", name=f"open these {unsolved}").click()
    page.wait_for_url("**/failures?*")
    expect(page.locator("[data-testid=stMultiSelect]").get_by_text(about.planner.title)).to_have_count(1)
    page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
    assert all(f"{name}=" in page.url for name in ("domains", "splits", "planners"))


def test_a_point_of_two_planners_opens_both_attempts(page, address):
    page.goto(f"{address}/coverage?domains=logistics&view=two+planners")
    page.locator(".js-plotly-plot .point").first.wait_for()
    page.wait_for_selector("[data-test-script-state=notRunning]")
    box = page.locator(".js-plotly-plot .point").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.get_by_role("dialog").get_by_text("of logistics, extrapolation").nth(1).inner_text()


def test_a_failure_leads_to_its_step(page, address):
    rollout = recorded("horizon", "logistics")
    step = sgp.failure_of(rollout).primary.step
    page.goto(f"{address}/failures?domains=logistics")
    name = sgp.recorded_rollouts().address_of(rollout)
    card = page.locator(".failures article").filter(has_text=f"{name['problem']}, {rollout.about.model},")
    card.locator("h3 a").click()
    page.wait_for_selector(f'.sgp[data-step="{step - 1}"]')
    assert page.locator(".sgp header b").inner_text() == rollout.head["name"]


def test_keys_work_at_once_after_a_rollout_was_chosen(page, address):
    page.goto(f"{address}/?domain=gripper")
    page.wait_for_selector('.sgp[data-step="0"]')
    page.wait_for_selector("[data-test-script-state=notRunning]")  # Streamlit can lose a choice in its first run
    page.get_by_label("Domain").select_option("logistics")
    page.wait_for_url("**domain=logistics**")
    page.wait_for_selector('.sgp[data-step="0"]:focus')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('.sgp[data-step="1"]')


def test_choices_that_come_late_from_a_player_that_was_replaced_break_nothing(page, address):
    page.goto(f"{address}/?domain=gripper")
    choose = """async (box, titles) => {
        for (const each of titles) {
            box.value = each;
            box.dispatchEvent(new Event("change"));
            await new Promise((go) => setTimeout(go, 100));
        }
    }"""
    page.get_by_label("Domain").evaluate(choose, ["logistics", "blocksworld", "visitall"] * 3)
    page.locator(".sgp header").get_by_text("gripper,").wait_for(state="detached")
    page.wait_for_selector("[data-test-script-state=notRunning]")
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.locator(".sgp[data-step]").count() == 1


def test_a_decoded_plan_is_stepped_through_questioned_and_tried_otherwise(page, address):
    page.goto(address)
    page.wait_for_selector(".sgp[data-step]")
    rollout = recorded("solved", "blocksworld")
    names = sgp.recorded_rollouts().address_of(rollout)
    for name in ("domain", "model", "problem"):
        page.get_by_label(name.capitalize()).select_option(names[name])
        page.get_by_title(f"{name.capitalize()}: {names[name]}", exact=True).wait_for()
        expect(page.locator(".sgp")).to_have_count(1)  # the previous player is gone
    page.wait_for_selector('.sgp[data-step="0"]')
    data = playback(rollout)
    for step in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f'.sgp[data-step="{step}"]')
    chosen = data["steps"][3]["candidates"][data["steps"][3]["chosen"]]
    taken = " ".join(data["actions"][each] for each in chosen["actions"])
    assert page.locator(".choice .why code").inner_text() == taken
    page.keyboard.press("2" if chosen["rank"] == 1 else "1")
    page.locator("tr.picked").wait_for()
    assert page.locator(".choice .why").inner_text().startswith("Picked ")
    assert page.locator(".map .point").count() > 1
    page.wait_for_url("**step=4*")
    page.locator('a[href*="step=4"]').get_by_text("Try another choice").click()
    page.wait_for_url("**/what_if?*step=4*")
    page.locator(".tree").wait_for()
    expect(page.locator(".sgp")).to_have_count(1)  # the player of the Rollout page is gone
    page.wait_for_selector('.sgp[data-step="3"]')
    assert page.locator(".sgp header b").inner_text() == names["problem"].split(",")[0]
    assert page.locator(".choice .why code").inner_text() == taken


def test_a_step_its_map_and_the_coverage_stand_on_the_screen_and_the_bar_stays(page, address):
    shown = (".bar", ".pictures section:nth-child(2)", ".choice", ".candidates", ".reasons", ".map", ".coverage")
    for width, height in ((1366, 768), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{address}/?domain=logistics&step=5")
        page.wait_for_selector('.sgp[data-step="4"]')
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
        for part in shown:
            box = page.locator(f".sgp {part}").first.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height, (part, box)
            assert box["x"] + box["width"] <= width, (part, box)
        page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop = 1e6")
        assert page.locator(".sgp .pictures").bounding_box()["y"] < page.locator(".sgp .bar").bounding_box()["y"]
        head = page.locator("[data-testid=stHeader]").bounding_box()
        assert page.locator(".sgp .bar").bounding_box()["y"] == pytest.approx(head["y"] + head["height"], abs=2)
    page.set_viewport_size({"width": 1360, "height": 1000})


def test_the_coverage_beside_the_map_is_that_of_all_planners(page, address):
    rollout = recorded("horizon", "logistics")
    about = rollout.about
    page.goto(f"{address}/?domain=logistics&model={about.model} (horizon)".replace(" ", "+"))
    page.wait_for_selector(".sgp .coverage .own")
    scores = select(sgp.load_scores(), domain=about.domain, suite=about.suite, metric="coverage", size=None)
    assert page.locator(".coverage tbody tr").count() == scores.planner.nunique()
    own = page.locator(".coverage .own")
    assert own.locator("th").inner_text() == f"▸ {about.planner.title}"
    own_scores = select(scores, planner=about.planner.title, split=about.split)
    (cell,) = sgp.pool_seeds(own_scores, ["planner"]).itertuples()
    low, high = cell.low, cell.high
    shown = own.locator("td").first
    assert shown.inner_text().split()[0] == f"{cell.value:.2f}"
    assert f"95 % interval {low:.2f} to {high:.2f}, n = {cell.n}" in shown.get_attribute("title")
    assert page.locator(".coverage thead th").nth(1).inner_text().split() == [about.split, "n", "=", cell.n]
    box, row = page.locator(".coverage .scroll").bounding_box(), own.bounding_box()
    assert box["y"] <= row["y"]
    assert row["y"] + row["height"] <= box["y"] + box["height"], "the own row is in sight"


def test_help_opens_and_closes_without_scrolling(page, address):
    page.goto(f"{address}/?domain=logistics")
    page.wait_for_selector('.sgp[data-step="0"]')
    page.set_viewport_size({"width": 1366, "height": 500})
    scrolled = "() => document.querySelector('[data-testid=stMain]').scrollTop"
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop = 240")
    before = page.evaluate(scrolled)
    assert before > 100
    page.keyboard.press("?")
    page.wait_for_selector(".sgp .help:not([hidden])")
    page.keyboard.press("Escape")
    page.wait_for_selector(".sgp .help", state="hidden")
    assert page.evaluate(scrolled) == before


def test_compare_steps_both_sides_and_finds_where_they_part(page, address):
    page.goto(f"{address}/compare?domain=gripper")
    page.wait_for_selector('.compare[data-step="0"]')
    both = page.locator(".compared section h3")
    assert all(each.startswith("State after 0 actions: ") for each in both.all_inner_texts())
    assert page.locator(".compare .candidates").count() == page.locator(".compare .map").count() == 2
    page.keyboard.press("d")
    words = page.get_by_role("button", name=re.compile("first difference: action")).inner_text()
    place = int(re.search(r"action (\d+)", words).group(1)) - 1
    page.wait_for_selector(f'.compare[data-step="{place}"]')
    assert page.locator(".compared .taken code.differs").count() == 2
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(f'.compare[data-step="{place + 4}"]')
    page.wait_for_url(f"**step={place + 4}*")
    page.keyboard.press("End")
    page.get_by_text("Final state").first.wait_for()
    page.wait_for_url(re.compile(r"step=\d{2,}"))
    page.reload()
    page.locator('.compare[data-step]:not([data-step="0"])').wait_for()


def test_a_copied_link_opens_the_same_step(page, address):
    page.goto(f"{address}/?domain=gripper&step=6")
    page.wait_for_selector('.sgp[data-step="5"]')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('.sgp[data-step="6"]')
    page.wait_for_url("**step=7**")  # the address has the step, and the page no longer runs
    page.get_by_role("button", name="Copy a link to this step").click()
    page.get_by_text("Copied: http").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    problem = page.locator(".sgp header b").inner_text()
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector('.sgp[data-step="6"]')
    assert page.locator(".sgp header b").inner_text() == problem


def test_exports_are_files_of_the_rollout(page, address, tmp_path):
    page.goto(f"{address}/?domain=visitall")
    page.wait_for_selector(".sgp[data-step]")
    page.get_by_role("button", name="Export").click()
    made = {}
    for label in ("Plan in PDDL", "HTML player, one file", "Steps as CSV", "Steps as Parquet"):
        with page.expect_download() as download:
            page.get_by_role("button", name=label).click()
        made[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(made[label])
    assert parse_plan(made["Plan in PDDL"].read_text())
    assert made["Steps as CSV"].read_text().startswith("run,domain,")
    assert made["Steps as Parquet"].read_bytes()[:4] == b"PAR1"
    assert "<!DOCTYPE html>" in made["HTML player, one file"].read_text()
    page.get_by_role("button", name="Create GIF").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download GIF", exact=True).click()
    download.value.save_as(tmp_path / "made.gif")
    assert (tmp_path / "made.gif").read_bytes()[:6] == b"GIF89a"


@pytest.mark.parametrize("name", ["coverage", "failures", "compare"])
def test_a_narrow_window_needs_no_sideways_scrolling(page, address, name):
    page.set_viewport_size({"width": 480, "height": 900})
    page.goto(f"{address}/{name}")
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 480
    page.set_viewport_size({"width": 1360, "height": 1000})
