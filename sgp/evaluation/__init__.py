"""Measuring planners: coverage, scores, tables."""
