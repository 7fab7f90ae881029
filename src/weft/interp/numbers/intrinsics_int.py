"""Semantics of LLVM's integer intrinsics."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.calls.pure import lanewise
from weft.interp.code import Compute
from weft.interp.lanes import Array, Bundle, Lanes, LaneValue, join_flags
from weft.interp.numbers import casts, integers
from weft.interp.numbers.integers import Width, width
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import FloatType, IntType

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]


def _width_of(i: Instruction) -> Width:
    scalar = i.args[0].type.scalar
    assert isinstance(scalar, IntType)
    return width(scalar.bits)


def _by_width(make: Callable[[Width], Callable[..., Array]]) -> Decode:
    """An intrinsic on operands of one integer type."""
    return lambda decoder, i: lanewise(decoder, i, make(_width_of(i)))


def _extremum(is_signed: bool, ufunc: Callable[[Array, Array], Array]) -> Decode:
    def make(w: Width) -> Callable[..., Array]:
        if not is_signed:
            return ufunc
        return lambda a, b: w.unsigned(np.asarray(ufunc(w.signed(a), w.signed(b))))

    return _by_width(make)


def _immediate(i: Instruction, position: int) -> int:
    operand = i.args[position]
    assert isinstance(operand, ConstInt), "the operand is an immediate"
    return operand.value


def _cycle_counter(decoder: Decoder, i: Instruction) -> Compute:
    """A clock of the host: all lanes read it at once."""
    return lambda frame: Lanes(np.array([time.perf_counter_ns()], np.uint64))


def _abs(decoder: Decoder, i: Instruction) -> Compute:
    w = _width_of(i)
    least = w.constant(1 << (w.bits - 1))
    poison = (lambda a, r: w.raw(a) == least) if _immediate(i, 1) else None
    return lanewise(decoder, i, lambda a: w.unsigned(np.abs(w.signed(a))), 1, poison)


def popcount(w: Width, a: Array) -> Array:
    """Number of one bits."""
    if w.container == 0:
        return np.array([x.bit_count() for x in a.ravel()], object).reshape(a.shape)
    return w.wrap(np.bitwise_count(w.raw(a)).astype(w.raw(a).dtype))


def _bit_length(w: Width, a: Array) -> Array:
    """Number of bits up to the highest one bit."""
    if w.container == 0:
        return np.array([x.bit_length() for x in a.ravel()], object).reshape(a.shape)
    smeared = w.raw(a)
    shift = 1
    while shift < w.container:
        smeared = smeared | (smeared >> smeared.dtype.type(shift))
        shift *= 2
    return np.bitwise_count(smeared).astype(smeared.dtype)


def _ctlz(decoder: Decoder, i: Instruction) -> Compute:
    w = _width_of(i)
    bits = w.constant(w.bits)
    poison = (lambda a, r: w.raw(a) == 0) if _immediate(i, 1) else None
    return lanewise(decoder, i, lambda a: w.wrap(bits - _bit_length(w, a)), 1, poison)


def _cttz(decoder: Decoder, i: Instruction) -> Compute:
    w = _width_of(i)
    one = w.constant(1)
    poison = (lambda a, r: w.raw(a) == 0) if _immediate(i, 1) else None

    def kernel(a: Array) -> Array:
        raw = w.raw(a)
        # The bits below the lowest one bit; all of them for zero.
        below = ~raw & (raw - one) if w.container else (~raw & (raw - 1)) & w.max
        return popcount(w, w.wrap(below))

    return lanewise(decoder, i, kernel, 1, poison)


def _bswap(w: Width) -> Callable[[Array], Array]:
    size = w.bits // 8

    def kernel(a: Array) -> Array:
        result = a & w.constant(0)
        for byte in range(size):
            part = (a >> w.constant(8 * byte)) & w.constant(0xFF)
            result = result | (part << w.constant(8 * (size - 1 - byte)))
        return result

    return kernel


def _bitreverse(w: Width) -> Callable[[Array], Array]:
    def kernel(a: Array) -> Array:
        raw = w.raw(a)
        result = raw & w.constant(0)
        for bit in range(w.bits):
            one = (raw >> w.constant(bit)) & w.constant(1)
            result = result | (one << w.constant(w.bits - 1 - bit))
        return w.wrap(result)

    return kernel


def _funnel(is_left: bool) -> Decode:
    """``fshl``/``fshr``: a window of the concatenation of two values."""

    def make(w: Width) -> Callable[..., Array]:
        bits = w.constant(w.bits)
        shl, lshr = integers.binary("shl", w.bits), integers.binary("lshr", w.bits)

        def kernel(a: Array, b: Array, count: Array) -> Array:
            amount = w.raw(count) % bits
            amount = amount if is_left else (bits - amount) % bits
            # With no shift the result is a whole operand: the upper one on the left, the lower on the right.
            unshifted = a if is_left else b
            back = w.wrap(np.where(amount == 0, bits - bits, bits - amount))
            shifted = shl(a, w.wrap(amount)) | lshr(b, back)
            return np.where(amount == 0, unshifted, shifted)

        return kernel

    return _by_width(make)


def _saturating(op: str, is_signed: bool) -> Decode:
    def make(w: Width) -> Callable[..., Array]:
        kernel = integers.binary(op, w.bits)
        check = (integers.signed_overflow if is_signed else integers.unsigned_overflow)(op, w.bits)
        largest = w.wrap(w.constant(w.max))
        low, high = w.wrap(w.constant(1 << (w.bits - 1))), w.wrap(w.constant((1 << (w.bits - 1)) - 1))
        zero = w.wrap(w.constant(0))

        def apply(a: Array, b: Array) -> Array:
            r = kernel(a, b)
            over = check(a, b, r)
            if not is_signed:
                return np.where(over, zero if op == "sub" else largest, r)
            # Overflow goes in the direction of the first operand's sign.
            return np.where(over, np.where(w.sign_bit(a), low, high), r)

        return apply

    return _by_width(make)


def _with_overflow(op: str, is_signed: bool) -> Decode:
    """``{result, overflow?}``."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        w = _width_of(i)
        kernel = integers.binary(op, w.bits)
        check = (integers.signed_overflow if is_signed else integers.unsigned_overflow)(op, w.bits)
        a_slot, b_slot = decoder.slot(i.args[0]), decoder.slot(i.args[1])

        def compute(frame: Frame) -> LaneValue:
            a, b = frame.env[a_slot], frame.env[b_slot]
            flags = join_flags(a.flags, b.flags)
            data = kernel(a.data, b.data)
            return Bundle((Lanes(data, flags), Lanes(check(a.data, b.data, data), flags)))

        return compute

    return decode


def _three_way(is_signed: bool) -> Decode:
    """``scmp``/``ucmp``: -1, 0 or 1."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        w = _width_of(i)
        scalar = i.type.scalar
        assert isinstance(scalar, IntType)
        target = width(scalar.bits)
        read = w.signed if is_signed else w.raw
        minus, zero, plus = (target.wrap(target.constant(v & target.max)) for v in (-1, 0, 1))
        return lanewise(
            decoder, i,
            lambda a, b: np.where(read(a) < read(b), minus, np.where(read(a) > read(b), plus, zero)),
        )  # fmt: skip

    return decode


def _float_to_int_saturating(is_signed: bool) -> Decode:
    def decode(decoder: Decoder, i: Instruction) -> Compute:
        source, target = i.args[0].type.scalar, i.type.scalar
        assert isinstance(source, FloatType) and isinstance(target, IntType)
        return lanewise(decoder, i, lambda a: casts.float_to_int(source, target.bits, is_signed, a)[0])

    return decode


def _truncated_by_x86(decoder: Decoder, i: Instruction) -> Compute:
    """The truncated values; all that is out of range, and NaN, becomes the least number."""
    source, target = i.args[0].type.scalar, i.type.scalar
    assert isinstance(source, FloatType) and isinstance(target, IntType)
    least = np.uint32(1 << (target.bits - 1))

    def kernel(a: Array) -> Array:
        found, outside = casts.float_to_int(source, target.bits, True, a)
        return np.where(outside, least, found)

    return lanewise(decoder, i, kernel)


TABLE: dict[str, Decode] = {
    **dict.fromkeys(("x86.sse2.cvttps2dq", "x86.avx.cvtt.ps2dq"), _truncated_by_x86),
    "smax": _extremum(True, np.maximum),
    "smin": _extremum(True, np.minimum),
    "umax": _extremum(False, np.maximum),
    "umin": _extremum(False, np.minimum),
    "abs": _abs,
    "ctpop": _by_width(lambda w: lambda a: popcount(w, a)),
    "ctlz": _ctlz,
    "cttz": _cttz,
    "bswap": _by_width(_bswap),
    "readcyclecounter": _cycle_counter,
    "bitreverse": _by_width(_bitreverse),
    "fshl": _funnel(True),
    "fshr": _funnel(False),
    "sadd.sat": _saturating("add", True),
    "uadd.sat": _saturating("add", False),
    "ssub.sat": _saturating("sub", True),
    "usub.sat": _saturating("sub", False),
    "sshl.sat": _saturating("shl", True),
    "ushl.sat": _saturating("shl", False),
    "sadd.with.overflow": _with_overflow("add", True),
    "uadd.with.overflow": _with_overflow("add", False),
    "ssub.with.overflow": _with_overflow("sub", True),
    "usub.with.overflow": _with_overflow("sub", False),
    "smul.with.overflow": _with_overflow("mul", True),
    "umul.with.overflow": _with_overflow("mul", False),
    "scmp": _three_way(True),
    "ucmp": _three_way(False),
    "fptosi.sat": _float_to_int_saturating(True),
    "fptoui.sat": _float_to_int_saturating(False),
}
