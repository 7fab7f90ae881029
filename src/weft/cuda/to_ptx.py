"""PTX of kernels in the Python dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.fast_math import FastMath
from weft.frontend.python.compile import compile_python
from weft.frontend.python.types import KernelType
from weft.ptx_kernel import PtxKernel, ptx_of_module
from weft.switches import DEFAULT_REPLACEMENT


def ptx_of(
    function: Callable[..., Any],
    types: tuple[KernelType, ...],
    arch: str,
    *,
    fastmath: FastMath = False,
    lines: bool = True,
    max_registers: int | None = None,
    scalar_replacement: str = DEFAULT_REPLACEMENT,
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
    scalar_replacement
        As `weft.cuda.jit` takes it.

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
    about = [str(spec.type) for spec in result.params for _ in spec.components]
    return ptx_of_module(
        result.module,
        result.kernel,
        about,
        arch,
        lines=lines,
        exact=not approximate,
        max_registers=max_registers,
        scalar_replacement=scalar_replacement,
    )
