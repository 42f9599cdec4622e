"""Learned generalized planning: the public names are listed in `__init__.pyi` and imported when they are first used.

So `sgp --help` and the viewer need neither torch nor pymimir. More names are in the namespaces `sgp.viz` (pictures and
plots), `sgp.data` (plans, trajectories and encoders), `sgp.analysis` and `sgp.experiments`.
"""

from typing import Any

from sgp.lazy import lazy_names

_import_name, __dir__, __all__ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from sgp.installed import version

        return version()
    return _import_name(name)
