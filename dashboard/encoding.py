"""What the pages tell their components in JavaScript."""

import json
from typing import Any


def encoded(data: Any) -> bytes:
    """A component's data as JSON in UTF-8.

    Bytes, because Streamlit asks pandas about the values of a dict, which takes most of a second to import, and writes
    a dict down three times.
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
