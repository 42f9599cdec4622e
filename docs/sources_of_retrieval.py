"""Where the numbers of the page Next states come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from statistics import mean

from reading import SPLIT, SUITE, Numbers, one, rate, scores, when

import sgp
from sgp.datasets.protocols import PROTOCOLS
from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import Score
from sgp.planning.subject import parted_most
from sgp.reports.sheets import Sheet
from sgp.reports.tables import cell, measured

RETRIEVAL_SUITE = "acpbench"
_UNTRAINED = ("embedplan", "untrained")  # chance is of the pools, which all models have


def next_states() -> str:
    """How often models rank the next state first, or among five, by what was held out: means over the domains."""
    day, cores = when(_ours())
    tables = [
        _by_split("Hit@5, pools *paper*", "hit@5", "paper", printed="llama-3.3-70b"),
        _by_split("Hit@1, pools *hard*", "hit@1", "hard"),
        _by_split("Acc@1", "acc@1", ""),
    ]
    return f"Measured until {day}, {cores} cores.\n\n" + "\n".join(tables)


def plans_followed() -> str:
    """Which share of plans is right in every step: among the first five by the true state, and by the predicted one."""
    given = _by_split("every next state among five, pools *paper*", "plan_exact_hit@5", "paper")
    return f"{given}\n{_by_split('executed by its own predictions', 'closed_loop_exact', 'paper')}"


def _by_split(title: str, metric: str, pool: str, printed: str = "") -> str:
    """A line for chance, where it is known, for each model of ours and for a printed one, a column for each split."""
    ours = [each for each in _ours() if (each.metric, each.decoding) == (metric, pool)]
    splits = _splits(ours)
    models = dict.fromkeys((each.method, _plain(each.variant)) for each in ours)
    luck = [each for each in _ours() if (each.metric, each.decoding) == (f"chance_{metric}", pool)]
    lines = [("chance", *(_over(_of_model(luck, *_UNTRAINED, split)) for split in splits))] if luck else []
    lines += [(" ".join(model), *(_over(_of_model(ours, *model, split)) for split in splits)) for model in models]
    theirs = [each for each in sgp.published("embedplan") if each.variant == printed and each.domain == "mean"]
    means = {each.split: each.value for each in theirs if (each.metric, each.decoding) == (metric, pool)}
    if means:
        lines.append((f"theirs, {printed}", *(rate(means[split]) if split in means else "" for split in splits)))
    return Sheet.of("", (title, *splits), lines).markdown()


def next_states_by_domain() -> str:
    """Where learning and lifted displacements stand in each domain, in hard pools."""
    ours = [each for each in _ours() if each.decoding == "hard" and each.split in _BY_DOMAIN]
    splits, lines = _BY_DOMAIN, []
    for domain in sorted({each.domain for each in ours}):
        of = [each for each in ours if each.domain == domain]
        cells = [f"{mean(each.value for each in of if each.metric == 'pool'):.0f}"]
        for split, (name, metric) in product(splits, _BESIDE):
            found = [each for each in of if (each.split, _plain(each.variant), each.metric) == (split, name, metric)]
            cells.append(_shown(found) if found else "")
        lines.append((domain, *cells))
    asked = [(split, name, METRICS[metric].heading) for split, (name, metric) in product(splits, _BESIDE)]
    titles = [f"{split}: {name} {heading.capitalize()}" for split, name, heading in asked]
    return Sheet.of("", ("domain", "candidates", *titles), lines).markdown()


_BY_DOMAIN = ("interpolation", "extrapolation")
_BESIDE = (("minilm-atoms", "hit@1"), ("minilm-atoms", "hit@5"), ("renamed", "hit@1"))


def abstaining() -> str:
    """How well a model's likeness to its first candidate tells pools that lack the next state, and how far its
    probability is from how often it is right.
    """
    error = _by_split("calibration error", "calibration_error", "hard")
    return f"{_by_split('AUROC', 'abstention_auroc', 'hard')}\n{error}"


def other_settings() -> str:
    """What the loss of actions and another network do, by the seeds that measured all of them; means over domains."""
    found = [each for each in _measured() if (each.method, each.split) == ("embedplan", "extrapolation")]
    variants = [_USUAL, *(name for name in dict.fromkeys(_plain(each.variant) for each in found) if "+" in name)]
    by = [{each.seed for each in found if _plain(each.variant) == variant} for variant in variants]
    seeds = set.intersection(*by)
    lines = []
    for variant in variants:
        of = [each for each in found if _plain(each.variant) == variant and each.seed in seeds]
        cells = (_over([each for each in of if (each.metric, each.decoding) == asked]) for asked in _OF_SETTINGS)
        lines.append((variant.partition("+")[2] or "as the paper has it", *cells))
    headings = ("extrapolation", "Hit@5, *paper*", "Hit@1, *hard*", "Acc@1")
    return f"Seeds: {', '.join(map(str, sorted(filter(None, seeds))))}.\n\n{Sheet.of('', headings, lines).markdown()}"


_USUAL = "minilm-atoms"
_OF_SETTINGS = (("hit@5", "paper"), ("hit@1", "hard"), ("acc@1", ""))


def after_shots() -> str:
    """What a few transitions of each schema of the domain left out are worth: means over the domains."""
    found = scores("few-transitions")
    tables = []
    for title, metric, pool in (("Hit@5, pools *paper*", "hit@5", "paper"), ("Hit@1, pools *hard*", "hit@1", "hard")):
        of = [each for each in found if (each.metric, each.decoding) == (metric, pool)]
        few = sorted(set(map(_shots, of)))
        lines = [
            (" ".join(model), *(_over(_of_model([each for each in of if _shots(each) == one], *model)) for one in few))
            for model in dict.fromkeys((each.method, _plain(each.variant)) for each in of)
        ]
        tables.append(Sheet.of("", (title, *map(str, few)), lines).markdown())
    return "\n".join(tables)


def planning_by_sentences() -> str:
    """Coverage of planners that embed states as sentences, and of the same with WL features; and which share of the
    expert's decisions in extrapolation costs least, where that was measured.
    """
    found = scores("planning-by-sentences")
    domains = sorted({each.domain for each in found})
    known = {(each.method, each.variant.partition("+")[0]) for each in found}  # the same with WL features
    wl = [each for each in measured() if (each.suite, each.decoding) == (SUITE, "")]
    beside = [each for each in wl if (each.method, each.variant) in known]
    lines = []
    for domain in domains:
        of = [each for each in [*found, *beside] if each.domain == domain and each.size is None]
        for planner in sorted({each.planner for each in of}):
            own = [each for each in of if each.planner == planner]
            cells = [
                _shown([each for each in own if (each.split, each.metric) == (split, "coverage")]) for split in _READ
            ]
            first = [each.value for each in own if (each.split, each.metric) == (SPLIT, "expert_top1")]
            seeds = len({each.seed for each in own})
            lines.append((domain, f"{planner.title} x{seeds}", *cells, rate(mean(first)) if first else ""))
    day, cores = when(found)
    headings = ("domain", "planner", *_READ, "expert first")
    return f"Measured until {day}, {cores} cores.\n\n{Sheet.of('', headings, lines).markdown()}"


_READ = ("validation", "interpolation", SPLIT)


def embedding_speed() -> str:
    """Microseconds and milliseconds of embedding, by domain."""
    found = scores("texts")
    day, cores = when(found)
    kinds = ("together_microseconds", "alone_microseconds", "state_milliseconds", "atom_milliseconds")
    lines = [
        (domain, *(f"{one(found, domain=domain, metric=kind).value:.3g}" for kind in kinds))
        for domain in dict.fromkeys(each.domain for each in found)
    ]
    headings = ("domain", "µs a state, together", "alone", "ms a state's text", "an atom's")
    return f"Measured on {day}, one of {cores} cores.\n\n{Sheet.of('', headings, lines).markdown()}"


def caps() -> str:
    """What a model learns from and is measured on at most, by protocol, and how long EmbedPlan learns one."""
    lines = []
    for split in _splits(_ours()):
        of = [each for each in _ours() if each.split == split]
        times = [each.value for each in scores("retrieval-trainings") if each.split == split]
        (most,) = set(map(_most, of))
        (measured_on,) = {_MEASURED_ON.findall(each.note)[0] for each in of}
        seeds, domains = ({getattr(each, name) for each in of} for name in ("seed", "domain"))
        took = f"{min(times):.0f} to {max(times):.0f}"
        lines.append((split, str(len(domains)), str(len(seeds)), str(most), *measured_on, took))
    headings = (
        "protocol",
        "domains",
        "seeds",
        "transitions learned from",
        "measured on",
        "plans",
        "seconds a training",
    )
    return Sheet.of("", headings, lines).markdown()


_MEASURED_ON = re.compile(r"at most (\d+) transitions and (\d+) plans")


def _ours() -> Sequence[Score]:
    """What was measured by the six protocols, without other settings."""
    return [each for each in _measured() if "+" not in _plain(each.variant)]


@cache  # of many tables, each of which asks for it by split
def _measured() -> Sequence[Score]:
    return [each for each in measured() if each.suite == RETRIEVAL_SUITE]


def _most(score: Score) -> int:
    """How many transitions of a domain were learned from at most."""
    most = parted_most(score.variant)[1]
    assert most is not None, "all that is shown was bounded"
    return most


def _shots(score: Score) -> int:
    """How many transitions of each schema of the domain left out were learned from."""
    found = _OF_SHOTS.search(score.variant)
    return int(found[1]) if found else 0


_OF_SHOTS = re.compile(r"\+shots=(\d+)")


def _splits(of: Sequence[Score]) -> Sequence[str]:
    return [split for split in PROTOCOLS if any(each.split == split for each in of)]


def _plain(variant: str) -> str:
    """A variant without the cap on transitions, which the page tells once."""
    return variant.partition("+most=")[0]


def _of_model(of: Sequence[Score], method: str, variant: str, split: str | None = None) -> Sequence[Score]:
    of = of if split is None else [each for each in of if each.split == split]
    return [each for each in of if (each.method, _plain(each.variant)) == (method, variant)]


def _over(of: Sequence[Score]) -> str:
    """The mean over domains of the means over seeds, and over sources where a model learned from another domain."""
    found: dict[str, list[float]] = {}
    for each in of:
        found.setdefault(each.domain, []).append(each.value)
    return rate(mean(map(mean, found.values()))) if found else ""


def _shown(of: Sequence[Score]) -> str:
    """A rate with its interval by instances."""
    found = cell(of)
    assert found is not None
    low, high = found.interval
    return f"{rate(found.value)} [{rate(low)}, {rate(high)}], n = {found.n}"


RETRIEVAL: Mapping[str, Callable[[], str | Numbers]] = {
    "next-states": next_states,
    "next-states-by-domain": next_states_by_domain,
    "plans-followed": plans_followed,
    "retrieval-caps": caps,
    "abstaining": abstaining,
    "after-shots": after_shots,
    "other-settings": other_settings,
    "embedding-speed": embedding_speed,
    "planning-by-sentences": planning_by_sentences,
}
