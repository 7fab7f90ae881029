"""Mathematics in loops that LLVM has vectorized: its intrinsics on vectors are functions of weft's own.

Where threads run by themselves LLVM's vectorizer takes their inner loops, and ``llvm.exp.f32`` with them. Of
``llvm.exp.v8f32`` its code generator makes eight calls of the C library. Behind the pipeline such calls call what
widening calls (`weft.target.own_math`), and have it inlined.

Only calls that may be approximate change, those with ``afn`` among their flags, or ``fast``: what is compiled under
`fastmath`. It is mathematics of single precision alone, as libraries' functions would have to be linked.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.machine.vecmath_load import wants_own
from weft.target.own_math import FUNCTIONS, flushed_symbol, own_symbol, with_definitions

_INTRINSIC = re.compile(rf"llvm\.(?:{'|'.join(FUNCTIONS)})\.v\d+f32")

_CALL = re.compile(
    rf"(call (?:\w+ )*?(?:fast|afn) (?:\w+ )*?<(\d+) x float>) @llvm\.({'|'.join(FUNCTIONS)})\.v\d+f32\("
)
"""Flags stand before the type."""


def is_vectorized(name: str) -> bool:
    """Whether a name is that of an intrinsic on vectors for which there may be a function of weft's own."""
    return _INTRINSIC.fullmatch(name) is not None


def with_own_math(text: str, isa: Isa) -> str | None:
    """The text of a module in which such calls call functions that it defines; None where it has none."""
    if isa.arch != "x86_64" or isa.vector_bits < 128 or not wants_own():
        return None
    needed: dict[str, str] = {}

    def own(call: re.Match[str]) -> str:
        head, lanes, name = call[1], int(call[2]), call[3]
        symbol = own_symbol(name, 32, lanes)
        if symbol is None or isa.vector_bits < FUNCTIONS[name].faster_bits:
            return call[0]
        symbol = flushed_symbol(name, lanes, isa) or symbol
        vector = f"<{lanes} x float>"
        needed[symbol] = f"declare {vector} @{symbol}({', '.join([vector] * FUNCTIONS[name].arguments)})"
        return f"{head} @{symbol}("

    text = _CALL.sub(own, text)
    if not needed:
        return None
    missing = [line for symbol, line in needed.items() if f"{symbol}(" not in _heads(text)]
    return with_definitions("\n".join([text, *missing, ""]), isa)


def _heads(text: str) -> str:
    return "\n".join(re.findall(r"^(?:declare|define) .*$", text, re.MULTILINE))
