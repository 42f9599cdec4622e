"""Goals that are satisfied one after the other, with the objects of the others in place."""

from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sgp
from sgp.domains import get_domain
from sgp.errors import PddlError
from sgp.planning.clock import stop_flag
from sgp.planning.exploration import greedy_path_to, path_to, relaxed_plan_length
from sgp.planning.operators import CSR, Operators, watchers_of, words_of
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.planning.policy import one_step
from sgp.planning.rollout import Outcome
from sgp.planning.serialisation import SerialisedGoals
from sgp.planning.task import Task
from tests.planning.test_ground_model import random_problem
from tests.planning.test_symmetry import DOMAINS, problem_of
from tests.sampling import few_instances

MOST = 300  # states of a search


def actions_of(rollout):
    return [action for step in rollout.steps for action in step.candidates[0].actions]


def depths(task):
    """The least number of actions after which each fluent is true, by a search over state objects."""
    found, queue, known = {}, deque([(task.init, 0)]), {task.init}
    while queue and len(known) < MOST:
        state, depth = queue.popleft()
        for fluent in task.fluents(state):
            found.setdefault(fluent, depth)
        for successor in one_step(task, state):
            if successor.state not in known:
                known.add(successor.state)
                queue.append((successor.state, depth + 1))
    return found, not queue


def compare_paths(problem):
    """Compare the paths to all fluents with the search; return how many are longer than one action."""
    task, longer = Task(problem, "grounded"), 0
    model, (expected, complete) = task.model, depths(task)
    fluents = np.array(sorted(set(task.fluents(task.init)) & set(model.fluents.values())), np.int32)
    costs = np.random.default_rng(3).integers(0, 3, model.atoms)  # any choice of watched fluents is right
    watchers = watchers_of(model.operators.needs, costs)
    watched = fluents[np.diff(watchers.indptr)[fluents] > 0]
    start, users = words_of(fluents, model.atoms), model.operators.needs.transposed(model.atoms)
    if not complete:
        return 0
    for fluent in model.fluents.values():
        if fluent in task.fluents(task.init):
            continue
        target = np.array([fluent], np.int32)
        path = path_to(model.operators, watchers, start, watched, target, 10 * MOST, stop_flag())
        assert len(path) == expected.get(fluent, 0), task.fluent(fluent)
        greedy = greedy_path_to(model.operators, users, start, target, 10 * MOST, stop_flag())
        assert (len(greedy) > 0) == (len(path) > 0)
        for found in (path, greedy):
            if len(found):
                after = task.after_all(task.init, map(model.action, found.tolist()))
                assert fluent in task.fluents(after)
        longer += len(path) > 1
    return longer


def test_paths_to_fluents_are_shortest_in_any_domain():
    longer = [compare_paths(problem_of(name)) for name in DOMAINS]
    for seed in range(150):
        try:
            problem = random_problem(seed)
            if few_instances(problem):
                longer.append(compare_paths(problem))
        except PddlError:
            continue
    assert sum(map(bool, longer)) >= 10, longer


@pytest.mark.parametrize("size", [300, 700, 2500])
def test_sokoban_is_solved_box_by_box(size):
    domain = get_domain("sokoban")
    text = domain.generate_scaled(np.random.default_rng(size), domain.tracked.nearest(size), True)
    problem = Problem("cave", domain.pddl, text)
    rollout = SerialisedGoals(0).search(Task(problem), Limit(seconds=60))
    assert rollout.solved
    assert sgp.validate(problem, actions_of(rollout)).valid


def corridor(goals):
    """Two boxes in a corridor, pushed to the right; `goals` are the cells of the first and the second."""
    cells = [f"c{place}" for place in range(9)]
    init = [f"(adjacent {one} {other} right) (adjacent {other} {one} left)" for one, other in pairwise(cells)]
    init += ["(at-robot c0) (at box1 c2) (at box2 c4)", *(f"(clear {cell})" for cell in cells if cell not in "c2c4")]
    return Problem(
        "corridor",
        get_domain("sokoban").pddl,
        f"(define (problem corridor) (:domain sokoban) (:objects {' '.join(cells)} - location box1 box2 - box)"
        f"(:init {' '.join(init)}) (:goal (and (at box1 {goals[0]}) (at box2 {goals[1]}))))",
    )


def three_balls():
    domain = get_domain("gripper")
    return Task(Problem("balls", domain.pddl, domain.generate(np.random.default_rng(1), balls=3)), "grounded")


def test_paths_to_two_fluents_are_shortest():
    task = three_balls()
    model, goals = task.model, set(task.goal_atoms[:2])
    targets = np.array([model.fluents[goal] for goal in goals], np.int32)
    fluents = np.array(sorted(set(task.fluents(task.init)) & set(model.fluents.values())), np.int32)
    operators, start = model.operators, words_of(fluents, model.atoms)
    watched = fluents[np.diff(operators.watchers.indptr)[fluents] > 0]
    shortest = path_to(operators, operators.watchers, start, watched, targets, 10_000, stop_flag())
    users = operators.needs.transposed(model.atoms)
    greedy = greedy_path_to(operators, users, start, targets, 10_000, stop_flag())
    distances = {task.init: 0}
    queue = deque(distances)
    while not goals <= set(map(task.fluent, task.fluents(queue[0]))):
        state = queue.popleft()
        for successor in one_step(task, state):
            if successor.state not in distances:
                distances[successor.state] = distances[state] + 1
                queue.append(successor.state)
    assert 1 < len(shortest) == distances[queue[0]] <= len(greedy)
    for path in (shortest, greedy):
        after = task.after_all(task.init, map(model.action, path.tolist()))
        assert goals <= set(map(task.fluent, task.fluents(after)))


def test_relaxed_plans_have_as_many_actions_as_counted_by_hand():
    """One ball must be picked, carried and dropped: three actions, and two more for each further ball."""
    task = three_balls()
    model = task.model
    operators, users = model.operators, model.operators.needs.transposed(model.atoms)
    start = words_of(np.array(sorted(map(int, task.fluents(task.init))), np.int32), model.atoms)
    missing, achievers = np.empty(len(model.rows), np.int32), np.empty(64 * len(start), np.int32)
    for count in (1, 2, 3):
        targets = np.array([model.fluents[goal] for goal in task.goal_atoms[:count]], np.int32)
        room = missing, achievers, np.empty_like(achievers)
        assert relaxed_plan_length(operators, users, start, targets, *room) == 1 + 2 * count


def test_a_relaxed_plan_may_need_the_same_atoms_many_times():
    """Each of 20 actions needs the one before and the same five atoms, each of which takes an action."""
    steps, shared = range(20), range(21, 26)  # action i achieves atom i + 1; the shared atoms need atom 26
    needs = CSR.of([*([step, *shared] for step in steps), *([26] for _ in shared)])
    adds, none = CSR.of([*([step + 1] for step in steps), *([atom] for atom in shared)]), CSR.of([[]] * 25)
    operators, start = Operators.of(needs, none, adds, none, 27), words_of(np.array([0, 26], np.int32), 27)
    room = np.empty(25, np.int32), np.empty(64, np.int32), np.empty(64, np.int32)
    target = np.array([20], np.int32)
    assert relaxed_plan_length(operators, needs.transposed(27), start, target, *room) == 25
    found = greedy_path_to(operators, needs.transposed(27), start, target, 1000, stop_flag())
    assert len(found) == 25


def test_a_path_that_does_not_apply_with_all_objects_is_left_out():
    folder = Path(__file__).parent / "adl" / "briefcase"
    text = (folder / "p1.pddl").read_text()
    text = text.replace("(and (at b work) (at d home) (case-at work))", "(and (at b work) (at d work))")
    problem = Problem("two", (folder / "domain.pddl").read_text(), text)
    rollout = SerialisedGoals(0).search(Task(problem), Limit(seconds=60))
    assert rollout.solved
    assert sgp.validate(problem, rollout.plan).valid


def test_what_cannot_be_serialised_is_left_unsolved():
    task = Task(corridor(["c5", "c7"]))  # the keeper cannot pass the first box
    rollout = SerialisedGoals(0).search(task, Limit())
    assert (rollout.outcome, rollout.steps) == (Outcome.STUCK, ())


def test_a_search_for_goals_that_exclude_each_other_ends():
    domain = get_domain("ferry")
    text = domain.generate(np.random.default_rng(1), cars=1, locations=3)
    before, _ = text.split("(:goal")
    problem = Problem("torn", domain.pddl, f"{before}(:goal (and (at c1 l1) (at c1 l3))))")
    assert SerialisedGoals(0).search(Task(problem), Limit()).outcome is Outcome.STUCK


@pytest.mark.parametrize(
    ("domain", "arguments"),
    [
        ("gripper", {"balls": 5}),
        ("logistics", {"cities": 2, "locations": 2, "airplanes": 1, "packages": 4}),
        ("ferry", {"cars": 4, "locations": 3}),  # destinations have no static atoms
        ("visitall", {"width": 4, "height": 4}),  # goals have no objects of their own
        ("blocksworld", {"blocks": 6}),  # a block is in several goals
        ("barman", {"shots": 12, "ingredients": 6, "cocktails": 8}),  # the last goal's shot is still in a hand
    ],
)
def test_goals_of_other_domains(domain, arguments):
    known = get_domain(domain)
    problem = Problem("any", known.pddl, known.generate(np.random.default_rng(1), **arguments))
    rollout = SerialisedGoals(0).search(Task(problem), Limit(seconds=60))
    assert rollout.solved
    assert sgp.validate(problem, actions_of(rollout)).valid


def test_a_plan_has_at_most_the_actions_of_the_limit():
    domain = get_domain("gripper")
    task = Task(Problem("balls", domain.pddl, domain.generate(np.random.default_rng(1), balls=4)))
    length = len(actions_of(SerialisedGoals(0).search(task, Limit())))
    assert SerialisedGoals(0).search(task, Limit(length)).solved
    assert not SerialisedGoals(0).search(task, Limit(length - 1)).solved


def test_a_search_ends_with_its_limit():
    domain = get_domain("sokoban")
    problem = Problem("cave", domain.pddl, domain.generate(np.random.default_rng(2), cells=900, boxes=25))
    task = Task(problem)
    rollout = SerialisedGoals(0).search(task, Limit(seconds=task.seconds + 1e-4))
    assert (rollout.outcome, rollout.steps) == (Outcome.TIMEOUT, ())
