"""Explanations: why a planner decides as it does, what its features cannot distinguish, how it fails."""
