"""Measuring: attempts, scores, coverage, scaling, retrieval, baselines."""
