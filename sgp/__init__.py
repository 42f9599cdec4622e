"""Learned generalized planning: the public names are listed in `__init__.pyi` and imported when they are first used.

So `sgp --help` and the viewer need neither torch nor pymimir.
"""

from typing import Any

import lazy_loader

_import_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.remove("viewer")  # a package, reachable as `sgp.viewer`


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from sgp.installed import version

        return version()
    try:
        return _import_name(name)
    except ModuleNotFoundError as error:
        from sgp.installed import missing

        raise missing(f"sgp.{name}", error) or error from error
