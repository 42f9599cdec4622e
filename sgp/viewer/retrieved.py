"""Recorded retrievals: steps of a domain, and the states that models hold to be the next one, nearest first.

`sgp retrieve --record` writes the files; nothing here needs a planning or a learning library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sgp.datasets.store import data_folder, home
from sgp.domains import draw_scene, words_of
from sgp.errors import SgpError, StoreError
from sgp.files import read_json
from sgp.planning.domain import Scene
from sgp.planning.pddl import Atom, DomainText, ProblemText, parse_plan, read_both, read_domain
from sgp.planning.recorded import atom_of

FORMAT = 1

Point = tuple[int, ...]  # x, y by PCA, then by UMAP where it was made


class Near(NamedTuple):
    """A candidate: which of the file's states, and how similar it is to what was predicted (cosine)."""

    state: int
    similarity: float
    point: Point | None


@dataclass(frozen=True)
class Found:
    """What a model made of a step in one pool: candidates nearest first, and where the true state stands.

    `better` candidates are more similar than the true one, `tied` others as similar, of `size` in all.
    """

    nearest: tuple[Near, ...]
    better: int
    tied: int
    size: int

    @property
    def word(self) -> str:
        """Hit, undecided or miss."""
        return "miss" if self.better else "undecided" if self.tied else "hit"

    @property
    def standing(self) -> str:
        """The same with the true state's place among the candidates."""
        if self.better:
            return f"{self.word}: the true state is number {self.better + 1} of {self.size}"
        if self.tied:
            return f"{self.word}: the true state and {self.tied} of {self.size} candidates are equally near"
        return f"{self.word}: the true state is the nearest of {self.size}"


@dataclass(frozen=True, eq=False)
class RetrievedModel:
    """What is recorded of one model: its ground of known states on the map, and what it found."""

    record: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Method and variant."""
        return f"{self.record['method']} {self.record['variant']}"

    @property
    def ground(self) -> list[tuple[int, Point]]:
        """States of the file with their points; none where the model has no one map."""
        return [(state, tuple(point)) for state, point in self.record["ground"]]

    @property
    def has_umap(self) -> bool:
        """Whether points have places by UMAP, too."""
        return any(len(point) > 2 for _, point in self.ground)

    @property
    def explained(self) -> tuple[float, float]:
        """Shares of the variance along the two axes of PCA."""
        one, other = self.record["explained"]
        return float(one), float(other)

    def found(self, step: int, pools: str) -> Found:
        """What it made of a step in a kind of pools."""
        each = self.record["steps"][step]["pools"][pools]
        nearest = tuple(
            Near(int(state), float(near), tuple(point) if point else None) for state, near, point in each["nearest"]
        )
        return Found(nearest, each["better"], each["tied"], each["size"])

    def points(self, step: int) -> dict[str, Point]:
        """Where the state, the prediction and the true next state stand on the map."""
        return {name: tuple(point) for name, point in self.record["steps"][step]["points"].items()}


@dataclass(frozen=True, eq=False)
class Retrieved:
    """A file of recorded steps of one domain by one protocol and seed.

    What is derived from a damaged record raises KeyError, TypeError, ValueError, IndexError or AttributeError.
    """

    source: str
    record: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Domain, protocol, seed."""
        record = self.record
        parts = [str(record["domain"]), str(record["protocol"])]
        parts += [f"at most {record['most']} transitions"] if record["most"] else []
        parts += [f"{record['shots']} of each schema"] if record["shots"] else []
        parts += [f"seed {record['seed']}"]
        learned = record["learned_from"]
        parts += [] if learned == record["domain"] else [f"learned from {learned.replace('+', ', ')}"]
        return ", ".join(parts)

    @property
    def about(self) -> str:
        """How the file was made, in a sentence."""
        return str(self.record["about"])

    @property
    def pools(self) -> list[str]:
        """Kinds of pools."""
        return list(self.record["pools"])

    @cached_property
    def models(self) -> list[RetrievedModel]:
        """The models, as they were given."""
        return [RetrievedModel(each) for each in self.record["models"]]

    @cached_property
    def steps(self) -> list[str]:
        """Problem and action of each step, in words. Raises PlanError for an action that cannot be read."""
        return [
            f"{place}. {self.problem_of(each['before'])}: {self.action(place - 1)}"
            for place, each in enumerate(self.record["steps"], start=1)
        ]

    def action(self, step: int) -> str:
        """The action of a step in words. Raises PlanError for one that cannot be read."""
        (action,) = parse_plan(self.record["steps"][step]["action"], self.source)
        return str(self._words.sentence(action))

    def states(self, step: int) -> tuple[int, int]:
        """The state before and the true state after a step."""
        each = self.record["steps"][step]
        return each["before"], each["after"]

    def problem_of(self, state: int) -> str:
        """The name of the problem that a state is of."""
        return str(self.record["problems"][self.record["states"][state][0]]["name"])

    def atoms(self, state: int) -> frozenset[Atom]:
        """The atoms that hold in a state and that actions change."""
        return frozenset(self._atoms[number] for number in self.record["states"][state][1])

    def differences(self, state: int, true: int) -> list[tuple[str, str]]:
        """What holds in a state and not in the true one (+), and the other way round (-), in words.

        Where the states are of different problems, that comes first.
        """
        here, there = self.atoms(state), self.atoms(true)
        other = self.problem_of(state)
        told = [("≠", f"of another problem, {other}")] if other != self.problem_of(true) else []
        signed = [("+", atom) for atom in here - there] + [("-", atom) for atom in there - here]
        words = [(sign, self._words.sentence(atom)) for sign, atom in sorted(signed, key=lambda each: str(each[1]))]
        return [*told, *words]

    def drawing(self, state: int) -> str:
        """A state as SVG."""
        return draw_scene(self._domain, self.scene(state))

    def scene(self, state: int) -> Scene:
        """What a state's drawing shows. Raises PddlError for texts that cannot be read."""
        number = self.record["states"][state][0]
        domain, problem = self._texts(number)
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

    def _texts(self, number: int) -> tuple[DomainText, ProblemText]:
        if number not in self._known:
            problem = self.record["problems"][number]
            source = f"{self.source}, problem {problem['name']}"
            self._known[number] = read_both((self.record["domain_pddl"], source), (problem["pddl"], source))
        return self._known[number]

    @cached_property
    def _known(self) -> dict[int, tuple[DomainText, ProblemText]]:
        return {}


def retrieved_folder() -> Path:
    """Where the recorded retrievals lie that come with the package. Raises StoreError where its data are missing."""
    return data_folder() / "retrieved"


def own_retrieved_folder() -> Path:
    """Where `sgp retrieve --record` writes a user's own."""
    return home() / "retrieved"


def retrieved_files(*folders: Path | str) -> tuple[list[Retrieved], list[str]]:
    """The recorded retrievals of folders, and a sentence for each file that cannot be read.

    A folder that is missing holds none; where none is given, they are the package's own. Raises StoreError where the
    package's data are missing.
    """
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
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(
            f"{file} is no recorded retrieval of format {FORMAT}; make it again with 'sgp retrieve --record'"
        )
    found = Retrieved(str(file), record)
    try:
        _look_through(found)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{file} is a damaged recorded retrieval ({error!r}); make it again with 'sgp retrieve --record'"
        ) from error
    return found


def _look_through(found: Retrieved) -> None:
    """Reads what pages show, without drawing it."""
    _ = found.title, found.about
    if not found.pools:
        raise ValueError("there are no pools")
    shown: set[int] = set()
    for step in range(len(found.steps)):
        shown.update(found.states(step))
        for model in found.models:
            model.points(step)
            shown.update(near.state for kind in found.pools for near in model.found(step, kind).nearest)
    for model in found.models:
        _ = model.title, model.explained
        points = [point for _, point in model.ground]
        for step in range(len(found.steps)):
            points += model.points(step).values()
            points += (near.point for kind in found.pools for near in model.found(step, kind).nearest if near.point)
        if {len(point) for point in points} not in ({2}, {4}, set()):
            raise ValueError(f"points of {model.title} have different numbers of coordinates")
    for state in shown:
        found.atoms(state)
        found.scene(state)
