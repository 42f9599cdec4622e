"""The Python examples of the pages print what the pages show."""

import doctest

import pytest

from tests.conftest import ROOT

FLAGS = doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize(("page", "examples"), [("quickstart", 15), ("own_method", 15)])
def test_the_examples_of_a_page(page, examples, home, tmp_path, monkeypatch, registered):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(ROOT / "docs" / f"{page}.md"), module_relative=False, optionflags=FLAGS)
    assert result.attempted > examples
    assert result.failed == 0
