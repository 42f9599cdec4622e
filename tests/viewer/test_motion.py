"""Objects glide from one drawing to the next unless the user prefers reduced motion."""

from __future__ import annotations

import pytest

import sgp
from tests.browsing import expect_step, press

pytestmark = pytest.mark.browser
NOTING = """window.glided = []; const begin = Element.prototype.animate;
Element.prototype.animate = function (...all) { glided.push(this.dataset.object); return begin.apply(this, all); };"""


@pytest.fixture
def open_moving(open_page):
    """Open a Blocksworld rollout and wait until gliding is possible; return the page and the first step's action."""

    def open_(**options):
        found = (each for each in sgp.recorded_rollouts().rollouts if each.about.method == "state-centric")
        rollout = next(each for each in found if each.about.domain == "blocksworld")
        page = open_page(rollout, script=NOTING, **options)
        page.wait_for_timeout(400)
        return page, rollout.steps[0]["candidates"][rollout.steps[0]["chosen"]]["actions"][0]

    return open_


def test_what_a_step_moves_glides_and_nothing_else(open_moving):
    page, action = open_moving()
    press(page, "k")
    expect_step(page, 1)
    (moved,) = page.evaluate("glided")
    assert moved in action
    page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    assert page.evaluate("document.getAnimations().length") == 0


def test_nothing_glides_over_several_steps(open_moving):
    page, _ = open_moving()
    press(page, "End")
    page.wait_for_selector(".place:text-is('end')")
    assert page.evaluate("glided") == []


def test_who_wants_less_motion_sees_none(open_moving):
    page, _ = open_moving(reduced_motion="reduce")
    press(page, "k")
    expect_step(page, 1)
    assert page.evaluate("glided") == []
