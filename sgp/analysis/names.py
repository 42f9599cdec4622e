"""Decisions of a planner that change when objects are renamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sgp.analysis.diagnostics import Met, along_experts
from sgp.datasets.renaming import form_of
from sgp.errors import ConfigurationError
from sgp.evaluation.scores import Measurement, Score
from sgp.planning.pddl import Action, with_names
from sgp.planning.planner import Planner
from sgp.planning.rollout import tie_margin
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory

_SEED = 20261123


def by_name(planner: Planner, subject: Measurement, trajectories: Sequence[Trajectory], renamings: int) -> list[Score]:
    """The mean of `name_sensitivity` as a score; no score without decisions. `count` is of decisions."""
    changed = name_sensitivity(planner, trajectories, renamings)
    if not changed:
        return []
    value = float(np.mean(changed))
    return [Score(**vars(subject), size=None, metric="name_sensitivity", value=value, count=len(changed))]


def name_sensitivity(
    planner: Planner, trajectories: Sequence[Trajectory], renamings: int = 10, seed: int = _SEED
) -> list[float]:
    """For each decision on the experts' paths the share of renamings that change it.

    A renaming gives all objects but constants new names and another order. A decision is the set of problems that the
    cheapest candidates lead to, up to the names of objects: choosing another one of two interchangeable balls is the
    same decision.
    """
    if renamings < 1:
        raise ConfigurationError(f"renamings is {renamings}; expected at least 1")
    found = list[float]()
    for trajectory in trajectories:
        # Seeded by problem, so that other trajectories have no influence.
        random = np.random.default_rng((seed, int(trajectory.task.problem.sha256[:15], 16)))
        own = [_decided(planner, met) for met in along_experts(planner, [trajectory])]
        changed = np.zeros(len(own))
        for _ in range(renamings if own else 0):  # a problem that is refused has no decisions
            met = along_experts(planner, [_renamed(trajectory, random)])
            changed += [decided != _decided(planner, each) for decided, each in zip(own, met, strict=True)]
        found += (changed / renamings).tolist()
    return found


def _decided(planner: Planner, met: Met) -> frozenset[str]:
    """The canonical forms of the problems that the cheapest candidates lead to."""
    costs, task = met.ranking.costs, met.node.task
    least = float(costs.min())
    if not np.isfinite(least):
        return frozenset()
    cheapest = np.flatnonzero(costs <= least + tie_margin(least, planner.policy.rules.tie)).tolist()
    left = (replace(task.text, init=task.atoms(met.choice[place].state)) for place in cheapest)
    return frozenset(form_of(task.domain_text, text) for text in left)


def _renamed(trajectory: Trajectory, random: np.random.Generator) -> Trajectory:
    """The trajectory with new names and another order of objects."""
    objects = [each.name for each in trajectory.task.text.objects]
    prefix = "thing-"
    while any(constant.name.startswith(prefix) for constant in trajectory.task.domain_text.constants):
        prefix = f"no-{prefix}"
    names = {name: f"{prefix}{number}" for name, number in zip(objects, random.permutation(len(objects)), strict=True)}
    task = Task(with_names(trajectory.task, names, random.permutation(len(objects)).tolist()))
    plan = (Action(each.name, tuple(names.get(name, name) for name in each.objects)) for each in trajectory.actions)
    return Trajectory.of(task, tuple(plan))
