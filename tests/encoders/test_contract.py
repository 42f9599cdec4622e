from sgp.contracts import EncoderContract
from sgp.encoders.text import TextConfig
from sgp.encoders.wl import WL
from sgp.methods.state_encoders import Slots, Text


class TestBuiltIn(EncoderContract):
    kinds = (WL(), Slots(), Text(TextConfig("hashed")))
