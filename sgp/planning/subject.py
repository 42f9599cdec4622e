"""What was tried on what: the words that scores, attempts and recorded rollouts share. Needs no planning library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

_DRAWN = "+drawn="  # between a variant and how many of the training problems a run learned from, by which draw
_WITHOUT = "+without="  # between a variant and the training problem that was left out
_LESSON = "+protocol="  # between a variant and the protocol that says what a run learned from
_MOST = "+most="  # between a variant and how many transitions of a domain it learned from at most
_SHOTS = "+shots="  # between a variant and how many transitions a schema of the domain measured it learned from, beside
_FROM = "+from="  # between a variant and the one domain that it learned from, where it is measured in another
_SELECTED = "+by="  # between a variant and its selection, in folders of runs and in older files


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
    variant, selected_by = parted_variant(texts["variant"])
    names = {"method": method_key(texts["method"]), "variant": variant}
    return Subject(
        **{**texts, **names, "selected_by": texts["selected_by"] or selected_by},
        seed=None if seed in (None, "") else int(seed),
    )


def method_key(text: str) -> str:
    """A method's key as it is written today: older files have underscores."""
    return text.replace("_", "-")


def selected_variant(variant: str, selected_by: str) -> str:
    """The variant of the run that a validation selected, as its folder is named."""
    return f"{variant}{_SELECTED}{selected_by}" if selected_by else variant


def parted_variant(text: str) -> tuple[str, str]:
    """A run's variant, and the validation that selected the run, "" where none did."""
    variant, _, selected_by = text.partition(_SELECTED)
    return variant, selected_by


def left_out_variant(variant: str, problem: str) -> str:
    """The variant of a run that did not learn from one of the training problems, as its folder is named."""
    return f"{variant}{_WITHOUT}{problem}"


def learned_from_all(variant: str) -> bool:
    """Whether a run of this variant learned from all training problems, as one that is to plan would."""
    return _WITHOUT not in variant and _DRAWN not in variant


def drawn_variant(variant: str, count: int, draw: int) -> str:
    """The variant of a run that learned from so many of the training problems, by a draw, as its folder is named."""
    return f"{variant}{_DRAWN}{count}.{draw}"


def lesson_variant(variant: str, protocol: str, most: int | None, shots: int = 0) -> str:
    """The variant of a run that learned by a protocol, from so many transitions at most, as its folder is named."""
    return f"{variant}{_LESSON}{protocol}{'' if most is None else f'.{most}'}{_of_shots(shots)}"


def learned_by_protocol(variant: str) -> bool:
    """Whether a run of this variant learned from transitions of instances, which its suite's splits hold, too."""
    return _LESSON in variant


def transferred_variant(variant: str, most: int | None, source: str, shots: int = 0) -> str:
    """A variant as scores name it that learned from so many transitions at most, of another domain ("" of this one)."""
    return f"{variant}{'' if most is None else f'{_MOST}{most}'}{_of_shots(shots)}{_FROM + source if source else ''}"


def without_source(variant: str) -> str:
    """A variant as scores name it, from whichever one domain it learned."""
    return variant.partition(_FROM)[0]


def parted_most(variant: str) -> tuple[str, int | None]:
    """A variant as scores name it without the most transitions that it learned from, and these, None for any number."""
    before, found, after = variant.partition(_MOST)
    most, more, rest = after.partition("+")
    return f"{before}{more}{rest}", int(most) if found else None


def _of_shots(shots: int) -> str:
    return f"{_SHOTS}{shots}" if shots else ""


def parted_draw(text: str) -> tuple[str, int | None]:
    """A run's variant, and from how many of the training problems it learned, None where no draw was made."""
    variant, _, drawn = text.partition(_DRAWN)
    return variant, int(drawn.split(".")[0]) if drawn else None
