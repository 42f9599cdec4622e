"""Plans, trajectories, recorded rollouts, and encoders that map states to vectors."""

from sgp.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
