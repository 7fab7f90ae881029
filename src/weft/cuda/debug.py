"""``cuda.jit(debug=True)``: the kernel on the checking interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from weft.cuda.compiled import KernelSource
from weft.diag.errors import SanitizerError
from weft.frontend.python.compile import compile_python
from weft.frontend.python.types import KernelType
from weft.interp import Memory, Program
from weft.interp.faults import FaultKind
from weft.interp.sanitizer.findings import Finding
from weft.interp.sanitizer.sanitizer import check_launch
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.runtime.parameters import packer_for
from weft.runtime.shape import LaunchShape
from weft.target.machine import TargetSpec
from weft.target.once import COMPILING
from weft.target.passes import SROA_ONLY, optimize
from weft.tiled_arrays import TiledArray

Raised = dict[tuple[str, int], tuple[type[Exception], str]]


@lru_cache(maxsize=256)
def _program(
    function: FunctionType, types: tuple[KernelType, ...]
) -> tuple[Program, str, Raised, tuple[Any, ...]]:
    """The kernel with checks, each access of the source still there, decoded; what it raises, and what it captures."""
    result = compile_python(function, types, debug=True)
    text = optimize(write_module(result.module, plain=True), SROA_ONLY, TargetSpec.chosen().machine)
    return Program(read_module(text)), result.kernel.name, result.raised, result.captured


def launch_checked(
    source: KernelSource, types: tuple[KernelType, ...], shape: LaunchShape, args: Sequence[Any]
) -> None:
    """Run a kernel on the interpreter under the sanitizer.

    Raises
    ------
    SanitizerError
        The launch did something that has no defined meaning; arrays hold what was computed up to then.
    """
    function = source.function
    assert isinstance(function, FunctionType)
    with COMPILING:
        program, name, raised, captured = _program(function, types)
    packer = packer_for(source.name, source.parameters, types)
    slots = packer.pack(args)
    memory = mapped_memory(source, args)
    for array in captured:
        memory.map_array(array, "an array from outside the kernel")
    try:
        check_launch(
            program, name, slots, shape.grid, shape.block, memory=memory, dynamic_shared=shape.dynamic_bytes
        )
    except SanitizerError as error:
        raise _as_raised(error, raised) from None


def _as_raised(error: SanitizerError, raised: Raised) -> SanitizerError:
    """The error, of the class that the kernel raises where it is what the kernel raises."""
    first = error.findings[0] if error.findings else None
    if not isinstance(first, Finding) or first.kind is not FaultKind.RAISED or first.span is None:
        return error
    cls, text = raised.get((first.span.file, first.span.line), (Exception, ""))
    if cls is Exception:
        return error
    try:
        kind = type(cls.__name__, (SanitizerError, cls), {"__module__": cls.__module__})
    except TypeError:
        # Its memory is laid out otherwise than that of exceptions in general.
        return error
    thread = first.threads[0]
    message = f"{cls.__name__}: {text}" if text else cls.__name__
    made = kind(f"{message}, raised by {thread}", error.span, error.hint)
    made.findings = error.findings
    return made


def mapped_memory(source: KernelSource, args: Sequence[Any]) -> Memory:
    """The memory of a launch: that of its arguments."""
    memory = Memory()
    for parameter, value in zip(source.parameters, args, strict=True):
        for array in _arrays((value,)):
            memory.map_array(array, f"array '{parameter}'")
    return memory


def _arrays(args: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The memory that the arguments give access to."""
    found: list[np.ndarray[Any, Any]] = []
    for value in args:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, TiledArray):
            found.append(value.memory)
        elif isinstance(value, tuple):
            found.extend(_arrays(value))
        elif isinstance(value, np.void):
            found.append(np.asarray(value))
    return found
