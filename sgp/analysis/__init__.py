"""Explanations: why a planner decides as it does, what its features cannot distinguish, how it fails."""

from sgp.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
