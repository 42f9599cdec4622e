"""Transformer without object names: exact symmetry by construction, for problems of any size.

This method is ours, a counterpart of "Symmetry-Aware Transformer Training for Automated Planning" (symt). There, tokens
are names, and losses teach the transformer to ignore them. Here objects have no names, so that nothing must be taught.
The network scores the applicable actions of a state. Labels come from whole state spaces: all optimal actions are
correct.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sgp.datasets.training_data import Demonstrations
from sgp.encoders.trees import TreeConfig, TreeEncoder, applied
from sgp.errors import ConfigurationError, check_fields
from sgp.methods.contract import Settings
from sgp.methods.network_method import NetworkMethod, require_readable
from sgp.models.device import Device
from sgp.models.networks import CandidateGraphs, CandidateNetwork
from sgp.planning.pddl import DomainText
from sgp.planning.policy import ADD_UP, Node, Ranking, Rules, Successors, one_step
from sgp.planning.task import Successor, Task
from sgp.policies.decoding import DEFAULT, BeamDecoding
from sgp.training.fit import Epoch, FitContext
from sgp.training.labels import LabelConfig, followed, label, spread
from sgp.training.tree_ranking import LabelledTrees, TreeScores, TreeTraining, fit_ranking, tree_scores


@dataclass(frozen=True)
class NamelessShape:
    """Layers of the network. Raises ConfigurationError for invalid values."""

    layers: int = 6  # layers with shared weights, as in symt
    hidden: int = 64  # dimension of an object's vector
    heads: int = 4
    drawn: bool = False  # whether half of an object's initial vector is random, like a name; else all are equal

    def __post_init__(self) -> None:
        check_fields(self, "nameless", layers=1, hidden=1, heads=1)
        if self.hidden % self.heads:
            raise ConfigurationError(
                f"nameless hidden is {self.hidden}; expected a multiple of heads, which is {self.heads}"
            )


class _Atoms(NamedTuple):
    """Tuples of all relations as tokens: relations [m], objects by position [m, k], and valid positions [m, k]."""

    relations: Tensor
    objects: Tensor
    has: Tensor


class NamelessModel(CandidateNetwork):
    """Network from graphs of states with their candidates to a score of each candidate.

    Objects have equal initial vectors, unless `drawn`. Each layer, with pre-normalisation, makes a token of every tuple
    from its relation and its objects' vectors by position. Every object then attends to its tokens, then to the objects
    of its graph, and passes a feed-forward network. A candidate is scored from its schema, the vectors of its action's
    objects by position, and the mean over all objects. Relations in `actions` have the candidate as their first
    argument.
    """

    def __init__(self, arities: Mapping[str, int], actions: Collection[str], shape: NamelessShape):
        super().__init__()
        self.shape = shape
        self.drawing = torch.Generator()  # of the random part of initial vectors
        self._places = {name: place for place, name in enumerate(arities)}
        self._actions = [name for name in arities if name in actions]
        self._facts = [name for name in arities if name not in actions]
        hidden = shape.hidden
        self._longest = max((arities[name] for name in self._facts), default=1)
        self._most = max((arities[name] - 1 for name in self._actions), default=0)
        self.kinds = nn.Embedding(len(arities), hidden)
        self.start = nn.Parameter(torch.randn(hidden) / math.sqrt(hidden))
        self.gather = nn.Linear(hidden, self._longest * hidden, bias=False)
        self.token = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 2 * hidden), nn.GELU())
        self.scatter = nn.Linear(2 * hidden, self._longest * 2 * hidden)
        self.query, self.token_output = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.query_key_value, self.object_output = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.feed_forward = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(4))
        self.apply_to = nn.Linear(hidden, (1 + self._most) * hidden, bias=False)
        self.score = nn.Sequential(
            nn.LayerNorm(hidden), nn.Linear(hidden, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, 1)
        )

    def forward(self, graphs: CandidateGraphs) -> tuple[Tensor, Tensor]:
        """Return the scores [c] of candidates, and zeros [d] for depths, which this network ignores."""
        place = graphs.objects.new_zeros(graphs.nodes)
        place[graphs.objects] = torch.arange(len(graphs.objects), device=place.device)
        atoms = self._atoms(graphs, place)
        vectors = self._first(graphs)
        counts = torch.bincount(graphs.object_trees)
        taken = torch.arange(int(counts.max()), device=place.device)[None] < counts[:, None]
        for _ in range(self.shape.layers):
            vectors = vectors + self._from_atoms(self.norms[0](vectors), atoms)
            vectors = vectors + self._from_objects(self.norms[1](vectors), taken)
            vectors = vectors + self.feed_forward(self.norms[2](vectors))
        return self._scores(self.norms[3](vectors), graphs, place), vectors.new_zeros(len(graphs.depths))

    def _first(self, graphs: CandidateGraphs) -> Tensor:
        """Return the initial vectors of objects [t, hidden], in part random if `drawn`."""
        vectors = self.start.expand(len(graphs.objects), -1)
        if not self.shape.drawn:
            return vectors
        drawn = torch.randn(len(vectors), self.shape.hidden // 2, generator=self.drawing).to(vectors.device)
        return torch.cat([vectors[:, drawn.shape[1] :], drawn], dim=1)

    def _atoms(self, graphs: CandidateGraphs, place: Tensor) -> _Atoms:
        rows = [graphs.arguments[name] for name in self._facts]
        relations = torch.cat(
            [place.new_full((len(each),), self._places[name]) for name, each in zip(self._facts, rows, strict=True)]
        )
        objects = torch.cat([functional.pad(each, (0, self._longest - each.shape[1]), value=-1) for each in rows])
        has = objects >= 0
        return _Atoms(relations, place[objects.clamp(min=0)], has)

    def _from_atoms(self, vectors: Tensor, atoms: _Atoms) -> Tensor:
        """Return the update [t, hidden] of objects by attention to their tokens; without tokens, the output's bias."""
        hidden, heads = self.shape.hidden, self.shape.heads
        token = self.kinds(atoms.relations) + self._by_position(self.gather(vectors), atoms.objects, atoms.has)
        pairs = self.scatter(self.token(token)).view(len(token), self._longest, 2 * hidden)[atoms.has]  # [p, 2 hidden]
        objects = atoms.objects[atoms.has]
        keys, values = (each.view(-1, heads, hidden // heads) for each in pairs.split(hidden, dim=1))
        queries = self.query(vectors).view(-1, heads, hidden // heads)[objects]
        weights = _softmax_by((queries * keys).sum(dim=2) / math.sqrt(hidden // heads), objects, len(vectors))
        weighed = (weights[:, :, None] * values).flatten(1)
        update: Tensor = self.token_output(vectors.new_zeros(len(vectors), hidden).index_add(0, objects, weighed))
        return update

    def _by_position(self, vectors: Tensor, objects: Tensor, has: Tensor) -> Tensor:
        """Sum, for each row [m, k] of objects, their vectors for the object's position; `vectors` is [t, k hidden]."""
        every = vectors.view(len(vectors), -1, self.shape.hidden)
        found = every.new_zeros(len(objects), self.shape.hidden)
        for position in range(objects.shape[1]):
            found = found + every[objects[:, position], position] * has[:, position, None]
        return found

    def _from_objects(self, vectors: Tensor, taken: Tensor) -> Tensor:
        """Return the update [t, hidden] of objects by attention to their graph; `taken` [b, n] marks non-padding."""
        width = self.shape.hidden // self.shape.heads
        seated = vectors.new_zeros(*taken.shape, 3 * self.shape.hidden)
        seated[taken] = self.query_key_value(vectors)
        by_head = seated.view(*taken.shape, 3, self.shape.heads, width)
        queries, keys, values = by_head.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=taken[:, None, None])
        update: Tensor = self.object_output(attended.transpose(1, 2).flatten(2)[taken])
        return update

    def _scores(self, vectors: Tensor, graphs: CandidateGraphs, place: Tensor) -> Tensor:
        trees = int(graphs.object_trees[-1]) + 1  # every graph has objects
        counts = torch.bincount(graphs.object_trees, minlength=trees)
        sums = vectors.new_zeros(trees, self.shape.hidden).index_add(0, graphs.object_trees, vectors)
        seen = self.apply_to(vectors)
        mean = self.apply_to(sums / counts[:, None])[:, : self.shape.hidden]
        candidate = place.new_zeros(graphs.nodes)
        candidate[graphs.places] = torch.arange(len(graphs.places), device=place.device)
        read = mean[graphs.candidate_trees]
        for name in self._actions:
            rows = graphs.arguments[name]
            objects = place[rows[:, 1:]]
            chosen = self.kinds.weight[self._places[name]] + self._by_position(
                seen[:, self.shape.hidden :], objects, torch.ones_like(objects, dtype=torch.bool)
            )
            read = read.index_add(0, candidate[rows[:, 0]], chosen)
        scores: Tensor = self.score(read)[:, 0]
        return scores


def _softmax_by(logits: Tensor, owners: Tensor, count: int) -> Tensor:
    """Return the softmax of logits [p, h] over the entries of each owner."""
    where = owners[:, None].expand_as(logits)
    most = logits.new_full((count, logits.shape[1]), -math.inf).scatter_reduce(0, where, logits.detach(), "amax")
    powers = (logits - most[owners]).exp()
    sums = logits.new_zeros(count, logits.shape[1]).index_add(0, owners, powers)
    return powers / sums[owners]


@dataclass(frozen=True, eq=False)
class ActionProbabilities(TreeScores):
    """Policy with costs -log of action probabilities; actions that the network cannot distinguish share keys."""

    model: NamelessModel
    rules: Rules = ADD_UP

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node."""
        return [probability_ranking(place, scores) for place, scores in enumerate(self.scores(nodes, choices))]

    def sample(self, task: Task, successors: Successors) -> dict[str, NDArray[np.float64]]:
        """Return the costs [n] of the initial state's candidates, before similar costs become equal."""
        (scores,) = self.scores([Node(task, task.init)], [successors(task, task.init)])
        return {"costs": _probability_costs(scores)}

    def scores(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[NDArray[np.float32]]:
        """Return the candidates' scores of each node; random object vectors are seeded by the problem's text."""
        if not self.model.shape.drawn:
            return super().scores(nodes, choices)
        scores = list[NDArray[np.float32]]()
        for node, tree in zip(nodes, self._trees(nodes, choices), strict=True):
            self.model.drawing.manual_seed(int(node.task.problem.sha256[:15], 16))
            scores += tree_scores(self.model, tree, self.device)
        return scores


def probability_ranking(node: int, scores: NDArray[np.float32]) -> Ranking:
    """Rank one node's candidates by scores [n]; costs within `TOLERANCE` of a group's cheapest become equal."""
    costs = _probability_costs(scores)
    groups, cheapest = np.empty(len(costs), np.int64), list[float]()
    for place in np.argsort(costs, kind="stable").tolist():
        if not cheapest or costs[place] > cheapest[-1] + TOLERANCE:
            cheapest.append(float(costs[place]))
        groups[place] = len(cheapest) - 1
    return Ranking(np.array(cheapest)[groups], keys=[(node, group) for group in groups.tolist()])


def _probability_costs(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return -log of the probability of each candidate [n]."""
    exact = scores.astype(np.float64)
    return np.asarray(np.logaddexp.reduce(exact) - exact)


TOLERANCE = 1e-4  # of equal scores: symmetric actions differ by far less (rounding), others by far more
_ACTIONS = TreeConfig("actions", depths=False, edges=False)
_SPACE = 100_000  # most states of an expanded state space


@dataclass(frozen=True)
class NamelessTraining:
    """Network, labels and training; the loss is the contrastive one without the depth term."""

    shape: NamelessShape = field(default_factory=NamelessShape)
    labels: LabelConfig = field(default_factory=lambda: LabelConfig(source="optimal", space=_SPACE))
    training: TreeTraining = field(default_factory=lambda: TreeTraining(epochs=30, depth_weight=0.0))
    decoding: str = DEFAULT  # used by validation to select among the epochs

    def __post_init__(self) -> None:
        self.labels.refuse_dagger()
        if self.training.depth_weight:
            raise ConfigurationError(
                f"training.depth_weight is {self.training.depth_weight}; expected 0, because all candidates are one "
                "action away"
            )


class Nameless(NetworkMethod[NamelessTraining, BeamDecoding, NamelessModel, ActionProbabilities]):
    """Action ranking by a transformer over nameless objects; the default decoding excludes visited states."""

    key = "nameless"
    paper = "symt"
    learns_from = Demonstrations
    variants: Mapping[str, NamelessTraining] = {
        "pointer": NamelessTraining(),
        "random-names": NamelessTraining(NamelessShape(drawn=True)),  # intermediate variant: random vectors as names
    }
    decodings: Mapping[str, BeamDecoding] = {DEFAULT: BeamDecoding(), "greedy": BeamDecoding(revisits=True)}
    sweep: Sequence[Settings] = ()  # empty: the planners are epochs
    keeps: ClassVar[Literal["last", "least loss"]] = "last"  # the last epoch has the smallest steps

    def invariant(self, training: NamelessTraining) -> bool:
        """Return whether no random vectors are drawn as names."""
        return not training.shape.drawn

    def build(self, training: NamelessTraining, domain: DomainText) -> NamelessModel:
        """Build the network over the relations of a state and its applicable actions."""
        schemas = {applied(name) for name in domain.schemas}
        return NamelessModel(TreeEncoder(domain, _ACTIONS).relations, schemas, training.shape)

    def fit(
        self, training: NamelessTraining, data: Demonstrations, network: NamelessModel, context: FitContext
    ) -> Iterator[Epoch]:
        """Train on labels; the validation loss is measured on the experts' decisions in the validation problems."""
        encoder = TreeEncoder(data.train[0].task.domain_text, _ACTIONS)
        require_readable((*data.train, *data.validation), encoder.refuses)
        decisions = label(training.labels, data.train, one_step, np.random.default_rng(context.seed))
        train = LabelledTrees.of(encoder, decisions, f"the training problems of {data.domain}")
        compared = spread(list(followed(data.validation, one_step)), training.training.compared)
        validation = LabelledTrees.of(encoder, compared, f"the validation problems of {data.domain}")
        others = {"drawing": network.drawing.manual_seed(context.seed)}
        return fit_ranking(network, training.training, train, validation, context, others)

    def learned(
        self, training: NamelessTraining, domain: DomainText, network: NamelessModel, device: Device
    ) -> ActionProbabilities:
        """Return the policy that takes the most probable action."""
        return ActionProbabilities(TreeEncoder(domain, _ACTIONS), network, device)


METHOD = Nameless()
