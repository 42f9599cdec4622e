"""Contrastive jumps: embed the transition to every reachable candidate and take the one nearest to a learned change.

This method is ours; the state-centric paper proposes multi-step transitions with symbolic verification as future work.
Candidates are the states that a width-1 search reaches, each with its action sequence, so that every step is
executable. A transition (s, s') is embedded together with the goal. The predicted embedding of the best transition is
phi(s) + delta, and the nearest candidate is chosen. Training is contrastive: states that the expert visits later are
contrasted with their sibling candidates.

By default delta is one vector for all states, so that nearest-candidate decoding is a linear ranker on the marked
embedding (features of the state's graph with the changed atoms marked). State and goal enter only through the embedding
of the transition. `delta` "progress" makes delta a function of the state; it is not the default because it did not
improve results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Demonstrations
from sgp.encoders.marked_transition import Embedded, MarkedConfig, MarkedTransitionEncoder
from sgp.errors import ConfigurationError, StoreError, check_fields
from sgp.files import whole_file
from sgp.methods.configuration import configure_decoding, from_record, method_settings, with_settings
from sgp.methods.contract import Checkpoint, MethodBase, Settings, WeightContributions
from sgp.models.device import Device
from sgp.planning.lookahead import CandidateSet, successors_for
from sgp.planning.planner import Planner
from sgp.planning.policy import ADD_UP, REPLACE, Successors
from sgp.planning.task import Task
from sgp.policies.decoding import DEFAULT, MIN_NOVEL, PORTFOLIO, JumpDecoding
from sgp.policies.nearest_transition import NearestTransition, goal_share
from sgp.training.contrastive import ContrastiveConfig, RankingProblem, contributions, fit_contrastive, sparse_rows
from sgp.training.labels import LabelConfig, Labelled, candidate_costs, contrastive_loss, followed, label

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Delta = Literal["constant", "progress"]

# Label sources of the sweep of a joint training, with larger state spaces than a single training expands.
_LABELS: Sequence[Settings] = (
    {"labels.source": "optimal-only", "labels.space": "50000"},
    {"labels.source": "optimal", "labels.space": "50000"},
    {"labels.source": "expert"},
)
_WALK_GROWTH: Settings = {"embedding.walk_growth": "1.5"}
# Whether a truck is in the city of a package's goal: (at truck), (in-city), (in-city) and the goal.
_LONGER_WALKS: Settings = {"embedding.closed_atoms": "4"}
# Longest jumps. The length of a jump is no feature: test problems need longer jumps than training has.
_LONGEST_LOOKAHEAD: Settings = {
    "candidates": "iw",
    "min_novel": "0",
    "labels.longest": "true",
    "embedding.lengths": "false",
    "embedding.passed_atoms": "true",
}
_CANDIDATE_SETS: Sequence[tuple[Settings, Sequence[Settings]]] = (
    ({"candidates": "one-step"}, ({}, _WALK_GROWTH, {"embedding.passed_atoms": "true"})),
    (_LONGEST_LOOKAHEAD, ({}, _WALK_GROWTH)),
    ({"candidates": "aiw"}, ({}, _WALK_GROWTH, _LONGER_WALKS)),
)
# Long rollouts take candidates together that are at most exp(4) times less probable than the chosen one.
_RESTARTS = JumpDecoding(prune_dead_ends=True, noise_after=10, restarts=20, parallel=4.0, parallel_after=100_000)
_BEST_FIRST = replace(_RESTARTS, restarts=0, best_first=5.0)
_ENCODER, _DELTA = "encoder.safetensors", "delta.safetensors"


@dataclass(frozen=True)
class JumpsTraining:
    """Candidate set, features, loss and labels."""

    RENAMED_FIELDS: ClassVar[Mapping[str, str]] = {"enough": "min_novel"}  # by their names in earlier versions

    candidates: CandidateSet = "aiw"  # IW(1), abstracted IW(1) or a variant of it, or one-step successors
    min_novel: int = MIN_NOVEL  # stop a lookahead after a depth with so many novel states and progress; 0: never
    representatives: bool = False  # one representative of candidates that differ only in interchangeable objects
    embedding: MarkedConfig = field(default_factory=MarkedConfig)
    loss: ContrastiveConfig = field(default_factory=ContrastiveConfig)
    labels: LabelConfig = field(default_factory=LabelConfig)
    delta: Delta = "constant"  # one vector for all states, or linear in the share of satisfied goal literals
    decoding: str = DEFAULT  # used for validation, to visit states for labels, and as the run's default

    def __post_init__(self) -> None:
        check_fields(self, min_novel=0)
        if self.delta != "constant" and self.loss.kind == "squared":
            raise ConfigurationError(f"delta {self.delta} conflicts with loss.kind squared, whose mean is one vector")
        if self.representatives and "candidates=" in self.decoding:
            raise ConfigurationError(
                f"decoding {self.decoding} conflicts with representatives; leave its candidates out"
            )

    @property
    def successors(self) -> Successors:
        """The generator of a state's candidates."""
        return successors_for(self.candidates, self.min_novel, self.representatives)


class ContrastiveJumps(MethodBase):
    """Our method: marked transitions, width-1 jumps and a contrastive loss."""

    key = "contrastive-jumps"
    libraries: Sequence[str] = ("numpy", "scipy")
    learns_from = Demonstrations
    variants: Mapping[str, JumpsTraining] = {
        "aiw": JumpsTraining(),
        "iw": JumpsTraining("iw"),
        "one-step": JumpsTraining("one-step"),
    }
    # Margin 2: nodes that are exp(2) times less probable than the best node are dropped.
    decodings: Mapping[str, JumpDecoding] = {
        DEFAULT: JumpDecoding(3, margin=2.0),
        "greedy": JumpDecoding(),
        "escaping": JumpDecoding(prune_dead_ends=True, noise_after=10),
        "restarts": _RESTARTS,
        PORTFOLIO: replace(_RESTARTS, portfolio=True),
        "best-first": _BEST_FIRST,
        "search": replace(_BEST_FIRST, search=True),
    }
    ablations: Sequence[Settings] = method_settings(key)["ablations"]
    choices: Mapping[str, Sequence[str]] = method_settings(key)["choices"]
    # Planners of a joint training (`checkpoints`), grouped by labelling. Among planners of equal coverage and similar
    # plan length the first is chosen, so candidate sets with the fastest decisions come first.
    sweep: Sequence[Settings] = (
        *(
            {"representatives": "true", "decoding": "restarts", **candidates, **source, **embedding}
            for (candidates, embeddings), source in product(_CANDIDATE_SETS, _LABELS)
            for embedding in embeddings
        ),
        {},
    )

    def deterministic(self, config: JumpsTraining) -> bool:
        """Return whether no states are sampled for labels; optimisation starts from zero."""
        return config.labels.deterministic

    def invariant(self, config: JumpsTraining) -> bool:
        """Return whether candidates are one-step: jumps depend on the order in which atoms become novel."""
        return config.candidates == "one-step"

    def train(self, config: JumpsTraining, data: Demonstrations, draft: RunDraft) -> Planner:
        """Embed the candidates of every labelled state and fit delta."""
        started = time.perf_counter()
        embedded = _Embedded.of(config, _labelled(config, data, draft.key.seed), data)
        policy, facts = embedded.fit(config)
        _save(config, policy, facts, data, draft)
        draft.facts["seconds"] = round(time.perf_counter() - started, 3)
        return _planner(config, self.decodings[DEFAULT], policy)

    def checkpoints(
        self, config: JumpsTraining, data: Demonstrations, folder: Path, seed: int, device: Device, after: int = 0
    ) -> Iterator[Checkpoint]:
        """Yield one planner per setting of `sweep`; nothing is stored in `folder`; skipped planners cost no time."""
        configs = [(settings, with_settings(config, settings)) for settings in self.sweep[after:]]
        unary = 1 in data.train[0].task.domain_text.predicates.values()
        for labelling, group in groupby(configs, key=lambda pair: _labelling(pair[1])):
            decisions = _labelled(labelling, data, seed)
            held_out = list(followed(data.validation, labelling.successors, labelling.representatives))
            yielded: dict[tuple[JumpsTraining, str], Checkpoint] = {}
            for settings, changed in group:
                name = ", ".join(f"{path} {value}" for path, value in settings.items()) or "as alone"
                embedded = _Embedded.of(changed, decisions, data)
                passed = changed.embedding.passed_atoms and unary
                plain = replace(changed, embedding=replace(changed.embedding, walk_growth=0.0, passed_atoms=passed))
                features = plain, str(embedded.encoder.walked)
                if features in yielded:  # walk_growth and passed_atoms change nothing in this domain
                    yield replace(yielded[features], name=name, like=yielded[features].name)
                    continue
                policy, facts = embedded.fit(changed)
                _, decoding = configure_decoding(self, changed.decoding)
                loss = contrastive_loss(held_out, candidate_costs(_planner(changed, decoding, policy).policy, held_out))
                yielded[features] = Checkpoint(name, changed, loss, partial(_save, changed, policy, facts, data))
                yield yielded[features]

    def load(self, run: Run, decoding: JumpDecoding) -> Planner:
        """Return the planner of a run, verified against the costs stored in the run."""
        config = from_record(JumpsTraining, run.training)
        policy = self._policy(config, run)
        run.verify(policy.sample(Task(run.check_problem), config.successors))
        others = (self.load(run.second, decoding.alone),) if decoding.portfolio else ()
        return _planner(config, decoding, policy, others)

    def weight_contributions(self, run: Run, data: Demonstrations, columns: Sequence[int]) -> WeightContributions:
        """Return the contribution of each training decision to the weights of `columns`, in every row of delta."""
        config = from_record(JumpsTraining, run.training)
        if config.loss.kind == "squared":
            raise ConfigurationError(
                "loss.kind is squared, with which other candidates have no influence; expected contrastive"
            )
        policy, decisions = self._policy(config, run), _labelled(config, data, run.key.seed)
        rows = [policy.encoder.embed(each.task, each.state, each.choice) for each in decisions]
        made = _Embedded(policy.encoder, decisions, _rows(rows, policy.encoder.dimension))
        places = np.add.outer(policy.encoder.dimension * np.arange(len(policy.weights)), np.asarray(columns)).ravel()
        pulls = contributions(config.loss, made.problem(config), policy.weights.ravel(), places)
        return WeightContributions(
            policy.weights[:, columns], decisions, pulls.reshape(len(decisions), len(policy.weights), -1)
        )

    def _policy(self, config: JumpsTraining, run: Run) -> NearestTransition:
        """Load the policy of a run."""
        walked = run.record["facts"]["walked"]
        if isinstance(walked, list):  # older runs list predicates without argument positions
            walked = {name: range(arity if name in walked else 0) for name, arity in run.domain_text.predicates.items()}
        encoder = MarkedTransitionEncoder.load(run.file(_ENCODER), config.embedding, run.domain_text, walked)
        try:
            weights = load_file(run.file(_DELTA))["weights"]
        except (SafetensorError, KeyError, OSError) as error:
            raise StoreError(f"{run.file(_DELTA)} holds no weights; train the run again") from error
        return NearestTransition(encoder, weights, config.loss.alpha)


def _labelled(config: JumpsTraining, data: Demonstrations, seed: int) -> list[Labelled]:
    """Return the labelled decisions of the training problems."""
    _, decoding = configure_decoding(METHOD, config.decoding)

    def fit(decisions: Sequence[Labelled]) -> Planner:
        return _planner(config, decoding, _Embedded.of(config, decisions, data).fit(config)[0])

    rng = np.random.default_rng(seed)
    return label(config.labels, data.train, config.successors, rng, fit, config.representatives)


def _labelling(config: JumpsTraining) -> JumpsTraining:
    """Return the configuration with the fields reset that do not affect its labels."""
    if config.labels.visits_states:
        return config  # the learned policy visits states, so every field matters
    plain = JumpsTraining()
    return replace(config, embedding=plain.embedding, loss=plain.loss, delta=plain.delta)


@dataclass(frozen=True)
class _Embedded:
    """Decisions with all their candidates embedded."""

    encoder: MarkedTransitionEncoder
    decisions: Sequence[Labelled]
    rows: csr_array  # [b, D]

    @classmethod
    def of(cls, config: JumpsTraining, decisions: Sequence[Labelled], data: Demonstrations) -> _Embedded:
        """Collect the features, also from the static relations of all training tasks, and embed the candidates."""
        transitions = [(each.task, each.state, each.choice) for each in decisions]
        tasks = [each.task for each in data.train]
        encoder, embedded = MarkedTransitionEncoder.fit(config.embedding, transitions, tasks)
        return cls(encoder, decisions, _rows(embedded, encoder.dimension))

    def fit(self, config: JumpsTraining) -> tuple[NearestTransition, dict[str, float]]:
        """Fit delta; return the policy and facts about the fit."""
        problem = self.problem(config)
        weights, facts = fit_contrastive(config.loss, sparse_rows(problem.rows), *problem[1:])
        policy = NearestTransition(self.encoder, weights.reshape(-1, self.encoder.dimension), config.loss.alpha)
        return policy, {"decisions": len(self.decisions), **facts}

    def problem(self, config: JumpsTraining) -> RankingProblem:
        """Build the ranking problem; "progress" adds the rows times the share of satisfied goal literals."""
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
    config: JumpsTraining, policy: NearestTransition, facts: Mapping[str, float], data: Demonstrations, draft: RunDraft
) -> None:
    """Write the files that `load` reads."""
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
    config: JumpsTraining, decoding: JumpDecoding, policy: NearestTransition, others: Sequence[Planner] = ()
) -> Planner:
    """Return the planner; costs add up along a path where the beam compares several paths."""
    rules = ADD_UP if decoding.beam > 1 else REPLACE
    return decoding.planner(
        replace(policy, rules=rules, noise_after=decoding.noise_after, seed=decoding.seed), config.successors, others
    )


def _rows(embedded: Sequence[Embedded], dimension: int) -> csr_array:
    """Return all embeddings [b, D] as one sparse matrix; the scalar features are the last columns."""
    from scipy.sparse import csr_array, hstack  # imported lazily, as in `sgp.training.contrastive`

    counts = np.concatenate([np.diff(each.first) for each in embedded])
    columns = np.concatenate([each.columns for each in embedded])
    scalars = np.vstack([each.scalars for each in embedded])
    shape = len(counts), dimension - scalars.shape[1]
    known = csr_array((np.ones(len(columns)), columns, np.concatenate([[0], np.cumsum(counts)])), shape=shape)
    return csr_array(hstack([known, csr_array(scalars)], format="csr"))


METHOD = ContrastiveJumps()
