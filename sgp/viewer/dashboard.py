"""The server of the dashboard."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

import sgp
from sgp.datasets.store import home
from sgp.errors import ConfigurationError, MissingLibrary
from sgp.installed import bundled, lacking

PORT = 8501  # Streamlit's default


def command(port: int, browser: bool) -> list[str]:
    """The server's command; further settings are in `dashboard/.streamlit/config.toml`."""
    if importlib.util.find_spec("streamlit") is None:
        raise MissingLibrary(lacking("the dashboard", "streamlit"))
    options = {"server.port": port, "server.headless": str(not browser).lower()}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "streamlit", "run", str(bundled("dashboard") / "server.py"), *flags]


def free_port(first: int = PORT) -> int:
    """The first free port of a hundred from `first` on; `first` if all are taken."""
    for port in range(first, first + 100):
        with socket.socket() as trial:
            if trial.connect_ex(("localhost", port)) != 0:
                return port
    return first


def serve(port: int, browser: bool) -> NoReturn:
    """Replace this process by the server."""
    words, store, free = command(port, browser), home(), free_port(port)
    if free != port:
        raise ConfigurationError(f"port {port} is taken; choose another one with --port, such as {free}")
    paths = [str(Path(sgp.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        Path.home()
    except RuntimeError:  # Streamlit looks there for its settings
        environment["HOME"] = str(store)
    os.execve(words[0], words, environment)
