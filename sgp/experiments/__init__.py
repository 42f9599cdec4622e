"""Experiments: many trainings and measurements in one command, each resumable."""

from sgp.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
