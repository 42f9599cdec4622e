"""The command line: each verb is a thin call of the facade."""

from __future__ import annotations

import errno
import functools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from sgp.errors import SgpError

# The facade's rooms are imported inside the verbs: `sgp --help` must not wait for numpy.

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Learned generalized planning: train on small problems, solve much larger ones. Begin with 'sgp demo'.",
)
Parameters = ParamSpec("Parameters")

SOLVED, NOT_SOLVED, FAILED, INTERRUPTED = 0, 1, 2, 130

Suite = Annotated[str, typer.Option("--suite", help="Bundled or imported suite; see 'sgp list'.")]
Jobs = Annotated[int, typer.Option("--jobs", min=0, help="Processes at a time; 0 means one per core.")]
By = Annotated[
    str,
    typer.Option(
        help="Which validation selects among the planners of one training: dynamic, coverage or loss; none: the method "
        "trains as it does alone."
    ),
]
ClusterAddress = Annotated[
    str, typer.Option("--cluster", metavar="HOST:PORT", help="Head of the Ray cluster that does the work instead.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the scores here as JSON.")]
CsvFile = Annotated[Path | None, typer.Option("--csv", help="Write the scores here as CSV.")]
Seconds = Annotated[float | None, typer.Option("--seconds", help="Most seconds per problem.")]
Memory = Annotated[float | None, typer.Option("--memory", help="Most GB of memory per process.")]
Splits = Annotated[str, typer.Option("--splits", help="Splits, separated by commas; all but train where left out.")]
DomainFile = Annotated[Path, typer.Argument(metavar="DOMAIN.pddl")]
ProblemFile = Annotated[Path, typer.Argument(metavar="PROBLEM.pddl")]


def verb(name: str, example: str) -> Callable[[Callable[Parameters, None]], Callable[Parameters, None]]:
    """Registers a verb with an example in its help, and turns errors into one sentence and an exit code."""

    def register(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
        @functools.wraps(function)
        def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
            try:
                function(*args, **kwargs)
            except SgpError as error:
                typer.echo(f"sgp: {error}", err=True)
                raise typer.Exit(FAILED) from error
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    typer.echo("sgp: no space left on the disk; free some and run the command again", err=True)
                elif error.filename is not None:
                    typer.echo(f"sgp: {error.filename}: {error.strerror}; check the path", err=True)
                else:
                    raise
                raise typer.Exit(FAILED) from error
            except KeyboardInterrupt as error:
                typer.echo("sgp: interrupted; the same command goes on where it stopped", err=True)
                raise typer.Exit(INTERRUPTED) from error

        return app.command(name, epilog=f"Example: {example}")(guarded)

    return register


def _jobs(chosen: int) -> int:
    from sgp.workers import cores

    return chosen or cores()


def _crew(chosen: int, cluster: str) -> Any:
    from sgp.workers import Cluster

    return Cluster(cluster) if cluster else _jobs(chosen)


def _console() -> Any:
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=140)


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _overrides(settings: list[str] | None) -> dict[str, str]:
    from sgp.errors import ConfigurationError

    found = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ConfigurationError(f"setting '{setting}' has no '='; expected NAME=VALUE")
        found[name] = value
    return found


def _limit(seconds: float | None, memory: float | None, horizon: int | None = None) -> Any:
    from sgp.planning.planner import Limit

    return Limit(actions=horizon, seconds=seconds, memory=None if memory is None else int(memory * 1e9))


def _write(scores: Any, json: Path | None, csv: Path | None) -> None:
    from sgp.evaluation.scores import to_csv, to_json
    from sgp.files import write_text

    for file, text in ((json, to_json), (csv, to_csv)):
        if file is not None:
            write_text(file, text(scores))


def _of_suite(scores: Any, suite: str) -> Any:
    """The scores on one suite. Raises InputError with the suites there are where there are none."""
    from sgp.errors import InputError

    found = [score for score in scores if score.suite == suite]
    if scores and not found:
        others = ", ".join(sorted({score.suite for score in scores}))
        raise InputError(f"there are no scores on suite '{suite}', but on {others}; choose with --suite")
    return found


@verb("demo", "sgp demo --no-serve")
def demo(
    jobs: Jobs = 0,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Never serve a dashboard at the end.")] = False,
) -> None:
    """Train on the bundled small problems of four domains, plan on the larger ones, compare with the paper.

    At its end the dashboard is served where standard output is a terminal.
    """
    from sgp.demo import run_demo
    from sgp.viewer.dashboard import free_port, serve

    run_demo(_jobs(jobs), _console())
    port = free_port()
    if no_serve or not sys.stdout.isatty():
        typer.echo(f"Watch the plans: 'sgp dashboard --port {port}' serves them at http://localhost:{port}")
        return
    typer.echo(f"Watch the plans at http://localhost:{port}; Ctrl-C ends the dashboard.")
    sys.stdout.flush()
    serve(port, browser=True)


@verb("list", "sgp list runs")
def list_(
    what: Annotated[str, typer.Argument(help="suites, domains, methods or runs; all where left out.")] = "",
) -> None:
    """Show the suites, domains, methods and trained runs there are."""
    from sgp.errors import InputError
    from sgp.listing import LISTINGS

    if what and what not in LISTINGS:
        raise InputError(f"unknown listing '{what}'; expected one of {', '.join(LISTINGS)}")
    for name in [what] if what else LISTINGS:
        _console().print(LISTINGS[name]())


@verb("generate", "sgp generate --domain blocksworld --size 20 --count 5 --out problems")
def generate(
    domain: Annotated[str, typer.Option(help="Domain of the house.")] = "",
    size: Annotated[int | None, typer.Option(min=1, help="Number of objects.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of problems.")] = 1,
    model: Annotated[str, typer.Option(help="Model of the domain, where it has several ('sgp list domains').")] = "",
    suite: Annotated[str, typer.Option(help="Generate this bundled suite anew instead.")] = "",
    seed: Annotated[int | None, typer.Option(help="Random seed; the same seed gives the same files.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("problems"),
) -> None:
    """Generate problems of one size, or a whole bundled suite."""
    from sgp.datasets.generation import SUITE_SEED, generate_problems, generate_suite
    from sgp.domains import get_domain
    from sgp.errors import ConfigurationError

    if suite:
        generate_suite(suite, out, SUITE_SEED if seed is None else seed)
        typer.echo(out)
        return
    if not domain or not size:
        raise ConfigurationError("nothing to generate; give --domain and --size, or --suite")
    for path in generate_problems(get_domain(domain), size, count, seed or 0, out, model):
        typer.echo(path)


@verb("import", "sgp import ipc2023 --suite ipc")
def import_(
    source: Annotated[Path, typer.Argument(help="Folder of PDDL files, or an archive that 'sgp export' wrote.")],
    suite: Annotated[str, typer.Option(help="Name of the new suite of PDDL files.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an imported suite or run of this name.")] = False,
) -> None:
    """Register a folder of PDDL problems as a suite, expert plans beside them included; or take in an exported run."""
    from sgp import api
    from sgp.datasets.importing import import_folder
    from sgp.errors import ConfigurationError, InputError

    if not source.exists():
        raise InputError(f"{source} does not exist; give a folder of PDDL files, or an archive that 'sgp export' wrote")
    if not source.is_dir():
        typer.echo(api.import_run(source, replace).folder)
        return
    if not suite:
        raise ConfigurationError(f"{source} is a folder, and the suite to make of it has no name; give it with --suite")
    imported = import_folder(source, suite, overwrite=replace)
    for name, domain in imported.domains.items():
        splits = ", ".join(f"{split} {len(entries)}" for split, entries in domain.splits.items())
        typer.echo(f"{suite}/{name}: {splits}" + (f" (served by {domain.house})" if domain.house else ""))


@verb("export", "sgp export runs/state-centric/wl-xgboost-delta/state-centric/gripper/seed13 --out gripper.zip")
def export(
    run: Annotated[Path, typer.Argument(help="Folder of a trained run.")],
    out: Annotated[Path, typer.Option(help="Archive to write.")],
) -> None:
    """Write a run with its encoder, model and card as one archive, which 'sgp import' takes in elsewhere."""
    from sgp import api

    api.export(run, out)
    typer.echo(out)


@verb("experts", "sgp experts --suite state-centric --domain logistics --splits extrapolation")
def experts(
    suite: Suite,
    domain: Annotated[str, typer.Option(help="Only this domain.")] = "",
    splits: Annotated[str, typer.Option(help="Only these splits, separated by commas.")] = "",
    teacher: Annotated[
        str,
        typer.Option(
            help="Whose experts: state-centric (A* with LM-cut, then greedy search with FF), dynamic-validation (merge "
            "and shrink), or lama (anytime, not optimal)."
        ),
    ] = "state-centric",
    seconds: Annotated[float | None, typer.Option(min=1, help="Limit of each search instead of its own.")] = None,
    give_up: Annotated[
        int, typer.Option(min=0, help="Leave a split after so many problems in a row without a plan; 0: never.")
    ] = 0,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what was not solved before.")] = False,
    jobs: Jobs = 0,
) -> None:
    """Make the expert plans that are missing, by Fast Downward."""
    from dataclasses import replace

    from sgp.datasets.experts import expert_plans
    from sgp.datasets.suite import load_suite
    from sgp.errors import ConfigurationError
    from sgp.planning.experts import TEACHERS

    if teacher not in TEACHERS:
        raise ConfigurationError(f"unknown teacher '{teacher}'; expected one of {', '.join(TEACHERS)}")
    stages = [stage if seconds is None else replace(stage, seconds=seconds) for stage in TEACHERS[teacher]]
    source = load_suite(suite)
    for name in [source.domain(domain).name] if domain else source.domains:
        for split in _words(splits) or source.domain(name).splits:
            plans = expert_plans(source, name, split, stages, _jobs(jobs), retry, patience=give_up)
            solved = [plan for plan in plans.values() if plan.plan is not None]
            typer.echo(f"{suite}/{name}/{source.split(name, split)}: {len(solved)} of {len(plans)} with a plan")


@verb("train", "sgp train --method state-centric --domain blocksworld --suite state-centric")
def train(
    domain: Annotated[str, typer.Option(help="Domain of the suite.")],
    suite: Suite,
    method: Annotated[str, typer.Option(help="Method; see 'sgp list methods'.")] = "state-centric",
    variant: Annotated[str, typer.Option(help="Variant of the method; its first where left out.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 13,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, such as boosting.rounds=200.")
    ] = None,
    by: By = "none",
    again: Annotated[bool, typer.Option("--again", help="Train even where the same run exists.")] = False,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Train a method on a domain, making missing expert plans first. The last line is the run's folder."""
    run = _trained(
        by,
        method,
        domain,
        suite,
        variant,
        seed=seed,
        device=device,
        jobs=_crew(jobs, cluster),
        overrides=_overrides(settings),
        again=again,
    )
    typer.echo(run.folder)


def _trained(by: str, method: str, domain: str, suite: str, variant: str, **others: Any) -> Any:
    """The run of a training, or the one that a validation selects from it, with a table of all that it chose from."""
    from sgp import api
    from sgp.errors import ConfigurationError
    from sgp.joint import VALIDATIONS, joint_sheet, train_jointly

    if by == "none":
        return api.train(method, domain, suite, variant or None, **others)
    if by not in VALIDATIONS:
        raise ConfigurationError(f"validation is '{by}'; expected one of {', '.join(VALIDATIONS)}, none")
    found = train_jointly(method, domain, suite, variant or None, **others)
    title = f"{method} on {domain}, trained on {suite}: its planners and how they were validated"
    _console().print(joint_sheet(found, title).terminal())
    return found.runs[by]


@verb("solve", "sgp solve domain.pddl problem.pddl --run runs/state-centric/wl-xgboost-delta/... --plan plan.txt")
def solve(
    domain: DomainFile,
    problem: ProblemFile,
    run: Annotated[Path, typer.Option(help="Folder of a trained run.")],
    plan: Annotated[Path | None, typer.Option(help="Write the plan here.")] = None,
    rollout: Annotated[Path | None, typer.Option(help="Write every candidate and its cost here, as JSONL.")] = None,
    seconds: Seconds = None,
    memory: Memory = None,
    horizon: Annotated[int | None, typer.Option(help="Most actions; max(100, 10 x objects) where left out.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page here that plays the rollout in a browser.")] = None,
) -> None:
    """Solve one problem. Exit code 0: solved, the plan accepted by VAL; 1: not solved; 2: an error."""
    from sgp import api
    from sgp.files import write_text
    from sgp.planning.pddl import Problem, format_plan
    from sgp.planning.recording import write_records
    from sgp.planning.validation import confirm
    from sgp.viewer.page import export_html

    found = api.solve(Problem.from_files(domain, problem), run, _limit(seconds, memory, horizon))
    if rollout is not None or html is not None:
        recorded = api.as_recorded(found, run)
    if rollout is not None:
        write_records(rollout, [recorded.head, *recorded.steps])
    if html is not None:
        export_html(recorded, html)
    if not confirm(found):
        reason = f" ({found.reason})" if found.reason else ""
        typer.echo(f"not solved: {found.outcome.value}{reason} after {len(found.plan)} actions", err=True)
        raise typer.Exit(NOT_SOLVED)
    if plan is not None:
        write_text(plan, format_plan(found.plan))
    typer.echo(format_plan(found.plan), nl=False)
    typer.echo(f"solved in {len(found.plan)} actions, {found.seconds:.2f} s; VAL accepts the plan", err=True)


@verb("record", "sgp record")
def record(
    out: Annotated[Path | None, typer.Option(help="Folder; data/recorded of the checkout where left out.")] = None,
    suite: Suite = "state-centric",
    jobs: Jobs = 0,
) -> None:
    """Make the recorded rollouts that the dashboard opens with, training what is missing."""
    from sgp.datasets.suite import load_suite
    from sgp.record import record
    from sgp.tour import record_tour
    from sgp.viewer.library import recorded_folder

    for path in record(out or recorded_folder(), suite, jobs=_jobs(jobs)):
        typer.echo(path)
    typer.echo(record_tour(out or recorded_folder(), suite, next(iter(load_suite(suite).domains)), _jobs(jobs)))


@verb("map", "sgp map RUN --rollouts rollout.jsonl")
def map_(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")],
    rollouts: Annotated[
        list[Path] | None, typer.Option(help="Also the rollouts of the run in this file; give it once a file.")
    ] = None,
) -> None:
    """Map what runs were trained on and their recorded rollouts by UMAP and PCA; the player shows the maps."""
    from sgp import api
    from sgp.datasets.runs import open_run
    from sgp.viewer.library import recorded_of

    for run in runs:
        for path in api.map_run(run, [*recorded_of(open_run(run).key), *(rollouts or ())]):
            typer.echo(path)


@verb("dashboard", "sgp dashboard --port 8501")
def dashboard(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve at.")] = 8501,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser; print the address.")] = False,
) -> None:
    """Serve the dashboard on this machine: step through recorded plans in the browser. Ctrl-C ends it."""
    from sgp.viewer.dashboard import serve

    serve(port, browser=not no_browser)


@verb("validate", "sgp validate domain.pddl problem.pddl plan.txt")
def validate(domain: DomainFile, problem: ProblemFile, plan: Annotated[Path, typer.Argument(metavar="PLAN")]) -> None:
    """Have VAL judge a plan. Exit code 0: valid; 1: not valid; 2: an error."""
    from sgp.planning.pddl import Problem, parse_plan, read_text
    from sgp.planning.validation import validate

    verdict = validate(Problem.from_files(domain, problem), parse_plan(read_text(plan), str(plan)))
    typer.echo(verdict.report.strip())
    raise typer.Exit(SOLVED if verdict.valid else NOT_SOLVED)


@verb("evaluate", "sgp evaluate RUN1 RUN2 --suite state-centric --splits validation,extrapolation --json scores.json")
def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")],
    suite: Suite,
    splits: Splits = "",
    json: JsonFile = None,
    csv: CsvFile = None,
    seconds: Seconds = None,
    memory: Memory = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
    record: Annotated[
        bool, typer.Option("--record", help="Keep every rollout under SGP_HOME/recorded, where the dashboard shows it.")
    ] = False,
) -> None:
    """Try every problem with every run, have VAL judge the plans, and show coverage beside the published numbers."""
    from sgp import api
    from sgp.evaluation.tables import coverage_sheet, details_sheet, published
    from sgp.viewer.library import own_rollouts_folder

    rollouts = own_rollouts_folder() if record else None
    found = api.evaluate(runs, suite, _words(splits), _crew(jobs, cluster), _limit(seconds, memory), rollouts)
    _write(found.scores, json, csv)
    console = _console()
    console.print(details_sheet(found.scores, f"attempts on {suite}").terminal())
    theirs = [score for score in published("state-centric") if score.table == "1"]
    console.print(coverage_sheet(found.scores, theirs, f"coverage on {suite}").terminal())


@verb("diagnose", "sgp diagnose RUN1 RUN2 --suite state-centric --splits extrapolation")
def diagnose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of trained runs.")],
    suite: Suite,
    splits: Splits = "",
    json: JsonFile = None,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Show why runs work or fail: how they rank the expert's successors, and what their features cannot see."""
    from sgp import api
    from sgp.evaluation.diagnostics import diagnostics_sheet

    scores = api.diagnose(runs, suite, _words(splits), _crew(jobs, cluster))
    _write(scores, json, csv)
    _console().print(diagnostics_sheet(scores).terminal())


@verb("scaling", "sgp scaling --method contrastive_jumps --domain blocksworld --json scaling.json")
def scaling(
    domain: Annotated[str, typer.Option(help="Domain of the house.")] = "",
    method: Annotated[str, typer.Option(help="Method; see 'sgp list methods'.")] = "contrastive_jumps",
    variant: Annotated[str, typer.Option(help="Variant of the method; its first where left out.")] = "",
    suite: Suite = "scaling",
    by: By = "dynamic",
    run: Annotated[Path | None, typer.Option(help="A trained run, instead of method, domain and suite.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the generated problems.")] = 0,
    bound: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most actions, beside one for each object; where left out the paper's, or 3 times the experts' mean.",
        ),
    ] = None,
    largest: Annotated[
        int | None, typer.Option(min=1, help="Largest size to try; twice the published Scale where there is one.")
    ] = None,
    hours: Annotated[float, typer.Option(min=0, help="Begin no more problems after so many hours.")] = math.inf,
    seconds: Seconds = None,
    references: Annotated[
        int, typer.Option("--reference", min=0, help="Ask LAMA about so many problems of a size that are not solved.")
    ] = 0,
    reference_seconds: Annotated[float, typer.Option(help="Most seconds for each search of LAMA.")] = 10.0,
    json: JsonFile = None,
    csv: CsvFile = None,
    html: Annotated[Path | None, typer.Option(help="Write the curve here as a plot in one HTML page.")] = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Measure coverage at every size, on as many generated problems as the interval needs; goes on where it stopped."""
    from sgp.datasets.runs import open_run
    from sgp.errors import ConfigurationError
    from sgp.evaluation.curves import curve_scores, curve_sheet, published_cap, published_words
    from sgp.evaluation.scaling import ScalingConfig
    from sgp.evaluation.scaling_plots import scaling_curves
    from sgp.evaluation.tables import published
    from sgp.files import write_text
    from sgp.scaling_runs import scaling as measured
    from sgp.scaling_runs import scaling_subject

    if run is None and not domain:
        raise ConfigurationError("nothing to measure; give --domain, or --run with a trained run")
    if run is not None and domain:
        raise ConfigurationError(f"--run {run} was trained on a domain already; leave out --domain {domain}, or --run")
    crew = _crew(jobs, cluster)
    trained = open_run(run) if run else _trained(by, method, domain, suite, variant, jobs=crew)
    key, theirs = trained.key, published("dynamic-validation")
    config = ScalingConfig(
        largest=largest or published_cap(theirs, key.domain),
        seconds=seconds,
        references=references,
        reference_seconds=reference_seconds,
    )
    curve = measured(trained.folder, config, seed, crew, bound, hours)
    scores = list(curve_scores(curve, scaling_subject(trained.folder, config, crew)))
    _write(scores, json, csv)
    if html is not None:
        write_text(html, scaling_curves(scores, theirs=theirs).to_html(include_plotlyjs=True))
    title = f"{key.method} {key.variant} on {key.domain}, trained on {key.suite}"
    _console().print(curve_sheet(curve, title, config.kappa, published_words(theirs, key.domain)).terminal())


@verb("grid", "sgp grid --domains gripper --variants state-centric:wl-xgboost-delta,zero-change --out results")
def grid(
    suite: Suite = "state-centric",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    variants: Annotated[
        str,
        typer.Option(
            help="Methods, or METHOD:VARIANT, separated by commas; every variant of the state-centric method and the "
            "trivial ones where left out."
        ),
    ] = "",
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas; deterministic variants take the first.")] = "",
    splits: Splits = "",
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also the classical planners, whose results are kept.")
    ] = False,
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Also how each run ranks the expert's successors.")
    ] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting of every run, such as boosting.rounds=200.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Try problems again where results are kept.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the scores and attempts.")] = Path("results"),
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Train and evaluate every variant on every domain with every seed; goes on where it was interrupted."""
    from sgp import grid

    cells = grid.grid_cells(
        suite,
        _words(domains),
        grid.parse_variants(variants) if variants else None,
        grid.parse_seeds(seeds) if seeds else grid.SEEDS,
        _words(splits),
        _overrides(settings),
    )
    results = grid.run_grid(cells, _crew(jobs, cluster), again, diagnostics)
    if baselines:
        results += grid.baseline_results(suite, sorted({cell.domain for cell in cells}), _words(splits), _jobs(jobs))
    for path in results.write(out):
        typer.echo(path)


@verb("ablate", "sgp ablate --suite state-centric --splits extrapolation")
def ablate(
    method: Annotated[str, typer.Option(help="Method that describes its ablations.")] = "contrastive_jumps",
    suite: Suite = "state-centric",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 13,
    splits: Splits = "",
    json: JsonFile = None,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Show what each ingredient of a method contributes; goes on where it was interrupted."""
    from sgp import grid
    from sgp.evaluation.tables import coverage_sheet

    cells = grid.ablation_cells(suite, method, _words(domains), seed, _words(splits))
    results = grid.run_grid(cells, _crew(jobs, cluster))
    _write(results.scores, json, csv)
    _console().print(coverage_sheet(results.scores, (), f"ablation of {method} on {suite}").terminal())


@verb("jackknife", "sgp jackknife --domains logistics --splits extrapolation")
def jackknife(
    method: Annotated[str, typer.Option(help="Method whose default variant is trained.")] = "contrastive_jumps",
    suite: Suite = "state-centric",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 13,
    splits: Splits = "extrapolation",
    most: Annotated[int, typer.Option(min=1, help="At most so many training problems of a domain.")] = 16,
    json: JsonFile = None,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Train with each training problem left out in turn; does the result hang on one of them?"""
    from sgp import grid
    from sgp.evaluation.tables import spread_sheet

    results = grid.run_grid(
        grid.jackknife_cells(suite, method, _words(domains), seed, _words(splits), most), _crew(jobs, cluster)
    )
    _write(results.scores, json, csv)
    _console().print(spread_sheet(results.scores, f"{method} on {suite}, one training problem left out").terminal())


@verb("select", "sgp select --validation selection --csv selection.csv")
def select(
    method: Annotated[str, typer.Option(help="Method that names settings to choose.")] = "contrastive_jumps",
    suite: Suite = "state-centric",
    validation: Annotated[str, typer.Option(help="Suite of larger problems to choose by.")] = "selection",
    domains: Annotated[str, typer.Option(help="Only these domains, separated by commas.")] = "",
    settings: Annotated[str, typer.Option(help="Choose only these settings, separated by commas.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 13,
    csv: CsvFile = None,
    jobs: Jobs = 0,
    cluster: ClusterAddress = "",
) -> None:
    """Choose a method's settings by validation on problems larger than training; goes on where it was interrupted."""
    from sgp import selection

    trials, chosen = selection.select(
        method, suite, validation, _words(domains), _words(settings), seed, _crew(jobs, cluster)
    )
    if csv is not None:
        selection.write_trials(csv, trials)
    title = f"{method}, trained on {suite}, chosen on {validation}"
    _console().print(selection.trials_sheet(trials, title).terminal())
    typer.echo(" ".join(f"--set {setting}={value}" for setting, value in chosen.items()))


@verb("report", "sgp report --scores results/scores-state-centric.csv --attempts results/attempts-state-centric.csv")
def report(
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="Files of 'sgp grid' or 'sgp evaluate'; the committed measurements where left out."),
    ] = None,
    attempts: Annotated[list[Path] | None, typer.Option(help="Attempts that 'sgp grid' wrote.")] = None,
    suite: Suite = "state-centric",
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
) -> None:
    """Write one self-contained HTML page of tables and plots, with the numbers as CSV and Parquet beside it.

    Curves of 'sgp scaling' among the scores are reported whatever their suite.
    """
    from sgp.evaluation.attempts import read_attempts
    from sgp.evaluation.report import write_report
    from sgp.evaluation.scaling_table import is_scaling, measured_scaling
    from sgp.evaluation.scores import read_scores
    from sgp.evaluation.tables import measured, measured_attempts, published

    ours = [score for path in scores for score in read_scores(path)] if scores else [*measured(), *measured_scaling()]
    rows = (
        [row for path in attempts or () for row in read_attempts(path)] if scores or attempts else measured_attempts()
    )
    curves = [score for score in ours if is_scaling(score)]
    of_suite = _of_suite([score for score in ours if not is_scaling(score)], suite)
    theirs = [score for score in published("state-centric") if score.table == "1"] + published("dynamic-validation")
    typer.echo(write_report(out, [*of_suite, *curves], [row for row in rows if row.suite == suite], theirs))


@verb("table", "sgp table 1 --splits extrapolation")
def table(
    number: Annotated[
        str,
        typer.Argument(help="Table of the state-centric paper, 1, 3, 4 or 5; 'scaling': that of dynamic validation."),
    ] = "1",
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="Files of 'sgp evaluate' or 'sgp grid'; the committed measurements where left out."),
    ] = None,
    splits: Annotated[str, typer.Option(help="Only these splits of table 1, separated by commas.")] = "",
    suite: Suite = "state-centric",
    notes: Annotated[
        bool, typer.Option("--notes", help="Also show where the paper disagrees with itself or with its code.")
    ] = False,
    json: JsonFile = None,
    csv: CsvFile = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw table 1 with its intervals here.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Show a table of a paper: our measurements beside the published numbers."""
    from sgp.datasets.suite import load_suite
    from sgp.errors import InputError
    from sgp.evaluation.figures import coverage_figure
    from sgp.evaluation.paper_tables import notes_sheet, paper_sheet
    from sgp.evaluation.scaling_table import measured_scaling, scaling_table
    from sgp.evaluation.scores import read_scores
    from sgp.evaluation.tables import measured, published
    from sgp.files import write_text

    if number != "scaling" and not number.isdecimal():
        raise InputError(f"there is no table '{number}' here; expected 1, 3, 4, 5 or scaling")
    if svg is not None and number != "1":
        raise InputError(f"table {number} has no drawing; expected --svg with table 1")
    paper = "dynamic-validation" if number == "scaling" else "state-centric"
    theirs = published(paper)
    committed = measured_scaling if number == "scaling" else measured
    ours = [score for path in scores for score in read_scores(path)] if scores else committed()
    if number == "scaling":
        printed = [score for score in theirs if score.table == "1"]
        sheets = [scaling_table(ours, printed)]
    else:
        ours = _of_suite(ours, suite)
        printed = [score for score in theirs if score.table == number]
        sheets = [paper_sheet(int(number), ours, theirs, load_suite(suite), _words(splits))]
    if notes:
        sheets.append(notes_sheet(paper))
    _write([*ours, *printed], json, csv)
    if svg is not None:
        write_text(svg, coverage_figure(ours, printed, _words(splits)))
    for sheet in sheets:
        if markdown:
            typer.echo(sheet.markdown(), nl=False)
        else:
            _console().print(sheet.terminal())


def main() -> None:
    """The entry point of the command `sgp`."""
    app()


if __name__ == "__main__":
    main()
