"""Methods, domains and encoders of other packages: found by their entry points, imported when they are asked for."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from sgp.errors import PluginError

logger = logging.getLogger(__name__)

Group = Literal["sgp.methods", "sgp.domains", "sgp.encoders"]
_WORDS: Mapping[Group, str] = {"sgp.methods": "method", "sgp.domains": "domain", "sgp.encoders": "encoder"}


@dataclass(frozen=True)
class Plugin:
    """What a package offers by an entry point: its key, and where it stands in which package."""

    group: Group
    key: str
    package: str  # the distribution's name
    entry: EntryPoint

    def __str__(self) -> str:
        return f"{_WORDS[self.group]} {self.key} of package {self.package}"

    def load(self) -> Any:
        """What the entry point names, imported now. Raises PluginError where it cannot be."""
        try:
            return self.entry.load()
        except Exception as error:  # another's code: whatever it raises, it is that package alone that does not work
            raise PluginError(
                f"{self} cannot be imported from {self.entry.value} ({type(error).__name__}: {error}); update or "
                f"uninstall {self.package}"
            ) from error

    def refused(self, expected: str) -> PluginError:
        """The error for something that is not what the group asks for."""
        return PluginError(
            f"{self} names {self.entry.value}, which is not what it should be: expected {expected}; update or "
            f"uninstall {self.package}"
        )


def plugins(group: Group, house: Collection[str] = ()) -> dict[str, Plugin]:
    """What other packages offer, by key in alphabetical order; nothing is imported.

    Left out, with a warning, are keys of the house and those that two packages claim (`refusals`).
    """
    claims, told = _claims(group), refusals(group, house)
    for reason in told.values():
        _warn_once(reason)
    return {key: found for key, (found, *_) in claims.items() if key not in told}


def refusals(group: Group, house: Collection[str] = ()) -> dict[str, str]:
    """Why plugins are left out, by key: one of the house's keys, or one that two packages claim."""
    word, found = _WORDS[group], {}
    for key, claimed in _claims(group).items():
        packages = " and ".join(each.package for each in claimed)
        if key in house:
            found[key] = (
                f"{word} {key} of package {packages} is refused: sgp has a {word} {key} of its own; rename it in the "
                f"entry points of {packages}, or uninstall it"
            )
        elif len(claimed) > 1:
            found[key] = f"{word} {key} is refused: packages {packages} both have one of this key; uninstall one"
    return found


@cache
def _claims(group: Group) -> dict[str, tuple[Plugin, ...]]:
    """The plugins of a group by key; several of one key by the names of their packages."""
    found: dict[str, dict[str, Plugin]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        key = entry.name.lower().replace("_", "-") if group == "sgp.methods" else entry.name.lower()
        package = entry.dist.name if entry.dist else entry.module
        found.setdefault(key, {})[package] = Plugin(group, key, package, entry)  # a folder twice on the path is one
    return {key: tuple(claimed[name] for name in sorted(claimed)) for key, claimed in sorted(found.items())}


@cache
def _warn_once(reason: str) -> None:
    logger.warning("%s", reason)
