"""Coverage, Failures and Compare without a browser: contents, empty and error states, addresses."""

import json
import re
import shutil
from base64 import b64decode
from html import escape

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

import sgp
from sgp.analysis.failures import diagnosis
from sgp.datasets.subject import PlannerName
from sgp.evaluation.attempts import attempts_frame
from sgp.evaluation.scores import PLANNER, select
from sgp.reports.tables import NO_REFERENCE, REFERENCES
from sgp.viewer.library import planner_name
from tests.dashboard.conftest import DASHBOARD, address, choice, html
from tests.recorded import recorded_lines

SOURCES = "gripper-contrastive-jumps-aiw-*-solved", "blocksworld-state-centric-wl-*-horizon"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two rollouts of one problem and an unsolved one, without expert plans, in place of the package's."""
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "home"))
    here = tmp_path / "recorded"
    here.mkdir()
    solved, unsolved = map(recorded_lines, SOURCES)
    for name, source, changes in (
        ("gripper-one", solved, {}),
        ("gripper-other", solved, {"variant": "another"}),
        ("blocksworld", unsolved, {}),
    ):
        head, *steps = source
        record = {name: value for name, value in json.loads(head).items() if name != "expert"}
        record["about"] = {**record["about"], **changes}
        (here / f"{name}.jsonl").write_text("\n".join([json.dumps(record), *steps]) + "\n")
    monkeypatch.setattr(sgp.viewer, "recorded_folder", lambda: here)
    return here


def changed(file, target=None, expert=None, **head):
    """Write a record with changed fields of its head and of the planner described there."""
    text, *steps = file.read_text().splitlines()
    record = json.loads(text)
    record |= {"about": record["about"] | head.pop("about", {}), **head} | ({"expert": expert} if expert else {})
    (target or file).write_text("\n".join([json.dumps(record), *steps]) + "\n")


def table(app):
    """Return the coverage table: its headings, and the cells of each planner."""
    (frame,) = app.dataframe
    return list(frame.value.columns), {row["planner"]: dict(row) for _, row in frame.value.iterrows()}


def test_coverage_opens_with_our_numbers_beside_the_papers_and_its_filters_stand_in_the_address(open_page):
    app = open_page("coverage")
    assert not app.error
    headings, rows = table(app)
    place = {"domain": "blocksworld", "suite": "state-centric", "split": "extrapolation", "size": None}
    scores = select(sgp.load_scores(), planner="state-centric wl-xgboost-delta", metric="coverage", **place)
    (ours,) = sgp.experiments.pool_seeds(scores, ["planner"]).itertuples()
    heading = f"blocksworld, n = {ours.n}"
    assert heading in headings
    assert rows["State-centric: WL, XGBoost, predicts change"][heading] == f"{ours.text}, paper .50 [.30, .70]"
    assert choice(app, "Splits").value == ["extrapolation"]
    methods = [re.split(r": | \(", each)[0] for each in rows]
    assert methods[:12] == 9 * ["State-centric"] + 2 * ["Fast Downward"] + ["Goal count"]
    assert "not measured" in rows["Nameless: random object names"].values()
    app = open_page("coverage", domains="gripper", planners="zero-change wl", splits="validation")
    headings, rows = table(app)
    assert [each.split(",")[0] for each in headings] == ["planner", "gripper"]
    measured = select(sgp.load_scores(), suite="state-centric", domain="gripper", split="validation", metric="coverage")
    references = measured[measured["method"].isin(REFERENCES)][list(PLANNER)].itertuples(index=False, name=None)
    assert next(iter(rows)) == "Zero change: WL"
    assert set(rows) == {"Zero change: WL", *(f"{planner_name(PlannerName(*each))} (ref.)" for each in references)}
    assert address(app)["planners"] == "zero-change wl", "links have what commands need"
    choice(app, "Domains").set_value(["logistics"]).run()
    assert [each.split(",")[0] for each in table(app)[0]] == ["planner", "logistics"]


def test_coverage_of_a_suite_without_attempts_says_so(open_page, monkeypatch):
    monkeypatch.setattr(sgp, "load_attempts", lambda: attempts_frame([]))
    streamlit.cache_resource.clear()
    app = open_page("coverage", suite="harder")
    streamlit.cache_resource.clear()
    assert not app.exception
    assert [each.value for each in app.info] == ["Only totals were stored for suite harder, no single attempts."]
    assert any("20-blocks" in each for each in table(app)[0])
    assert any(NO_REFERENCE in each.value for each in app.caption)


@pytest.mark.parametrize("view", ["instances", "two planners", "size", "plan length", "time"])
def test_every_view_of_coverage_can_be_reached_by_its_address(open_page, view):
    app = open_page("coverage", view=view, domains="gripper")
    assert not app.error


def test_an_attempt_leads_to_its_rollout_or_to_the_command_that_records_it(open_page, folder):
    app = open_page("coverage")
    choice(app, "Domains").set_value(["gripper"]).run()
    problem = json.loads((folder / "gripper-one.jsonl").read_text().partition("\n")[0])["name"]
    instances = choice(app, "Instance")
    instances.select_index(instances.options.index(f"gripper, extrapolation, {problem}")).run()
    choice(app, "Planner").select("contrastive-jumps aiw").run()
    assert not app.exception
    (link,) = app.get("page_link")
    assert f"problem={problem}" in link.proto.query_string
    assert not app.code
    choice(app, "Planner").select("state-centric fsf-lstm-state").run()
    (command,) = app.code
    assert "--variant fsf-lstm-state --domain gripper" in command.value
    assert "--rollout" in command.value


def test_a_failure_links_to_the_step_where_it_went_wrong_and_opens_with_its_diagnosis(open_page):
    (recorded,) = filter(sgp.analysis.failure_of, sgp.recorded_rollouts(sgp.viewer.recorded_folder()).rollouts)
    failure, remarks = sgp.analysis.failure_of(recorded), diagnosis(recorded)
    app = open_page("failures")
    body = html(app)
    assert f"Step {failure.primary.step}: {failure.primary.kind.words}</a>" in body
    assert f"step={failure.primary.step}" in body
    assert "./rollout?domain=blocksworld" in body
    assert "gripper" not in body, "solved rollouts are no failures"
    assert len(remarks) >= 3
    for remark in remarks:
        assert escape(remark.sentence) in body
        places = [step if step <= len(recorded.steps) else "end" for step in remark.steps[:5]]
        assert all(f"step={place}" in body for place in places)
    counts = failure.open_goals
    assert f"Open goals: {counts[0]} at the start, {min(counts)} at best, {counts[-1]} at the end" in body
    drawings = [b64decode(each).decode() for each in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", body)]
    assert drawings[0] == sgp.viewer.drawn_state(recorded, failure.primary.step)
    assert [each.count("polyline") for each in drawings[1:]] == [1]
    assert choice(app, "What happened").options[-1] == sgp.analysis.FailureKind.HORIZON.words
    filtered = open_page("failures", kinds="horizon")
    assert choice(filtered, "What happened").value == ["horizon"]
    assert "step=" in html(filtered)


def test_names_from_records_are_text_and_one_that_cannot_be_classified_hides_no_other(open_page, folder):
    (file,) = folder.glob("blocksworld*")
    changed(file, name="<img src=x onerror=alert(1)>")
    body = html(open_page("failures"))
    assert "<img src=x" not in body
    assert "&lt;img src=x" in body
    damaged = file.read_text().replace('"chosen"', '"other"').replace('"sha256": "', '"sha256": "0')
    (folder / "a.jsonl").write_text(damaged)
    app = open_page("failures")
    assert any("not a record of a rollout" in each.value for each in app.warning)
    assert "step=" in html(app)


def test_measured_attempts_have_their_outcome_alone_and_failures_say_how_to_record_some(open_page, folder):
    app = open_page("failures", of="measured attempts")
    unsolved = sgp.load_attempts().query("not solved")
    assert str(len(unsolved)) in app.caption[0].value
    assert len(app.dataframe[0].value) == len(unsolved)
    assert app.dataframe[0].value.iloc[0]["planner"].startswith("State-centric: ")
    app = open_page("failures", of="measured attempts", domains="gripper", splits="extrapolation")
    counts = [
        len(each.query("domain == 'gripper' and split == 'extrapolation'")) for each in (unsolved, sgp.load_attempts())
    ]
    assert app.caption[0].value.startswith(f"{counts[0]} of {counts[1]} measured attempts of these domains")
    for file in folder.glob("blocksworld*"):
        file.unlink()
    app = open_page("failures")
    assert "sgp evaluate RUN... --record" in app.info[0].value


def test_compare_offers_the_problems_with_two_rollouts_or_an_experts_plan(open_page, folder):
    app = open_page("compare")
    assert choice(app, "Domain").options == ["gripper"]
    assert choice(app, "Left").value != choice(app, "Right").value
    (file,) = folder.glob("blocksworld*")
    first = json.loads(file.read_text().splitlines()[1])
    changed(file, expert=first["candidates"][first["chosen"]]["actions"][:1])
    app = open_page("compare", domain="blocksworld")
    assert not app.error
    assert "expert's plan" in choice(app, "Right").options


def test_two_files_with_one_rollout_count_once_and_splits_tell_names_apart(folder):
    (file,) = folder.glob("blocksworld*")
    shutil.copy(file, folder / "again.jsonl")
    assert len(sgp.recorded_rollouts(folder).rollouts) == 3
    changed(file, folder / "again.jsonl", about={"split": "validation"})
    library = sgp.recorded_rollouts(folder)
    names = [library.address_of(each)["problem"] for each in library.rollouts if each.about.domain == "blocksworld"]
    assert names == ["p01, validation", "p01, extrapolation"]


def test_what_stands_below_the_choices_keeps_its_place_once_the_address_has_them(monkeypatch):
    def page():
        import streamlit as st
        from basics import one_entry

        with one_entry() as chosen:
            chosen["domain"] = "blocksworld"
        st.text("below")

    def place():
        return [number for number, each in app.main.children.items() if each.type == "text"]

    monkeypatch.syspath_prepend(str(DASHBOARD))
    app = AppTest.from_function(page).run()
    assert len(app.get("bidi_component")) == 1, "it replaces the browser's address"
    before = place()
    app.query_params["domain"] = "blocksworld"
    app.run()
    assert not app.get("bidi_component")
    assert place() == before
