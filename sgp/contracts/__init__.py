"""Contract tests for methods, domains and encoders, which a plugin package subclasses.

::

    from sgp.contracts import MethodContract

    class TestMine(MethodContract):
        keys = ("mine",)

`pytest` then collects the contract's tests for each key. They need pytest, but not sgp's own tests.
"""

from __future__ import annotations

import pytest

for _name in ("domains", "encoders", "methods"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")  # before they are imported

from sgp.contracts.domains import DomainContract  # noqa: E402
from sgp.contracts.encoders import EncoderContract  # noqa: E402
from sgp.contracts.methods import MethodContract  # noqa: E402

__all__ = ["DomainContract", "EncoderContract", "MethodContract"]
