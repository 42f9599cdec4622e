"""The static site: complete links, names as text, refusals; in a browser also steps, filters and axe."""

import json
import re
from html import escape
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from typer.testing import CliRunner

import sgp
from sgp.cli import app
from sgp.datasets.subject import PlannerName
from sgp.errors import InputError
from sgp.reports.site import choose_rollouts, write_site
from sgp.reports.tables import NO_REFERENCE
from sgp.viewer.library import method_name, model_name, planner_name, settings_words
from tests.browsing import expect, expect_step, press, watched
from tests.viewer.conftest import IMAGE, SCRIPT


class Page(HTMLParser):
    """The tags, links and identifiers of a page."""

    def __init__(self, file):
        super().__init__()
        self.tags, self.links, self.ids = [], [], set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.ids.add(given.get("id"))
        self.links += [given[name] for name in ("href", "src") if name in given]


def pages_of(site):
    return {file: Page(file) for file in site.rglob("*.html")}


def site_with(*words):
    return CliRunner().invoke(app, ["site", *map(str, words)], catch_exceptions=False)


def test_a_small_site_has_every_page_that_it_links_to(tmp_path):
    out = tmp_path / "site"
    done = site_with("--out", out, "--most", 1, "--domain", "gripper")
    assert (done.exit_code, done.stdout) == (0, f"{out / 'index.html'}\n")
    assert "1 rollout, " in done.stderr
    pages = pages_of(out)
    assert {file.name for file in out.iterdir()} == {
        "index.html",
        "coverage.html",
        "tour.html",
        "rollouts",
        "player.js",
    }
    assert len(pages) == 4
    for file, page in pages.items():
        assert page.links
        for link in page.links:
            path, _, place = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            assert target in pages or target == out / "player.js", link
            assert not place or "=" in place or place in pages[target].ids, link
    assert "95 % Wilson" in (out / "coverage.html").read_text()
    (played,) = (out / "rollouts").iterdir()
    assert "gripper" in played.name
    done = site_with("--out", out, "--most", 1, "--domain", "visitall")
    assert done.exit_code == 0, "a site is replaced"
    assert ["visitall" in file.name for file in (out / "rollouts").iterdir()] == [True]


def test_few_rollouts_have_many_domains_and_outcomes():
    rollouts = sgp.recorded_rollouts().rollouts
    kinds = {(each.about.domain, each.head["outcome"]) for each in rollouts}
    chosen = choose_rollouts(rollouts, most=len(kinds))
    assert {(each.about.domain, each.head["outcome"]) for each in chosen} == kinds
    assert choose_rollouts(rollouts) == list(rollouts)
    assert {each.about.domain for each in choose_rollouts(rollouts, "gripper")} == {"gripper"}


def test_refusals_are_one_sentence_and_write_nothing(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    for words, expected in (
        (("--out", tmp_path / "mine"), f"{tmp_path / 'mine'} has files and is no site; give an empty folder, or write"),
        (("--out", tmp_path / "file"), f"{tmp_path / 'file'} is a file; give a folder"),
        (("--out", tmp_path / "new", "--domain", "griper"), "no rollout of domain 'griper' is recorded; expected one"),
        (("--out", tmp_path / "new", "--rollouts", tmp_path / "empty"), "there is no recorded rollout; record some"),
    ):
        done = site_with(*words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"sgp: {expected}")
        assert done.stderr.count("\n") == 1
    assert [(tmp_path / "mine" / "index.html").read_text(), *(tmp_path / "mine").iterdir()] == [
        "mine",
        tmp_path / "mine" / "index.html",
    ]
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert site_with("--out", tmp_path / "mine", "--most", 1, "--overwrite").exit_code == 0
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"


def test_planners_have_the_names_of_the_dashboard_with_their_settings(tmp_path):
    settings = settings_words(PlannerName("contrastive-jumps", "aiw", "default", "dynamic"))
    assert settings == "lookahead AIW(1), selected by dynamic validation"
    assert settings_words(PlannerName("mine", "small+training.epochs=3", "other")) == "small, 3 epochs, other"
    assert planner_name(PlannerName("mine", "small+depth=3")) == "mine: small, depth = 3"
    assert planner_name(PlannerName("goal-count", "unsatisfied", "greedy")) == "Goal count: greedy"
    rollouts = choose_rollouts(sgp.recorded_rollouts().rollouts, "gripper", 3)
    write_site(tmp_path / "site", rollouts)
    texts = {file.name: file.read_text() for file in (tmp_path / "site").rglob("*.html")}
    tour = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")
    assert all(method_name(each.about) in texts["tour.html"] for each in (tour.rollout, tour.contrast))
    played = [text for name, text in texts.items() if name not in ("index.html", "coverage.html", "tour.html")]
    for each in rollouts:
        name, settings = each.about.planner.title, settings_words(each.about.planner)
        assert any(model_name(each.about) in text for text in played)
        method = planner_name(each.about.planner).partition(":")[0]
        shown = f'<span title="{name}">{method}</span>' + (f"<small>{settings}</small>" if settings else "")
        assert shown in texts["index.html"]
        assert escape(planner_name(each.about.planner)) in texts["coverage.html"]


def test_an_empty_cell_of_coverage_says_why_and_references_come_first(tmp_path):
    out = write_site(tmp_path / "site", choose_rollouts(sgp.recorded_rollouts().rollouts, most=1))
    text = (out.parent / "coverage.html").read_text()
    rows = re.findall(r'<tr class="(\w+)">(.*?)</tr>', text)
    cells = [cell for kind, row in rows if kind != "heading" for cell in re.findall("<td>(.*?)</td>", row)]
    assert all(cells)
    assert text.count(NO_REFERENCE) == 2, "suites harder and track"
    assert "not measured" in cells
    own = [(kind, row) for kind, row in rows if kind != "published"]
    kinds = "".join("H" if kind == "heading" else "R" if "<td>Reference: " in row else "-" for kind, row in own)
    assert "R" in kinds
    assert re.fullmatch("(HR*-*)*", kinds)


def test_names_are_text_on_every_page(hostile, tmp_path):
    write_site(tmp_path / "site", [hostile])
    for file, page in pages_of(tmp_path / "site").items():
        text = file.read_text()
        assert SCRIPT not in text
        assert IMAGE not in text.partition('<script type="application/json"')[0]
        assert "img" not in page.tags
        assert page.tags.count("script") == {"coverage.html": 0, "index.html": 1}.get(file.name, 2)
        assert "default-src 'none'" in text
        assert not [link for link in page.links if ":" in link]
    (played,) = (tmp_path / "site" / "rollouts").iterdir()
    assert played.stem.replace("-", "").replace(".", "").isalnum()
    with pytest.raises(InputError, match="expected one of <img"):
        choose_rollouts([hostile], "gripper")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A site of eight rollouts."""
    return write_site(tmp_path_factory.mktemp("site"), choose_rollouts(sgp.recorded_rollouts().rollouts, most=8))


@pytest.fixture(params=[(1366, "light"), (911, "light"), (800, "dark"), (1920, "dark")], ids=str)
def page(request, browser):
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 768}, color_scheme=scheme)
    page = watched(context.new_page())
    page.on("console", lambda message: page.wrong.append(message.text))
    yield page
    assert not page.wrong
    assert [url for url in page.asked if not url.startswith("file:")] == []
    context.close()


@pytest.mark.browser
def test_a_rollout_opens_from_the_gallery_and_is_stepped_by_key(page, built):
    page.goto(built.as_uri())
    expect(page.locator(".gallery li:visible")).to_have_count(8)
    page.get_by_label("Domain").select_option("logistics")
    shown = page.locator(".gallery li:visible")
    assert set(shown.evaluate_all("items => items.map((item) => item.dataset.domain)")) == {"logistics"}
    expect(page.locator("output")).to_have_text(f"{shown.count()} of 8 rollouts")
    page.get_by_label("Domain").select_option("")
    page.get_by_role("link", name="Why rollouts fail").press("Enter")
    expect(page.get_by_label("Outcome")).to_have_value("not solved")
    assert not set(shown.evaluate_all("items => items.map((item) => item.dataset.outcome)")) & {"solved"}
    shown.first.locator("a").focus()
    press(page, "Enter")
    expect_step(page, 0)
    press(page, "ArrowRight", "ArrowRight")
    expect_step(page, 2)
    page.get_by_role("link", name="All rollouts").click()
    page.wait_for_url("**/index.html*")


@pytest.mark.browser
def test_the_tour_draws_every_stop_folds_answers_and_redraws_a_stop_for_a_choice(page, built):
    page.goto((built.parent / "tour.html").as_uri())
    *drawn, last = sgp.viewer.tour_titles()
    rows, answers = page.locator(".row"), page.locator(".question p")
    assert rows.locator("svg, .bar").count() > len(drawn)
    assert rows.evaluate_all("rows => rows.filter((row) => !row.querySelector('svg, .bar')).length") == 1, last
    expect(answers).to_have_count(len(drawn) + 1)
    expect(answers.filter(visible=True)).to_have_count(0)
    press(page, "a")
    expect(answers.first).to_be_visible()
    larger = page.locator(".stop", has_text="Larger problems").first
    before = larger.locator("svg").first.evaluate("svg => svg.querySelectorAll('text').length")
    larger.get_by_label("Objects").select_option("17")
    expect(larger.locator("p.words")).to_contain_text("17 objects")
    assert larger.locator("svg").first.evaluate("svg => svg.querySelectorAll('text').length") > before


@pytest.mark.browser
def test_the_tour_is_presented_by_keys_one_stop_at_a_time(page, built):
    page.goto((built.parent / "tour.html").as_uri())
    stops = page.locator(".stop:visible")
    page.get_by_role("button", name="Present").press("Enter")
    for place, title in enumerate(sgp.viewer.tour_titles(), start=1):
        expect(stops.get_by_role("heading", level=2)).to_have_text([f"{place} {title}"])
        assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('.words')).fontSize)") >= 24
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), title
        press(page, "a")
        expect(stops.locator(".question p")).to_be_visible()
        press(page, "ArrowRight")
    press(page, "ArrowLeft")
    expect(stops.get_by_role("heading", level=2)).to_have_text([f"{place - 1} {sgp.viewer.tour_titles()[-2]}"])
    address = page.url
    press(page, "Escape")
    expect(stops).to_have_count(place)
    page.goto("about:blank")
    page.goto(address)
    expect(stops).to_have_count(1)


@pytest.mark.browser
def test_axe_finds_nothing_and_pages_fit_the_width(page, built):
    played = sorted((built.parent / "rollouts").iterdir())[0]
    for file in (built, built.parent / "coverage.html", built.parent / "tour.html", played):
        page.goto(file.as_uri())
        page.wait_for_selector("main :is(svg, table)")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), file.name
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        found = page.evaluate("axe.run()")["violations"]
        assert json.dumps([[each["id"], each["nodes"][0]["html"][:200]] for each in found]) == "[]", file.name


@pytest.mark.browser
def test_hostile_names_harm_no_page(page, hostile, tmp_path):
    write_site(tmp_path / "site", [hostile])
    for file in sorted((tmp_path / "site").rglob("*.html")):
        page.goto(file.as_uri())
        page.wait_for_selector("main :is(svg, table)")
        assert page.evaluate("window.harmed === undefined")
