"""Every public name has a docstring that the reference can print, with the shapes of its arrays."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from numpy.typing import NDArray

import sgp


def entries() -> Iterator[tuple[str, Any]]:
    """Each public name with its object, and each public method of the public classes."""
    for name in sgp.__all__:
        entry = getattr(sgp, name)
        yield name, entry
        if inspect.isclass(entry):
            for method, value in vars(entry).items():
                function = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
                own = inspect.isfunction(function) and function.__module__ == entry.__module__
                if own and not method.startswith("_"):
                    yield f"{name}.{method}", function


def faults(entry: Any) -> Iterator[str]:
    """Return the faults of the docstring of a class or function."""
    doc = (entry.__doc__ or "").strip()
    summary = doc.partition("\n\n")[0]
    generated = inspect.isclass(entry) and (
        (is_dataclass(entry) and doc.startswith(f"{entry.__name__}("))
        or (issubclass(entry, Enum) and doc == Enum.__doc__)
    )
    if not doc or generated:
        yield "has no docstring"
    elif not summary.endswith((".", ":")) or len(summary.split()) < 3:
        yield f"begins with no sentence: {summary!r}"
    arrays = [name for name, kind in inspect.get_annotations(inspect.unwrap(entry)).items() if "NDArray" in str(kind)]
    if arrays and not re.search(r"\[[\w +,*.]+\]", doc):
        yield f"gives no shape, as in [n, D], for {', '.join(arrays)}"


def test_every_public_name_is_documented():
    assert [f"{name} {fault}" for name, entry in entries() for fault in faults(entry)] == []


def test_a_docstring_that_says_nothing_is_found():
    def undocumented(): ...

    def brief():
        """Ranks."""

    def shapeless(rows: NDArray):
        """The mean of some rows."""

    assert list(faults(undocumented)) == ["has no docstring"]
    assert list(faults(brief)) == ["begins with no sentence: 'Ranks.'"]
    assert list(faults(shapeless)) == ["gives no shape, as in [n, D], for rows"]
