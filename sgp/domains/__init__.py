"""The built-in domains, one file each: a domain is found by standing in this folder.

Their PDDL, sentences, splits and drawings are files in `data/domains/NAME`. Domains of other packages are found by
their entry points in the group `sgp.domains`, and imported only where no built-in domain is the one asked for.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from sgp.domains.drawing.fallback import draw_any
from sgp.domains.drawing.layout import Layout
from sgp.errors import InputError, PluginError, expected_one_of
from sgp.installed import bundled
from sgp.planning.domain import Domain, Scaling, Scene, Sizes, Slots, Track, any_arguments
from sgp.planning.pddl import Atom, DomainText
from sgp.planning.words import Words
from sgp.plugins import Plugin, plugins

logger = logging.getLogger(__name__)


def builtin_domain(
    name: str,
    sizes: Sizes,
    generator: Callable[..., str],
    *,
    scaled: Callable[..., bool] = any_arguments,
    tracked: Callable[..., bool] = any_arguments,
    slots: Slots | None = None,
    draw: Callable[[Scene], str] | None = None,
    arrange: Callable[[Sequence[Scene], Sequence[int]], Sequence[Scene]] | None = None,
) -> Domain:
    """A domain whose texts are in `data/domains/NAME`: `domain.toml`, and a file of PDDL for each of its models.

    `scaled` and `tracked` say which arguments are used to measure over sizes, and like those of the IPC 2023.
    """
    folder = bundled("data") / "domains" / name
    table = tomllib.loads((folder / "domain.toml").read_text(encoding="utf-8"))
    if draw is None and "drawing" in table:
        layout = Layout.from_toml(table["title"], table["drawing"])
        draw, arrange = layout.draw, layout.arrange
    return Domain(
        name=name,
        title=table["title"],
        models={model: (folder / f"{model}.pddl").read_text(encoding="utf-8") for model in table["models"]},
        sizes=sizes,
        generator=generator,
        aliases=tuple(table.get("aliases", ())),
        renamed=table.get("renamed", {}),
        splits={suite: _problems(splits) for suite, splits in table.get("splits", {}).items()},
        scaling=Scaling(**table["scaling"], only=scaled) if "scaling" in table else None,
        track=Track(**table["track"], only=tracked) if "track" in table else None,
        slots=slots,
        words=Words(**table["words"]),
        others_words=Words(**table.get("others_words", {})),
        draw=draw,
        arrange=arrange,
    )


def _problems(splits: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[dict[str, int]]]:
    """The arguments of each problem: a list stands for one problem for each of its values, `problems` for so many."""
    found: dict[str, list[dict[str, int]]] = {}
    for split, entries in splits.items():
        found[split] = []
        for entry in entries:
            arguments = {name: value for name, value in entry.items() if name != "problems"}
            listed = next((name for name, value in arguments.items() if isinstance(value, list)), None)
            each = [arguments] if listed is None else [{**arguments, listed: value} for value in arguments[listed]]
            found[split] += [dict(problem) for problem in each for _ in range(entry.get("problems", 1))]
    return found


@cache
def builtin_domains() -> tuple[Domain, ...]:
    """Every domain that stands in this folder, by name."""
    files = [info.name for info in pkgutil.iter_modules(__path__) if not info.ispkg]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in files]
    return tuple(sorted((module.DOMAIN for module in modules), key=lambda domain: domain.name))


@cache
def domain_plugins() -> dict[str, Plugin]:
    """The domains of other packages by name; none is imported."""
    return plugins("sgp.domains", {name for domain in builtin_domains() for name in (domain.name, *domain.aliases)})


def all_domains() -> tuple[Domain, ...]:
    """Every domain, by name; one of another package that cannot be used is left out with a warning."""
    return tuple(sorted(_builtin_first(), key=lambda domain: domain.name))


def get_domain(name: str) -> Domain:
    """The domain with this name or alias.

    Raises InputError with the known names, and PluginError for one of another package that cannot be used.
    """
    if name.lower() in domain_plugins():
        return _of_plugin(domain_plugins()[name.lower()])
    found = _called(name)
    if found is None:
        known = sorted((*(domain.name for domain in builtin_domains()), *domain_plugins()))
        raise InputError(f"unknown domain '{name}'; {expected_one_of(known, name)}")
    return found


def canonical_name(name: str) -> str:
    """The name of the domain with this name or alias; unknown names stay as they are."""
    found = _called(name)
    return name if found is None else found.name


def serving(text: DomainText) -> Domain | None:
    """The domain with the same predicates and actions as a domain's text, a built-in one first, or None."""
    return next((domain for domain in _builtin_first() if domain.serves(text)), None)


def _called(name: str) -> Domain | None:
    return next((domain for domain in _builtin_first() if name.lower() in (domain.name, *domain.aliases)), None)


def _builtin_first() -> Iterator[Domain]:
    """The built-in domains, then those of other packages, which are imported only where iteration gets so far."""
    yield from builtin_domains()
    for plugin in domain_plugins().values():
        found = _usable(plugin)
        if found is not None:
            yield found


@cache
def _usable(plugin: Plugin) -> Domain | None:
    try:
        return _of_plugin(plugin)
    except PluginError as error:
        logger.warning("%s", error)
        return None


@cache
def _of_plugin(plugin: Plugin) -> Domain:
    domain = plugin.load()
    if not isinstance(domain, Domain) or domain.name != plugin.key:
        raise plugin.refused(f"a sgp.planning.domain.Domain with the name '{plugin.key}'")
    taken = {name for each in builtin_domains() for name in (each.name, *each.aliases)} & {*domain.aliases}
    if taken:
        raise plugin.refused(f"aliases other than the names of domains of sgp ({', '.join(sorted(taken))})")
    return domain


def saying(text: DomainText) -> Domain | None:
    """The domain that serves a text, else one whose words say all its predicates and actions, or None."""
    found = (domain for domain in _builtin_first() if not (domain.words | domain.others_words).lacking(text))
    return serving(text) or next(found, None)


def words_of(text: DomainText) -> Words:
    """The words of the domain that says a text, or none, which leave everything as PDDL."""
    domain = saying(text)
    if domain is None:
        return Words()
    return domain.words if domain.serves(text) else domain.words | domain.others_words


def draw_scene(text: DomainText, scene: Scene) -> str:
    """A scene of a domain as SVG, by the domain that says its text, or else by its structure alone."""
    (drawn,) = draw_series(text, [scene])
    return drawn


def draw_series(text: DomainText, scenes: Sequence[Scene], before: Sequence[int] = ()) -> list[str]:
    """Scenes that follow each other, each as SVG; `before` has the number of the scene that each one follows.

    Where the domain arranges them, what a step does not touch stays where it is, and all are drawn equally large.
    """
    domain = saying(text)
    if domain is None or domain.draw is None:
        return [draw_any(text, scene) for scene in scenes]
    shown: Sequence[Scene] = [scene if domain.serves(text) else _with_kinds(domain, text, scene) for scene in scenes]
    if domain.arrange is not None and not any(scene.partial for scene in shown):
        shown = domain.arrange(shown, before or range(-1, len(shown) - 1))
    return [domain.draw(scene) for scene in shown]


def _with_kinds(domain: Domain, text: DomainText, scene: Scene) -> Scene:
    """A scene of another model with the types that are predicates in the domain's own as atoms."""
    kinds = domain.words.atoms.keys() - text.predicates.keys()
    typed = {
        Atom(kind, (each.name,))
        for each in scene.objects
        for declared in each.types
        for kind in kinds & text.supertypes(declared)
    }
    return replace(scene, atoms=scene.atoms | typed)


def draw_goal(text: DomainText, scene: Scene) -> str:
    """A scene's goal as a scene of its own: its positive atoms beside the static ones, everything else left open."""
    static = {atom for atom in scene.atoms if atom.predicate not in text.fluent_predicates}
    wanted = {literal.atom for literal in scene.goal if literal.positive}
    return draw_scene(text, replace(scene, atoms=frozenset(static | wanted), partial=True))
