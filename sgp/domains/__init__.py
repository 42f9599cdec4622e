"""The domains of the house, one file each; a domain is found by standing in this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from sgp.drawing import picture
from sgp.drawing import text as words
from sgp.errors import InputError
from sgp.planning.domain import Domain, Scene
from sgp.planning.pddl import DomainText


@cache
def all_domains() -> tuple[Domain, ...]:
    """Every domain of the house, by name."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return tuple(sorted((module.DOMAIN for module in modules), key=lambda domain: domain.name))


def get_domain(name: str) -> Domain:
    """The domain with this name or alias. Raises InputError with the known names."""
    for domain in all_domains():
        if name.lower() in (domain.name, *domain.aliases):
            return domain
    raise InputError(f"unknown domain '{name}'; expected one of {', '.join(domain.name for domain in all_domains())}")


def canonical_name(name: str) -> str:
    """The name in this house of a domain that may be called otherwise elsewhere; unknown names stay as they are."""
    return next((domain.name for domain in all_domains() if name.lower() in (domain.name, *domain.aliases)), name)


def serving(text: DomainText) -> Domain | None:
    """The domain of the house with the same predicates and actions as a domain's text, or None."""
    return next((domain for domain in all_domains() if domain.serves(text)), None)


def draw_scene(text: DomainText, scene: Scene) -> str:
    """A state as SVG: the atoms that actions can change, predicate by predicate."""
    return _table([str(atom) for atom in sorted(scene.atoms) if atom.predicate in text.fluent_predicates], "State")


def draw_goal(text: DomainText, scene: Scene) -> str:
    """The goal as SVG, literal by literal."""
    return _table([f"{'' if each.positive else 'not '}{each.atom}" for each in scene.goal], "Goal")


def _table(lines: list[str], title: str) -> str:
    columns = max(1, -(-len(lines) // 24))
    parts = [
        words(line, 8 + 170 * (place % columns), 20 + 17 * (place // columns), fill="currentColor")
        for place, line in enumerate(lines)
    ]
    return picture(170 * columns, 24 + 17 * -(-len(lines) // columns), parts, title)
