"""Policies: what puts costs on candidates. Below training, so that a training loop can roll out."""
