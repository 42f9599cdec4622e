"""Trajectories of jumps: tried by a network that explores, told anew by hindsight, kept for learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from sgp.encoders.trees import LookaheadEncoder, Trees
from sgp.planning.candidates import identities, names
from sgp.planning.pddl import Action, Atom
from sgp.planning.policy import Node, Policy, Successors
from sgp.planning.task import State, Successor, Task, replay
from sgp.training.hindsight import aimed, hindsight_goal

Jump = tuple[Action, ...]


class Tried(NamedTuple):
    """A trajectory as text: the training problem by its place, another goal where one was set, the jumps, the end."""

    problem: int
    goal: tuple[Atom, ...] | None
    jumps: tuple[Jump, ...]
    solved: bool


class Transition(NamedTuple):
    """A tree, which of its candidates was jumped to, and the tree there; None at the end of the way.

    The end is a goal state, or with `lost` a dead end.
    """

    tree: Trees
    chosen: int
    after: Trees | None
    lost: bool


def explored(
    tasks: Sequence[Task],
    places: Sequence[int],
    policy: Policy,
    successors: Successors,
    temperature: float,
    most: int,
    rng: np.random.Generator,
) -> list[Tried]:
    """One trajectory of each of the tasks at `places`, of at most so many jumps, all in step.

    A candidate is taken with a probability in proportion to exp(-cost / temperature) (AIW-AD, section 6).
    """
    states, jumps = [tasks[place].init for place in places], [list[Jump]() for _ in places]
    active = [slot for slot, place in enumerate(places) if not tasks[place].is_goal(states[slot])]
    for _ in range(most):
        choices = {slot: successors(tasks[places[slot]], states[slot]) for slot in active}
        active = [slot for slot in active if choices[slot]]
        nodes = [Node(tasks[places[slot]], states[slot]) for slot in active]
        rankings = policy.rank(nodes, [choices[slot] for slot in active]) if active else []
        for slot, ranking in zip(active, rankings, strict=True):
            chances = np.exp((ranking.costs.min() - ranking.costs) / temperature)
            taken = choices[slot][int(rng.choice(len(chances), p=chances / chances.sum()))]
            states[slot] = taken.state
            jumps[slot].append(taken.actions)
        active = [slot for slot in active if not tasks[places[slot]].is_goal(states[slot])]
    return [
        Tried(place, None, tuple(each), tasks[place].is_goal(state))
        for place, each, state in zip(places, jumps, states, strict=True)
    ]


def in_hindsight(task: Task, tried: Tried, successors: Successors, rng: np.random.Generator) -> Tried | None:
    """The same way told as one to a goal that a random state of it satisfies; None where no such goal was found.

    A jump that is none under the new goal, whose atoms are told apart by the lookahead, is cut where it is one.
    """
    if not tried.jumps:
        return None
    path = list(chain.from_iterable(tried.jumps))
    ends = list(accumulate(map(len, tried.jumps)))
    goal = hindsight_goal(task, replay(task, path[: ends[rng.integers(len(ends))]])[-1], rng)
    if goal is None:
        return None
    other = Task(aimed(task, goal))
    states = replay(other, path)
    end = next(place for place, state in enumerate(states) if other.is_goal(state))
    jumps, place = [], 0
    while place < end:
        choice = successors(other, states[place])
        least = min(end, next(each for each in ends if each > place))
        reached = [each for each in range(least, place, -1) if place_of(other, choice, states[each]) is not None]
        if not reached:
            return None  # an action that changed nothing
        jumps.append(tuple(path[place : reached[0]]))
        place = reached[0]
    return Tried(tried.problem, goal, tuple(jumps), solved=True)


def transitions(task: Task, tried: Tried, successors: Successors, encoder: LookaheadEncoder) -> list[Transition]:
    """A trajectory's transitions; the tree after one is the tree of the next."""
    if not tried.jumps:
        return []
    ends = list(accumulate(map(len, tried.jumps), initial=0))
    path = replay(task, list(chain.from_iterable(tried.jumps)))
    states = [path[end] for end in ends]
    choices = [successors(task, state) for state in states]
    trees = [encoder.encode(task, *each) if each[1] else None for each in zip(states, choices, strict=True)]
    found = []
    for number, (tree, choice) in enumerate(zip(trees[:-1], choices, strict=False)):
        chosen = place_of(task, choice, states[number + 1])
        assert tree is not None
        assert chosen is not None, "a jump was a candidate"
        done = task.is_goal(states[number + 1])
        found.append(
            Transition(tree, chosen, None if done else trees[number + 1], not done and not choices[number + 1])
        )
    return found


def place_of(task: Task, choice: Sequence[Successor], state: State) -> int | None:
    """Which candidate a state is, or None where it is none."""
    called = set(names(task, state))
    return next((place for place, each in enumerate(identities(choice)) if each in called), None)


class Replay:
    """The last trajectories, with so many transitions that learning draws from; a checkpoint keeps them as text."""

    def __init__(self, tasks: Sequence[Task], successors: Successors, encoder: LookaheadEncoder, most: int):
        self._tasks, self._successors, self._encoder, self._most = tasks, successors, encoder, most
        self._kept: list[tuple[Tried, list[Transition]]] = []

    @property
    def transitions(self) -> list[Transition]:
        """The last ones, in the order in which they were added."""
        return list(chain.from_iterable(found for _, found in self._kept))[-self._most :]

    def add(self, tried: Tried) -> None:
        """Keeps a trajectory; the oldest go as soon as the others have enough transitions."""
        task = self._tasks[tried.problem]
        if tried.goal is not None:
            task = Task(aimed(task, tried.goal))
        self._kept.append((tried, transitions(task, tried, self._successors, self._encoder)))
        while sum(len(found) for _, found in self._kept[1:]) >= self._most:
            del self._kept[0]

    def state_dict(self) -> Any:
        """The trajectories as lists of words."""

        def words(things: Sequence[Atom] | Sequence[Action]) -> list[list[str]]:
            return [[thing[0], *thing.objects] for thing in things]

        return [
            [
                tried.problem,
                None if tried.goal is None else words(tried.goal),
                [words(jump) for jump in tried.jumps],
                tried.solved,
            ]
            for tried, _ in self._kept
        ]

    def load_state_dict(self, state: Any, /) -> None:
        """Takes such lists, and encodes the trajectories anew."""
        self._kept = []
        for problem, goal, jumps, solved in state:
            wanted = None if goal is None else tuple(_thing(Atom, each) for each in goal)
            path = tuple(tuple(_thing(Action, each) for each in jump) for jump in jumps)
            self.add(Tried(problem, wanted, path, solved))


def _thing(kind: Callable[[str, tuple[str, ...]], Any], words: Sequence[str]) -> Any:
    return kind(words[0], tuple(words[1:]))
