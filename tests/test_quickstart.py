"""The Python examples of the pages print what the pages show, and marked commands run."""

import doctest
import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

FLAGS = doctest.NORMALIZE_WHITESPACE
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"<!-- tested -->\n```sh\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(
    ("page", "examples", "commands"), [("quickstart", 15, 0), ("own_method", 15, 0), ("own_domain", 10, 5)]
)
def test_the_examples_of_a_page(page, examples, commands, home, tmp_path, monkeypatch, registered):
    monkeypatch.chdir(tmp_path)
    path = ROOT / "docs" / f"{page}.md"
    for name, text in FILE.findall(path.read_text()):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    result = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert result.attempted > examples
    assert result.failed == 0
    lines = "".join(COMMANDS.findall(path.read_text()))
    assert lines.count("sgp ") == commands
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    script = f'sgp() {{ "{sys.executable}" -m sgp "$@"; }}\n{lines}'
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
