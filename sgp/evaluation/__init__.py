"""Measuring: attempts, scores, coverage, scaling, dynamic validation, baselines."""
