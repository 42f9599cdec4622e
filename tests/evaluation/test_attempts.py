"""Files of attempts are read, or told to be none."""

from __future__ import annotations

import pytest

from sgp.errors import StoreError
from sgp.evaluation.attempts import read_attempts


def test_a_line_that_is_no_attempt_is_named(tmp_path):
    file = tmp_path / "attempts.csv"
    file.write_text("method,variant,domain\nzero-change,wl,gripper\n")
    with pytest.raises(StoreError, match=r"attempts\.csv, line 2 is no attempt .*run the grid again"):
        read_attempts(file)


def test_files_without_attempts_are_told(tmp_path):
    with pytest.raises(StoreError, match="missing; make it with 'sgp grid'"):
        read_attempts(tmp_path / "none.csv")
    with pytest.raises(StoreError, match=r"is no file of attempts \(.*give one that 'sgp grid' wrote"):
        read_attempts(tmp_path)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(StoreError, match="is no file of attempts"):
        read_attempts(tmp_path / "bytes.csv")
