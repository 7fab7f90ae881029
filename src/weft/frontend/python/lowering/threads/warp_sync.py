"""Warp functions on a GPU, which wait for the threads that the mask names: NVVM's intrinsics in the place of weft's.

Weft's own lanes run in lock step, so that its operations know who is there (`weft.frontend.python.lowering.threads.
warp`). Threads of a GPU may be anywhere, and the mask of the source says who is to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.ir.builder import const_int
from weft.ir.types import I1, I32, I64, VOID, FunctionType, StructType, Type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_FULL = 0xFFFFFFFF
_MOVES = {"idx": "idx", "up": "up", "down": "down", "xor": "bfly"}
_ATTRIBUTES = ("convergent", "nounwind")


def _call(low: Lowering, name: str, result: Type, *args: Value) -> Value:
    fn_type = FunctionType(result, tuple(a.type for a in args))
    return low.builder.call(low.unit.module.declare(f"llvm.nvvm.{name}", fn_type, _ATTRIBUTES), args)


def _named(mask: Value | None) -> Value:
    return const_int(_FULL, I32) if mask is None else mask


def vote(low: Lowering, kind: str, mask: Value | None, test: Value) -> Value:
    """A vote of the threads in `mask`, all of them by default; `kind` is ``any``, ``all`` or ``uni``."""
    return _call(low, f"vote.{kind}.sync", I1, _named(mask), test)


def ballot(low: Lowering, mask: Value | None, test: Value) -> Value:
    """The set of those for whom `test` holds, an i32."""
    return _call(low, "vote.ballot.sync", I32, _named(mask), test)


def active_mask(low: Lowering) -> Value:
    """The set of those who happen to be together, an i32."""
    return _call(low, "activemask", I32)


def lanes_before(low: Lowering) -> Value:
    """The set of the lanes before this one, an i32."""
    return _call(low, "read.ptx.sreg.lanemask.lt", I32)


def meet(low: Lowering, mask: Value | None) -> None:
    """Wait for the threads in `mask`."""
    _call(low, "bar.warp.sync", VOID, _named(mask))


def shuffle(low: Lowering, move: str, mask: Value | None, bits: Value, operand: Value) -> Value:
    """A shuffle of 32 or 64 bits; `move` is ``idx``, ``up``, ``down`` or ``xor``."""
    name = f"shfl.sync.{_MOVES[move]}.i32"
    clamp = const_int(0 if move == "up" else 31, I32)

    def word(value: Value) -> Value:
        return _call(low, name, I32, _named(mask), value, operand, clamp)

    if bits.type is not I64:
        return word(bits)
    builder = low.builder
    lower = word(builder.cast("trunc", bits, I32))
    upper = word(builder.cast("trunc", builder.binary("lshr", bits, const_int(32)), I32))
    above = builder.binary("shl", builder.cast("zext", upper, I64), const_int(32))
    return builder.binary("or", above, builder.cast("zext", lower, I64))


def match_any(low: Lowering, mask: Value | None, bits: Value) -> Value:
    """The set of those who hold the same bits, an i32."""
    return _call(low, f"match.any.sync.{bits.type}", I32, _named(mask), bits)


def match_all(low: Lowering, mask: Value | None, bits: Value) -> tuple[Value, Value]:
    """The mask and true where all hold the same bits, else 0 and false."""
    pair = StructType((I32, I1))
    both = _call(low, f"match.all.sync.{bits.type}p", pair, _named(mask), bits)
    return low.builder.extract_value(both, (0,)), low.builder.extract_value(both, (1,))
