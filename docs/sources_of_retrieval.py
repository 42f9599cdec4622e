"""Where the numbers of the page Next states come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from statistics import mean

from reading import Numbers, one, rate, scores, when

from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import Score
from sgp.reports.sheets import Sheet
from sgp.reports.tables import cell, measured

RETRIEVAL_SUITE = "acpbench"
POOLS = ("paper", "hard")


def next_states() -> str:
    """How often models rank the next state first, and among five, in both pools: means over the domains."""
    ours = _ours()
    day, cores = when(ours)
    sections = []
    for split in dict.fromkeys(each.split for each in ours):
        of = [each for each in ours if each.split == split]
        domains = sorted({each.domain for each in of})
        chance = [_over(of, domains, f"chance_{metric}", pool) for pool in POOLS for metric in ("hit@1", "hit@5")]
        lines = [("chance", *chance, _over(of, domains, "chance_acc@1"))]
        for method, variant in dict.fromkeys((each.method, each.variant) for each in of):
            model = [each for each in of if (each.method, each.variant) == (method, variant)]
            cells = [_over(model, domains, metric, pool) for pool in POOLS for metric in ("hit@1", "hit@5")]
            lines.append((f"{method} {_plain(variant)}", *cells, _over(model, domains, "acc@1")))
        headings = ["Hit@1", "Hit@5", "Hit@1, hard", "Hit@5, hard", "Acc@1"]
        sheet = Sheet.of("", (f"{split}, {len(domains)} domains", *headings), lines)
        sections.append(sheet.markdown())
    return f"Measured until {day}, {cores} cores.\n\n" + "\n".join(sections)


def next_states_by_domain() -> str:
    """Where learning and lifted displacements stand in each domain, in hard pools."""
    ours = [each for each in _ours() if each.decoding == "hard"]
    splits, lines = list(dict.fromkeys(each.split for each in ours)), []
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


_BESIDE = (("minilm-atoms", "hit@1"), ("minilm-atoms", "hit@5"), ("renamed", "hit@1"))


def abstaining() -> str:
    """How well a model's likeness to its first candidate tells pools that lack the next state."""
    ours = [each for each in _ours() if each.metric == "abstention_auroc" and each.decoding == "hard"]
    splits = list(dict.fromkeys(each.split for each in ours))
    lines = []
    for method, variant in dict.fromkeys((each.method, each.variant) for each in ours):
        of = [each for each in ours if (each.method, each.variant) == (method, variant)]
        found = ([each.value for each in of if each.split == split] for split in splits)
        lines.append((f"{method} {_plain(variant)}", *(rate(mean(each)) if each else "" for each in found)))
    return Sheet.of("", ("AUROC", *splits), lines).markdown()


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


def _ours() -> Sequence[Score]:
    return [each for each in measured() if each.suite == RETRIEVAL_SUITE]


def _plain(variant: str) -> str:
    """A variant without the cap on transitions, which the page tells once."""
    return variant.partition("+most=")[0]


def _over(of: Sequence[Score], domains: Sequence[str], metric: str, pool: str = "") -> str:
    """The mean over domains of the means over seeds; of chance any model's, as all are ranked in the same pools."""
    means = []
    for domain in domains:
        found = {
            (each.seed, each.value)
            for each in of
            if (each.domain, each.metric, each.decoding or "") == (domain, metric, pool)
        }
        if not found:
            return ""
        means.append(mean(value for _, value in found))
    return rate(mean(means))


def _shown(of: Sequence[Score]) -> str:
    """A rate with its interval by instances."""
    found = cell(of)
    assert found is not None
    low, high = found.interval
    return f"{rate(found.value)} [{rate(low)}, {rate(high)}], n = {found.n}"


RETRIEVAL: Mapping[str, Callable[[], str | Numbers]] = {
    "next-states": next_states,
    "next-states-by-domain": next_states_by_domain,
    "abstaining": abstaining,
    "embedding-speed": embedding_speed,
}
