"""Dashboard pages run without a browser."""

import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import sgp
from sgp.service.worker import Worker

MAIN = sys.modules["__main__"]
DASHBOARD = Path(sgp.__file__).resolve().parents[1] / "dashboard"


@pytest.fixture(autouse=True)
def main_module():
    """Put the main module back, which AppTest replaces by the app: processes of later tests would begin with it."""
    yield
    sys.modules["__main__"] = MAIN


@pytest.fixture
def open_page(monkeypatch):
    """Open a page of the dashboard at an address; its worker, unless given, ends with the test."""
    monkeypatch.syspath_prepend(str(DASHBOARD))
    opened = []

    def open_(name, worker=None, **address):
        app = AppTest.from_file(str(DASHBOARD / "app.py"), default_timeout=240)  # only ends a page that hangs
        app.switch_page(f"views/{name}.py")
        for key, value in address.items():
            app.query_params[key] = value
        if worker is None:
            opened.append(app)
        else:
            app.session_state["workers"] = defaultdict(lambda: worker)
        app.run()
        assert not app.exception
        return app

    yield open_
    for app in opened:
        for each in app.session_state["workers"].values() if "workers" in app.session_state else ():
            each.close()


@pytest.fixture(scope="module")
def worker(in_shared_home, quick_run):
    """One process for all tests, with one run in its store: loading takes longer than the tests."""
    quick_run("contrastive-jumps", "blocksworld", "one-step")
    found = Worker()
    yield found
    found.close()


def settled(app, page, seconds=120):
    """Return the page once its worker has finished the request."""
    until = time.monotonic() + seconds
    while f"{page} work" in app.session_state:
        assert time.monotonic() < until, "the work does not end"
        time.sleep(0.1)
        app.run()
    assert not app.exception
    return app


def elsewhere_and_back(page, app):
    """Go from a page to another one through the menu, and back."""
    for name in ("tour", page):
        app.query_params.clear()
        app.switch_page(f"views/{name}.py").run()
        assert not app.exception
    return app


def address(app):
    """Return the parameters of the address; some versions of Streamlit give lists."""
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


def words(app):
    """Return all text of the page, without the escapes of Markdown."""
    kinds = (app.caption, app.markdown, app.info, app.error, app.warning, app.success, app.text)
    return " ".join(each.value for kind in kinds for each in kind).replace("\\", "")


def button(app, label):
    (found,) = [each for each in app.button if each.label == label]
    return found


def choice(app, label):
    (found,) = [each for each in (*app.selectbox, *app.multiselect, *app.pills) if each.label == label]
    return found


def html(app):
    return " ".join(each.proto.body for each in app.get("html"))
