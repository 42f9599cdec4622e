"""AIW-AD: what width-1 lookaheads and their encodings solve of the IPC 2023 learning track, ours beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean

from sgp.datasets.suite import Entry, Suite, load_suite, suite_names
from sgp.domains import all_domains, canonical_name
from sgp.evaluation.scores import Score
from sgp.reports.papers import Asked, Paper, PaperTable
from sgp.reports.sheets import Row, Sheet
from sgp.reports.tables import Coverage, Line, cell, lines_of, select

_KEY, _TOTAL = "aiw-ad", "total"  # of the method as of the paper; the line of sums
_TESTS = ("easy", "medium", "hard")
_IPC = "-ipc"  # what the paper's table 8 puts behind the track's domains
BUDGET = (
    "Theirs: the best of five checkpoints by these very test problems, out of five seeds of 12 hours each on a GPU; "
    "1,000 choices, 60 minutes a problem (flat: 15)."
)


def _coverage(title: str, ours_of: Callable[[Score], bool]) -> Callable[[Asked], Sheet]:
    def sheet(asked: Asked) -> Sheet:
        ours = [score for score in asked.ours if ours_of(score)]
        printed, lines = lines_of(asked.printed), lines_of(ours)
        places = dict.fromkeys((score.domain, score.split) for score in asked.printed)
        chosen = [place for place in places if not asked.splits or place[1] in asked.splits]
        rows = []
        for domain, split in chosen:
            theirs = [cell(select(asked.printed, line, domain, split)) for line in printed]
            own = [_ours(ours, line, domain, split) for line in lines]
            words = (domain, split, *map(_solved, theirs), *map(_with_n, own))
            rows.append(Row(words, heading=not split))
        titles = (*(line.planner.variant for line in printed), *(_title(ours, line) for line in lines))
        return Sheet(title, ("domain", "split", *titles), tuple(rows), _caption(asked, ours, lines))

    return sheet


def _ours(ours: Sequence[Score], line: Line, domain: str, split: str) -> Coverage | None:
    """Of a split; of all of the track's together where no split is named and each was measured."""
    if split or domain == _TOTAL:
        return cell(select(ours, line, domain, split)) if split else None
    parts = [cell(select(ours, line, domain, each)) for each in _TESTS]
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    count = sum(each.count for each in known)
    value = sum(each.value * each.count for each in known) / max(count, 1)
    return Coverage(value, None, count, sum(each.trials for each in known), max(each.seeds for each in known))


def _solved(printed: Coverage | None) -> str:
    return "" if printed is None else f"{printed.value * printed.count:.0f}/{printed.count}"


def _with_n(measured: Coverage | None) -> str:
    return "" if measured is None else f"{measured}, n = {measured.n}"


def _title(ours: Iterable[Score], line: Line) -> str:
    seeds = {score.seed for score in ours if score.planner == line.planner and score.metric == "coverage"}
    return f"ours: {line.planner.title} x{len(seeds)}"


def _caption(asked: Asked, ours: Sequence[Score], lines: Sequence[Line]) -> str:
    """What differs: problems, budgets, and which domains are ours, too."""
    said = ["Published: problems solved.", BUDGET]
    if not lines:
        said.append(f"Ours: nothing was measured on suite {asked.suite} so far.")
    else:
        said.append(f"Ours: suite {asked.suite}, other problems; coverage with its 95 % Wilson interval, xN: N seeds.")
    for line in lines:
        seconds = [score.value for score in ours if _trained(score, line)]
        if seconds:
            said.append(f"{line.planner.title}: {mean(seconds):.0f} s a training.")
    if all(score.split not in _TESTS for score in asked.printed):
        here = {domain.name for domain in all_domains()}
        names = [score.domain for score in asked.printed if canonical_name(score.domain) in here]
        said.append(f"Of these domains the house has {', '.join(dict.fromkeys(names))}, and none of the problems.")
    return " ".join(said)


def _trained(score: Score, line: Line) -> bool:
    return score.metric == "training_seconds" and score.planner == line.planner._replace(decoding="")


def problems_sheet(asked: Asked) -> Sheet:
    """Table 8: the problems of each split, those of our suite counted in its manifest where it is here."""
    suite = load_suite(asked.suite) if asked.suite in suite_names() else None
    rows = []
    for domain, split in dict.fromkeys((score.domain, score.split) for score in asked.printed):
        found = {score.metric: score.value for score in asked.printed if (score.domain, score.split) == (domain, split)}
        sizes = [entry.size for entry in _entries(suite, domain, split)]
        rows.append(
            (
                domain,
                split,
                f"{found['problems']:.0f}",
                f"{found['objects_least']:.0f} to {found['objects_most']:.0f}",
                f"{found['atoms_least']:.0f} to {found['atoms_most']:.0f}",
                str(len(sizes)) if sizes else "",
                f"{min(sizes)} to {max(sizes)}" if sizes else "",
            )
        )
    headings = ("domain", "split", "problems", "objects", "atoms", "our problems", "our objects")
    return Sheet.of("Table 8: problems", headings, rows, f"Ours: suite {asked.suite}; its tests are three levels.")


def _entries(suite: Suite | None, domain: str, split: str) -> list[Entry]:
    """Our problems beside a line of the paper's; only those of the track have some."""
    if suite is None or not domain.endswith(_IPC):
        return []
    name = canonical_name(domain.removesuffix(_IPC))
    splits = next((found.splits for key, found in suite.domains.items() if canonical_name(key) == name), {})
    return [entry for each in (_TESTS if split == "test" else (split,)) for entry in splits.get(each, ())]


def _every(score: Score) -> bool:
    return True


def _of_the_method(score: Score) -> bool:
    return score.method == _KEY


_COVERAGES = {
    "1": ("coverage of the track", _every),
    "2": ("coverage of the extended benchmark", _of_the_method),
    "3": ("coverage of the track by candidates", _of_the_method),
    "4": ("coverage of the extended benchmark by candidates", _of_the_method),
    "5": ("coverage of the track by what the encoding holds", _of_the_method),
    "6": ("coverage of the track by encoding", _of_the_method),
    "7": ("coverage of the extended benchmark by encoding", _of_the_method),
}

PAPER = Paper(
    key=_KEY,
    title="Efficient Lookahead Encoding and Abstracted Width for Learning General Policies in Classical Planning",
    suite="track",
    tables={
        **{
            number: PaperTable(title, _coverage(f"Table {number}: {title}", ours_of))
            for number, (title, ours_of) in _COVERAGES.items()
        },
        "8": PaperTable("problems", problems_sheet),
    },
)
