"""Where in the user's source code calls a function that nobody defines."""

from __future__ import annotations

from collections.abc import Collection

from weft.diag.source import SourceSpan
from weft.ir import Instruction
from weft.ir.locations import span_of
from weft.ir.reader import read_module
from weft.machine.vecmath import math_function


def place_of(text: str, symbols: Collection[str]) -> SourceSpan | None:
    """Return the source of the first call of one of the symbols in a module's text; None where that is unknown."""
    for function in read_module(text).definitions():
        for instruction in function.instructions():
            if _symbol_of(instruction) in symbols and (span := span_of(instruction)) is not None:
                return span
    return None


def _symbol_of(call: Instruction) -> str | None:
    """What the call needs when it is machine code: of an intrinsic, the C library's function."""
    name = call.callee_name
    known = math_function(name) if name is not None and name.startswith("llvm.") else None
    return (known[0] if known[1] == 64 else f"{known[0]}f") if known else name
