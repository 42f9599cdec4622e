"""Explanations of decisions.

Why a candidate was chosen instead of another one, and the changes that a prediction expects; which training decisions
gave a feature its weight (representer points); attention of a transformer in one state under two namings of its
objects, and the symmetry losses of symt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sgp.analysis.maps import expert_candidates
from sgp.errors import ConfigurationError, InputError
from sgp.methods import get_method
from sgp.methods.contract import SupportsAttribution
from sgp.planning.pddl import Action
from sgp.planning.rollout import Rollout, Step, runners_up
from sgp.planning.task import Task
from sgp.policies.embedding import Contrast, Embedding, View, unit
from sgp.policies.nearest_embedding import NearestEmbedding, distances
from sgp.policies.nearest_transition import NearestTransition, goal_share

if TYPE_CHECKING:
    from sgp.datasets.runs import Run
    from sgp.datasets.training_data import Demonstrations
    from sgp.encoders.tokens import Tokens
    from sgp.models.transformer import AtomEncoder
    from sgp.planning.planner import Planner
    from sgp.training.labels import Labelled

FEATURES = 5  # listed by an explanation
OTHERS = 4  # candidates of a step that its chosen one is explained against
_DESCRIBED = 32  # features whose texts are compared
_NEGLIGIBLE = 1e-12


Explanation = dict[str, Any]


def explain(rollout: Rollout, policy: object, expert: Sequence[Action] = ()) -> list[list[Explanation]]:
    """For each step, explanations against the cheapest other available candidates, the runner-up first.

    All candidates on the `expert`'s plan beyond all states so far are among them. An
    explanation has the other candidate (`against`), the compared quantity (`measure`), and reasons (`why`): a feature,
    its value for the `chosen` and for the `other` candidate, and its `share` of the chosen candidate's measure minus
    the other's (negative shares favour the chosen one).
    """
    if not isinstance(policy, Embedding):
        return [[] for _ in rollout.steps]
    others = [
        runners_up(step.costs.tolist(), step.open_to_choice.tolist(), step.chosen)[:OTHERS] for step in rollout.steps
    ]
    for step, some, beyond in zip(rollout.steps, others, expert_candidates(rollout, expert), strict=True):
        some += [place for place in beyond if place not in (step.chosen, *some)]
    cut = [
        replace(step, candidates=[step.candidates[place] for place in (step.chosen, *some)], chosen=0)
        for step, some in zip(rollout.steps, others, strict=True)
    ]
    return [
        [
            {"against": other, **explained(policy.contrast(rollout.task, step, view, 0, place))}
            for place, other in enumerate(some, start=1)
        ]
        for step, view, some in zip(cut, policy.views(rollout.task, cut), others, strict=True)
    ]


def explanation_records(rollout: Rollout, policy: object, expert: Sequence[Action] = ()) -> list[dict[str, Any]]:
    """`explain` as stored in the records of steps: the explanation against the runner-up, and `others`."""
    found = []
    for explanations in explain(rollout, policy, expert):
        for reason in (one for each in explanations for one in each["why"]):
            reason["share"] = float(f"{reason['share']:.6g}")
        first, others = explanations[:1], explanations[1:]
        found.append({**(first[0] if first else {}), **({"others": others} if others else {})})
    return found


def explained(contrast: Contrast) -> Explanation:
    """The features of the largest shares (one for equal texts and values), then all others together."""
    telling = np.flatnonzero(np.abs(contrast.shares) > _NEGLIGIBLE)
    order = telling[np.argsort(-np.abs(contrast.shares[telling]), kind="stable")].tolist()
    described, rest = order[:_DESCRIBED], order[_DESCRIBED:]
    equal: dict[tuple[str, float, float], list[int]] = {}
    for column, words in zip(described, contrast.words(described), strict=True):
        equal.setdefault((words, float(contrast.first[column]), float(contrast.second[column])), []).append(column)
    named = sorted(equal, key=lambda said: -abs(contrast.shares[equal[said]].sum()))
    rest += [column for said in named[FEATURES:] for column in equal[said]]
    reasons: list[tuple[Any, ...]] = [(*said, float(contrast.shares[equal[said]].sum())) for said in named[:FEATURES]]
    if rest:
        words = f"{len(rest)} further feature{'s' if len(rest) > 1 else ''} together"
        reasons.append((words, None, None, float(contrast.shares[rest].sum())))
    fields = ("feature", "chosen", "other", "share")
    return {"measure": contrast.measure, "why": [dict(zip(fields, each, strict=True)) for each in reasons]}


_LEAST = 0.05  # score of a change that is listed
_MOST = 6  # changes of a step that are listed
_SPREAD = 0.1  # weight of the distances of the parts, beside that of the mixture


# Changes that a prediction expects, the likeliest first: an atom, whether it becomes true, and the summed shares of the
# candidates with this change. Then the share of the current state and of candidates that change nothing.
Expectation = tuple[list[tuple[str, bool, float]], float]


def mixture(vectors: NDArray[np.floating[Any]], predicted: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The shares [n], non-negative and of sum 1, of vectors [n, D] in a predicted one [D].

    They minimise |sum_i w_i u_i|^2 + c sum_i w_i^2 |u_i|^2 over the different vectors, u_i = v_i - predicted, c = 0.1:
    the mixture is near the prediction, and so are its parts. Equal vectors have equal shares; a vector that equals the
    prediction has share 1.
    """
    different, which, count = np.unique(vectors.astype(np.float64), axis=0, return_inverse=True, return_counts=True)
    away = different - predicted.astype(np.float64)
    lengths = np.linalg.norm(away, axis=1)
    scale = float(lengths.max()) or 1.0
    # Shares of sum 1 by a row of ones: w = t x with x of sum 1 costs t^2 q(x) + (t - 1)^2, of which x minimises q.
    rows = np.vstack([away.T / scale, np.diag(np.sqrt(_SPREAD) * lengths / scale), np.ones(len(different))])
    found, _ = nnls(rows, np.append(np.zeros(len(rows) - 1), 1.0), maxiter=30 * len(different))
    shares = found / found.sum()
    return np.asarray((shares / count)[which.reshape(-1)])


def _expected(task: Task, policy: NearestEmbedding, step: Step, view: View) -> Expectation:
    assert view.state is not None
    assert view.predicted is not None
    rows = comparable(policy.metric, np.vstack([view.state, view.candidates, view.predicted]))
    return _expectation(task, step, mixture(rows[:-1], rows[-1]).tolist())


def _expectation(task: Task, step: Step, shares: Sequence[float]) -> Expectation:
    """The expectation from the shares of the current state and of the candidates."""
    here, nothing = set(task.fluents(step.state)), shares[0]
    scores: dict[tuple[str, bool], float] = {}
    for candidate, share in zip(step.candidates, shares[1:], strict=True):
        changed = here.symmetric_difference(task.fluents(candidate.state))
        nothing += 0.0 if changed else share
        for fluent in changed:
            change = (str(task.fluent(fluent)), fluent not in here)
            scores[change] = scores.get(change, 0.0) + share
    order = sorted(scores, key=lambda change: (-scores[change], change))
    return [(*change, scores[change]) for change in order], nothing


def step_records(rollout: Rollout, policy: object, expert: Sequence[Action] = ()) -> list[dict[str, Any]]:
    """`explanation_records`, with the likeliest expected changes and the cost of the state itself, as stored."""
    found = explanation_records(rollout, policy, expert)
    if isinstance(policy, NearestEmbedding):
        views = policy.views(rollout.task, rollout.steps)
        for record, step, view in zip(found, rollout.steps, views, strict=True):
            likely, nothing = _expected(rollout.task, policy, step, view)
            changes = [[atom, true, round(score, 2)] for atom, true, score in likely[:_MOST] if score >= _LEAST]
            record["expects"] = {"changes": changes, "nothing": round(nothing, 2)}
            state, predicted = np.asarray(view.state), np.asarray(view.predicted)
            record["state_cost"] = float(distances(policy.metric, state[None], predicted)[0])
    return found


def comparable(metric: str, rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The rows [n, D], scaled to length one if angles are compared; zero rows are unchanged."""
    return rows.astype(np.float64) if metric == "euclidean" else unit(rows)


MOST = 6  # decisions that are listed


@dataclass(frozen=True, eq=False)
class TrainingInfluence:
    """A training decision and its contribution to a feature's weight, positive where it raised the weight.

    `right` and `wrong` are the indices of a right and a wrong candidate that differ most in the feature, in the
    direction of the amount's sign.
    """

    decision: Labelled
    amount: float
    right: int
    wrong: int


@dataclass(frozen=True, eq=False)
class WeightAttribution:
    """The training decisions that contribute most to a feature's weight in a state, and the number of all decisions.

    `attributed` is the sum over all decisions; it differs from `weight` as far as the fit had not converged.
    """

    feature: str
    weight: float
    attributed: float
    influences: tuple[TrainingInfluence, ...]
    decisions: int


def attribute_weight(
    run: Run,
    policy: object,
    data: Demonstrations,
    rollout: Rollout,
    place: int,
    other: int,
    feature: str,
    most: int = MOST,
) -> WeightAttribution:
    """The training decisions that produced the weight of a feature that distinguishes two candidates of a step.

    They are the chosen candidate of step `place` (from 0) and candidate `other`; `feature` is a text of the
    explanation, which can represent several features with the same text.
    """
    method = attributable(run)
    assert isinstance(policy, Embedding)
    columns = columns_of(policy, rollout, place, other, feature)
    parts = method.weight_contributions(run, data, columns)
    by_row = np.array([1.0, goal_share(rollout.task, rollout.steps[place].state)])[: len(parts.weights)]
    amounts = (parts.amounts * by_row[None, :, None]).sum(axis=(1, 2))
    order = np.argsort(-np.abs(amounts), kind="stable")[:most].tolist()
    largest = [(parts.decisions[each], float(amounts[each])) for each in order if amounts[each]]
    return WeightAttribution(
        feature,
        float((parts.weights * by_row[:, None]).sum()),
        float(amounts.sum()),
        tuple(_influence(policy, decision, amount, columns) for decision, amount in largest),
        len(amounts),
    )


def attributable(run: Run) -> SupportsAttribution:
    """The method of a run whose weights are sums over decisions. Raises ConfigurationError for other runs."""
    method = get_method(run.key.method)
    if not isinstance(method, SupportsAttribution):
        raise ConfigurationError(
            f"the weights of {run.key.method} are not sums over training decisions; expected a run of contrastive-jumps"
        )
    if own := run.record["facts"].get("own_plans"):
        raise ConfigurationError(
            f"the run also learned from {own} plans of its own, which are not stored; expected a run without expert "
            "iteration"
        )
    return method


def columns_of(policy: Embedding, rollout: Rollout, place: int, other: int, feature: str) -> list[int]:
    """The columns of the embedding with the text `feature` that differ between the candidates of `attribute_weight`."""
    step = rollout.steps[place]
    pair = replace(step, candidates=[step.candidates[each] for each in (step.chosen, other)], chosen=0)
    (view,) = policy.views(rollout.task, [pair])
    contrast = policy.contrast(rollout.task, pair, view, 0, 1)
    telling = np.flatnonzero(contrast.first != contrast.second).tolist()
    columns = [column for column, words in zip(telling, contrast.words(telling), strict=True) if words == feature]
    if not columns:
        raise InputError(
            f"'{feature}' does not distinguish these candidates of step {place + 1}; choose a feature of an explanation"
        )
    return columns


def _influence(policy: Embedding, decision: Labelled, amount: float, columns: Sequence[int]) -> TrainingInfluence:
    """A decision with the candidates that show its amount best."""
    count = len(decision.choice)
    step = Step(decision.state, list(decision.choice), np.zeros(count), None, np.zeros(count, np.uint8), 0)
    (view,) = policy.views(decision.task, [step])
    values = np.sign(amount) * view.candidates[:, columns].sum(axis=1)
    right = int(np.argmax(np.where(decision.positive, values, -np.inf)))
    return TrainingInfluence(decision, amount, right, int(np.argmin(np.where(decision.positive, np.inf, values))))


def reweighted(planner: Planner, rollout: Rollout, place: int, other: int, feature: str, factor: float) -> Planner:
    """The planner with the weight of a feature times `factor`: 0 removes the feature, -1 flips its sign."""
    if not math.isfinite(factor):
        raise ConfigurationError(f"the factor is {factor}; expected a finite number")
    policy = planner.policy
    if not isinstance(policy, NearestTransition):
        raise ConfigurationError(
            f"the features of a {type(policy).__name__} have no weights; expected a run of contrastive-jumps"
        )
    return replace(planner, policy=policy.reweighted(columns_of(policy, rollout, place, other, feature), factor))


@dataclass(frozen=True)
class TwoNamings:
    """The encoder's view of a state under two namings.

    `atoms` [n] are the tokens in words, `attended` [layers, 2, n, n] the attention scores, averaged over heads.
    """

    atoms: Sequence[str]
    attended: NDArray[np.float64]
    attention_loss: float
    hidden_loss: float


def under_two_namings(planner: Planner, task: Task, seeds: tuple[int, int] = (0, 1)) -> TwoNamings:
    """Encode a task's initial state under the names drawn by two seeds."""
    import torch

    from sgp.encoders.tokens import PAD
    from sgp.models.transformer import Seen
    from sgp.training.two_views import attention_loss, hidden_loss

    model, tokens = _parts(planner)
    device = next(model.parameters()).device
    rows = tokens.state(task, task.init)
    named = [tokens.named(rows, tokens.drawn_naming(task, seed)) for seed in seeds]
    seen = Seen()
    atoms = torch.as_tensor(np.stack(named), device=device)
    with torch.inference_mode():
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
    from sgp.encoders.tokens import Tokens
    from sgp.models.transformer import AtomEncoder

    policy = planner.policy
    holder = getattr(policy, "value", None) or getattr(policy, "writer", None)
    model, tokens = getattr(holder, "model", None), getattr(holder, "tokens", None) or getattr(policy, "tokens", None)
    if not isinstance(model, AtomEncoder) or not isinstance(tokens, Tokens):
        raise InputError("the planner has no transformer of atoms; expected one of method symt, variant ed or e")
    return model, tokens
