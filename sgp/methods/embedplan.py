"""EmbedPlan: prediction of the next state in the space of frozen sentence vectors.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan, section 3, appendix B). States and actions are
described in English and embedded by a frozen encoder; projection heads and a small network are trained contrastively.
The paper measures retrieval. Planning with the model is ours: it follows predictions that are most similar to the goal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sgp.datasets.runs import Run
from sgp.datasets.training_data import MOST_ACTIONS, Transition, Transitions, contrasted_actions
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.errors import TextTooLong, check_fields
from sgp.methods.network_method import NetworkMethod, Vectors
from sgp.methods.state_encoders import encoder_of_domain, text_encoders
from sgp.models.device import Device
from sgp.models.networks import Network
from sgp.planning.clock import with_limit_checks
from sgp.planning.pddl import Action, DomainText
from sgp.planning.planner import Planner
from sgp.planning.policy import Node, Ranking, Rules, Successors, one_step
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, parts
from sgp.policies.decoding import DEFAULT
from sgp.policies.embedding import GoalModel, unit
from sgp.progress import track
from sgp.training.fit import Epoch, FitContext, LossPart, Schedule, fit

Kind = Literal["mlp", "hypernetwork"]


@dataclass(frozen=True)
class LatentShape:
    """Layers of the network. Raises ConfigurationError for invalid values."""

    kind: Kind = "mlp"  # embedplan, section 3; the hypernetwork is its alternative
    head_layers: int = 2  # linear layers; the paper has 4 hidden layers, its implementation 2 within a domain
    width: int = 0  # of the heads' hidden layers; 0: the input's width, as in the implementation; not in the paper
    latent: int = 128  # embedplan, Table 6
    hidden: int = 128  # width of the transition network (embedplan, eq. 28)
    layers: int = 3  # layers of the transition network (embedplan, eq. 28)

    def __post_init__(self) -> None:
        check_fields(self, "shape", head_layers=1, width=0, latent=1, hidden=1, layers=2)


class LatentTransition(Network):
    """Heads for states and actions, and the network that predicts the latent state after an action."""

    def __init__(self, dimension: int, shape: LatentShape):
        super().__init__()
        self.states, self.actions = _head(dimension, shape), _head(dimension, shape)
        self.step: nn.Module = _Modulated(shape) if shape.kind == "hypernetwork" else _Residual(shape)

    def embed(self, states: Tensor) -> Tensor:
        """Return latent states [n, L] of state vectors [n, D]."""
        latent: Tensor = self.states(states)
        return latent

    def predict(self, states: Tensor, actions: Tensor) -> Tensor:
        """Return latent states [n, L] after actions, given vectors [n, D] of states and of actions."""
        predicted: Tensor = self.step(self.states(states), self.actions(actions))
        return predicted


class _Residual(nn.Module):
    """LN(f([h_s; h_a]) + W h_s) (embedplan, eq. 27 and 28)."""

    def __init__(self, shape: LatentShape):
        super().__init__()
        hidden: list[nn.Module] = []
        for place in range(shape.layers - 1):
            hidden += [nn.Linear(shape.hidden if place else 2 * shape.latent, shape.hidden), nn.GELU()]
        self.change = nn.Sequential(*hidden, nn.Linear(shape.hidden, shape.latent))
        self.state_map = nn.Linear(shape.latent, shape.latent, bias=False)
        self.norm = nn.LayerNorm(shape.latent)

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """Return latent states [..., L] after actions."""
        change = self.change(torch.cat([states, actions], dim=-1))
        after: Tensor = self.norm(change + self.state_map(states))
        return after


class _Modulated(nn.Module):
    """Layers over the state with scales (1 + prediction) and shifts from the action (embedplan, eq. 29)."""

    def __init__(self, shape: LatentShape):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(shape.latent, shape.latent) for _ in range(shape.layers))
        self.modulation = nn.Sequential(
            nn.Linear(shape.latent, shape.hidden), nn.GELU(), nn.Linear(shape.hidden, 2 * shape.layers * shape.latent)
        )
        self.state_map = nn.Linear(shape.latent, shape.latent, bias=False)
        self.norm = nn.LayerNorm(shape.latent)

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """Return latent states [..., L] after actions."""
        modulation = self.modulation(actions).unflatten(-1, (len(self.layers), 2, -1))
        latent = states
        for place, layer in enumerate(self.layers):
            scale, shift = modulation[..., place, 0, :], modulation[..., place, 1, :]
            latent = (1 + scale) * layer(latent) + shift
            if place + 1 < len(self.layers):
                latent = nn.functional.gelu(latent)
        after: Tensor = self.norm(latent + self.state_map(states))
        return after


def _head(dimension: int, shape: LatentShape) -> nn.Sequential:
    """W_L GELU(LN(... GELU(LN(W_1 z)))) (embedplan, eq. 26)."""
    width = shape.width or dimension
    parts: list[nn.Module] = []
    for place in range(shape.head_layers - 1):
        parts += [nn.Linear(width if place else dimension, width), nn.LayerNorm(width), nn.GELU()]
    return nn.Sequential(*parts, nn.Linear(width if parts else dimension, shape.latent))


@dataclass(frozen=True)
class ContrastTraining:
    """Hyperparameters of training."""

    epochs: int = 400  # maximum (embedplan, Table 6)
    patience: int = 100  # epochs without a lower validation loss before training stops (embedplan, Table 6)
    warm_up: int = 10  # epochs of linear warm-up (embedplan, Table 6)
    batch: int = 128  # embedplan, section 3
    learning_rate: float = 4e-5  # embedplan, section 3
    weight_decay: float = 1e-2  # embedplan, Table 6
    temperature: float = 0.07  # embedplan, section 3
    action_weight: float = 2.0  # lambda (embedplan, section 3)
    actions: int = MOST_ACTIONS  # most applicable actions contrasted in a state

    def __post_init__(self) -> None:
        least = {"epochs": 0, "patience": 1, "warm_up": 0, "batch": 2, "actions": 2, "weight_decay": 0}
        check_fields(self, "training", ["learning_rate", "temperature"], action_weight=0, **least)


@dataclass(frozen=True, eq=False)
class TransitionRows:
    """Transitions [n] as indices into tables of vectors `states` and `actions`; `applicable` [n, K] is padded by -1."""

    states: Tensor
    actions: Tensor
    before: Tensor
    action: Tensor
    after: Tensor
    applicable: Tensor

    def __len__(self) -> int:
        """Return n."""
        return len(self.before)

    def to(self, device: Device) -> TransitionRows:
        """Return the rows on a device."""
        return TransitionRows(*(value.to(device) for value in vars(self).values()))


def transition_rows(
    transitions: Iterable[Transition], encoder_of: Callable[[Task], TextEncoder], most: int, seed: int, title: str
) -> TransitionRows:
    """Return the rows of transitions; per state at most `most` applicable actions are drawn, the action taken first."""
    rng = np.random.default_rng(seed)
    states: dict[tuple[Task, State], int] = {}
    actions: dict[tuple[Task, Action], int] = {}
    rows, applicable = list[tuple[int, int, int]](), list[list[int]]()
    found = list(transitions)
    for each in track(found, title, len(found)):
        numbers = [actions.setdefault((each.task, one), len(actions)) for one in contrasted_actions(each, rng, most)]
        ends = [states.setdefault((each.task, one), len(states)) for one in (each.before, each.after)]
        rows.append((ends[0], numbers[0], ends[1]))
        applicable.append(numbers)
    width = max(map(len, applicable), default=1)
    padded = [numbers + [-1] * (width - len(numbers)) for numbers in applicable]
    columns = torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)
    return TransitionRows(
        torch.from_numpy(_vectors(states, lambda task, some: encoder_of(task).embed(task, some))),
        torch.from_numpy(_vectors(actions, lambda task, some: encoder_of(task).embed_actions(some))),
        columns[:, 0],
        columns[:, 1],
        columns[:, 2],
        torch.tensor(padded, dtype=torch.int64).reshape(-1, width),
    )


def state_loss(predicted: Tensor, after: Tensor, temperature: float) -> Tensor:
    """Return InfoNCE over a batch: predictions [B, L] against the next latent states [B, L] (embedplan, eq. 31)."""
    near = functional.normalize(predicted, dim=-1) @ functional.normalize(after, dim=-1).T
    return functional.cross_entropy(near / temperature, torch.arange(len(near), device=near.device))


def action_loss(predicted: Tensor, after: Tensor, there: Tensor, temperature: float) -> Tensor:
    """Return the loss of the action taken, the first, among those in `there` [B, K] (embedplan, eq. 32)."""
    owners = there.nonzero()[:, 0]
    # Compact rows instead of [B, K, L]: products of the padding and their gradients took most of the time.
    cosines = (functional.normalize(predicted, dim=-1) * functional.normalize(after, dim=-1)[owners]).sum(-1)
    near = cosines.new_full(there.shape, -math.inf).masked_scatter(there, cosines / temperature)
    return functional.cross_entropy(near, torch.zeros(len(near), dtype=torch.int64, device=near.device))


def loss(model: LatentTransition, config: ContrastTraining, rows: TransitionRows, chosen: Tensor) -> Tensor:
    """Return L_state + lambda L_action of transitions [B] (embedplan, section 3)."""
    states, places = torch.unique(torch.cat([rows.before[chosen], rows.after[chosen]]), return_inverse=True)
    before, after = model.embed(rows.states[states])[places].chunk(2)
    listed = rows.applicable[chosen] if config.action_weight else rows.action[chosen][:, None]
    there = listed >= 0
    actions, at = torch.unique(listed[there], return_inverse=True)
    latent = model.actions(rows.actions[actions])[at]
    counts = there.sum(-1)
    predicted = model.step(before.repeat_interleave(counts, dim=0), latent)  # [sum of counts, L]
    found = state_loss(predicted[counts.cumsum(0) - counts], after, config.temperature)
    if config.action_weight:
        found = found + config.action_weight * action_loss(predicted, after, there, config.temperature)
    return found


def fit_transitions(
    model: LatentTransition,
    config: ContrastTraining,
    train: TransitionRows,
    validation: TransitionRows,
    context: FitContext,
) -> Iterator[Epoch]:
    """Train until the validation loss has not fallen for `patience` epochs; see `fit`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    train, validation = train.to(context.device), validation.to(context.device)

    def batches(epoch: int) -> Iterator[Tensor]:
        order = torch.from_numpy(np.random.default_rng([context.seed, epoch]).permutation(len(train)))
        parts = torch.split(order.to(context.device), config.batch)
        return (chosen for chosen in parts if len(chosen) > 1 or len(train) == 1)  # a single transition has no contrast

    def losses(chosen: Tensor) -> Iterator[LossPart]:
        value = loss(model, config, train, chosen)
        yield LossPart(value, float(value.detach()) * len(chosen), len(chosen))

    def rate(epoch: int, batch: int) -> float:
        return config.learning_rate * min(epoch / max(config.warm_up, 1), 1.0)

    schedule = Schedule(config.epochs, rate, patience=config.patience)
    return fit(model, optimizer, schedule, batches, losses, lambda: mean_loss(model, config, validation), context)


@torch.no_grad()
def mean_loss(model: LatentTransition, config: ContrastTraining, rows: TransitionRows) -> float:
    """Return the mean loss over batches of `config.batch` transitions, in order."""
    model.eval()
    parts = torch.split(torch.arange(len(rows), device=rows.before.device), config.batch)
    return sum(float(loss(model, config, rows, chosen)) * len(chosen) for chosen in parts) / max(len(rows), 1)


def _vectors(
    numbered: dict[tuple[Task, State], int] | dict[tuple[Task, Action], int], embed: Callable[..., NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the vectors [n, D] of the numbered states or actions, embedded task by task."""
    of: dict[Task, list[tuple[int, State | Action]]] = {}
    for (task, each), number in numbered.items():
        of.setdefault(task, []).append((number, each))
    rows = np.concatenate([embed(task, [each for _, each in pairs]) for task, pairs in of.items()])
    found = np.empty_like(rows)
    found[[number for pairs in of.values() for number, _ in pairs]] = rows
    return found


Compared = Literal["predicted", "true"]
_AT_ONCE = 1024  # candidates predicted at once, so that memory stays bounded
_RULES = Rules(additive=False)  # costs are at least 1, so that the tolerance of ties exceeds single-precision rounding


@dataclass(frozen=True)
class GoalwardDecoding:
    """A beam toward states nearest to the goal, by predicted embeddings or (an upper bound) true ones."""

    beam: int = 1  # maximum number of nodes per decision
    revisits: bool = False  # visited states remain candidates
    compared: Compared = "predicted"

    def __post_init__(self) -> None:
        check_fields(self, beam=1)

    def planner(self, model: GoalModel, trained: Successors = one_step) -> Planner:
        """Return the planner of a transition model; `trained` generates the candidates."""
        return Planner(TowardGoal(model, self.compared), trained, self.beam, revisits=self.revisits)


@dataclass(frozen=True)
class TowardGoal:
    """Policy (ours) that costs a successor by 2 - cosine of the goal's and the predicted embedding."""

    model: GoalModel
    compared: Compared = "predicted"
    rules: Rules = _RULES

    def refuses(self, task: Task) -> str | None:
        """Return why the model cannot embed the task, or None."""
        return self.model.refuses(task)

    def rank(self, nodes: Sequence[Node], choices: Sequence[Sequence[Successor]]) -> list[Ranking]:
        """Return one ranking per node; nodes carry the goal's embedding, which is computed once per problem."""
        return list(map(self._rank, nodes, choices))

    def _rank(self, node: Node, choice: Sequence[Successor]) -> Ranking:
        try:
            goal = unit(self.model.embed_goal(node.task)[None])[0] if node.memory is None else node.memory
            rows = [self._rows(node, part) for part in parts(choice, _AT_ONCE)]
        except TextTooLong as error:  # of a later state: only this problem is refused
            return Ranking(np.full(len(choice), np.inf), reason=str(error))
        costs = 2.0 - np.concatenate(rows) @ goal if rows else np.empty(0)
        return Ranking(costs, memories=[goal] * len(choice))

    def _rows(self, node: Node, choice: Sequence[Successor]) -> NDArray[np.float64]:
        """Return the compared embeddings [n, D] of candidates, of length 1."""
        some = list(with_limit_checks(choice))
        if self.compared == "true":
            return unit(self.model.embed(node.task, [each.state for each in some]))
        return unit(self.model.predict(node.task, [node.state] * len(some), [each.actions[0] for each in some]))


@dataclass(frozen=True)
class EmbedPlanTraining:
    """Text encoder, network and training."""

    text: TextConfig = field(default_factory=TextConfig)
    shape: LatentShape = field(default_factory=LatentShape)
    training: ContrastTraining = field(default_factory=ContrastTraining)


class LatentModel:
    """Transition model: a frozen text encoder and a network on top; embeddings have length 1."""

    def __init__(self, encoder_of: Callable[[Task], TextEncoder], network: LatentTransition, device: Device):
        self.encoder_of, self.network, self.device = encoder_of, network, device

    def refuses(self, task: Task) -> str | None:
        """Return why a text is too long for the encoder, or None."""
        return self.encoder_of(task).refuses(task)

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """Return the states' latent embeddings [n, L]."""
        return self._numbers(self.network.embed, self.encoder_of(task).embed(task, states))

    def embed_goal(self, task: Task) -> NDArray[np.floating[Any]]:
        """Return the latent embedding [L] of a state in which exactly the goal's positive atoms are true."""
        return np.asarray(self._numbers(self.network.embed, self.encoder_of(task).embed_goal(task)[None])[0])

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted latent embeddings [n, L] of the next states."""
        encoder, places = self.encoder_of(task), {state: place for place, state in enumerate(dict.fromkeys(states))}
        rows = encoder.embed(task, list(places))[[places[state] for state in states]]
        return self._numbers(self.network.predict, rows, encoder.embed_actions(actions))

    @torch.no_grad()
    def _numbers(self, computed: Callable[..., torch.Tensor], *rows: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
        given = (torch.from_numpy(each).to(self.device) for each in rows)
        found: NDArray[np.floating[Any]] = torch.nn.functional.normalize(computed(*given), dim=-1).cpu().numpy()
        return found


class EmbedPlan(NetworkMethod[EmbedPlanTraining, GoalwardDecoding, LatentTransition, LatentModel]):
    """Next-state prediction in the space of sentence vectors, trained contrastively."""

    key = "embedplan"
    paper = "embedplan"
    learns_from = Transitions
    variants: Mapping[str, EmbedPlanTraining] = {
        "minilm-atoms": EmbedPlanTraining(),
        "minilm-sentence": EmbedPlanTraining(TextConfig(mode="sentence")),
        "mpnet-sentence": EmbedPlanTraining(TextConfig("mpnet", "sentence")),
        "hashed-atoms": EmbedPlanTraining(TextConfig("hashed")),  # needs no weights
        "untrained": EmbedPlanTraining(training=ContrastTraining(epochs=0)),
    }
    decodings: Mapping[str, GoalwardDecoding] = {
        DEFAULT: GoalwardDecoding(),
        "true-successors": GoalwardDecoding(compared="true"),  # upper bound: planning with perfect predictions
    }

    def build(self, training: EmbedPlanTraining, domain: DomainText) -> LatentTransition:
        """Build the heads and the network on top of the frozen encoder."""
        return LatentTransition(encoder_of_domain(training.text, domain).dimension, training.shape)

    def fit(
        self, training: EmbedPlanTraining, data: Transitions, network: LatentTransition, context: FitContext
    ) -> Iterator[Epoch]:
        """Train until the validation loss stops falling; with 0 epochs yield the untrained network as epoch 0."""
        encoder_of, config = text_encoders(training.text), training.training
        train, validation = (
            transition_rows(part, encoder_of, config.actions, context.seed, f"embed {data.domain}")
            for part in (data.train, data.validation)
        )
        metrics = {"dimension": train.states.shape[1]}
        if not config.epochs and not context.after:
            yield Epoch(0, None, mean_loss(network, config, validation), network.state_dict(), metrics)
        for epoch in fit_transitions(network, config, train, validation, context):
            yield replace(epoch, metrics=metrics)

    def learned(
        self, training: EmbedPlanTraining, domain: DomainText, network: LatentTransition, device: Device
    ) -> LatentModel:
        """Return the transition model."""
        return LatentModel(text_encoders(training.text), network, device)

    def load_model(self, run: Run) -> LatentModel:
        """Return the model of a run, verified against the embedding stored in the run."""
        return self.load_learned(run)

    def sample(self, training: EmbedPlanTraining, learned: LatentModel, task: Task) -> Vectors:
        """Return the embedding of the initial state."""
        return {"embedding": learned.embed(task, [task.init])[0]}


METHOD = EmbedPlan()
