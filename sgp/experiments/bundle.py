"""Planners, rollouts and expert plans that come with the package, made by `python -m sgp.experiments.bundle`.

The rollouts include the dashboard's tour: decisions of two methods, their training data, and a failure.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sgp.api import evaluate, train
from sgp.datasets.experts import expert_plans
from sgp.datasets.generation import distinct_problems
from sgp.datasets.importing import import_folder
from sgp.datasets.recorded import PACKED
from sgp.datasets.recording import records
from sgp.datasets.runs import SECOND, Run, new_run, open_run
from sgp.datasets.store import whole_folder
from sgp.datasets.suite import TRACK_SUITE, Suite, load_suite
from sgp.datasets.training_data import load_training_data
from sgp.encoders.wl import WLEncoder
from sgp.encoders.wl_vocabulary import coloured_graph
from sgp.errors import ConfigurationError, InputError, SgpError, SuiteError, expected_one_of
from sgp.evaluation.attempts import subject_of
from sgp.experiments.joint import train_jointly
from sgp.experiments.record import add_distances, record, write_rollouts
from sgp.files import write_json, write_text
from sgp.methods.loading import load_planner, shipped_folder
from sgp.planning.experts import TEACHERS
from sgp.planning.pddl import Problem
from sgp.planning.planner import Limit
from sgp.planning.rollout import Rollout
from sgp.planning.states import State
from sgp.planning.task import Task
from sgp.policies.nearest_embedding import NearestEmbedding
from sgp.progress import track
from sgp.reports.card import save_scores
from sgp.viewer.library import recorded_folder, rollout_files
from sgp.workers import Folder, cores

app = typer.Typer(pretty_exceptions_enable=False)
logger = logging.getLogger(__name__)

METHOD = "contrastive-jumps"
SUITES = ("track", "state-centric")  # a planner is trained on the first that has training problems of its domain
MEASURED_ON = "twice-as-large"  # name of the suite of larger problems
SEED, COUNT, FACTOR = 20261122, 10, 2
MOST_SECOND = 2_000_000  # bytes of a second planner
LIMIT = Limit(seconds=60, processor=True)  # for each of these problems


def ship(folder: Path | str, jobs: int = 1, suites: Sequence[str] = SUITES, domains: Sequence[str] = ()) -> list[Path]:
    """Train a planner for each of `domains`, measure it and write it into `folder`.

    The default is every domain with bundled training problems. A planner is measured on ten problems with twice as many
    objects as its largest training problem, within `LIMIT`; its card reports the coverage. A planner that solves none
    of them is not written. A second planner of more than MOST_SECOND bytes is left out, and with it decoding portfolio.
    """
    written, sources = [], _sources(suites)
    for domain in domains:
        if domain not in sources:
            raise InputError(f"no training problems of domain '{domain}'; {expected_one_of(sources, domain)}")
    for domain, suite in track([(name, sources[name]) for name in domains or sources], "ship"):
        run = _small(train_jointly(METHOD, domain, suite.name, jobs=jobs).runs["dynamic"])
        scores = evaluate([run.folder], _larger(suite, domain).name, jobs=jobs, limit=LIMIT).scores
        if not scores["value"][scores["metric"] == "coverage"].any():
            logger.warning("%s: the planner solves none of the problems that it is measured on: not shipped", domain)
            continue
        save_scores(run, scores)
        with whole_folder(Path(folder) / domain) as draft:
            for name, content in Folder(run.folder).files().items():
                (draft / name).write_bytes(content)
        written.append(Path(folder) / domain)
    return written


def _small(run: Run) -> Run:
    """Save a run again without its second planner if that has more than MOST_SECOND bytes; return the run."""
    beside = [name for name in run.record["files"] if name.startswith(SECOND)]
    if sum((run.folder / name).stat().st_size for name in beside) <= MOST_SECOND:
        return run
    logger.warning("%s: the second planner is too large and is left out", run.key.domain)
    kept = {name: (run.folder / name).read_bytes() for name in run.record["files"] if name not in beside}
    with new_run(run.key, run.origin) as draft:
        for name, content in kept.items():
            (draft.folder / name).write_bytes(content)
        draft.facts.update({name: value for name, value in run.record["facts"].items() if name != "second"})
        draft.check.update(run.record["check"])
    return open_run(run.folder)


def _sources(suites: Sequence[str]) -> dict[str, Suite]:
    """The training suite of each domain."""
    found: dict[str, Suite] = {}
    for suite in map(load_suite, suites):
        for name, domain in suite.domains.items():
            if domain.splits.get("train"):
                found.setdefault(name, suite)
    return found


def _larger(suite: Suite, name: str) -> Suite:
    """A suite of distinct problems with twice the objects of the largest training problem, or a few more.

    The proportions of problems for suite `track` are bounded as in it.
    """
    domain = suite.built_in_domain(name)
    if domain is None:
        raise SuiteError(f"{name} of suite {suite.name} has no generator; only built-in domains can be shipped")
    largest = max(entry.size for entry in suite.domain(name).splits["train"])
    tracked = suite.name == TRACK_SUITE
    size = next((domain.tracked if tracked else domain.scaled).above(FACTOR * largest - 1))
    with tempfile.TemporaryDirectory() as made:
        place = Path(made) / name
        write_text(place / "domain.pddl", domain.pddl)
        texts = distinct_problems(domain, size, COUNT, (SEED, MEASURED_ON), tracked)
        for number, text in enumerate(texts, start=1):
            write_text(place / MEASURED_ON / f"p{number:02d}.pddl", text)
        return import_folder(Path(made), MEASURED_ON, overwrite=True)


@app.command()
def planners(
    out: Annotated[Path | None, typer.Option()] = None,
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    jobs: Annotated[int, typer.Option()] = 0,
) -> None:
    """Train a planner for every domain with bundled training problems and measure it on larger ones."""
    for path in ship(out or shipped_folder(), jobs or cores(), domains=[name for name in domains.split(",") if name]):
        typer.echo(path)


@app.command()
def rollouts(
    out: Annotated[Path | None, typer.Option()] = None,
    suite: Annotated[str, typer.Option()] = "state-centric",
    jobs: Annotated[int, typer.Option()] = 0,
) -> None:
    """Record the rollouts and the tour that the dashboard shows, training what is missing."""
    folder = out or recorded_folder()
    for path in record(folder, suite, jobs=jobs or cores()):
        typer.echo(path)
    typer.echo(record_tour(folder, suite, next(iter(load_suite(suite).domains)), jobs or cores()))
    distances(folder)


@app.command()
def distances(
    folder: Annotated[Path | None, typer.Argument()] = None,
    match: Annotated[str, typer.Option(help="Begin of the files' names.")] = "",
    space: Annotated[int, typer.Option(help="Largest state space that is expanded.")] = 9_000_000,
    seconds: Annotated[float, typer.Option(help="Time limit for an optimal plan from one state.")] = 20.0,
) -> None:
    """Add the distances to the goal to recorded rollouts that have none."""
    files = [file for file in rollout_files(folder or recorded_folder()) if file.name.startswith(match)]
    for path in add_distances(files, space, seconds):
        typer.echo(path)


TEACHER_HELP = (
    "Expert planners: state-centric (A* with LM-cut, then greedy search with FF), dynamic-validation (merge and "
    "shrink), lama (anytime, not optimal), or track (A* for 2 s, then LAMA's first plan)."
)


@app.command()
def experts(
    suite: Annotated[str, typer.Option(help="Bundled or imported suite.")],
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    splits: Annotated[str, typer.Option(help="Only these splits, separated by commas.")] = "",
    teacher: Annotated[str, typer.Option(help=TEACHER_HELP)] = "state-centric",
    seconds: Annotated[float | None, typer.Option(min=1, help="Time limit of each search, not the teacher's.")] = None,
    give_up: Annotated[int, typer.Option(min=0, help="Stop a split after so many failures in a row; 0: never.")] = 0,
    retry: Annotated[bool, typer.Option("--retry", help="Try problems again that had no plan before.")] = False,
    jobs: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Make missing expert plans with Fast Downward."""
    if teacher not in TEACHERS:
        raise ConfigurationError(f"unknown teacher '{teacher}'; {expected_one_of(TEACHERS, teacher)}")
    stages = [stage if seconds is None else replace(stage, seconds=seconds) for stage in TEACHERS[teacher]]
    source = load_suite(suite)
    for name in [source.domain(domain).name] if domain else source.domains:
        for split in [each for each in splits.split(",") if each] or source.domain(name).splits:
            plans = expert_plans(source, name, split, stages, jobs or cores(), retry, patience=give_up)
            solved = [plan for plan in plans.values() if plan.plan is not None]
            typer.echo(f"{suite}/{name}/{source.split(name, split)}: {len(solved)} of {len(plans)} with a plan")


TOUR_METHOD, TOUR_VARIANT = "state-centric", "wl-xgboost-delta"
SMALLER, LARGER = "interpolation", "extrapolation"  # splits of the tour
TOUR_FORMAT = 3


def record_tour(folder: Path | str, suite: str, domain: str, jobs: int = 1) -> Path:
    """Write the tour of a domain: the first solved rollout of unseen small problems, at its most open decision.

    The rollout is written beside it like the others.
    """
    source = load_suite(suite)
    run = train(TOUR_METHOD, domain, suite, TOUR_VARIANT, jobs=jobs)
    planner, (policy, encoder) = load_planner(str(run.folder)), _parts(run)
    for problem in source.problems(domain, SMALLER):
        rollout = planner.solve(Task(problem))
        if rollout.solved:
            break
    else:
        raise InputError(
            f"{TOUR_METHOD} {TOUR_VARIANT} solves no problem of {suite}/{domain}/{SMALLER}; choose another domain"
        )
    file = Path(folder) / "tour.json"
    plan = f"{domain}-{TOUR_METHOD}-{TOUR_VARIANT}-{problem.name}-{rollout.outcome.value}.jsonl{PACKED}"
    write_rollouts(run, source, {file.with_name(plan): rollout.without_notes()}, SMALLER)
    contrast = _contrast(train(METHOD, domain, suite, jobs=jobs), problem)
    parts = {"training": _training(source, run, encoder), "contrast": contrast, "failure": _failure(source, jobs)}
    write_json(file, {"format": TOUR_FORMAT, "rollout": plan, **_decision(rollout, policy, encoder), **parts})
    return file


def _parts(run: Run) -> tuple[NearestEmbedding, WLEncoder]:
    """The policy of a run and its encoder."""
    policy = load_planner(str(run.folder)).policy
    assert isinstance(policy, NearestEmbedding)
    assert isinstance(policy.encoder, WLEncoder)
    return policy, policy.encoder


def _decision(rollout: Rollout, policy: NearestEmbedding, encoder: WLEncoder) -> dict[str, Any]:
    """The most open decision of a rollout with its inputs: graph, embeddings, prediction."""
    task = rollout.task
    number = _most_open(rollout)
    step = rollout.steps[number]
    graph = coloured_graph(encoder.vocabulary, task, step.state)
    before, after = encoder.embed(task, [step.state, step.successor.state])
    return {
        "step": number + 1,
        "atoms": sorted(map(str, task.atoms(step.state))),
        "graph": {**asdict(graph), "names": _names(encoder, task, step.state, step.successor.state)},
        "metric": policy.metric,
        "embedding": _numbers(before),
        "goal": _numbers(encoder.embed_goal(task)),
        "predicted": _numbers(step.note["predicted"]),
        "chosen": _numbers(after),
    }


def _training(suite: Suite, run: Run, encoder: WLEncoder) -> dict[str, Any]:
    """The amount of training data of a run, and the first step of its first plan as an example."""
    first = load_training_data(suite, run.key.domain).train[0]
    task, (before, after) = first.task, first.states[:2]
    here, there = encoder.embed(task, [before, after])
    return {
        **{name: run.record["data"][name] for name in ("train", "transitions")},
        "problem_pddl": task.problem.problem_pddl,
        "plan": [str(action) for action in first.actions],
        "before": sorted(map(str, task.atoms(before))),
        "after": sorted(map(str, task.atoms(after))),
        "change": {str(column): float((there - here)[column]) for column in np.flatnonzero(there - here).tolist()},
        "names": _names(encoder, task, before, after),
    }


def _contrast(run: Run, problem: Problem) -> dict[str, Any]:
    """The most open decision of the other method in the same problem, and its number of training decisions."""
    rollout = load_planner(str(run.folder)).solve(Task(problem))
    return {
        "records": _records(rollout, run, SMALLER),
        "step": _most_open(rollout) + 1,
        "decisions": run.record["facts"]["decisions"],
    }


def _failure(suite: Suite, jobs: int) -> dict[str, Any]:
    """The failure with the largest share of idle steps, at the idle step with the smallest predicted change."""
    worst: tuple[float, Run, Rollout, list[int]] | None = None
    for domain in suite.domains:
        run = train(TOUR_METHOD, domain, suite.name, TOUR_VARIANT, jobs=jobs)
        smallest = min(suite.problems(domain, LARGER), key=lambda each: (len(each.read()[1].objects), each.name))
        rollout = load_planner(str(run.folder)).solve(Task(smallest))
        idle = [] if rollout.solved else _idle(rollout)
        share = len(idle) / max(len(rollout.steps), 1)
        if idle and (worst is None or share > worst[0]):
            worst = share, run, rollout, idle
    if worst is None:
        raise InputError(
            f"{TOUR_METHOD} {TOUR_VARIANT} never prefers an action that changes nothing; choose another suite"
        )
    _, run, rollout, idle = worst
    encoder, task = _parts(run)[1], rollout.task
    idle_rows = encoder.embed(task, [rollout.steps[place].state for place in idle])
    predicted = np.array([rollout.steps[place].note["predicted"] for place in idle])
    ahead = np.linalg.norm(predicted - idle_rows, axis=1)
    least = int(np.argmin(ahead))
    number, step = idle[least], rollout.steps[idle[least]]
    candidates = encoder.embed(task, [candidate.state for candidate in step.candidates])
    lengths = np.linalg.norm(candidates - idle_rows[least], axis=1)
    head, *steps = _records(rollout, run, LARGER)
    return {
        "records": [{**head, "steps": 1}, steps[number]],
        "step": number + 1,
        "steps": len(rollout.steps),
        "idle": len(idle),
        "atoms": sorted(map(str, task.atoms(step.state))),
        "predicted": round(float(ahead[least]), 6),
        "lengths": _numbers(lengths),
    }


def _records(rollout: Rollout, run: Run, split: str) -> list[dict[str, Any]]:
    return list(records(rollout.without_notes(), subject_of(run, split=split).record()))


def _idle(rollout: Rollout) -> list[int]:
    """The steps (from 0) on which no candidate costs less than one without effect."""
    _, *steps = records(rollout.without_notes())
    cheapest = [min(step["candidates"], key=lambda c: np.inf if c["cost"] is None else c["cost"]) for step in steps]
    return [place for place, candidate in enumerate(cheapest) if not candidate["add"] and not candidate["delete"]]


def _names(encoder: WLEncoder, task: Task, *states: State) -> dict[str, str]:
    """Descriptions of the colours of some states, by their numbers."""
    graphs = [coloured_graph(encoder.vocabulary, task, each) for each in reversed(states)]
    return {str(colour): name for graph in graphs for colour, name in graph.names.items()}


def _most_open(rollout: Rollout) -> int:
    """The first step (from 0) with the most candidates to choose from."""
    return max(range(len(rollout.steps)), key=lambda place: (int(rollout.steps[place].open_to_choice.sum()), -place))


def _numbers(vector: Any) -> list[float]:
    return [round(float(value), 6) for value in vector]


if __name__ == "__main__":
    try:
        app()
    except SgpError as error:
        print(f"sgp: {error}", file=sys.stderr)
        sys.exit(2)
