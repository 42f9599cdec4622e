"""The metrics of scores: what each is called, its unit, how it is written, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sgp.evaluation.endings import Ended
from sgp.planning.rollout import Outcome


class Better(Enum):
    """Which values of a metric are better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: its name in files, a title, a short heading for columns, its unit, and how a value is written.

    A share has the unit "share" and lies between 0 and 1; one of problems (`of_problems`) has a Wilson interval.
    """

    name: str
    title: str
    heading: str = ""
    unit: str = ""
    form: str = ".2f"
    better: Better = Better.NEITHER
    of_problems: bool = False

    def show(self, value: float) -> str:
        """A value as tables write it."""
        return f"{value:{self.form}}"

    def rank(self, value: float) -> float:
        """A number that is the smaller, the better the value is; the same for all where neither way is better."""
        return {Better.HIGHER: -value, Better.LOWER: value, Better.NEITHER: 0.0}[self.better]


_COVERAGE = Metric(
    name="coverage", title="coverage", heading="coverage", unit="share", better=Better.HIGHER, of_problems=True
)
_OF_ATTEMPTS = (
    _COVERAGE,
    Metric(
        name="plan_length",
        title="mean actions of plans found",
        heading="length",
        unit="actions",
        better=Better.LOWER,
    ),
    Metric(
        name="plan_cost",
        title="mean cost of plans found, of problems with a metric",
        heading="cost",
        better=Better.LOWER,
    ),
    Metric(
        name="plan_length_ratio",
        title="mean quotient of plan lengths, or costs where there is a metric, by the expert's",
        heading="x expert's",
        better=Better.LOWER,
    ),
    Metric(
        name="plan_length_per_object",
        title="plan length per object",
        heading="length / object",
        unit="actions",
        better=Better.LOWER,
    ),
    Metric(name="decisions", title="mean decisions a problem", heading="decisions", better=Better.LOWER),
    Metric(name="seconds", title="mean seconds a problem", heading="seconds", unit="s", better=Better.LOWER),
    Metric(
        name="memory",
        title="most memory of a process",
        heading="memory",
        unit="MB",
        form=".0f",
        better=Better.LOWER,
    ),
    *(
        Metric(
            name=f"outcome_{outcome.value}",
            title=f"problems that ended as {outcome.value}",
            heading=outcome.value,
            unit="problems",
            form=".0f",
            better=Better.HIGHER if outcome is Outcome.SOLVED else Better.LOWER,
        )
        for outcome in Outcome
    ),
)
_OF_CURVES = (
    Metric(
        name="scale",
        title="largest size at which coverage reaches the threshold",
        heading="Scale",
        unit="objects",
        form="g",
        better=Better.HIGHER,
    ),
    Metric(name="sumcov", title="sum of coverages up to Scale", heading="SumCov", better=Better.HIGHER),
    *(Metric(name=each.metric, title=f"curves that ended so: {each.value}", form=".0f") for each in Ended),
    Metric(name="fits", title="fits", heading="fit", unit="share", of_problems=True),
    Metric(name="with_plan", title="with plan", heading="known", unit="share", of_problems=True),
    Metric(name="unsolvable", title="problems without a plan, left out", unit="problems", form=".0f"),
)
_DIAGNOSTICS = (
    Metric(
        name="expert_rank",
        title="mean rank of the expert's successor",
        heading="mean rank",
        form=".1f",
        better=Better.LOWER,
    ),
    Metric(
        name="expert_top1",
        title="expert's successor ranked first",
        heading="top-1",
        unit="share",
        better=Better.HIGHER,
    ),
    Metric(
        name="expert_top3",
        title="expert's successor among the first three",
        heading="top-3",
        unit="share",
        better=Better.HIGHER,
    ),
    Metric(
        name="indistinguishable",
        title="successors collapsed into another of equal embedding",
        heading="indistinct",
        unit="share",
        better=Better.LOWER,
    ),
    Metric(
        name="unseen",
        title="features that training never saw",
        heading="unseen",
        unit="share",
        form=".3f",
        better=Better.LOWER,
    ),
    Metric(
        name="perfect_coverage",
        title="coverage of greedy decoding with a perfect prediction",
        heading="perfect",
        unit="share",
        better=Better.HIGHER,
        of_problems=True,
    ),
)
_OF_NAMES = (
    Metric(
        name="name_sensitivity",
        title="decisions that other names change",
        heading="by name",
        unit="share",
        better=Better.LOWER,
    ),
)
_OF_TRANSITIONS = tuple(
    Metric(name=name, title=title, heading=heading, unit="share", form=".3f", better=Better.HIGHER)
    for name, title, heading in (
        *((f"hit@{k}", f"next state among the first {k}", f"hit@{k}") for k in (1, 5, 10)),
        *((f"acc@{k}", f"action among the first {k}", f"acc@{k}") for k in (1, 5, 10)),
        *(
            (f"plan_{over}_hit@{k}", f"{what} among the first {k}", f"{short}, hit@{k}")
            for over, what, short in (
                ("mean", "steps of plans with the next state, mean over plans,", "steps"),
                ("exact", "plans with every next state", "whole plans"),
            )
            for k in (1, 5)
        ),
        ("closed_loop_exact", "plans executed exactly on predictions taken for the nearest state", "closed loop"),
        ("abstention_auroc", "chance that a pool with the next state has the more similar one", "abstention"),
    )
)
_OF_POOLS = (
    Metric(name="queries", title="transitions asked for", heading="queries", form=",.0f"),
    Metric(name="plans", title="plans followed", heading="plans", form=",.0f"),
    Metric(name="pool", title="mean states of a pool", heading="pool", form=",.1f"),
    Metric(name="merged", title="states left out because another has their text", heading="merged", form=",.0f"),
    Metric(
        name="calibration_error",
        title="expected calibration error of the nearest state",
        heading="calibration",
        form=".3f",
        better=Better.LOWER,
    ),
    *(
        Metric(
            name=f"{bound}_{of}@{k}", title=f"{what} of {of}@{k}", heading=f"{bound} {of}@{k}", unit="share", form=".3f"
        )
        for bound, what in (("chance", "what a draw expects"), ("worst", "all ties lost, instead"))
        for of in ("hit", "acc")
        for k in (1, 5, 10)
    ),
)
_OF_MODELS = (
    Metric(name="dimension", title="dimension of the encoding", heading="dimension", form=",.0f"),
    Metric(name="parameters", title="parameters of the model", heading="parameters", form=",.0f", better=Better.LOWER),
    Metric(name="nodes", title="nodes of the model's trees", heading="nodes", form=",.0f", better=Better.LOWER),
    Metric(
        name="copied",
        title="share of names in validation plans that are predicted",
        heading="copied",
        unit="share",
        better=Better.HIGHER,
    ),
    Metric(
        name="training_seconds",
        title="seconds of training",
        heading="training",
        unit="s",
        form=".0f",
        better=Better.LOWER,
    ),
    Metric(
        name="training_processor_seconds",
        title="processor seconds of training",
        heading="processor",
        unit="s",
        form=".0f",
        better=Better.LOWER,
    ),
    Metric(
        name="validation_loss",
        title="loss in problems for validation",
        heading="validation loss",
        form=".3g",
        better=Better.LOWER,
    ),
)

_ALL = (*_OF_ATTEMPTS, *_OF_CURVES, *_DIAGNOSTICS, *_OF_NAMES, *_OF_TRANSITIONS, *_OF_POOLS, *_OF_MODELS)
METRICS: Mapping[str, Metric] = {each.name: each for each in _ALL}
DIAGNOSTICS = tuple(each.name for each in _DIAGNOSTICS)  # on expert states
OF_TRANSITIONS = frozenset(each.name for each in (*_OF_TRANSITIONS, *_OF_POOLS))  # of models that predict states


def metric_of(name: str) -> Metric:
    """The metric of this name; one that is not of the house, such as a user's property, is called as it is named."""
    return METRICS.get(name) or Metric(name=name, title=name.replace("_", " "), heading=name.replace("_", " "))
