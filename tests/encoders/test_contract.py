"""The contract of encoders, over those of the house that embed states."""

from __future__ import annotations

from sgp.contracts import EncoderContract
from sgp.domains import serving
from sgp.encoders.fsf import FSFEncoder
from sgp.encoders.text import TextConfig
from sgp.encoders.wl import WL
from sgp.methods.texts import Text


class Slots:
    """The fixed-size slots, which a domain of the house defines, so that no file is needed."""

    key, title, libraries, invariant = "fsf", "Slots", (), False

    def fit(self, states, largest):
        return FSFEncoder(serving(states[0][0].domain_text), largest)

    def save(self, encoder, path):
        pass

    def load(self, path, domain_text, largest):
        return FSFEncoder(serving(domain_text), largest)


class TestHouse(EncoderContract):
    """Those that methods take by name."""

    kinds = (WL(), Slots(), Text(TextConfig("hashed")))
