"""The weight of a feature in a worker process: which decisions of training gave it, and planners with another one.

Both are asked about as the player shows a choice: the records of a rollout up to the step, the step, and the rank of
the candidate that the chosen one is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sgp.analysis.blame import Culprit, accountable
from sgp.analysis.blame import blame as blamed
from sgp.analysis.reweighting import reweighted
from sgp.datasets.runs import Run, open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.domains import words_of
from sgp.errors import InputError
from sgp.methods.loading import planner_of
from sgp.planning.planner import Planner
from sgp.planning.recorded import Recorded
from sgp.planning.recording import replayed
from sgp.planning.rollout import Rollout
from sgp.planning.task import State, Successor, Task
from sgp.service.asked import Answer, Records, Tell, decoding_of, require_listed
from sgp.viewer.pictures import picture
from sgp.viewer.playback import rank_order


def blame(tell: Tell, run: str, before: Records, step: int, rank: int, feature: str) -> Answer:
    """The decisions of training that gave a feature its weight, with the state of each as SVG and its step.

    `feature` is one of the words that explain the choice of step `step` against the candidate of rank `rank`, both from
    1. A culprit's `step` is None for a state that the expert's plan does not pass. Raises ConfigurationError for a run
    whose weights are no sums, InputError for words that explain nothing there and where the suite's problems are no
    longer those that the run was trained on.
    """
    opened = open_run(run)
    accountable(opened)  # what it raises, before anything is read
    policy = planner_of(opened, decoding_of(before[0])).policy
    rollout, place, other = _compared(before, step, rank)
    tell(doing="reading what it was trained on")
    data = _trained_on(opened)
    tell(doing="looking through every decision of its training")
    found = blamed(opened, policy, data, rollout, place, other, feature)
    passed = {each.task: each.states[:-1] for each in data.train}
    return {
        "weight": found.weight,
        "told": found.told,
        "decisions": found.decisions,
        "culprits": [_told(each, passed) for each in found.culprits],
    }


def with_weight(run: str, before: Records, step: int, rank: int, feature: str, factor: float) -> Planner:
    """A run's planner with the weight of such a feature times a factor. Raises what `reweighted` raises."""
    planner = planner_of(open_run(run), decoding_of(before[0]))
    return reweighted(planner, *_compared(before, step, rank), feature, factor)


def _compared(before: Records, step: int, rank: int) -> tuple[Rollout, int, int]:
    """The rollout up to a step, that step and the place of a candidate in it, both from 0."""
    head, *steps = before
    require_listed(steps, step, rank)
    costs = [math.inf if each["cost"] is None else float(each["cost"]) for each in steps[step - 1]["candidates"]]
    rollout = replayed(Recorded("rollout", 1, head, tuple(steps[:step])))
    return rollout, step - 1, rank_order(costs)[rank - 1]


def _trained_on(run: Run) -> Demonstrations:
    """What a run was trained on. Raises InputError where its suite has something else now."""
    data = load_training_data(load_suite(run.key.suite), run.key.domain)
    if data.sha256 != run.record["data"]["sha256"]:
        raise InputError(
            f"{run.folder} was trained on other problems or plans than suite {run.key.suite} has of {run.key.domain}; "
            "train it again to ask what gave it its weights"
        )
    return data


def _told(culprit: Culprit, passed: Mapping[Task, Sequence[State]]) -> Answer:
    """A decision as JSON holds it."""
    decision = culprit.decision
    states = passed.get(decision.task, ())
    return {
        "problem": decision.task.name,
        "step": states.index(decision.state) + 1 if decision.state in states else None,
        "amount": culprit.amount,
        "right": _said(decision.task, decision.choice[culprit.right]),
        "wrong": _said(decision.task, decision.choice[culprit.wrong]),
        "picture": picture(decision.task, decision.state).svg,
    }


def _said(task: Task, candidate: Successor) -> str:
    """A candidate's actions in words."""
    words = words_of(task.domain_text)
    return "; then ".join(words.sentence(each) for each in candidate.actions)
