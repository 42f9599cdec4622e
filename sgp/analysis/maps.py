"""Maps: the embedding of a model in two dimensions, with its training data and the points of rollouts.

PCA is fitted to the training points only, UMAP to all points, because its `transform` depends on the batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgp.errors import InputError
from sgp.planning.pddl import Action
from sgp.planning.policy import Successors
from sgp.planning.rollout import Rollout, Step
from sgp.planning.states import State
from sgp.planning.task import Successor, Task, Trajectory
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


def make_map(
    policy: Embedding,
    successors: Successors,
    trajectories: Sequence[Trajectory],
    rollouts: Sequence[Rollout],
    neighbours: bool = True,
    experts: Sequence[Sequence[Action]] = (),
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The map of a model's training trajectories, and of each rollout, as stored in a map's file.

    With an expert's plan for each rollout, its action is always among the candidates.

    A point is [x, y] by PCA, then by UMAP with `neighbours` if there are enough points; coordinates are integers from 0
    to 1000. Of training: the points (`context`), where they come from (`training`), the shares of their variance along
    the two principal axes (`explained`), and the 99th percentile of their nearest-neighbour distances (`usual`). Of a
    step: its state, the prediction, candidates by index, and the training point nearest to the state (or to the chosen
    transition, if transitions are embedded) with its distance in the embedding.
    """
    training, sources = _training(policy, successors, trajectories)
    some = list(evenly_spaced(len(training), CONTEXT))
    ground, sources = training[some], [sources[place] for place in some]
    near = _Near(ground)
    shown = _candidates_shown(policy, rollouts)
    vectors, drawn = list(ground), list[dict[str, Any]]()

    def number(vector: NDArray[np.floating[Any]] | None) -> int | None:
        vectors.extend([] if vector is None else [np.asarray(vector, np.float32)])
        return None if vector is None else len(vectors) - 1

    for rollout, expert in zip(rollouts, experts or [()] * len(rollouts), strict=True):
        listed = [
            _cheapest(step, shown, beyond[0] if beyond else None)
            for step, beyond in zip(rollout.steps, expert_candidates(rollout, expert), strict=True)
        ]
        cut = [
            replace(step, candidates=[step.candidates[place] for place in places], chosen=places.index(step.chosen))
            for step, places in zip(rollout.steps, listed, strict=True)
        ]
        steps = []
        for step, places, view in zip(cut, listed, policy.views(rollout.task, cut), strict=True):
            own = view.candidates[step.chosen] if view.state is None else view.state
            nearest, distance = near.to(np.asarray(own, np.float32))
            ends = {"state": number(view.state), "predicted": number(view.predicted)}
            candidates = {str(place): number(each) for place, each in zip(places, view.candidates, strict=True)}
            steps.append({**ends, "candidates": candidates, "nearest": nearest, "distance": _brief(distance)})
        drawn.append({"steps": steps})
    rows = np.vstack(vectors)
    points, explained = project_linearly(rows[: len(ground)], rows)
    umap = neighbours and len(rows) >= FEWEST
    places_of = (np.hstack([points, project_neighbours(rows)]) if umap else points).tolist()
    for each in drawn:
        for step in each["steps"]:
            step |= {end: None if step[end] is None else places_of[step[end]] for end in ("state", "predicted")}
            step["candidates"] = {place: places_of[point] for place, point in step["candidates"].items()}
    facts = {"of": policy.embeds, "dimensions": rows.shape[1], "explained": explained, "usual": _brief(near.usual)}
    return {**facts, "umap": umap, "context": places_of[: len(ground)], "training": training_record(sources)}, drawn


def training_record(sources: Sequence[TrainingSource]) -> dict[str, Any]:
    """Return where training points come from, as stored: problems, actions, and [problem, step, action] of each."""
    problems, actions = ({each[part]: None for each in sources} for part in (0, 2))
    numbers = [{name: number for number, name in enumerate(names)} for names in (problems, actions)]
    points = [[numbers[0][problem], step, numbers[1][action]] for problem, step, action in sources]
    return {"problems": list(problems), "actions": list(actions), "points": points}


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
    return scaled_to_square(flat), (shares[0], shares[1])


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
        return scaled_to_square(umap.fit_transform(rows))


def _neighbours(rows: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row the row itself and its nearest neighbours: indices [n, 15] and distances [n, 15]."""
    from sklearn.neighbors import NearestNeighbors

    distances, numbers = NearestNeighbors(n_neighbors=_NEIGHBOURS - 1, algorithm="brute").fit(rows).kneighbors()
    own = np.arange(len(rows))[:, None]
    return np.hstack([own, numbers]), np.hstack([np.zeros((len(rows), 1)), distances]).astype(np.float32)


def scaled_to_square(flat: NDArray[Any]) -> NDArray[np.int64]:
    """Points [n, 2] scaled to a square of side 1000, with one scale for both axes."""
    low = flat.min(axis=0)
    span = float((flat.max(axis=0) - low).max())
    return np.asarray(((flat - low) * (_SIDE / (span or 1.0))).round(), np.int64)


TrainingSource = tuple[str, int, str]  # problem, actions of the expert before, and of a transition its actions


def _training(
    policy: Embedding, successors: Successors, trajectories: Sequence[Trajectory]
) -> tuple[NDArray[np.float32], list[TrainingSource]]:
    """The distinct vectors [n, D] of training, and where each occurs first."""
    states = [(each, step) for each in trajectories for step in range(len(each))]
    found, sources = list[NDArray[np.floating[Any]]](), list[TrainingSource]()
    for trajectory, number in (states[place] for place in evenly_spaced(len(states), CONTEXT)):
        step = _training_step(trajectory, successors, number)
        found.append(policy.vectors(trajectory.task, [step]))
        taken = [" ".join(map(str, each.actions)) for each in step.candidates] if policy.embeds != "states" else [""]
        sources += [(trajectory.task.name, number, actions) for actions in taken]
    rows, first = np.unique(np.vstack(found).astype(np.float32), axis=0, return_index=True)
    return rows, [sources[place] for place in first]


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


def _cheapest(step: Step, count: int, expert: int | None) -> list[int]:
    """The indices of the chosen candidate, of the expert's if given, and of the cheapest others, `count` in all."""
    order = dict.fromkeys([step.chosen, *([] if expert is None else [expert]), *np.argsort(step.costs, kind="stable")])
    return sorted(map(int, list(order)[:count]))


def expert_candidates(rollout: Rollout, expert: Sequence[Action]) -> list[list[int]]:
    """For each step the candidates on an expert's plan beyond all states passed so far, the furthest first."""
    places = {state: n for n, state in enumerate(Trajectory.of(rollout.task, tuple(expert)).states)} if expert else {}
    found, furthest = list[list[int]](), 0
    for step in rollout.steps:
        ahead = [places.get(each.state, 0) for each in step.candidates]
        furthest = max(furthest, places.get(step.state, 0))
        beyond = (place for place, each in enumerate(ahead) if each > furthest)
        found.append(sorted(beyond, key=lambda place: -ahead[place]))
        passed = step.state
        for action in step.candidates[step.chosen].actions:
            passed = rollout.task.after(passed, action)
            furthest = max(furthest, places.get(passed, 0))
    return found


def _brief(distance: float) -> float:
    """Four significant digits, to keep files small."""
    return float(f"{distance:.4g}")


def evenly_spaced(count: int, most: int) -> Iterator[int]:
    """Up to `most` numbers below `count`, evenly spaced."""
    taken = min(count, most)
    return (place * count // taken for place in range(taken))
