"""Suites of problems, expert plans, trajectories, and the store of runs."""
