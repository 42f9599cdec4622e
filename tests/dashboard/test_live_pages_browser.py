"""What if, Your own problem and Tour in a real browser."""

import itertools
import re
import shutil

import pytest

import sgp
from sgp.datasets.subject import PlannerName
from sgp.viewer.library import planner_name
from tests.browsing import LETTERS, choose, expect, expect_step, expect_stop, lane_words, press, serving, watched
from tests.conftest import COURIER

pytestmark = pytest.mark.browser
BRANCHES = 'button[title^="Continue from"]'  # available in the player for a finished rollout only
SLOW = 180_000  # milliseconds that a worker may take to start and to plan


@pytest.fixture(scope="module")
def store(quick_run):
    """The name of a greedy run in the store of the server below."""
    return name_of(quick_run("contrastive-jumps", "blocksworld", "one-step"))


@pytest.fixture(scope="module")
def beam(quick_run):
    """The name of a run whose decoding has a beam, in the same store."""
    return name_of(quick_run("state-centric", "blocksworld"))


def name_of(run):
    return f"{run.key.method} {run.key.variant} seed {run.key.seed}"


@pytest.fixture(scope="module")
def address(quick_run, shared_home, tmp_path_factory):
    """Address of a dashboard whose store has these runs alone."""
    home = tmp_path_factory.mktemp("served")
    for run in (quick_run("contrastive-jumps", "blocksworld", "one-step"), quick_run("state-centric", "blocksworld")):
        shutil.copytree(run.folder, home / run.folder.relative_to(shared_home))
    with serving(home) as found:
        yield found


@pytest.fixture(scope="module")
def context(browser, address):
    """One browser context, in which the server was visited: it learns its pages from the first one."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.goto(f"{address}/rollout")
    page.wait_for_selector(".sgp[data-step]")
    page.close()
    yield context
    context.close()


@pytest.fixture
def open_(context, address):
    """Open a page of the dashboard; fail on requests to other machines and on script errors."""
    page = watched(context.new_page())
    page.set_default_timeout(SLOW)

    def go(path):
        page.goto(f"{address}/{path}")
        return page

    yield go
    assert page.evaluate("window.harmed") is None
    assert all(url.startswith((address, "data:", "blob:")) for url in page.asked), page.asked
    assert not page.wrong
    page.close()


def lanes_of(page):
    """Return the title of the lanes and the number of nodes that were kept at the step."""
    lanes = page.locator(".sgp .lanes")
    assert lanes.is_visible()
    title, *kept = lane_words(page)
    assert sum(label.endswith("✔ shown") for label in kept) == 1
    assert lanes.locator(".kept").count() >= len(kept)
    return title, len(kept)


def test_lanes_of_the_beam_are_drawn_in_what_if_also_after_a_branch(open_, beam):
    page = open_(f"what_if?domain=blocksworld&model={beam.replace('+', '%2B')}&problem=p02")
    page.wait_for_selector(f'.sgp[data-step="0"] {BRANCHES}')
    press(page, "ArrowRight")
    expect_step(page, 1)
    assert lanes_of(page) == ("Path costs, step 2", 3)
    assert page.locator(".sgp .curves").evaluate("(each) => each.scrollHeight - each.clientHeight") <= 0, "cut off"
    chosen = int(page.locator("tr.chosen td").first.inner_text())
    other = 2 if chosen == 1 else 1
    press(page, str(other))
    page.wait_for_selector("tr.picked")
    press(page, "b")
    page.wait_for_url(f"**branch=2-{other}*")
    page.wait_for_selector(f'.sgp[data-step="2"] {BRANCHES}')
    assert lanes_of(page)[0] == "Path costs, step 3"
    press(page, "ArrowLeft")
    expect_step(page, 1)
    assert lane_words(page) == ["Beam: not recorded here"], "at a forced choice there was none"


def test_lanes_of_the_beam_are_drawn_for_an_own_problem(open_, beam):
    page = open_("own_problem")
    page.get_by_role("button", name="Blocksworld").click()
    page.wait_for_selector("text=Domain blocksworld: 5 objects")
    choose(page, "Model", planner_name(PlannerName(*beam.split()[:2])))
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.get_by_role("button", name="Solve", exact=True).click()
    page.wait_for_selector('.sgp[data-step="0"]')
    assert page.locator(f'.sgp header [title="{beam}"]').count() == 1
    widths = []
    for step in range(4):
        expect_step(page, step)
        title, kept = lanes_of(page)
        assert title == f"Path costs, step {step + 1}"
        widths.append(kept)
        press(page, "ArrowRight")
    assert max(widths) > 1


def test_a_picked_candidate_becomes_a_branch_and_branches_are_walked(open_, store, tmp_path):
    page = open_(f"what_if?domain=blocksworld&model={store.replace('+', '%2B')}&problem=p02")
    page.wait_for_selector(".tree button")
    page.wait_for_selector(f'.sgp[data-step="0"] {BRANCHES}')
    press(page, "ArrowRight", "ArrowRight")
    expect_step(page, 2)
    press(page, "b")  # the chosen candidate is no branch
    assert "Select another candidate first" in page.locator(".why").inner_text()
    step = page.locator("tr.chosen td").first.inner_text()
    other = "1" if step != "1" else "2"
    press(page, other)
    page.wait_for_selector("tr.picked")
    taken = page.locator("tr.picked code").inner_text()
    press(page, "b")
    page.wait_for_url(f"**branch=3-{other}*")
    page.wait_for_selector(".tree button >> nth=1")
    page.wait_for_selector(f'.sgp[data-step="3"] {BRANCHES}')  # the whole branch is drawn
    left = page.locator(".sgp .candidates tbody tr:visible td:nth-child(6)").all_inner_texts()
    assert all(re.fullmatch(r"unknown|✕|(≥ )?\d+( to \d+)?", each) for each in left), left
    assert any(each != "unknown" for each in left), "the state space is large: by A*"
    assert taken in page.locator(".tree button[aria-pressed=true]").text_content()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as HTML").click()
    download.value.save_as(tmp_path / "branch.html")
    exported = page.context.browser.new_page()
    exported.goto((tmp_path / "branch.html").as_uri())
    exported.wait_for_selector('.sgp[data-step="3"]')
    exported.close()
    press(page, "ArrowLeft")
    expect_step(page, 2, seconds=30)
    assert "⚑ override" in page.locator("tr.chosen").inner_text()
    page.locator(".tree button").first.focus()
    press(page, "Enter")
    page.wait_for_selector('.tree button[aria-pressed=true][data-branch=""]')
    page.wait_for_function("!location.search.includes('branch=')")
    page.reload()
    page.wait_for_selector(".tree button")


def test_files_are_uploaded_solved_and_watched_and_more_than_a_megabyte_is_a_sentence(open_, store, tmp_path):
    page = open_("own_problem")
    (problem, *_) = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")
    for number, (part, text) in enumerate((("domain", problem.domain_pddl), ("problem", problem.problem_pddl))):
        file = tmp_path / f"{part}.pddl"
        file.write_text(text)
        page.locator("input[type=file]").nth(number).set_input_files(file)
        page.wait_for_selector(f"text={part}.pddl")
        page.wait_for_selector("[data-test-script-state=notRunning]")  # a page that is drawn anew can lose a file
    page.wait_for_selector("text=Domain blocksworld: 5 objects")
    page.get_by_role("button", name="Solve").click()
    page.wait_for_selector(".sgp[data-step]")
    press(page, "End")
    page.wait_for_selector("[data-testid=stAlert] >> text=VAL")
    page = open_("own_problem")
    file = tmp_path / "large.pddl"
    file.write_text(" " * 1_010_000)
    page.locator("input[type=file]").nth(0).set_input_files(file)
    refused = page.get_by_role("alert").filter(has_text="File must be 1.0MB or smaller")
    refused.wait_for()
    assert refused.bounding_box()["width"] > 100, "a sentence, not a tooltip"
    page.get_by_role("button", name="Gripper").click()
    page.wait_for_selector("text=Domain gripper")


def test_one_press_of_back_leaves_your_own_problem_and_another_opens_the_result_before(open_):
    page = open_("")
    menu = {name: page.get_by_role("link", name=name, exact=True) for name in ("Rollout", "Your own problem")}

    def replay(name, plan):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_selector(f"text=Domain {name.lower()}:")
        page.get_by_role("tab", name="Replay a plan").click()
        box = page.get_by_label("Plan, one action a line")
        box.fill(plan)
        box.press("Control+Enter")
        page.get_by_role("button", name="Replay and validate with VAL").click()
        expect(page.locator(".sgp header")).to_contain_text(name.lower())
        page.wait_for_url("**saved=**")
        return page.url

    menu["Your own problem"].click()
    page.get_by_role("button", name="Blocksworld", exact=True).wait_for()
    length = page.evaluate("history.length")
    first = replay("Blocksworld", "(unstack b1 b4)")
    assert page.evaluate("history.length") == length
    page.go_back()
    page.wait_for_selector(".gallery")
    menu["Rollout"].click()
    page.wait_for_url("**/rollout?**")
    page.wait_for_selector(".sgp .coverage")
    opened = page.url
    menu["Your own problem"].click()
    page.wait_for_url(first)
    assert "/own_problem?" in first
    page.wait_for_selector('.sgp[data-step="0"]')
    second = replay("Gripper", "(move rooma roomb)")
    assert second != first
    page.go_back()
    expect(page).to_have_url(first)
    expect(page.locator(".sgp header")).to_contain_text("blocksworld")
    page.get_by_text("Domain blocksworld:").wait_for()
    page.go_back()
    expect(page).to_have_url(opened)
    page.wait_for_selector(".sgp .coverage")


PLACES = ["shop", "mill", "station", "harbour", "school", "market"]
ROADS = [("depot", "shop"), *itertools.pairwise(PLACES), ("market", "depot"), ("shop", "station")]
PARCELS = [f"parcel{number}" for number in range(1, 11)]
DELIVERY = f"""(define (problem delivery) (:domain courier)
  (:objects van1 van2 - van bike1 - bike {" ".join(PARCELS)} - parcel {" ".join(PLACES)} - place)
  (:init (at van1 depot) (at van2 shop) (at bike1 mill)
    {" ".join(f"(at {parcel} {place})" for parcel, place in zip(PARCELS, ["depot"] * 3 + PLACES * 2, strict=False))}
    {" ".join(f"(road {one} {two}) (road {two} {one})" for one, two in ROADS)})
  (:goal (and {" ".join(f"(at {parcel} {place})" for parcel, place in zip(PARCELS, PLACES * 2, strict=False))})))"""
OVERLAPS = """(all) => { const boxes = all.map((each) => each.getBoundingClientRect());
  return boxes.flatMap((one, at) => boxes.slice(0, at).filter((two) =>
    Math.min(one.right, two.right) - Math.max(one.left, two.left) > 1 &&
    Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top) > 4)).length; }"""  # lines are higher than letters


def test_letters_of_a_domain_without_a_drawing_of_its_own_can_be_read(open_):
    page = open_("own_problem")
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 1366, "height": 768})
    for label, text in (("Domain in PDDL", COURIER), ("Problem in PDDL", DELIVERY)):
        page.get_by_label(label).fill(text)
        page.get_by_label(label).press("Control+Enter")
        page.wait_for_selector("[data-test-script-state=notRunning]")
    page.wait_for_selector("text=Domain courier: 20 objects")
    page.get_by_role("tab", name="Replay a plan").click()
    plan = page.get_by_label("Plan, one action a line")
    plan.fill("(load parcel1 van1 depot)\n(load parcel2 van1 depot)\n(drive van1 depot shop)")
    plan.press("Control+Enter")
    page.get_by_role("button", name="Replay and validate with VAL").click()
    page.wait_for_selector('.sgp[data-step="0"]')
    for step in range(4):
        expect_step(page, step)
        for part in (1, 2):
            texts = page.locator(f".sgp .pictures section:nth-child({part}) .picture svg text")
            assert min(texts.evaluate_all(LETTERS)) >= 10, (step, part)
            assert texts.evaluate_all(OVERLAPS) == 0, (step, part)
        press(page, "ArrowRight")


def test_a_model_is_trained_on_uploaded_problems_and_solves(open_, tmp_path):
    page = open_("own_problem")
    suite = sgp.load_suite("state-centric")
    page.get_by_role("button", name="Gripper").click()
    page.wait_for_selector("text=Domain gripper")
    model = page.get_by_label("Model", exact=True)
    expect(model).to_have_value(re.compile("included in the package"))
    page.get_by_role("tab", name="Train a model").click()
    files = []
    for number, problem in enumerate(suite.problems("gripper", "train")[:2]):
        files.append(tmp_path / f"small{number}.pddl")
        files[-1].write_text(problem.problem_pddl)
    page.locator("input[type=file]:not([webkitdirectory])").nth(2).set_input_files(files)
    page.wait_for_selector("text=small1.pddl")
    page.wait_for_selector("[data-test-script-state=notRunning]")  # a page that is drawn anew can lose a file
    page.get_by_role("button", name="Train on these files").click()
    page.get_by_role("tab", name="Solve").click()
    expect(model).not_to_have_value(re.compile("included"))  # the trained one
    page.get_by_role("button", name="Solve", exact=True).click()
    page.wait_for_selector(".sgp[data-step]")
    assert "Contrastive jumps" in page.locator(".sgp header").inner_text()
    expect(page.locator("[data-testid=stAlert]")).to_have_count(1)  # VAL's verdict


def test_the_tour_is_walked_by_keys(open_):
    page = open_("tour")
    page.wait_for_selector(".row svg")
    for stop in range(2, 8):
        press(page, "ArrowRight")
        page.wait_for_url(f"**stop={stop}*")
        expect_stop(page, stop)
    page.wait_for_selector(".row .chart", state="detached")  # the answer is not shown before the guess
    page.locator("label", has_text="(").first.click()
    page.wait_for_selector(".row .chart table")
    page.evaluate("document.activeElement.blur()")  # within the answers, arrow keys choose an answer
    press(page, "ArrowLeft")
    page.wait_for_url("**stop=6*")


def test_a_stop_is_presented_alone_by_keys_with_a_folded_answer(open_):
    page = open_("tour?stop=2")
    page.wait_for_selector(".row svg")
    header = page.locator("[data-testid=stHeader]")
    size = "(words) => parseFloat(getComputedStyle(words).fontSize)"
    words = page.get_by_text("Each object is a node")
    before = words.evaluate(size)
    press(page, "p")
    expect(header).to_be_hidden()
    page.wait_for_url("**present=yes*")
    page.wait_for_function("() => !document.querySelector('[data-testid=stBaseButton-primary]')")
    assert words.evaluate(size) > before
    answer = page.locator(".question p")
    expect(answer).to_be_hidden()
    press(page, "a")
    expect(answer).to_be_visible()
    press(page, "ArrowRight")
    page.wait_for_url("**stop=3*")
    expect(page.get_by_text("Weisfeiler-Leman refinement")).to_be_visible()
    expect(answer).to_be_hidden()
    press(page, "Escape")
    expect(header).to_be_visible()
    expect_stop(page, 3)


def test_an_answer_that_a_key_opens_is_scrolled_into_view(open_):
    page = open_("tour?stop=3&present=yes")
    page.set_viewport_size({"width": 1366, "height": 720})
    page.wait_for_selector(".row svg")
    answer = page.locator(".question p")
    press(page, "a")
    expect(answer).to_be_in_viewport(ratio=0.9)


def test_a_weight_that_is_turned_around_plans_the_problem_anew(open_, store):
    page = open_(f"what_if?domain=blocksworld&model={store.replace('+', '%2B')}&problem=p02")
    page.wait_for_selector(f'.sgp[data-step="0"] {BRANCHES}')
    feature = page.get_by_label("Feature", exact=True)
    for step in itertools.count(1):  # to the first step that has reasons
        page.get_by_text(f"Step {step} has no reasons").or_(feature).first.wait_for()
        if feature.is_visible():
            break
        press(page, "ArrowRight")
    factor = page.get_by_label("Multiply its weight by")
    factor.fill("-1")
    factor.press("Enter")
    page.get_by_role("button", name="Plan with this weight").click()
    said = page.locator("[data-testid=stAlert]").filter(has_text="times -1")
    said.wait_for()
    assert re.search(r"the choices differ from step \d+ on|the choices are those of the original", said.inner_text())
    page.wait_for_selector(".sgp[data-step]")
    page.get_by_role("button", name="Restore the learned weight").click()
    page.get_by_role("button", name="Show influential training examples").wait_for()
    expect(said).to_have_count(0)
