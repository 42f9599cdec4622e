"""Properties of the attempts of a curve, over size."""

from __future__ import annotations

import math
from statistics import fmean

import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.evaluation import scaling as module
from sgp.evaluation.scaling import ProblemSource, ScalingConfig, samples, scaling
from sgp.evaluation.scores import Measurement
from tests.analysis.walking import ANYWHERE, WALKERS, start_of

SUBJECT = Measurement(method="m", variant="v", domain="walking", suite="s", split="scaling")
CONFIG = ScalingConfig(epsilon=0.3, fails=9, largest=4)


@pytest.fixture
def curve(home):
    return scaling(WALKERS["wrong"], ProblemSource(ANYWHERE, "untyped", 0), 9, CONFIG)


def scored(curve, properties):
    return {(each.metric, each.size): each for each in sgp.curve_scores(curve, SUBJECT, properties)}


def test_the_ready_ones_are_means_over_the_attempts_that_have_them(curve):
    found = scored(curve, {})
    for each in curve.points:
        plans = [len(one.plan) for one in each.attempts if one.solved]
        length, relative = found["plan_length", each.size], found["plan_length_per_object", each.size]
        assert (length.value, length.count) == (fmean(plans), len(plans))
        assert relative.value == pytest.approx(length.value / each.size)
        assert found["seconds", each.size].count == len(each.attempts)


def test_a_users_property_sees_problem_and_trajectory_and_nothing_is_tried_again(curve, monkeypatch):
    monkeypatch.setattr(module, "run_all", lambda *others: pytest.fail("tried again"))
    kept = scaling(WALKERS["wrong"], ProblemSource(ANYWHERE, "untyped", 0), 9, CONFIG)
    assert kept == curve

    def rests(sample):
        states = sample.trajectory.states if sample.solved else ()
        tired = [any(atom.predicate == "tired" for atom in sample.trajectory.task.atoms(state)) for state in states]
        return sum(tired) if sample.solved else None

    found = scored(
        kept, {"rests": rests, "start": lambda sample: start_of(sample.problem), "never": lambda sample: None}
    )
    for each in kept.points:
        walked = [(len(one.plan) + 1) // 2 for one in each.attempts if one.solved]
        assert found["rests", each.size].value == fmean(walked), "one is tired after every walk"
        assert found["start", each.size].count == len(each.attempts)
        assert ("never", each.size) not in found
    unsolved = next(each for each in samples(kept, kept.points[-1]) if not each.solved)
    assert unsolved.trajectory is None


def test_a_property_that_is_none_is_a_sentence(curve):
    with pytest.raises(ConfigurationError, match=r"property 'odd' of walking-2-\d+ is nan; expected a finite number"):
        scored(curve, {"odd": lambda sample: math.nan})
    with pytest.raises(ConfigurationError, match=r"property 'word' .* is 'long'; expected a finite number"):
        scored(curve, {"word": lambda sample: "long"})
    with pytest.raises(ConfigurationError, match="property 'coverage' has the name of a metric"):
        scored(curve, {"coverage": lambda sample: 1.0})
