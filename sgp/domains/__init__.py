"""The domains of the house, one file each; a domain is found by standing in this folder."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache

from sgp.domains.drawing.fallback import draw_any
from sgp.errors import InputError, expected_one_of
from sgp.planning.domain import Domain, Scene
from sgp.planning.pddl import DomainText
from sgp.planning.words import Words


@cache
def all_domains() -> tuple[Domain, ...]:
    """Every domain of the house, by name."""
    modules = (
        importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__) if not info.ispkg
    )
    return tuple(sorted((module.DOMAIN for module in modules), key=lambda domain: domain.name))


def get_domain(name: str) -> Domain:
    """The domain with this name or alias. Raises InputError with the known names."""
    for domain in all_domains():
        if name.lower() in (domain.name, *domain.aliases):
            return domain
    known = (domain.name for domain in all_domains())
    raise InputError(f"unknown domain '{name}'; {expected_one_of(known, name)}")


def canonical_name(name: str) -> str:
    """The name in this house of a domain that may be called otherwise elsewhere; unknown names stay as they are."""
    return next((domain.name for domain in all_domains() if name.lower() in (domain.name, *domain.aliases)), name)


def serving(text: DomainText) -> Domain | None:
    """The domain of the house with the same predicates and actions as a domain's text, or None."""
    return next((domain for domain in all_domains() if domain.serves(text)), None)


def words_of(text: DomainText) -> Words:
    """The words of the domain of the house that serves a text, or none, which leave everything as PDDL."""
    domain = serving(text)
    return Words() if domain is None else domain.words


def draw_scene(text: DomainText, scene: Scene) -> str:
    """A scene of a domain as SVG, by the domain of the house that serves the text, or else by its structure alone."""
    domain = serving(text)
    return domain.draw(scene) if domain is not None and domain.draw is not None else draw_any(text, scene)


def draw_goal(text: DomainText, scene: Scene) -> str:
    """A scene's goal as a scene of its own: its positive atoms beside the static ones, everything else left open."""
    static = {atom for atom in scene.atoms if atom.predicate not in text.fluent_predicates}
    wanted = {literal.atom for literal in scene.goal if literal.positive}
    return draw_scene(text, replace(scene, atoms=frozenset(static | wanted), partial=True))
