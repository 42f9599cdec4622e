"""Learned generalized planning: the public names are listed in `__init__.pyi` and imported when they are first used.

So `sgp --help` and the viewer need no torch. More names are in the namespaces `sgp.viz` (pictures and
plots), `sgp.data` (plans, trajectories and encoders), `sgp.analysis` and `sgp.experiments`. Where unified-planning is
installed, its factory knows the engine `sgp`.
"""

import sys
from typing import Any

from sgp.lazy import AfterImport, lazy_names

_import_name, __dir__, __all__ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from sgp.installed import version

        return version()
    return _import_name(name)


def _add_engine(factory: Any) -> None:
    """Add the engine to those of new environments of unified-planning, and to the global one if it exists."""
    factory.DEFAULT_ENGINES["sgp"] = ("sgp.engine", "SgpEngine")
    factory.DEFAULT_ENGINES_PREFERENCE_LIST.append("sgp")
    module = sys.modules.get("unified_planning.environment")
    if getattr(module, "GLOBAL_ENVIRONMENT", None) is not None:
        from sgp.engine import register

        register()


AfterImport("unified_planning.engines.factory", _add_engine)
