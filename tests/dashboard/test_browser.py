"""The pages in a real browser: links, comparison, export, the tour on a projector, guessing moves by keyboard."""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest

import sgp
from sgp.analysis.failures import Finding, headline
from sgp.evaluation.scores import select
from sgp.planning.pddl import parse_plan
from sgp.viewer.library import model_name, planner_name
from sgp.viewer.playback import playback
from tests.browsing import LETTERS, expect, expect_stop, press, watched

pytestmark = pytest.mark.browser
SECONDS = 60_000


@pytest.fixture(scope="module")
def page(browser, address):
    """One page of one browser; its requests and errors are in its lists."""
    size = {"width": 1360, "height": 1000}
    context = browser.new_context(viewport=size, accept_downloads=True, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = watched(context.new_page())
    page.set_default_timeout(SECONDS)
    page.goto(f"{address}/rollout")
    page.wait_for_selector(".sgp[data-step]")
    yield page
    assert not page.wrong
    assert all(url.startswith((address, "data:", "blob:")) for url in page.asked), page.asked
    context.close()


@pytest.fixture
def new_page(page):
    """Another page of the same browser: a history has at most 50 entries."""
    new = watched(page.context.new_page())
    new.set_default_timeout(SECONDS)
    yield new
    assert not new.wrong
    new.close()


def recorded(outcome, domain, method=None):
    found = (each for each in sgp.recorded_rollouts().rollouts if method in (None, each.about.method))
    return next(each for each in found if (each.head["outcome"], each.about.domain) == (outcome, domain))


def test_a_mark_of_the_map_opens_its_rollout(page, address):
    about = recorded("horizon", "blocksworld").about
    page.goto(f"{address}/coverage?domains=blocksworld&planners={about.method}+{about.variant}")
    place = {"domain": about.domain, "split": about.split, "planner": about.planner.title}
    rows = list(select(sgp.load_attempts(), **place).itertuples())
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


def test_a_cell_of_the_coverage_opens_the_failures_behind_it_and_a_point_both_attempts(page, address):
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
    expect(page.locator("[data-testid=stMultiSelect]").get_by_text(planner_name(about.planner))).to_have_count(1)
    page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
    assert all(f"{name}=" in page.url for name in ("domains", "splits", "planners"))
    page.goto(f"{address}/coverage?domains=logistics&view=two+planners")
    page.locator(".js-plotly-plot .point").first.wait_for()
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.locator(".js-plotly-plot .point").first.scroll_into_view_if_needed()
    box = page.locator(".js-plotly-plot .point").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.get_by_role("dialog").get_by_text("of logistics, extrapolation").nth(1).inner_text()


def test_a_failure_leads_to_its_step(page, address):
    rollout = recorded("horizon", "logistics")
    best = headline(rollout, sgp.analysis.failure_of(rollout))
    step = best.step if isinstance(best, Finding) else best.steps[0]
    page.goto(f"{address}/failures?domains=logistics")
    name = sgp.recorded_rollouts().address_of(rollout)
    card = page.locator(".failures article").filter(has_text=f"{name['problem']}, {model_name(rollout.about)},")
    card.locator("h3 a").click()
    page.wait_for_selector(f'.sgp[data-step="{step - 1}"]')
    assert page.locator(".sgp header b").inner_text() == rollout.head["name"]


def test_keys_work_at_once_after_a_choice_and_choices_that_come_late_break_nothing(page, address):
    page.goto(f"{address}/rollout?domain=gripper")
    page.wait_for_selector('.sgp[data-step="0"]')
    page.wait_for_selector("[data-test-script-state=notRunning]")  # Streamlit can lose a choice in its first run
    page.get_by_label("Domain").select_option("logistics")
    page.wait_for_url("**domain=logistics**")
    page.wait_for_selector('.sgp[data-step="0"]:focus')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('.sgp[data-step="1"]')
    page.goto(f"{address}/rollout?domain=gripper")
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
    page.goto(f"{address}/rollout")
    page.wait_for_selector(".sgp[data-step]")
    rollout = recorded("solved", "blocksworld")
    names = sgp.recorded_rollouts().address_of(rollout)
    for name in ("domain", "model", "problem"):
        select = page.get_by_label(name.capitalize())
        select.select_option(names[name])
        title = select.evaluate("each => each.selectedOptions[0].label")
        chosen = re.escape(f"{name.capitalize()}: {title}")
        page.get_by_title(re.compile(rf"^{chosen}(\n|$)")).wait_for()  # below it, the words of a model's name explained
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
    assert page.locator(".choice .why").inner_text().startswith("Selected ")
    assert page.locator(".map .point").count() > 1
    assert page.locator(".badge").get_by_text("chosen").get_attribute("title") == "the planner moves there"
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
        page.goto(f"{address}/rollout?domain=logistics&step=5")
        page.wait_for_selector('.sgp[data-step="4"]')
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
        head = page.locator("[data-testid=stHeader]").bounding_box()
        assert page.locator(".sgp").bounding_box()["y"] >= head["y"] + head["height"] + 3, "room for the focus frame"
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


@pytest.mark.parametrize("domain", ["blocksworld", "gripper"])
def test_the_lanes_of_a_beam_leave_board_map_and_the_own_row_of_the_coverage_on_the_screen(page, address, domain):
    page.set_viewport_size({"width": 1366, "height": 768})
    model = recorded("solved", domain, "state-centric").about.model
    page.goto(f"{address}/rollout?domain={domain}&model={model} (solved)&step=5".replace(" ", "+"))
    page.wait_for_selector('.sgp[data-step="4"]')
    for part in (".pictures", ".map", ".ruler", ".lanes", ".coverage .own"):
        box = page.locator(f".sgp {part}").bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 768, (part, box)
    heads, own = page.locator(".coverage thead").bounding_box(), page.locator(".coverage .own").bounding_box()
    assert heads["y"] + heads["height"] <= own["y"] + 1
    scroll = page.locator(".coverage .scroll").bounding_box()
    assert own["y"] + own["height"] <= scroll["y"] + scroll["height"], "all of the row is in sight"
    sizes = page.locator(".sgp .lanes text").evaluate_all(LETTERS)
    assert len(sizes) > 3
    assert min(sizes) >= 10
    page.set_viewport_size({"width": 1360, "height": 1000})


def test_the_coverage_beside_the_map_is_that_of_all_planners(page, address):
    rollout = recorded("horizon", "logistics")
    about = rollout.about
    page.goto(f"{address}/rollout?domain=logistics&model={about.model} (horizon)".replace(" ", "+"))
    page.wait_for_selector(".sgp .coverage .own")
    scores = select(sgp.load_scores(), domain=about.domain, suite=about.suite, metric="coverage", size=None)
    assert page.locator(".coverage tbody tr").count() == scores.planner.nunique()
    own = page.locator(".coverage .own")
    assert f"{about.planner.method}: " in own.locator("th").get_attribute("title")
    method, settings = planner_name(about.planner).split(": ")
    assert own.locator("th").inner_text().split("\n") == [f"▸ {method}", settings]
    own_scores = select(scores, planner=about.planner.title, split=about.split)
    (cell,) = sgp.experiments.pool_seeds(own_scores, ["planner"]).itertuples()
    low, high = cell.low, cell.high
    shown = own.locator("td").first
    assert shown.inner_text().split()[0] == f"{cell.value:.2f}"
    assert f"95 % interval {low:.2f} to {high:.2f}, n = {cell.n}" in shown.get_attribute("title")
    assert page.locator(".coverage thead th").nth(1).inner_text().split() == [about.split, "n", "=", cell.n]
    box, row = page.locator(".coverage .scroll").bounding_box(), own.bounding_box()
    assert box["y"] <= row["y"]
    assert row["y"] + row["height"] <= box["y"] + box["height"], "the own row is in sight"


def test_help_opens_and_closes_without_scrolling(page, address):
    page.goto(f"{address}/rollout?domain=logistics")
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
    said = page.locator(".compare .difference").inner_text()
    assert all(action in said for action in page.locator(".compared .taken code.differs").all_inner_texts())
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(f'.compare[data-step="{place + 4}"]')
    page.wait_for_url(f"**step={place + 4}*")
    page.keyboard.press("End")
    page.get_by_text("Final state").first.wait_for()
    page.wait_for_url(re.compile(r"step=\d{2,}"))
    page.reload()
    page.locator('.compare[data-step]:not([data-step="0"])').wait_for()


def test_a_comparison_has_each_map_below_its_own_board_and_is_exported_where_the_user_is(page, address, tmp_path):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{address}/compare?domain=gripper&step=4")
    page.wait_for_selector('.compare[data-step="4"]')
    for side in (0, 1):
        board = page.locator(".compared section").nth(side).bounding_box()
        found = page.locator(".compare .map").nth(side).bounding_box()
        assert board["x"] - 1 <= found["x"]
        assert found["x"] + found["width"] <= board["x"] + board["width"] + 1
        assert found["y"] + found["height"] <= 768
    press(page, "m")
    expect(page.locator(".compare .map").get_by_role("button", name="zoom", pressed=True)).to_have_count(2)
    press(page, *["ArrowLeft"] * 4, *["ArrowRight"] * 4)  # the labels of the points at each step
    page.wait_for_selector('.compare[data-step="4"]')
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as HTML").click()
    download.value.save_as(tmp_path / "compared.html")
    exported = page.context.new_page()
    exported.goto((tmp_path / "compared.html").as_uri())
    exported.wait_for_selector('.compare[data-step="4"]')
    exported.close()
    page.set_viewport_size({"width": 1360, "height": 1000})


@pytest.mark.parametrize("domain", ["blocksworld", "gripper", "logistics", "visitall"])
def test_letters_of_state_and_goal_have_at_least_ten_pixels(page, address, domain):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{address}/rollout?domain={domain}&step=5")
    page.wait_for_selector('.sgp[data-step="4"]')
    sizes = page.locator(".sgp .pictures text").evaluate_all(LETTERS)
    assert sizes
    assert min(sizes) >= 10
    page.set_viewport_size({"width": 1360, "height": 1000})


def test_a_switch_shows_the_same_step_of_the_same_problem_with_the_other_decoding(page, address):
    library = sgp.recorded_rollouts()
    greedy = next(each for each in library.rollouts if each.about.decoding == "greedy" and len(each.steps) > 20)
    beam = next(
        each
        for each in library.rollouts
        if (each.head["sha256"], replace(each.about, decoding="greedy")) == (greedy.head["sha256"], greedy.about)
        and not each.about.decoding
    )
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{address}/rollout?{urlencode({**library.address_of(beam), 'step': 17})}")
    page.wait_for_selector('.sgp[data-step="16"]')
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.get_by_label("Decoding").select_option("greedy")
    page.wait_for_url("**greedy**")
    model = page.locator(".sgp header span").nth(1)
    expect(model).to_have_text(model_name(greedy.about))
    page.wait_for_selector('.sgp[data-step="16"]')
    assert page.get_by_label("Decoding").input_value() == "greedy"
    expect(page.locator(".lanes")).to_have_count(1)
    expect(page.locator(".lanes")).to_be_hidden()
    page.get_by_label("Decoding").select_option("beam")
    expect(model).to_have_text(model_name(beam.about))
    page.wait_for_selector('.sgp[data-step="16"]')
    expect(page.locator(".lanes")).to_have_count(1)  # the player that was replaced is gone
    expect(page.locator(".lanes")).to_be_visible()
    page.set_viewport_size({"width": 1360, "height": 1000})


def test_letters_of_every_recorded_logistics_rollout_and_of_its_comparison_have_at_least_ten_pixels(page, address):
    page.set_viewport_size({"width": 1366, "height": 768})
    library = sgp.recorded_rollouts()
    found = [(each, library.address_of(each)) for each in library.rollouts if each.about.domain == "logistics"]
    for each, names in found:
        step = len(each.steps) // 2
        page.goto(f"{address}/rollout?{urlencode({**names, 'step': step})}")
        page.wait_for_selector(f'.sgp[data-step="{step - 1}"]')
        maps = page.locator(".sgp .map svg.points").count()
        for part in (".pictures section:nth-child(1)", ".pictures section:nth-child(2)", ".map")[: 2 + maps]:
            sizes = page.locator(f".sgp {part} text").evaluate_all(LETTERS)
            assert min(sizes) >= 10, (names, part)
    for problem in {names["problem"] for _, names in found}:
        page.goto(f"{address}/compare?domain=logistics&problem={problem}&step=5")
        page.wait_for_selector('.compare[data-step="5"]')
        for part in (".compared .picture", ".middle .picture", ".middle .curves", ".lower .map"):
            sizes = page.locator(f".compare {part} text").evaluate_all(LETTERS)
            assert min(sizes) >= 10, (problem, part)
    page.set_viewport_size({"width": 1360, "height": 1000})


def test_a_copied_link_opens_the_same_step(page, address):
    page.goto(f"{address}/rollout?domain=gripper&step=6")
    page.wait_for_selector('.sgp[data-step="5"]')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('.sgp[data-step="6"]')
    page.keyboard.press("End")
    page.wait_for_url("**step=end**")
    page.reload()
    expect(page.locator(".sgp .place")).to_have_text("end")
    page.goto(f"{address}/rollout?domain=gripper&step=7")
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


def test_a_choice_is_one_entry_of_the_history(new_page, address):
    new_page.goto(f"{address}/rollout?domain=visitall")
    new_page.wait_for_url("**model=**")
    new_page.wait_for_selector(".sgp[data-step]")
    opened, length = new_page.url, new_page.evaluate("history.length")
    new_page.get_by_label("Domain").select_option("gripper")
    new_page.wait_for_url("**domain=gripper**")
    new_page.wait_for_timeout(1000)  # milliseconds in which more entries could come
    assert new_page.evaluate("history.length") == length + 1
    new_page.go_back()
    new_page.wait_for_selector('.sgp header span:text-matches("^visitall")')
    assert new_page.url == opened


def test_the_page_rollout_is_one_entry_of_the_history(new_page, address):
    new_page.goto(address)
    length = new_page.evaluate("history.length")
    new_page.get_by_role("link", name="Rollout", exact=True).click()
    new_page.wait_for_url("**model=**")
    assert new_page.evaluate("history.length") == length + 1
    new_page.go_back()
    new_page.wait_for_selector(".gallery")


def test_coverage_beside_a_rollout_is_not_rounded_up_to_all(new_page, address):
    new_page.goto(f"{address}/rollout?domain=visitall&model=contrastive-jumps+one-step+seed+13+(stuck)")
    new_page.wait_for_selector(".sgp .coverage .own")
    assert new_page.locator(".sgp .coverage .own td b").first.inner_text() == "0.995"


@pytest.mark.parametrize(
    ("name", "box", "last"),
    [
        ("Compare", "Left", "right"),
        ("Guess the move", "Domain", "model"),
        ("What if", "Problem", "problem"),
        ("Next state", "Step", "step"),
    ],
)
def test_one_press_of_back_leaves_a_page_and_another_undoes_a_choice(new_page, address, name, box, last):
    new_page.goto(address)
    new_page.get_by_role("link", name=name, exact=True).click()
    new_page.wait_for_url(f"**{last}=**")
    new_page.wait_for_selector("[data-test-script-state=notRunning]")
    opened, select = new_page.url, new_page.get_by_role("combobox", name=box, exact=True)
    before = select.input_value()
    select.press("ArrowDown")
    new_page.locator("[role=option]").last.click()
    new_page.wait_for_function("(opened) => location.href !== opened", arg=opened)
    new_page.wait_for_selector("[data-test-script-state=notRunning]")
    assert new_page.url.startswith(opened.split("?")[0])
    expect(select).not_to_have_value(before)
    new_page.go_back()
    expect(select).to_have_value(before)
    new_page.wait_for_selector("[data-test-script-state=notRunning]")
    assert new_page.url == opened
    new_page.go_back()
    new_page.wait_for_selector(".gallery")


def test_exports_are_files_of_the_rollout_and_the_page_opens_at_the_step_of_the_user(page, address, tmp_path):
    page.goto(f"{address}/rollout?domain=visitall&step=3")
    page.wait_for_selector(".sgp[data-step]")
    page.get_by_role("button", name="Export").click()
    made = {}
    for label in ("Plan in PDDL", "Download as HTML", "Steps as CSV", "Steps as Parquet"):
        with page.expect_download() as download:
            page.get_by_role("button", name=label).click()
        made[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(made[label])
    assert parse_plan(made["Plan in PDDL"].read_text())
    assert made["Steps as CSV"].read_text().startswith("run,domain,")
    assert made["Steps as Parquet"].read_bytes()[:4] == b"PAR1"
    assert "<!DOCTYPE html>" in made["Download as HTML"].read_text()
    exported = page.context.new_page()
    exported.goto(made["Download as HTML"].as_uri())
    exported.wait_for_selector('.sgp[data-step="2"]')
    exported.close()
    page.get_by_role("button", name="Create GIF").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download GIF", exact=True).click()
    download.value.save_as(tmp_path / "made.gif")
    assert (tmp_path / "made.gif").read_bytes()[:6] == b"GIF89a"


def test_a_note_on_a_step_is_there_again_and_in_the_exported_page(new_page, address, tmp_path):
    new_page.goto(f"{address}/rollout?domain=visitall&step=3")
    new_page.wait_for_selector('.sgp[data-step="2"]')
    new_page.get_by_role("button", name="Write a note on this step").click()
    new_page.keyboard.type("<b>too early</b>, kept")  # k steps, where no text is written
    new_page.keyboard.press("Control+Enter")
    note = new_page.locator(".sgp .note p")
    expect(note).to_contain_text("<b>too early</b>, kept")
    press(new_page, "ArrowRight")
    expect(note).to_be_hidden()
    press(new_page, "e")
    new_page.keyboard.type("stored by moving on")
    new_page.get_by_role("button", name="One step on").click()
    expect(note).to_be_hidden()
    expect(new_page.locator(".sgp .plan .noted")).to_have_count(2)
    new_page.get_by_role("button", name="One step back").click()
    press(new_page, "e", "x", "Escape")  # the note stays as it was
    expect(note).to_contain_text("stored by moving on")
    new_page.wait_for_url("**step=4**")
    new_page.reload()
    expect(note).to_contain_text("stored by moving on")
    new_page.get_by_role("button", name="Export").click()
    with new_page.expect_download() as download:
        new_page.get_by_role("button", name="Download as HTML").click()
    download.value.save_as(tmp_path / "noted.html")
    new_page.goto((tmp_path / "noted.html").as_uri())
    expect(note).to_contain_text("stored by moving on")
    expect(new_page.get_by_role("button", name="Write a note on this step")).to_have_count(0)


@pytest.mark.parametrize("name", ["", "coverage", "failures", "compare"])
def test_a_narrow_window_needs_no_sideways_scrolling(page, address, name):
    page.set_viewport_size({"width": 480, "height": 900})
    page.goto(f"{address}/{name}")
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 480
    page.set_viewport_size({"width": 1360, "height": 1000})


SMALLEST = Path(__file__).with_name("smallest_letters.js").read_text()


def test_every_stop_of_the_tour_fits_on_a_projector_in_letters_that_can_be_read(page, address):
    page.set_viewport_size({"width": 1366, "height": 768})
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
        bottoms = page.locator(".row figure").evaluate_all("(all) => all.map((x) => x.getBoundingClientRect().bottom)")
        assert max(bottoms, default=0) <= 768, (stop, bottoms)
        press(page, "ArrowRight")


@pytest.mark.parametrize("presented", ["", "&present=yes"])
def test_state_and_goal_below_the_choices_of_the_tour_fit_on_a_projector(new_page, address, presented):
    new_page.set_viewport_size({"width": 1366, "height": 768})
    new_page.goto(f"{address}/tour?stop=7{presented}")
    new_page.locator(".scenes svg").nth(1).wait_for()
    new_page.wait_for_selector("[data-test-script-state=notRunning]")
    bottom_of_each = "(all) => all.map((each) => each.getBoundingClientRect().bottom)"
    assert max(new_page.locator(".scenes svg").evaluate_all(bottom_of_each)) <= 768
    new_page.get_by_text("Show the ranking without a guess").click()
    new_page.locator(".row .chart table").wait_for()
    assert max(new_page.locator(".scenes svg, .decision").evaluate_all(bottom_of_each)) <= 768


def test_the_entrance_leads_from_a_picture_to_its_rollout_and_to_the_player(new_page, address):
    page = new_page
    page.goto(f"{address}/?domains=logistics")
    items = page.locator(".gallery li")
    items.first.wait_for()
    assert set(items.evaluate_all("all => all.map((item) => item.dataset.domain)")) == {"logistics"}
    assert items.locator(".thumbnail svg").count() == items.count()
    assert all(items.filter(has_text=outcome).count() == 0 for outcome in sgp.Outcome if outcome != "solved")
    assert min(items.locator(".thumbnail text:visible").evaluate_all(LETTERS), default=10) >= 10
    name = items.first.locator("b").inner_text()
    items.first.locator("a").press("Enter")
    page.wait_for_selector('.sgp[data-step="0"]')
    assert f"logistics {page.locator('.sgp header b').inner_text()}" == name
    page.goto(address)
    page.get_by_role("link", name="Step through a plan").click()
    page.wait_for_selector('.sgp[data-step="0"]')
    page.goto(f"{address}/?domain=visitall&step=3")
    page.wait_for_selector('.sgp[data-step="2"]')


def test_moves_are_guessed_by_keyboard_and_scored(page, address):
    library = sgp.recorded_rollouts()
    rollout = recorded("solved", "blocksworld", "contrastive-jumps")
    data = playback(rollout)
    page.goto(f"{address}/guess?{'&'.join(f'{key}={value}' for key, value in library.address_of(rollout).items())}")
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
    assert score.startswith(f"Matched the model: {int(agreed)} of 1")
    press(page, "2")
    assert page.locator(".guess .score").inner_text() == score, "one guess a decision"
    press(page, "ArrowRight")
    page.wait_for_selector('.sgp.guess[data-step="1"][data-answered="no"]')
    step = data["steps"][1]
    chosen = " ".join(data["actions"][each] for each in step["candidates"][step["chosen"]]["actions"])
    page.locator(".guess .choice").filter(has=page.locator(f'code:text-is("{chosen}")')).click()
    page.wait_for_selector('.sgp.guess[data-answered="yes"]')
    assert page.locator(".guess .verdict").inner_text().startswith("Yes: the model chooses")
    assert page.locator(".guess .score").inner_text().startswith(f"Matched the model: {1 + agreed} of 2")
    page.wait_for_url("**step=2*")
    press(page, "ArrowRight", "a")
    page.wait_for_selector('.sgp.guess[data-step="2"][data-answered="yes"]')
    assert "of 2" in page.locator(".guess .score").inner_text(), "what was told is no guess"
    page.wait_for_url("**step=3*")  # the address has the step
    score = page.locator(".guess .score").inner_text()
    page.reload()
    page.wait_for_selector('.sgp.guess[data-step="2"][data-answered="yes"]')
    assert page.locator(".guess .score").inner_text() == score, "guesses are stored"
    page.get_by_text("Start over").press("Enter")
    page.wait_for_selector('.sgp.guess[data-answered="no"]')
    assert page.locator(".guess .score").inner_text() == "No guess yet"


def test_state_and_goal_of_a_guess_are_on_the_screen_in_logistics(new_page, address):
    new_page.set_viewport_size({"width": 1366, "height": 768})
    new_page.goto(f"{address}/guess?domain=logistics")
    new_page.wait_for_selector(".sgp.guess[data-answered]")
    boxes = [picture.bounding_box() for picture in new_page.locator(".guess .pictures .picture svg").all()]
    assert len(boxes) == 2
    assert max(box["y"] + box["height"] for box in boxes) <= 768
    sizes = new_page.locator(".guess .pictures text").evaluate_all(LETTERS)
    assert min(sizes) >= 10


def test_decisions_with_one_option_are_not_guessed_and_a_guess_is_compared_by_features(page, address):
    rollout = recorded("solved", "blocksworld", "state-centric")
    page.goto(f"{address}/guess?domain=blocksworld&problem={rollout.head['name']}")
    page.wait_for_selector(".sgp.guess[data-answered]")
    step = int(page.locator(".sgp.guess").get_attribute("data-step"))
    options = [len(each["candidates"]) - len(each["unavailable"]) for each in playback(rollout)["steps"]]
    assert step == next(at for at, count in enumerate(options) if count > 1)
    assert page.locator(".guess .verdict").inner_text().startswith(f"Skipped: {step} decision")
    page.locator(".guess .choice:not(:first-child)").first.click()
    page.wait_for_selector('.sgp.guess[data-answered="yes"]')
    if page.locator(".guess .choice.yours.models").count() == 0:
        assert "Chosen over" in page.locator(".guess .verdict").inner_text()


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


DRAWN_AGAIN = """(images) => Promise.all(images.map(async (image) => {
    const text = await (await fetch(image.src)).text();
    const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const { width, height } = image.getBoundingClientRect();
    Object.assign(drawing.style, { width: `${width}px`, height: `${height}px`, flex: "none" });
    image.replaceWith(drawing);
}))"""  # a page cannot measure letters within an image


def test_letters_of_the_states_of_all_failures_have_at_least_ten_pixels(page, address):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{address}/failures")
    page.get_by_text("Show all").click()
    cards, states = page.locator(".failures article"), page.locator(".failures .state")
    failed = sum(each.head["outcome"] != "solved" for each in sgp.recorded_rollouts().rollouts)
    expect(cards).to_have_count(failed)
    assert max(states.evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().height)")) < 450
    states.evaluate_all(DRAWN_AGAIN)
    expect(cards.locator("div > svg")).to_have_count(failed)
    assert min(cards.locator("div > svg text").evaluate_all(LETTERS)) >= 10
    page.set_viewport_size({"width": 1360, "height": 1000})


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
