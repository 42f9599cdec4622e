"""Next state without a browser: initial choices, addresses, switches, and the page without recordings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import sgp
from tests.dashboard.conftest import choice

ROOT = Path(sgp.__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "dashboard"))
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def page(**address):
    app = AppTest.from_file(str(ROOT / "dashboard" / "views" / "next_state.py"), default_timeout=60)
    for key, value in address.items():
        app.query_params[key] = value
    return app.run()


def test_it_opens_with_the_packages_steps_and_says_hit_or_miss():
    files, damaged = sgp.viewer.retrieved_files()
    assert damaged == []
    app = page()
    assert not app.exception
    assert not app.error
    file = files[0]
    assert choice(app, "Recorded steps").options == [each.title for each in files]
    assert choice(app, "Candidates").options == file.pools
    assert choice(app, "Model").options == [each.title for each in file.models]
    told = [each.rpartition(": ")[2] for each in choice(app, "Step").options]
    assert told == [file.models[0].found(step, file.pools[0]).word for step in range(len(file.steps))]
    assert {"hit", "miss"} == set(told)
    assert file.models[0].found(0, file.pools[0]).words in app.markdown[0].value


def test_a_choice_stands_in_the_address_and_changes_what_is_said():
    file = sgp.viewer.retrieved_files()[0][-1]
    lifted = next(place for place, each in enumerate(file.models) if "renamed" in each.title)
    app = page(file=file.title, pools="hard", model=file.models[lifted].title)
    assert not app.exception
    assert (choice(app, "Recorded steps").value, choice(app, "Candidates").value) == (file.title, "hard")
    assert file.models[lifted].found(0, "hard").words in app.markdown[0].value
    assert "no single map can be drawn" in app.info[0].value
    choice(app, "Step").set_value(file.steps[3]).run()
    choice(app, "Model").set_value(file.models[0].title).run()
    assert not app.exception
    assert choice(app, "Step").value == file.steps[3], "two models are compared on one step"
    assert file.models[0].found(3, "hard").words in app.markdown[0].value
    assert not app.info
    assert app.query_params["model"] in (file.models[0].title, [file.models[0].title])


def test_what_the_address_names_and_is_not_there_counts_as_not_given():
    app = page(file="nothing", step="nowhere", model="<b>none</b>")
    assert not app.exception
    assert choice(app, "Recorded steps").value == sgp.viewer.retrieved_files()[0][0].title


def test_a_users_own_steps_stand_beside_and_damage_is_told(store, monkeypatch):
    own = store / "retrieved"
    own.mkdir(parents=True)
    source = Path(sgp.viewer.retrieved_files()[0][0].source)
    shutil.copy(source, own / "mine.json")
    (own / "cut.json").write_text(source.read_text()[:500])
    app = page()
    assert not app.exception
    titles = [each.title for each in sgp.viewer.retrieved_files()[0]]
    assert choice(app, "Recorded steps").options == [*titles, f"{titles[0]} (2)"]
    choice(app, "Recorded steps").set_value(f"{titles[0]} (2)").run()
    assert not app.exception
    assert choice(app, "Recorded steps").value == f"{titles[0]} (2)"
    assert r"cut\.json" in app.warning[0].value, "as words, whatever a name looks like"
    monkeypatch.setattr(sgp.viewer, "retrieved_folder", lambda: store / "none")
    (own / "mine.json").unlink()
    assert "No steps are recorded. Record some with `sgp retrieve" in page().info[0].value
