"""Attention of a transformer in one state under two namings of its objects, and the symmetry losses of symt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sgp.encoders.tokens import PAD, Tokens
from sgp.errors import InputError
from sgp.models.transformer import AtomEncoder, Seen
from sgp.planning.planner import Planner
from sgp.planning.task import Task
from sgp.training.two_views import attention_loss, hidden_loss


@dataclass(frozen=True)
class TwoNamings:
    """The encoder's view of a state under two namings.

    `atoms` [n] are the tokens in words, `attended` [layers, 2, n, n] the attention scores, averaged over heads.
    """

    atoms: Sequence[str]
    attended: NDArray[np.float64]
    attention_loss: float
    hidden_loss: float


@torch.inference_mode()
def under_two_namings(planner: Planner, task: Task, seeds: tuple[int, int] = (0, 1)) -> TwoNamings:
    """Encode a task's initial state under the names drawn by two seeds."""
    model, tokens = _parts(planner)
    device = next(model.parameters()).device
    rows = tokens.state(task, task.init)
    named = [tokens.named(rows, tokens.drawn_naming(task, seed)) for seed in seeds]
    seen = Seen()
    atoms = torch.as_tensor(np.stack(named), device=device)
    model.encode(atoms, torch.ones(atoms.shape[:2], dtype=torch.bool, device=device), seen)
    objects = tokens.objects(task, tokens.drawn_naming(task, seeds[0]))
    words = [[tokens.word(token, objects) for token in row if token != PAD] for row in named[0].tolist()]
    return TwoNamings(
        [f"{predicate}({', '.join(rest)})" for predicate, *rest in words],
        np.stack([each.scores.mean(dim=1).double().cpu().numpy() for each in seen.attended]),
        float(attention_loss(seen, "mean")),
        float(hidden_loss(seen, model.shape.width, "mean")),
    )


def _parts(planner: Planner) -> tuple[AtomEncoder, Tokens]:
    """The network and the tokens of a planner's policy."""
    policy = planner.policy
    holder = getattr(policy, "value", None) or getattr(policy, "writer", None)
    model, tokens = getattr(holder, "model", None), getattr(holder, "tokens", None) or getattr(policy, "tokens", None)
    if not isinstance(model, AtomEncoder) or not isinstance(tokens, Tokens):
        raise InputError("the planner has no transformer of atoms; expected one of method symt, variant ed or e")
    return model, tokens
