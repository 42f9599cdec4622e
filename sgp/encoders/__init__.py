"""States, and transitions, become vectors; those of other packages are found in the group `sgp.encoders`."""

from __future__ import annotations

import importlib.metadata
from functools import cache

from sgp.encoders.contract import EncoderKind
from sgp.errors import InputError, MissingLibrary
from sgp.plugins import Plugin, plugins

HOUSE_ENCODERS = ("wl", "fsf", "text")  # keys of those that methods take by name


@cache
def encoder_plugins() -> dict[str, Plugin]:
    """The encoders of other packages by key; none is imported."""
    return plugins("sgp.encoders", HOUSE_ENCODERS)


def encoder_keys() -> tuple[str, ...]:
    """The keys of all encoders that embed states, those of the house first; none is imported."""
    return (*HOUSE_ENCODERS, *encoder_plugins())


@cache
def plugged_encoder(key: str) -> EncoderKind:
    """The kind of encoder with this key that another package offers, imported now.

    Raises InputError with the known keys, MissingLibrary where a library that it needs is not installed, and
    PluginError for one that cannot be used.
    """
    plugin = encoder_plugins().get(key)
    if plugin is None:
        raise InputError(f"no package has an encoder '{key}'; expected one of {', '.join(encoder_plugins()) or 'none'}")
    kind = plugin.load()
    if not isinstance(kind, EncoderKind) or kind.key != key:
        raise plugin.refused(f"an encoder as in sgp.encoders.contract, with the key '{key}'")
    for library in kind.libraries:
        try:
            importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError as error:
            raise MissingLibrary(
                f"{plugin} needs the library {library}, which is not installed; install it with 'pip install {library}'"
            ) from error
    return kind


def recorded_encoder_libraries(key: str) -> tuple[str, ...]:
    """The distributions whose versions a run records for an encoder of another package, none for one of the house."""
    plugin = encoder_plugins().get(key)
    return () if plugin is None else tuple(dict.fromkeys([*plugged_encoder(key).libraries, plugin.package]))
