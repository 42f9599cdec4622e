"""Your own problem without a browser: examples, solving, a plan, errors with their line, hostile text."""

import re
import sys
import time

import pytest

import sgp
from sgp.datasets.store import home
from sgp.datasets.subject import PlannerName
from sgp.viewer.library import planner_name
from tests.conftest import BLOCKS, COURIER, COURIER_PROBLEM
from tests.dashboard.conftest import address, button, choice, elsewhere_and_back, settled, words
from tests.viewer.conftest import HOSTILE_DOMAIN, HOSTILE_PROBLEM

PAGE = "own problem"
BLOCKS_OF_TOWER = 400
_NUMBERS = range(BLOCKS_OF_TOWER)
TOWER = f"""(define (problem tower) (:domain blocksworld) (:objects {" ".join(f"b{each}" for each in _NUMBERS)})
  (:init (handempty) {" ".join(f"(ontable b{each}) (clear b{each})" for each in _NUMBERS)})
  (:goal (and {" ".join(f"(on b{each} b{each + 1})" for each in _NUMBERS[:-1])})))"""


def fill(app, **texts):
    for part, text in texts.items():
        app.text_area(key=f"own {part}").set_value(text)
    return settled(app.run(), PAGE)


def folded(app, label):
    (found,) = [each for each in app.expander if each.label == label]
    return not found.proto.expanded


def example(app, name="Blocksworld"):
    return settled(button(app, name).click().run(), PAGE)


@pytest.mark.slow
def test_an_empty_page_offers_examples(open_page, home):
    app = open_page("own_problem")
    assert "Nothing here yet" in words(app)
    assert "Please provide" not in words(app), "nothing was entered"
    for name in sgp.load_suite("state-centric").domains:
        assert button(app, sgp.get_domain(name).title)
    app = example(app)
    assert "Domain blocksworld: 5 objects, 4 goals; actions pick-up, put-down, stack, unstack" in words(app)
    assert choice(app, "Model").value.endswith("included in the package")
    assert button(app, "Train on the bundled problems of blocksworld")
    assert choice(app, "Method").options[0] == "Contrastive jumps: lookahead AIW(1)"


def test_an_example_is_solved_and_watched(open_page, quick_run, worker):
    run = quick_run("contrastive-jumps", "blocksworld", "one-step")
    app = example(open_page("own_problem", worker))
    model = next(each for each in app.selectbox if each.label == "Model")
    planner = planner_name(PlannerName(run.key.method, run.key.variant))
    model.select(next(each for each in model.options if each.startswith(f"{planner}, seed"))).run()
    app = settled(button(app, "Solve").click().run(), PAGE)
    data = app.session_state["own shown"]["data"]
    assert data["outcome"] == "solved"
    assert f"VAL accepts the plan of {data['length']} actions" in words(app)
    assert data["model"] == f"contrastive-jumps {run.key.variant} seed {run.key.seed}"
    app = settled(app, "own reference")
    (compared,) = [each.value for each in app.caption if each.value.startswith("To compare")]
    fewest = int(re.search(r"the shortest plan has (\d+) actions", compared)[1])
    assert 0 < fewest <= data["length"]
    saved = app.session_state["own saved"]
    again = open_page("own_problem", worker, saved=saved)
    assert f"VAL accepts the plan of {data['length']} actions" in words(again)
    assert again.text_area(key="own domain").value == app.text_area(key="own domain").value
    assert address(again)["saved"] == saved
    again = fill(again, problem="(define (problem other) (:domain blocksworld) (:objects a) (:init) (:goal (clear a)))")
    assert "saved" not in address(again)
    wrong = open_page("own_problem", worker, saved="0123456789ab")
    (error,) = wrong.error
    assert "No problem" in error.value
    assert address(wrong) == {"saved": "0123456789ab"}
    assert not wrong.text_area
    wrong = button(wrong, "Open the page without it").click().run()
    assert not wrong.error
    assert not address(wrong)
    assert "Nothing here yet" in words(wrong)
    (file,) = (home() / "own_problems").glob(f"{saved}.json")
    for content in ('{"texts": ', "[1]", '{"texts": {"domain": "(", "problem": "(", "plan": ""}, "read": ["", null]}'):
        file.write_text(content)
        (error,) = open_page("own_problem", worker, saved=saved).error
        assert "is damaged; delete this file" in error.value


def test_a_parse_error_shows_its_line_and_a_mended_text_clears_it_at_once(open_page, worker):
    """Before the corrected text is read, the page shows neither the error nor its line."""
    problem = "(define (problem p) (:domain blocksworld)\n\n (:init (on a)"
    app = fill(open_page("own_problem", worker), domain=BLOCKS, problem=problem)
    (error,) = app.error
    assert error.value.replace("\\", "").startswith("problem, line 3: ")
    assert "\n" not in error.value, "the line is shown below"
    (excerpt,) = app.code
    assert "►    3  (:init (on a)" in excerpt.value
    assert not folded(app, "Domain and problem")
    (problem, *_) = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")
    app.text_area(key="own problem").set_value(problem.problem_pddl).run()
    assert not app.error
    assert not any("►" in each.value for each in app.code)


def test_a_model_that_does_not_fit_says_why_and_names_that_are_markup_stay_words(open_page, worker):
    app = fill(open_page("own_problem", worker), domain=COURIER, problem=COURIER_PROBLEM)
    assert "No trained model" in words(app)
    assert "the problem's domain lacks the predicates" in words(app)
    app = fill(app, domain=HOSTILE_DOMAIN, problem=HOSTILE_PROBLEM)
    for each in (*app.markdown, *app.error, *app.warning, *app.info):
        assert not re.search(r"(?<!\\)<(img|script)", each.value), "what opens markup is escaped"


def test_texts_are_there_again_after_a_visit_to_another_page(open_page, worker):
    app = elsewhere_and_back("own_problem", example(open_page("own_problem", worker)))
    assert "5 objects, 4 goals" in words(app)
    assert "(define (domain blocksworld)" in app.text_area(key="own domain").value
    app = elsewhere_and_back("own_problem", fill(app, plan="(unstack b1 b4)"))
    assert app.text_area(key="own plan").value == "(unstack b1 b4)"


def test_a_job_that_ends_on_another_page_is_saved_and_shown_with_its_texts(open_page, worker):
    app = fill(example(open_page("own_problem", worker)), plan="(unstack b1 b4)\n(put-down b4)")
    given = {part: app.text_area(key=f"own {part}").value for part in ("domain", "problem", "plan")}
    app = button(app, "Replay and validate with VAL").click().run()
    app.query_params.clear()
    app.switch_page("views/tour.py").run()
    until = time.monotonic() + 60
    while not app.session_state[f"{PAGE} work"]["job"].report().ended:
        assert time.monotonic() < until
        time.sleep(0.1)
    app.switch_page("views/own_problem.py").run()
    assert "VAL rejects the plan" in words(app)
    saved = open_page("own_problem", worker, saved=app.session_state["own saved"])
    assert {part: saved.text_area(key=f"own {part}").value for part in given} == given


def test_a_plan_remains_if_its_steps_take_too_long_to_be_shown(open_page, worker):
    app = example(open_page("own_problem", worker))
    app.session_state["own found"] = {"valid": True, "judge": "VAL", "plan": "(unstack b1 b4)\n(put-down b1)\n"}
    app.run()
    assert "Planning had ended: VAL accepts the plan of 2 actions" in words(app)
    assert "Planning had ended" not in words(example(app, "Gripper")), "it is that of other texts"


@pytest.mark.slow
def test_a_running_job_shows_its_progress_again_after_a_visit_to_another_page(long_work):
    app = elsewhere_and_back("own_problem", long_work(60.0))
    assert "(problem tower)" in app.text_area(key="own problem").value
    assert "**Planning**" in words(app) or "**Starting the planner**" in words(app)
    assert "Cancelled" in words(button(app, "Cancel").click().run())


@pytest.fixture
def long_work(open_page, monkeypatch, worker):
    """Start solving a problem that takes minutes, with a limit in seconds; return the running page."""

    def begin(seconds):
        app = fill(open_page("own_problem", worker), domain=BLOCKS, problem=TOWER)
        assert f"{BLOCKS_OF_TOWER} objects" in words(app)
        work = sys.modules["work"]  # as the pages import it
        begun = work.begin

        def limited(page, kind, most, *rest, **more):
            begun(page, kind, seconds if kind == "planning" else most, *rest, **more)

        monkeypatch.setattr(work, "begin", limited)
        return button(app, "Solve").click().run()

    return begin


@pytest.mark.slow
def test_a_problem_that_never_ends_is_cancelled(long_work, worker):
    app = long_work(60.0)
    until = time.monotonic() + 60
    while (app.session_state[f"{PAGE} work"]["job"].report().progress or {}).get("decisions", 0) < 1:
        assert time.monotonic() < until
        time.sleep(0.1)
    app.run()
    assert re.search(r"\d+ decisions?\b", words(app))
    app = button(app, "Cancel").click().run()
    assert "Cancelled" in words(app)
    assert not worker.alive
    assert not button(app, "Solve").disabled
    app = example(app)
    assert "5 objects" in words(app)


def test_texts_fold_once_they_are_read_and_a_plan_is_replayed_and_judged(open_page, worker):
    app = open_page("own_problem", worker)
    assert not folded(app, "Domain and problem")
    app = example(app)
    assert folded(app, "Domain and problem")
    assert not folded(app, "Parsed PDDL")
    assert "(:action" in app.code[0].value
    app = fill(app, plan="(unstack b1 b4)\n(put-down b4)")
    app = settled(button(app, "Replay and validate with VAL").click().run(), PAGE)
    assert folded(app, "Parsed PDDL"), "there is a result"
    assert "VAL rejects the plan" in words(app)
    assert "step 2 of 2" in words(app)
    assert len(app.session_state["own shown"]["data"]["steps"]) == 1


def test_a_box_that_the_browser_did_not_know_to_be_filled_is_filled_again_once(open_page, home):
    """The browser sends the old boxes if a second file is uploaded while the page is drawn."""
    app = open_page("own_problem")
    app.session_state["own domain given"] = ("", BLOCKS, 1)  # of a file whose text was filled in but not yet seen
    app.run()
    assert app.text_area(key="own domain").value == BLOCKS
    assert "Please provide a problem, too" in words(app)
    app.text_area(key="own domain").set_value("").run()  # a box emptied by the user stays empty
    assert not app.text_area(key="own domain").value
    app.session_state["own domain given"] = ("", BLOCKS, 1)
    app.text_area(key="own domain").set_value("(define (domain mine))").run()
    assert app.text_area(key="own domain").value == "(define (domain mine))"
