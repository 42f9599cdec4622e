"""Explaining: why a planner decides as it does, what its features cannot see, how it fails."""
