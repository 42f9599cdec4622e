"""The contracts of sgp, over what this package offers."""

from sgp.contracts import DomainContract, EncoderContract, MethodContract


class TestOpenGoals(MethodContract):
    keys = ("open-goals",)


class TestCorridor(DomainContract):
    names = ("corridor",)


class TestCounts(EncoderContract):
    keys = ("counts",)
