"""Names that are listed in a stub file and imported when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import resolve_name
from typing import Any


def lazy_names(name: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a module from the imports in its stub (`.pyi`).

    `from . import module` in the stub makes a namespace, which is in `__dir__` but not in `__all__`.
    """
    with open(f"{file}i", encoding="utf-8") as stub:
        imports = [node for node in ast.parse(stub.read()).body if isinstance(node, ast.ImportFrom) and node.level]
    package, sources, namespaces = str(sys.modules[name].__package__), dict[str, str](), set[str]()
    for node in imports:
        names = [alias.name for alias in node.names]
        if node.module is None:
            namespaces.update(names)
        else:
            sources |= dict.fromkeys(names, resolve_name("." * node.level + node.module, package))

    def get(attribute: str) -> Any:
        if attribute not in sources and attribute not in namespaces:
            raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
        try:
            if attribute in namespaces:
                return import_module(f"{name}.{attribute}")
            value = getattr(import_module(sources[attribute]), attribute)
        except ModuleNotFoundError as error:
            from sgp.installed import missing

            raise missing(f"{name}.{attribute}", error) or error from error
        setattr(sys.modules[name], attribute, value)
        return value

    return get, lambda: sorted({*sources, *namespaces}), sorted(sources)
