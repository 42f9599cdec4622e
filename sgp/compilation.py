"""Compiled functions over arrays.

A kernel is called from Python; its parts are called by kernels only. All kernels are compiled into one extension module
when the package is built (`sgp.ahead_of_time`). Its name ends with the hash of their sources. While there is none for
the present sources, kernels run as Python, with the same results, and a background process compiles them. Kernels take
batches, because a call alone costs microseconds.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from functools import cache, wraps
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

logger = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])

KERNEL_MODULES = (
    "encoders.kernels.hashing",
    "encoders.kernels.marked_colours",
    "encoders.kernels.marked_features",
    "encoders.kernels.marked_graph",
    "encoders.kernels.marked_moves",
    "encoders.kernels.marked_reduction",
    "encoders.kernels.marked_walks",
    "encoders.kernels.wl",
    "planning.atom_pairs",
    "planning.atom_table",
    "planning.exploration",
    "planning.hash_table",
    "planning.joins",
    "planning.novelty_forms",
    "planning.operators",
    "planning.repetitions",
    "planning.symmetry",
    "planning.width_search",
)
_FOLDER = Path(__file__).parent
_PERIOD = 1.0  # seconds between two looks for an extension module in the making


def kernel(function: Function) -> Function:
    """Compile a function that is called from Python.

    The types of its arguments are taken from its annotations. Arrays are contiguous, with one dimension unless
    annotated otherwise (`Annotated[NDArray[np.int32], 2]`).
    """
    native = getattr(loaded_extension(), export_name(function), None)
    expected: list[ArgumentType | None] = []  # None for an argument that is not checked

    @wraps(function)
    def call(*arguments: Any) -> Any:
        nonlocal native
        if native is None:
            native = getattr(_awaited_extension(), export_name(function), None)
        if native is not None:
            if not expected:
                checks_fields = "SGP_CHECK_KERNELS" in os.environ
                for type_ in argument_types(function):
                    expected.append(type_ if checks_fields or isinstance(type_, ArrayType) else None)
            _check(arguments, expected)
            return native(*arguments)
        with np.errstate(over="ignore"):  # hashes are computed modulo 2^64
            return function(*arguments)

    return cast(Function, call)


def compiled(function: Function) -> Function:
    """Compile a function that kernels call."""
    function.inline = "never"  # type: ignore[attr-defined]
    return function


def inlined(function: Function) -> Function:
    """Compile a part of kernels into each of them, without machine code of its own.

    A call passes every array as seven words or more and counts a reference to it: where a dozen calls with all arrays
    of a graph did little each, they made a kernel a fifth slower.
    """
    function.inline = "always"  # type: ignore[attr-defined]
    return function


class ArrayType(NamedTuple):
    """A contiguous array."""

    dtype: np.dtype[Any]
    dimensions: int


class TupleType(NamedTuple):
    """A tuple, or a NamedTuple of a class."""

    fields: tuple[ArgumentType, ...]
    named: type | None


ArgumentType: TypeAlias = "np.dtype[Any] | ArrayType | TupleType"


def argument_types(function: Callable[..., Any]) -> list[ArgumentType]:
    """Return the types of a kernel's arguments by its annotations."""
    hints = get_type_hints(function, include_extras=True)
    return [_argument_type(hint) for name, hint in hints.items() if name != "return"]


def _argument_type(annotation: Any) -> ArgumentType:
    if annotation in (int, bool) or (isinstance(annotation, type) and issubclass(annotation, np.generic)):
        number: np.dtype[Any] = np.dtype(annotation)
        return number
    array, dimensions = get_args(annotation) if get_origin(annotation) is Annotated else (annotation, 1)
    if get_origin(array) is np.ndarray:
        return ArrayType(np.dtype(get_args(get_args(array)[1])[0]), dimensions)
    if get_origin(array) is NDArray:  # an alias of its own from numpy 2.5 on
        return ArrayType(np.dtype(get_args(array)[0]), dimensions)
    if get_origin(annotation) is tuple:
        return TupleType(tuple(map(_argument_type, get_args(annotation))), None)
    fields = get_type_hints(annotation, include_extras=True)
    return TupleType(tuple(_argument_type(fields[name]) for name in annotation._fields), annotation)


def _check(values: Iterable[Any], types: Iterable[ArgumentType | None]) -> None:
    """Raise TypeError for an array of another type, which machine code would misread.

    Only tests, with `SGP_CHECK_KERNELS`, check the arrays in tuples: our constructors make them, and their check would
    lengthen a decision by a tenth.
    """
    for value, type_ in zip(values, types, strict=True):
        if isinstance(type_, ArrayType):
            if value.dtype != type_.dtype or value.ndim != type_.dimensions or not value.flags.c_contiguous:
                raise TypeError(
                    f"expected a contiguous array of {type_.dtype} with {type_.dimensions} dimensions, found one of "
                    f"{value.dtype} with {value.ndim}"
                )
        elif isinstance(type_, TupleType):
            _check(value, type_.fields)


def export_name(function: Callable[..., Any]) -> str:
    """Return the name of a kernel in the extension module."""
    return f"{function.__module__.rpartition('.')[2]}__{function.__name__}"


@cache
def extension_name() -> str:
    """Return the name of the extension module for the present sources."""
    digest = sha256()
    for module in ("compilation", "ahead_of_time", *KERNEL_MODULES):
        digest.update(_FOLDER.joinpath(*module.split(".")).with_suffix(".py").read_bytes())
    return f"_kernels_{digest.hexdigest()[:16]}"


def extension_folders() -> list[Path]:
    """Return the folders of extension modules: the package, and the user's cache where that cannot be written."""
    try:
        return [_FOLDER, user_cache_path("sgp").expanduser() / "kernels"]
    except RuntimeError:  # a user without a home
        return [_FOLDER]


def loaded_extension() -> ModuleType | None:
    """Return the extension module for the present sources, None if it has not been built."""
    if extension_name() in sys.modules:
        return sys.modules[extension_name()]
    for folder in extension_folders():
        file = folder / (extension_name() + EXTENSION_SUFFIXES[0])
        if file.exists():
            spec = importlib.util.spec_from_file_location(extension_name(), file)
            assert spec is not None
            assert spec.loader is not None
            sys.modules[extension_name()] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None


_next_look = -float("inf")


def _awaited_extension() -> ModuleType | None:
    """Return the extension module once it is built; the first call begins to build it."""
    global _next_look  # noqa: PLW0603
    now = time.monotonic()
    if now < _next_look:
        return sys.modules.get(extension_name())
    if _next_look < 0:
        _build_in_background()
    _next_look = now + _PERIOD
    return loaded_extension()


def _build_in_background() -> None:
    """Start a process that builds the extension module, unless a tool is missing."""
    if missing := missing_tool():
        logger.warning("kernels run as Python, slowly, because %s is missing; install it to compile them", missing)
        return
    logger.warning(
        "kernels of this version are not compiled yet and run as Python, slowly; a background process compiles them, "
        "which takes a minute"
    )
    command = [sys.executable, "-m", "sgp.ahead_of_time"]
    path = os.pathsep.join([str(_FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.Popen(
        ["nice", *command] if shutil.which("nice") else command,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def missing_tool() -> str:
    """Return what the build of the extension module needs and is not there; empty if it can be built."""
    if importlib.util.find_spec("numba") is None:
        return "numba"
    if not compilers():
        return "a compiler of C and C++ (or the package ziglang)"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return "" if header.exists() else f"{header} (on Debian in the package python3-dev)"


def compilers() -> tuple[str, str] | None:
    """Return the commands that compile C and C++: `CC` and `CXX`, cc and c++, or those of the package ziglang."""
    if command := os.environ.get("CC"):
        return command, os.environ.get("CXX", command)
    if shutil.which("cc") and shutil.which("c++"):
        return "cc", "c++"
    if importlib.util.find_spec("ziglang"):
        return f"{sys.executable} -m ziglang cc", f"{sys.executable} -m ziglang c++"
    return None
