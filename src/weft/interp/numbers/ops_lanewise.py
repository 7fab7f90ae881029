"""Semantics of the instructions that compute each lane, and each vector element, on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import Compute
from weft.interp.faults import FaultKind
from weft.interp.lanes import (
    POISON,
    UNDEF,
    Array,
    Bundle,
    Flags,
    Lanes,
    LaneValue,
    add_poison,
    choose,
    is_poison,
    join_flags,
    per_element,
)
from weft.interp.numbers import casts, floats, integers
from weft.ir.instruction import Instruction
from weft.ir.types import FloatType, IntType, Type, VectorType

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame


def integer_bits(instruction: Instruction) -> int:
    """The width of an integer operation; pointers compare as their addresses."""
    scalar = instruction.operands[0].type.scalar
    return scalar.bits if isinstance(scalar, IntType) else 64


def decode_integer(decoder: Decoder, i: Instruction) -> Compute:
    """``add`` .. ``xor`` and the shifts."""
    bits = integer_bits(i)
    kernel = integers.binary(i.op, bits)
    checks = integers.poison_checks(i.op, bits, i.flags)
    a_slot, b_slot = decoder.slot(i.operands[0]), decoder.slot(i.operands[1])

    def plain(frame: Frame) -> LaneValue:
        env = frame.env
        a, b = env[a_slot], env[b_slot]
        fa, fb = a.flags, b.flags
        return Lanes(kernel(a.data, b.data), fa if fb is None else fb if fa is None else fa | fb)

    if not checks:
        return plain

    def checked(frame: Frame) -> LaneValue:
        a, b = frame.env[a_slot], frame.env[b_slot]
        data = kernel(a.data, b.data)
        flags = join_flags(a.flags, b.flags)
        for check in checks:
            flags = add_poison(flags, check(a.data, b.data, data))
        return Lanes(data, flags)

    return checked


def decode_division(decoder: Decoder, i: Instruction) -> Compute:
    """``udiv``, ``sdiv``, ``urem``, ``srem``: dividing by zero or overflowing is undefined behaviour."""
    bits = integer_bits(i)
    w = integers.width(bits)
    kernel = integers.binary(i.op, bits)
    checks = integers.poison_checks(i.op, bits, i.flags)
    a_slot, b_slot = decoder.slot(i.operands[0]), decoder.slot(i.operands[1])
    is_signed = i.op in ("sdiv", "srem")
    least, one = w.constant(1 << (bits - 1)), w.wrap(w.constant(1))
    all_ones = w.constant(w.max)

    def compute(frame: Frame) -> LaneValue:
        a, b = frame.env[a_slot], frame.env[b_slot]
        divisor = b.data
        flags = join_flags(a.flags, b.flags)
        bad = w.raw(divisor) == 0
        unknown = is_poison(b.flags)
        if unknown is not None:
            _fault_where(frame, i, unknown, FaultKind.POISON, "division by poison")
            bad = bad & ~unknown
        _fault_where(frame, i, bad, FaultKind.DIVISION, "integer division by zero")
        if is_signed:
            overflow = (w.raw(divisor) == all_ones) & (w.raw(a.data) == least)
            if np.count_nonzero(overflow):
                _fault_where(frame, i, overflow, FaultKind.DIVISION, "signed division overflows")
                bad = bad | overflow
        if unknown is not None:
            bad = bad | unknown
        if np.count_nonzero(bad):
            divisor = np.where(bad, one, divisor)
            flags = add_poison(flags, bad)
        data = kernel(a.data, divisor)
        for check in checks:
            flags = add_poison(flags, check(a.data, divisor, data))
        return Lanes(data, flags)

    return compute


def _fault_where(frame: Frame, i: Instruction, bad: Array, kind: FaultKind, message: str) -> None:
    """Report the active lanes (any element of a vector counts) that are true in `bad`."""
    if not np.count_nonzero(bad):
        return
    lanes = np.asarray(bad.any(axis=1)) if bad.ndim == 2 else bad
    culprits = frame.active.split(lanes)[0]
    if culprits.count:
        frame.machine.fault(kind, i, culprits.mask(frame.machine.lanes), message)


def decode_float(decoder: Decoder, i: Instruction) -> Compute:
    """``fadd`` .. ``frem``."""
    scalar = i.type.scalar
    assert isinstance(scalar, FloatType)
    kernel = floats.binary(i.op, scalar)
    excluded = floats.fast_math_poison(scalar, i.flags)
    a_slot, b_slot = decoder.slot(i.operands[0]), decoder.slot(i.operands[1])

    def compute(frame: Frame) -> LaneValue:
        env = frame.env
        a, b = env[a_slot], env[b_slot]
        data = kernel(a.data, b.data)
        flags = join_flags(a.flags, b.flags)
        if excluded is not None:
            flags = add_poison(flags, excluded(a.data, b.data, data))
        return Lanes(data, flags)

    return compute


def decode_fneg(decoder: Decoder, i: Instruction) -> Compute:
    """``fneg``: the sign bit flipped."""
    scalar = i.type.scalar
    assert isinstance(scalar, FloatType)
    kernel = floats.negate(scalar)
    excluded = floats.fast_math_poison(scalar, i.flags)
    slot = decoder.slot(i.operands[0])

    def compute(frame: Frame) -> LaneValue:
        a = frame.env[slot]
        flags = a.flags if excluded is None else add_poison(a.flags, excluded(a.data))
        return Lanes(kernel(a.data), flags)

    return compute


def decode_icmp(decoder: Decoder, i: Instruction) -> Compute:
    """``icmp``."""
    bits = integer_bits(i)
    kernel = integers.compare(i.predicate, bits)
    same_sign = "samesign" in i.flags
    w = integers.width(bits)
    a_slot, b_slot = decoder.slot(i.operands[0]), decoder.slot(i.operands[1])

    def compute(frame: Frame) -> LaneValue:
        env = frame.env
        a, b = env[a_slot], env[b_slot]
        fa, fb = a.flags, b.flags
        flags = fa if fb is None else fb if fa is None else fa | fb
        if same_sign:
            flags = add_poison(flags, w.sign_bit(a.data) != w.sign_bit(b.data))
        return Lanes(kernel(a.data, b.data), flags)

    return compute


def decode_fcmp(decoder: Decoder, i: Instruction) -> Compute:
    """``fcmp``."""
    scalar = i.operands[0].type.scalar
    assert isinstance(scalar, FloatType)
    kernel = floats.compare(i.predicate, scalar)
    excluded = floats.fast_math_poison(scalar, i.flags)
    a_slot, b_slot = decoder.slot(i.operands[0]), decoder.slot(i.operands[1])

    def compute(frame: Frame) -> LaneValue:
        env = frame.env
        a, b = env[a_slot], env[b_slot]
        flags = join_flags(a.flags, b.flags)
        if excluded is not None:
            flags = add_poison(flags, excluded(a.data, b.data))
        return Lanes(kernel(a.data, b.data), flags)

    return compute


def decode_select(decoder: Decoder, i: Instruction) -> Compute:
    """``select``: the operand that is not chosen may be poison."""
    c_slot, a_slot, b_slot = map(decoder.slot, i.operands)
    scalar = i.type.scalar
    excluded = floats.fast_math_poison(scalar, i.flags) if isinstance(scalar, FloatType) else None

    def compute(frame: Frame) -> LaneValue:
        env = frame.env
        condition = env[c_slot]
        a, b = env[a_slot], env[b_slot]
        c = condition.data
        value = (a if c[0] else b) if c.shape == (1,) else choose(c, a, b)
        if condition.flags is not None:
            value = _with_flags(value, _flags_of_choice(condition.flags, a, b))
        if excluded is not None:
            assert isinstance(value, Lanes)
            value = Lanes(value.data, add_poison(value.flags, excluded(value.data)))
        return value

    return compute


def _flags_of_choice(flags: Array, a: LaneValue, b: LaneValue) -> Flags:
    """What the flags of a condition make of a choice: where it may be either, but both are one integer, it is that."""
    if isinstance(a, Bundle) or isinstance(b, Bundle) or a.data.dtype.kind not in "iub":
        return flags
    same = a.data == b.data
    for side in (a.flags, b.flags):
        if side is not None:
            same = same & (per_element(side, same) == 0)
    kept = per_element(flags, same)
    kept = np.where(same & ((kept & POISON) == 0), np.uint8(0), kept)
    return kept if np.count_nonzero(kept) else None


def _with_flags(value: LaneValue, flags: Flags) -> LaneValue:
    if flags is None:
        return value
    if isinstance(value, Bundle):
        return Bundle(tuple(_with_flags(m, flags) for m in value.members))
    return Lanes(value.data, join_flags(value.flags, per_element(flags, value.data)))


def decode_freeze(decoder: Decoder, i: Instruction) -> Compute:
    """``freeze``."""
    slot = decoder.slot(i.operands[0])
    return lambda frame: frozen(frame.env[slot])


def frozen(value: LaneValue) -> LaneValue:
    """The value with zero where it was poison; what is undefined or frozen already stays as it is.

    Any other value would have done, which the flag `UNDEF` goes on to tell those who compare results.
    """
    if isinstance(value, Bundle):
        return Bundle(tuple(map(frozen, value.members)))
    if value.flags is None:
        return value
    arbitrary = value.flags != 0
    data = np.where(value.flags & POISON != 0, np.zeros(1, value.data.dtype), value.data)
    return Lanes(data, arbitrary * UNDEF if np.count_nonzero(arbitrary) else None)


def decode_cast(decoder: Decoder, i: Instruction) -> Compute:
    """All casts."""
    source, target = i.operands[0].type, i.type
    slot = decoder.slot(i.operands[0])
    if i.op == "bitcast" and not (source.is_pointer or source.scalar.is_pointer):
        return _decode_bitcast(decoder, i)
    if i.op == "bitcast":
        return lambda frame: frame.env[slot]
    cast, outside = casts.scalar_cast(i.op, source.scalar, target.scalar)
    checks = [c for c in (outside, casts.flag_check(i.op, source.scalar, target.scalar, i.flags)) if c]
    excluded = None
    if isinstance(target.scalar, FloatType):
        excluded = floats.fast_math_poison(target.scalar, i.flags)

    def compute(frame: Frame) -> LaneValue:
        a = frame.env[slot]
        data, flags = cast(a.data), a.flags
        for check in checks:
            flags = add_poison(flags, check(a.data))
        if excluded is not None:
            flags = add_poison(flags, excluded(data))
        return Lanes(data, flags)

    return compute


def _decode_bitcast(decoder: Decoder, i: Instruction) -> Compute:
    source, target = i.operands[0].type, i.type
    slot = decoder.slot(i.operands[0])
    same_shape = casts.shape_matches(source, target) and source.is_vector == target.is_vector

    def compute(frame: Frame) -> LaneValue:
        a = frame.env[slot]
        data = casts.reinterpret(source, target, a.data)
        if a.flags is None or same_shape:
            return Lanes(data, a.flags)
        return Lanes(data, _regrouped_flags(a.flags, source, target, data))

    return compute


def _regrouped_flags(flags: Array, source: Type, target: Type, data: Array) -> Array:
    """Whatever shares bits with an undefined element is undefined."""
    if not isinstance(target, VectorType):
        return flags.max(axis=1) if flags.ndim == 2 else flags
    before = source.count if isinstance(source, VectorType) else 1
    after = target.count
    if flags.ndim == 2 and before % after == 0:
        return flags.reshape(len(flags), after, before // after).max(axis=2)
    if flags.ndim == 2 and after % before == 0:
        return flags.repeat(after // before, axis=1)
    return per_element(flags.max(axis=1) if flags.ndim == 2 else flags, data)
