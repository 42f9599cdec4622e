"""Contract tests of the built-in encoders that embed states."""

from __future__ import annotations

from sgp.contracts import EncoderContract
from sgp.domains import serving
from sgp.encoders.fsf import FSFEncoder
from sgp.encoders.text import TextConfig
from sgp.encoders.wl import WL
from sgp.methods.state_encoders import Text


class Slots:
    """The fixed-size slots of a built-in domain, so that no file is needed."""

    key, title, libraries, invariant = "fsf", "Slots", (), False

    def fit(self, states, largest):
        return FSFEncoder(serving(states[0][0].domain_text), largest)

    def save(self, encoder, path):
        pass

    def load(self, path, domain_text, largest):
        return FSFEncoder(serving(domain_text), largest)


class TestHouse(EncoderContract):
    """Built-in encoders that methods select by name."""

    kinds = (WL(), Slots(), Text(TextConfig("hashed")))
