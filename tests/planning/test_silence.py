"""Output of native code is discarded exactly while requested."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os
from sgp.planning.native import native_output_silenced

print("before")
with native_output_silenced():
    os.write(1, b"noise\\n")
    with native_output_silenced():
        os.write(1, b"noise\\n")
    os.write(1, b"noise\\n")
os.write(1, b"between\\n")
try:
    with native_output_silenced():
        raise KeyError
except KeyError:
    os.write(1, b"after\\n")
"""


def test_standard_output_is_as_it_was_before_and_after():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (found.stdout.split(), found.stderr, found.returncode) == (["before", "between", "after"], "", 0)
