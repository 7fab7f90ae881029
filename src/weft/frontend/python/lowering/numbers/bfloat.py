"""bfloat16: its bits in memory, and how other numbers are rounded to it.

In registers a bfloat16 is a float whose lower 16 bits are zero, so that comparisons, signs, choices and rounding to
integers are those of floats. Arithmetic is that of floats, rounded behind each operation (`rounded`): a float has more
than twice the digits, so sums, products, quotients and roots are rounded as if once. All of it is integer arithmetic,
since instructions for bfloat16 are on few machines, and take subnormal numbers for zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.frontend.python.types import Scalar, bfloat16
from weft.ir.builder import const_int
from weft.ir.types import F32, F64, I16, I32
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_UPPER = 0xFFFF0000
_NAN = 0x7FC00000


def of_bits(low: Lowering, bits: Value) -> Value:
    """The float that is the bfloat16 of these bits, an i16."""
    wide = low.builder.cast("zext", bits, I32)
    return low.builder.cast("bitcast", low.builder.binary("shl", wide, const_int(16, I32)), F32)


def bits_of(low: Lowering, value: Value) -> Value:
    """The bits of a bfloat16, as an i16."""
    b = low.builder
    return b.cast("trunc", b.binary("lshr", b.cast("bitcast", value, I32), const_int(16, I32)), I16)


def rounded(low: Lowering, value: Value, source: Scalar, mode: str = "rn") -> Value:
    """A real number as a bfloat16: the next one, or toward zero (`rz`), down (`rd`) or up (`ru`)."""
    b = low.builder
    if source is bfloat16:
        return value
    if source.kind in "biu":
        signed = source.kind == "i"
        if source.kind == "b" or source.bits <= 16:
            value = b.cast("sitofp" if signed else "uitofp", value, F32)
            return value if source.bits == 8 else _upper_half(low, value, mode)
        if source.bits == 64:
            value = _few_digits(low, value, signed)
        value = b.cast("sitofp" if signed else "uitofp", value, F64)
    elif source.bits == 16:
        return _upper_half(low, b.cast("fpext", value, F32), mode)
    return _upper_half(low, _to_odd(low, value) if value.type is F64 else value, mode)


def _upper_half(low: Lowering, value: Value, mode: str) -> Value:
    """A float rounded to the digits of a bfloat16. The carry of what is added moves to the next exponent."""
    b = low.builder
    bits = b.cast("bitcast", value, I32)
    if mode == "rn":
        odd = b.binary("and", b.binary("lshr", bits, const_int(16, I32)), const_int(1, I32))
        moved: Value = b.binary("add", b.binary("add", bits, const_int(0x7FFF, I32)), odd)
    elif mode == "rz":
        moved = bits
    else:
        away = b.icmp("sge" if mode == "ru" else "slt", bits, const_int(0, I32))
        moved = b.binary("add", bits, b.select(away, const_int(0xFFFF, I32), const_int(0, I32)))
    kept = b.binary("and", moved, const_int(_UPPER, I32))
    is_nan = b.fcmp("uno", value, value)
    return b.cast("bitcast", b.select(is_nan, const_int(_NAN, I32), kept), F32)


def _to_odd(low: Lowering, value: Value) -> Value:
    """A double as a float whose last bit is set if digits are lost: rounding it again is as rounding the double."""
    b = low.builder
    near = b.cast("fptrunc", value, F32)
    back = b.cast("fpext", near, F64)
    absolute = low.unit.llvm("llvm.fabs.f64", F64, F64)
    beyond = b.fcmp("ogt", b.call(absolute, (back,)), b.call(absolute, (value,)))
    bits = b.binary("sub", b.cast("bitcast", near, I32), b.cast("zext", beyond, I32))
    return b.cast("bitcast", b.binary("or", bits, b.cast("zext", b.fcmp("one", back, value), I32)), F32)


def _few_digits(low: Lowering, value: Value, signed: bool) -> Value:
    """A long integer as one that a double holds, which lies on the same side of every bfloat16."""
    b, most = low.builder, 1 << 53
    distance = b.binary("add", value, const_int(most)) if signed else value
    fits = b.icmp("ule", distance, const_int(2 * most if signed else most))
    rest = b.icmp("ne", b.binary("and", value, const_int(0xFFF)), const_int(0))
    middle = b.select(rest, const_int(0x800), const_int(0))
    return b.select(fits, value, b.binary("or", b.binary("and", value, const_int(~0xFFF)), middle))
