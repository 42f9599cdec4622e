"""The player in a real browser: keys, play, scrub, plan rows, motion, hostile names; the page and Streamlit."""

import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

import sgp
from sgp.datasets.recorded import atom_of, map_file, read_recorded
from sgp.domains import draw_series
from sgp.domains.domain import Scene
from sgp.viewer.export import script
from sgp.viewer.playback import playback
from tests.browsing import LETTERS, expect, expect_playing_beyond, expect_step, lane_words, press
from tests.recorded import recorded_file, recorded_files
from tests.viewer.conftest import IMAGE, SCRIPT, as_recorded

pytestmark = pytest.mark.browser


def recorded(domain, model, variant, solved=True):
    found = (each for each in sgp.recorded_rollouts().rollouts if (each.head["outcome"] == "solved") is solved)
    wanted = domain, model, variant
    return next(each for each in found if (each.about.domain, each.about.method, each.about.variant) == wanted)


def rollout_of(pattern):
    return read_recorded(recorded_file(pattern))[0]


@pytest.fixture(scope="module")
def blocks():
    return recorded("blocksworld", "state-centric", "wl-xgboost-delta", solved=False)


def test_keys_step_through_the_whole_rollout_and_play_and_pause_it(open_page, blocks):
    page, last = open_page(blocks), len(blocks.steps)
    assert last >= 90
    for _ in range(60):
        page.keyboard.down("ArrowRight")  # key repeat: no keyup in between
    expect_step(page, 60)
    page.keyboard.up("ArrowRight")
    press(page, "j", "ArrowLeft", "k")
    expect_step(page, 59)
    press(page, "End", "ArrowRight")
    expect_step(page, last)
    page.wait_for_url("**#step=end")
    expect_step(open_page(blocks, "#step=end"), last)
    assert page.locator(".place").inner_text() == "end"
    press(page, "Home", "ArrowLeft")
    expect_step(page, 0)
    assert [url.split(":")[0] for url in page.asked] == ["file"]
    page = open_page(blocks)
    page.select_option(".controls select", "8")
    page.locator(".controls select").first.focus()
    press(page, "ArrowRight")
    expect_step(page, 1)
    assert page.locator(".controls select").first.input_value() == "8", "the arrow changes the step, not the option"
    press(page, "ArrowLeft")
    expect_step(page, 0)
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
    press(page, "Space")  # at the end, play starts again from the first step
    expect_playing_beyond(page, [0, len(blocks.steps)])


def test_scrub_plan_rows_curves_address_and_large_drawings(open_page, blocks):
    page = open_page(blocks, "#step=12", viewport={"width": 1200, "height": 800})
    expect_step(page, 11)
    press(page, "k")
    page.wait_for_url("**#step=13")
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
    before = page.locator(".picture").first.bounding_box()["width"]
    press(page, "z")
    assert page.locator(".picture").first.bounding_box()["width"] > 1.5 * before
    press(page, "z")
    assert page.locator(".picture").first.bounding_box()["width"] == before
    assert open_page(blocks, "#step=nonsense").locator('.sgp[data-step="0"]').count() == 1


def test_digits_pick_candidates_and_escape_goes_back(open_page, blocks):
    page = open_page(blocks)
    shown = playback(blocks)
    step = shown["steps"][0]
    other = 1 if step["chosen"] == 0 else 0
    press(page, str(other + 1))
    page.wait_for_selector("tr.picked")
    candidate = step["candidates"][other]
    assert page.locator("tr.picked td").first.inner_text() == str(candidate["rank"])
    for kind, name in (("add", "adds"), ("delete", "deletes")):
        texts = page.locator(f".change .{name} code").all_inner_texts()
        assert texts == [shown["atoms"][each] for each in candidate[kind]]
    assert page.locator(".change .adds").inner_text().startswith("+ Would add: ")
    assert "Selected" in page.locator(".why").inner_text()
    press(page, "Escape")
    page.wait_for_selector("tr.picked", state="detached")
    assert "Chosen" in page.locator(".why").inner_text()
    page.locator(".scroll").first.focus()
    press(page, "ArrowDown")
    assert page.locator("tr.picked td").first.inner_text() == str(step["chosen"] + 2)


def test_ties_plateau_divergences_and_help(open_page, solved, blocks):
    page, data = open_page(solved), playback(as_recorded(solved))
    first, *others = [place for place, step in enumerate(data["steps"]) if step["tie"]]
    press(page, "End")
    for place in (first, *others):
        press(page, "t")
        expect_step(page, place)
    press(page, "End", "p")
    expect_step(page, data["plateau"][0])
    press(page, "?")
    assert page.locator(".help").is_visible()
    assert "Space" in page.locator(".help").inner_text()
    press(page, "Escape")
    assert not page.locator(".help").is_visible()
    page, found = open_page(blocks), playback(blocks)["expert"]["divergences"]
    assert found
    for place in (*found, found[0]):
        press(page, "d")
        expect_step(page, place)
    assert f"diverges from it at step {found[0] + 1}" in page.locator("header").inner_text()


def test_the_features_behind_a_choice_are_listed(open_page, blocks):
    """First a sentence, then bars to opposite sides for and against the chosen candidate; raw features on request."""
    page, shown = open_page(blocks), playback(blocks)
    why, *_ = shown["steps"][0]["why"]
    said = page.locator(".because").inner_text()
    assert f"(rank {why['against'] + 1})" in said
    english = shown["words"]["features"]
    rows = page.locator(".reasons li:visible").all()
    assert len(rows) == len(why["reasons"])
    for row, (feature, _, _, share) in zip(rows, why["reasons"], strict=True):
        assert english[feature] in row.inner_text()
        number = row.locator(".number").inner_text()
        assert (number[0] == "+") == (share < 0), "what lowers the cost speaks for the chosen one"
        bar, middle = row.locator("i").bounding_box(), row.locator(".diverging").bounding_box()
        zero = middle["x"] + middle["width"] / 2
        assert (bar["x"] >= zero - 1) == (share < 0)
        value = row.locator(".number").bounding_box()
        assert 0 <= value["x"] - (middle["x"] + middle["width"]) < 20, "the value stands beside its bar"
    strongest = max((each for each in why["reasons"] if each[1] is not None and each[3] < 0), key=lambda each: -each[3])
    assert f"“{english[strongest[0]]}”" in page.locator(".because").get_attribute("title")
    brief = re.search(r"“(.*?)(?: …)?” \(\d+ % of all in favour", said).group(1)
    assert english[strongest[0]].startswith(brief)
    page.get_by_role("button", name="raw features").click()
    feature, chosen, *_ = why["reasons"][0]
    page.get_by_text(shown["features"][feature], exact=True).wait_for()
    assert f"chosen {chosen:g}, other" in rows[0].inner_text()


def test_what_was_visited_and_what_is_alike_is_said(open_page):
    """In a failure in Logistics several tied candidates were visited; balls in one room are equivalent."""
    logistics = recorded("logistics", "state-centric", "wl-xgboost-delta", solved=False)
    shown = playback(logistics)
    steps = [(place, step, _visited_ties(step)) for place, step in enumerate(shown["steps"], start=1)]
    place, _, ties = next(each for each in steps if each[2] > 1)
    page = open_page(logistics, f"#step={place}")
    assert f"{ties} equally cheap candidates already visited" in page.locator(".why").inner_text()
    jumps = recorded("gripper", "contrastive-jumps", "aiw")
    page, shown = open_page(jumps), playback(jumps)
    first = ((place, each) for place, step in enumerate(shown["steps"]) for each in step["candidates"][:10])
    place, alike = next((place, each) for place, each in first if each.get("same_as") is not None)
    page.locator("input[type=range]").fill(str(place))
    expect_step(page, place)
    press(page, str(alike["rank"] % 10))
    page.wait_for_selector("tr.picked")
    assert f"≡ same as {alike['same_as'] + 1}" in page.locator("tr.picked").inner_text()
    assert f"equivalent to rank {alike['same_as'] + 1}" in page.locator(".why").inner_text()


def test_pointing_at_a_candidate_shows_its_ghost_its_arrow_and_why_not(open_page, ranked):
    page, shown = open_page(ranked), playback(ranked)
    place, step = next(
        (place, step)
        for place, step in enumerate(shown["steps"])
        if len(step["why"]) >= 3 and all("picture" in step["candidates"][each["against"]] for each in step["why"][:2])
    )
    page.locator("input[type=range]").fill(str(place))
    expect_step(page, place)
    first = page.locator(".because").inner_text()
    assert f"(rank {step['next'] + 1})" in first
    for other in (each["against"] for each in step["why"]):
        row = page.locator(".candidates tbody tr").nth(other)
        row.hover()
        expect(row).to_contain_class("pointed")  # and no longer the previous row
        assert f"(rank {other + 1})" in page.locator(".because").inner_text()
        assert page.locator(".why").inner_text().startswith("Selected ")
        pictured = "picture" in step["candidates"][other]
        assert page.locator(".would svg.ghost").count() == pictured
        assert page.locator(".change .adds").inner_text().startswith("+ Would add")
        box = row.bounding_box()
        assert page.locator("tr.pointed").bounding_box() == box, "nothing moves under the pointer"
    page.locator(".candidates tbody tr").nth(step["chosen"]).hover()
    page.locator(".would svg.ghost").wait_for()
    page.mouse.move(1, 1)
    page.wait_for_selector("tr.pointed", state="detached")
    assert page.locator(".because").inner_text() == first
    assert page.locator(".would svg").count() == 0
    known = {*step["unavailable"], step["chosen"], *(each["against"] for each in step["why"])}
    unexplained = max(rank for rank, _ in enumerate(step["candidates"]) if rank not in known)
    page.locator(".candidates tbody tr").nth(unexplained).click()
    page.wait_for_selector("tr.picked")
    words = f"Not explained against rank {unexplained + 1}; only against ranks"
    assert page.locator(".because").inner_text().startswith(words)


def test_a_ghost_is_the_state_that_the_candidate_leads_to(ranked):
    """The recorded differences, applied to the frame, give the drawing of that state."""
    data, states = playback(ranked), list(ranked.states())
    objects, problem = (*ranked.domain.constants, *ranked.problem.objects), ranked.problem
    shown, ends, before = list[str](), list[Scene](), list[int]()
    for number, (step, frame, state) in enumerate(zip(data["steps"], data["frames"], states, strict=False)):
        for each in step["candidates"]:
            if "picture" not in each:
                continue
            places = list(frame["picture"])
            for place, gone, *come in reversed(each["picture"]):
                places[place : place + gone] = come
            changed = {kind: {atom_of(data["atoms"][atom]) for atom in each[kind]} for kind in ("add", "delete")}
            after = (state - changed["delete"]) | changed["add"]
            ends.append(Scene(objects, after, problem.goal, counted=False))
            before.append(number)
            shown.append("".join(data["elements"][place] for place in places))
    scenes = [Scene(objects, state, problem.goal, counted=False) for state in states]
    drawn = draw_series(ranked.domain, [*scenes, *ends], [*range(-1, len(scenes) - 1), *before])
    assert shown == drawn[len(scenes) :]
    assert len(shown) >= len(data["steps"])


def test_the_map_shows_the_step_and_changes_its_projection(open_page, hostile):
    page = open_page(hostile)
    points = page.locator(".map .point:visible")
    assert points.count() == 2
    before = [point.get_attribute("transform") for point in points.all()]
    page.get_by_role("button", name="PCA").click()
    assert page.locator(".map [aria-pressed=true]").all_inner_texts() == ["zoom", "PCA"]
    assert [point.get_attribute("transform") for point in points.all()] != before
    assert "75 % of variance" in page.locator(".map").inner_text()
    points.first.focus()
    words = points.first.get_attribute("aria-label")
    assert page.locator("tr.pointed td").first.inner_text() == "2"
    assert words.startswith("rank 2, cost ∞: ")
    assert IMAGE in words
    press(page, "Enter")  # picks the candidate
    page.wait_for_selector("tr.picked")
    assert page.locator("tr.picked td").first.inner_text() == "2"
    press(page, "End")
    expect_step(page, 1)
    assert points.count() == 0


def notes_of(page):
    return page.locator(".map .notes").text_content()


def test_the_map_says_what_its_points_hide_and_how_far_they_are(open_page, hostile):
    """A chosen state at the position of the state is a ring around it; a far nearest training point is marked."""
    file = map_file(hostile.source)
    made = json.loads(file.read_text())
    (step,) = made["rollouts"][0]["steps"]
    step["candidates"] = {"1": step["state"]}
    file.write_text(json.dumps(made))
    page = open_page(hostile)
    assert notes_of(page) == "Ring: the chosen state lies on the current one."
    assert page.locator(".map .caption").inner_text().startswith("1 of 2 candidates; ")
    assert page.locator(".map .coincides").get_attribute("visibility") == "visible"
    press(page, "2")
    page.get_by_text("Rank 2 is not on the map.").wait_for()
    made["usual"], step["distance"], step["nearest"] = 2, 5, 1
    file.write_text(json.dumps(made))
    page = open_page(hostile)
    assert notes_of(page).startswith("Far from training: 2.5 times as far as usual (\u00d7 out of view). Ring: ")
    assert page.locator(".map svg.points").evaluate("(each) => getComputedStyle(each).overflow") == "hidden"
    assert "than 99 % of them are from their nearest neighbour." in page.locator(".map .notes").get_attribute("title")
    step["distance"] = 1.5
    file.write_text(json.dumps(made))
    assert "Far from training" not in notes_of(open_page(hostile))


@pytest.mark.parametrize(
    "pattern", ["blocksworld-state-centric-wl-xgboost-delta-p08-solved", "logistics-contrastive-jumps-aiw-p01-*"]
)
def test_a_click_on_a_training_point_says_where_it_comes_from(open_page, pattern):
    rollout = rollout_of(pattern)
    data, page = playback(rollout)["map"], open_page(rollout)
    press(page, "m")  # the whole map
    page.locator(".map h3 button[aria-pressed=false]", has_text="zoom").wait_for()
    x, y = page.evaluate(
        """() => {
            const path = document.querySelector(".map .ground path");
            const [left, top] = path.getAttribute("d").match(/M([\\d.]+) ([\\d.]+)/).slice(1).map(Number);
            const { x, y } = new DOMPoint(left, top).matrixTransform(path.getScreenCTM());
            return [x, y];
        }"""
    )
    page.mouse.click(x, y)
    page.get_by_text("of the expert's plan.").wait_for()
    here, words = data["context"][0], page.locator(".map .notes").inner_text()
    near = (each for each, at in enumerate(data["context"]) if abs(at[2] - here[2]) + abs(at[3] - here[3]) < 30)
    sources = [data["training"]["points"][each] for each in near]
    problems = data["training"]["problems"]
    assert any(f"{problems[problem]} after {before} action" in words for problem, before, _ in sources)


def test_the_map_zooms_to_the_points_of_a_step_and_has_an_arrow(open_page, blocks):
    page = open_page(blocks, "#step=12")
    press(page, "m")
    page.locator(".map h3 button[aria-pressed=false]", has_text="zoom").wait_for()
    arrow, points = page.locator(".map .arrow"), page.locator(".map .point:visible")

    def spread():
        boxes = [each.bounding_box() for each in points.all()]
        return max(max(each[axis] for each in boxes) - min(each[axis] for each in boxes) for axis in "xy")

    before, shape = spread(), arrow.get_attribute("d")
    assert arrow.get_attribute("visibility") == "visible"
    press(page, "5")
    page.wait_for_selector("tr.picked")
    assert arrow.get_attribute("d") != shape, "it goes to the picked one"
    press(page, "m")
    page.locator(".map h3 button[aria-pressed=true]", has_text="zoom").wait_for()
    assert spread() > 2 * before
    press(page, "m")
    page.locator(".map h3 button[aria-pressed=false]", has_text="zoom").wait_for()
    assert spread() == pytest.approx(before, abs=1)


def test_labels_of_the_map_do_not_overlap_and_name_every_point(open_page, blocks):
    page = open_page(blocks)
    joined = 0
    for step in range(1, 13):
        expect_step(page, step - 1)
        drawn = page.evaluate(
            """() => [...document.querySelectorAll(".map .point")].filter((each) => each.style.display !== "none")
              .map((each) => [each.getAttribute("aria-label"), each.querySelector("text").textContent,
                each.querySelector("text").getBoundingClientRect()].map((one) => one.x === undefined ? one
                : [one.left, one.right, one.top, one.bottom]))"""
        )
        ranks = sorted(int(words.split(",")[0].split()[1]) for words, _, _ in drawn)
        named = []
        for _, label, _ in drawn:
            for part in label.split():
                first, _, last = part.removesuffix("✔").partition("\u2013")
                named += range(int(first), int(last or first) + 1)
            if "✔" in label:
                (chosen,) = re.findall(r"(\d+)✔", label)
                assert page.locator("tr.chosen td").first.inner_text() == chosen
        assert sorted(named) == ranks
        joined += sum(not label for _, label, _ in drawn)
        boxes = [box for _, label, box in drawn if label]
        for one, other in combinations(boxes, 2):
            across = min(one[1], other[1]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[2], other[2])
            assert across <= 1 or down <= 4, "a line is higher than its digits"
        press(page, "k")
    assert joined


STATE_CENTRIC = [
    "gripper-state-centric-wl-xgboost-delta-p04-*",
    "blocksworld-state-centric-wl-xgboost-delta-p08-solved",
    "logistics-state-centric-wl-xgboost-delta-p02-*",
]
# Of a step: the smallest letters, the map's share of its panel, its labels that touch others, marks or the edge.
LABELS = """() => {
    const box = (each) => each.getBoundingClientRect();
    const all = (where) => [...document.querySelectorAll(where)];
    const written = all(".picture text, .map svg.points text").filter((each) => each.textContent);
    const labels = written.filter((each) => each.closest(".point")).map(box)
      .map(({ left, right, top, bottom }) => ({ left, right, top: top + 3, bottom: bottom - 4 })); // digits alone
    const marks = all(".map svg.points :is(.candidate, .chosen, .state)")
      .filter((each) => each.checkVisibility({ visibilityProperty: true })).map(box);
    const meet = (one, other) => one !== other && one.left < other.right && other.left < one.right &&
      one.top < other.bottom && other.top < one.bottom;
    const count = (others) => labels.filter((each) => others.some((other) => meet(each, other))).length;
    const frame = box(document.querySelector(".map .layers"));
    const inside = (each) => each.left >= frame.left && each.right <= frame.right &&
      each.top >= frame.top && each.bottom <= frame.bottom;
    const letters = (each) => parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().d;
    return { smallest: Math.min(...written.map(letters)),
      share: frame.height / box(document.querySelector(".map")).height,
      overlaps: count(labels), covered: count(marks), outside: labels.filter((each) => !inside(each)).length,
      lines: all(".map p").map((each) => each.clientHeight) };
}"""


@pytest.mark.parametrize("pattern", STATE_CENTRIC)
def test_labels_of_every_step_have_ten_pixels_and_those_of_the_map_touch_neither_marks_nor_each_other(
    open_page, pattern
):
    page, covered = open_page(rollout_of(pattern), viewport={"width": 1366, "height": 768}), 0
    last = int(page.locator("input[type=range]").get_attribute("max"))
    for step in range(last + 1):
        expect_step(page, step)
        found = page.evaluate(LABELS)
        assert found["smallest"] >= 10.2, step
        assert found["share"] > 0.6, step
        assert found["overlaps"] == found["outside"] == 0, step
        assert max(found["lines"]) <= 18, step
        covered += found["covered"]
        press(page, "k")
    assert covered <= 0.02 * last, "where points lie all around"


VISIBLE = Path(__file__).with_name("visible_marks.js").read_text()


def told_apart(marks):
    """Whether predicted and chosen successor are told apart: marks and labels of both are seen.

    Of either mark at least 40 pixels are seen, and at least 60 % of what it paints; of either label at least 90 %.
    """
    shown = [marks[name] for name in ("predicted", "chosen")]
    labels = [marks[name] for name in ("predictedLabel", "chosenLabel")]
    return all(seen >= max(40, 0.6 * painted) for painted, seen in shown) and all(
        painted and seen >= 0.9 * painted for painted, seen in labels
    )


def test_predicted_and_chosen_successor_are_told_apart_on_the_map_on_95_percent_of_the_steps(open_page):
    rollouts = [rollout for each in recorded_files("*-state-centric-*") for rollout in read_recorded(each)]
    steps = []
    for rollout in (each for each in rollouts if each.steps[0].get("expects")):
        page = open_page(rollout, viewport={"width": 1322, "height": 742})
        box = page.locator(".map svg.points").bounding_box()
        assert box["width"] <= 368, "the width in the dashboard in a window of 1366 x 768"
        assert box["height"] <= 189, "the height there"
        steps += page.evaluate(VISIBLE, 10)
        page.close()
    assert len(steps) > 500
    assert sum(map(told_apart, steps)) >= 0.95 * len(steps)


def _visited_ties(step):
    """Number of visited candidates tied with the chosen one if that is the cheapest; else 0."""
    if step["candidates"][step["chosen"]]["gap"] != 0:
        return 0
    return sum(each["gap"] == 0 and "visited" in each["marks"] for each in step["candidates"])


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
    assert SCRIPT in page.locator(".goals").inner_text(), "its goals stay PDDL"
    written = page.locator("p.written")
    press(page, "Escape")
    for key, said in (
        ("Home", f"Written: {IMAGE} 0.50  {SCRIPT} 1.00  "),
        ("End", f"Written last (not a candidate): {SCRIPT} 0.25  "),
    ):
        press(page, key)
        page.get_by_text(said.strip()[:40]).wait_for()
        assert written.text_content() == said


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_a_narrow_window_needs_no_sideways_scrolling(open_page, hostile, scheme):
    page = open_page(hostile, color_scheme=scheme, viewport={"width": 420, "height": 800})
    background = page.evaluate("getComputedStyle(document.querySelector('.sgp')).backgroundColor")
    red = int(background.removeprefix("rgb(").split(",")[0])
    assert (red > 200) == (scheme == "light")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.parametrize("modifier", ["Control", "Meta", "Alt"])
def test_keys_of_the_browser_are_left_to_it(open_page, blocks, modifier):
    page = open_page(blocks)
    press(page, "k", "k")
    expect_step(page, 2)
    for key in ("k", "j", "ArrowDown", "1"):
        press(page, f"{modifier}+{key}")
    expect_step(page, 2)
    assert page.locator("tr.picked").count() == 0


NOTING = """window.glided = []; const begin = Element.prototype.animate;
Element.prototype.animate = function (...all) { glided.push(this.dataset.object); return begin.apply(this, all); };"""


@pytest.fixture
def open_moving(open_page, blocks):

    def open_(**options):
        page = open_page(blocks, script=NOTING, **options)
        page.wait_for_timeout(400)
        return page

    return open_


def test_what_a_step_moves_glides_unless_there_are_several_steps_or_less_motion_is_preferred(open_moving, blocks):
    page = open_moving()
    press(page, "k")
    expect_step(page, 1)
    (moved,) = page.evaluate("glided")
    assert moved in blocks.steps[0]["candidates"][blocks.steps[0]["chosen"]]["actions"][0]
    page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    assert page.evaluate("document.getAnimations().length") == 0
    page = open_moving()
    press(page, "End")
    page.wait_for_selector(".place:text-is('end')")
    assert page.evaluate("glided") == []
    page = open_moving(reduced_motion="reduce")
    press(page, "k")
    expect_step(page, 1)
    assert page.evaluate("glided") == []


def test_a_tie_without_reasons_and_costs_of_equal_digits_can_be_told(open_page):
    """Step 65 of this rollout is a tie of which no feature is a reason; costs of the other are near 5,873."""
    page = open_page(rollout_of("gripper-zero-change-wl-p04-*"), "#step=65")
    assert page.locator(".because").inner_text().startswith("Tied with ")
    press(page, "ArrowRight")
    expect_step(page, 65)
    rollout = rollout_of("logistics-contrastive-delta-wl-p01-*")
    page = open_page(rollout, "#step=3")
    costs = page.locator(".candidates tbody tr td:nth-child(3)").all_inner_texts()
    different = {round(each["cost"], 6) for each in playback(rollout)["steps"][2]["candidates"]}
    assert len(set(costs)) == len(different) > 6


# Gripper's labels are shortened ("10" for ball10), cells of VisitAll have none, and the numbers along its grid look
# like counts of features.
@pytest.mark.parametrize(
    ("pattern", "step"),
    [
        ("logistics-contrastive-jumps-aiw-p01-*", 3),
        ("gripper-contrastive-jumps-aiw-p04-*", 3),
        ("visitall-contrastive-jumps-aiw-p001-*", 3),
        ("gripper-state-centric-wl-xgboost-delta-p04-*", 60),
        ("visitall-state-centric-wl-xgboost-delta-p218-solved", 60),
    ],
)
def test_the_objects_of_a_feature_are_emphasised_on_the_board_while_it_is_pointed_at(open_page, pattern, step):
    rollout = rollout_of(pattern)
    data, page = playback(rollout), open_page(rollout, f"#step={step}", viewport={"width": 1366, "height": 1500})
    mentioned = page.locator(".picture .mentioned")
    assert mentioned.count() == 0
    reasons = data["steps"][step - 1]["why"][0]["reasons"]
    marked = set()
    for row, (feature, *_) in zip(page.locator(".reasons li:visible").all(), reasons, strict=True):
        row.hover()
        titles = mentioned.evaluate_all("(all) => all.map((each) => each.parentElement.firstChild.textContent)")
        found = {re.split("[:;]", each)[0].split()[-1] for each in titles}
        marked |= found
        text, named = data["features"][feature], data["named"][feature]
        atoms = {word for atom in re.findall(r"\(([^()]*)\)", text) for word in atom.split()[1:]}
        if named is None:  # a WL feature, whose text has variables for objects
            assert found <= set(re.findall(r"[^\s,()]+", row.locator(".feature").get_attribute("title")))
        else:
            assert found <= set(named) <= atoms
            assert bool(found) == bool(atoms)
    assert marked
    page.locator(".candidates h3").hover()
    assert mentioned.count() == 0


# Of the WL features of the reasons of some steps: the recorded values, and the numbers of nodes that are described.
DESCRIBED = """([rollout, places]) => {
    SCRIPT
    const signs = signsOf(rollout.wanted.map(([, , literal]) => literal));
    return places.flatMap((at) => rollout.steps[at].why.flatMap(({ against, reasons }) => {
        const ranks = [rollout.steps[at].chosen, against];
        const found = ranks.map((rank) => describedNodes(stateAfter(rollout, at, rank), signs));
        const counts = (text) => found.map((each) => each.get(inOrder(text))?.size ?? 0);
        return reasons.filter(([feature, value]) => value !== null && rollout.named[feature] === null).map(
            ([feature, one, other]) => [[one, other], counts(rollout.features[feature]), rollout.features[feature]]);
    }));
}"""


@pytest.mark.parametrize("domain", ["blocksworld", "gripper", "logistics", "visitall"])
def test_the_nodes_that_a_wl_feature_describes_are_as_many_as_its_value(browser, domain):
    described = DESCRIBED.replace("SCRIPT", re.sub("^export (default )?", "", script("player"), flags=re.MULTILINE))
    for model in ("state-centric-wl-xgboost-delta", "state-centric-wl-xgboost-state", "zero-change-wl"):
        data = playback(rollout_of(f"{domain}-{model}-p*"))
        page = browser.new_page()
        found = page.evaluate(described, [data, list(range(0, len(data["steps"]), 5))])
        page.close()
        assert len(found) > 10
        for values, counts, text in found:
            assert counts == values, text


def test_the_sentence_on_a_choice_names_the_first_optimal_action_and_counts_the_others(open_page):
    rollout = rollout_of("gripper-state-centric-wl-xgboost-delta-p04-*")
    step = playback(rollout)["steps"][59]
    page = open_page(rollout, "#step=60", viewport={"width": 1366, "height": 768})
    said = page.locator(".why")
    assert said.inner_text().endswith(f"(pick ball17 rooma left) \u2026 ({len(step['best'])} in all).")
    assert said.evaluate("(each) => each.scrollHeight <= each.clientHeight")


def test_the_current_state_is_on_the_ruler_at_its_distance_from_the_prediction(open_page):
    rollout = recorded("blocksworld", "state-centric", "wl-xgboost-delta")
    step = playback(rollout)["steps"][21]
    assert all(each["add"] or each["delete"] for each in step["candidates"]), "no candidate has the state's cost"
    page = open_page(rollout, "#step=22")
    assert page.locator(".ruler text", has_text="current state").count() == 1
    place = page.evaluate("document.querySelector('.sgp .ruler path[d^=\"M-3.5 1\"]').transform.baseVal[0].matrix.e")
    chosen = step["candidates"][step["chosen"]]["cost"]
    furthest = max(step["state_cost"], *(each["cost"] for each in step["candidates"]))
    left, wide = 16, 290
    assert place == pytest.approx(left + wide * step["state_cost"] / furthest, abs=0.1)
    assert step["state_cost"] > chosen


# Of some steps of a rollout: the ticks of the ruler (place, ranks from 1), its labels and numbers.
RULER = """([rollout, places]) => {
    SCRIPT
    const host = document.createElement("div");
    host.className = "sgp";
    host.style.width = "316px"; // as in a window of 1366 pixels
    const style = document.createElement("style");
    style.textContent = STYLE;
    const ruler = drawRuler(rollout, { name: () => "", pick: () => null });
    host.append(style, ruler.element);
    document.body.replaceChildren(host);
    const ranks = (tick) => tick.querySelector("title").textContent.split("\\n").map((each) => parseInt(each.slice(5)));
    return places.map((at) => {
        ruler.show(at, rollout.steps[at].chosen, false);
        const ticks = [...host.querySelectorAll(".tick")];
        return [ticks.filter((each) => each.querySelector("line")).map((each) =>
            [Number(each.querySelector("line").getAttribute("x1")), ranks(each)]),
          ticks.filter((each) => each.querySelector("text")).map((each) => {
            const { x, y, width } = each.querySelector("text").getBBox();
            return [each.querySelector("text").textContent, ranks(each), x, x + width, y];
          }), [...host.querySelectorAll("svg > text")].map((each) => each.textContent)];
    });
}"""


def test_the_nearest_on_the_ruler_is_the_nearest_in_truth_and_labels_neither_touch_nor_name_others(browser):
    page, steps = browser.new_page(), 0
    drawn = RULER.replace("SCRIPT", re.sub("^export (default )?", "", script("player"), flags=re.MULTILINE))
    for found in sgp.recorded_rollouts().rollouts:
        if found.about.method != "state-centric":
            continue
        rollout = playback(found)
        places = range(len(rollout["steps"]))
        data = {"steps": rollout["steps"]}
        for at, shown in zip(places, page.evaluate(drawn, [data, list(places)]), strict=True):
            _check_ruler(rollout["steps"][at], *shown)
            steps += 1
    assert steps > 5000
    page.close()


def _check_ruler(step, ticks, labels, ends):
    costs = {each["rank"]: each["cost"] for each in step["candidates"] if each["cost"] is not None}
    marks = {each["rank"]: each["marks"] for each in step["candidates"]}
    place = {rank: x for x, ranks in ticks for rank in ranks}
    assert len(place) >= min(12, len(costs))
    assert costs[min(place, key=place.get)] == pytest.approx(min(costs.values()), rel=1e-3)
    ordered = sorted(place, key=costs.get)
    assert [place[each] for each in ordered] == sorted(place.values())
    assert len(set(ends)) == len(ends), "each number stands once"
    signs = {
        rank: "\u2714" * (rank - 1 == step["chosen"])
        + "\u25b2" * ("expert" in marks[rank])
        + "\u25c6" * (rank - 1 in step.get("best", ()))
        for rank in place
    }
    named = {}
    for words, ranks, *_ in labels:
        for first, last, sign in re.findall("(\\d+)\u2013?(\\d*)(\\D*)(?: |$)", words):
            for rank in range(int(first), int(last or first) + 1):
                named[rank] = sign.strip()
                assert rank in ranks
    assert named.items() <= signs.items()
    assert {rank for rank, sign in signs.items() if sign} <= set(named)
    for one, other in combinations(labels, 2):
        assert one[4] != other[4] or one[3] < other[2] or other[3] < one[2], (one, other)
    for _, ranks, left, right, _ in labels:
        assert min(abs(place[each] - end) for each in ranks for end in (left, right)) < 60
        assert -1 <= left < right <= 321


def test_the_beam_is_drawn_as_lanes_around_the_step_and_a_click_on_a_node_goes_there(open_page):
    rollout = recorded("blocksworld", "state-centric", "wl-xgboost-delta")
    data, page = playback(rollout), open_page(rollout, "#step=34", viewport={"width": 1366, "height": 768})
    step = data["steps"][33]
    labels = lane_words(page)
    assert labels[0] == "Path costs, step 34"
    page.add_style_tag(content=".sgp .lanes text { font-family: 'DejaVu Sans' !important; }")  # a wide font
    ends = page.locator(".lanes > svg > text").evaluate_all("(all) => all.map((x) => x.getBoundingClientRect().right)")
    assert max(ends) < min(each.bounding_box()["x"] for each in page.locator(".lanes .kept").all())
    assert [float(each.split()[1]) for each in labels[1:]] == [round(cost, 3) for _, _, cost in step["beam"]]
    shown = [each.endswith("✔ shown") for each in labels[1:]]
    assert shown == [place == step["lane"] for place in range(len(step["beam"]))]
    for place, label in enumerate(labels[1:]):
        alive, dropped = {place}, None
        for number, later in enumerate(data["steps"][34:], start=35):
            alive = {each for each, (before, _, _) in enumerate(later["beam"]) if before in alive}
            dropped = dropped or (None if alive else number)
        assert label.endswith("✔ shown" if place == step["lane"] else f"✕ step {dropped - 1}")
    titles = page.locator(".lanes .kept title").all_text_contents()
    there = next(place for place, title in enumerate(titles) if title.startswith("step 37, place 1 "))
    page.locator(".lanes .kept").nth(there).click()
    expect_step(page, 36)
    assert lane_words(page)[0] == "Path costs, step 37"
    assert page.locator(".lanes").bounding_box()["y"] + page.locator(".lanes").bounding_box()["height"] <= 768


# What is drawn of the lanes: nodes and lines with their places, numbers and labels.
LANES = """() => [...document.querySelectorAll(".lanes :is(.kept, line, rect, text)")].map((each) => {
    const { x, y, width, height } = each.getBoundingClientRect();
    return [each.querySelector("title")?.textContent ?? each.textContent, ...[x, y, width, height].map(Math.round)];
}).sort()"""


def test_the_lanes_of_a_step_are_the_same_whatever_was_shown_before_and_their_nodes_stay_in_the_page(open_page):
    rollout = recorded("blocksworld", "state-centric", "wl-xgboost-delta")
    opened = open_page(rollout, "#step=34", viewport={"width": 1366, "height": 768}).evaluate(LANES)
    page = open_page(rollout, "#step=30", viewport={"width": 1366, "height": 768})
    for place in (60, 34, 33):
        page.locator(".plan button").nth(place).click()
        expect_step(page, place)
    page.evaluate("scrollTo(0, 0)")
    assert len(opened) > 30
    assert page.evaluate(LANES) == opened
    page.evaluate(
        "window.node = [...document.querySelectorAll('.lanes .kept')].find((each) => /step 36,/.test(each.textContent))"
    )
    press(page, "k")
    expect_step(page, 34)
    assert page.evaluate("window.node.isConnected")


def test_predicted_effects_fit_into_their_line_after_the_window_has_changed(open_page):
    rollout = recorded("blocksworld", "state-centric", "wl-xgboost-delta")
    wide, narrow = {"width": 1400, "height": 800}, {"width": 900, "height": 800}

    def shown(page):
        return page.locator(".expects > span").count()

    page = open_page(rollout, "#step=17", viewport=wide)
    most = shown(page)
    page.set_viewport_size(narrow)
    page.wait_for_timeout(300)  # milliseconds: the browser tells the player
    press(page, "j", "k")
    expect_step(page, 16)
    assert shown(page) == shown(open_page(rollout, "#step=17", viewport=narrow)) < most


def test_where_there_is_little_room_the_candidates_stand_directly_below_the_pictures(open_page):
    page = open_page(rollout_of("logistics-contrastive-jumps-aiw-p01-*"), viewport={"width": 860, "height": 512})
    pictures, choice, candidates, distances = (
        page.locator(f".sgp .{each}").first.bounding_box() for each in ("pictures", "choice", "candidates", "map")
    )
    assert pictures["height"] < 650
    assert choice["y"] - pictures["y"] - pictures["height"] < 20
    assert choice["y"] < candidates["y"] < distances["y"]


def test_at_the_end_the_plan_stands_where_the_candidates_were_and_no_panel_is_blank(open_page):
    page = open_page(rollout_of("logistics-contrastive-jumps-aiw-p01-*"), viewport={"width": 1366, "height": 768})
    place = page.locator(".candidates").bounding_box()
    page.locator(".plan button").last.click()
    page.wait_for_selector(".sgp.ended")
    assert page.locator(".plan button").last.evaluate("(each) => each.getRootNode().activeElement === each")
    assert page.locator(".sgp").inner_text().count("ends here") == 1
    page.evaluate("scrollTo(0, 0)")
    plan = page.locator(".planned").bounding_box()
    assert (plan["x"], plan["y"]) == (place["x"], place["y"])
    shown = page.locator(".sgp section:visible")
    assert all(shown.evaluate_all("(all) => all.map((each) => each.querySelector('svg, ol, p:not(:empty)') !== null)"))
    for part in (".candidates", ".reasons", ".ruler > svg"):
        assert not page.locator(part).is_visible(), part
    assert page.locator(".lanes").is_visible()
    press(page, "ArrowLeft")
    page.wait_for_selector(".sgp:not(.ended)")
    assert page.locator(".candidates").bounding_box() == place
    assert page.locator(".more .planned").count() == 1
    page = open_page(rollout_of("gripper-random-successor-*"), "#step=end", viewport={"width": 1366, "height": 768})
    assert not page.locator(".ruler").is_visible(), "without a beam nothing of it remains"


@pytest.mark.parametrize("view", ["all", "explain"])
def test_letters_of_ruler_and_lanes_have_ten_pixels_in_both_views_that_show_them(open_page, view):
    rollout = rollout_of("blocksworld-state-centric-wl-xgboost-delta-p08-solved")
    page = open_page(rollout, "#step=22", viewport={"width": 1366, "height": 768})
    page.select_option("select[aria-label=View]", view)
    letters = f"(ruler) => ({LETTERS})([...ruler.querySelectorAll('svg text')])"  # at once: a redraw replaces them
    sizes = page.locator(".ruler").evaluate(letters)
    assert len(sizes) > 10
    assert min(sizes) >= 10


def test_no_lanes_are_drawn_where_no_beam_was_recorded(open_page, blocks):
    steps = [{name: value for name, value in each.items() if name not in ("beam", "lane")} for each in blocks.steps]
    assert not open_page(replace(blocks, loaded=steps)).locator(".lanes").is_visible()
    some = [steps[0], *blocks.steps[1:]]
    page = open_page(replace(blocks, loaded=some))
    assert lane_words(page) == ["Beam: not recorded here"]
    press(page, "ArrowRight")
    expect_step(page, 1)
    assert page.locator(".lanes .kept").count() > 3
    press(page, "End")
    expect_step(page, len(steps))


def test_the_rule_of_a_decision_is_shown_as_text(open_page, quick_run):
    problem = sgp.load_suite("state-centric").problems("gripper", "validation")[0]
    rollout = sgp.load_planner(quick_run("regression", "gripper")).solve(sgp.Task(problem))
    page = open_page(as_recorded(rollout.without_notes()), "#step=2")
    step = rollout.steps[1]  # addresses count from 1
    assert page.locator(".because").inner_text() == f"Chosen by {step.note['because'][step.chosen]}."
