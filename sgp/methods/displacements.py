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
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Transition, Transitions
from sgp.encoders import StateEncoder
from sgp.encoders.text import TextConfig, TextEncoder
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import ConfigurationError, StoreError, check_fields
from sgp.files import whole_file
from sgp.methods.configuration import from_record
from sgp.methods.state_encoders import text_encoders
from sgp.planning.pddl import Action, Atom, read_domain
from sgp.planning.task import State, Task
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


Features = TypeVar("Features", bound=StateEncoder)


class Copy(Generic[Features]):
    """Predictor of no change."""

    def __init__(self, encoder_of: Callable[[Task], Features]):
        self.encoder_of = encoder_of

    def refuses(self, task: Task) -> str | None:
        """Return why the task cannot be embedded, or None."""
        return self.encoder_of(task).refuses(task)

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """Return the states' embeddings [n, D]."""
        return self.encoder_of(task).embed(task, states)

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the states' own embeddings [n, D]."""
        return self.embed(task, states)


class Displaced(Copy[Features]):
    """Predictor that adds the mean training displacement [D] of an action, or of its schema if the action is unseen.

    `means` has them by name (see `_named`). An action of an unseen schema is predicted to change nothing; a warning is
    logged.
    """

    def __init__(self, encoder_of: Callable[[Task], Features], means: Mapping[str, Vectors]):
        super().__init__(encoder_of)
        self._means = means

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted embeddings [n, D]."""
        return self._displaced(task, self.embed(task, states), actions)

    def _displaced(
        self, task: Task, rows: NDArray[np.floating[Any]], actions: Sequence[Action]
    ) -> NDArray[np.floating[Any]]:
        predicted = rows.astype(np.float64)
        for place, action in enumerate(actions):
            change = self._means.get(_named(task, str(action)), self._means.get(_named(task, action.name)))
            if change is None:
                _warn_unseen(task, action)
            else:
                predicted[place] += change
        return predicted


class Ridge(Copy[TextEncoder]):
    """Next embedding as a linear function of the embeddings of state and action; `weights` are [2 D + 1, D]."""

    def __init__(self, encoder_of: Callable[[Task], TextEncoder], weights: Vectors):
        super().__init__(encoder_of)
        self._weights = weights

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted embeddings [n, D]."""
        encoder = self.encoder_of(task)
        return np.asarray(_beside(encoder.embed(task, states), encoder.embed_actions(actions)) @ self._weights)


class Renamed(Displaced[TextEncoder]):
    """`Displaced` with the action's arguments renamed, in states and candidates."""

    def embed_seen(self, task: Task, states: Sequence[State], action: Action) -> NDArray[np.floating[Any]]:
        """Return the states' embeddings [n, D] with the action's arguments renamed."""
        return seen_from(self.encoder_of(task), task, states, action)

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted embeddings [n, D], each with the arguments of its action renamed."""
        seen = [self.embed_seen(task, [state], action)[0] for state, action in zip(states, actions, strict=True)]
        return self._displaced(task, np.array(seen), actions)


class Induced(Copy[TextEncoder]):
    """Predictor that applies the observed add and delete effects of a schema."""

    def __init__(self, encoder_of: Callable[[Task], TextEncoder], effects: Mapping[str, Effects]):
        super().__init__(encoder_of)
        self._effects = effects

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the embeddings [n, D] of the predicted states."""
        encoder = self.encoder_of(task)
        return np.array(
            [encoder.embed_atoms(self._after(task, state, each)) for state, each in zip(states, actions, strict=True)]
        )

    def _after(self, task: Task, state: State, action: Action) -> tuple[Atom, ...]:
        held = [task.fluent(each) for each in task.fluents(state)]
        name = _named(task, action.name)
        if name not in self._effects:
            _warn_unseen(task, action)
            return tuple(held)
        adds, deletes = ([_grounded(atom, action) for atom in each] for each in self._effects[name])
        return tuple(dict.fromkeys([*(atom for atom in held if atom not in deletes), *adds]))


class WLDisplaced(Displaced[WLEncoder]):
    """`Displaced` with Weisfeiler-Leman features; each training domain has its own encoder."""

    def __init__(self, encoders: Sequence[WLEncoder], means: Mapping[str, Vectors]):
        self._encoders = {encoder.domain_text.signature: encoder for encoder in encoders}
        super().__init__(lambda task: self._encoders[task.domain_text.signature], means)

    def refuses(self, task: Task) -> str | None:
        """Return that the task's domain was not trained on, or None."""
        if task.domain_text.signature in self._encoders:
            return None
        return f"domain {task.domain_text.name} was not learned from, and WL features are of one domain each"


class Displacements:
    """Retrieval baselines: no change, mean displacements, ridge regression, lifted displacements and lifted effects."""

    key = "displacements"
    title = "Displacements"
    paper = ""
    libraries: Sequence[str] = ()
    learns_from = Transitions
    variants: Mapping[str, DisplacementTraining] = {
        "renamed": DisplacementTraining(),
        **{kind: DisplacementTraining(kind) for kind in ("copy", "schema", "grounded", "ridge")},
        "schema-bag": DisplacementTraining("schema", _BAG),
        "induction": DisplacementTraining("induction", _BAG),
    }

    def deterministic(self, training: DisplacementTraining) -> bool:
        """Return False: the seed splits the training data, although training draws nothing."""
        return False

    def invariant(self, training: DisplacementTraining) -> bool:
        """Return False: sentences contain names, and renaming hides only those of arguments."""
        return False

    def train(self, training: DisplacementTraining, data: Transitions, draft: RunDraft) -> TransitionModel:
        """Compute the means, solve the regression, or collect the effects."""
        encoder_of = text_encoders(training.text)
        _write(draft.folder / _TABLES, *_learned(training, list(data.train), encoder_of))
        model, task = _model(training, draft.folder / _TABLES, encoder_of), data.train[0].task
        draft.keep_check(task.problem, {"embedding": model.embed(task, [task.init])[0]})
        return model

    def load_model(self, run: Run) -> TransitionModel:
        """Return the model of a run, verified against the embedding stored in the run."""
        training = from_record(DisplacementTraining, run.training)
        model, task = _model(training, run.folder / _TABLES, text_encoders(training.text)), Task(run.check_problem)
        run.verify({"embedding": model.embed(task, [task.init])[0]})
        return model


class WLDisplacements:
    """Mean changes of Weisfeiler-Leman features: a name-free baseline of transition prediction."""

    key = "wl-displacements"
    title = "WL displacements"
    paper = ""
    libraries = ("wlplan",)
    learns_from = Transitions
    variants: Mapping[str, WLDisplacementTraining] = {"schema": WLDisplacementTraining()}

    def deterministic(self, training: WLDisplacementTraining) -> bool:
        """Return True: training draws nothing."""
        return True

    def invariant(self, training: WLDisplacementTraining) -> bool:
        """Return True: WL colours contain no names."""
        return True

    def train(self, training: WLDisplacementTraining, data: Transitions, draft: RunDraft) -> WLDisplaced:
        """Collect each domain's vocabulary, then compute the means."""
        transitions, encoders = list(data.train), list[WLEncoder]()
        for name, pddl in data.domains.items():
            signature = read_domain(pddl, f"domain {name}").signature
            states: dict[Task, dict[State, None]] = defaultdict(dict)
            for each in transitions:
                if each.task.domain_text.signature == signature:
                    states[each.task].update({each.before: None, each.after: None})
            encoders.append(WLEncoder.fit(training.wl, ((task, list(some)) for task, some in states.items())))
            encoders[-1].save(draft.folder / f"wl-{len(encoders) - 1}.json")
        means = _means("schema", transitions, WLDisplaced(encoders, {}).encoder_of)
        _write(draft.folder / _TABLES, means)
        model, task = WLDisplaced(encoders, means), transitions[0].task
        draft.keep_check(task.problem, {"embedding": model.embed(task, [task.init])[0]})
        return model

    def load_model(self, run: Run) -> WLDisplaced:
        """Return the model of a run, verified against the embedding stored in the run."""
        run.require_version("wlplan")
        from_record(WLDisplacementTraining, run.training)
        encoders = [
            WLEncoder.load(run.folder / f"wl-{number}.json", read_domain(pddl, f"domain {name}"))
            for number, (name, pddl) in enumerate(run.record["domains"].items())
        ]
        model, task = WLDisplaced(encoders, _read(run.folder / _TABLES)[0]), Task(run.check_problem)
        run.verify({"embedding": model.embed(task, [task.init])[0]})
        return model


def seen_from(encoder: TextEncoder, task: Task, states: Sequence[State], action: Action) -> NDArray[np.float32]:
    """Return the states' embeddings [n, D], sums over atoms, with the action's arguments named by position."""
    found = np.array(encoder.embed(task, states))
    fluents = [task.fluents(state) for state in states]
    named = [
        number
        for number in {each for numbers in fluents for each in numbers}
        if not set(action.objects).isdisjoint(task.fluent(number).objects)
    ]
    if named:
        atoms = [task.fluent(number) for number in named]
        other = encoder.atom_vectors([renamed(atom, action) for atom in atoms]) - encoder.atom_vectors(atoms)
        places = {number: place for place, number in enumerate(named)}
        for place, numbers in enumerate(fluents):
            found[place] += other[[places[number] for number in numbers if number in places]].sum(axis=0)
    return found


def _learned(
    training: DisplacementTraining, transitions: Sequence[Transition], encoder_of: Callable[[Task], TextEncoder]
) -> tuple[dict[str, Vectors], str]:
    """Return the learned arrays by name, and the learned effects as JSON."""
    match training.kind:
        case "copy":
            return {}, ""
        case "induction":
            return {}, json.dumps(_effects(transitions))
        case "ridge":
            return {"weights": _regression(transitions, encoder_of, training.penalty)}, ""
        case kind:
            return _means(kind, transitions, encoder_of), ""


def _model(training: DisplacementTraining, file: Path, encoder_of: Callable[[Task], TextEncoder]) -> Copy[TextEncoder]:
    arrays, effects = _read(file)
    match training.kind:
        case "copy":
            return Copy(encoder_of)
        case "induction":
            record = json.loads(effects)
            return Induced(encoder_of, {name: (_atoms(adds), _atoms(dels)) for name, (adds, dels) in record.items()})
        case "ridge":
            return Ridge(encoder_of, arrays["weights"])
        case "renamed":
            return Renamed(encoder_of, arrays)
        case _:
            return Displaced(encoder_of, arrays)


def _atoms(record: Iterable[tuple[str, Sequence[str]]]) -> list[Atom]:
    return [Atom(predicate, tuple(objects)) for predicate, objects in record]


def _means(kind: Kind, transitions: Sequence[Transition], encoder_of: Callable[[Task], Features]) -> dict[str, Vectors]:
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
    before, action, after = list[NDArray[np.float32]](), list[NDArray[np.float32]](), list[NDArray[np.float32]]()
    for task, one, taken, other in transitions:
        encoder = encoder_of(task)
        rows = encoder.embed(task, [one, other])
        before.append(rows[0])
        after.append(rows[1])
        action.append(encoder.embed_actions([taken])[0])
    given, target = _beside(np.array(before), np.array(action)), np.array(after, np.float64)
    penalties = np.full(given.shape[1], penalty)
    penalties[-1] = 0.0
    return np.asarray(np.linalg.solve(given.T @ given + np.diag(penalties), given.T @ target))


def _beside(states: NDArray[np.float32], actions: NDArray[np.float32]) -> Vectors:
    """Concatenate states and actions [n, D] to rows [n, 2 D + 1] with a final 1."""
    return np.hstack([states, actions, np.ones((len(states), 1))]).astype(np.float64)


def _effects(transitions: Iterable[Transition]) -> dict[str, tuple[list[Atom], list[Atom]]]:
    """Return the observed add and delete effects of each schema, over argument positions."""
    found: dict[str, tuple[dict[Atom, None], dict[Atom, None]]] = defaultdict(lambda: ({}, {}))
    for task, before, action, after in transitions:
        true_before, true_after = set(task.fluents(before)), set(task.fluents(after))
        for side, numbers in zip(
            found[_named(task, action.name)], (true_after - true_before, true_before - true_after), strict=True
        ):
            side.update(dict.fromkeys(renamed(task.fluent(number), action) for number in sorted(numbers)))
    return {name: (list(adds), list(deletes)) for name, (adds, deletes) in found.items()}


def _grounded(atom: Atom, action: Action) -> Atom:
    """Replace the names of argument positions in an atom by the action's arguments."""
    names = {_place(name, action): name for name in action.objects}
    return Atom(atom.predicate, tuple(names.get(name, name) for name in atom.objects))


def _named(task: Task, name: str) -> str:
    """Return the name of an action or schema prefixed by its domain, because two domains may share a schema name."""
    return f"{task.domain_text.name} {name}"


_WARNED: set[str] = set()  # per process, because all models of one split lack the same schemas


def _warn_unseen(task: Task, action: Action) -> None:
    """Log once per schema that its effects are unknown."""
    name = _named(task, action.name)
    if name not in _WARNED:
        _WARNED.add(name)
        logger.warning(
            "action %s of domain %s occurs in no transition that was learned from; it is predicted to change nothing",
            action.name,
            task.domain_text.name,
        )


def _write(file: Path, arrays: Mapping[str, Vectors], effects: str = "") -> None:
    with whole_file(file) as temporary:
        tensors = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
        save_file(tensors or {"nothing": np.zeros(1)}, temporary, {"effects": effects})


def _read(file: Path) -> tuple[dict[str, Vectors], str]:
    """Read the learned arrays and effects; raises StoreError for a damaged file."""
    try:
        with safe_open(file, "np") as stored:
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            return arrays, (stored.metadata() or {})["effects"]
    except (SafetensorError, KeyError, OSError) as error:
        raise StoreError(f"{file} holds no displacements ({error}); train the run again") from error


METHODS = {method.key: method for method in (Displacements(), WLDisplacements())}
