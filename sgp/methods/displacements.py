"""Displacements: transition predictors without a learned network, as lower and upper bounds of retrieval.

These methods are ours. `renamed` represents STRIPS effects in sentence vectors. A state's embedding is the sum of its
atoms' embeddings, and the action's arguments have fixed names. The displacement of a schema is then the same for all
its actions if each effect mentions only its arguments and constants and really changes the state. `induction` learns
the effects themselves. `WLDisplacements` has name-free features, and of an action only the schema.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Transition, Transitions
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import ConfigurationError, StoreError, check_fields
from sgp.files import whole_file
from sgp.methods.configuration import from_record
from sgp.methods.contract import MethodBase, WLMethod
from sgp.methods.state_encoders import text_encoders
from sgp.planning.pddl import Action, Atom, read_domain
from sgp.planning.states import State
from sgp.planning.task import Task
from sgp.policies.embedding import TransitionModel

logger = logging.getLogger(__name__)

Vectors = NDArray[np.float64]
Kind = Literal["copy", "schema", "grounded", "ridge", "renamed", "induction"]
_BAG = TextConfig("symbols")  # a state is a bag of its atoms
_TABLES = "learned.safetensors"
Effects = tuple[Sequence[Atom], Sequence[Atom]]  # added and deleted atoms, over argument positions


@dataclass(frozen=True)
class DisplacementTraining:
    """Kind of predictor and text embedding."""

    kind: Kind = "renamed"
    text: TextConfig = field(default_factory=TextConfig)
    penalty: float = 1.0  # of the ridge regression

    def __post_init__(self) -> None:
        check_fields(self, "", ["penalty"])
        if self.kind in ("renamed", "induction") and self.text.mode != "atoms":
            raise ConfigurationError(
                f"kind is {self.kind} and text.mode is {self.text.mode}; expected mode atoms, because a state is taken "
                "apart into its atoms"
            )


@dataclass(frozen=True)
class WLDisplacementTraining:
    """The features whose changes are averaged."""

    wl: WLConfig = field(default_factory=WLConfig)


def renamed(atom: Atom, action: Action) -> Atom:
    """Replace the action's arguments in an atom by the names of their positions."""
    return Atom(atom.predicate, tuple(_place(name, action) for name in atom.objects))


def _place(name: str, action: Action) -> str:
    return f"argument {action.objects.index(name) + 1}" if name in action.objects else name


@dataclass(frozen=True, eq=False)
class DisplacementModel:
    """Transition model of one kind; `arrays` has displacements [D] by `_named`, or "weights" [2 D + 1, D]."""

    kind: Kind
    encoder_of: Callable[[Task], Any]
    arrays: Mapping[str, Vectors] = field(default_factory=dict)
    effects: Mapping[str, Effects] = field(default_factory=dict)

    def refuses(self, task: Task) -> str | None:
        """Return why the task cannot be embedded, or None."""
        refusal: str | None = self.encoder_of(task).refuses(task)
        return refusal

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """Return the states' embeddings [n, D]."""
        return np.asarray(self.encoder_of(task).embed(task, states))

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted embeddings [n, D]; kind "renamed" renames the arguments of each action."""
        encoder, pairs = self.encoder_of(task), list(zip(states, actions, strict=True))
        match self.kind:
            case "copy":
                return self.embed(task, states)
            case "ridge":
                rows = _beside(encoder.embed(task, states), encoder.embed_actions(actions))
                return np.asarray(rows @ self.arrays["weights"])
            case "induction":
                return np.array([encoder.embed_atoms(self._after(task, *pair)) for pair in pairs])
            case "renamed":
                seen = [seen_from(encoder, task, [state], action)[0] for state, action in pairs]
                predicted = np.array(seen, np.float64)
            case _:
                predicted = self.embed(task, states).astype(np.float64)
        for place, action in enumerate(actions):
            change = self.arrays.get(_named(task, str(action)), self.arrays.get(_named(task, action.name)))
            if change is None:
                _warn_unseen(task, action)
            else:
                predicted[place] += change
        return predicted

    def _after(self, task: Task, state: State, action: Action) -> tuple[Atom, ...]:
        """Return the fluent atoms after an action, by the observed effects of its schema."""
        held = [task.fluent(each) for each in task.fluents(state)]
        name = _named(task, action.name)
        if name not in self.effects:
            _warn_unseen(task, action)
            return tuple(held)
        objects = {_place(object_, action): object_ for object_ in action.objects}
        adds, deletes = (
            [Atom(atom.predicate, tuple(objects.get(each, each) for each in atom.objects)) for atom in atoms]
            for atoms in self.effects[name]
        )
        return tuple(dict.fromkeys([*(atom for atom in held if atom not in deletes), *adds]))

    def saved(self, task: Task, draft: RunDraft) -> Self:
        """Write what was learned, and check vectors of a task; return the model."""
        with whole_file(draft.folder / _TABLES) as temporary:
            tensors = {name: np.ascontiguousarray(value) for name, value in self.arrays.items()}
            effects = json.dumps(self.effects) if self.effects else ""
            save_file(tensors or {"nothing": np.zeros(1)}, temporary, {"effects": effects})
        draft.keep_check(task.problem, {"embedding": self.embed(task, [task.init])[0]})
        return self

    def verified(self, run: Run) -> Self:
        """Return the model if it gives the embedding stored in the run."""
        task = Task(run.check_problem)
        run.verify({"embedding": self.embed(task, [task.init])[0]})
        return self


class Renamed(DisplacementModel):
    """Transition model of kind "renamed", which also embeds states as an action sees them."""

    def embed_seen(self, task: Task, states: Sequence[State], action: Action) -> NDArray[np.floating[Any]]:
        """Return the states' embeddings [n, D] with the action's arguments renamed."""
        return seen_from(self.encoder_of(task), task, states, action)


class WLDisplaced(DisplacementModel):
    """Mean displacements of schemas with Weisfeiler-Leman features; each training domain has its own encoder."""

    def __init__(self, encoders: Sequence[WLEncoder], means: Mapping[str, Vectors]):
        by_domain = {encoder.domain_text.signature: encoder for encoder in encoders}
        super().__init__("schema", lambda task: by_domain.get(task.domain_text.signature), means)

    def refuses(self, task: Task) -> str | None:
        """Return that the task's domain was not trained on, or None."""
        if self.encoder_of(task) is not None:
            return None
        return f"domain {task.domain_text.name} was not learned from, and WL features are of one domain each"


class Displacements(MethodBase):
    """Retrieval baselines: no change, mean displacements, ridge regression, lifted displacements and lifted effects."""

    key = "displacements"
    learns_from = Transitions
    variants: Mapping[str, DisplacementTraining] = {
        "renamed": DisplacementTraining(),
        **{kind: DisplacementTraining(kind) for kind in ("copy", "schema", "grounded", "ridge")},
        "schema-bag": DisplacementTraining("schema", _BAG),
        "induction": DisplacementTraining("induction", _BAG),
    }

    def train(self, training: DisplacementTraining, data: Transitions, draft: RunDraft) -> TransitionModel:
        """Compute the means, solve the regression, or collect the effects."""
        encoder_of, arrays, effects = text_encoders(training.text), dict[str, Vectors](), dict[str, Effects]()
        match training.kind:
            case "copy":
                pass
            case "induction":
                effects = _effects(data.train)
            case "ridge":
                arrays = {"weights": _regression(data.train, encoder_of, training.penalty)}
            case means:
                arrays = _means(means, data.train, encoder_of)
        kind = Renamed if training.kind == "renamed" else DisplacementModel
        return kind(training.kind, encoder_of, arrays, effects).saved(data.train[0].task, draft)

    def load_model(self, run: Run) -> TransitionModel:
        """Return the model of a run, verified against the embedding stored in the run."""
        training = from_record(DisplacementTraining, run.training)
        kind = Renamed if training.kind == "renamed" else DisplacementModel
        return kind(training.kind, text_encoders(training.text), *_read(run.folder / _TABLES)).verified(run)


class WLDisplacements(WLMethod):
    """Mean changes of Weisfeiler-Leman features: a name-free baseline of transition prediction."""

    key = "wl-displacements"
    learns_from = Transitions
    variants: Mapping[str, WLDisplacementTraining] = {"schema": WLDisplacementTraining()}

    def train(self, training: WLDisplacementTraining, data: Transitions, draft: RunDraft) -> TransitionModel:
        """Collect each domain's vocabulary, then compute the means."""
        encoders = list[WLEncoder]()
        for name, pddl in data.domains.items():
            signature = read_domain(pddl, f"domain {name}").signature
            states: dict[Task, dict[State, None]] = defaultdict(dict)
            for each in data.train:
                if each.task.domain_text.signature == signature:
                    states[each.task].update({each.before: None, each.after: None})
            encoders.append(WLEncoder.fit(training.wl, ((task, list(some)) for task, some in states.items())))
            encoders[-1].save(draft.folder / f"wl-{len(encoders) - 1}.json")
        means = _means("schema", data.train, WLDisplaced(encoders, {}).encoder_of)
        return WLDisplaced(encoders, means).saved(data.train[0].task, draft)

    def load_model(self, run: Run) -> TransitionModel:
        """Return the model of a run, verified against the embedding stored in the run."""
        from_record(WLDisplacementTraining, run.training)
        encoders = [
            WLEncoder.load(run.folder / f"wl-{number}.json", read_domain(pddl, f"domain {name}"))
            for number, (name, pddl) in enumerate(run.record["domains"].items())
        ]
        return WLDisplaced(encoders, _read(run.folder / _TABLES)[0]).verified(run)


def seen_from(encoder: TextEncoder, task: Task, states: Sequence[State], action: Action) -> NDArray[np.float32]:
    """Return the states' embeddings [n, D], sums over atoms, with the action's arguments named by position."""
    found = np.array(encoder.embed(task, states))
    fluents = [task.fluents(state) for state in states]
    every = {each for numbers in fluents for each in numbers}
    named = [number for number in every if not set(action.objects).isdisjoint(task.fluent(number).objects)]
    if named:
        atoms = [task.fluent(number) for number in named]
        other = encoder.atom_vectors([renamed(atom, action) for atom in atoms]) - encoder.atom_vectors(atoms)
        places = {number: place for place, number in enumerate(named)}
        for place, numbers in enumerate(fluents):
            found[place] += other[[places[number] for number in numbers if number in places]].sum(axis=0)
    return found


def _means(kind: Kind, transitions: Sequence[Transition], encoder_of: Callable[[Task], Any]) -> dict[str, Vectors]:
    """Return the mean displacements [D] of schemas and, for kind "grounded", of actions, by name (see `_named`)."""
    changes: dict[str, list[Vectors]] = defaultdict(list)
    for task, before, action, after in transitions:
        encoder, both = encoder_of(task), [before, after]
        if kind == "renamed" and isinstance(encoder, TextEncoder):
            rows: NDArray[np.floating[Any]] = seen_from(encoder, task, both, action)
        else:
            rows = encoder.embed(task, both)
        for name in (action.name, str(action)) if kind == "grounded" else (action.name,):
            changes[_named(task, name)].append(rows[1].astype(np.float64) - rows[0])
    return {name: np.mean(rows, axis=0) for name, rows in changes.items()}


def _regression(
    transitions: Sequence[Transition], encoder_of: Callable[[Task], TextEncoder], penalty: float
) -> Vectors:
    """Return the ridge weights [2 D + 1, D]; the intercept (last row) is not penalised."""
    states = np.array([encoder_of(each.task).embed(each.task, [each.before, each.after]) for each in transitions])
    actions = np.array([encoder_of(each.task).embed_actions([each.action])[0] for each in transitions])
    given, target = _beside(states[:, 0], actions), states[:, 1].astype(np.float64)
    penalties = np.full(given.shape[1], penalty)
    penalties[-1] = 0.0
    return np.asarray(np.linalg.solve(given.T @ given + np.diag(penalties), given.T @ target))


def _beside(states: NDArray[np.float32], actions: NDArray[np.float32]) -> Vectors:
    """Concatenate states and actions [n, D] to rows [n, 2 D + 1] with a final 1."""
    return np.hstack([states, actions, np.ones((len(states), 1))]).astype(np.float64)


def _effects(transitions: Iterable[Transition]) -> dict[str, Effects]:
    """Return the observed add and delete effects of each schema, over argument positions."""
    found: dict[str, tuple[dict[Atom, None], dict[Atom, None]]] = defaultdict(lambda: ({}, {}))
    for task, before, action, after in transitions:
        true_before, true_after = set(task.fluents(before)), set(task.fluents(after))
        for side, numbers in zip(
            found[_named(task, action.name)], (true_after - true_before, true_before - true_after), strict=True
        ):
            side.update(dict.fromkeys(renamed(task.fluent(number), action) for number in sorted(numbers)))
    return {name: (list(adds), list(deletes)) for name, (adds, deletes) in found.items()}


def _named(task: Task, name: str) -> str:
    """Return the name of an action or schema prefixed by its domain, because two domains may share a schema name."""
    return f"{task.domain_text.name} {name}"


_WARNED: set[str] = set()  # per process, because all models of one split lack the same schemas


def _warn_unseen(task: Task, action: Action) -> None:
    """Log once per schema that its effects are unknown."""
    name = _named(task, action.name)
    if name not in _WARNED:
        _WARNED.add(name)
        what = f"action {action.name} of domain {task.domain_text.name}"
        logger.warning("%s occurs in no transition that was learned from; it is predicted to change nothing", what)


def _read(file: Path) -> tuple[dict[str, Vectors], dict[str, Effects]]:
    """Read the learned arrays and effects; raises StoreError for a damaged file."""
    try:
        with safe_open(file, "np") as stored:
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            effects: Mapping[str, Any] = json.loads((stored.metadata() or {})["effects"] or "{}")
    except (SafetensorError, KeyError, OSError) as error:
        raise StoreError(f"{file} holds no displacements ({error}); train the run again") from error
    return arrays, {
        name: ([Atom(*atom) for atom in adds], [Atom(*atom) for atom in deletes])
        for name, (adds, deletes) in effects.items()
    }


METHODS = {method.key: method for method in (Displacements(), WLDisplacements())}
