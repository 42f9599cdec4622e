"""What if without a browser: choices, branches from the address, action overrides, and messages about missing runs."""

import json

import pytest
from streamlit.testing.v1 import AppTest

import sgp
from sgp.datasets.recorded import read_recorded
from sgp.datasets.subject import Subject
from sgp.service import worker as service_worker
from sgp.service.worker import Worker
from sgp.viewer.comparison import PLANNING
from sgp.viewer.playback import playback
from tests.dashboard.conftest import DASHBOARD, address, button, choice, elsewhere_and_back, settled, words
from tests.recorded import recorded_file

PAGE, OWN = "what if", "own problem"
QUESTION = "Find up to 2 overrides that solve it"


def branches(app):
    return {str(branch): found["data"] for branch, found in app.session_state["what if branches"].items()}


@pytest.fixture
def open_trained(open_page, quick_run, monkeypatch, worker):
    def open_(method="contrastive-jumps", variant="one-step", **more):
        key = quick_run(method, "blocksworld", variant).key
        about = Subject(method=key.method, variant=key.variant, seed=key.seed)
        return settled(open_page("what_if", worker, domain="blocksworld", model=about.model, **more), PAGE)

    return open_


def test_a_model_without_a_run_is_shown_and_can_be_trained(open_page, home):
    file = recorded_file("blocksworld-state-centric-wl-xgboost-delta-*-horizon")
    (recorded,) = read_recorded(file)
    name, model = recorded.head["name"], recorded.about.model
    app = settled(open_page("what_if", domain="blocksworld", model=f"{model} (horizon)", problem=name), PAGE)
    assert [each.value for each in app.selectbox] == ["blocksworld", model, name]
    assert branches(app)[""]["outcome"] == "horizon"
    assert "no stored run" in words(app)
    assert button(app, "Train State-centric: WL, XGBoost, predicts change on blocksworld")
    assert button(app, QUESTION).disabled


def test_a_branch_comes_from_the_address_with_those_before_it(open_trained):
    app = open_trained(problem="p02", branch="2-2_5-2")
    found = branches(app)
    assert set(found) == {"", "2-2", "2-2_5-2"}
    for place, text in ((1, "2-2"), (4, "2-2_5-2")):
        step = found[text]["steps"][place]
        assert step["chosen"] == 1
        assert "forced" in step["candidates"][1]["marks"]
    assert found["2-2"]["frames"][1]["open"] == found[""]["frames"][1]["open"]
    assert address(app)["branch"] == "2-2_5-2"


def test_a_link_to_a_step_beyond_a_branch_is_refused_once_it_is_planned(open_trained):
    app = open_trained(problem="p02", branch="2-2", step="9999")
    (error,) = app.error
    assert "'9999'" in error.value
    assert not (*app.selectbox, *app.get("bidi_component"))
    app = settled(button(app, "Open the page without it").click().run(), PAGE)
    assert not app.error
    assert set(branches(app)) == {"", "2-2"}
    assert "step" not in address(app)


@pytest.mark.parametrize(("outcome", "grows"), [(PLANNING, True), ("solved", False)])
def test_a_player_follows_the_end_of_a_rollout_only_while_it_is_planned(monkeypatch, outcome, grows):
    def page(data):
        import player

        player.show_growing_player("growing", lambda: data)

    monkeypatch.syspath_prepend(str(DASHBOARD))
    data = playback(read_recorded(recorded_file("blocksworld-contrastive-jumps-aiw-p01-solved"))[0])
    app = AppTest.from_function(page, args=({**data, "outcome": outcome},), default_timeout=240).run()
    (component,) = app.get("bidi_component")
    assert ("grows" in json.loads(component.proto.bytes)["rollout"]) == grows


@pytest.mark.slow
def test_the_least_number_of_forced_choices_is_searched_and_told(open_trained):
    app = open_trained("state-centric", "wl-xgboost-delta", problem="p02")
    assert branches(app)[""]["outcome"] != "solved"
    app = settled(button(app, QUESTION).click().run(), PAGE)
    assert not [each for each in app.markdown if "Weights of features" in each.value], "its features have none"
    said = " ".join(each.value for each in app.success)
    assert "Tried in " in said
    assert ("Solved with" in said) == any(data["outcome"] == "solved" for data in branches(app).values())
    if "Solved with" in said:
        assert branches(app)[address(app)["branch"]]["outcome"] == "solved"


def test_a_link_to_a_branch_that_is_none_is_refused_and_an_overridable_rollout_is_shown_without_it(open_page, home):
    app = open_page("what_if", branch="<b>")
    (error,) = app.error
    assert "'<b>'" in error.value.replace("\\", "")
    assert not (*app.selectbox, *app.get("bidi_component"))
    app = settled(button(app, "Open the page without it").click().run(), PAGE)
    assert not app.error
    assert "branch" not in address(app)
    assert set(branches(app)) == {""}
    assert branches(app)[""]["outcome"] != "solved"
    assert branches(app)[""]["steps"]


def test_another_problem_has_no_branch_of_the_former_and_no_recordings_are_needed(open_trained, monkeypatch, tmp_path):
    app = open_trained(problem="p02", branch="1-9999")
    assert set(branches(app)) == {""}, "the branch before is shown"
    assert "branch" not in address(app)
    app = open_trained(problem="p02", branch="2-2", step="3")
    app = settled(choice(app, "Problem").select("p1").run(), PAGE)
    assert set(branches(app)) == {""}
    assert not {"branch", "step"} & set(address(app))
    monkeypatch.setattr(sgp.viewer, "recorded_folder", lambda: tmp_path)
    app = open_trained(problem="p1")
    assert branches(app)[""]["problem"] == "p1"


def test_a_return_through_the_menu_opens_the_last_branch(open_trained):
    app = elsewhere_and_back("what_if", open_trained(problem="p02", branch="2-2"))
    assert [each.value for each in app.selectbox[:3]][2] == "p02"
    assert set(branches(app)) == {"", "2-2"}
    assert str(app.session_state["what if shown"]) == "2-2"


def test_a_training_goes_on_when_another_start_is_chosen(open_page, home):
    app = open_page("what_if", domain="logistics", model="state-centric wl-xgboost-delta seed 13")
    app = button(app, "Train State-centric: WL, XGBoost, predicts change on logistics").click().run()
    job = app.session_state[f"{PAGE} work"]["job"]
    app = elsewhere_and_back("what_if", app)
    assert choice(app, "Domain").value == "logistics"
    app = choice(app, "Domain").select("gripper").run()
    assert app.session_state[f"{PAGE} work"]["job"] is job
    assert job.report().state != "cancelled"
    assert branches(app)[""]["domain"] == "gripper", "the recorded rollout is shown"
    app = button(app, "Cancel").click().run()
    assert job.report().state == "cancelled"


def test_jobs_of_two_pages_run_at_a_time_and_cancelling_one_ends_no_other(open_page, home, monkeypatch):
    planner = "State-centric: WL, XGBoost, predicts change"
    app = open_page("what_if", domain="logistics", model="state-centric wl-xgboost-delta seed 13")
    app = button(app, f"Train {planner} on logistics").click().run()
    training = app.session_state[f"{PAGE} work"]["job"]
    app.query_params.clear()
    app.switch_page("views/own_problem.py").run()
    with monkeypatch.context() as changes:
        changes.setattr(service_worker, "MOST_PROCESSES", 1)
        app = button(app, "Blocksworld").click().run()
        (error,) = app.error
        assert "runs 1 jobs at a time" in error.value
        assert "Wait for one to end, or cancel one" in error.value
    app = settled(app.run(), OWN)  # tries again
    assert "5 objects, 4 goals" in words(app)
    app = button(app, "Train on the bundled problems of blocksworld").click().run()
    own = app.session_state[f"{OWN} work"]["job"]
    app = button(app, "Cancel").click().run()
    assert own.report().state == "cancelled"
    assert training.report().state == "running"
    app = button(app, "Train on the bundled problems of blocksworld").click().run()
    own = app.session_state[f"{OWN} work"]["job"]
    app.query_params.clear()
    app.switch_page("views/what_if.py").run()
    assert "**Training**" in words(app)
    app = button(app, "Cancel").click().run()
    assert training.report().state == "cancelled"
    app.query_params.clear()
    app.switch_page("views/own_problem.py").run()
    app = settled(app, OWN)
    assert own.report().state == "done"
    trained = choice(app, "Model")
    assert "included" not in trained.value, "the trained model is chosen"


def test_a_branch_whose_process_ended_can_be_planned_again(open_trained, monkeypatch):
    app = open_trained(problem="p02")
    submit = Worker.submit

    def killed(worker, *job, **arguments):
        submitted = submit(worker, *job, **arguments)
        worker._process.popen.kill()
        return submitted

    with monkeypatch.context() as changes:
        changes.setattr(Worker, "submit", killed)
        app.query_params["branch"] = "2-2"
        app = settled(app.run(), PAGE)
    (error,) = app.error
    assert "ended by SIGKILL" in error.value
    assert address(app)["branch"] == "2-2"
    assert set(branches(app)) == {""}
    app = settled(button(app, "Plan").click().run(), PAGE)
    assert set(branches(app)) == {"", "2-2"}


@pytest.mark.slow
def test_a_feature_shows_the_training_that_gave_its_weight_and_plans_with_another_weight(open_trained):
    before = branches(open_trained(problem="p02"))[""]
    place, why = next((place, each["why"][0]) for place, each in enumerate(before["steps"], start=1) if each["why"])
    app = open_trained(problem="p02", step=str(place))
    assert choice(app, f"Step {place}, against").options[0].startswith("rank ")
    app = settled(button(app, "Show influential training examples").click().run(), PAGE)
    found = app.session_state["what if attribute_weight"]
    assert found["request"]["feature"] == before["features"][why["reasons"][0][0]]
    (table,) = [each.value for each in app.get("html") if 'class="influences"' in each.value]
    assert table.count("<tr>") == 1 + len(found["influences"]) > 1
    assert all(each["problem"] in table and each["right"] in table for each in found["influences"])
    assert f"{found['decisions']:,} training decisions contribute" in words(app)
    app.number_input[0].set_value(1.0)
    app = settled(button(app, "Plan with this weight").click().run(), PAGE)
    same = app.session_state["what if reweighted"]["data"]
    assert [each["chosen"] for each in same["steps"]] == [each["chosen"] for each in before["steps"]]
    assert "the choices are those of the original" in words(app)
    app.number_input[0].set_value(-1.0)
    app = settled(button(app, "Plan with this weight").click().run(), PAGE)
    turned = app.session_state["what if reweighted"]["data"]
    assert f"times -1: {turned['ending']}" in words(app)
    assert f"(original rollout: {before['ending']}" in words(app)
    assert set(branches(app)) == {""}, "the branches are those of the weights that were learned"
    app = button(app, "Restore the learned weight").click().run()
    assert "what if reweighted" not in app.session_state
    assert button(app, "Show influential training examples")
