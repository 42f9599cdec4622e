"""Recorded rollouts with experts' plans, explanations and maps: those of `data/recorded`, and a user's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sgp.analysis.explanations import expectation_records, explanation_records
from sgp.analysis.remaining import Remaining, remaining, remaining_exactly, remaining_in_passing
from sgp.api import map_run, train
from sgp.datasets.experts import saved_plans
from sgp.datasets.runs import Run
from sgp.datasets.suite import Suite, load_suite
from sgp.evaluation.attempts import Attempt, RolloutRecorder, subject_of
from sgp.methods.loading import load_planner
from sgp.planning.experts import LAMA_FIRST
from sgp.planning.pddl import Action, Problem
from sgp.planning.planner import Planner
from sgp.planning.recorded import PACKED, map_file
from sgp.planning.recording import records, write_records
from sgp.planning.rollout import Rollout
from sgp.planning.task import Task
from sgp.planning.trajectory import Trajectory
from sgp.planning.validation import confirm
from sgp.progress import track
from sgp.viewer.library import rollout_files

SPLIT = "extrapolation"
_SPACE = 400_000  # states of a state space that is expanded to know what is left
_ASKED = 256  # states of a rollout at most that plans are looked for from where it is larger
_BRIEFLY = (replace(LAMA_FIRST, seconds=5.0),)
_AT_ONCE = 16  # problems that are tried before it is looked whether one of them was not solved


@dataclass(frozen=True)
class Recording:
    """What is recorded of every domain of a suite; every planner is trained in seconds.

    All planners are recorded on the same `shared` problems, so that any two can be compared: of the `among` smallest
    those that most planners leave unsolved. Beside them each planner's smallest unsolved one, where it solved those,
    and of the `foremost` planners, which have the whole split tried, the largest solved one whose record has at most
    `largest` bytes.
    """

    foremost: Sequence[tuple[str, str | None]] = (
        ("contrastive-jumps", None),
        ("contrastive-jumps", "one-step"),
        ("state-centric", "wl-xgboost-delta"),
    )
    others: Sequence[tuple[str, str | None]] = (
        ("state-centric", "wl-xgboost-state"),
        ("state-centric", "fsf-xgboost-delta"),
        ("state-centric", "fsf-xgboost-state"),
        ("contrastive-delta", "wl"),
        ("zero-change", "wl"),
        ("random-successor", "unvisited"),
    )
    shared: int = 2
    among: int = 6
    largest: int = 250_000


@dataclass
class _Tried:
    """A run, what it made of the problems that it was tried on, and which of that is to be recorded."""

    run: Run
    planner: Planner
    rollouts: dict[str, Rollout] = field(default_factory=dict)  # by the problem's hash
    chosen: set[str] = field(default_factory=set)

    def on(self, problems: Iterable[Problem]) -> list[Rollout]:
        """Rollouts of problems, those that were not tried before made now, without notes."""
        wanted = list(problems)
        new = [each for each in wanted if each.sha256 not in self.rollouts]
        for problem, rollout in zip(new, self.planner.solve_many(map(Task, new)), strict=True):
            self.rollouts[problem.sha256] = rollout.without_notes()
        return [self.rollouts[each.sha256] for each in wanted]

    def choose(self, rollout: Rollout) -> None:
        """Has a rollout recorded, once VAL accepts its plan."""
        confirm(rollout)
        self.chosen.add(rollout.task.problem.sha256)

    def choose_smallest_unsolved(self, problems: Sequence[Problem]) -> None:
        """Has the first unsolved rollout recorded, where none is yet; gives up what was tried on the way."""
        for some in _batches(problems):
            if any(not self.rollouts[each].solved for each in self.chosen):
                return
            unsolved = [each for each in self.on(some) if not each.solved]
            for rollout in unsolved[:1]:
                self.choose(rollout)
            self.forget()

    def choose_largest_solved(self, problems: Sequence[Problem], most: int) -> None:
        """Has the last solved rollout recorded whose record has at most so many bytes."""
        best: Rollout | None = None
        for some in _batches(problems):
            best = next((each for each in reversed(self.on(some)) if each.solved and _size(each) <= most), best)
            self.forget(best)
        if best is not None:
            self.choose(best)

    def forget(self, but: Rollout | None = None) -> None:
        """Gives up rollouts that are not to be recorded: a task never frees its states."""
        spared = {*self.chosen, *([] if but is None else [but.task.problem.sha256])}
        self.rollouts = {sha256: each for sha256, each in self.rollouts.items() if sha256 in spared}


def record(folder: Path | str, suite: str, what: Recording | None = None, jobs: int = 1) -> list[Path]:
    """Trains the planners on every domain of a suite and writes their rollouts, replacing those of the folder.

    Which ones says `what`; each is a file of its own, compressed, with a map by PCA and UMAP beside it.
    """
    target, source, what = Path(folder), load_suite(suite), what or Recording()
    written: list[Path] = []
    for domain in source.domains:
        problems = _by_size(source, domain)
        tried = [_Tried(run, load_planner(str(run.folder))) for run in _trained(what, domain, suite, jobs)]
        for problem in _shared(tried, problems[: what.among], what.shared):
            for each in tried:
                each.choose(*each.on([problem]))
        for place, each in enumerate(track(tried, f"record {domain}")):
            each.forget()
            each.choose_smallest_unsolved(problems)
            if place < len(what.foremost):
                each.choose_largest_solved(problems, what.largest)
            key = each.run.key
            stem = f"{domain}-{key.method}-{key.variant}"
            files = {
                target / f"{stem}-{rollout.task.name}-{rollout.outcome.value}.jsonl{PACKED}": rollout
                for rollout in each.rollouts.values()
            }
            written += _write(each.run, source, files)
            each.rollouts.clear()
    for stale in {*rollout_files(target), *target.glob("*.map.json")} - set(written):
        stale.unlink()
    return written


def record_attempted(folder: Path | str, run: Run, suite: str, attempts: Sequence[Attempt]) -> list[Path]:
    """Records two of the problems of the split that a run has tried: the solved one of median size, the smallest
    unsolved one.

    An evaluation stores no steps, so these problems are planned again, except recordings newer than the run. The maps
    are by PCA alone: UMAP takes about a minute for eight runs at its first use, and `sgp map` adds it. Returns the
    files of the rollouts.
    """
    source, domain = load_suite(suite), run.key.domain
    by_size = sorted(attempts, key=lambda each: (each.size, each.problem))
    solved = [each for each in by_size if each.solved]
    chosen = [*solved[len(solved) // 2 :][:1], *[each for each in by_size if not each.solved][:1]]
    keeping, problems = (
        RolloutRecorder(Path(folder), subject_of(run, suite, split=SPLIT)),
        source.problems(domain, SPLIT),
    )
    files = {keeping.path(each.problem): each.problem for each in chosen}
    trained = (run.folder / "run.json").stat().st_mtime
    if not all(map_file(file).is_file() and map_file(file).stat().st_mtime > trained for file in files):
        of_name = {each.name: each for each in problems}
        planned = load_planner(str(run.folder)).solve_many([Task(of_name[name]) for name in files.values()])
        for rollout in planned:
            confirm(rollout)
        bare = [rollout.without_notes() for rollout in planned]
        _write(run, source, dict(zip(files, bare, strict=True)), thorough=False)
    return list(files)


def _write(run: Run, suite: Suite, rollouts: Mapping[Path, Rollout], thorough: bool = True) -> list[Path]:
    """Writes each rollout of a run to its file, a map of its own beside it; all files that were written.

    Unless `thorough`, without UMAP, and what is left of a rollout only where its whole state space is small.
    """
    experts, policy = saved_plans(suite, run.key.domain, SPLIT), load_planner(str(run.folder)).policy
    written = list[Path]()
    for file, rollout in rollouts.items():
        expert = experts.get(rollout.task.problem.sha256)
        plan = () if expert is None or expert.plan is None else Trajectory.of(rollout.task, expert.plan).actions
        said = zip(explanation_records(rollout, policy), expectation_records(rollout, policy), strict=True)
        why = [{**reasons, **expected} for reasons, expected in said]
        about = subject_of(run, suite.name, split=SPLIT).record()
        left = _left(rollout, plan) if thorough else remaining_in_passing(rollout)
        write_records(file, records(rollout, about, plan, why, None if left is None else left.record()))
        written += [file, *map_run(run.folder, [file], thorough)[1:]]  # alone, it has room for all its candidates
    return written


def _left(rollout: Rollout, plan: Sequence[Action]) -> Remaining | None:
    """What is left from a rollout's states, exactly or by plans from every one of them; None where they are too many.

    Between states that were asked of, steps would look good or bad by how far the next such state is.
    """
    states = {rollout.end, *(step.state for step in rollout.steps)}
    exact = remaining_exactly(rollout, _SPACE)
    return remaining(rollout, plan, 0, _ASKED, _BRIEFLY) if exact is None and len(states) <= _ASKED else exact


def _by_size(suite: Suite, domain: str) -> list[Problem]:
    """The problems of the split, each once, by objects and then by name."""
    problems = {each.sha256: each for each in reversed(suite.problems(domain, SPLIT))}
    return sorted(problems.values(), key=lambda each: (len(each.read()[1].objects), each.name))


def _trained(what: Recording, domain: str, suite: str, jobs: int) -> Iterator[Run]:
    for method, variant in (*what.foremost, *what.others):
        yield train(method, domain, suite, variant, jobs=jobs)


def _shared(tried: Sequence[_Tried], problems: Sequence[Problem], count: int) -> list[Problem]:
    """The problems that most planners leave unsolved, of equally many the smaller ones."""
    unsolved = Counter(
        rollout.task.problem.sha256 for each in tried for rollout in each.on(problems) if not rollout.solved
    )
    return sorted(problems, key=lambda each: -unsolved[each.sha256])[:count]


def _batches(problems: Sequence[Problem]) -> Iterator[Sequence[Problem]]:
    return (problems[start : start + _AT_ONCE] for start in range(0, len(problems), _AT_ONCE))


def _size(rollout: Rollout) -> int:
    """The bytes of a rollout's record."""
    return sum(len(json.dumps(each)) + 1 for each in records(rollout))
