"""Mean changes of Weisfeiler-Leman features: a name-free baseline of transition prediction.

This method is ours. The features are those of the built-in planners; of an action only the schema is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgp.datasets.runs import Run, RunDraft
from sgp.datasets.training_data import Transition, Transitions
from sgp.encoders.wl import WLConfig, WLEncoder
from sgp.errors import StoreError
from sgp.files import read_json, write_json
from sgp.methods.configuration import from_record
from sgp.planning.pddl import Action, DomainText, read_domain
from sgp.planning.task import State, Task

_CHANGES = "changes.json"


@dataclass(frozen=True)
class WLDisplacementTraining:
    """The features whose changes are averaged."""

    wl: WLConfig = field(default_factory=WLConfig)


class _OfDomain(NamedTuple):
    """A domain's encoder and the mean change [D] of each schema."""

    encoder: WLEncoder
    changes: Mapping[str, NDArray[np.float64]]


class WLDisplaced:
    """Predictor that adds the mean training change of an action's schema, for each training domain."""

    def __init__(self, of: Sequence[_OfDomain]):
        self._of = {each.encoder.domain_text.signature: each for each in of}

    def refuses(self, task: Task) -> str | None:
        """Return that the task's domain was not trained on, or None."""
        if task.domain_text.signature in self._of:
            return None
        return f"domain {task.domain_text.name} was not learned from, and WL features are of one domain each"

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """Return the states' histograms [n, D]."""
        return self._of[task.domain_text.signature].encoder.embed(task, states)

    def predict(self, task: Task, states: Sequence[State], actions: Sequence[Action]) -> NDArray[np.floating[Any]]:
        """Return the predicted histograms [n, D]; an action of an unseen schema changes nothing."""
        changes, rows = self._of[task.domain_text.signature].changes, self.embed(task, states).astype(np.float64)
        for place, action in enumerate(actions):
            rows[place] += changes.get(action.name, 0.0)
        return rows


class WLDisplacements:
    """A baseline of transition prediction with name-free features."""

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
        of: dict[Any, list[Transition]] = defaultdict(list)
        for step in data.train:
            of[step.task.domain_text.signature].append(step)
        known = [_learned(training.wl, of[domain.signature]) for domain in _domains(data.domains)]
        for number, each in enumerate(known):
            each.encoder.save(draft.folder / _vocabulary(number))
        tables = [{schema: row.tolist() for schema, row in each.changes.items()} for each in known]
        write_json(draft.folder / _CHANGES, tables)
        model, task = WLDisplaced(known), data.train[0].task
        draft.keep_check(task.problem, {"embedding": model.embed(task, [task.init])[0]})
        return model

    def load_model(self, run: Run) -> WLDisplaced:
        """Return the model of a run, verified against the embedding stored in the run."""
        run.require_version("wlplan")
        from_record(WLDisplacementTraining, run.training)
        tables = read_json(run.folder / _CHANGES)
        found = enumerate(zip(_domains(run.record["domains"]), tables, strict=True))
        model = WLDisplaced([_read(run.folder, number, domain, table) for number, (domain, table) in found])
        task = Task(run.check_problem)
        run.verify({"embedding": model.embed(task, [task.init])[0]})
        return model


def _domains(pddl: Mapping[str, str]) -> list[DomainText]:
    return [read_domain(text, f"domain {name}") for name, text in pddl.items()]


def _learned(config: WLConfig, transitions: Sequence[Transition]) -> _OfDomain:
    """Compute a domain's encoder and mean changes from its transitions."""
    states: dict[Task, dict[State, None]] = defaultdict(dict)
    for each in transitions:
        states[each.task].update({each.before: None, each.after: None})
    encoder = WLEncoder.fit(config, ((task, list(some)) for task, some in states.items()))
    found: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for task, before, action, after in transitions:
        rows = encoder.embed(task, [before, after]).astype(np.float64)
        found[action.name].append(rows[1] - rows[0])
    return _OfDomain(encoder, {schema: np.mean(each, axis=0) for schema, each in found.items()})


def _vocabulary(number: int) -> str:
    return f"wl-{number}.json"


def _read(folder: Path, number: int, domain: DomainText, table: Mapping[str, Sequence[float]]) -> _OfDomain:
    encoder = WLEncoder.load(folder / _vocabulary(number), domain)
    changes = {schema: np.asarray(row, np.float64) for schema, row in table.items()}
    for schema, row in changes.items():
        if len(row) != encoder.dimension:
            raise StoreError(
                f"{folder / _CHANGES} has {len(row)} numbers for {schema}, where the vocabulary has "
                f"{encoder.dimension}; train the run again"
            )
    return _OfDomain(encoder, changes)


METHOD = WLDisplacements()
