"""AIW-AD: a relational network scores all states of a width-1 lookahead in one pass; the planner jumps to the best.

Source: "Efficient Lookahead Encoding and Abstracted Width for Learning General Policies in Classical Planning"
(aiw-ad). The candidates are the states that abstracted IW(1) reaches. State and lookahead tree form one relational
graph (aggregated delta). The network gives each candidate a score Q. Two differences from the paper: the network is
smaller, and the variant `exact`, which is ours, learns from labels of whole state spaces instead of Q-learning.
Hindsight goals are those of Stahlberg and Geffner, "First-Order Representation Languages for Goal-Conditioned RL" (AAAI
2026), here over jumps: a goal is a pattern, in which distinct objects of the same types replace its objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import huber_loss

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.trees import TreeConfig, TreeEncoder, Trees, concatenate_trees, tree_encoder
from sgp.errors import ConfigurationError, check_fields
from sgp.methods.configuration import method_settings
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, require_readable
from sgp.models.device import Device
from sgp.models.networks import CandidateNetwork
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.lookahead import CandidateSet, successors_for
from sgp.planning.pddl import Action, Atom, DomainText, Problem, format_problem
from sgp.planning.pddl import Literal as GoalLiteral
from sgp.planning.policy import Node, Policy, Successors
from sgp.planning.states import State
from sgp.planning.task import Candidates, Task, replay
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.training.fit import Epoch, FitContext
from sgp.training.labels import LabelConfig, followed, label, spread
from sgp.training.tree_ranking import (
    PART,
    LabelledTrees,
    TreeScores,
    TreeTraining,
    depth_ranking_loss,
    fit_ranking,
    fit_trees,
    tree_scores,
)

Jump = tuple[Action, ...]
Batch = tuple[Trees, NDArray[np.int64], NDArray[np.float32]]  # trees, chosen candidates, targets of their scores
_GOAL_TRIES = 5  # goals drawn for a state until one is not satisfied initially


class Episode(NamedTuple):
    """A trajectory as text: index of the training problem, hindsight goal (None: the original goal) and jumps."""

    problem: int
    goal: tuple[Atom, ...] | None
    jumps: tuple[Jump, ...]
    solved: bool


class Transition(NamedTuple):
    """A lookahead tree, the chosen candidate, and the next tree: None in a goal state or a `dead_end`."""

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
    """Collect episodes of at most `horizon` jumps, drawn by exp(-cost / temperature) (AIW-AD, section 6)."""
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
    """Return the episode with a goal of one of its states, its jumps cut to candidates; None if there is none."""
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
        reached = next((each for each in range(latest, place, -1) if place_of(choice, states[each]) is not None), None)
        if reached is None:
            return None  # the action changed nothing
        jumps.append(tuple(path[place:reached]))
        place = reached
    return Episode(episode.problem, goal, tuple(jumps), solved=True)


def transitions(task: Task, episode: Episode, successors: Successors, encoder: TreeEncoder) -> list[Transition]:
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
        chosen = place_of(choice, states[number + 1])
        assert tree is not None
        assert chosen is not None, "a jump was a candidate"
        done = task.is_goal(states[number + 1])
        dead_end = not done and not choices[number + 1]
        steps.append(Transition(tree, chosen, None if done else trees[number + 1], dead_end))
    return steps


def place_of(choice: Candidates, state: State) -> int | None:
    """Return the index of the candidate with this state, or None."""
    return next((place for place, key in enumerate(choice.keys) if key == state.key), None)


class ReplayBuffer:
    """The last episodes, enough for `size` transitions; a checkpoint stores the episodes as text."""

    def __init__(self, tasks: Sequence[Task], successors: Successors, encoder: TreeEncoder, size: int):
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

    Atoms that are not `known` are preferred, because an atom that is always true teaches nothing.
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
    text = replace(task.text, goal=tuple(GoalLiteral(atom, True) for atom in goal))
    return replace(task.problem, problem_pddl=format_problem(text))


@dataclass(frozen=True)
class JumpLearning:
    """Collection of episodes and Q-learning. Defaults: AIW-AD, section 7, for jumps; in brackets: for actions."""

    discount: float = 0.999
    trajectories: int = 4  # per epoch, which the paper calls an episode
    jumps: int = 20  # maximum length of a trajectory (200)
    replay: int = 100  # transitions stored (1000); the paper leaves the unit open, inferred from the ratio to `jumps`
    hot: float = 1.0  # temperature of the first epoch
    cold: float = 0.1  # of the last epoch, after linear decay; the paper decays over 1000 episodes
    hindsight: bool = True  # relabel failed trajectories

    def __post_init__(self) -> None:
        check_fields(self, "learning's", ["hot", "cold", "discount"], trajectories=1, jumps=1, replay=1)
        if self.discount >= 1:
            raise ConfigurationError(f"learning's discount is {self.discount}; expected a number between 0 and 1")

    @property
    def never(self) -> float:
        """The value of a dead end: -1 per jump for ever; the paper does not define it."""
        return -1 / (1 - self.discount)

    def temperature(self, epoch: int, epochs: int) -> float:
        """Return the temperature of an epoch, counted from 1."""
        return self.hot + (epoch - 1) / max(epochs - 1, 1) * (self.cold - self.hot)


def fit_q(
    model: CandidateNetwork,
    config: TreeTraining,
    learning: JumpLearning,
    tasks: Sequence[Task],
    successors: Successors,
    encoder: TreeEncoder,
    validation: LabelledTrees,
    context: FitContext,
) -> Iterator[Epoch]:
    """Train by deep Q-learning; see `fit_trees`.

    In each epoch the network acts in randomly drawn tasks, sampling by its scores and a temperature. The episodes enter
    the replay buffer; failed episodes are also added with a hindsight goal. Then the network takes its steps toward the
    targets -1 + discount * max Q of the state that a jump leads to (Huber loss). Q is the network at the start of the
    epoch: the target network is renewed once per epoch, which the paper does not specify.
    """
    buffer, device = ReplayBuffer(tasks, successors, encoder, learning.replay), context.device

    def batches(epoch: int) -> Iterator[Batch]:
        rng = np.random.default_rng([context.seed, epoch])
        policy = TreeScores(encoder, model.eval(), device)
        places = rng.integers(len(tasks), size=learning.trajectories).tolist()
        temperature = learning.temperature(epoch, config.epochs)
        for episode in collect_episodes(tasks, places, policy, successors, temperature, learning.jumps, rng):
            buffer.add(episode)
            if learning.hindsight and not episode.solved:
                relabelled = relabel_with_hindsight_goal(tasks[episode.problem], episode, successors, rng)
                if relabelled is not None:
                    buffer.add(relabelled)
        transitions = buffer.transitions
        if not transitions:
            raise ConfigurationError(
                "no jump of a training problem was evaluated; expected problems whose initial state is no goal state "
                "and has successors"
            )
        trees = concatenate_trees([each.tree for each in transitions])
        chosen = np.array([each.chosen for each in transitions])
        q_values = targets(model, learning, transitions, device)
        model.train()
        for _ in range(config.steps):
            drawn = rng.integers(len(transitions), size=config.batch)
            yield trees.select(drawn), chosen[drawn], q_values[drawn]

    def losses(batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
        for part in batch[0].parts(PART[device]):
            trees, chosen, q_values = batch[0].select(part), batch[1][part], batch[2][part]
            graphs = model.graphs(*trees.joined())
            scores, depths = model(graphs)
            first = np.cumsum(trees.candidates) - trees.candidates
            taken = scores[torch.as_tensor(first + chosen, device=device)]
            wanted = torch.as_tensor(q_values, device=device)
            depth_losses = depth_ranking_loss(depths, graphs.depth_trees, len(part))
            yield huber_loss(taken, wanted, reduction="none"), depth_losses

    return fit_trees(model, config, batches, losses, validation, context, {"replay": buffer})


def targets(
    model: CandidateNetwork, learning: JumpLearning, transitions: Sequence[Transition], device: Device
) -> NDArray[np.float32]:
    """Return the targets of the jumps' scores [n]: -1 + discount * the value of the next state."""
    values = np.array([learning.never if each.dead_end else 0.0 for each in transitions], np.float32)
    open_ends = [place for place, each in enumerate(transitions) if each.after is not None]
    after = [each.after for each in transitions if each.after is not None]
    if after:
        values[open_ends] = [scores.max() for scores in tree_scores(model, concatenate_trees(after), device)]
    # Clip to the value of a dead end (lowest) and of a goal (highest), whatever the network predicts.
    return np.asarray(-1 + learning.discount * np.clip(values, learning.never, 0.0), np.float32)


LearnsBy = Literal["labels", "trying"]

_SMALL = RelationalShape(layers=12, hidden=32)  # AIW-AD, section 7: hidden 32; layers unprinted (pymimir-rgnn: 30)


@dataclass(frozen=True)
class AIWADTraining:
    """Candidates, graph, network, `labels` or Q-learning (`learning`), and `training`, the optimisation of both."""

    RENAMED_FIELDS: ClassVar[Mapping[str, str]] = {"enough": "min_novel"}  # by their names in earlier versions

    learns_by: LearnsBy = "labels"
    candidates: CandidateSet = "aiw"  # AIW, IW, one-step successors, or variants of AIW (AIW-AD, appendices B and C)
    min_novel: int = 0  # stop after a depth with so many novel states and progress; 0, as published: never
    trees: TreeConfig = field(default_factory=TreeConfig)
    shape: RelationalShape = _SMALL
    labels: LabelConfig = field(default_factory=lambda: LabelConfig(source="optimal-only", space=50_000))
    learning: JumpLearning = field(default_factory=JumpLearning)
    training: TreeTraining = field(default_factory=TreeTraining)
    decoding: str = DEFAULT  # used by validation to select among the epochs

    def __post_init__(self) -> None:
        check_fields(self, min_novel=0)
        if self.trees.encoding == "actions" and self.candidates != "one-step":
            raise ConfigurationError(
                f"trees.encoding actions conflicts with candidates {self.candidates}, which are several actions away; "
                "expected candidates one-step"
            )
        self.labels.refuse_dagger()

    @property
    def successors(self) -> Successors:
        """The generator of a state's candidates."""
        return successors_for(self.candidates, self.min_novel)


class AIWAD(NetworkMethod[AIWADTraining, BeamDecoding, LookaheadModel, TreeScores]):
    """The method of the AIW-AD paper, with its greedy decoding that excludes visited states."""

    key = "aiw-ad"
    paper = "aiw-ad"
    libraries = ("torch", "pymimir-rgnn")
    learns_from = Demonstrations
    variants: Mapping[str, AIWADTraining] = {"exact": AIWADTraining(), "aiw": AIWADTraining("trying")}
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding()}
    sweep: Sequence[Settings] = ()  # empty: the planners are epochs
    # The validation loss does not select the epoch: it grows as the network becomes confident in other correct choices.
    # The paper selects by coverage on validation problems, then by plan length: `--by coverage`.
    keeps: ClassVar[Literal["last", "least loss"]] = "last"
    ablations: Sequence[Settings] = method_settings(key)["ablations"]

    def invariant(self, training: AIWADTraining) -> bool:
        """Return whether candidates are one-step: jumps depend on the order in which atoms become novel."""
        return training.candidates == "one-step"

    def build(self, training: AIWADTraining, domain: DomainText) -> LookaheadModel:
        """Build the network over the relations of a lookahead tree."""
        return LookaheadModel(tree_encoder(domain, training.trees).relations, training.shape, training.trees.copied)

    def fit(
        self, training: AIWADTraining, data: Demonstrations, network: LookaheadModel, context: FitContext
    ) -> Iterator[Epoch]:
        """Train on labels, or by Q-learning without plans; the validation loss is that of the experts' decisions."""
        encoder, successors = tree_encoder(data.train[0].task.domain_text, training.trees), training.successors
        require_readable((*data.train, *data.validation), encoder.refuses)
        decisions = spread(list(followed(data.validation, successors)), training.training.compared)
        validation = LabelledTrees.of(encoder, decisions, f"the validation problems of {data.domain}")
        if training.learns_by == "trying":
            tasks, learning = [each.task for each in data.train], training.learning
            return fit_q(network, training.training, learning, tasks, successors, encoder, validation, context)
        decisions = label(training.labels, data.train, successors, np.random.default_rng(context.seed))
        train = LabelledTrees.of(encoder, decisions, f"the training problems of {data.domain}")
        return fit_ranking(network, training.training, train, validation, context)

    def learned(
        self, training: AIWADTraining, domain: DomainText, network: LookaheadModel, device: Device
    ) -> TreeScores:
        """Return the policy that follows the network's scores."""
        return TreeScores(tree_encoder(domain, training.trees), network, device)


METHOD = AIWAD()
