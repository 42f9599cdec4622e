"""Contract tests for methods, domains and encoders, to be subclassed by a plugin package.

::

    from sgp.contracts import MethodContract

    class TestMine(MethodContract):
        keys = ("mine",)

`pytest` then collects the contract's tests for each key.
"""

import pytest

pytest.register_assert_rewrite(f"{__name__}.classes")  # before it is imported

from sgp.contracts.classes import DomainContract, EncoderContract, MethodContract  # noqa: E402

__all__ = ["DomainContract", "EncoderContract", "MethodContract"]
