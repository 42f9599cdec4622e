"""The vocabulary of a WL encoder: wlplan's JSON, and the tables that the kernels read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sgp.encoders.kernels.wl_histogram import UNSEEN, ColourTable, insert, neighbour_hash, start_hash
from sgp.errors import StoreError

WLPLAN_VERSION = "2.1.0"  # the meaning of the JSON belongs to the version

# wlplan's initial colours on the instance learning graph: 0 for every object (its features give domain constants no
# colour of their own), then five for each predicate in the order of their printed names.
OBJECT_COLOUR = 0
_COLOURS_A_PREDICATE = 5
_GOAL_TRUE, _GOAL_FALSE, _NEGATED_GOAL_TRUE, _NEGATED_GOAL_FALSE, _NO_GOAL = range(1, 6)


@dataclass(frozen=True)
class Vocabulary:
    """Colours by level of refinement. A colour's number is its column in the histogram."""

    text: str

    def __post_init__(self) -> None:
        version = self._data.get("package_version")
        if version != WLPLAN_VERSION:
            raise StoreError(
                f"the WL vocabulary was written by wlplan {version}, this package reads that of {WLPLAN_VERSION}; "
                f"train the run again with wlplan=={WLPLAN_VERSION}"
            )
        if self._data.get("feature_name") != "wl" or self._data.get("graph_representation") != "ilg":
            raise StoreError("the WL vocabulary is not of 'wl' features on the graph 'ilg'; train the run again")

    @cached_property
    def _data(self) -> dict[str, Any]:
        try:
            data = json.loads(self.text)
        except ValueError as error:
            raise StoreError(f"the WL vocabulary is no complete JSON ({error}); train the run again") from error
        if not isinstance(data, dict):
            raise StoreError("the WL vocabulary is no JSON object; train the run again")
        return data

    @property
    def iterations(self) -> int:
        """Rounds of refinement; pruning can leave fewer than were asked for."""
        return len(self._data["colour_hash"]) - 1

    @property
    def multiset(self) -> bool:
        """Whether a neighbourhood counts how often a colour occurs."""
        return bool(self._data["multiset_hash"])

    @cached_property
    def dimension(self) -> int:
        """Number of colours, D."""
        return sum(map(len, self._data["colour_hash"]))

    def initial(self, code: int) -> int:
        """The column of one of wlplan's initial colours, UNSEEN where training never met it."""
        return int(self._data["colour_hash"][0].get(str(code), UNSEEN))

    def neighbourhoods(self, level: int) -> Iterator[tuple[int, list[tuple[int, int, int]], int]]:
        """Each neighbourhood of a level: own colour, (label, colour, how often) of the neighbours, its column."""
        for key, column in self._data["colour_hash"][level].items():
            *members, own = map(int, key.split("."))
            yield own, list(zip(members[::3], members[1::3], members[2::3], strict=True)), int(column)

    @cached_property
    def table(self) -> ColourTable:
        """The hash table of all levels."""
        size = 1 << (4 * self.dimension + 8).bit_length()  # at most a quarter full
        table = ColourTable(np.zeros(size, np.uint64), np.full(size, UNSEEN, np.int32))
        for level in range(1, self.iterations + 1):
            for own, members, column in self.neighbourhoods(level):
                value = int(start_hash(level, own))
                for label, colour, times in members:
                    value += times * int(neighbour_hash(label, colour))
                if not insert(table.hashes, table.colours, np.uint64(value % 2**64), column):
                    raise StoreError(f"two neighbourhoods of level {level} share a hash; report this vocabulary")
        return table


def predicate_colour(place: int, goal: bool | None, true: bool) -> int:
    """wlplan's initial colour of an atom of the predicate at `place` (by printed name).

    `goal` is True or False where the atom stands in the goal, positive or negated, and None elsewhere.
    """
    if goal is None:
        kind = _NO_GOAL
    elif goal:
        kind = _GOAL_TRUE if true else _GOAL_FALSE
    else:
        kind = _NEGATED_GOAL_TRUE if true else _NEGATED_GOAL_FALSE
    return _COLOURS_A_PREDICATE * place + kind
