"""Where methods fail, at a glance: coverage of planners by places, and every instance by every planner."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from statistics import mean

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sgp.datasets.store import data_folder, home
from sgp.evaluation.attempts import AttemptRow
from sgp.evaluation.keeping import Keeping
from sgp.evaluation.metrics import METRICS
from sgp.evaluation.scores import Score
from sgp.planning.subject import PlannerName, selected_variant
from sgp.reports.tables import Coverage, cell, lines_of, select

_OUTCOMES = (  # by the share of seeds that solved: colour, symbol, words
    ("#0072b2", "square", "solved"),
    ("#e69f00", "diamond", "solved by some seeds"),
    ("#d55e00", "x-thin", "not solved"),
)


def planner_title(each: AttemptRow | Score) -> str:
    """The planner, as tables and filters name it."""
    return _title(each.planner)


@cache  # a page asks for every attempt
def _title(planner: PlannerName) -> str:
    return planner.title


@dataclass(frozen=True)
class CoverageRow:
    """A planner's coverage at places (domain, split): ours and what a paper prints, None where there is none."""

    planner: PlannerName
    ours: tuple[Coverage | None, ...]
    printed: tuple[Coverage | None, ...]


def coverage_rows(
    ours: Sequence[Score], theirs: Sequence[Score], places: Sequence[tuple[str, str]]
) -> list[CoverageRow]:
    """Our planners, the best mean over seeds and places first, then those that the papers alone have there."""
    rows = []
    for line in lines_of(ours):
        cells = tuple(cell(select(ours, line, *place)) for place in places)
        if any(cells):
            rows.append(CoverageRow(line.planner, cells, _printed(theirs, line.planner, places)))
    rows.sort(key=lambda row: METRICS["coverage"].rank(mean(each.value for each in row.ours if each is not None)))
    own = {line.planner for line in lines_of(ours)}
    others = dict.fromkeys(line.planner for line in lines_of(theirs) if line.planner not in own)
    alone = [CoverageRow(each, (None,) * len(places), _printed(theirs, each, places)) for each in others]
    return rows + [row for row in alone if any(row.printed)]


def _printed(
    theirs: Sequence[Score], planner: PlannerName, places: Sequence[tuple[str, str]]
) -> tuple[Coverage | None, ...]:
    twins = [line for line in lines_of(theirs) if line.planner == planner]
    return tuple(cell([score for line in twins for score in select(theirs, line, *place)]) for place in places)


def instance_map(rows: Sequence[AttemptRow]) -> go.Figure:
    """Every instance, smallest first, by every planner, best on top: a panel for each domain, a mark for each pair.

    Colour and shape say whether all seeds, some or none solved it. A mark's `customdata` is [domain, suite, split,
    problem] and the planner's name.
    """
    domains = list(dict.fromkeys(row.domain for row in rows))
    planners = _worst_first(rows)  # the axis begins at the bottom
    height = 24 * len(planners) + 95
    figure = make_subplots(
        max(1, len(domains)),
        1,
        subplot_titles=[escape(name) for name in domains],
        vertical_spacing=95 / (height * len(domains)) if len(domains) > 1 else 0,
    )
    shown: set[str] = set()
    for panel, domain in enumerate(domains, start=1):
        own = [row for row in rows if row.domain == domain]
        instances = sorted(
            {(row.size, row.split, row.problem) for row in own}, key=lambda each: (each[0], each[1], each[2])
        )
        place = {(split, problem): at for at, (_, split, problem) in enumerate(instances)}
        for (colour, symbol, words), group in zip(_OUTCOMES, _by_share(own), strict=True):
            figure.add_trace(
                go.Scatter(
                    x=[place[tried[0].split, tried[0].problem] for tried in group],
                    y=[escape(planner_title(tried[0])) for tried in group],
                    customdata=[
                        [first.domain, first.suite, first.split, first.problem, *first.planner] for first, *_ in group
                    ],
                    text=[_hover(tried) for tried in group],
                    hovertemplate="%{text}<extra></extra>",
                    mode="markers",
                    name=words,
                    legendgroup=words,
                    showlegend=words not in shown and bool(group),
                    marker={
                        "symbol": symbol,
                        "color": colour,
                        "size": max(4, min(15, 700 // max(1, len(instances)))),
                        "line": {"color": colour, "width": 2 if symbol == "x-thin" else 0},
                    },
                ),
                row=panel,
                col=1,
            )
            if group:
                shown.add(words)
        _size_ticks(figure, [size for size, _, _ in instances], panel)
    titles = [escape(title) for title in planners]
    figure.update_yaxes(categoryorder="array", categoryarray=titles, automargin=True, showgrid=False)
    figure.update_layout(
        height=max(1, len(domains)) * height + 40,
        margin={"l": 10, "r": 10, "t": 70, "b": 50},
        hovermode="closest",
        dragmode=False,
        legend={"orientation": "h", "yref": "container", "y": 1, "yanchor": "top", "x": 0},
    )
    return figure


def _worst_first(rows: Iterable[AttemptRow]) -> list[str]:
    """The planners by the mean over domains of what they solve."""
    solved: dict[str, dict[str, list[bool]]] = {}
    for row in rows:
        solved.setdefault(planner_title(row), {}).setdefault(row.domain, []).append(row.solved)
    return sorted(solved, key=lambda title: mean(map(mean, solved[title].values())))


def _by_share(rows: Iterable[AttemptRow]) -> tuple[list[list[AttemptRow]], ...]:
    """The attempts of each pair of instance and planner, by whether all seeds, some or none solved it."""
    pairs: dict[tuple[str, ...], list[AttemptRow]] = {}
    for row in rows:
        pairs.setdefault((row.split, row.problem, *row.planner), []).append(row)
    groups: tuple[list[list[AttemptRow]], ...] = ([], [], [])
    for tried in pairs.values():
        solved = sum(row.solved for row in tried)
        groups[0 if solved == len(tried) else 1 if solved else 2].append(tried)
    return groups


def _hover(tried: Sequence[AttemptRow]) -> str:
    row = tried[0]
    ended = ", ".join(f"{count} {outcome.value}" for outcome, count in Counter(each.outcome for each in tried).items())
    return escape(
        f"{row.problem} ({row.split}, {row.size} objects), {planner_title(row)}: "
        + (row.outcome.value if len(tried) == 1 else f"of {len(tried)} seeds {ended}")
    )


def _size_ticks(figure: go.Figure, sizes: Sequence[int], panel: int) -> None:
    """Writes the number of objects where it changes, as often as there is room for it."""
    changes = [at for at in range(len(sizes)) if at == 0 or sizes[at] != sizes[at - 1]]
    room = max(1, len(sizes) // 40)
    ticks = [at for number, at in enumerate(changes) if number == 0 or at - changes[number - 1] >= room]
    figure.update_xaxes(
        title_text="instances by number of objects",
        tickvals=ticks,
        ticktext=[str(sizes[at]) for at in ticks],
        range=[-0.8, len(sizes) - 0.2],
        showgrid=False,
        zeroline=False,
        row=panel,
        col=1,
    )


def recording_command(row: AttemptRow) -> str:
    """The command line that records a rollout of an attempt, for a planner that was trained on the same suite.

    Raises StoreError where the package's data are missing.
    """
    variant = selected_variant(row.variant, row.selected_by)
    run = home() / row.method / variant / row.suite / row.domain / f"seed{row.seed}"
    problems = data_folder() / "benchmarks" / row.suite / row.domain
    if not problems.is_dir():
        problems = home() / "suites" / row.suite / row.domain
    out = Keeping(home() / "recorded", row).path(row.problem)
    train = ["sgp", "train", "--method", row.method, "--variant", row.variant, "--domain", row.domain]
    train += ["--suite", row.suite, "--seed", str(row.seed)]
    train += ["--by", row.selected_by] if row.selected_by else []
    solve = ["sgp", "solve", problems / "domain.pddl", problems / row.split / f"{row.problem}.pddl"]
    solve += ["--run", run, *(["--decoding", row.decoding] if row.decoding else []), "--rollout", out]
    return f"{shlex.join(train)}\n{shlex.join(map(str, solve))}"
