"""Methods, domains and encoders of other packages: found by entry points, imported on use."""

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
    """Method, domain or encoder that a package registers as an entry point."""

    group: Group
    key: str
    package: str  # the distribution's name
    entry: EntryPoint

    def __str__(self) -> str:
        return f"{_WORDS[self.group]} {self.key} of package {self.package}"

    def load(self) -> Any:
        """Import the object of the entry point. Raises PluginError if the import fails."""
        try:
            return self.entry.load()
        except Exception as error:  # foreign code may raise anything; only that package is unusable
            raise PluginError(
                f"{self} cannot be imported from {self.entry.value} ({type(error).__name__}: {error}); update or "
                f"uninstall {self.package}"
            ) from error

    def refused(self, expected: str) -> PluginError:
        """Return the error for an object that does not fit the group."""
        return PluginError(
            f"{self} names {self.entry.value}, which is not what it should be: expected {expected}; update or "
            f"uninstall {self.package}"
        )


def plugins(group: Group, builtin: Collection[str] = ()) -> dict[str, Plugin]:
    """Plugins of other packages by key in alphabetical order, without importing them.

    Plugins with a built-in key or a key of several packages are skipped with a warning (`refusals`).
    """
    claims, refused = _claims(group), refusals(group, builtin)
    for reason in refused.values():
        _warn_once(reason)
    return {key: found for key, (found, *_) in claims.items() if key not in refused}


def refusals(group: Group, builtin: Collection[str] = ()) -> dict[str, str]:
    """Reasons for skipped plugins by key: a built-in key, or a key of several packages."""
    word, found = _WORDS[group], {}
    for key, claimed in _claims(group).items():
        packages = " and ".join(each.package for each in claimed)
        if key in builtin:
            found[key] = (
                f"{word} {key} of package {packages} is refused: sgp has a {word} {key} of its own; rename it in the "
                f"entry points of {packages}, or uninstall it"
            )
        elif len(claimed) > 1:
            found[key] = f"{word} {key} is refused: packages {packages} both have one of this key; uninstall one"
    return found


@cache
def _claims(group: Group) -> dict[str, tuple[Plugin, ...]]:
    """Plugins of a group by key; plugins with the same key are sorted by package name."""
    found: dict[str, dict[str, Plugin]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        key = entry.name.lower().replace("_", "-") if group == "sgp.methods" else entry.name.lower()
        package = entry.dist.name if entry.dist else entry.module
        found.setdefault(key, {})[package] = Plugin(group, key, package, entry)  # duplicate path entries count once
    return {key: tuple(claimed[name] for name in sorted(claimed)) for key, claimed in sorted(found.items())}


@cache
def _warn_once(reason: str) -> None:
    logger.warning("%s", reason)
