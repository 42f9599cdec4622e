"""Every name of the facade says what it is, the shapes of its arrays and the errors that it can raise.

Errors are followed through the syntax trees: what a function raises itself, and what it passes on from the package's
functions, classes and own methods that it calls by name, less what it catches. Calls of other objects are not seen.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path

import pytest

import sgp
from sgp import errors

ROOT = Path(sgp.__file__).parent
# What no call can raise, although the functions that are called could: why.
NEVER = {"sgp.analysis.diagnostics.perfect_prediction": {"ConfigurationError"}}  # its planner has the default beam
OUR_ERRORS = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}


@dataclass(frozen=True)
class Written:
    """A function as it is written: its module, the class around it ("" for none), its name and syntax tree."""

    module: str
    inside: str
    tree: ast.FunctionDef

    @property
    def name(self):
        return ".".join(filter(None, [self.module, self.inside, self.tree.name]))


@cache
def package():
    """All modules' functions and methods by full name, and what each module calls the things it imports."""
    functions, imported = {}, {}
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text())
        for node in tree.body:
            for each in node.body if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(each, ast.FunctionDef):
                    written = Written(module, getattr(node, "name", "") if node is not each else "", each)
                    functions[written.name] = written
        imported[module] = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sgp"
            for alias in node.names
        }
    return functions, imported


def called(written, node):
    """The functions of the package that a call runs, as far as its name tells."""
    functions, imported = package()
    names = imported[written.module]
    match node.func:
        case ast.Name(id=name):
            found = [names.get(name, f"{written.module}.{name}")]
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if written.inside:
            found = [f"{written.module}.{written.inside}.{name}"]
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in names:
            found = [f"{names[name]}.{attribute}"]
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            found = [f"{written.module}.{name}.{attribute}"]
        case _:
            found = []
    makers = [f"{name}.{maker}" for name in found for maker in ("__init__", "__post_init__", "__new__")]
    return [functions[name] for name in [*found, *makers] if name in functions]


def passed_on(written, known):
    """Our errors that leave a function, where `known` has those of the functions that it calls."""

    def of(node):
        if isinstance(node, ast.Try):
            inner = set().union(*map(of, node.body))
            kept = {name for name in inner if not any(catches(handler, name) for handler in node.handlers)}
            again = {
                name
                for handler in node.handlers
                for name in inner
                if catches(handler, name)
                and any(isinstance(each, ast.Raise) and each.exc is None for each in ast.walk(handler))
            }
            return kept.union(again, *map(of, [*node.handlers, *node.orelse, *node.finalbody]))
        found = set().union(*map(of, ast.iter_child_nodes(node)))
        if isinstance(node, ast.Raise) and node.exc is not None:
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            found |= {made.id} & OUR_ERRORS.keys() if isinstance(made, ast.Name) else set()
        if isinstance(node, ast.Call):
            found = found.union(*(known[each.name] for each in called(written, node)))
        return found

    return set().union(*map(of, written.tree.body))


def catches(handler, name):
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = [getattr(each, "id", "") for each in types]
    return any(issubclass(OUR_ERRORS[name], OUR_ERRORS.get(each, getattr(builtins, each, ()))) for each in caught)


@cache
def errors_of():
    """Our errors that leave each function of the package, by full name."""
    functions, _ = package()
    known = {name: frozenset() for name in functions}
    while True:
        after = {name: frozenset(passed_on(written, known)) for name, written in functions.items()}
        if after == known:
            return known
        known = after


def entries():
    """What the reference tells of: name, the thing, the full name where it is written, and its docstring."""
    for name in sgp.__all__:
        thing = getattr(sgp, name)
        home = f"{thing.__module__}.{name}"
        yield pytest.param(thing, home, thing.__doc__, id=name)
        if inspect.isclass(thing):
            for method, value in vars(thing).items():
                function = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
                if (
                    not method.startswith("_")
                    and inspect.isfunction(function)
                    and function.__module__ == thing.__module__
                ):
                    yield pytest.param(function, f"{home}.{method}", function.__doc__, id=f"{name}.{method}")


every_entry = pytest.mark.parametrize(("thing", "home", "doc"), list(entries()))


@every_entry
def test_it_says_what_it_is(thing, home, doc):
    assert doc, "no docstring"
    if inspect.isclass(thing):
        assert not (is_dataclass(thing) and doc.startswith(f"{thing.__name__}(")), "the docstring that dataclass makes"
        assert not (issubclass(thing, Enum) and doc == Enum.__doc__), "the docstring of Enum"
    first = doc.strip().partition("\n\n")[0]
    assert first.endswith((".", ":")), "the first paragraph is a sentence"
    assert len(first.split()) > 2


@every_entry
def test_it_names_the_errors_that_it_can_raise(thing, home, doc):
    known = errors_of()
    homes = (
        [f"{home}.{maker}" for maker in ("__init__", "__post_init__", "__new__")] if inspect.isclass(thing) else [home]
    )
    raised = set().union(*(known.get(each, set()) for each in homes)) - NEVER.get(home, set())
    said = {OUR_ERRORS[name] for name in re.findall(r"\w+", doc) if name in OUR_ERRORS}
    assert not {name for name in raised if not any(issubclass(OUR_ERRORS[name], each) for each in said)}


@every_entry
def test_it_gives_the_shapes_of_its_arrays(thing, home, doc):
    function = inspect.unwrap(thing)
    arrays = [name for name, kind in getattr(function, "__annotations__", {}).items() if "NDArray" in str(kind)]
    assert not arrays or re.search(r"\[[\w +,*.]+\]", doc), f"{', '.join(arrays)}: which shape?"


def test_errors_are_followed_and_caught_ones_are_not():
    known = errors_of()
    assert known["sgp.methods.get_method"] == {"InputError", "MissingLibrary"}
    assert "InputError" in known["sgp.api.train"], "by way of get_method"
    assert known["sgp.planning.domain.Sizes.check"] == {"ConfigurationError"}
    assert "StoreError" in known["sgp.datasets.runs.find_run"]
    assert "StoreError" not in known["sgp.api._usable_run"], "it catches what find_run raises"
