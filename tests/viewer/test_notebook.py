"""The player in a notebook: the widget's state, and its script in a real browser, called as by anywidget."""

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import traitlets

import sgp
from sgp.datasets.recording import write_rollouts
from sgp.errors import InputError
from sgp.viewer.comparison import comparison
from sgp.viewer.playback import playback
from tests.browsing import expect_step, press, watched

# A notebook of one cell: anywidget imports the script from a blob, calls its default export without arguments and
# renders with a model. The page counts the keys that the player leaves to it.
NOTEBOOK = (Path(__file__).parent / "cell.html").read_text()


@pytest.fixture(scope="module")
def recorded():
    found = (each for each in sgp.recorded_rollouts().rollouts if each.about.variant == "wl-xgboost-delta")
    return next(each for each in found if each.head["outcome"] == "horizon")


@pytest.fixture
def open_cell(browser, tmp_path):
    pages = []

    def open_(widget, paper="#ffffff"):
        state = json.dumps({name: getattr(widget, name) for name in ("data", "step", "link")})
        file = tmp_path / "cell.html"
        file.write_text(NOTEBOOK.format(script=widget._esm, state=state.replace("<", "\\u003c"), paper=paper))
        pages.append(watched(browser.new_page()))
        pages[-1].goto(f"file://{file}")
        pages[-1].wait_for_selector(".sgp[data-step]")
        return pages[-1]

    yield open_
    for page in pages:
        assert not page.wrong
        page.close()


def test_the_widget_has_the_players_data_and_script_also_for_two_rollouts(recorded, solved):
    widget = sgp.show(recorded)
    assert (widget.data, widget.step) == (playback(recorded), 1)
    assert widget._esm == sgp.viewer.script("player")
    assert {"_esm", "data", "step", "link"} <= set(widget.get_state())
    widget = sgp.show(recorded, step=len(recorded.steps) + 1)  # the end
    for step in (0, widget.last + 1):
        with pytest.raises(traitlets.TraitError, match=f"no step {step}; choose one from 1 to {widget.last}"):
            widget.step = step
    with pytest.raises(traitlets.TraitError, match="no step -3"):
        sgp.show(recorded, step=-3)
    assert widget.step == widget.last
    expert = sgp.viewer.expert_rollout(recorded)
    widget = sgp.show(recorded, expert, step=3)
    assert (widget.data, widget._esm) == (comparison(recorded, expert), sgp.viewer.script("compare"))
    assert (widget.step, widget.last) == (3, widget.data["length"])
    assert sgp.show(recorded, expert).step == 0
    with pytest.raises(InputError, match="two problems"):
        sgp.show(recorded, solved)


def test_links_name_what_the_dashboard_has(recorded, solved, tmp_path):
    link = urlsplit(sgp.show(recorded, dashboard="http://there:99").link)
    assert (link.netloc, link.path) == ("there:99", "/")
    address = sgp.recorded_rollouts().address_of(recorded)
    assert parse_qs(link.query) == {name: [value] for name, value in address.items()}
    link = urlsplit(sgp.show(recorded, sgp.viewer.expert_rollout(recorded)).link)
    assert (link.netloc, link.path) == ("localhost:8501", "/compare")
    sides = {"left": [address["model"]], "right": ["expert's plan"]}
    assert parse_qs(link.query) == {"domain": [address["domain"]], "problem": [address["problem"]], **sides}
    assert f"({sgp.show(recorded).link}&step=3)" in sgp.viz.link(recorded, step=3)._repr_markdown_()
    with pytest.raises(sgp.SgpError, match=f"no step {len(recorded.steps) + 2}"):
        sgp.viz.link(recorded, step=len(recorded.steps) + 2)
    write_rollouts(tmp_path / "one.jsonl", [solved])
    with pytest.raises(sgp.SgpError, match="does not have"):
        sgp.viz.link(tmp_path / "one.jsonl")


@pytest.mark.browser
def test_keys_within_the_player_step_and_others_are_the_notebooks(open_cell, recorded):
    page = open_cell(sgp.show(recorded, step=4))
    expect_step(page, 3)
    page.locator(".sgp").focus()
    press(page, *["ArrowRight"] * 5, "j")
    expect_step(page, 7)
    page.wait_for_function("window.told.at(-1) === 8")
    assert page.evaluate("window.others") == 0
    page.evaluate("model.fromPython(2)")
    expect_step(page, 1)
    page.locator("#cell").focus()
    press(page, "k", "End", "d")
    assert page.evaluate("window.others") == 3
    expect_step(page, 1)
    assert page.locator(".sgp").get_attribute("data-lm-suppress-shortcuts") == ""  # JupyterLab ignores keys within it
    page.evaluate("window.end()")
    assert page.locator(".sgp").count() == 0
    assert page.evaluate("model.listeners.size") == 0


@pytest.mark.browser
def test_the_link_into_the_dashboard_follows_the_step_and_a_comparison_is_walked(open_cell, recorded, solved):
    widget = sgp.show(recorded)
    page = open_cell(widget)
    link = page.get_by_role("link", name="open this step in the dashboard")
    assert link.get_attribute("href") == f"{widget.link}&step=1"
    page.locator(".sgp").focus()
    press(page, "ArrowRight", "ArrowRight")
    expect_step(page, 2)
    link.focus()
    assert link.get_attribute("href") == f"{widget.link}&step=3"
    press(page, "c")
    said = "link => document.querySelector('.why').textContent.includes(link)"
    page.wait_for_function(said, arg=f"{widget.link}&step=3")
    page.hover(".chosen")  # drawn anew, nothing else is seen: the message stays
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    assert f"{widget.link}&step=3" in page.inner_text(".why")
    press(page, "ArrowLeft")
    page.wait_for_function("document.querySelector('.why').textContent.startsWith('Chosen')")
    page = open_cell(sgp.show(solved))  # not recorded in the dashboard
    assert page.get_by_role("link").count() == 0
    assert page.get_by_role("button", name="Copy a link").count() == 0
    widget = sgp.show(recorded, sgp.viewer.expert_rollout(recorded))
    page = open_cell(widget)
    page.locator(".sgp").focus()
    press(page, "d")
    expect_step(page, widget.data["divergence"])
    page.wait_for_function("place => window.told.at(-1) === place", arg=widget.data["divergence"])
    assert page.locator(".taken .differs").count() == 2


@pytest.mark.browser
@pytest.mark.parametrize(("paper", "scheme"), [("#fff", "light"), ("#111111", "dark")])
def test_the_notebooks_theme_decides_light_or_dark(open_cell, recorded, paper, scheme):
    page = open_cell(sgp.show(recorded), paper)
    assert page.evaluate("getComputedStyle(document.querySelector('.sgp')).colorScheme") == scheme
