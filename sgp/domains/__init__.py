"""The built-in domains: every `Domain` in a module of this folder.

Their PDDL, sentences, splits and drawings are files in `data/domains/NAME`. Domains of other packages are found by
their entry points in the group `sgp.domains`, and imported only if no built-in domain matches.
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

from sgp.domains.domain import Domain, Growth, Scaling, Scene, Sizes, Slots, Track, Words, any_arguments
from sgp.domains.drawing.fallback import draw_any
from sgp.domains.drawing.layout import Layout
from sgp.errors import InputError, PluginError, expected_one_of, require
from sgp.installed import bundled
from sgp.planning.pddl import Atom, DomainText
from sgp.plugins import Plugin, plugins

logger = logging.getLogger(__name__)


def builtin_domain(
    name: str,
    generator: Callable[..., str],
    count: Callable[..., int],
    *,
    allowed: Callable[..., bool] = any_arguments,
    scaled: Callable[..., bool] = any_arguments,
    tracked: Callable[..., bool] = any_arguments,
    slots: Slots | None = None,
    draw: Callable[[Scene], str] | None = None,
    arrange: Callable[[Sequence[Scene], Sequence[int]], Sequence[Scene]] | None = None,
) -> Domain:
    """Make a domain from the files in `data/domains/NAME`: `domain.toml`, and PDDL of each of its models.

    `count` and `allowed` complete its `Sizes`; `scaled` and `tracked` restrict the generator's arguments for
    measurements over sizes and for problems as in the IPC 2023.
    """
    folder = bundled("data") / "domains" / name
    table = tomllib.loads((folder / "domain.toml").read_text(encoding="utf-8"))
    if "drawing" in table:
        layout = Layout.from_toml(table["title"], table["drawing"])
        draw, arrange = layout.draw, layout.arrange
    bounds = {
        key: (least, *most) if most else (least, None) for key, (least, *most) in table["sizes"]["bounds"].items()
    }
    return Domain(
        name=name,
        title=table["title"],
        models={model: (folder / f"{model}.pddl").read_text(encoding="utf-8") for model in table["models"]},
        sizes=Sizes(bounds, count, allowed, frozenset(table["sizes"].get("free", ()))),
        generator=generator,
        aliases=tuple(table.get("aliases", ())),
        renamed=table.get("renamed", {}),
        splits={suite: _problems(splits) for suite, splits in table.get("splits", {}).items()},
        scaling=Scaling(**table["scaling"], only=scaled) if "scaling" in table else None,
        track=Track(**table["track"], only=tracked) if "track" in table else None,
        huge=Growth(**table["huge"]) if "huge" in table else None,
        slots=slots,
        words=Words(**table["words"]),
        others_words=Words(**table.get("others_words", {})),
        draw=draw,
        arrange=arrange,
    )


def _problems(splits: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[dict[str, int]]]:
    """Return the arguments of each problem: one for each value of a list, repeated `problems` times."""
    problems: dict[str, list[dict[str, int]]] = {}
    for split, entries in splits.items():
        problems[split] = []
        for entry in entries:
            arguments = {name: value for name, value in entry.items() if name != "problems"}
            series = next((name for name, value in arguments.items() if isinstance(value, list)), None)
            expanded = [{**arguments, series: value} for value in arguments[series]] if series else [arguments]
            problems[split] += [dict(problem) for problem in expanded for _ in range(entry.get("problems", 1))]
    return problems


@cache
def builtin_domains() -> tuple[Domain, ...]:
    """Return the domains of this folder, by name."""
    names = [info.name for info in pkgutil.iter_modules(__path__) if not info.ispkg]
    values = [value for name in names for value in vars(importlib.import_module(f"{__name__}.{name}")).values()]
    domains = {value.name: value for value in values if isinstance(value, Domain)}
    return tuple(domains[name] for name in sorted(domains))


@cache
def domain_plugins() -> dict[str, Plugin]:
    """Return the domains of other packages by name, without importing them."""
    return plugins("sgp.domains", {name for domain in builtin_domains() for name in (domain.name, *domain.aliases)})


def all_domains() -> tuple[Domain, ...]:
    """Return all domains by name; unusable domains of other packages are skipped with a warning."""
    return tuple(sorted(_builtin_first(), key=lambda domain: domain.name))


def get_domain(name: str) -> Domain:
    """Return the domain with this name or alias.

    Raises InputError for an unknown name, and PluginError for an unusable domain of another package.
    """
    require(name, str, "domain", "the name of a domain, such as 'gripper'")
    if name.lower() in domain_plugins():
        return _of_plugin(domain_plugins()[name.lower()])
    domain = _named(name)
    if domain is None:
        known = sorted((*(domain.name for domain in builtin_domains()), *domain_plugins()))
        raise InputError(f"unknown domain '{name}'; {expected_one_of(known, name)}")
    return domain


def canonical_name(name: str) -> str:
    """Return the name of the domain with this name or alias; unknown names are returned unchanged."""
    domain = _named(name)
    return name if domain is None else domain.name


def serving(text: DomainText) -> Domain | None:
    """Return the domain with the same predicates and actions as a text, preferably a built-in one, or None."""
    return next((domain for domain in _builtin_first() if domain.serves(text)), None)


def _named(name: str) -> Domain | None:
    return next((domain for domain in _builtin_first() if name.lower() in (domain.name, *domain.aliases)), None)


def _builtin_first() -> Iterator[Domain]:
    """Yield the built-in domains, then those of other packages, which are imported at that point."""
    yield from builtin_domains()
    yield from filter(None, map(_usable, domain_plugins().values()))


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
        raise plugin.refused(f"a sgp.domains.domain.Domain with the name '{plugin.key}'")
    taken = {name for each in builtin_domains() for name in (each.name, *each.aliases)} & {*domain.aliases}
    if taken:
        raise plugin.refused(f"aliases other than the names of domains of sgp ({', '.join(sorted(taken))})")
    return domain


def saying(text: DomainText) -> Domain | None:
    """Return the domain that serves a text, else one with sentences for all its predicates and actions, or None."""
    domains = (domain for domain in _builtin_first() if not (domain.words | domain.others_words).lacking(text))
    return serving(text) or next(domains, None)


def words_of(text: DomainText) -> Words:
    """Return the sentence templates for a text; none if no domain has them."""
    domain = saying(text)
    if domain is None:
        return Words()
    return domain.words if domain.serves(text) else domain.words | domain.others_words


def draw_scene(text: DomainText, scene: Scene) -> str:
    """Draw a scene as SVG, by the drawing of its domain or by its structure alone."""
    return draw_series(text, [scene])[0]


def draw_series(text: DomainText, scenes: Sequence[Scene], before: Sequence[int] = ()) -> list[str]:
    """Draw scenes of a series as SVG; `before` has the index of the predecessor of each scene (-1: none).

    If the domain arranges them, unaffected objects keep their positions and all drawings have one size.
    """
    domain = saying(text)
    if domain is None or domain.draw is None:
        return draw_any(text, scenes, before or range(-1, len(scenes) - 1))
    shown: Sequence[Scene] = [scene if domain.serves(text) else _with_kinds(domain, text, scene) for scene in scenes]
    if domain.arrange is not None and not any(scene.partial for scene in shown):
        shown = domain.arrange(shown, before or range(-1, len(shown) - 1))
    return [domain.draw(scene) for scene in shown]


def _with_kinds(domain: Domain, text: DomainText, scene: Scene) -> Scene:
    """Add atoms for types that are predicates in the domain's own model."""
    kinds = domain.words.atoms.keys() - text.predicates.keys()
    typed = {
        Atom(kind, (name,))
        for name, types in scene.objects
        for declared in types
        for kind in kinds & text.supertypes(declared)
    }
    return replace(scene, atoms=scene.atoms | typed)


def draw_goal(text: DomainText, scene: Scene) -> str:
    """Draw a goal: its positive atoms and the static atoms; all other atoms are undetermined."""
    static = {atom for atom in scene.atoms if atom.predicate not in text.fluent_predicates}
    goal = {literal.atom for literal in scene.goal if literal.positive}
    return draw_scene(text, replace(scene, atoms=frozenset(static | goal), partial=True))
