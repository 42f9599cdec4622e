"""Contrastive learning of transitions in latent space: next states among others, and actions among others.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix B.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sgp.datasets.training_data import MOST_ACTIONS, Transition, contrasted_actions
from sgp.encoders.text import TextEncoder
from sgp.errors import check_fields
from sgp.models.device import Device
from sgp.models.latent_transition import LatentTransition
from sgp.planning.pddl import Action
from sgp.planning.task import State, Task
from sgp.progress import track
from sgp.training.fit import Epoch, FitContext, LossPart, Schedule, fit


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
    """Transitions as indices into vector tables `states` [S, D] and `actions` [A, D], which store each vector once.

    `before`, `action` and `after` [n] are indices; `applicable` [n, K] lists the action taken, then other applicable
    actions, then padding of -1.
    """

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
    """Return the contrastive loss of the action taken against other applicable actions, given next states [B, L].

    The mask `there` [B, K] marks the actions, the first being the one taken; `predicted` [N, L] has one row per marked
    action, in order (embedplan, eq. 32).
    """
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
    found: NDArray[np.float32] | None = None
    for task, pairs in of.items():
        rows = embed(task, [each for _, each in pairs])
        if found is None:
            found = np.empty((len(numbered), rows.shape[1]), np.float32)
        found[[number for number, _ in pairs]] = rows
    assert found is not None, "there is at least one transition"
    return found
