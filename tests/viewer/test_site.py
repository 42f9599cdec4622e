"""The static site: complete links, names as text, refusals; in a browser also steps, filters and axe."""

import json
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from typer.testing import CliRunner

import sgp
from sgp.cli import app
from sgp.errors import InputError
from sgp.reports.site import choose_rollouts, write_site
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
    assert {file.name for file in out.iterdir()} == {"index.html", "coverage.html", "tour.html", "rollouts"}
    assert len(pages) == 4
    for file, page in pages.items():
        assert page.links
        for link in page.links:
            path, _, place = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            assert target in pages, link
            assert "=" in place or place in {"", *pages[target].ids}, link
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


@pytest.fixture(params=[(1366, "light"), (800, "dark")], ids=str)
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
    page.get_by_role("link", name="Why plans fail").press("Enter")
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
def test_the_tour_draws_every_stop_and_folds_the_answer(page, built):
    page.goto((built.parent / "tour.html").as_uri())
    rows = page.locator(".row")
    assert rows.count() > len(sgp.viewer.tour_titles())
    assert rows.evaluate_all("rows => rows.every((row) => row.querySelector('svg, .bar'))")
    answer = page.get_by_text("The model takes")
    expect(answer).not_to_be_visible()
    page.get_by_text("Answer", exact=True).press("Enter")
    expect(answer).to_be_visible()


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
