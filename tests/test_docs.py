"""The site, built from a stand-in notebook and opened in a browser."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sgp
from tests.browsing import expect_playing_beyond, expect_step, press, watched

ROOT = Path(sgp.__file__).resolve().parents[1]
pytestmark = pytest.mark.browser
nbformat = pytest.importorskip("nbformat", reason="nbformat is missing; install the extra 'site'")
pytest.importorskip("myst_nb", reason="myst-nb is missing; install the extra 'site'")

CELLS = [
    """\
import plotly.graph_objects as go
import sgp
go.Figure(go.Scatter(x=[1, 2, 3], y=[3, 1, 2]), {"title": {"text": "Lines & dots <1>"}})""",
    'sgp.viz.picture(sgp.Task(sgp.load_suite("state-centric").problems("gripper", "train")[0]))',
    """\
recorded = next(each for each in sgp.recorded_rollouts().rollouts if each.head["outcome"] == "horizon")
sgp.show(recorded, step=4)""",
    "sgp.show(recorded, sgp.viewer.expert_rollout(recorded), step=2)",
]


def build(folder, name, *cells):
    new = nbformat.v4
    content = [new.new_markdown_cell(f"# Stand-in {name}"), *map(new.new_code_cell, cells)]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (folder / "notebooks").mkdir(exist_ok=True)
    file = folder / "notebooks" / f"{name}.ipynb"
    nbformat.write(new.new_notebook(cells=content, metadata=spec), file)
    path = os.pathsep.join([str(ROOT), *sys.path])
    command = [sys.executable, ROOT / "docs" / "build.py", "--notebooks", file.parent, "--out", folder / "site"]
    environment = {**os.environ, "PYTHONPATH": path, "SGP_HOME": str(folder / "home")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    done = build(folder, "00_shown", *CELLS)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def page(browser, built):
    """The page of the notebook; at the end, there were neither requests outside nor errors of scripts."""
    page = watched(browser.new_page())
    page.goto(f"file://{built}/site/notebooks/00_shown.html")
    yield page
    assert not page.wrong
    assert [url for url in page.asked if not url.startswith((f"file://{built}/site/", "data:", "blob:"))] == []
    page.close()


def test_plots_pictures_and_players_work_without_a_kernel(page):
    page.wait_for_selector(".plot .scatterlayer path.point")
    assert page.locator(".plot").get_attribute("aria-label") == "Lines & dots <1>"
    assert page.locator(".picture svg").count() == 1
    single, both = page.locator("iframe.player").all()
    single.scroll_into_view_if_needed()
    player = single.element_handle().content_frame()
    expect_step(player, 3)  # opened at step 4, counted from 1
    player.locator(".sgp").focus()
    press(page, "ArrowRight", "k")
    expect_step(player, 5)
    player.locator("button.play").click()
    expect_playing_beyond(player, range(6))
    both.scroll_into_view_if_needed()
    comparison = both.element_handle().content_frame()
    expect_step(comparison, 2)
    assert comparison.locator(".sides h2").count() == 2


def test_every_page_is_reached_by_links(page, built):
    site = built / "site"
    seen, waiting = set(), {"index.html"}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        page.goto(f"file://{site}/{name}")
        hrefs = page.eval_on_selector_all("a[href]", "links => links.map((link) => link.href)")
        inside = {href.split("#")[0].removeprefix(f"file://{site}/") for href in hrefs if href.startswith("file:")}
        assert [href for href in inside if not (site / href).exists()] == [], name
        waiting |= {href for href in inside if href.endswith(".html")} - seen
    assert seen >= {str(path.relative_to(site)) for path in site.rglob("*.html")} - {"search.html"}
    pages = "".join(path.read_text() for path in (site / "docs" / "reference").glob("*.html"))
    listed = set(re.findall(r'<dt class="sig[^>]*id="sgp\.((?:\w+\.)?\w+)"', pages))
    assert listed >= {*sgp.__all__, *(f"viz.{name}" for name in sgp.viz.__all__)}
    assert "sgp evaluate" in (site / "docs" / "command_line.html").read_text()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('saved = {}\nsaved["missing"]', "01_wrong.ipynb, cell 2 of 2: "),
        ("import ipywidgets\nipywidgets.IntSlider()", "01_wrong, cell 2 shows a widget that is no player of"),
    ],
)
def test_a_cell_that_cannot_be_shown_is_named(built, cell, message):
    done = build(built, "01_wrong", cell)
    assert done.returncode == 1
    assert "00_shown: unchanged" in done.stdout
    assert message in done.stderr
    assert (built / "site" / "index.html").exists(), "the previous site stays"
    (built / "notebooks" / "01_wrong.ipynb").unlink()
