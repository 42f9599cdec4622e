"""Contrastive jumps: embed the transition to every state within reach, take the one nearest to a learned change.

The state-centric paper names multi-step transitions with symbolic verification as the way on; this is ours. Reach
are the states that a width-1 search reaches, each with the actions to it, so that every step stays executable. A
transition (s, s') is embedded with the goal; the predicted embedding of the best transition is phi(s) + delta, and the
candidate nearest to it is chosen. Training is contrastive: the states that the expert visits later against their
siblings.

What it is: delta is one vector, the same in every state, so that nearest-candidate decoding is a linear ranker in the
marked embedding. State and goal enter through the embedding of the pair alone. (`delta` "progress" makes it a function
of the state; it is not the default because it did not help.)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders.marked_transition import Embedded, MarkedConfig, MarkedTransitionEncoder
from sgp.errors import ConfigurationError, StoreError
from sgp.files import whole_file
from sgp.methods.configuration import configure_decoding, from_record, with_settings
from sgp.methods.contract import Settings, Snapshot, Weighed
from sgp.models.device import Device
from sgp.planning.planner import Planner
from sgp.planning.policy import ADD_UP, REPLACE, Successors
from sgp.planning.reach import Reach, check_reach, successors_for
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, ENOUGH, PORTFOLIO
from sgp.policies.jump_decoding import JumpDecoding
from sgp.policies.nearest_transition import NearestTransition, goal_share
from sgp.training.contrastive import (
    ContrastiveConfig,
    RankingProblem,
    contributions,
    fit_contrastive,
    sparse_rows,
)
from sgp.training.labels import LabelConfig, Labelled, candidate_costs, contrastive_loss, followed, label

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Delta = Literal["constant", "progress"]

# What the sweep of a joint training learns from, with larger state spaces than a single training expands.
_LABELS: Sequence[Settings] = (
    {"labels.source": "exact", "labels.space": "50000"},
    {"labels.source": "optimal", "labels.space": "50000"},
    {"labels.source": "experts"},
)
_GROWTH: Settings = {"embedding.walk_growth": "1.5"}
# As far as the way is clear: over distances that training did not have, what counts is where a jump ends.
_FARTHEST: Settings = {
    "candidates": "iw",
    "enough": "0",
    "labels.longest": "true",
    "embedding.lengths": "false",
    "embedding.passed_atoms": "true",
}
_REACHES: Sequence[tuple[Settings, Sequence[Settings]]] = (
    ({"candidates": "one-step"}, ({}, _GROWTH, {"embedding.passed_atoms": "true"})),
    (_FARTHEST, ({}, _GROWTH)),
    ({"candidates": "aiw"}, ({}, _GROWTH)),
)
_ENCODER, _DELTA = "encoder.safetensors", "delta.safetensors"


@dataclass(frozen=True)
class ContrastiveJumpsTraining:
    """Which candidates, which features, which loss."""

    candidates: Reach = "aiw"  # IW(1), abstracted IW(1), its variants, or successors alone
    enough: int = ENOUGH  # a lookahead ends after a depth with so many novel states and progress; 0: it never does
    representatives: bool = False  # of candidates that differ in interchangeable objects alone one
    embedding: MarkedConfig = field(default_factory=MarkedConfig)
    loss: ContrastiveConfig = field(default_factory=ContrastiveConfig)
    labels: LabelConfig = field(default_factory=LabelConfig)
    delta: Delta = "constant"  # one vector for all states, or one that moves with the share of the goal that is reached
    decoding: str = DEFAULT  # by which planners are validated, labels visit states, and the run plans by default

    def __post_init__(self) -> None:
        check_reach(self.candidates, self.enough)
        if self.delta not in get_args(Delta):
            raise ConfigurationError(f"delta is '{self.delta}'; expected one of {', '.join(get_args(Delta))}")
        if self.delta != "constant" and self.loss.kind == "squared":
            raise ConfigurationError(f"delta {self.delta} conflicts with loss.kind squared, whose mean is one vector")

        if self.representatives and "candidates=" in self.decoding:
            raise ConfigurationError(
                f"decoding {self.decoding} conflicts with representatives; leave its candidates out"
            )

    @property
    def successors(self) -> Successors:
        """What makes the candidates of a state."""
        return successors_for(self.candidates, self.enough, self.representatives)


class ContrastiveJumps:
    """Our own method: marked transitions, width-1 jumps, a contrastive loss."""

    key = "contrastive-jumps"
    title = "Contrastive jumps"
    paper = ""
    libraries: Sequence[str] = ("numba", "scipy")
    learns_from = Demonstrations
    variants: Mapping[str, ContrastiveJumpsTraining] = {
        "aiw": ContrastiveJumpsTraining(),
        "iw": ContrastiveJumpsTraining("iw"),
        "one-step": ContrastiveJumpsTraining("one-step"),
    }
    # A margin of 2: nodes that are exp(2) times less probable than the best are dropped.
    decodings: Mapping[str, JumpDecoding] = {
        DEFAULT: JumpDecoding(3, margin=2.0),
        "greedy": JumpDecoding(),
        "persistent": JumpDecoding(3, margin=2.0, patience=2),
        "escaping": JumpDecoding(shuns_dead_ends=True, escape=10),
        "restarts": JumpDecoding(shuns_dead_ends=True, escape=10, restarts=20),
        PORTFOLIO: JumpDecoding(shuns_dead_ends=True, escape=10, restarts=20, portfolio=True),
        "search": JumpDecoding(shuns_dead_ends=True, escape=10, restarts=20, search=True),
    }
    ablations: Sequence[Settings] = (
        {"loss.kind": "squared"},
        {"candidates": "one-step"},
        {"candidates": "iw"},
        {"candidates": "base-aiw"},
        {"enough": "0"},
        {"enough": "128"},
        {"labels.source": "experts"},
        {"labels.source": "visited"},
        {"labels.source": "joined"},
        {"embedding.closed_atoms": "0"},
        {"embedding.open_atoms": "0"},
        {"embedding.open_atoms": "0", "embedding.closed_atoms": "0"},
        {"embedding.open_atoms": "2"},
        {"embedding.iterations": "0"},
        {"embedding.iterations": "1"},
        {"embedding.iterations": "3"},
        {"embedding.counted": "true"},
        {"decoding.revisits": "true"},
        {"delta": "progress"},
        {"decoding.beam": "1"},
        {"loss.alpha": "0.1"},
        {"loss.alpha": "1.0"},
        {"loss.l2": "0.02"},
        {"loss.l2": "0.5"},
    )
    # Chosen one after the other; what costs no time in training comes first.
    choices: Mapping[str, Sequence[str]] = {
        "candidates": ("aiw", "iw", "one-step"),
        "decoding.beam": ("1", "3"),
        "enough": ("128", "64", "32", "16", "8", "4", "1"),
        "decoding.margin": ("0", "2", "1"),
        "embedding.open_atoms": ("1", "2"),
        "embedding.iterations": ("2", "1"),
        "loss.l2": ("0.1", "0.02"),
        "labels.source": ("experts", "optimal", "visited", "joined"),
        "labels.states": ("3000", "10000"),
    }

    # What a joint training passes through (`snapshots`), those of one labelling beside each other: of one coverage and
    # about one plan length the first is chosen, so that those stand first whose decisions take least.
    sweep: Sequence[Settings] = (
        *(
            {"representatives": "true", "decoding": "restarts", **reach, **source, **embedding}
            for (reach, embeddings), source in product(_REACHES, _LABELS)
            for embedding in embeddings
        ),
        {},
    )

    def deterministic(self, config: ContrastiveJumpsTraining) -> bool:
        """The loss is minimised from zero; only states of a state space are drawn."""
        return config.labels.deterministic

    def invariant(self, config: ContrastiveJumpsTraining) -> bool:
        """Features know no names. With jumps the candidates depend on the order in which atoms become novel."""
        return config.candidates == "one-step"

    def train(self, config: ContrastiveJumpsTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Embeds the candidates of every expert state and fits delta."""
        started = time.perf_counter()
        embedded = _Embedded.of(config, _labelled(config, data, draft.key.seed), _tasks(data))
        policy, facts = embedded.fit(config)
        _save(config, policy, facts, data, draft)
        draft.facts["seconds"] = round(time.perf_counter() - started, 3)
        return _planner(config, self.decodings[DEFAULT], policy)

    def snapshots(
        self,
        config: ContrastiveJumpsTraining,
        data: Demonstrations,
        folder: Path,
        seed: int,
        device: Device,
        after: int = 0,
    ) -> Iterator[Snapshot]:
        """One planner for each setting of `sweep`. Nothing is kept; what is skipped costs no time."""
        configs = [(each, with_settings(config, each)) for each in self.sweep[after:]]
        unary = 1 in data.train[0].task.domain_text.predicates.values()
        for labelling, group in groupby(configs, key=lambda pair: _labelling(pair[1])):
            decisions = _labelled(labelling, data, seed)
            held_out = list(followed(data.validation, labelling.successors, labelling.representatives))
            met: dict[tuple[ContrastiveJumpsTraining, str], Snapshot] = {}
            for found, each in group:
                name = ", ".join(f"{path} {value}" for path, value in found.items()) or "as alone"
                embedded = _Embedded.of(each, decisions, _tasks(data))
                passed = each.embedding.passed_atoms and unary
                plain = replace(each, embedding=replace(each.embedding, walk_growth=0.0, passed_atoms=passed))
                alike = plain, str(embedded.encoder.walked)
                if alike in met:  # nothing grows, and walks pass nothing that has an atom alone
                    yield replace(met[alike], name=name, like=met[alike].name)
                    continue
                policy, facts = embedded.fit(each)
                _, decoding = configure_decoding(self, each.decoding)
                loss = contrastive_loss(held_out, candidate_costs(_planner(each, decoding, policy).policy, held_out))
                met[alike] = Snapshot(name, each, loss, partial(_save, each, policy, facts, data))
                yield met[alike]

    def load(self, run: Run, decoding: JumpDecoding) -> Planner:
        """The planner of a run, verified to rank as it ranked when it was trained."""
        config = from_record(ContrastiveJumpsTraining, run.training)
        policy = self._policy(config, run)
        run.verify(policy.sample(Task(run.check_problem), config.successors))
        others = (self.load(run.second, decoding.alone),) if decoding.portfolio else ()
        return _planner(config, decoding, policy, others)

    def weighed(self, run: Run, data: Demonstrations, columns: Sequence[int]) -> Weighed:
        """Which decisions of training gave features their weights; of a state's delta both of its vectors."""
        config = from_record(ContrastiveJumpsTraining, run.training)
        if config.loss.kind == "squared":
            raise ConfigurationError("loss.kind is squared, by which no sibling pulls; expected contrastive")
        policy, decisions = self._policy(config, run), _labelled(config, data, run.key.seed)
        rows = [policy.encoder.embed(each.task, each.state, each.choice) for each in decisions]
        made = _Embedded(policy.encoder, decisions, _rows(rows, policy.encoder.dimension))
        places = np.add.outer(policy.encoder.dimension * np.arange(len(policy.weights)), np.asarray(columns)).ravel()
        pulls = contributions(config.loss, made.problem(config), policy.weights.ravel(), places)
        return Weighed(policy.weights[:, columns], decisions, pulls.reshape(len(decisions), len(policy.weights), -1))

    def _policy(self, config: ContrastiveJumpsTraining, run: Run) -> NearestTransition[MarkedTransitionEncoder]:
        """What a run learned."""
        walked = run.record["facts"]["walked"]
        if isinstance(walked, list):  # of a run from before walks knew places: whole predicates
            walked = {name: range(arity if name in walked else 0) for name, arity in run.domain_text.predicates.items()}
        encoder = MarkedTransitionEncoder.load(run.file(_ENCODER), config.embedding, run.domain_text, walked)
        try:
            weights = load_file(run.file(_DELTA))["weights"]
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{run.file(_DELTA)} holds no weights; train the run again") from error
        return NearestTransition(encoder, weights, config.loss.alpha)


def _labelled(config: ContrastiveJumpsTraining, data: Demonstrations, seed: int) -> list[Labelled]:
    """The decisions to learn from."""
    _, decoding = configure_decoding(METHOD, config.decoding)

    def fit(decisions: Sequence[Labelled]) -> Planner:
        return _planner(config, decoding, _Embedded.of(config, decisions, _tasks(data)).fit(config)[0])

    rng = np.random.default_rng(seed)
    return label(config.labels, data.train, config.successors, fit, rng, config.representatives)


def _labelling(config: ContrastiveJumpsTraining) -> ContrastiveJumpsTraining:
    """The configuration without what its labels do not depend on."""
    if config.labels.source in ("visited", "joined"):
        return config  # what is learned visits states
    plain = ContrastiveJumpsTraining()
    return replace(config, embedding=plain.embedding, loss=plain.loss, delta=plain.delta)


def _tasks(data: Demonstrations) -> list[Task]:
    """The training problems, whether or not labels are taken from them."""
    return [each.task for each in data.train]


@dataclass(frozen=True)
class _Embedded:
    """Decisions with all their candidates embedded."""

    encoder: MarkedTransitionEncoder
    decisions: Sequence[Labelled]
    rows: csr_array  # [b, D]

    @classmethod
    def of(cls, config: ContrastiveJumpsTraining, decisions: Sequence[Labelled], tasks: Sequence[Task]) -> _Embedded:
        """Finds the features, of all training tasks' static relations too, and embeds."""
        transitions = [(each.task, each.state, each.choice) for each in decisions]
        encoder, embedded = MarkedTransitionEncoder.fit(config.embedding, transitions, tasks)
        return cls(encoder, decisions, _rows(embedded, encoder.dimension))

    def fit(
        self, config: ContrastiveJumpsTraining
    ) -> tuple[NearestTransition[MarkedTransitionEncoder], dict[str, float]]:
        """Fits delta; the policy, and what the fit says of itself."""
        problem = self.problem(config)
        weights, facts = fit_contrastive(config.loss, sparse_rows(problem.rows), *problem[1:])
        weights = weights.reshape(-1, self.encoder.dimension)
        policy = NearestTransition(self.encoder, weights, config.loss.alpha)
        return policy, {"decisions": len(self.decisions), **facts}

    def problem(self, config: ContrastiveJumpsTraining) -> RankingProblem:
        """What is fitted: all rows, a second time by the share of the goal where delta moves with it, and labels."""
        rows, counts = self.rows, [len(each.choice) for each in self.decisions]
        squares = rows.multiply(rows)
        if config.delta == "progress":
            from scipy.sparse import csr_array, hstack

            shares = np.repeat([goal_share(each.task, each.state) for each in self.decisions], counts)
            rows = csr_array(hstack([rows, rows.multiply(shares[:, None])], format="csr"))
        return RankingProblem(
            rows,
            np.asarray(squares.sum(axis=1)).ravel(),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([each.positive for each in self.decisions]),
            np.array([each.weight for each in self.decisions]),
        )


def _save(
    config: ContrastiveJumpsTraining,
    policy: NearestTransition[MarkedTransitionEncoder],
    facts: Mapping[str, float],
    data: Demonstrations,
    draft: RunDraft,
) -> None:
    """Writes what `load` reads."""
    policy.encoder.save(draft.folder / _ENCODER)
    with whole_file(draft.folder / _DELTA) as temporary:
        save_file({"weights": policy.weights}, temporary)
    draft.facts.update(
        dimension=policy.encoder.dimension,
        parameters=int(np.count_nonzero(policy.weights)),
        walked=policy.encoder.walked,
        **facts,
    )
    task = data.train[0].task
    draft.keep_check(task.problem, policy.sample(task, config.successors))


def _planner(
    config: ContrastiveJumpsTraining,
    decoding: JumpDecoding,
    policy: NearestTransition[MarkedTransitionEncoder],
    others: Sequence[Planner] = (),
) -> Planner:
    """Costs add up along a path where several paths are compared."""
    rules = ADD_UP if decoding.beam > 1 else REPLACE
    return decoding.planner(
        replace(policy, rules=rules, patience=decoding.patience, escape=decoding.escape, seed=decoding.seed),
        config.successors,
        others,
    )


def _rows(embedded: Sequence[Embedded], dimension: int) -> csr_array:
    """All embeddings [b, D] as one sparse matrix, the two numbers in the last columns."""
    from scipy.sparse import csr_array, hstack  # as in `sgp.training.contrastive`

    counts = np.concatenate([np.diff(each.first) for each in embedded])
    columns = np.concatenate([each.columns for each in embedded])
    scalars = np.vstack([each.scalars for each in embedded])
    shape = len(counts), dimension - scalars.shape[1]
    known = csr_array((np.ones(len(columns)), columns, np.concatenate([[0], np.cumsum(counts)])), shape=shape)
    return csr_array(hstack([known, csr_array(scalars)], format="csr"))


METHOD = ContrastiveJumps()
