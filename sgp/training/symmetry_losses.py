"""Symmetry losses: attention scores and a part of the hidden states should agree under two namings of one problem.

Source: "Symmetry-Aware Transformer Training for Automated Planning" (symt), section 4. A batch has each example twice:
the first half under one naming, the second half under another.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from sgp.models.transformer import Attended, Left, Seen

Reduction = Literal["mean", "sum"]


def attention_loss(seen: Seen, reduction: Reduction) -> Tensor:
    """L_att: squared differences of attention scores, over modules, layers, heads, rows and columns (symt, section 4).

    "sum", as printed, sums all of them and divides by the batch size. "mean" is the mean over rows, each of which sums
    to one, then over modules, layers and heads.
    """
    return torch.stack([_of_scores(each, reduction) for each in seen.attended]).sum() / _over(seen.attended, reduction)


def hidden_loss(seen: Seen, width: int, reduction: Reduction) -> Tensor:
    """L_hid: squared differences of each token's first `width` (d_k) hidden units per layer (symt, section 4).

    "sum" is as printed; "mean" is the mean over tokens and units, then over layers.
    """
    return torch.stack([_of_hidden(each, width, reduction) for each in seen.left]).sum() / _over(seen.left, reduction)


def _of_scores(attended: Attended, reduction: Reduction) -> Tensor:
    one, two = attended.scores.chunk(2)
    rows, columns = attended.rows.chunk(2)[0], attended.columns.chunk(2)[0]
    among = rows[:, None, :, None] & columns[:, None, None]
    squares = ((one - two) ** 2 * among).sum()
    return squares / (len(one) if reduction == "sum" else int(rows.sum()) * one.shape[1])


def _of_hidden(left: Left, width: int, reduction: Reduction) -> Tensor:
    one, two = left.hidden[:, :, :width].chunk(2)
    rows = left.rows.chunk(2)[0]
    squares = ((one - two) ** 2 * rows[:, :, None]).sum()
    return squares / (len(one) if reduction == "sum" else int(rows.sum()) * width)


def _over(parts: list[Attended] | list[Left], reduction: Reduction) -> int:
    return 1 if reduction == "sum" else len(parts)
