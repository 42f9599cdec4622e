"""Which planner was tried on which problems: the fields that scores, attempts and recorded rollouts share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

SPLITS = ("train", "validation", "interpolation", "extrapolation")  # of suites, in order
_FIELD = re.compile(r"\+(drawn|without|protocol|most|shots|from|by)=")


@dataclass(frozen=True)
class Variant:
    """A variant of a method, with what its training leaves out or is limited to.

    Written as `name+key=value...` in folders of runs, scores and file names. `name` has the settings that differ from
    the variant's (`ed+training.epochs=25`).
    """

    name: str
    left_out: str = ""  # name of a training problem
    drawn: tuple[int, int] | None = None  # number of training problems, and of the draw
    protocol: str = ""  # of the split of transitions that a run learned from
    max_transitions: int | None = None  # of a domain; None for all
    shots: int = 0  # transitions of each schema of the measured domain
    source: str = ""  # the one training domain, where another one is measured
    selected_by: str = ""  # validation that selected a run

    @classmethod
    def parse(cls, text: str) -> Variant:
        """The variant that `str` writes."""
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

    @property
    def learned_from_all(self) -> bool:
        """Whether a run learned from all training problems of its suite."""
        return not self.left_out and self.drawn is None


class PlannerName(NamedTuple):
    """What names a planner, whatever it is tried on; see `Subject` for the fields."""

    method: str
    variant: str
    decoding: str = ""
    selected_by: str = ""

    @property
    def title(self) -> str:
        """The name in words. A method's own decoding goes without saying."""
        words = [
            self.method,
            self.variant if self.variant != self.method else "",
            f"· {self.decoding}" if self.decoding else "",
            f"by {self.selected_by}" if self.selected_by else "",
        ]
        return " ".join(filter(None, words))


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Which planner was tried on which problems; "" and None where it is not known or there is none.

    `decoding` names how a training is decoded, "" for the method's own default, which may be given as "default".
    `selected_by` is the validation that selected the planner among those of one training: loss, coverage or dynamic.
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
        if self.decoding == "default":  # one word for one thing, so that equal subjects are equal
            object.__setattr__(self, "decoding", "")

    @property
    def planner(self) -> PlannerName:
        """Which planner, all its seeds alike."""
        return PlannerName(self.method, self.variant, self.decoding, self.selected_by)

    @property
    def model(self) -> str:
        """The planner and its seed in words."""
        seed = "" if self.seed is None else f"seed {self.seed}"
        return " ".join(filter(None, (self.planner.title, seed))) or "a model that the file does not name"

    def record(self) -> dict[str, Any]:
        """The fields of a subject alone, whatever a measurement or a score adds to them."""
        return {each.name: getattr(self, each.name) for each in fields(Subject)}


def read_subject(record: Mapping[str, Any]) -> Subject:
    """The subject in a record, which may lack fields or have the names of an older version."""
    texts = {each.name: str(record.get(each.name) or "") for each in fields(Subject) if each.name != "seed"}
    seed = record.get("seed")
    variant = Variant.parse(texts["variant"])
    names = {"method": method_key(texts["method"]), "variant": str(replace(variant, selected_by=""))}
    return Subject(
        **{**texts, **names, "selected_by": texts["selected_by"] or variant.selected_by},
        seed=None if seed in (None, "") else int(seed),
    )


def method_key(text: str) -> str:
    """A method's key as it is written today: older files have underscores."""
    return text.replace("_", "-")
