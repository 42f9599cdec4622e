"""What was tried on what."""

from __future__ import annotations


def method_key(text: str) -> str:
    """A method's key as it is written today: older files have underscores."""
    return text.replace("_", "-")
