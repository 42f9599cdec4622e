"""Experiments: many trainings and measurements in one command, each resumable."""
