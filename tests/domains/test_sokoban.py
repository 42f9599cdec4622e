"""Sokoban's generator: the cached cells reachable by the keeper equal those found by a search."""

from __future__ import annotations

import numpy as np
import pytest

from sgp.domains import sokoban


@pytest.mark.parametrize("seed", range(6))
def test_what_a_keeper_reaches_after_each_pull_is_what_a_search_finds(seed, monkeypatch):
    looked, after = [], sokoban._after_pull

    def checked(near, free, left, step):
        found = after(near, free, left, step)
        keeper = sokoban._moved(left, step, 2)
        assert found == sokoban._reached(free, keeper)
        looked.append(keeper)
        return found

    monkeypatch.setattr(sokoban, "_after_pull", checked)
    sokoban.generate(np.random.default_rng(seed), cells=60 + 10 * seed, boxes=5 + seed)
    assert len(looked) > 10
