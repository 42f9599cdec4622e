"""Serving the dashboard, which comes with the package."""

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

PORT = 8501  # Streamlit's own choice


def command(port: int, browser: bool) -> list[str]:
    """The command that serves; what is the same for everybody stands in `dashboard/.streamlit/config.toml`.

    Raises StoreError where the dashboard's folder is missing, MissingLibrary where Streamlit is not installed.
    """
    if importlib.util.find_spec("streamlit") is None:
        raise MissingLibrary(lacking("the dashboard", "streamlit"))
    options = {"server.port": port, "server.headless": str(not browser).lower()}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "streamlit", "run", str(bundled("dashboard") / "server.py"), *flags]


def free_port(first: int = PORT) -> int:
    """The first port from `first` on that nothing listens at; `first` itself where all of a hundred are taken."""
    for port in range(first, first + 100):
        with socket.socket() as trial:
            if trial.connect_ex(("localhost", port)) != 0:
                return port
    return first


def serve(port: int, browser: bool) -> NoReturn:
    """Becomes the server, so that what ends this process ends the server.

    Raises ConfigurationError where the port is taken, StoreError where the user has no home and `SGP_HOME` is not set
    either, and what `command` raises.
    """
    words, store, free = command(port, browser), home(), free_port(port)
    if free != port:
        raise ConfigurationError(f"port {port} is taken; give another one with --port, such as {free}")
    paths = [str(Path(sgp.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        Path.home()
    except RuntimeError:  # Streamlit looks there for its settings
        environment["HOME"] = str(store)
    os.execve(words[0], words, environment)
