from __future__ import annotations

import pytest

import sgp
from sgp.errors import InputError
from sgp.planning.rollout import Outcome


@pytest.fixture(scope="module")
def problem():
    return sgp.load_suite("state-centric").problems("blocksworld", "interpolation")[0]


def test_an_episode_makes_the_decisions_of_the_planner(problem):
    planner = sgp.load_planner(sgp.run_for(problem))
    expected = planner.solve(sgp.Task(problem))
    episode = planner.start(problem)
    while not episode.done:
        candidates = episode.candidates()
        assert candidates["selected"].sum() == 1
        assert candidates["cost"].is_monotonic_increasing
        episode.step()
    assert (episode.outcome, episode.plan) == (Outcome.SOLVED, expected.plan)
    assert len(episode.rollout().steps) == len(expected.steps)
    assert sgp.validate(problem, episode.plan).valid
    assert episode.candidates().empty
    with pytest.raises(InputError, match="done"):
        episode.step()


def test_a_given_action_replaces_a_decision(problem):
    episode = sgp.load_planner(sgp.run_for(problem)).start(problem)
    with pytest.raises(InputError, match="not done"):
        episode.rollout()
    last = episode.candidates().iloc[-1]["action"]
    episode.step(last)
    assert " ".join(map(str, episode.plan)) == last
    with pytest.raises(InputError, match="'\\(fly\\)' is no candidate"):
        episode.step("(fly)")
    while not episode.done:
        episode.step()
    assert sgp.validate(problem, episode.plan).valid
    assert "solved" in repr(episode)
