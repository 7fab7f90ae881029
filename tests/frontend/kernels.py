"""Helpers: compile a function for the types of example arguments, look at its text, run it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from weft.frontend.python.compile import FrontendResult, compile_python
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import Scalar
from weft.interp import run_function
from weft.interp.program import Program
from weft.ir.verifier import verify
from weft.ir.writer import write_module

_LEFT_OUT = ("#dbg", "!", "source_filename")


def compiled(function: Callable[..., Any], *examples: Any, **options: Any) -> FrontendResult:
    """Compile for the types of example arguments and verify the result."""
    result = compile_python(function, tuple(typeof(example) for example in examples), **options)
    verify(result.module)
    return result


def text_of(function: Callable[..., Any], *examples: Any, **options: Any) -> str:
    """The LLVM text of the function, debug information left out."""
    return without_debug_information(write_module(compiled(function, *examples, **options).module))


def without_debug_information(text: str) -> str:
    """The text of a module without lines of the source."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(_LEFT_OUT)]
    return re.sub(r", !dbg !\d+", "", "\n".join(lines))


def value_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function of scalars, run on the interpreter as a device function."""
    program, name, dtype = _runnable(function, tuple(typeof(argument) for argument in arguments))
    passed = [np.int8(a) if isinstance(a, (bool, np.bool_)) else a for a in arguments]
    data = run_function(program, name, passed, 1).data.reshape(-1)[:1]
    return data.view(dtype)[0] if data.dtype.itemsize == dtype.itemsize else data.astype(dtype)[0]


@lru_cache(maxsize=64)
def _runnable(function: Callable[..., Any], types: tuple[Any, ...]) -> tuple[Program, str, np.dtype[Any]]:
    result = compile_python(function, types, device=True)
    verify(result.module)
    assert isinstance(result.result, Scalar)
    return Program(result.module), result.kernel.name, result.result.dtype


def result_type(function: Callable[..., Any], *examples: Any) -> str:
    """The name of the type that a function returns."""
    return str(compiled(function, *examples, device=True).result)
