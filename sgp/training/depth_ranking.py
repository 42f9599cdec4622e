"""A loss that teaches depths of lookahead trees their order (AIW-AD, section 6, after Burges et al. 2005)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus


def depth_ranking_loss(scores: Tensor, trees: Tensor, count: int) -> Tensor:
    """The loss of each of `count` trees [count]; 0 where there are less than two depths.

    `scores` z [d] are of depths 1 and on of each tree, tree by tree, `trees` [d] tells of which. Of each pair k < l the
    loss is log(1 + exp(z_k - z_l)), weighed by 1 / (l - k) over the sum of all weights in the tree.
    """
    earlier, later = torch.triu_indices(len(scores), len(scores), 1, device=scores.device)
    together = trees[earlier] == trees[later]
    earlier, later = earlier[together], later[together]
    weights = 1.0 / (later - earlier)
    total = weights.new_zeros(count).index_add(0, trees[earlier], weights)
    shares = weights / total[trees[earlier]]
    losses: Tensor = shares * softplus(scores[earlier] - scores[later])
    return losses.new_zeros(count).index_add(0, trees[earlier], losses)
