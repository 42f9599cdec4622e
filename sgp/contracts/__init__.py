"""Contract tests for methods, domains and encoders, to be subclassed by a plugin package.

::

    from sgp.contracts import MethodContract

    class TestMine(MethodContract):
        keys = ("mine",)

`pytest` then collects the contract's tests for each key.
"""

import pytest

for _name in ("domains", "encoders", "methods"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")  # before they are imported

from sgp.contracts.domains import DomainContract  # noqa: E402
from sgp.contracts.encoders import EncoderContract  # noqa: E402
from sgp.contracts.methods import MethodContract  # noqa: E402

__all__ = ["DomainContract", "EncoderContract", "MethodContract"]
