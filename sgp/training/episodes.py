"""Episodes of jumps: collected by an exploring network, relabelled with hindsight goals, stored in a replay buffer.

Source: lifted hindsight of Stahlberg and Geffner, "First-Order Representation Languages for Goal-Conditioned RL" (AAAI
2026), as used by AIW-AD (section 6), here over jumps. A goal is a pattern whose objects are variables. Distinct objects
of the same types replace them, so that the new goal is one that problems of the domain could have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from sgp.encoders.trees import LookaheadEncoder, Trees
from sgp.planning.pddl import Action, Atom, Literal, Problem, format_problem
from sgp.planning.policy import Node, Policy, Successors
from sgp.planning.task import Candidates, State, Task, replay, state_keys

Jump = tuple[Action, ...]
_GOAL_TRIES = 5  # goals drawn for a state until one is not satisfied initially


class Episode(NamedTuple):
    """A trajectory as text: index of the training problem, hindsight goal (None: the original goal) and jumps."""

    problem: int
    goal: tuple[Atom, ...] | None
    jumps: tuple[Jump, ...]
    solved: bool


class Transition(NamedTuple):
    """A lookahead tree, the index of the chosen candidate, and the next tree, which is None at the end of the episode.

    An episode ends in a goal state or, with `dead_end`, in a state without candidates.
    """

    tree: Trees
    chosen: int
    after: Trees | None
    dead_end: bool


def collect_episodes(
    tasks: Sequence[Task],
    problems: Sequence[int],
    policy: Policy,
    successors: Successors,
    temperature: float,
    horizon: int,
    rng: np.random.Generator,
) -> list[Episode]:
    """Collect one episode of at most `horizon` jumps in each of the tasks `problems`, advancing all in lockstep.

    The probability of a candidate is proportional to exp(-cost / temperature) (AIW-AD, section 6).
    """
    states, jumps = [tasks[place].init for place in problems], [list[Jump]() for _ in problems]
    active = [slot for slot, place in enumerate(problems) if not tasks[place].is_goal(states[slot])]
    for _ in range(horizon):
        choices = {slot: successors(tasks[problems[slot]], states[slot]) for slot in active}
        active = [slot for slot in active if choices[slot]]
        nodes = [Node(tasks[problems[slot]], states[slot]) for slot in active]
        rankings = policy.rank(nodes, [choices[slot] for slot in active]) if active else []
        for slot, ranking in zip(active, rankings, strict=True):
            chances = np.exp((ranking.costs.min() - ranking.costs) / temperature)
            taken = choices[slot][int(rng.choice(len(chances), p=chances / chances.sum()))]
            states[slot] = taken.state
            jumps[slot].append(taken.actions)
        active = [slot for slot in active if not tasks[problems[slot]].is_goal(states[slot])]
    return [
        Episode(place, None, tuple(path), tasks[place].is_goal(state))
        for place, path, state in zip(problems, jumps, states, strict=True)
    ]


def relabel_with_hindsight_goal(
    task: Task, episode: Episode, successors: Successors, rng: np.random.Generator
) -> Episode | None:
    """Return the episode with a goal that one of its states, drawn at random, satisfies; None where none was found.

    The candidate set depends on the goal, so a jump that is no candidate under the new goal is shortened to one that
    is.
    """
    if not episode.jumps:
        return None
    path = list(chain.from_iterable(episode.jumps))
    ends = list(accumulate(map(len, episode.jumps)))
    goal = hindsight_goal(task, replay(task, path[: ends[rng.integers(len(ends))]])[-1], rng)
    if goal is None:
        return None
    relabelled = Task(with_goal(task, goal))
    states = replay(relabelled, path)
    end = next(place for place, state in enumerate(states) if relabelled.is_goal(state))
    jumps, place = [], 0
    while place < end:
        choice = successors(relabelled, states[place])
        latest = min(end, next(each for each in ends if each > place))
        reached = next(
            (each for each in range(latest, place, -1) if place_of(relabelled, choice, states[each]) is not None), None
        )
        if reached is None:
            return None  # the action changed nothing
        jumps.append(tuple(path[place:reached]))
        place = reached
    return Episode(episode.problem, goal, tuple(jumps), solved=True)


def transitions(task: Task, episode: Episode, successors: Successors, encoder: LookaheadEncoder) -> list[Transition]:
    """Return an episode's transitions; consecutive transitions share a tree."""
    if not episode.jumps:
        return []
    ends = list(accumulate(map(len, episode.jumps), initial=0))
    path = replay(task, list(chain.from_iterable(episode.jumps)))
    states = [path[end] for end in ends]
    choices = [successors(task, state) for state in states]
    trees = [encoder.encode(task, *pair) if pair[1] else None for pair in zip(states, choices, strict=True)]
    steps = []
    for number, (tree, choice) in enumerate(zip(trees[:-1], choices, strict=False)):
        chosen = place_of(task, choice, states[number + 1])
        assert tree is not None
        assert chosen is not None, "a jump was a candidate"
        done = task.is_goal(states[number + 1])
        dead_end = not done and not choices[number + 1]
        steps.append(Transition(tree, chosen, None if done else trees[number + 1], dead_end))
    return steps


def place_of(task: Task, choice: Candidates, state: State) -> int | None:
    """Return the index of the candidate with this state, or None."""
    called = set(state_keys(task, state))
    return next((place for place, each in enumerate(choice.identities) if each in called), None)


class ReplayBuffer:
    """The last episodes, enough for `size` transitions; a checkpoint stores the episodes as text."""

    def __init__(self, tasks: Sequence[Task], successors: Successors, encoder: LookaheadEncoder, size: int):
        self._tasks, self._successors, self._encoder, self._size = tasks, successors, encoder, size
        self._episodes: list[tuple[Episode, list[Transition]]] = []

    @property
    def transitions(self) -> list[Transition]:
        """The last `size` transitions, oldest first."""
        return list(chain.from_iterable(steps for _, steps in self._episodes))[-self._size :]

    def add(self, episode: Episode) -> None:
        """Store an episode; drop the oldest episodes once the others have enough transitions."""
        task = self._tasks[episode.problem]
        if episode.goal is not None:
            task = Task(with_goal(task, episode.goal))
        self._episodes.append((episode, transitions(task, episode, self._successors, self._encoder)))
        while sum(len(steps) for _, steps in self._episodes[1:]) >= self._size:
            del self._episodes[0]

    def state_dict(self) -> Any:
        """Return the episodes as nested lists of words."""

        def words(terms: Sequence[Atom] | Sequence[Action]) -> list[list[str]]:
            return [[term[0], *term.objects] for term in terms]

        return [
            [each.problem, each.goal and words(each.goal), [words(jump) for jump in each.jumps], each.solved]
            for each, _ in self._episodes
        ]

    def load_state_dict(self, state: Any, /) -> None:
        """Restore episodes from lists of words, encoding them again."""
        self._episodes = []
        for problem, goal, jumps, solved in state:
            atoms = None if goal is None else _terms(Atom, goal)
            self.add(Episode(problem, atoms, tuple(_terms(Action, jump) for jump in jumps), solved))


def _terms(kind: Callable[[str, tuple[str, ...]], Any], words: Sequence[Sequence[str]]) -> tuple[Any, ...]:
    return tuple(kind(name, tuple(objects)) for name, *objects in words)


def hindsight_goal(task: Task, state: State, rng: np.random.Generator) -> tuple[Atom, ...] | None:
    """Return a goal like the task's that `state`, but not the initial state, satisfies; None where none was drawn."""
    at_first, here = set(task.atoms(task.init)), task.atoms(state)
    for _ in range(_GOAL_TRIES):
        goal = matched(task, here, rng, at_first)
        if not at_first.issuperset(goal):
            return goal
    return None


def matched(
    task: Task, atoms: Collection[Atom], rng: np.random.Generator, known: Collection[Atom] = ()
) -> tuple[Atom, ...]:
    """Match goal atoms, in random order, to `atoms` and return the matched atoms with the objects of `atoms`.

    Atoms that are not `known` are preferred, because an atom that is always true teaches nothing. An object of the goal
    has the same replacement everywhere, distinct objects have distinct replacements, and constants are not replaced.
    """
    types = {each.name: each.types for each in task.objects}
    replaced = {each.name: each.name for each in task.domain_text.constants}
    by_predicate: dict[str, list[Atom]] = {}
    for atom in atoms:
        by_predicate.setdefault(atom.predicate, []).append(atom)
    goal = []
    for place in rng.permutation(len(task.goal_atoms)):
        wanted, used = task.goal_atoms[place], set(replaced.values())
        candidates = [
            atom for atom in by_predicate.get(wanted.predicate, ()) if _matches(wanted, atom, replaced, used, types)
        ]
        candidates = [atom for atom in candidates if atom not in known] or candidates
        if candidates:
            goal.append(candidates[rng.integers(len(candidates))])
            replaced |= zip(wanted.objects, goal[-1].objects, strict=True)
    return tuple(goal)


def _matches(
    wanted: Atom, atom: Atom, replaced: Mapping[str, str], used: Collection[str], types: Mapping[str, tuple[str, ...]]
) -> bool:
    """Return whether a goal atom can become `atom`, given the replacements so far."""
    new: dict[str, str] = {}
    for name, other in zip(wanted.objects, atom.objects, strict=True):
        known = replaced.get(name) or new.get(name)
        if known is None:
            if other in used or other in new.values() or types[name] != types[other]:
                return False
            new[name] = other
        elif known != other:
            return False
    return True


def with_goal(task: Task, goal: Sequence[Atom]) -> Problem:
    """Return the task's problem with another goal."""
    text = replace(task.text, goal=tuple(Literal(atom, True) for atom in goal))
    return replace(task.problem, problem_pddl=format_problem(text))
