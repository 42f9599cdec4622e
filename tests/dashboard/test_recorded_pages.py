"""Rollout, Guess the move, Next state and Tour without a browser: choices, addresses, missing and damaged data."""

import importlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

import sgp
from sgp.datasets.subject import PlannerName
from sgp.errors import InputError
from sgp.viewer.library import planner_name, planner_words
from sgp.viewer.playback import playback
from tests.dashboard.conftest import DASHBOARD, address, button, choice, words
from tests.recorded import recorded_file, recorded_lines


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of recorded rollouts in place of the package's."""
    monkeypatch.setattr(sgp.viewer, "recorded_folder", lambda: tmp_path)
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.slow
def test_recorded_rollouts_can_be_reached_by_their_addresses(open_page):
    """The last rollout of each domain and of each model."""
    every = sgp.recorded_rollouts().rollouts
    some = {each.about.domain: each for each in every} | {each.about.model: each for each in every}
    for recorded in {id(each): each for each in some.values()}.values():
        model = f"{recorded.about.model} ({recorded.head['outcome']})"
        app = open_page("rollout", domain=recorded.about.domain, problem=recorded.head["name"], model=model, step="3")
        named = {"domain": recorded.about.domain, "model": model, "problem": recorded.head["name"]}
        assert address(app) == {**named, "step": "3"}


def test_a_link_to_a_missing_rollout_says_so_and_opens_no_other(open_page):
    asked = {"domain": "blocksworld", "problem": "nothing", "step": "2"}
    app = open_page("rollout", **asked)
    (error,) = app.error
    assert "nothing" in error.value
    assert address(app) == asked
    opened = button(app, "Open the page without it").click().run()
    assert not opened.error
    assert not address(opened)
    (error,) = open_page("rollout", domain="<script>").error
    assert "script" in error.value
    assert "p08" in address(open_page("rollout", domain="blocksworld", problem="p08")).values()


def test_the_first_rollout_has_a_prediction_and_a_model_is_found_with_another_outcome(open_page):
    opened = address(open_page("rollout", step="1"))
    assert opened.pop("step") == "1"
    library = sgp.recorded_rollouts()
    (recorded,) = [each for each in library.rollouts if library.address_of(each) == opened]
    assert "expects" in recorded.steps[0]
    model = opened["model"].replace("(solved)", "(horizon)")
    app = open_page("rollout", domain="logistics", model=model.replace("horizon", "solved"))
    assert address(app)["model"] == model
    short = {**opened, "model": opened["model"].split(" (")[0], "step": "4"}
    assert address(open_page("rollout", **short)) == {**opened, "step": "4"}, "a link without an outcome keeps its step"


@pytest.mark.parametrize("page", ["rollout", "guess", "compare", "what_if"])
def test_a_step_that_does_not_exist_is_refused_and_every_other_opened(open_page, home, page):
    first = 0 if page == "compare" else 1
    for step in ("abc", f"{first - 1}", "9999", "-1", "2.5"):
        app = open_page(page, domain="gripper", step=step)
        (error,) = app.error
        assert f"'{step}'" in error.value.replace("\\", "")
        assert {"domain": "gripper", "step": step}.items() <= address(app).items()
        assert not (*app.selectbox, *app.get("bidi_component"))
    app = button(app, "Open the page without it").click().run()
    assert not app.error
    assert address(app)["domain"] == "gripper"
    assert "step" not in address(app)
    sent = [json.loads(each.proto.bytes) for each in app.get("bidi_component")]
    (data,) = (each[name] for each in sent for name in ("rollout", "comparison") if name in each)
    last = data["length"] if page == "compare" else len(data["steps"])
    for step in (f"{first}", f"{last}", "end"):
        app = open_page(page, domain="gripper", step=step)
        assert not app.error
        assert address(app)["step"] == step
    (error,) = open_page(page, domain="gripper", step=f"{last + 1}").error
    assert f"expected {first} to {last}, or end" in error.value


@pytest.mark.parametrize(
    ("page", "name", "rest"),
    [
        ("coverage", "suite", {}),
        ("coverage", "domains", {"splits": "validation"}),
        ("coverage", "across", {"view": "two planners"}),
        ("coverage", "view", {}),
        ("scaling", "domain", {}),
        ("scaling", "planners", {"domain": "gripper"}),
        ("failures", "models", {"domains": "blocksworld"}),
        ("failures", "domains", {"of": "measured attempts"}),
        ("failures", "kinds", {}),
        ("compare", "problem", {"domain": "gripper"}),
        ("guess", "model", {"domain": "gripper"}),
        ("what_if", "problem", {"domain": "gripper"}),
        ("next_state", "step", {}),
        ("start", "planners", {}),
        ("tour", "stop", {"present": "yes"}),
    ],
)
def test_a_link_to_an_unknown_choice_is_one_sentence_with_a_way_out(open_page, page, name, rest):
    asked = {**rest, name: "<b>nix</b>"}
    app = open_page(page, **asked)
    (error,) = app.error
    assert "'<b>nix</b>'" in error.value.replace("\\", "")
    assert address(app) == asked
    assert [each.label for each in app.button] == ["Open the page without it"]
    drawn = *app.selectbox, *app.multiselect, *app.get("bidi_component"), *app.dataframe
    assert not drawn
    app = app.button[0].click().run()
    assert not app.exception
    assert not app.error
    assert address(app).get(name) != asked[name]
    assert rest.items() <= address(app).items()


def test_the_entrance_filters_rollouts_and_opens_addresses_of_rollouts_in_the_player(open_page):
    rollouts = sgp.recorded_rollouts().rollouts
    some = [each for each in rollouts if each.about.domain == "gripper" and each.head["outcome"] == "solved"]
    app = open_page("start", domains="gripper", outcomes="solved")
    assert f"{len(some)} of {len(rollouts)} rollouts" in words(app)
    planner = some[0].about.planner
    app = open_page("start", domains="gripper", planners=planner.title)
    some = [each for each in rollouts if (each.about.domain, each.about.planner) == ("gripper", planner)]
    assert f"{len(some)} of {len(rollouts)} rollouts" in words(app)
    app = open_page("start")
    (gallery,) = [each.proto.bytes.decode() for each in app.get("bidi_component") if b"data-domain" in each.proto.bytes]
    domains = re.findall(r'data-domain="(\w+)"', gallery)
    assert set(domains) == {each.about.domain for each in rollouts}, "some of each"
    assert domains == sorted(domains)
    app = button(app, f"Show all {len(rollouts)}").click().run()
    assert f"{len(rollouts)} of {len(rollouts)} rollouts" in words(app)
    library = sgp.recorded_rollouts()
    named = {**library.address_of(some[0]), "step": "2"}
    assert address(open_page("start", **named)) == named


def test_every_word_of_a_planners_name_is_explained(open_page):
    app = open_page("coverage", splits="")
    known = planner_words("meanings")
    scores = sgp.load_scores()
    names = {*scores["planner"][scores["metric"] == "coverage"]}
    names |= {each.about.model for each in sgp.recorded_rollouts().rollouts}
    names |= {model.title for file in sgp.viewer.retrieved_files()[0] for model in file.models}
    for word in {word for name in names for word in re.split(r"[ +=]", name)} - set(known):
        unknown = [piece for piece in word.split("-") if piece not in known and not piece.isdecimal()]
        assert not unknown or word in ("·", "by", "most"), (
            f"sgp/viewer/words.toml does not explain {unknown} of '{word}'"
        )
    about = choice(app, "Planners").help.replace("\\", "")
    assert all(f"({word})" in about for word in ("nameless", "symt", "regrounding"))
    compared = choice(open_page("compare"), "Left").help
    assert "seed" in compared


def test_what_a_choice_makes_impossible_is_replaced(open_page):
    files = [each.title for each in sgp.viewer.retrieved_files()[0]]
    app = open_page("next_state", file=files[0])
    app = choice(app, "Recorded steps").set_value(files[-1]).run()
    assert not app.error
    assert choice(app, "Recorded steps").value == files[-1]
    for stop in ("0", "99", "<b>", "-1"):
        (error,) = open_page("tour", stop=stop).error
        assert f"'{stop}'" in error.value.replace("\\", "")
    assert "'99'" in open_page("tour", stop="3", round="99").error[0].value


def test_the_failure_of_the_tour_opens_at_its_step_in_the_player(open_page):
    (link,) = [each for each in open_page("tour", stop="12").get("page_link") if "step=" in each.proto.query_string]
    tour = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")
    opened = open_page("rollout", **dict(parse_qsl(link.proto.query_string)))
    assert address(opened)["step"] == str(tour.data["failure"]["step"])
    assert address(opened)["domain"] == tour.failure.about.domain


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("start", "There are no recorded rollouts yet. Record some with `sgp evaluate RUN --record`."),
        ("rollout", "There are no recorded rollouts yet. Record some with `sgp evaluate RUN --record`."),
        ("guess", "There are no recorded rollouts yet. Record some with `sgp evaluate RUN --record`."),
        ("tour", "There is no recorded tour yet. Make one with `python -m sgp.experiments.bundle rollouts`."),
        ("what_if", "train one with `sgp train`"),
        ("failures", "Record rollouts of your own runs with `sgp evaluate RUN... --record`."),
        ("compare", "--record"),
    ],
)
def test_without_recorded_rollouts_a_page_says_how_to_make_them(page, sentence, open_page, folder):
    app = open_page(page)
    assert sentence in words(app)
    assert page != "rollout" or not address(app)


def test_a_damaged_file_or_tour_is_one_sentence_and_hides_no_other(open_page, folder):
    (folder / "a.jsonl").write_text("\n".join(recorded_lines("gripper*")).replace('"candidates"', '"others"') + "\n")
    (error,) = open_page("rollout").error
    assert "not a record of a rollout" in error.value
    shutil.copy(recorded_file("gripper*"), folder / "b.jsonl.gz")
    (folder / "a.jsonl").write_text("\n".join(recorded_lines("gripper*"))[:-100])
    app = open_page("rollout", step="1")
    (warning,) = app.warning
    assert "a.jsonl" in warning.value.replace("\\", "")
    assert len(warning.value.splitlines()) == 1
    assert address(app)["domain"] == "gripper"
    (folder / "tour.json").write_text("{")
    assert "cut or changed" in open_page("tour").error[0].value


def test_notes_are_stored_by_place_and_a_damaged_file_stays_as_it_is(open_page, folder):
    shutil.copy(recorded_file("gripper*"), folder / "a.jsonl.gz")
    assert not open_page("rollout").warning
    notes = importlib.import_module("notes")
    (recorded,) = sgp.recorded_rollouts(folder).rollouts
    rollout = playback(recorded)["id"]
    notes.store_note(rollout, 0, "first")
    notes.store_note(rollout, 2, "third")
    notes.store_note(rollout, 0, "")
    assert notes.notes_on(rollout) == {"2": "third"}
    with pytest.raises(InputError, match="at most"):
        notes.store_note(rollout, 1, "x" * (notes.LONGEST + 1))
    notes.file_of(rollout).write_text('["third"]')
    (warning,) = open_page("rollout").warning
    assert notes.file_of(rollout).name in warning.value.replace("\\", "")
    with pytest.raises(sgp.SgpError, match="delete the file"):
        notes.store_note(rollout, 1, "another")
    assert notes.file_of(rollout).read_text() == '["third"]'


def test_a_damaged_rollout_is_one_sentence_that_names_its_file_and_hides_no_other(open_page, folder):
    shutil.copy(recorded_file("gripper*"), folder / "a.jsonl.gz")
    head, first, *others = map(json.loads, recorded_lines("gripper*"))

    def write(name, seed, head, first):
        records = ({**head, "about": {**head["about"], "seed": seed}}, first, *others)
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))

    write("chosen", 101, head, {**first, "chosen": 999})
    write("atom", 102, head, {**first, "candidates": [{**each, "add": ["(at"]} for each in first["candidates"]]})
    write("pddl", 103, {**head, "sha256": "0", "problem_pddl": "(define"}, first)

    def warned(app):
        assert not app.error
        return {name for name in ("chosen", "atom", "pddl") for each in app.warning if f"{name}\\.json" in each.value}

    assert warned(open_page("start")) == {"chosen", "atom", "pddl"}
    app = open_page("compare", right="expert's plan")
    assert warned(app) == {"pddl"}
    assert "expert's plan" in choice(app, "Right").options


def test_no_page_that_plans_nothing_imports_a_planning_or_learning_library():
    code = f"""
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file({str(DASHBOARD / "app.py")!r}, default_timeout=60).run()
for name in ("start", "rollout", "coverage", "scaling", "failures", "compare", "next_state", "tour", "guess"):
    app.switch_page(f"views/{{name}}.py").run()
    assert not app.exception and not app.error, name
print([name for name in ("torch", "pymimir", "wlplan", "xgboost", "numba") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_nothing_leaves_the_machine_and_no_traceback_reaches_a_user():
    config = tomllib.loads((DASHBOARD / ".streamlit" / "config.toml").read_text())
    assert (config["browser"]["gatherUsageStats"], config["client"]["showErrorDetails"]) == (False, "none")
    assert config["server"]["address"] == "localhost"


def test_the_dates_below_every_page_are_those_of_the_scores(open_page):
    notes = " ".join(sgp.load_scores()["note"])
    dates = sorted(re.findall(r"\d{4}-\d\d-\d\d", notes))
    most = max(map(int, re.findall(r"(\d+) cores", notes)))
    footer = f"Bundled scores: measured from {dates[0]} to {dates[-1]} on up to {most} cores;"
    assert footer in words(open_page("tour"))


def test_a_rollout_to_guess_stands_in_the_address_and_another_begins_at_its_start(open_page):
    app = open_page("guess")
    first = sgp.recorded_rollouts().rollouts[0]
    assert choice(app, "Domain").value == first.about.domain
    assert [each.label for each in app.selectbox] == ["Domain", "Problem", "Model"]
    library = sgp.recorded_rollouts()
    recorded = next(each for each in library.rollouts if each.about.domain == "logistics")
    app = open_page("guess", step="4", **library.address_of(recorded))
    assert address(app) == {**library.address_of(recorded), "step": "4"}
    app.selectbox[0].select("gripper").run()
    assert address(app)["domain"] == "gripper"
    assert "step" not in address(app)


def test_the_next_state_page_says_hit_or_miss_and_a_choice_stands_in_the_address(open_page):
    files, damaged = sgp.viewer.retrieved_files()
    assert damaged == []
    app = open_page("next_state")
    assert not app.error
    file = files[0]
    assert choice(app, "Recorded steps").options == [each.title for each in files]
    assert choice(app, "Pool").options == file.pools
    names = [planner_name(PlannerName(*each.title.split())) for each in file.models]
    assert choice(app, "Model").options == names
    assert len(set(names)) == len(names)
    told = [each.rpartition(": ")[2] for each in choice(app, "Step").options]
    assert told == [file.models[0].found(step, file.pools[0]).word for step in range(len(file.steps))]
    assert {"hit", "miss"} == set(told)
    assert file.models[0].found(0, file.pools[0]).words in app.markdown[0].value
    file = sgp.viewer.retrieved_files()[0][-1]
    lifted = next(place for place, each in enumerate(file.models) if "renamed" in each.title)
    app = open_page("next_state", file=file.title, pools="hard", model=file.models[lifted].title)
    assert (choice(app, "Recorded steps").value, choice(app, "Pool").value) == (file.title, "hard")
    assert file.models[lifted].found(0, "hard").words in app.markdown[0].value
    assert "no single map can be drawn" in app.info[0].value
    choice(app, "Step").set_value(file.steps[3]).run()
    choice(app, "Model").set_value(file.models[0].title).run()
    assert not app.exception
    assert choice(app, "Step").value == file.steps[3], "two models are compared on one step"
    assert file.models[0].found(3, "hard").words in app.markdown[0].value
    assert not app.info
    assert address(app)["model"] == file.models[0].title


def test_a_users_own_next_states_stand_beside_and_damage_is_told(open_page, home, monkeypatch):
    own = home / "retrieved"
    own.mkdir(parents=True)
    source = Path(sgp.viewer.retrieved_files()[0][0].source)
    shutil.copy(source, own / "mine.json")
    (own / "cut.json").write_text(source.read_text()[:500])
    app = open_page("next_state")
    titles = [each.title for each in sgp.viewer.retrieved_files()[0]]
    assert choice(app, "Recorded steps").options == [*titles, f"{titles[0]} (2)"]
    choice(app, "Recorded steps").set_value(f"{titles[0]} (2)").run()
    assert not app.exception
    assert choice(app, "Recorded steps").value == f"{titles[0]} (2)"
    assert r"cut\.json" in app.warning[0].value, "as words, whatever a name looks like"
    monkeypatch.setattr(sgp.viewer, "retrieved_folder", lambda: home / "none")
    (own / "mine.json").unlink()
    assert "No steps are recorded. Record some with `sgp retrieve" in open_page("next_state").info[0].value


def test_the_tour_has_all_stops_forward_and_back(open_page):
    app = open_page("tour")
    tour = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")
    last = len(sgp.viewer.tour_titles())
    for stop in range(last):
        assert tour.stop(stop).words in words(app)
        assert ("The bars compare" in words(app)) == (sgp.viewer.tour_titles()[stop] == "A failure")
        if stop < last - 1:
            app = button(app, "Next →").click().run()
    assert not app.exception
    assert button(app, "Next →").disabled
    assert address(app)["stop"] == str(last)
    app = button(app, "1 State").click().run()
    assert button(app, "← Back").disabled


def test_a_presented_stop_stands_alone_until_it_is_left(open_page):
    app = button(open_page("tour", stop="3"), "Present").click().run()
    assert address(app)["present"] == "yes"
    labels = {each.label for each in app.button}
    assert labels.isdisjoint({"Next →", "Present", "1 State"})
    assert "Weisfeiler-Leman" in words(app)
    app = button(app, "Leave").click().run()
    assert "present" not in address(app)
    assert button(app, "Next →")


def test_rounds_and_answers_of_the_tour_are_shown_and_it_ends_by_leading_on(open_page):
    tour = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")
    for rank, place in enumerate(tour.order, start=1):
        app = open_page("tour", stop="7")
        app = app.radio[0].set_value(tour.actions[place]).run()
        said = words(app)
        assert f"rank {rank} of {len(tour.order)}" in said
        assert ("Yes: the model chooses" in said) == (place == tour.chosen)
    app = open_page("tour", stop="3")
    app = button(app, "2").click().run()
    assert button(app, "2").proto.type == "primary"
    assert address(app)["round"] == "2"
    app = open_page("tour", stop=str(sgp.viewer.tour_titles().index("Larger problems") + 1))
    largest = tour.sizes[-1]
    assert f"{tour.opening_size} objects: " in words(app)
    assert f"{largest} objects: " in words(button(app, str(largest)).click().run())
    assert address(app)["size"] == str(largest)
    app = open_page("tour", stop=str(len(sgp.viewer.tour_titles())))
    failure = sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json").failure
    pages = {each.proto.page: each.proto.query_string for each in app.get("page_link")}
    assert {"guess", "failures", "what_if", "compare"} <= set(pages)
    assert f"domains={failure.about.domain}" in pages["failures"]
    assert f"domain={failure.about.domain}" in pages["what_if"]
    assert "notebooks/07_logistics_failures.ipynb" in words(app)
