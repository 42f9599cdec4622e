"""Policies assign costs to candidates; the package is below training, so that training loops can roll out policies."""
