"""Where the numbers of the page Transformers come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import median

from reading import SPLIT, SUITE, TRANSFORMERS, Numbers, one, rate, scores, when

import sgp
from sgp.evaluation.scores import Score
from sgp.methods.symt import SymTTraining
from sgp.reports.papers.symt import BUDGET
from sgp.reports.sheets import Sheet
from sgp.reports.tables import cell, measured, measured_attempts
from sgp.training.two_views import TwoViews

NAMED = ("validation", "interpolation")  # where name sensitivity is measured


def transformer_coverage() -> str:
    """Table 2 of the transformers' paper, and on which day and how many cores ours were measured."""
    ours = _of_transformers("coverage")
    missed = {each.domain for each in ours if (each.method, each.split) == ("nameless", SPLIT) and each.value < 1}
    with_names = {(each.variant, each.domain) for each in ours if each.method == "symt"}
    assert missed == {"logistics"}, "the text's words, as all below"
    assert with_names == {
        *product(("e", "ed"), ("blocksworld", "gripper", "logistics", "visitall")),
        *product(("plangpt",), ("blocksworld", "gripper")),
        *product(("plangpt+training.epochs=25",), ("logistics", "visitall")),
    }
    solving = {(each.variant, each.domain) for each in ours if each.method == "symt" and each.value}
    assert solving == {
        ("ed", "gripper"),
        *product(("e", "ed", "plangpt+training.epochs=25"), ("visitall",)),
    }
    left = [each for each in measured_attempts() if not each.solved and each.suite == SUITE]
    place = ("nameless", "blocksworld", "validation")
    assert [each.outcome for each in left if (each.method, each.domain, each.split) == place] == [sgp.Outcome.STUCK]
    day, cores = when(ours)
    sheet = sgp.paper_sheet("symt", 2, ours)
    caption = sheet.caption[sheet.caption.index(BUDGET) :]
    sheet = replace(sheet, caption=f"Read as the [table of coverage](results.md#coverage). {caption}")
    return f"Measured until {day}, {cores} cores.\n\n{sheet.markdown()}"


def transformer_training() -> str:
    """What each training took and learned: the least and the most of its seeds."""
    ours = _of_transformers("training_seconds", "training_processor_seconds", "copied")
    lines = []
    for method, variant, domain in sorted({(each.method, each.variant, each.domain) for each in ours}):
        of = [each for each in ours if (each.method, each.variant, each.domain) == (method, variant, domain)]
        cells = []
        for metric, show in (("training_seconds", "{:.0f}"), ("training_processor_seconds", "{:.0f}"), ("copied", "")):
            found = [each.value for each in of if each.metric == metric]
            ends = [show.format(each) if show else rate(each) for each in (min(found), max(found))] if found else []
            cells.append(" to ".join(ends))
        lines.append((f"{method} {variant}", domain, str(len({each.seed for each in of})), *cells))
    headings = ("planner", "domain", "seeds", "seconds of training, by the clock", "of the processor", "names copied")
    return Sheet.of("", headings, lines).markdown()


def plan_lengths() -> str:
    """How long plans are beside LAMA's first, where both solve a problem that is larger than those of training."""
    attempts = [each for each in measured_attempts() if (each.suite, each.split) == (SUITE, SPLIT) and each.solved]
    lama = {(each.domain, each.problem): each.length for each in attempts if each.variant == "lama-first"}
    ours = [each for each in attempts if each.method in TRANSFORMERS and (each.domain, each.problem) in lama]
    lines = []
    for planner, domain in sorted({(each.planner, each.domain) for each in ours}):
        of = [each for each in ours if (each.planner, each.domain) == (planner, domain)]
        ratios = [each.length / lama[domain, each.problem] for each in of]
        spread = f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"
        lines.append((planner.title, domain, str(len({each.problem for each in of})), spread))
    return Sheet.of("", ("planner", "domain", "problems", "length over LAMA's"), lines).markdown()


def losses() -> str:
    """Each loss on and off: what is learned, what each decoding solves, and how much names matter."""
    found = [each for each in scores("losses") if "names=" not in each.variant]
    left_out = {each.variant: ("hidden=0" in each.variant, "attention=0" in each.variant) for each in found}
    lines = []
    for domain, variant in product(sorted({each.domain for each in found}), sorted(left_out, key=left_out.__getitem__)):
        of = [each for each in found if (each.domain, each.variant) == (domain, variant)]
        counted = ["" if f"{name}=0" in variant else "on" for name in ("attention", "hidden")]
        changed = [each.value for each in of if (each.metric, each.split) == ("name_sensitivity", "interpolation")]
        lines.append((domain, *counted, *_learned(of), f"{rate(min(changed))} to {rate(max(changed))}"))
    for domain, seed in {(each.domain, each.seed) for each in found}:
        of = [each for each in found if (each.domain, each.seed) == (domain, seed)]
        loss = {each.variant: each.value for each in of if each.metric == "validation_loss"}
        assert loss[min(loss, key=len)] > loss[max(loss, key=len)], "the text's words: with both, and without both"
    day, cores = when(found)
    headings = ("domain", "attention", "hidden", *_LEARNED, "decisions that change")
    return f"Measured until {day}, {cores} cores.\n\n{Sheet.of('', headings, lines).markdown()}"


def vocabularies() -> str:
    """Vocabularies of several sizes: what is learned, and what each decoding solves."""
    found = [each for each in scores("losses") if each.domain == "gripper" and "=0" not in each.variant]
    size_of = {
        each.variant: int(each.variant.partition("+names=")[2].partition("+")[0] or SymTTraining.names)
        for each in found
    }
    lines = [
        (str(size_of[variant]), *_learned([each for each in found if each.variant == variant]))
        for variant in sorted(size_of, key=size_of.__getitem__)
    ]
    day, cores = when(found)
    return f"Measured until {day}, {cores} cores.\n\n{Sheet.of('', ('names', *_LEARNED), lines).markdown()}"


_LEARNED = ("seeds", "validation loss", "names copied", "applicable", "regrounding", "ranked")


def _learned(of: Sequence[Score]) -> tuple[str, ...]:
    """Seeds, the least and the most loss and share of names copied, and what each decoding solves."""
    seeds = {each.seed for each in of}
    values = [[each.value for each in of if each.metric == name] for name in ("validation_loss", "copied")]
    assert all(len(each) == len(seeds) for each in values), "none diverged, as the text says"
    ends = (f"{min(each):.2f} to {max(each):.2f}" for each in values)
    return str(len(seeds)), *ends, *(_solved(of, decoding) for decoding in ("applicable", "regrounding", "ranked"))


def _solved(of: Sequence[Score], decoding: str) -> str:
    """The share of interpolation, with its interval on n problems."""
    place = ("coverage", decoding, "interpolation", None)
    found = cell([each for each in of if (each.metric, each.decoding, each.split, each.size) == place])
    assert found is not None
    return f"{found}, n = {found.n}"


def names_matter() -> str:
    """Which share of decisions changes where objects have other names, by planner, domain and split."""
    found = scores("names")
    lines = []
    for planner in dict.fromkeys(each.planner for each in sorted(found, key=lambda each: each.method)):
        for domain in sorted({each.domain for each in found}):
            of = [each for each in found if (each.planner, each.domain) == (planner, domain)]
            seeds = str(len({each.seed for each in of}))
            lines.append((planner.title, domain, seeds, *(_least_to_most(of, split) for split in NAMED)))
    day, cores = when(found)
    headings = ("planner", "domain", "seeds", *NAMED)
    return f"Measured until {day}, {cores} cores.\n\n{Sheet.of('', headings, lines).markdown()}"


def _least_to_most(of: Sequence[Score], split: str) -> str:
    found = [each for each in of if each.split == split]
    shares = [each.value for each in found]
    return f"{rate(min(shares))} to {rate(max(shares))}, n = {found[0].count}"


def transformer_decisions() -> str:
    """Decisions a second by planner and decoding, one problem after the other and all together."""
    found = [each for each in scores("transformers") if each.split == SPLIT]
    lines = []
    for planner in dict.fromkeys(each.planner for each in found):
        alone, together = (
            one(found, planner=planner, metric=metric).value
            for metric in ("decisions_per_second_alone", "decisions_per_second")
        )
        lines.append((planner.title, f"{alone:.0f}", f"{together:.0f}", f"{together / alone:.1f}"))
    day, cores = when(found)
    sheet = Sheet.of("", ("planner", "alone", f"{found[0].count} together", "ratio"), lines)
    return f"Measured on {day}, one of {cores} cores.\n\n{sheet.markdown()}"


def transformer_steps() -> str:
    """Seconds of a step of training, small and at the paper's size, and the hours of a whole training at that size."""
    found = [each for each in scores("transformers") if each.split == "train"]
    lines, steps = [], TwoViews().epochs * TwoViews().steps
    for variant in dict.fromkeys(each.variant for each in found):
        small, large = (
            one(found, variant=variant, metric=f"seconds_per_step_of_training{size}").value
            for size in ("", "_at_paper_size")
        )
        lines.append((f"symt {variant}", f"{small:.2f}", f"{large:.1f}", f"{large * steps / 3600:.0f}"))
    return Sheet.of("", ("planner", "seconds a step", "at the paper's size", "hours there"), lines).markdown()


def nameless_in_logistics() -> Numbers:
    """How often it ranks the expert's action first, and the lengths of its plans beside the expert's."""
    words = {"method": "nameless", "domain": "logistics", "split": SPLIT, "size": None}
    first = one(measured(), metric="expert_top1", **words)
    ratios = [each.value for each in _of_transformers("plan_length_ratio") if words.items() <= vars(each).items()]
    return [rate(first.value), f"{first.count:,}", f"{min(ratios):.1f}", f"{max(ratios):.1f}"]


def theirs_diverged() -> Numbers:
    """How many of the paper's trainings diverged with its losses, and how many without."""
    return [f"{each.value:.0f}" for each in sgp.published("symt") if each.metric == "diverged"]


def _of_transformers(*metrics: str) -> list[Score]:
    ours = [each for each in measured() if each.suite == SUITE and each.method in TRANSFORMERS]
    return [each for each in ours if each.metric in metrics and each.size is None]


TRANSFORMER_NUMBERS: Mapping[str, Callable[[], str | Numbers]] = {
    "transformers": transformer_coverage,
    "transformers-trained": transformer_training,
    "theirs-diverged": theirs_diverged,
    "transformers-lengths": plan_lengths,
    "nameless-logistics": nameless_in_logistics,
    "transformers-losses": losses,
    "transformers-vocabularies": vocabularies,
    "names-matter": names_matter,
    "transformers-decide": transformer_decisions,
    "transformers-step": transformer_steps,
}
