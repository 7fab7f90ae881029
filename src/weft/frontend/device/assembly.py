"""Inline assembly in kernels: it is that of a GPU, and LLVM ends the process for what is none of the CPU's.

What has no instruction in it, as ``asm volatile("" ::: "memory")``, stays.
"""

from __future__ import annotations

import re

from weft.diag.errors import UnsupportedError
from weft.ir import Function
from weft.ir.constants import InlineAsm
from weft.ir.locations import span_of

_TEMPLATE = re.compile(r'"([^"]*)"')


def check_assembly(function: Function) -> None:
    """Refuse a function with instructions in inline assembly.

    Raises
    ------
    UnsupportedError
        It has some; at its place.
    """
    for instruction in function.instructions():
        for value in instruction.operands:
            if not isinstance(value, InlineAsm):
                continue
            template = _TEMPLATE.search(value.text)
            if template is not None and template[1].strip():
                raise UnsupportedError(
                    f"{function.name} has inline assembly, which does not run on a CPU: {template[1].strip()}",
                    span_of(instruction),
                    "use a built-in function instead",
                )
