"""Coverage by the number of training problems, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import mean

from sgp.datasets.store import data_folder
from sgp.evaluation.scores import Score, read_scores, wilson
from sgp.planning.subject import PlannerName, Subject, parted_draw
from sgp.reports.sheets import Sheet
from sgp.reports.tables import domains_and_splits

Draws = dict[int, list[Score]]  # the coverages of the draws of so many training problems


def is_learning(subject: Subject) -> bool:
    """Whether a score or an attempt is of drawn training problems, not of all."""
    return parted_draw(subject.variant)[1] is not None


def measured_learning() -> list[Score]:
    """The learning curves that were measured and committed; none where there is no such file.

    Raises StoreError naming a line that is no score.
    """
    path = data_folder() / "measured" / "learning-curve.csv"
    return read_scores(path) if path.is_file() else []


def learning_curves(scores: Iterable[Score]) -> dict[tuple[str, str, PlannerName], Draws]:
    """The coverages of drawn training problems by domain, split and planner, and by their number, the least first."""
    curves: dict[tuple[str, str, PlannerName], Draws] = {}
    for score in scores:
        variant, count = parted_draw(score.variant)
        if score.metric == "coverage" and score.size is None and count is not None:
            planner = replace(score, variant=variant).planner
            curves.setdefault((score.domain, score.split, planner), {}).setdefault(count, []).append(score)
    return {of: dict(sorted(draws.items())) for of, draws in curves.items()}


def learning_sheet(scores: Sequence[Score], title: str) -> Sheet:
    """The mean coverage of the draws of each number of training problems, and the least; a line a number.

    The Wilson interval is of the mean on the n problems that each draw is tried on.
    """
    lines = []
    order = [(domain, split) for domain, splits in domains_and_splits(scores).items() for split in splits]
    curves = learning_curves(scores)
    for domain, split, planner in sorted(curves, key=lambda of: order.index(of[:2])):
        for count, draws in curves[domain, split, planner].items():
            values = [each.value for each in draws]
            lines.append(
                (
                    domain,
                    split,
                    planner.title,
                    str(count),
                    str(len(values)),
                    f"{mean(values):.3f}",
                    f"{min(values):.3f}",
                    "[{:.2f}, {:.2f}]".format(*wilson(mean(values), draws[0].trials)),
                    str(draws[0].count),
                )
            )
    headings = ("domain", "split", "planner", "training problems", "draws", "mean coverage", "least", "95 %", "n")
    return Sheet.of(title, headings, lines)
