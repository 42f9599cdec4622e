"""Rows of a planner beside LAMA are kept, and become a table by size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sgp.errors import StoreError
from sgp.reports.against_lama import AgainstLama, against_lama_sheet, read_against, write_against

NONE = {"length": None, "seconds": None, "start_seconds": None}


def tried(size, **figures):
    """A problem that both solved, ours in a quarter of LAMA's seconds, or four times them with the start."""
    return AgainstLama(
        **{
            **{"method": "contrastive-jumps", "variant": "aiw", "seed": 13, "suite": "harder", "domain": "gripper"},
            **{"split": "many-balls", "problem": f"p{size}", "sha256": "ab", "run": "cd", "size": size, "limit": 60.0},
            **{"length": 30, "seconds": 0.125, "start_seconds": 2.0, "lama_length": 20, "lama_seconds": 0.5},
            "note": "2026-11-23, 2 cores, load 2.6, sgp 0.2.0; a command",
            **figures,
        }
    )


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = [tried(10), tried(60, **NONE), tried(70, lama_length=None, lama_seconds=None, decoding="greedy")]
    write_against(tmp_path / "rows.csv", rows)
    assert read_against(tmp_path / "rows.csv") == rows


def test_a_line_that_is_no_row_is_named(tmp_path):
    file = tmp_path / "rows.csv"
    write_against(file, [tried(10), tried(20)])
    file.write_text(file.read_text().replace(",20,cd,", ",many,cd,"))
    with pytest.raises(StoreError, match=r"rows\.csv, line 3 is no problem beside LAMA .*remove the line"):
        read_against(file)
    with pytest.raises(StoreError, match=r"cannot be read .*give a file of benchmarks/against_lama\.py"):
        read_against(tmp_path / "none.csv")


def test_a_row_is_measured_again_for_another_run_decoding_limit_or_text():
    row = tried(10)
    assert row.is_of(replace(tried(10, **NONE), note=""))
    for name, value in {"run": "ef", "limit": 20.0, "sha256": "gh", "decoding": "greedy", "problem": "p11"}.items():
        assert not row.is_of(replace(row, **{name: value})), name


def test_a_table_has_a_line_for_each_class_of_sizes():
    rows = [tried(10), tried(49, start_seconds=1.0, length=20), tried(50, **NONE), tried(600, lama_length=None)]
    rows += [tried(99, lama_seconds=None, lama_length=None), tried(12, suite="track", domain="ferry")]
    lines = [row.words for row in against_lama_sheet(rows).rows]
    assert [words[:5] for words in lines] == [
        ("harder", "", "", "", ""),
        ("gripper", "below 50", "2", "2", "2"),
        ("gripper", "50 to 99", "2", "1", "1"),
        ("gripper", "from 500", "1", "1", "0"),
        ("track", "", "", "", ""),
        ("ferry", "below 50", "1", "1", "1"),
    ]
    assert lines[1][5:] == ("1.50", "0.50", "3.00 [2.00, 4.00]", "0.25 [0.25, 0.25]", "1.25 [1.00, 1.50]")
    assert lines[2][5:] == ("2.00", "0.50", "", "", "")


def test_limits_stand_below_the_table():
    assert "Within 20 and 60 s a problem" in against_lama_sheet([tried(10), tried(20, limit=20.0)]).caption
