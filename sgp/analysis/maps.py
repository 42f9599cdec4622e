"""Maps: the embedding of a model in two dimensions, with its training data and the points of rollouts.

PCA is fitted to the training points only, UMAP to all points, because its `transform` depends on the batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.errors import InputError
from sgp.planning.policy import Successors
from sgp.planning.rollout import Rollout, Step
from sgp.planning.task import State, Successor, Task, Trajectory
from sgp.policies.embedding import Embedding

FORMAT = 1
MOST = 4000  # points of a map
CONTEXT = 1000  # of them from training
CANDIDATES = 8  # of a step: the cheapest
COMPONENTS = 50  # that UMAP sees
NO_EMBEDDING = "this model has no embedding"
_SIDE = 1000  # of the square that coordinates are rounded to
_SEED = 0
_NEIGHBOURS = 15  # UMAP's default, the point itself included
FEWEST = _NEIGHBOURS + 1  # points
_USUAL = 99  # percent of the training points that have another one within the usual distance
_SIBLINGS = 12  # of a training state's candidates


class StepPoints(NamedTuple):
    """The numbers of a step's points: its state, the prediction, and candidates by index.

    `nearest` is the training point nearest to the state (or to the chosen transition, if transitions are embedded), and
    `distance` its distance in the embedding.
    """

    state: int | None
    predicted: int | None
    candidates: dict[int, int]
    nearest: int
    distance: float


@dataclass(frozen=True, eq=False)
class Map:
    """Points in two dimensions, with integer coordinates from 0 to 1000.

    The first `context` points are of training; `steps` has the numbers of each rollout's points. `explained` are the
    shares of the training points' variance along the two principal axes. `usual` is the 99th percentile of
    nearest-neighbour distances in training. `umap` is None if it was not requested, or if there are too few points.
    """

    of: Literal["states", "transitions"]
    dimensions: int
    explained: tuple[float, float]
    context: int
    usual: float
    steps: tuple[tuple[StepPoints, ...], ...]
    pca: NDArray[np.int64]  # [n, 2]
    umap: NDArray[np.int64] | None  # [n, 2]

    def record(self, rollout: int) -> dict[str, Any]:
        """A rollout as stored in a map's file: a point is [x, y] by PCA, then by UMAP."""
        return {
            "steps": [
                {
                    "state": self._point(step.state),
                    "predicted": self._point(step.predicted),
                    "candidates": {str(place): self._point(each) for place, each in step.candidates.items()},
                    "nearest": step.nearest,
                    "distance": _brief(step.distance),
                }
                for step in self.steps[rollout]
            ]
        }

    def ground(self) -> dict[str, Any]:
        """The rest of a map's file: the training points and what was projected."""
        return {
            "of": self.of,
            "dimensions": self.dimensions,
            "explained": self.explained,
            "usual": _brief(self.usual),
            "umap": self.umap is not None,
            "context": [self._point(each) for each in range(self.context)],
        }

    def _point(self, number: int | None) -> list[int] | None:
        if number is None:
            return None
        return [*self.pca[number].tolist(), *(() if self.umap is None else self.umap[number].tolist())]


def make_map(
    policy: Embedding,
    successors: Successors,
    trajectories: Sequence[Trajectory],
    rollouts: Sequence[Rollout],
    neighbours: bool = True,
) -> Map:
    """The map of a model's training trajectories and of rollouts by PCA and, with `neighbours`, UMAP."""
    training = _training(policy, successors, trajectories)
    ground = training[list(evenly_spaced(len(training), CONTEXT))]
    near = _Near(ground)
    shown = _candidates_shown(policy, rollouts)
    vectors, count = [ground], len(ground)
    steps = []
    for rollout in rollouts:
        listed = [_cheapest(step, shown) for step in rollout.steps]
        cut = [
            replace(step, candidates=[step.candidates[place] for place in places], chosen=places.index(step.chosen))
            for step, places in zip(rollout.steps, listed, strict=True)
        ]
        points = []
        for step, places, view in zip(rollout.steps, listed, policy.views(rollout.task, cut), strict=True):
            numbers: list[int | None] = []
            for vector in (view.state, view.predicted):
                numbers.append(None if vector is None else count)
                if vector is not None:
                    vectors.append(np.asarray(vector, np.float32)[None])
                    count += 1
            candidates = np.asarray(view.candidates, np.float32)
            vectors.append(candidates)
            own = candidates[places.index(step.chosen)] if view.state is None else np.asarray(view.state, np.float32)
            of_place = {place: count + i for i, place in enumerate(places)}
            points.append(StepPoints(numbers[0], numbers[1], of_place, *near.to(own)))
            count += len(places)
        steps.append(tuple(points))
    rows = np.vstack(vectors)
    pca, explained = project_linearly(rows[: len(ground)], rows)
    umap = project_neighbours(rows) if neighbours and len(rows) >= FEWEST else None
    return Map(policy.embeds, rows.shape[1], explained, len(ground), near.usual, tuple(steps), pca, umap)


class _Near:
    """Nearest-neighbour search among training points [n, D]."""

    def __init__(self, training: NDArray[np.float32]):
        from sklearn.neighbors import NearestNeighbors

        self._search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(training)
        others = self._search.kneighbors()[0] if len(training) > 1 else np.zeros((1, 1))
        self.usual = float(np.percentile(others, _USUAL))

    def to(self, vector: NDArray[np.float32]) -> tuple[int, float]:
        """The number of the training point nearest to a vector [D], and its distance."""
        distances, numbers = self._search.kneighbors(vector[None])
        return int(numbers[0, 0]), float(distances[0, 0])


def project_linearly(
    training: NDArray[np.float32], rows: NDArray[np.float32]
) -> tuple[NDArray[np.int64], tuple[float, float]]:
    """Coordinates [n, 2] of rows [n, D] on the first two principal axes of training rows, and the variance on each."""
    from sklearn.decomposition import PCA

    dimensions = min(2, *training.shape)
    pca = PCA(dimensions, random_state=_SEED).fit(training)
    flat = np.zeros((len(rows), 2))
    flat[:, :dimensions] = pca.transform(rows)
    shares = [*np.nan_to_num(pca.explained_variance_ratio_).round(4).tolist(), 0.0, 0.0]
    return rounded(flat), (shares[0], shares[1])


def project_neighbours(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    """Coordinates [n, 2] of rows [n, D] by UMAP."""
    from sklearn.decomposition import PCA
    from umap import UMAP, umap_

    for function in (umap_.smooth_knn_dist, umap_.compute_membership_strengths):
        function.enable_caching()  # umap compiles them in every process
    if rows.shape[1] > COMPONENTS:
        rows = PCA(min(COMPONENTS, len(rows)), random_state=_SEED).fit_transform(rows)
    umap = UMAP(
        random_state=_SEED,
        n_jobs=1,
        n_neighbors=_NEIGHBOURS,
        precomputed_knn=_neighbours(rows),
        force_approximation_algorithm=True,  # else it does not look at given neighbours of few points
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="umap")  # no transform of other points; graphs that fall apart
        warnings.filterwarnings("ignore", module="sklearn.manifold")
        return rounded(umap.fit_transform(rows))


def _neighbours(rows: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row the row itself and its nearest neighbours: indices [n, 15] and distances [n, 15]."""
    from sklearn.neighbors import NearestNeighbors

    distances, numbers = NearestNeighbors(n_neighbors=_NEIGHBOURS - 1, algorithm="brute").fit(rows).kneighbors()
    own = np.arange(len(rows))[:, None]
    return np.hstack([own, numbers]), np.hstack([np.zeros((len(rows), 1)), distances]).astype(np.float32)


def rounded(flat: NDArray[Any]) -> NDArray[np.int64]:
    """Points [n, 2] scaled to a square of side 1000, with one scale for both axes."""
    low = flat.min(axis=0)
    span = float((flat.max(axis=0) - low).max())
    return np.asarray(((flat - low) * (_SIDE / (span or 1.0))).round(), np.int64)


def _training(policy: Embedding, successors: Successors, trajectories: Sequence[Trajectory]) -> NDArray[np.float32]:
    """The distinct vectors [n, D] of training."""
    states = [(each, step) for each in trajectories for step in range(len(each))]
    some = [states[place] for place in evenly_spaced(len(states), CONTEXT)]
    found = [
        policy.vectors(trajectory.task, [_training_step(trajectory, successors, step)]) for trajectory, step in some
    ]
    return np.unique(np.vstack(found).astype(np.float32), axis=0)


def _training_step(trajectory: Trajectory, successors: Successors, place: int) -> Step:
    """A state of a trajectory with the expert's action and some other candidates."""
    task: Task = trajectory.task
    state: State = trajectory.states[place]
    choice = successors(task, state)
    own = Successor((trajectory.actions[place],), trajectory.states[place + 1])
    some = [own, *(choice[each] for each in evenly_spaced(len(choice), _SIBLINGS))]
    return Step(state, some, np.zeros(len(some)), None, np.zeros(len(some), np.uint8), 0)


def _candidates_shown(policy: Embedding, rollouts: Sequence[Rollout]) -> int:
    steps = sum(len(rollout.steps) for rollout in rollouts)
    besides = 2 if policy.embeds == "states" else 0
    room = (MOST - CONTEXT) // max(steps, 1) - besides
    if room < 1:
        raise InputError(
            f"the rollouts have {steps} steps together, more than fit on a map of {MOST} points; map fewer at once"
        )
    return min(room, CANDIDATES)


def _cheapest(step: Step, count: int) -> list[int]:
    """The indices of the chosen candidate and of the cheapest others."""
    order = [place for place in np.argsort(step.costs, kind="stable").tolist() if place != step.chosen]
    return sorted([step.chosen, *order[: count - 1]])


def _brief(distance: float) -> float:
    """Four significant digits, to keep files small."""
    return float(f"{distance:.4g}")


def evenly_spaced(count: int, most: int) -> Iterator[int]:
    """Up to `most` numbers below `count`, evenly spaced."""
    taken = min(count, most)
    return (place * count // taken for place in range(taken))
