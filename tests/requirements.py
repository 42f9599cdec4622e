"""Requirements of marked tests besides the extra 'dev': without them, tests are skipped, and fail in CI."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def missing(marker: str) -> str | None:
    """Return the missing requirements of a marker and how to install them, or None."""
    if marker == "browser" and CHROMIUM is None:
        return "no chromium on the path; install Debian's package 'chromium'"
    for module in MODULES.get(marker, ()):
        if find_spec(module) is None:
            return f"the module '{module}' is missing; run pip install -e '.[dev]'"
    return None


MODULES = {
    "browser": ("playwright",),
    "cluster": ("ray",),
    "notebooks": ("ipykernel", "jupytext", "nbclient"),
    "oracle": ("unified_planning",),
}


def require(item: pytest.Item) -> None:
    """Skip a test whose marker's requirements are missing, or fail it where the variable CI is set."""
    for marker in ("browser", *MODULES):
        lack = missing(marker) if item.get_closest_marker(marker) else None
        if lack is not None:
            reason = f"tests marked '{marker}' cannot run: {lack}"
            if os.environ.get("CI"):
                pytest.fail(reason, pytrace=False)
            pytest.skip(reason)
