"""Configurations of training and decoding: overridden by text settings and restored from run records."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_type_hints

from sgp.errors import ConfigurationError, expected_one_of, require
from sgp.methods.contract import Method, PlanningMethod, Settings
from sgp.policies.decoding import DEFAULT

_DECODING = "decoding."
_VALUE = re.compile(r"-?[A-Za-z0-9][A-Za-z0-9._-]*")
Config = TypeVar("Config")


@cache
def method_settings(key: str) -> dict[str, Any]:
    """Return the ablations and choices of a method from `settings.toml`."""
    return dict(tomllib.loads((Path(__file__).parent / "settings.toml").read_text(encoding="utf-8"))[key])


def configure(method: Method, variant: str | None, overrides: Mapping[str, Any] | None = None) -> tuple[str, Any]:
    """Return a variant's name, overrides included, and its training configuration with fields overridden."""
    name = variant or next(iter(method.variants))
    if name not in method.variants:
        raise ConfigurationError(
            f"method {method.key} has no variant '{name}'; {expected_one_of(method.variants, name)}"
        )
    require(overrides or {}, Mapping, "overrides", "a dictionary of settings, as in {'boosting.depth': 4}")
    config, settings = method.variants[name], dict[str, str]()
    for path, value in sorted((overrides or {}).items()):
        if not isinstance(value, str | int | float):
            raise ConfigurationError(
                f"setting {path} is {value!r}; expected text, a number, true or false; a dot names a field of a "
                "field, as in 'boosting.depth'"
            )
        settings[path] = str(value).lower() if isinstance(value, bool) else str(value)
    decodings = method.decodings.values() if isinstance(method, PlanningMethod) else ()
    for path, text in settings.items():
        own = path.removeprefix(_DECODING)
        if not has_setting(config, path) and any(has_setting(each, own) for each in decodings):
            raise ConfigurationError(
                f"setting {path} is one of decoding, not of training; leave it out and plan with "
                f"'--decoding {decoding_name({own: text})}'"
            )
    return decoding_name(settings, name), with_settings(config, settings)


def configure_decoding(method: PlanningMethod, name: str = DEFAULT) -> tuple[str, Any]:
    """Return the name and configuration of one of the method's decodings, as in `default` or `default+beam=1`."""
    require(name, str, "decoding", "the name of one, such as 'default' or 'default+beam=1'")
    base, *settings = name.split("+")
    if base not in method.decodings:
        raise ConfigurationError(
            f"method {method.key} has no decoding '{base}'; {expected_one_of(method.decodings, base)}, with "
            f"settings as in {DEFAULT}+NAME=VALUE"
        )
    config = method.decodings[base]
    changes = dict(_setting(each) for each in settings)
    return decoding_name(changes, base), with_settings(config, changes)


def own_decoding(training: Mapping[str, Any], name: str = DEFAULT) -> str:
    """Return a decoding's name; "default" becomes the decoding that validated the run, where its training names one."""
    require(name, str, "decoding", "the name of one, such as 'default' or 'default+beam=1'")
    base, *settings = name.split("+")
    return "+".join([training.get("decoding", DEFAULT) if base == DEFAULT else base, *settings])


def decoded_identity(method: PlanningMethod, planner: str, training: Mapping[str, Any], decoding: str) -> str:
    """Return a hash of the planner's identity and its decoding configuration."""
    _, config = configure_decoding(method, own_decoding(training, decoding))
    return sha256(json.dumps([planner, asdict(config)], sort_keys=True).encode()).hexdigest()


def has_decoding(method: PlanningMethod, name: str) -> bool:
    """Return whether a method has a decoding and the settings overridden in it."""
    base, *settings = name.split("+")
    known = method.decodings.get(base)
    fits = known is not None and all(has_setting(known, _setting(each)[0]) for each in settings)
    return fits and bool(configure_decoding(method, name))  # raises for a wrong value


def require_decodings(names: Sequence[str]) -> None:
    """Raise ConfigurationError where no decoding is named."""
    if not any(names):
        raise ConfigurationError(f"no decoding is named; expected some, separated by commas, such as {DEFAULT}")


def decoding_name(settings: Settings, base: str = DEFAULT) -> str:
    """Return the name of a decoding or variant with fields overridden."""
    return "+".join([base, *(f"{path}={text}" for path, text in sorted(settings.items()))])


def apart(settings: Settings) -> tuple[dict[str, str], str]:
    """Split settings into those of training and the name of the decoding that the `decoding.NAME` settings define."""
    training = {path: text for path, text in settings.items() if not path.startswith(_DECODING)}
    decoding = {path.removeprefix(_DECODING): text for path, text in settings.items() if path not in training}
    return training, decoding_name(decoding)


def has_setting(config: Any, path: str) -> bool:
    """Return whether a configuration has the field `path`; dots separate nested configurations."""
    head, _, rest = path.partition(".")
    head = _current_name(type(config), head)
    known = is_dataclass(config) and head in {entry.name for entry in fields(config)}
    return known and (not rest or has_setting(getattr(config, head), rest))


def with_settings(config: Config, settings: Settings) -> Config:
    """Return `config` with fields replaced, all at once, by values parsed from text; dots separate nested ones."""
    values: dict[str, Any] = {}
    nested: dict[str, dict[str, str]] = {}
    known = {entry.name for entry in fields(config)}  # type: ignore[arg-type]  # every configuration is a dataclass
    for path, text in sorted(settings.items()):
        if not _VALUE.fullmatch(text):  # the text becomes part of a folder's name
            raise ConfigurationError(f"setting {path} is '{text}'; expected letters, digits, '.', '-' and '_'")
        head, _, rest = path.partition(".")
        head = _current_name(type(config), head)
        if head not in known:
            there_are = expected_one_of(_paths(config), path) if known else "there are none"
            raise ConfigurationError(f"unknown setting '{path}'; {there_are}")
        current, hint = getattr(config, head), get_type_hints(type(config))[head]
        if is_dataclass(current) is not bool(rest):
            inside = ", ".join(entry.name for entry in fields(current)) if is_dataclass(current) else "no further field"
            raise ConfigurationError(f"setting '{path}' is wrong at '{head}', which has {inside}")
        if rest:
            nested.setdefault(head, {})[rest] = text
        else:
            values[head] = _parse(path, text, hint if isinstance(hint, type) else type(current))
    inner = {head: with_settings(getattr(config, head), of) for head, of in nested.items()}
    return replace(config, **values, **inner)  # type: ignore[type-var]


def _current_name(kind: type, name: str) -> str:
    """Return the present name of a field that had another name in earlier versions."""
    current: str = getattr(kind, "RENAMED_FIELDS", {}).get(name, name)
    return current


def _paths(config: Any) -> list[str]:
    """Return the settings of a configuration in alphabetical order; nested settings have dots."""
    found = []
    for entry in fields(config):
        value = getattr(config, entry.name)
        found += [f"{entry.name}.{inner}" for inner in _paths(value)] if is_dataclass(value) else [entry.name]
    return sorted(found)


def from_record(kind: type[Config], record: Mapping[str, Any]) -> Config:
    """Restore a configuration from a run's record; a setting that an older record lacks takes its default."""
    hints, renamed = get_type_hints(kind), getattr(kind, "RENAMED", {})
    values = {}
    for recorded, value in record.items():
        name = _current_name(kind, recorded)
        hint = hints.get(name)
        if name in renamed:
            value = renamed[name].get(value, value)  # noqa: PLW2901  the current name of the value
        if isinstance(hint, type) and is_dataclass(hint):
            values[name] = from_record(hint, value)
        elif hint in (int, float, bool, str) and not _is_of(value, hint):
            raise TypeError(f"{name} is {value!r}; expected {hint.__name__}")
        else:
            values[name] = value
    return kind(**values)


def is_of_record(config: Any, record: Mapping[str, Any]) -> bool:
    """Return whether a record describes this configuration."""
    try:
        return bool(from_record(type(config), record) == config)
    except (TypeError, ConfigurationError):  # a record of another version, with other settings
        return False


def _is_of(value: Any, kind: type | None) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind or NoneType)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"'{text}' in a decoding has no '='; expected NAME=VALUE")
    return name, value


def _parse(path: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigurationError(f"setting {path} is '{text}'; expected true or false")
        return text.lower() == "true"
    try:
        return kind(text)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"setting {path} is '{text}'; expected {kind.__name__}") from error
