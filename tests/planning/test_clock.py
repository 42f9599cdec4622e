import math
from contextlib import contextmanager

import numpy as np
import pytest

import sgp
from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.planning.clock import Clock, OutOfMemory, OutOfTime, check_limits, stop_flag, with_limit_checks
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit, Planner, outcome_of
from sgp.planning.policy import one_step
from sgp.planning.rollout import Outcome
from sgp.planning.task import Task
from sgp.planning.width_search import SearchLimits, search_ground
from tests.planning.test_planner import Indifferent


class Hand:
    """A clock and a memory that the test sets by hand; no thread reads them."""

    def __init__(self, memory=math.inf):
        self.time, self.bytes = 0.0, 0
        self.clock = Clock(memory, lambda: self.time, lambda: self.bytes)


@pytest.fixture(scope="module")
def task():
    problem = sgp.load_suite("state-centric").problems("gripper", "validation")[0]
    found = Task(problem)
    one_step(found, found.init)  # instantiated before any clock runs
    return found


@pytest.mark.parametrize(("quantity", "error"), [("time", OutOfTime), ("bytes", OutOfMemory)])
def test_work_goes_on_until_a_reading_finds_a_limit(quantity, error):
    hand = Hand(memory=10)

    def work():
        setattr(hand, quantity, 10)
        hand.clock.read()
        check_limits()
        setattr(hand, quantity, 11)
        check_limits()  # not read yet
        hand.clock.read()
        assert stop_flag()[0]
        next(with_limit_checks(range(3)))
        pytest.fail("a check did not end the work")

    with pytest.raises(error), hand.clock.within(10):
        work()


def test_work_that_ends_too_late_is_out_of_time_without_a_reading():
    hand = Hand()
    with pytest.raises(OutOfTime), hand.clock.within(10):
        hand.time = 11


def test_a_piece_of_work_begins_anew():
    hand = Hand()
    with pytest.raises(OutOfTime), stopped(hand):
        check_limits()
    with hand.clock.within(1):
        hand.clock.read()
        check_limits()
        assert not stop_flag()[0]
    check_limits()
    assert not stop_flag()[0]


@contextmanager
def stopped(hand=None):
    hand = hand or Hand()
    with hand.clock.within(1):
        hand.time += 2
        hand.clock.read()
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    "successors", [one_step, Lookahead(), Lookahead("types", min_novel=16)], ids=["one", "iw", "aiw"]
)
@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_looking_for_candidates_stops(task, mode, successors):
    own = Task(task.problem, mode)
    assert len(successors(own, own.init)) > 1
    with pytest.raises(OutOfTime), stopped():
        successors(own, own.init)


def test_compiled_searches_stop_between_two_candidates(task):
    """The limit check afterwards discards the candidates found before the stop; this test reads them."""

    fluents, limits = np.array(task.fluents(task.init), np.int32), SearchLimits(False, 0, 0, 1000, 0)
    ground, forms = task.model.arrays(symmetric=False), task.model.forms("none")
    for stopped_at_once in (False, True):
        found = search_ground(ground, forms, fluents, limits, False, np.array([stopped_at_once])).steps
        assert len(found) == 0 if stopped_at_once else len(found) > 1


def test_embedding_stops(task):
    choice = one_step(task, task.init)
    marked, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(task, task.init, choice)])
    wl = WLEncoder.fit(WLConfig(), [(task, [task.init])])
    before = wl.embed_candidates(task, [task.init], [choice])
    with pytest.raises(OutOfTime), stopped():
        marked.embed(task, task.init, choice)
    with pytest.raises(OutOfTime), stopped():
        wl.embed_candidates(task, [task.init], [choice])
    assert np.array_equal(wl.embed_candidates(task, [task.init], [choice]), before)  # no partial result is cached


def test_reading_and_instantiation_stop(task):
    with pytest.raises(OutOfTime), stopped():
        Task(task.problem)
    own = Task(task.problem)
    with pytest.raises(OutOfTime), stopped():
        assert own.model
    assert len(own.model) == len(task.model)


def test_a_huge_problem_ends_with_a_timeout():
    domain = sgp.get_domain("gripper")
    text = domain.generator(np.random.default_rng(0), 2500)
    task = Task(Problem("balls", domain.models["untyped"], text))
    lasting = Limit(seconds=task.seconds + 1)
    rollout = Planner(Indifferent(), Lookahead("types")).solve(task, lasting)
    assert rollout.outcome is Outcome.TIMEOUT


def test_an_array_too_large_to_allocate_ends_a_problem_like_the_memory_limit():
    with pytest.raises(MemoryError) as raised:
        np.empty(1 << 58, np.uint8)
    assert type(raised.value) is not MemoryError, "numpy raises a subclass"
    assert outcome_of(raised.value) is Outcome.MEMORY
    assert outcome_of(OutOfMemory("")) is Outcome.MEMORY
    assert outcome_of(OutOfTime("")) is Outcome.TIMEOUT
