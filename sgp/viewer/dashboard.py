"""Serving the dashboard, which stands in the checkout beside the package."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

from sgp.errors import StoreError

PORT = 8501  # Streamlit's own choice
_APP = Path(__file__).resolve().parents[2] / "dashboard" / "app.py"


def command(port: int, browser: bool) -> list[str]:
    """The command that serves; what is the same for everybody stands in `dashboard/.streamlit/config.toml`.

    Raises StoreError where the package does not stand in a checkout.
    """
    if not _APP.is_file():
        raise StoreError(
            f"the dashboard is missing at {_APP}; install the package from its checkout: 'pip install -e .'"
        )
    options = {"server.port": port, "server.headless": str(not browser).lower()}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "streamlit", "run", str(_APP), *flags]


def free_port(first: int = PORT) -> int:
    """The first port from `first` on that nothing listens at; `first` itself where all of a hundred are taken."""
    for port in range(first, first + 100):
        with socket.socket() as trial:
            if trial.connect_ex(("localhost", port)) != 0:
                return port
    return first


def serve(port: int, browser: bool) -> NoReturn:
    """Becomes the server, so that what ends this process ends the server."""
    words = command(port, browser)
    paths = [str(_APP.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.execve(words[0], words, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
