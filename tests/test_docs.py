"""The site, built from a stand-in notebook and opened in a real browser; and the sources of the reference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sgp
from tests.browsing import expect, expect_playing_beyond, expect_step, press, watched

ROOT = Path(sgp.__file__).resolve().parents[1]
pytestmark = pytest.mark.browser
nbformat = pytest.importorskip("nbformat", reason="nbformat is missing; install the extra 'site'")
pytest.importorskip("myst_nb", reason="myst-nb is missing; install the extra 'site'")

CELLS = [
    """\
import plotly.graph_objects as go
import sgp
go.Figure(go.Scatter(x=[1, 2, 3], y=[3, 1, 2]), {"title": {"text": "Lines & dots <1>"}})""",
    'task = sgp.Task(sgp.load_suite("state-centric").problems("gripper", "train")[0])\nsgp.picture(task)',
    """\
recorded = next(each for each in sgp.recorded_rollouts().rollouts if each.head["outcome"] == "horizon")
sgp.show(recorded, step=4)""",
    "sgp.show(recorded, sgp.viewer.expert_rollout(recorded), step=2)",
    "sgp.link(recorded, 4)",
    'print("on the fast path:", FAST)',
    'from IPython.display import Markdown\nMarkdown("| one | two |\\n| --- | --- |\\n| 1.00 [.84, 1.00] | `x` |")',
]


def write_notebook(folder, name, *cells):
    new = nbformat.v4
    parameters = new.new_code_cell("FAST = True", metadata={"tags": ["parameters"]})
    content = [new.new_markdown_cell(f"# Stand-in {name}\n\nIt answers no question."), parameters]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    content += map(new.new_code_cell, cells)
    folder.mkdir(exist_ok=True)
    nbformat.write(new.new_notebook(cells=content, metadata=spec), folder / f"{name}.ipynb")


def build(notebooks, out, home, *words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "SGP_HOME": str(home)}
    command = [
        sys.executable,
        str(ROOT / "docs" / "build.py"),
        "--notebooks",
        str(notebooks),
        "--out",
        str(out),
        *words,
    ]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of a site, in which `site` was built twice: the second time with a notebook added."""
    folder = tmp_path_factory.mktemp("built")
    write_notebook(folder / "notebooks", "00_shown", *CELLS)
    done = build(folder / "notebooks", folder / "site", folder / "home")
    assert done.returncode == 0, done.stderr
    assert "00_shown: executing" in done.stdout
    return folder


@pytest.fixture
def open_page(browser, built):
    """Open a page of the site; at the end, assert that there were no outside requests and no script errors."""
    pages = []

    def open_(name, **options):
        pages.append(watched(browser.new_page(**options)))
        pages[-1].on("console", lambda message: pages[-1].wrong.append(message.text))
        pages[-1].goto(f"file://{built}/site/{name}.html")
        return pages[-1]

    yield open_
    for page in pages:
        assert not page.wrong
        assert [url for url in page.asked if not url.startswith((f"file://{built}/site/", "data:", "blob:"))] == []
        page.close()


def test_the_plot_is_drawn_and_named(open_page):
    page = open_page("notebooks/00_shown")
    page.wait_for_selector(".plot .scatterlayer path.point")
    assert page.locator(".plot .scatterlayer path.point").count() == 3
    assert page.locator(".plot").get_attribute("aria-label") == "Lines & dots <1>"
    assert page.locator(".picture svg").count() == 1
    assert page.get_by_text("on the fast path: True").count() == 1
    assert page.locator(".cell_output table td").first.inner_text() == "1.00 [.84, 1.00]"


def test_the_player_plays_without_a_kernel(open_page):
    page = open_page("notebooks/00_shown")
    frames = page.locator("iframe.player")
    assert frames.count() == 2
    frames.first.scroll_into_view_if_needed()
    player = frames.first.element_handle().content_frame()
    expect_step(player, 3)  # opened at step 4, counted from 1
    page.wait_for_function("document.querySelector('iframe.player').clientHeight > 700")
    player.wait_for_function("document.documentElement.scrollHeight <= innerHeight")  # nothing is cut
    player.locator(".sgp").focus()
    press(page, "ArrowRight", "k")
    expect_step(player, 5)
    player.locator("button.play").click()
    expect_playing_beyond(player, range(6))


def test_two_rollouts_are_compared_without_a_kernel(open_page):
    page = open_page("notebooks/00_shown")
    frame = page.locator("iframe.player").last
    frame.scroll_into_view_if_needed()
    both = frame.element_handle().content_frame()
    expect_step(both, 2)
    assert both.locator(".sides h2").count() == 2
    both.locator(".sgp").focus()
    press(page, "ArrowRight")
    expect_step(both, 3)


def test_every_page_is_reached_by_links_and_asks_for_nothing_outside(open_page, built):
    site = built / "site"
    page = open_page("index")
    seen, ahead = set(), {"index.html"}
    while ahead:
        name = ahead.pop()
        seen.add(name)
        page.goto(f"file://{site}/{name}")
        hrefs = page.eval_on_selector_all("a[href]", "all => all.map((each) => each.href)")
        inside = {href.split("#")[0].removeprefix(f"file://{site}/") for href in hrefs if href.startswith("file:")}
        missing = [href for href in inside if not (site / href).exists()]
        assert not missing, name
        ahead |= {href for href in inside if href.endswith(".html")} - seen
    pages = {str(path.relative_to(site)) for path in site.rglob("*.html")} - {"search.html"}
    assert seen >= pages


def test_the_first_page_is_the_readme(open_page):
    page = open_page("index")
    assert page.locator("h1").inner_text().startswith("sgp")
    assert page.locator("h2").first.inner_text().startswith("How it plans")
    assert page.evaluate("document.querySelector('div.body img').naturalWidth") > 0
    page.locator("div.body a", has_text="Settings").click()
    expect(page.locator("h1")).to_have_text(re.compile("^Settings"))
    page.goto(page.url.replace("settings", "results"))
    page.locator("div.body a", has_text="README").click()
    page.wait_for_url("**/index.html#how-it-plans")


@pytest.mark.parametrize("width", [1366, 390])
def test_no_page_is_wider_than_the_window(open_page, width):
    page = open_page("index", viewport={"width": width, "height": 768})
    for file in sorted((ROOT / "docs").glob("*.md")):
        page.goto(page.url.rsplit("/", 1)[0] + f"/{file.stem}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file.stem
        cut = "all => all.filter((each) => each.scrollWidth > each.clientWidth + 1).length"
        assert width < 860 or page.eval_on_selector_all("table", cut) == 0, file.stem


def test_the_site_is_searched_without_a_server(open_page):
    page = open_page("search")
    page.goto(f"{page.url}?q=wilson")
    page.wait_for_selector("#search-results li")
    assert "reference/measure.html" in " ".join(
        page.eval_on_selector_all("#search-results a", "all => all.map((each) => each.href)")
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(open_page, scheme):
    page = open_page("reference/train", color_scheme=scheme)
    for selector in ("p", "a", "dt.sig"):
        contrast = page.evaluate(CONTRAST, f"div.body {selector}")
        assert contrast >= 4.5, selector


# The WCAG contrast ratio between an element's text and the nearest background that is not transparent.
CONTRAST = """(selector) => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => channels(colour).slice(0, 3).map((each) => each / 255)
    .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, place) => sum + each * [0.2126, 0.7152, 0.0722][place], 0);
  const element = document.querySelector(selector);
  let ground = element;
  while (channels(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  const both = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor].map(light);
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
}"""


def test_every_name_of_the_facade_and_every_verb_has_its_entry(built):
    pages = "".join(page.read_text() for page in (built / "site" / "reference").glob("*.html"))
    assert set(re.findall(r'<dt class="sig[^>]*id="sgp\.(\w+)"', pages)) == set(sgp.__all__)
    helped = (built / "site" / "command_line.html").read_text()
    for verb in ("demo", "train", "solve", "evaluate"):
        assert f"sgp {verb}" in helped


def test_what_did_not_change_is_not_executed_again_and_a_failing_cell_is_named(built, tmp_path):
    write_notebook(built / "notebooks", "01_failing", "1 + 1", 'kept = {}\nkept["missing"]')
    done = build(built / "notebooks", built / "site", built / "home")
    assert done.returncode == 1
    assert "00_shown: unchanged" in done.stdout
    assert "01_failing.ipynb, cell 4 of 4: KeyError: 'missing'" in done.stderr
    assert 'kept["missing"]' in done.stderr
    assert (built / "site" / "index.html").exists(), "the site of before stays"
    (built / "notebooks" / "01_failing.ipynb").unlink()


def test_a_widget_that_needs_a_kernel_is_refused(built, tmp_path):
    write_notebook(tmp_path / "notebooks", "00_slider", "import ipywidgets\nipywidgets.IntSlider()")
    done = build(tmp_path / "notebooks", tmp_path / "site", tmp_path / "home")
    assert done.returncode == 1
    assert "00_slider, cell 3 shows a widget that is no player of 'sgp.show'" in done.stderr


def test_a_formula_whose_script_would_be_asked_for_is_refused(tmp_path):
    write_notebook(tmp_path / "notebooks", "00_formula")
    file = tmp_path / "notebooks" / "00_formula.ipynb"
    file.write_text(file.read_text().replace("It answers", "$s_0$ answers"))
    done = build(tmp_path / "notebooks", tmp_path / "site", tmp_path / "home", "--no-execute")
    assert done.returncode == 1
    assert "a formula in TeX needs a network; write 's_0' in plain text" in done.stderr


def test_without_a_notebook_there_is_no_site(tmp_path):
    done = build(tmp_path, tmp_path / "site", tmp_path / "home", "--only", "07")
    assert done.returncode == 1
    assert "no notebook to show" in done.stderr


def test_the_full_path_is_another_execution(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from execution import prepared

    write_notebook(tmp_path, "00_any", "FAST = True  # of another cell")
    fast, full = (prepared(tmp_path / "00_any.ipynb", full) for full in (False, True))
    assert [cell.source for cell in fast.content.cells[1:]] == ["FAST = True", "FAST = True  # of another cell"]
    assert [cell.source for cell in full.content.cells[1:]] == ["FAST = False", "FAST = True  # of another cell"]
    assert fast.place(tmp_path) != full.place(tmp_path)
