"""Compilation of all kernels into an extension module: `python -m sgp.ahead_of_time`.

Numba writes the extension module (`numba.pycc`), with a C compiler. Where it is used, it needs neither. It runs on any
processor of its architecture, on x86-64 with the instructions of version 2 (all processors since 2009).
"""

from __future__ import annotations

import importlib
import inspect
import os
import platform
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import FunctionType
from typing import Any

from filelock import FileLock

from sgp.compilation import (
    KERNEL_MODULES,
    ArgumentType,
    ArrayType,
    TupleType,
    argument_types,
    compilers,
    export_name,
    extension_folders,
    extension_name,
    missing_tool,
)
from sgp.errors import ToolError

_CPU = {"x86_64": "x86-64-v2", "AMD64": "x86-64-v2"}.get(platform.machine(), "generic")


def build(folder: Path) -> Path:
    """Write the extension module for the present sources into a folder, remove those for older ones, return its path.

    Raises ToolError where a compiler or Python's headers are missing, filelock.Timeout while another process builds,
    OSError for a folder that cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (extension_name() + EXTENSION_SUFFIXES[0])
    with FileLock(folder / ".kernels.lock", timeout=0):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=folder, prefix=".kernels-") as temporary:
                os.replace(_compile(Path(temporary)), target)
            for file in folder.glob(f"_kernels_*{EXTENSION_SUFFIXES[0]}"):
                if file != target:
                    file.unlink()
    return target


def _compile(folder: Path) -> Path:
    """Write the extension module into an empty folder."""
    if missing := missing_tool():
        raise ToolError(f"kernels cannot be compiled: {missing} is missing; install it")
    c, cpp = compilers() or ("", "")
    os.environ.update(CC=c, CXX=cpp, LDSHARED=f"{cpp} -shared", LDCXXSHARED=f"{cpp} -shared")
    os.environ.update(NUMBA_CPU_NAME=_CPU, NUMBA_CPU_FEATURES="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pycc is to be deprecated once numba has a successor
        pycc: Any = importlib.import_module("numba.pycc.compiler")
        cc: Any = importlib.import_module("numba.pycc.cc")
    runtime: Any = importlib.import_module("numba.core.runtime.nrtdynmod")
    runtime._define_atomic_inc_dec = _reference_counting

    compile_extra = pycc.compile_extra

    def compile_one(
        typing: Any, target: Any, function: Any, arguments: Any, result: Any, flags: Any, **others: Any
    ) -> Any:
        """Compile with the flags of `numba.njit(nogil=True)`; inlining changes flags, so each function has its own."""
        flags = flags.copy()
        flags.enable_ssa = flags.release_gil = True
        return compile_extra(typing, target, function, arguments, result, flags, **others)

    extension = cc.CC(extension_name(), source_module=__name__)
    extension.output_dir, extension.target_cpu = str(folder), _CPU
    for function, arguments in kernel_types().items():
        extension.export(export_name(function), arguments)(function)
    pycc.compile_extra = compile_one
    extension.compile()
    return folder / str(extension.output_file)


def _reference_counting(module: Any, op: str, ordering: str) -> Any:
    """Define the function that adds to a reference count ("add") or subtracts from it ("sub") and returns it.

    Numba's own is atomic, which takes several times as long. A kernel's arrays are used by its thread alone: those that
    it is called with are wrapped anew in each call, and kernels have no threads.
    """
    ir: Any = importlib.import_module("llvmlite.ir")
    word: Any = importlib.import_module("numba.core.runtime.nrtdynmod")._word_type
    function = ir.Function(module, ir.FunctionType(word, [word.as_pointer()]), name=f"nrt_atomic_{op}")
    builder = ir.IRBuilder(function.append_basic_block())
    count = getattr(builder, op)(builder.load(function.args[0]), ir.Constant(word, 1))
    builder.store(count, function.args[0])
    builder.ret(count)
    return function


def kernel_types() -> dict[Callable[..., Any], tuple[Any, ...]]:
    """Return the Python functions of all kernels with numba's types of their arguments.

    In the modules of kernels, all compiled functions are replaced by numba's.
    """
    njit = partial(importlib.import_module("numba").njit, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    modules = [importlib.import_module(f"sgp.{name}") for name in KERNEL_MODULES]
    kernels, replaced = {}, {}
    for module in modules:
        for value in vars(module).values():
            if not isinstance(value, FunctionType) or value.__module__ != module.__name__:
                continue
            function = inspect.unwrap(value)
            if function is not value:
                kernels[function] = tuple(map(_numba_type, argument_types(function)))
                replaced[value] = njit()(function)
            elif hasattr(function, "inline"):
                replaced[value] = njit(inline=function.inline)(function)
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value in replaced:
                setattr(module, name, replaced[value])
    return kernels


def _numba_type(argument: ArgumentType) -> Any:
    numba: Any = importlib.import_module("numba")
    if isinstance(argument, ArrayType):
        return numba.types.Array(numba.from_dtype(argument.dtype), argument.dimensions, "C")
    if isinstance(argument, TupleType):
        return numba.types.BaseTuple.from_types(tuple(map(_numba_type, argument.fields)), argument.named)
    return numba.from_dtype(argument)


def main() -> None:
    """Build in the package's folder, or in the user's cache where that cannot be written."""
    for folder in extension_folders():
        with suppress(OSError):
            print(build(folder))
            return


if __name__ == "__main__":
    main()
