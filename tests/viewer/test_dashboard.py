"""The dashboard starts without questions, and reports obstacles in one sentence."""

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
    port, others = free_port(8600), ("SGP_HOME", "STREAMLIT_SERVER_HEADLESS")
    environment = {name: value for name, value in os.environ.items() if name not in others}
    environment |= {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "sgp", "dashboard", "--port", str(port), *flags]
    with (tmp_path / "said").open("w") as file:
        files = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file}
        server = subprocess.Popen(command, env=environment, start_new_session=True, **files)
    answer, health = "", f"http://localhost:{port}/_stcore/health"
    for _ in range(240):
        with contextlib.suppress(OSError), urllib.request.urlopen(health) as got:
            answer = got.read().decode()
        if answer or server.poll() is not None:
            break
        time.sleep(0.25)
    server.terminate()
    server.wait(60)
    said = (tmp_path / "said").read_text()
    assert answer == "ok", said
    assert "mail" not in said.lower()


def test_a_taken_port_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} is taken"):
            serve(port, browser=False)
