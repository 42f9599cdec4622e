"""Your own problem without a browser: examples, solving, a plan, errors with their line, hostile text."""

from __future__ import annotations

import sgp
from tests.conftest import BLOCKS, COURIER, COURIER_PROBLEM
from tests.dashboard.conftest import button, settled, words
from tests.viewer.conftest import HOSTILE_DOMAIN, HOSTILE_PROBLEM

PAGE = "own problem"
MANY = " ".join(f"b{number}" for number in range(10_000))


def fill(app, **texts):
    for part, text in texts.items():
        app.text_area(key=f"own {part}").set_value(text)
    return settled(app.run(), PAGE)


def example(app, name="Blocksworld"):
    return settled(button(app, name).click().run(), PAGE)


def test_an_empty_page_offers_examples(open_page, home):
    app = open_page("own_problem")
    assert "Nothing here yet" in words(app)
    assert "Missing: the domain and problem" in words(app)
    for name in sgp.load_suite("state-centric").domains:
        assert button(app, name.capitalize())
    app = example(app)
    assert "Domain blocksworld: 5 objects, 4 goals; actions pick-up, put-down, stack, unstack" in words(app)
    assert "No trained model" in words(app)
    assert button(app, "Train on bundled blocksworld")


def test_an_example_is_solved_and_watched(open_page, quick_run, monkeypatch, shared_home):
    run = quick_run("contrastive_jumps", "blocksworld", "one-step")
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    app = example(open_page("own_problem"))
    model = next(each for each in app.selectbox if each.label == "Model")
    model.select(next(each for each in model.options if each.startswith(f"contrastive_jumps {run.key.variant},"))).run()
    app = settled(button(app, "Solve").click().run(), PAGE)
    data = app.session_state["own shown"]["data"]
    assert data["outcome"] == "solved"
    assert f"VAL accepts the plan of {data['length']} actions" in words(app)
    assert data["model"] == f"contrastive_jumps {run.key.variant} seed {run.key.seed}"


def test_a_plan_is_replayed_and_judged(open_page, home):
    app = example(open_page("own_problem"))
    app = fill(app, plan="(unstack b4 b3)\n(put-down b3)")
    app = settled(button(app, "Replay and validate with VAL").click().run(), PAGE)
    assert "VAL rejects the plan" in words(app)
    assert "step 2 of 2" in words(app)
    assert len(app.session_state["own shown"]["data"]["steps"]) == 1


def test_a_parse_error_shows_its_line(open_page, home):
    app = fill(
        open_page("own_problem"), domain=BLOCKS, problem="(define (problem p) (:domain blocksworld)\n\n (:init (on a)"
    )
    assert "problem, line 3" in words(app) or "problem, line 2" in words(app)
    assert any("(:init (on a)" in each.value for each in app.code)


def test_a_model_that_does_not_fit_says_why(open_page, quick_run, monkeypatch, shared_home):
    quick_run("contrastive_jumps", "blocksworld", "one-step")
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    app = fill(open_page("own_problem"), domain=COURIER, problem=COURIER_PROBLEM)
    assert "No trained model" in words(app)
    assert "the problem's domain lacks the predicates" in words(app)


def test_names_that_are_markup_stay_words(open_page, home):
    app = fill(open_page("own_problem"), domain=HOSTILE_DOMAIN, problem=HOSTILE_PROBLEM)
    assert not app.exception
    for each in (*app.markdown, *app.error, *app.warning, *app.info):
        assert "<img" not in each.value
        assert "<script" not in each.value


def test_pictures_in_names_are_not_asked_for(open_page, home):
    app = fill(open_page("own_problem"), domain=BLOCKS, problem="(define (problem p) ![x][http://127.0.0.1/x.png] ")
    assert app.error
    assert all("![" not in each.value and "http:" not in each.value for each in app.error)


def test_ten_thousand_objects_are_a_sentence(open_page, home):
    text = f"(define (problem p) (:domain blocksworld) (:objects {MANY}) (:init (handempty)) (:goal (and (on b1 b2))))"
    app = fill(open_page("own_problem"), domain=BLOCKS, problem=text)
    assert "10,000 objects" in app.error[0].value.replace("\\", "")


def test_a_text_that_is_mended_is_read_again(open_page, home):
    (problem, *_) = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")
    app = fill(open_page("own_problem"), domain=problem.domain_pddl, problem="(define")
    assert app.error
    app = fill(app, problem=problem.problem_pddl)
    assert not app.error
    assert "5 objects" in words(app)
