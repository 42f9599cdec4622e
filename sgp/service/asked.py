"""What jobs of a worker process are asked about: the records of a rollout, and a candidate of one of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sgp.errors import InputError
from sgp.policies.decoding import DEFAULT

Tell = Callable[..., None]
Answer = dict[str, Any]
Records = Sequence[Mapping[str, Any]]


def decoding_of(head: Mapping[str, Any]) -> str:
    """How the rollout of a record was decoded."""
    return str((head.get("about") or {}).get("decoding") or DEFAULT)


def require_listed(steps: Records, step: int, rank: int) -> None:
    """Raises InputError where a rollout's steps have no candidate of this rank at this step, both from 1."""
    if not 1 <= step <= len(steps) or not 1 <= rank <= len(steps[step - 1]["candidates"]):
        raise InputError(f"the rollout has no candidate of rank {rank} at step {step}; choose one that is listed")
