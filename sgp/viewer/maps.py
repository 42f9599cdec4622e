"""The map of a recorded rollout, read from the file beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sgp.errors import StoreError
from sgp.files import read_json
from sgp.planning.recorded import Recorded, map_file

FORMAT = 1


def map_of(recorded: Recorded, orders: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What the player draws: training points, and of each step its points, candidates by rank (from 0).

    Each step also has the number of the training point nearest to its own and its distance, and `usual` is the distance
    that 99 % of the training points have from another one at most (`sgp.analysis.maps`); older maps have neither.
    `orders` has for each step the candidates' places in rank order. Where there is no map, `missing` says why.
    """
    file = map_file(recorded.source)
    if not file.is_file():
        return {"missing": "no map was made; 'sgp map' makes one"}
    data = read_json(file)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StoreError(f"{file} is not a map of format {FORMAT}; make it again with 'sgp map'")
    if "missing" in data:
        return {"missing": str(data["missing"])}
    of_line = {entry["line"]: entry for entry in data["rollouts"]}
    entry = of_line.get(recorded.line, {})
    paired = list(zip(entry.get("steps", ()), orders, strict=False))
    # An expert's plan can take the same actions as the rollout of its line, without the other candidates.
    known = all(int(place) < len(order) for step, order in paired for place in step["candidates"])
    if entry.get("chosen") != recorded.chosen or not known:
        return {"missing": "the map is of another rollout; make it again with 'sgp map'"}
    steps = []
    for step, order in paired:
        rank_of = {place: rank for rank, place in enumerate(order)}
        candidates = {rank_of[int(place)]: point for place, point in step["candidates"].items()}
        steps.append({**step, "candidates": [[rank, *point] for rank, point in sorted(candidates.items())]})
    ground = {name: data[name] for name in ("of", "dimensions", "explained", "umap", "context")}
    return {**ground, "usual": data.get("usual"), "steps": steps}
