"""Coverage, Failures and Compare without a browser: contents, empty and error states, addresses."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64decode
from html import escape
from pathlib import Path

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

import sgp
from sgp.evaluation.attempts import attempts_frame
from sgp.evaluation.scores import select
from tests.dashboard.conftest import choice, html
from tests.recorded import recorded_lines

ROOT = Path(sgp.__file__).resolve().parents[1]
PAGES = ROOT / "dashboard" / "views"
SOURCES = "gripper-contrastive-jumps-aiw-*-solved", "blocksworld-state-centric-wl-*-horizon"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two rollouts of one problem and an unsolved one, without expert plans, in place of the package's."""
    monkeypatch.syspath_prepend(str(ROOT / "dashboard"))
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


def page(name, **address):
    app = AppTest.from_file(str(PAGES / f"{name}.py"), default_timeout=60)
    for key, value in address.items():
        app.query_params[key] = value
    return app.run()


def table(app):
    """Return the coverage table: its headings, and the cells of each planner."""
    (frame,) = app.dataframe
    return list(frame.value.columns), {row["planner"]: dict(row) for _, row in frame.value.iterrows()}


def test_coverage_opens_with_our_numbers_beside_the_papers():
    app = page("coverage")
    assert not app.exception
    assert not app.error
    headings, rows = table(app)
    place = {"domain": "blocksworld", "suite": "state-centric", "split": "extrapolation", "size": None}
    scores = select(sgp.load_scores(), planner="state-centric wl-xgboost-delta", metric="coverage", **place)
    (ours,) = sgp.pool_seeds(scores, ["planner"]).itertuples()
    heading = f"blocksworld, n = {ours.n}"
    assert heading in headings
    assert rows["state-centric wl-xgboost-delta"][heading] == f"{ours.text}, paper .50 [.30, .70]"
    assert choice(app, "Splits").value == ["extrapolation"]


def test_coverage_filters_stand_in_the_address():
    app = page("coverage", domains="gripper", planners="zero-change wl", splits="validation")
    assert not app.exception
    headings, rows = table(app)
    assert [each.split(",")[0] for each in headings] == ["planner", "gripper"]
    assert list(rows) == ["zero-change wl"]
    choice(app, "Domains").set_value(["logistics"]).run()
    assert [each.split(",")[0] for each in table(app)[0]] == ["planner", "logistics"]


def test_coverage_of_a_suite_without_attempts_says_so(monkeypatch):
    monkeypatch.setattr(sgp, "load_attempts", lambda: attempts_frame([]))
    streamlit.cache_resource.clear()
    app = page("coverage", suite="harder")
    streamlit.cache_resource.clear()
    assert not app.exception
    assert [each.value for each in app.info] == ["Only totals were stored for suite harder, no single attempts."]
    assert any("20-blocks" in each for each in table(app)[0])


@pytest.mark.parametrize("view", ["instances", "two planners", "size", "plan length", "time"])
def test_every_view_of_coverage_can_be_reached_by_its_address(view):
    app = page("coverage", view=view, domains="gripper")
    assert not app.exception
    assert not app.error


def test_an_attempt_leads_to_its_rollout_or_to_the_command_that_records_it(folder):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60).run()
    app.switch_page("views/coverage.py").run()
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


def test_failures_link_to_the_step_where_it_went_wrong():
    app = page("failures")
    assert not app.exception
    failure = next(filter(None, map(sgp.failure_of, sgp.recorded_rollouts(sgp.viewer.recorded_folder()).rollouts)))
    body = html(app)
    assert f"step={failure.primary.step}" in body
    assert f"{failure.primary.kind.words}: step {failure.primary.step}</a>" in body
    assert "./?domain=blocksworld" in body
    assert "gripper" not in body, "solved rollouts are no failures"


def test_failures_are_filtered_by_kind():
    app = page("failures")
    assert choice(app, "What happened").options[-1] == sgp.FailureKind.HORIZON.words
    kept = page("failures", kinds="horizon")
    assert choice(kept, "What happened").value == ["horizon"]
    assert "step=" in html(kept)


def test_a_failure_opens_with_what_counts_tell_and_links_to_its_evidence():
    (recorded,) = [
        each for each in sgp.recorded_rollouts(sgp.viewer.recorded_folder()).rollouts if sgp.failure_of(each)
    ]
    body = html(page("failures"))
    remarks = sgp.diagnosis(recorded)
    assert len(remarks) >= 3
    for remark in remarks:
        assert escape(remark.sentence) in body
        assert all(f"step={step}" in body for step in remark.steps[:5])
    counts = sgp.failure_of(recorded).open_goals
    assert f"Open goals: {counts[0]} at the start, {min(counts)} at best, {counts[-1]} at the end" in body
    drawings = [b64decode(each).decode() for each in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", body)]
    assert len(drawings) == 2
    assert drawings[0] == sgp.viewer.drawn_state(recorded, sgp.failure_of(recorded).primary.step)
    assert drawings[1].count("polyline") == 1


def test_names_from_records_are_text(folder):
    (file,) = folder.glob("blocksworld*")
    head, *steps = file.read_text().splitlines()
    record = json.loads(head)
    record["name"] = "<img src=x onerror=alert(1)>"
    file.write_text("\n".join([json.dumps(record), *steps]) + "\n")
    body = html(page("failures"))
    assert "<img src=x" not in body
    assert "&lt;img src=x" in body


def test_measured_attempts_have_their_outcome_alone():
    app = page("failures", of="measured attempts")
    assert not app.exception
    unsolved = sgp.load_attempts().query("not solved")
    assert str(len(unsolved)) in app.caption[0].value
    assert len(app.dataframe[0].value) == len(unsolved)


def test_without_unsolved_rollouts_failures_say_how_to_record_some(folder):
    for file in folder.glob("blocksworld*"):
        file.unlink()
    app = page("failures")
    assert not app.exception
    assert "sgp evaluate RUN... --record" in app.info[0].value


def test_a_record_that_cannot_be_classified_hides_no_other(folder):
    (file,) = folder.glob("blocksworld*")
    (folder / "a.jsonl").write_text(
        file.read_text().replace('"chosen"', '"other"').replace('"sha256": "', '"sha256": "0')
    )
    app = page("failures")
    assert not app.exception
    assert any("not a record of a rollout" in each.value for each in app.warning)
    assert "step=" in html(app)


def test_compare_offers_the_problems_with_two_rollouts():
    app = page("compare")
    assert not app.exception
    assert choice(app, "Domain").options == ["gripper"]
    assert choice(app, "Left").value != choice(app, "Right").value


def test_compare_takes_the_experts_plan_for_a_side(folder):
    (file,) = folder.glob("blocksworld*")
    head, *steps = file.read_text().splitlines()
    first = json.loads(steps[0])
    action = first["candidates"][first["chosen"]]["actions"][0]
    file.write_text("\n".join([json.dumps({**json.loads(head), "expert": [action]}), *steps]) + "\n")
    app = page("compare", domain="blocksworld")
    assert not app.exception
    assert not app.error
    assert "expert's plan" in choice(app, "Right").options


def test_without_two_rollouts_compare_says_how_to_record_another(folder):
    for file in folder.glob("gripper*"):
        file.unlink()
    app = page("compare")
    assert not app.exception
    assert "--record" in app.info[0].value


def test_two_files_with_one_rollout_count_once_and_splits_tell_names_apart(folder):
    (file,) = folder.glob("blocksworld*")
    shutil.copy(file, folder / "again.jsonl")
    assert len(sgp.recorded_rollouts(folder).rollouts) == 3
    head, *steps = file.read_text().splitlines()
    record = json.loads(head)
    record["about"]["split"] = "validation"
    (folder / "again.jsonl").write_text("\n".join([json.dumps(record), *steps]) + "\n")
    library = sgp.recorded_rollouts(folder)
    names = [library.address_of(each)["problem"] for each in library.rollouts if each.about.domain == "blocksworld"]
    assert names == ["p01, validation", "p01, extrapolation"]
