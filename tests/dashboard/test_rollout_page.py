"""The Rollout page without a browser: choices, address, coverage, and messages about missing data."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import sgp
from tests.dashboard.conftest import address
from tests.recorded import recorded_file, recorded_lines

DASHBOARD = Path(sgp.__file__).resolve().parents[1] / "dashboard"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of recorded rollouts in place of the package's."""
    monkeypatch.setattr(sgp.viewer, "recorded_folder", lambda: tmp_path)
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "home"))
    return tmp_path


def page(**address):
    app = AppTest.from_file(str(DASHBOARD / "app.py"), default_timeout=30)
    for name, value in address.items():
        app.query_params[name] = value
    return app.run()


@pytest.mark.slow
def test_recorded_rollouts_can_be_reached_by_their_addresses():
    """The last rollout of each domain and of each model."""
    every = sgp.recorded_rollouts().rollouts
    some = {each.about.domain: each for each in every} | {each.about.model: each for each in every}
    for recorded in {id(each): each for each in some.values()}.values():
        model = f"{recorded.about.model} ({recorded.head['outcome']})"
        app = page(domain=recorded.about.domain, problem=recorded.head["name"], model=model, step="3")
        assert not app.exception
        named = {"domain": recorded.about.domain, "model": model, "problem": recorded.head["name"]}
        assert address(app) == {**named, "step": "3"}


def test_an_address_that_names_nothing_opens_the_first_rollout():
    app = page(domain="<script>", problem="nothing", step="-1e9")
    assert not app.exception
    assert address(app)["domain"] == sgp.recorded_rollouts().rollouts[0].about.domain


def test_without_recorded_rollouts_it_says_how_to_make_them(folder):
    app = page()
    expected = "There are no recorded rollouts yet. Record some with `sgp evaluate RUN --record`."
    assert [each.value for each in app.info] == [expected]
    assert not address(app)


def test_a_damaged_file_is_one_sentence_and_hides_no_other(folder):
    shutil.copy(recorded_file("gripper*"), folder / "b.jsonl.gz")
    (folder / "a.jsonl").write_text("\n".join(recorded_lines("gripper*"))[:-100])
    app = page()
    (warning,) = app.warning
    assert "a.jsonl" in warning.value.replace("\\", "")
    assert len(warning.value.splitlines()) == 1
    assert address(app)["domain"] == "gripper"


def test_a_file_that_is_json_but_no_rollout_inside_is_one_sentence(folder):
    (folder / "a.jsonl").write_text("\n".join(recorded_lines("gripper*")).replace('"candidates"', '"others"') + "\n")
    app = page()
    assert not app.exception
    (error,) = app.error
    assert "not a record of a rollout" in error.value


def test_no_page_that_plans_nothing_imports_a_planning_or_learning_library():
    code = f"""
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file({str(DASHBOARD / "app.py")!r}, default_timeout=60).run()
for name in ("rollout", "coverage", "scaling", "failures", "compare", "next_state", "tour", "guess"):
    app.switch_page(f"views/{{name}}.py").run()
    assert not app.exception and not app.error, name
print([name for name in ("torch", "pymimir", "wlplan", "xgboost", "numba") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_nothing_leaves_the_machine_and_no_traceback_reaches_a_user():
    config = tomllib.loads((DASHBOARD / ".streamlit" / "config.toml").read_text())
    assert config["browser"]["gatherUsageStats"] is False
    assert config["client"]["showErrorDetails"] == "none"
    assert config["server"]["address"] == "localhost"
