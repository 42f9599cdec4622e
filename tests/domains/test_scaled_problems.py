"""Problems over sizes: which ones the paper's bounds on actions leave solvable."""

from __future__ import annotations

import re

import numpy as np

import sgp
from sgp.datasets.experts import saved_plans

BLOCKSWORLD = sgp.get_domain("blocksworld")


def least_actions(pddl):
    """Length of the shortest plan that builds one tower.

    A misplaced block moves at least once, and twice exactly if a block below it belongs further down.
    """
    start, goal = pddl.split("(:goal")
    below, wanted = (dict(re.findall(r"\(on (\w+) (\w+)\)", part)) for part in (start, goal))
    above = {lower: upper for upper, lower in wanted.items()}
    tower = [next(block for block in above if block not in wanted)]
    while tower[-1] in above:
        tower.append(above[tower[-1]])
    level = {block: number for number, block in enumerate(tower)}
    moves = 0
    for block in tower:
        under = [block]
        while under[-1] in below:
            under.append(below[under[-1]])
        if [level[each] for each in reversed(under)] != list(range(len(under))):
            moves += 1 + any(level[each] < level[block] for each in under)
    return 2 * moves


def test_the_least_number_of_actions_is_that_of_optimal_plans():
    suite = sgp.load_suite("state-centric")
    for split in ("train", "validation", "interpolation"):
        plans = saved_plans(suite, "blocksworld", split)
        for problem in suite.problems("blocksworld", split):
            assert least_actions(problem.problem_pddl) == len(plans[problem.sha256].plan)


def test_one_tower_of_many_blocks_needs_more_actions_than_the_paper_allows():
    """Hence problems over sizes use several towers; with one tower no planner could reach the paper's 59 blocks."""
    rng = np.random.default_rng(1)
    least = [least_actions(BLOCKSWORLD.generate(rng, blocks=59, one_tower=1)) for _ in range(100)]
    assert np.mean([each <= BLOCKSWORLD.scaling.bound + 59 for each in least]) < 0.15
    for size in (2, 7, 59):
        problem = sgp.Task(sgp.Problem("p", BLOCKSWORLD.pddl, BLOCKSWORLD.generate_scaled(rng, size)))
        assert len(problem.goal) == size, "of each block, where it is to be"
        assert not problem.is_goal(problem.init)
