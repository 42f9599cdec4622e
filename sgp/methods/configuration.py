"""Configurations: how variants are trained and decoded, changed by text, and read back from records."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from hashlib import sha256
from types import NoneType
from typing import Any, TypeVar, get_type_hints

from sgp.errors import ConfigurationError, expected_one_of
from sgp.methods.contract import Method, PlanningMethod, Settings
from sgp.policies.decoding import DEFAULT

_DECODING = "decoding."
_VALUE = re.compile(r"-?[A-Za-z0-9][A-Za-z0-9._-]*")
Config = TypeVar("Config")


def configure(method: Method, variant: str | None, overrides: Settings | None = None) -> tuple[str, Any]:
    """A variant's name and its configuration of training, with fields overridden.

    Overridden fields become part of the name, so that the run stands in a folder of its own. Raises
    ConfigurationError for an unknown variant or field, a field of decoding, or a value of another type.
    """
    name = variant or next(iter(method.variants))
    if name not in method.variants:
        raise ConfigurationError(
            f"method {method.key} has no variant '{name}'; {expected_one_of(method.variants, name)}"
        )
    config, settings = method.variants[name], dict(sorted((overrides or {}).items()))
    for path, text in settings.items():
        if not has_setting(config, path):
            _refuse_decoding_setting(method, path, text)
    changed = with_settings(config, settings)
    return "+".join([name, *(f"{path}={text}" for path, text in settings.items())]), changed


def configure_decoding(method: PlanningMethod, name: str = DEFAULT) -> tuple[str, Any]:
    """A decoding's name and its configuration.

    The name is one of the method's decodings, with fields overridden as in `default+beam=1`. Raises ConfigurationError
    for an unknown decoding or field, or a value of another type.
    """
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
    """A decoding's name; in place of the default the one by which a run of this training was validated."""
    base, *settings = name.split("+")
    return "+".join([training.get("decoding", DEFAULT) if base == DEFAULT else base, *settings])


def decoded_identity(method: PlanningMethod, planner: str, training: Mapping[str, Any], decoding: str) -> str:
    """What changes when a planner does: what it was made from, and what its decoding means."""
    _, config = configure_decoding(method, own_decoding(training, decoding))
    return sha256(json.dumps([planner, asdict(config)], sort_keys=True).encode()).hexdigest()


def has_decoding(method: PlanningMethod, name: str) -> bool:
    """Whether a method has a decoding and the settings that are overridden in it.

    Raises ConfigurationError for a value that cannot be.
    """
    base, *settings = name.split("+")
    known = method.decodings.get(base)
    if known is None or not all(has_setting(known, _setting(each)[0]) for each in settings):
        return False
    configure_decoding(method, name)
    return True


def require_decodings(names: Sequence[str]) -> None:
    """Raises ConfigurationError where no decoding is named."""
    if not any(names):
        raise ConfigurationError(f"no decoding is named; expected some, separated by commas, such as {DEFAULT}")


def decoding_name(settings: Settings, base: str = DEFAULT) -> str:
    """The name of a decoding with fields overridden."""
    return "+".join([base, *(f"{path}={text}" for path, text in sorted(settings.items()))])


def apart(settings: Settings) -> tuple[dict[str, str], str]:
    """Settings of training, and the name of the decoding that the others (`decoding.NAME`) make."""
    training = {path: text for path, text in settings.items() if not path.startswith(_DECODING)}
    decoding = {path.removeprefix(_DECODING): text for path, text in settings.items() if path not in training}
    return training, decoding_name(decoding)


def has_setting(config: Any, path: str) -> bool:
    """Whether a configuration has the field `path`, dots leading into nested configurations."""
    head, _, rest = path.partition(".")
    known = is_dataclass(config) and head in {entry.name for entry in fields(config)}
    return known and (not rest or has_setting(getattr(config, head), rest))


def with_settings(config: Config, settings: Settings) -> Config:
    """`config` with fields (dots lead into nested configurations) read from text, all at once.

    So a configuration may ask that several agree. Raises ConfigurationError for an unknown field, or a value that
    cannot be.
    """
    values: dict[str, Any] = {}
    nested: dict[str, dict[str, str]] = {}
    known = {entry.name for entry in fields(config)}  # type: ignore[arg-type]  # every configuration is a dataclass
    for path, text in sorted(settings.items()):
        if not _VALUE.fullmatch(text):  # it becomes part of a folder's name
            raise ConfigurationError(f"setting {path} is '{text}'; expected letters, digits, '.', '-' and '_'")
        head, _, rest = path.partition(".")
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


def _paths(config: Any) -> list[str]:
    """The settings of a configuration, those of nested ones with dots, in alphabetical order."""
    found = []
    for entry in fields(config):
        value = getattr(config, entry.name)
        found += [f"{entry.name}.{inner}" for inner in _paths(value)] if is_dataclass(value) else [entry.name]
    return sorted(found)


def from_record(kind: type[Config], record: Mapping[str, Any]) -> Config:
    """The configuration that a record holds, nested ones included.

    A setting that there was none of when the record was written has its default, which is what was done then. Raises
    TypeError for a record with other fields or a value of another type, and what the configuration raises.
    """
    hints = get_type_hints(kind)
    values = {}
    for name, value in record.items():
        hint = hints.get(name)
        if isinstance(hint, type) and is_dataclass(hint):
            values[name] = from_record(hint, value)
        elif hint in (int, float, bool, str) and not _is_of(value, hint):
            raise TypeError(f"{name} is {value!r}; expected {hint.__name__}")
        else:
            values[name] = value
    return kind(**values)


def is_of_record(config: Any, record: Mapping[str, Any]) -> bool:
    """Whether a record holds this configuration."""
    try:
        return bool(from_record(type(config), record) == config)
    except (TypeError, ConfigurationError):  # of another version, with other settings
        return False


def _is_of(value: Any, kind: type | None) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind or NoneType)


def _refuse_decoding_setting(method: Method, path: str, text: str) -> None:
    """Raises ConfigurationError for a setting that a decoding of the method has."""
    decodings = method.decodings if isinstance(method, PlanningMethod) else {}
    if any(has_setting(each, path.removeprefix(_DECODING)) for each in decodings.values()):
        name = decoding_name({path.removeprefix(_DECODING): text})
        raise ConfigurationError(
            f"setting {path} is one of decoding, not of training; leave it out and plan with '--decoding {name}'"
        )


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
