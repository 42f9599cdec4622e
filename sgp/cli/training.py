"""Training, alone or with a validation that selects."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sgp.cli.options import By, ClusterAddress, Jobs, Suite, console, crew, overrides_of, words
from sgp.cli.verbs import verb


@verb("train", "sgp train --method state-centric --domain blocksworld --suite state-centric")
def train(
    domain: Annotated[
        str, typer.Option(help="Domain of the suite; several, separated by commas, where a method learns across them.")
    ],
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
    run = trained_run(
        by,
        method,
        domain,
        suite,
        variant,
        seed=seed,
        device=device,
        jobs=crew(jobs, cluster),
        overrides=overrides_of(settings),
        again=again,
    )
    typer.echo(run.folder)


def trained_run(by: str, method: str, domain: str, suite: str, variant: str, **others: Any) -> Any:
    """The run of a training, or the one that a validation selects from it, with a table of all that it chose from."""
    from sgp import api
    from sgp.errors import ConfigurationError, expected_one_of
    from sgp.experiments.joint import VALIDATIONS, joint_sheet, train_jointly

    if by == "none":
        return api.train(method, words(domain), suite, variant or None, **others)
    if by not in VALIDATIONS:
        raise ConfigurationError(f"validation is '{by}'; {expected_one_of((*VALIDATIONS, 'none'), by)}")
    domains = words(domain)
    if len(domains) != 1:
        raise ConfigurationError(f"--domain is '{domain}'; expected one domain, in which --by {by} selects")
    found = train_jointly(method, domains[0], suite, variant or None, **others)
    title = f"{method} on {domain}, trained on {suite}: its planners and how they were validated"
    console().print(joint_sheet(found, title).terminal())
    return found.runs[by]
