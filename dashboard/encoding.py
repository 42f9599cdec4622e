"""What the pages tell their components in JavaScript, and hear from them."""

import json
from typing import Any

import streamlit as st


def encoded(data: Any) -> bytes:
    """A component's data as JSON in UTF-8.

    Bytes, because Streamlit asks pandas about the values of a dict, which takes most of a second to import, and writes
    a dict down three times.
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def heard(key: str, name: str) -> Any:
    """What a component told last by a name; None where another one has taken its place, as it may speak late."""
    return st.session_state.get(key, {}).get(name)
