"""Identification of a planner and its evaluation problems, shared by scores, attempts and recorded rollouts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

SPLITS = ("train", "validation", "interpolation", "extrapolation")  # of suites, in order
DEFAULT = "default"  # the first decoding of every method
_FIELD = re.compile(r"\+(drawn|without|protocol|most|shots|from|by)=")


@dataclass(frozen=True)
class Variant:
    """A variant of a method, with restrictions of its training.

    Written as `name+key=value...` in run folders, scores and file names. `name` includes settings that differ from the
    variant's (`ed+training.epochs=25`).
    """

    name: str
    left_out: str = ""  # name of a training problem
    drawn: tuple[int, int] | None = None  # number of training problems, and of the draw
    protocol: str = ""  # protocol of the split of transitions used in training
    max_transitions: int | None = None  # per domain; None for all
    shots: int = 0  # transitions of each schema of the measured domain
    source: str = ""  # the single training domain, if another domain is measured
    selected_by: str = ""  # validation that selected the run

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Parse the output of `str`."""
        name, *parts = _FIELD.split(text)
        values = dict(zip(parts[::2], parts[1::2], strict=True))
        count, _, draw = values.get("drawn", "").partition(".")
        protocol, dot, limit = values.get("protocol", "").rpartition(".")
        if not limit.isdecimal():
            protocol, limit = f"{protocol}{dot}{limit}", values.get("most", "")
        return cls(
            name,
            values.get("without", ""),
            (int(count), int(draw or 0)) if count else None,
            protocol,
            int(limit) if limit else None,
            int(values.get("shots", "0")),
            values.get("from", ""),
            values.get("by", ""),
        )

    def __str__(self) -> str:
        limit = "" if self.max_transitions is None else str(self.max_transitions)
        values = {
            "without": self.left_out,
            "drawn": "" if self.drawn is None else f"{self.drawn[0]}.{self.drawn[1]}",
            "protocol": ".".join(filter(None, (self.protocol, limit))) if self.protocol else "",
            "most": "" if self.protocol else limit,
            "shots": str(self.shots or ""),
            "from": self.source,
            "by": self.selected_by,
        }
        return self.name + "".join(f"+{key}={value}" for key, value in values.items() if value)

    def settings(self) -> dict[str, Any]:
        """Return the settings by name, those that were not restricted left out; `configuration` names the rest."""
        configuration, *others = self.name.split("+")
        changed = [each.partition("=") for each in others]
        drawn, draw = self.drawn or (None, None)
        values = {
            **{"left_out": self.left_out, "drawn": drawn, "draw": draw, "protocol": self.protocol},
            **{"max_transitions": self.max_transitions, "shots": self.shots or None, "source": self.source},
            **{name: int(text) if text.isdecimal() else text for name, _, text in changed},
        }
        return {
            "configuration": configuration,
            **{name: value for name, value in values.items() if value not in (None, "")},
        }

    @property
    def learned_from_all(self) -> bool:
        """Whether a run was trained on all training problems of its suite."""
        return not self.left_out and self.drawn is None


class PlannerName(NamedTuple):
    """The identity of a planner, independent of problems; see `Subject` for the fields."""

    method: str
    variant: str
    decoding: str = ""
    selected_by: str = ""

    @property
    def title(self) -> str:
        """The planner's name for display, without the method's default decoding."""
        words = [
            self.method,
            self.variant if self.variant != self.method else "",
            f"· {self.decoding}" if self.decoding not in ("", DEFAULT) else "",
            f"by {self.selected_by}" if self.selected_by else "",
        ]
        return " ".join(filter(None, words))


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A planner and the problems on which it was evaluated; "" and None for unknown or absent fields.

    `decoding` is "" for the method's default, which may be given as "default". `selected_by` is the validation that
    selected the planner within one training: loss, coverage or dynamic.
    """

    method: str = ""
    variant: str = ""
    domain: str = ""
    suite: str = ""
    split: str = ""
    seed: int | None = None
    decoding: str = ""
    selected_by: str = ""

    def __post_init__(self) -> None:
        if self.decoding == DEFAULT:  # one spelling, so that equal subjects compare equal
            object.__setattr__(self, "decoding", "")

    @property
    def planner(self) -> PlannerName:
        """The planner without its seed."""
        return PlannerName(self.method, self.variant, self.decoding, self.selected_by)

    @property
    def model(self) -> str:
        """The planner and its seed for display."""
        seed = "" if self.seed is None else f"seed {self.seed}"
        return " ".join(filter(None, (self.planner.title, seed))) or "a model that the file does not name"

    def record(self) -> dict[str, Any]:
        """Return only the subject's fields, without those that a measurement or score adds."""
        return {each.name: getattr(self, each.name) for each in fields(Subject)}


def read_subject(record: Mapping[str, Any]) -> Subject:
    """Read the subject of a record, which may lack fields or use names of an older version."""
    texts = {each.name: str(record.get(each.name) or "") for each in fields(Subject) if each.name != "seed"}
    seed = record.get("seed")
    variant = Variant.parse(texts["variant"])
    names = {"method": method_key(texts["method"]), "variant": str(replace(variant, selected_by=""))}
    return Subject(
        **{**texts, **names, "selected_by": texts["selected_by"] or variant.selected_by},
        seed=None if seed in (None, "") else int(seed),
    )


def method_key(text: str) -> str:
    """Return the current spelling of a method's key; older files use underscores."""
    return text.replace("_", "-")
