"""The dashboard starts without questions, and reports obstacles in one sentence."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from sgp.cli.showing import free_port, serve
from sgp.errors import ConfigurationError


@pytest.mark.parametrize("flags", [[], ["--no-browser"]])
def test_it_serves_at_once_with_an_empty_home_and_without_a_terminal(flags, tmp_path):
    port = free_port(8600)
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    for name in ("SGP_HOME", "STREAMLIT_SERVER_HEADLESS"):
        environment.pop(name, None)
    server = subprocess.Popen(
        [sys.executable, "-m", "sgp", "dashboard", "--port", str(port), *flags],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    answer = ""
    try:
        for _ in range(240):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://localhost:{port}/_stcore/health") as got:
                answer = got.read().decode()
            if answer or server.poll() is not None:
                break
            time.sleep(0.25)
    finally:
        server.terminate()
        said, _ = server.communicate(timeout=60)
    assert answer == "ok", said
    assert "mail" not in said.lower()


def test_a_taken_port_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} is taken"):
            serve(port, browser=False)
