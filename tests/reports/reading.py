"""What a report shows: its page, with the figures that it holds compressed."""

from __future__ import annotations

import gzip
import re
from base64 import b64decode


def whole_text(page):
    """The page's text, its figures unpacked and put behind it."""
    text = page.read_text()
    packed = re.search(r'<script type="text/plain" id="figures">([^<]+)</script>', text)
    return text + (gzip.decompress(b64decode(packed.group(1))).decode() if packed else "")
