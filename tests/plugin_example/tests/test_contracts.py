"""The contract tests of sgp for the objects of this package."""

from sgp.contracts import DomainContract, EncoderContract, MethodContract


class TestOpenGoals(MethodContract):
    keys = ("open-goals",)


class TestCorridor(DomainContract):
    names = ("corridor",)


class TestCounts(EncoderContract):
    keys = ("counts",)
