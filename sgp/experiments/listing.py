"""Listings of what there is, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.markup import escape
from rich.table import Table

from sgp.datasets.runs import open_run, run_folders
from sgp.datasets.suite import list_suites, load_suite
from sgp.domains import builtin_domains, domain_plugins
from sgp.errors import ConfigurationError, MissingLibrary, StoreError, SuiteError
from sgp.methods import built_in_keys, get_method, method_plugins
from sgp.methods.contract import PlanningMethod
from sgp.methods.loading import shipped_folders


def suites() -> Table:
    """Suites with the number of problems of each split."""
    table = Table("suite", "domain", "recognised as", "problems", title="suites")
    for name in list_suites():
        try:
            suite = load_suite(name)
        except SuiteError as error:
            table.add_row(name, "damaged", "", escape(str(error)))
            continue
        for domain in suite.domains.values():
            counts = ", ".join(f"{split} {len(entries)}" for split, entries in domain.splits.items())
            table.add_row(name, domain.name, domain.built_in, counts)
    return table


def domains() -> Table:
    """Built-in domains with their generators' arguments, and the names of those of other packages."""
    table = Table("domain", "also called", "models", "generator's arguments", title="domains")
    for domain in builtin_domains():
        words = (domain.aliases, domain.models, domain.sizes.bounds)
        table.add_row(domain.name, *map(", ".join, words))
    for plugin in domain_plugins().values():
        table.add_row(plugin.key, "", "", f"of package {plugin.package}")
    return table


def methods() -> Table:
    """Methods with what they learn from, their variants and decodings, the default first; other packages' by name."""
    table = Table("method", "variants", "decodings", "learns from", "paper", title="methods")
    for key in built_in_keys():
        try:
            method = get_method(key)
        except MissingLibrary as error:
            table.add_row(key, escape(str(error)))
            continue
        decodings = ", ".join(method.decodings) if isinstance(method, PlanningMethod) else "none: it does not plan"
        learns_from = method.learns_from.__name__.lower()
        table.add_row(key, ", ".join(method.variants), decodings, learns_from, method.paper)
    for plugin in method_plugins().values():  # not imported: a listing waits for no one's libraries
        table.add_row(plugin.key, f"of package {plugin.package}")
    return table


def papers() -> Table:
    """Papers with the tables that have a counterpart here, as 'sgp table' takes them."""
    from sgp.reports.papers import listed

    table = Table("paper", "table", "of", "for short", title="papers")
    for words in listed():
        table.add_row(*words)
    return table


def runs() -> Table:
    """Trained runs with their folders, those that come with the package first."""
    table = Table("method", "variant", "suite", "domain", "seed", "trained", title="runs")
    table.add_column("folder", overflow="fold")  # whole: other verbs take it
    for folder in (*shipped_folders(), *run_folders()):
        try:
            run = open_run(folder)
            key = run.key
        except (StoreError, ConfigurationError) as error:
            table.add_row("damaged", "", "", "", "", escape(str(error)), str(folder))
            continue
        table.add_row(key.method, key.variant, key.suite, key.domain, str(key.seed), run.record["trained"], str(folder))
    return table


LISTINGS: dict[str, Callable[[], Table]] = {each.__name__: each for each in (suites, domains, methods, papers, runs)}
