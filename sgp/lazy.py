"""Names that are imported when they are first used, and a call after the first import of another library."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec, resolve_name
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


class AfterImport:
    """Import hook that calls a function with a module after its first import; with a loaded one at once."""

    def __init__(self, name: str, call: Callable[[Any], None]):
        self._name, self._call = name, call
        if name in sys.modules:
            call(sys.modules[name])
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Return the module's own specification, with a loader that makes the call; None for other modules."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_call(module: Any) -> None:
                execute(module)
                self._call(module)

            spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]
        return spec
