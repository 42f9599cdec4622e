"""The rollout player and its hosts. Nothing here imports torch or wlplan: recorded rollouts show anywhere.

The public names are listed in `__init__.pyi` and imported when they are first used.
"""

from sgp.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
