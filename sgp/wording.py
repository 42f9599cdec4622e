"""Wording of messages."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless there is one: "1 action", "2 actions"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
