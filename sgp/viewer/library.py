"""The library of recorded rollouts: the package's and the user's own."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sgp.datasets.recorded import PACKED, Recorded, read_heads
from sgp.datasets.store import data_folder, home
from sgp.datasets.subject import DEFAULT, PlannerName, Subject, Variant
from sgp.errors import SgpError

if TYPE_CHECKING:  # the dashboard opens without a learning library
    from sgp.datasets.runs import RunKey


@dataclass(frozen=True)
class Library:
    """Recorded rollouts in the order of their files, and a sentence for each file that cannot be read."""

    rollouts: tuple[Recorded, ...]
    damaged: tuple[str, ...]

    def address_of(self, recorded: Recorded) -> dict[str, str]:
        """A rollout's parameters in the dashboard's address: domain, problem (with its split if needed) and model."""
        name = rollout_address(recorded)
        if self._named[tuple(name.values())] > 1 and recorded.about.split:
            name["problem"] += f", {recorded.about.split}"
        return name

    @cached_property
    def _named(self) -> Counter[tuple[str, ...]]:
        return Counter(tuple(rollout_address(each).values()) for each in self.rollouts)


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))


def planner_words(kind: Literal["meanings", "names"]) -> Mapping[str, str]:
    """The words in names of planners and splits, with their meanings or as a reader sees them."""
    return _words()[kind]


def planner_name(planner: PlannerName) -> str:
    """A planner's name to read: its method, then its settings; commands and addresses have its title instead."""
    method = planner_words("names").get(planner.method, planner.method)
    return ": ".join(filter(None, (method, settings_words(planner))))


def method_name(about: Subject) -> str:
    """The name of a rollout's method to read."""
    return planner_words("names").get(about.method, about.method)


def model_name(about: Subject) -> str:
    """The name of a rollout's planner to read, with its seed."""
    if not about.method:
        return about.model
    return planner_name(about.planner) + ("" if about.seed is None else f", seed {about.seed}")


def outcome_words(outcome: str) -> str:
    """An outcome in words; a crash, which is no outcome, as it was recorded."""
    return _words()["outcomes"].get(outcome, outcome)


def settings_words(planner: PlannerName) -> str:
    """A planner's settings in words, separated by commas."""
    names = planner_words("names")
    variant, *changed = planner.variant.split("+")
    parts = [variant] if variant in names else variant.split("-")
    settings = [names.get(part, part) for part in parts if part != planner.method]
    for name, _, value in (each.partition("=") for each in changed):
        settings.append(f"{value} {names[name]}" if name in names else f"{name} = {value}")
    settings += [names.get(part, part) for part in (planner.decoding,) if part != DEFAULT]
    settings += [f"selected by {names.get(planner.selected_by, planner.selected_by)}" if planner.selected_by else ""]
    return ", ".join(filter(None, settings))


def recorded_folder() -> Path:
    """The folder of the package's recorded rollouts, made by 'python -m sgp.experiments.bundle rollouts'."""
    return data_folder() / "recorded"


def own_rollouts_folder() -> Path:
    """The folder of a user's own rollouts, where `sgp evaluate --record` writes them."""
    return home() / "recorded"


def rollout_address(recorded: Recorded) -> dict[str, str]:
    """Domain, problem and model of a rollout; `Library.address_of` makes them unambiguous."""
    return {
        "domain": recorded.about.domain or "other",
        "problem": str(recorded.head.get("name", "unnamed")),
        "model": f"{recorded.about.model} ({recorded.head.get('outcome', '')})",
    }


def model_title(recorded: Recorded) -> str:
    """The model of a rollout to read, after a sign for its outcome, which a narrow box does not cut off."""
    return f"{'✔' if recorded.head.get('outcome') == 'solved' else '✕'} {model_name(recorded.about)}"


def recorded_rollouts(*folders: Path | str) -> Library:
    """All rollouts in the JSONL files of folders (the package's own if none is given).

    Ordered by domain, solved ones first. Steps are read on request. A rollout in two files counts once.
    """
    rollouts: dict[tuple[Any, ...], Recorded] = {}
    damaged = []
    for file in [file for folder in folders or [recorded_folder()] for file in rollout_files(folder)]:
        try:
            for each in read_heads(file):
                same = (each.head.get("sha256"), each.about, each.head.get("outcome"), each.head["steps"])
                rollouts.setdefault(same, each)
        except SgpError as error:
            damaged.append(str(error))
    solved_first = sorted(rollouts.values(), key=lambda each: (each.about.domain, each.head.get("outcome") != "solved"))
    return Library(tuple(solved_first), tuple(damaged))


def rollout_files(folder: Path | str) -> list[Path]:
    """The files of a folder that contain rollouts, by name."""
    return sorted(file for ending in ("*.jsonl", f"*.jsonl{PACKED}") for file in Path(folder).glob(ending))


def recorded_of(run: RunKey) -> list[Path]:
    """The files of the package's recorded rollouts by a run."""
    variant = Variant.parse(run.variant)
    name = str(replace(variant, selected_by=""))
    made = (PlannerName(run.method, name, selected_by=variant.selected_by), run.domain, run.seed)
    found = [(each.source, each.about) for each in recorded_rollouts().rollouts]
    return [Path(source) for source, by in found if (by.planner._replace(decoding=""), by.domain, by.seed) == made]
