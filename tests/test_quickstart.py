"""The examples of the quickstart print what the page shows."""

import doctest
from pathlib import Path

import sgp

PAGE = Path(sgp.__file__).resolve().parents[1] / "docs" / "quickstart.md"


def test_the_examples_of_the_quickstart(home, tmp_path, monkeypatch, registered):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 15
    assert result.failed == 0
