import numpy as np
import pytest

import sgp
from sgp.methods.configuration import from_record
from sgp.planning.lookahead import Lookahead
from sgp.planning.policy import one_step
from sgp.planning.task import Trajectory
from sgp.training.labels import LabelConfig, label
from tests.planning.test_planner import Last
from tests.planning.test_state_space import GLUE, GLUE_PROBLEM, shortest

SUITE = sgp.load_suite("state-centric")


def never(decisions):
    raise AssertionError("these labels need no planner")


def labelled(source, found, successors, fit=never, **settings):
    return label(LabelConfig(source, **settings), found, successors, np.random.default_rng(1), fit)


@pytest.fixture(scope="module")
def blocks():
    return sgp.trajectories(SUITE, "blocksworld", "train")[:2]


def test_experts_label_whatever_they_reach_later_also_where_the_state_space_is_too_large(blocks):
    decisions = labelled("expert", blocks, Lookahead("types"))
    for trajectory in blocks:
        own = [each for each in decisions if each.task is trajectory.task]
        assert [each.state for each in own] == list(trajectory.states[:-1])
        assert sum(each.weight for each in own) == pytest.approx(1)
        for step, each in enumerate(own):
            right = {each.choice[place].state for place in np.flatnonzero(each.positive)}
            assert right == {other.state for other in each.choice} & set(trajectory.states[step + 1 :])
    small, experts = labelled("optimal", blocks, one_step, space=20), labelled("expert", blocks, one_step)
    assert [each.positive.tolist() for each in small] == [each.positive.tolist() for each in experts]
    task = sgp.Task(sgp.Problem("g", GLUE, GLUE_PROBLEM))
    trajectory = Trajectory.of(task, task.successors(task.init)[0].actions)
    (decision,) = labelled("optimal", [trajectory], one_step)
    assert [str(each.actions[0]) for each in decision.choice] == ["(fix a)", "(fix b)"]
    assert decision.positive.tolist() == [True, False]


@pytest.mark.parametrize("successors", [one_step, Lookahead("types")], ids=["one-step", "aiw"])
def test_optimal_labels_are_all_that_lie_on_a_shortest_plan(blocks, successors):
    decisions = labelled("optimal", blocks[:1], successors, states=12)
    task = blocks[0].task
    assert {each.state for each in decisions} > set(blocks[0].states[:-1])
    for each in decisions[::4]:
        best = shortest(task, each.state)
        on_a_shortest = [len(other.actions) + shortest(task, other.state) == best for other in each.choice]
        assert each.positive.tolist() == on_a_shortest
    assert sum(each.weight for each in decisions) == pytest.approx(1)


@pytest.mark.parametrize("source", ["expert", "optimal"])
def test_the_longest_labels_are_the_farthest_of_the_right_ones(blocks, source):
    every = labelled(source, blocks[:1], Lookahead("types"), states=12)
    longest = labelled(source, blocks[:1], Lookahead("types"), states=12, longest=True)
    for one, other in zip(every, longest, strict=True):
        actions = np.array([len(each.actions) for each in one.choice])
        most = max(actions[one.positive])
        assert other.positive.tolist() == (one.positive & (actions == most)).tolist()
    assert any(one.positive.sum() > other.positive.sum() for one, other in zip(every, longest, strict=True))


@pytest.mark.parametrize("space", [1, 20_000], ids=["planner", "state space"])
def test_visited_states_are_labelled_too(home, blocks, space):
    experts = labelled("expert", blocks[:1], one_step)
    asked = []

    def fit(decisions):
        asked.append(len(decisions))
        return sgp.Planner(Last())

    decisions = labelled("dagger", blocks[:1], one_step, fit, visits=2, space=space)
    assert asked == [len(experts)]
    new = decisions[len(experts) :]
    if space == 1:  # plans from these states, in tasks of their own
        starts = list(dict.fromkeys(each.task for each in new))
        assert len(starts) == 2
        for task in starts:
            own = [each for each in new if each.task is task]
            assert own[0].state == task.init
            plan = tuple(each.choice[int(np.flatnonzero(each.positive)[0])].actions[0] for each in own)
            assert sgp.validate(task.problem, plan).valid
    else:
        assert len(new) == 2
        for each in new:
            assert each.state not in set(blocks[0].states)
            best = shortest(each.task, each.state)
            assert each.positive.tolist() == [1 + shortest(each.task, other.state) == best for other in each.choice]
    joined = labelled("dagger-optimal", blocks[:1], one_step, fit, visits=2, states=5)
    assert len(joined) > len(experts) + 2


def test_exact_labels_leave_out_large_problems_and_sources_of_older_records_are_read():
    small, large = sgp.trajectories(SUITE, "gripper", "train")[:2]
    space = 50
    decisions = labelled("optimal-only", [small, large], one_step, space=space, states=12)
    assert {each.task for each in decisions} == {small.task}
    alone = labelled("optimal", [small], one_step, space=space, states=12)
    assert [each.state for each in decisions] == [each.state for each in alone]
    without = labelled("optimal-only", [large], one_step, space=space)
    followed = labelled("expert", [large], one_step)
    assert [each.state for each in without] == [each.state for each in followed], "where none is small enough, all stay"
    for old, new in (("experts", "expert"), ("exact", "optimal-only"), ("visited", "dagger"), ("optimal", "optimal")):
        assert from_record(LabelConfig, {"source": old, "visits": 7}) == LabelConfig(new, visits=7)
