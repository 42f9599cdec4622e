"""Recorded retrievals: steps of a domain, and the states that models rank nearest to the predicted next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sgp.datasets.recorded import atom_of
from sgp.datasets.store import data_folder, home
from sgp.domains import draw_scene, words_of
from sgp.domains.domain import Scene
from sgp.errors import SgpError, StoreError
from sgp.files import read_json
from sgp.planning.pddl import Atom, DomainText, ProblemText, parse_plan, read_both, read_domain

FORMAT = 1

Point = tuple[int, ...]  # x, y by PCA, then by UMAP if there is one


class Near(NamedTuple):
    """A candidate: a state of the file, and its cosine similarity to the prediction."""

    state: int
    similarity: float
    point: Point | None


class Found(NamedTuple):
    """The result of a step in one pool of `size` states: candidates nearest first, and the rank of the true state."""

    nearest: tuple[Near, ...]
    better: int
    tied: int
    size: int

    @property
    def word(self) -> str:
        """Hit, undecided or miss."""
        return "miss" if self.better else "undecided" if self.tied else "hit"

    @property
    def words(self) -> str:
        """The same, with the rank of the true state."""
        if self.better:
            return f"Miss: the true next state ranks {self.better + 1} of {self.size}"
        if self.tied:
            return f"Undecided: the true next state and {self.tied} of {self.size} candidates are equally near"
        return f"Hit: the true next state is the nearest of {self.size}"


@dataclass(frozen=True, eq=False)
class RetrievedModel:
    """The record of one model: `training` states on its map, and its results."""

    record: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Method and variant."""
        return f"{self.record['method']} {self.record['variant']}"

    @property
    def training(self) -> list[tuple[int, Point]]:
        """Known states of the file with their points; none where the model has no single map."""
        return [(state, tuple(point)) for state, point in self.record["ground"]]

    @property
    def explained(self) -> tuple[float, float]:
        """Shares of the variance along the two axes of PCA."""
        first, second = self.record["explained"]
        return float(first), float(second)

    def found(self, step: int, pools: str) -> Found:
        """The result of a step in a kind of pools."""
        pool = self.record["steps"][step]["pools"][pools]
        nearest = tuple(
            Near(int(state), float(similarity), tuple(point) if point else None)
            for state, similarity, point in pool["nearest"]
        )
        return Found(nearest, pool["better"], pool["tied"], pool["size"])

    def points(self, step: int) -> dict[str, Point]:
        """The points of the state, the prediction and the true next state."""
        return {name: tuple(point) for name, point in self.record["steps"][step]["points"].items()}


@dataclass(frozen=True, eq=False)
class Retrieved:
    """A file of recorded steps of one domain, by one protocol and seed; its record was checked when it was read."""

    source: str
    record: Mapping[str, Any]
    _problems: dict[int, tuple[DomainText, ProblemText]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Domain, protocol, seed."""
        record, learned = self.record, self.record["learned_from"]
        parts = [
            *map(str, (record["domain"], record["protocol"])),
            f"learned from at most {record['most']} transitions" if record["most"] else "",
            f"{record['shots']} of each schema" if record["shots"] else "",
            f"seed {record['seed']}",
            "" if learned == record["domain"] else f"learned from {learned.replace('+', ', ')}",
        ]
        return ", ".join(filter(None, parts))

    @property
    def pools(self) -> list[str]:
        """Kinds of pools."""
        return list(self.record["pools"])

    @cached_property
    def models(self) -> list[RetrievedModel]:
        """The models, in the order in which they were given."""
        return [RetrievedModel(each) for each in self.record["models"]]

    @cached_property
    def steps(self) -> list[str]:
        """Number, problem and action of each step, in words."""
        return [
            f"{step + 1}. {self.problem_of(each['before'])}: {self.action(step)}"
            for step, each in enumerate(self.record["steps"])
        ]

    def action(self, step: int) -> str:
        """The action of a step, in words."""
        (action,) = parse_plan(self.record["steps"][step]["action"], self.source)
        return str(self._words.sentence(action))

    def states(self, step: int) -> tuple[int, int]:
        """The state before and the true state after a step."""
        each = self.record["steps"][step]
        return each["before"], each["after"]

    def problem_of(self, state: int) -> str:
        """The name of the problem that a state belongs to."""
        return str(self.record["problems"][self.record["states"][state][0]]["name"])

    def atoms(self, state: int) -> frozenset[Atom]:
        """The fluent atoms of a state."""
        return frozenset(self._atoms[number] for number in self.record["states"][state][1])

    def differences(self, state: int, true: int) -> list[tuple[str, str]]:
        """Atoms that are true in a state and not in the true one (+), and the reverse (-), in words."""
        here, there, other = self.atoms(state), self.atoms(true), self.problem_of(state)
        signed = [("+", atom) for atom in here - there] + [("-", atom) for atom in there - here]
        words = [(sign, self._words.sentence(atom)) for sign, atom in sorted(signed, key=lambda each: str(each[1]))]
        return words if other == self.problem_of(true) else [("≠", f"of another problem, {other}"), *words]

    def drawing(self, state: int) -> str:
        """A state as SVG."""
        return draw_scene(self._domain, self.scene(state))

    def scene(self, state: int) -> Scene:
        """What a state's drawing shows."""
        number = self.record["states"][state][0]
        if number not in self._problems:
            problem = self.record["problems"][number]
            source = f"{self.source}, problem {problem['name']}"
            self._problems[number] = read_both((self.record["domain_pddl"], source), (problem["pddl"], source))
        domain, problem = self._problems[number]
        statics = {atom for atom in problem.init if atom.predicate not in domain.fluent_predicates}
        return Scene((*domain.constants, *problem.objects), self.atoms(state) | statics, ())

    @cached_property
    def _atoms(self) -> list[Atom]:
        return [atom_of(line) for line in self.record["atoms"]]

    @cached_property
    def _domain(self) -> DomainText:
        return read_domain(self.record["domain_pddl"], self.source)

    @cached_property
    def _words(self) -> Any:
        return words_of(self._domain)


def retrieved_folder() -> Path:
    """The folder of the package's recorded retrievals. Raises StoreError where the package's data are missing."""
    return data_folder() / "retrieved"


def own_retrieved_folder() -> Path:
    """The folder in which `sgp retrieve --record` saves a user's own."""
    return home() / "retrieved"


def retrieved_files(*folders: Path | str) -> tuple[list[Retrieved], list[str]]:
    """Recorded retrievals of folders (the package's own if none is given), and a sentence for each unreadable file."""
    found, damaged = list[Retrieved](), list[str]()
    for file in [file for folder in folders or [retrieved_folder()] for file in sorted(Path(folder).glob("*.json"))]:
        try:
            found.append(_read(file))
        except SgpError as error:
            damaged.append(str(error))
    return found, damaged


def _read(file: Path) -> Retrieved:
    """Raises StoreError for a file that is no recorded retrieval, or lacks a part that is shown."""
    record = read_json(file)
    again = "make it again with 'sgp retrieve --record'"
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(f"{file} is not a recorded retrieval of format {FORMAT}; {again}")
    found = Retrieved(str(file), record)
    try:
        _check(found)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(f"{file} is a damaged recorded retrieval ({error!r}); {again}") from error
    return found


def _check(file: Retrieved) -> None:
    """Read everything that pages show, without drawing it."""
    _ = file.title, str(file.record["about"])
    if not file.pools:
        raise ValueError("there are no pools")
    shown = {state for step in range(len(file.steps)) for state in file.states(step)}
    for model in file.models:
        _ = model.title, model.explained
        points = [point for _, point in model.training]
        for step in range(len(file.steps)):
            near = [each for pools in file.pools for each in model.found(step, pools).nearest]
            shown.update(each.state for each in near)
            points += [*model.points(step).values(), *(each.point for each in near if each.point)]
        if {len(point) for point in points} not in ({2}, {4}, set()):
            raise ValueError(f"points of {model.title} have different numbers of coordinates")
    for state in shown:
        file.scene(state)
