"""PTX of kernels in the Python dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.fast_math import FastMath
from weft.frontend.python.compile import FrontendResult, ParamSpec, compile_python
from weft.frontend.python.types import KernelType
from weft.ir import Function, Module
from weft.ir.types import FloatType, IntType, Type
from weft.ir.writer import write_module
from weft.target.ptx import emit_ptx
from weft.transform.nvptx.lower import lower_to_nvptx, users_of
from weft.transform.nvptx.mathematics import PREFIX


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """A kernel in PTX.

    Parameters
    ----------
    text
        The module.
    entry
        The name of the kernel in it.
    params
        How Python's arguments become its parameters.
    sizes
        Bytes of each of its parameters.
    dynamic_shared
        Whether it has dynamic shared memory.
    """

    text: str
    entry: str
    params: tuple[ParamSpec, ...]
    sizes: tuple[int, ...]
    dynamic_shared: bool


def ptx_of(
    function: Callable[..., Any],
    types: tuple[KernelType, ...],
    arch: str,
    *,
    fastmath: FastMath = False,
    lines: bool = True,
    max_registers: int | None = None,
) -> PtxKernel:
    """Compile a kernel to PTX.

    Parameters
    ----------
    function
        The Python function.
    types
        The types of its arguments.
    arch
        As ``ptxas`` spells it, ``sm_90``.
    fastmath
        As `weft.cuda.jit` takes it.
    lines
        Whether PTX names lines of the source.
    max_registers
        The ``.maxnreg`` of the kernel, if it has one.

    Raises
    ------
    UnsupportedError, TypingError
        The kernel is outside the language, or uses something that a GPU does not have.
    SettingError
        There is no such architecture.
    UnresolvedError
        The kernel calls functions of libdevice, which is not installed.
    """
    result = compile_python(function, types, fastmath=fastmath, gpu=True)
    approximate = fastmath is True or (fastmath is not False and "afn" in fastmath)
    text = ptx_of_module(
        result.module, result.kernel, arch, lines=lines, exact=not approximate, max_registers=max_registers
    )
    return PtxKernel(
        text, result.kernel.name, result.params, parameter_sizes(result), "dynamic_shared" in result.features
    )


def ptx_of_module(
    module: Module, kernel: Function, arch: str, *, lines: bool, exact: bool, max_registers: int | None
) -> str:
    """The PTX of a kernel's P-LLVM, which is used up."""
    lower_to_nvptx(module, kernel)
    if max_registers is not None:
        kernel.attributes = (*kernel.attributes, f'"nvvm.maxnreg"="{max_registers}"')
    functions = users_of(module, PREFIX)
    present = [*module.functions, *module.globals]
    return emit_ptx(write_module(module, plain=True), arch, functions, present, lines=lines, exact=exact)


def parameter_sizes(result: FrontendResult) -> tuple[int, ...]:
    """Bytes of each parameter of the kernel, in their order."""
    return tuple(_size(component.type) for spec in result.params for component in spec.components)


def parameter_table(kernel: PtxKernel) -> str:
    """Which argument is in which parameter of the entry point, one a line: number, offset, bytes, what it is."""
    lines = [f"{kernel.entry}: {len(kernel.sizes)} parameters"]
    offset = number = 0
    for spec in kernel.params:
        for component in spec.components:
            size = kernel.sizes[number]
            offset = -(-offset // size) * size
            lines.append(f"{number:4} {offset:6} {size:3}  {spec.name}{component.suffix} ({spec.type})")
            offset, number = offset + size, number + 1
    return "\n".join(lines) + "\n"


def _size(type: Type) -> int:
    return type.bits // 8 if isinstance(type, (IntType, FloatType)) else 8
