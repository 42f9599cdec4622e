"""What the pages tell their components in JavaScript, and hear from them."""

import json
from collections.abc import Callable
from typing import Any

import streamlit as st


def encoded(data: Any) -> bytes:
    """A component's data as JSON in UTF-8.

    Bytes, because Streamlit asks pandas about the values of a dict, which takes most of a second to import, and writes
    a dict down three times.
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def hearing(key: str, name: str, take: Callable[[Any], object]) -> Callable[[], None]:
    """What hands on what a component tells by a name; nothing where another has its place, since it may speak late."""

    def heard() -> None:
        told = st.session_state.get(key, {}).get(name)
        if told is not None:
            take(told)

    return heard
