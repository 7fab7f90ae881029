"""External C functions that programs call by name: the math library, memory, and the end of everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.calls.clocks import TABLE as CLOCKS
from weft.interp.calls.pure import lanewise
from weft.interp.calls.stdio import TABLE as STDIO
from weft.interp.code import Compute
from weft.interp.faults import FaultKind
from weft.interp.heap import TABLE as HEAP
from weft.interp.lanes import Array
from weft.interp.memory.intrinsics_memory import TABLE as MEMORY
from weft.interp.numbers import libm
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]

_DTYPES = {"d": np.float64, "f": np.float32, "i": np.uint32, "l": np.uint64}


def _math(symbol: str) -> Decode:
    result = _DTYPES[libm.SIGNATURES[symbol][0]]
    kernel = libm.call(symbol)

    def apply(*operands: Array) -> Array:
        inputs = [o.view(f"i{o.dtype.itemsize}") if o.dtype.kind == "u" else o for o in operands]
        return kernel(*inputs).view(result)

    return lambda decoder, i: lanewise(decoder, i, apply)


def _ends(kind: FaultKind, message: str) -> Decode:
    """A function that does not return."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        def compute(frame: Frame) -> None:
            if frame.active.count:
                lanes = frame.machine.lanes
                where = np.broadcast_to(frame.active.mask(lanes), (lanes,))
                frame.machine.fault(kind, i, where, message)

        return compute

    return decode


def _with_result(name: str) -> Decode:
    """``memcpy`` and its like, which return their first argument."""
    inner = MEMORY[name]

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        run = inner(decoder, i)
        slot = decoder.slot(i.args[0])

        def compute(frame: Frame):
            run(frame)
            return frame.env[slot]

        return compute

    return decode


TABLE: dict[str, Decode] = {
    **{symbol: _math(symbol) for symbol in libm.SIGNATURES},
    **HEAP,
    **STDIO,
    **CLOCKS,
    "memcpy": _with_result("memcpy"),
    "memmove": _with_result("memmove"),
    "memset": _with_result("memset"),
    "abort": _ends(FaultKind.ASSERTION, "the program calls abort()"),
    "__assert_fail": _ends(FaultKind.ASSERTION, "the assertion does not hold"),
}


def find(name: str) -> Decode | None:
    """The semantics of an external function, or None."""
    return TABLE.get(name)
