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
    """Return the plugins of other packages by key in alphabetical order, without importing them."""
    word, usable = _WORDS[group], {}
    for key, plugins_of_key in _all_plugins(group).items():
        packages = " and ".join(plugin.package for plugin in plugins_of_key)
        if key in builtin:
            _warn_once(
                f"{word} {key} of package {packages} is refused: sgp has a {word} {key} of its own; rename it in the "
                f"entry points of {packages}, or uninstall it"
            )
        elif len(plugins_of_key) > 1:
            _warn_once(f"{word} {key} is refused: packages {packages} both have one of this key; uninstall one")
        else:
            usable[key] = plugins_of_key[0]
    return usable


@cache
def _all_plugins(group: Group) -> dict[str, list[Plugin]]:
    """Return the plugins of a group by key, sorted by package name."""
    by_key: dict[str, dict[str, Plugin]] = {}
    for entry in entry_points(group=group):
        key = entry.name.lower().replace("_", "-") if group == "sgp.methods" else entry.name.lower()
        package = entry.dist.name if entry.dist else entry.module
        by_key.setdefault(key, {})[package] = Plugin(group, key, package, entry)  # duplicate path entries count once
    return {key: [packages[name] for name in sorted(packages)] for key, packages in sorted(by_key.items())}


@cache
def _warn_once(reason: str) -> None:
    logger.warning("%s", reason)
